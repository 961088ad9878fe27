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
    parse_quantity,
    rent_usd,
    tokens_per_second,
    tokens_per_usd,
)
from planopt._native import step_seconds as native_step_seconds
from planopt.article.inputs import UnknownFigureError, known
from planopt.article.training_figures import TRAINING_FIGURES

if TYPE_CHECKING:
    from collections.abc import Callable

    from planopt.article.inputs import Inputs

_SECONDS_PER_HOUR = parse_quantity("1h", "seconds")
_HOURS_PER_DAY = parse_quantity("1d", "seconds") / _SECONDS_PER_HOUR


def figure_of(name: str, inputs: Inputs) -> float:
    """Work a figure out."""
    if "." not in name:
        return FIGURES[name](inputs)
    value = float(known(attrgetter(name)(inputs.evaluated), name))
    return value / _stages(inputs) if "per_stage" in inputs else value


def _stages(inputs: Inputs) -> int:
    return known(inputs.evaluation.candidate, "the layout").pp


def _sum_of_rows(inputs: Inputs) -> float:
    """Add the figures of other rows up."""
    return sum(figure_of(name, part) for name, part in inputs.parts)


def _fewest_accelerators_holding(inputs: Inputs) -> float:
    """Count the accelerators that hold what other rows add up to, evenly divided."""
    memory = known(inputs.training.memory, "the memory")
    return fewest_accelerators(_sum_of_rows(inputs), memory.capacity_bytes)


def _cache_saves_flop(inputs: Inputs) -> float:
    """Arithmetic to make the keys and values of all cached tokens again."""
    return _cached_tokens(inputs) * inputs.sum_of_operations("key_value_flop_per_token")


def _cache_saves_flop_per_byte(inputs: Inputs) -> float:
    """Compare it with the memory that the cache takes."""
    memory = known(inputs.evaluation.memory, "the memory")
    return _cache_saves_flop(inputs) / memory.kv_cache_bytes


def _cache_saves_weight_reads(inputs: Inputs) -> float:
    """Weights read to make them again, token by token."""
    return _cached_tokens(inputs) * inputs.sum_of_operations("key_value_weights")


def _cached_tokens(inputs: Inputs) -> float:
    return known(inputs.evaluation.context_tokens, "the context") * inputs.batch


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


def _fewest_accelerators(inputs: Inputs) -> float:
    """Count the stages of the shortest pipeline that has the memory."""
    for stages in range(1, inputs.model["layers"] + 1):
        if inputs.evaluate(pp=stages).feasible:
            return stages
    raise UnknownFigureError("no number of accelerators of one host is enough")


def _largest_batch(inputs: Inputs) -> float:
    """Sequences of a micro-batch that keep the target."""
    return inputs.batch


def _throughput(inputs: Inputs) -> float:
    """Tokens per second of batches whose sequences are read at a given speed."""
    step_seconds = 1 / inputs.quantity("speed", "tokens_per_second")
    return tokens_per_second(
        inputs.number("batch"), inputs.number("in_flight"), step_seconds
    )


def _utilization(inputs: Inputs) -> float:
    """Share of the time that a throughput keeps the accelerators computing."""
    decode = inputs.evaluation.decode
    throughput = (
        inputs.quantity("throughput", "tokens_per_second")
        if "throughput" in inputs
        else known(decode.tokens_per_second, "the throughput")
    )
    # Stages work side by side, and the ranks of a stage share its arithmetic.
    return throughput * _arithmetic_seconds(inputs) / _stages(inputs)


def _step_seconds(inputs: Inputs) -> float:
    """Time of a step from given times of a stage, of all-reduces and of a hop."""
    stage = inputs.quantity("stage", "seconds")
    all_reduces = (
        inputs.quantity("communication", "seconds")
        if ("communication" in inputs)
        else 0.0
    )
    hops = (
        inputs.number("hops") * inputs.quantity("hop", "seconds")
        if "hop" in inputs
        else 0.0
    )
    turn = inputs.number("stages") * stage + all_reduces + hops
    return native_step_seconds(turn, stage, 1)


def _step_speed(inputs: Inputs) -> float:
    """Tokens per second of one sequence at such a step."""
    return tokens_per_second(1, 1, _step_seconds(inputs))


def _capital_per_hour(inputs: Inputs) -> float:
    return capital_usd_per_hour(_price(inputs), inputs.cost_assumption("years"))


def _price(inputs: Inputs) -> float:
    if "price" in inputs:
        return inputs.quantity("price", "usd")
    return known(inputs.evaluation.cost.price_usd, "the price")


def _energy_per_hour(inputs: Inputs) -> float:
    power = (
        inputs.quantity("power", "watts")
        if "power" in inputs
        else known(inputs.evaluation.power_watts, "the power")
    )
    return energy_usd_per_hour(
        power, _duty(inputs), inputs.cost_assumption("pue"), _electricity(inputs)
    )


def _duty(inputs: Inputs) -> float:
    if "duty" in inputs:
        return inputs.quantity("duty", "share")
    return inputs.cost_assumption("duty")


def _electricity(inputs: Inputs) -> float:
    if "electricity" in inputs:
        return inputs.quantity("electricity", "usd_per_kwh")
    return inputs.cost_assumption("electricity_usd_per_kwh")


def _hosting_per_hour(inputs: Inputs) -> float:
    hardware = known(inputs.evaluation.hardware, "the hardware")
    rack_units = inputs.entity_figure(
        "hosts", hardware.host or "", "rack_units", "number"
    )
    return hosting_usd_per_hour(
        rack_units * hardware.hosts,
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
    return energy_kwh(
        inputs.quantity("power", "watts"),
        _hours(inputs),
        _duty(inputs),
        inputs.cost_assumption("pue"),
    )


def _hours(inputs: Inputs) -> float:
    return inputs.quantity("period", "seconds") / _SECONDS_PER_HOUR


def _energy_usd(inputs: Inputs) -> float:
    return _hours(inputs) * _energy_per_hour(inputs)


def _rent_usd(inputs: Inputs) -> float:
    rent = inputs.quantity("rent", "usd_per_hour")
    return rent_usd(rent, _hours(inputs), _duty(inputs))


def _break_even_days(inputs: Inputs) -> float:
    """Day on which a purchase with its electricity has cost as much as renting."""
    rent = inputs.quantity("rent", "usd_per_hour")
    day = break_even_days(
        _price(inputs),
        _HOURS_PER_DAY * _energy_per_hour(inputs),
        rent_usd(rent, _HOURS_PER_DAY, _duty(inputs)),
    )
    return known(day, "the day, for renting never costs more,")


def _memory_bandwidth_ratio(inputs: Inputs) -> float:
    """Memory bandwidth of one accelerator over that of another."""
    one, other = (
        inputs.entity_figure(
            "accelerators", inputs.text(name), "memory_bandwidth", "bytes_per_second"
        )
        for name in ("accelerator", "over")
    )
    return one / other


FIGURES: dict[str, Callable[[Inputs], float]] = {
    "break_even_days": _break_even_days,
    "cache_saves_flop": _cache_saves_flop,
    "cache_saves_flop_per_byte": _cache_saves_flop_per_byte,
    "cache_saves_weight_reads": _cache_saves_weight_reads,
    "capital_per_hour": _capital_per_hour,
    "energy_kwh": _energy_kwh,
    "energy_per_hour": _energy_per_hour,
    "energy_usd": _energy_usd,
    "fewest_accelerators": _fewest_accelerators,
    "fewest_accelerators_holding": _fewest_accelerators_holding,
    "hosting_per_hour": _hosting_per_hour,
    "largest_batch": _largest_batch,
    "memory_bandwidth_ratio": _memory_bandwidth_ratio,
    "rent_usd": _rent_usd,
    "ridge_flop_per_byte": _ridge_flop_per_byte,
    "step_seconds": _step_seconds,
    "step_speed": _step_speed,
    "sum_of_rows": _sum_of_rows,
    "throughput": _throughput,
    "tokens_per_dollar": _tokens_per_dollar,
    "usd_per_hour": _usd_per_hour,
    "utilization": _utilization,
    **TRAINING_FIGURES,
}
