"""The general functions behind figures that are no field of an evaluation.

Each takes the inputs of a scenario and gives an SI value. The arithmetic of steps,
energy and money is that of the compiled core, the one that evaluations use.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from planopt._native import (
    break_even_days,
    capital_usd_per_hour,
    energy_kwh,
    energy_usd_per_hour,
    fewest_accelerators,
    hosting_usd_per_hour,
    rent_usd,
    step_seconds,
    tokens_per_second,
    tokens_per_usd,
)
from planopt.article.inputs import UnknownFigureError, known
from planopt.article.training_figures import TRAINING_FIGURES
from planopt.units import HOURS_PER_DAY, SECONDS_PER_HOUR

if TYPE_CHECKING:
    from collections.abc import Callable

    from planopt.article.inputs import Inputs


def figure_of(name: str, inputs: Inputs) -> float:
    """Work a figure out."""
    if "." not in name:
        return FIGURES[name](inputs)
    value = float(known(attrgetter(name)(inputs.evaluated), name))
    return value / _stages(inputs) if "per_stage" in inputs else value


# --- What a configuration does --------------------------------------------------------


def _stages(inputs: Inputs) -> int:
    return known(inputs.evaluation.candidate, "the layout").pp


def _sum_of_rows(inputs: Inputs) -> float:
    """Add the figures of other rows up."""
    return sum(figure_of(name, part) for name, part in inputs.parts)


def _fewest_accelerators_holding(inputs: Inputs) -> float:
    """Count the accelerators that hold what other rows add up to, evenly divided."""
    memory = known(inputs.training.memory, "the memory")
    return fewest_accelerators(_sum_of_rows(inputs), memory.capacity_bytes)


def _fewest_accelerators(inputs: Inputs) -> float:
    """Count the stages of the shortest pipeline that has the memory."""
    for stages in range(1, inputs.model.layers + 1):
        if inputs.evaluate(pp=stages).feasible:
            return stages
    raise UnknownFigureError("no number of accelerators of one host is enough")


def _cache_saves(inputs: Inputs, per_token: str) -> float:
    """Tell what it takes to make keys and values of all cached tokens again."""
    tokens = known(inputs.evaluation.context_tokens, "the context") * inputs.batch
    return tokens * inputs.sum_of_operations(per_token)


def _cache_saves_flop_per_byte(inputs: Inputs) -> float:
    """Compare their arithmetic with the memory that the cache takes."""
    memory = known(inputs.evaluation.memory, "the memory")
    return _cache_saves(inputs, "key_value_flop_per_token") / memory.kv_cache_bytes


def _ridge_flop_per_byte(inputs: Inputs) -> float:
    """Rate of arithmetic over rate of reading weights, as evaluated on one card."""
    flop = inputs.sum_of_operations("flop_per_token")
    weights = known(inputs.evaluation.memory, "the memory").weights_bytes
    decode = inputs.evaluate(batch=1).decode
    memory_seconds = known(decode.memory_seconds, "the time of reading")
    return (flop / _arithmetic_seconds(inputs)) / (weights / memory_seconds)


_BOUND_BY_ARITHMETIC = 2**16
"""Sequences of a batch that hides all reading behind its arithmetic."""


def _arithmetic_seconds(inputs: Inputs) -> float:
    """Arithmetic along the path of one token."""
    decode = inputs.evaluate(batch=_BOUND_BY_ARITHMETIC).decode
    seconds = known(decode.compute_seconds, "the time of arithmetic")
    return seconds / _BOUND_BY_ARITHMETIC


def _throughput(inputs: Inputs) -> float:
    """Tokens per second of batches whose sequences are read at a given speed."""
    step = 1 / inputs.quantity("speed", "tokens_per_second")
    return tokens_per_second(inputs.number("batch"), inputs.number("in_flight"), step)


def _utilization(inputs: Inputs) -> float:
    """Share of the time that a throughput keeps the accelerators computing."""
    evaluated = inputs.evaluation.decode.tokens_per_second
    throughput = inputs.given("throughput", "tokens_per_second")
    # Stages work side by side, and the ranks of a stage share its arithmetic.
    return (
        (known(evaluated, "the throughput") if throughput is None else throughput)
        * _arithmetic_seconds(inputs)
        / _stages(inputs)
    )


def _step_seconds(inputs: Inputs) -> float:
    """Time of a step from given times of a stage, of all-reduces and of a hop."""
    stage = inputs.quantity("stage", "seconds")
    all_reduces = inputs.given("communication", "seconds") or 0.0
    hops = inputs.number("hops") * (inputs.given("hop", "seconds") or 0.0)
    return step_seconds(inputs.number("stages") * stage + all_reduces + hops, stage, 1)


def _memory_bandwidth_ratio(inputs: Inputs) -> float:
    """Memory bandwidth of one accelerator over that of another."""
    one, other = (
        inputs.entity_figure(
            "accelerators", inputs.text(name), "memory_bandwidth", "bytes_per_second"
        )
        for name in ("accelerator", "over")
    )
    return one / other


# --- What it costs --------------------------------------------------------------------


def _price(inputs: Inputs) -> float:
    given = inputs.given("price", "usd")
    if given is not None:
        return given
    return known(inputs.evaluation.cost.price_usd, "the price")


def _energy_per_hour(inputs: Inputs) -> float:
    power, pue = inputs.given("power", "watts"), inputs.cost_assumption("pue")
    if power is None:
        power = known(inputs.evaluation.power_watts, "the power")
    electricity = inputs.given("electricity", "usd_per_kwh")
    if electricity is None:
        electricity = inputs.cost_assumption("electricity_usd_per_kwh")
    return energy_usd_per_hour(power, _duty(inputs), pue, electricity)


def _duty(inputs: Inputs) -> float:
    given = inputs.given("duty", "share")
    return inputs.cost_assumption("duty") if given is None else given


def _hosting_per_hour(inputs: Inputs) -> float:
    hardware = known(inputs.evaluation.hardware, "the hardware")
    host = hardware.host or ""
    return hosting_usd_per_hour(
        inputs.entity_figure("hosts", host, "rack_units", "number") * hardware.hosts,
        inputs.cost_assumption("rack_units"),
        inputs.cost_assumption("rack_usd_per_month"),
    )


def _usd_per_hour(inputs: Inputs) -> float:
    """Capital, energy and hosting together."""
    parts = ("capital", "energy", "hosting")
    return sum(inputs.quantity(part, "usd_per_hour") for part in parts)


def _tokens_per_dollar(inputs: Inputs) -> float:
    rate = inputs.quantity("tokens", "tokens") / inputs.quantity("period", "seconds")
    total = inputs.quantity("total", "usd_per_hour")
    return tokens_per_usd(rate, _duty(inputs), total)


def _energy_kwh(inputs: Inputs) -> float:
    power, pue = inputs.quantity("power", "watts"), inputs.cost_assumption("pue")
    return energy_kwh(power, _hours(inputs), _duty(inputs), pue)


def _hours(inputs: Inputs) -> float:
    return inputs.quantity("period", "seconds") / SECONDS_PER_HOUR


def _rent_usd(inputs: Inputs, hours: float) -> float:
    rent = inputs.quantity("rent", "usd_per_hour")
    return rent_usd(rent, hours, _duty(inputs))


def _break_even_days(inputs: Inputs) -> float:
    """Day on which a purchase with its electricity has cost as much as renting."""
    energy, rent = _energy_per_hour(inputs), _rent_usd(inputs, HOURS_PER_DAY)
    day = break_even_days(_price(inputs), HOURS_PER_DAY * energy, rent)
    return known(day, "the day, for renting never costs more,")


FIGURES: dict[str, Callable[[Inputs], float]] = {
    "break_even_days": _break_even_days,
    "cache_saves_flop": lambda of: _cache_saves(of, "key_value_flop_per_token"),
    "cache_saves_flop_per_byte": _cache_saves_flop_per_byte,
    "cache_saves_weight_reads": lambda of: _cache_saves(of, "key_value_weights"),
    "capital_per_hour": lambda of: capital_usd_per_hour(
        _price(of), of.cost_assumption("years")
    ),
    "energy_kwh": _energy_kwh,
    "energy_per_hour": _energy_per_hour,
    "energy_usd": lambda of: _hours(of) * _energy_per_hour(of),
    "fewest_accelerators": _fewest_accelerators,
    "fewest_accelerators_holding": _fewest_accelerators_holding,
    "hosting_per_hour": _hosting_per_hour,
    "largest_batch": lambda of: of.batch,
    "memory_bandwidth_ratio": _memory_bandwidth_ratio,
    "rent_usd": lambda of: _rent_usd(of, _hours(of)),
    "ridge_flop_per_byte": _ridge_flop_per_byte,
    "step_seconds": _step_seconds,
    "step_speed": lambda of: tokens_per_second(1, 1, _step_seconds(of)),
    "sum_of_rows": _sum_of_rows,
    "throughput": _throughput,
    "tokens_per_dollar": _tokens_per_dollar,
    "usd_per_hour": _usd_per_hour,
    "utilization": _utilization,
    **TRAINING_FIGURES,
}
