"""The general functions behind figures that are no field of an evaluation.

Each takes the inputs of a scenario and gives an SI value. The arithmetic of steps,
energy and money is that of the compiled core, the one that evaluations use.
"""

from __future__ import annotations

from collections.abc import Callable

from planopt._native import (
    accelerators_to_finish,
    bandwidth_to_keep_up,
    break_even_days,
    capital_usd_per_hour,
    energy_kwh,
    energy_usd_per_hour,
    fewest_accelerators,
    forwards_from_the_input,
    hosting_usd_per_hour,
    in_flight_both_ways,
    largest_tensor_degree,
    rent_usd,
    run_seconds,
    step_seconds,
    tensor_intensity,
    tokens_per_second,
    tokens_per_usd,
)
from planopt.article.inputs import Inputs, UnknownFigureError, known
from planopt.units import HOURS_PER_DAY, SECONDS_PER_HOUR

_TERA = 1e12
# The product of a layer that attention starts with; its heads are divided among ranks.
_HEADS = "query_key_value"


def _run_flop(inputs: Inputs) -> float:
    """Model FLOPs of a whole run."""
    hours = inputs.figure("run.productive_accelerator_hours", "the length of the run")
    return _flop_per_second(inputs) * hours * SECONDS_PER_HOUR


def _flop_per_second(inputs: Inputs) -> float:
    """Model FLOPs per second of one accelerator, as it goes."""
    rate = "the rate of the model's arithmetic"
    return inputs.figure("model_tflops_per_accelerator", rate) * _TERA


def _step_of_a_run(inputs: Inputs) -> float:
    return inputs.figure("step_seconds", "the length of a step")


def _kept_by_a_layer(inputs: Inputs) -> float:
    kept = "what forward keeps of a layer"
    return inputs.figure("memory.activations_per_layer_bytes", kept)


def _tensor_intensity(inputs: Inputs) -> float:
    """FLOP for each byte of a layer's input where each rank has one head."""
    heads = inputs.model.heads
    return tensor_intensity(_heads_flop(inputs), _kept_by_a_layer(inputs), heads)


def _heads_flop(inputs: Inputs) -> float:
    """Arithmetic of a micro-batch in the product that makes the heads."""
    candidate = inputs.training.candidate
    tokens = candidate.batch * known(candidate.seq_len, "the length of a sequence")
    operations = inputs.model.operations
    product = next(each for each in operations if each.name == _HEADS)
    return tokens * product.flop_per_token


def _peak(inputs: Inputs) -> float:
    """Rate of arithmetic that utilisation is counted against."""
    return _flop_per_second(inputs) / inputs.figure("mfu", "the utilisation")


def _largest_tensor_degree(inputs: Inputs) -> float:
    """Tensor-parallel degree from which on a layer's input outlasts the arithmetic."""
    flop, kept = _heads_flop(inputs), _kept_by_a_layer(inputs)
    return largest_tensor_degree(flop, kept, _peak(inputs), _bandwidth(inputs))


def _bandwidth(inputs: Inputs) -> float:
    """Bandwidth of the link named, or of the one that comes with the accelerator."""
    if "link" in inputs:
        place = ("links", inputs.text("link"), "bandwidth")
    else:
        accelerator = inputs.training.candidate.accelerator
        place = ("accelerators", accelerator, "scale_up.bandwidth")
    return inputs.entity_figure(*place, "bytes_per_second")


def figure_of(name: str, inputs: Inputs) -> float:
    """Work a figure out."""
    if "." not in name:
        return FIGURES[name](inputs)
    value = inputs.figure(name, name)
    return value / _stages(inputs) if "per_stage" in inputs else value


# --- What a configuration does --------------------------------------------------------


def _stages(inputs: Inputs) -> int:
    return known(inputs.evaluation.candidate, "the layout").pp


def _sum_of_rows(inputs: Inputs) -> float:
    """Add the figures of other rows up."""
    return sum(figure_of(name, part) for name, part in inputs.parts)


def _fewest_accelerators(inputs: Inputs) -> float:
    """Count the stages of the shortest pipeline that has the memory."""
    for stages in range(1, inputs.model.layers + 1):
        if inputs.evaluate(pp=stages).feasible:
            return stages
    raise UnknownFigureError("no number of accelerators of one host is enough")


def _cache_saves(inputs: Inputs, per_token: str) -> float:
    """Tell what it takes to make keys and values of all cached tokens again."""
    tokens = inputs.figure("context_tokens", "the context") * inputs.batch
    return tokens * inputs.sum_of_operations(per_token)


def _cache_saves_flop_per_byte(inputs: Inputs) -> float:
    """Compare their arithmetic with the memory that the cache takes."""
    cache = inputs.figure("memory.kv_cache_bytes", "the memory")
    return _cache_saves(inputs, "key_value_flop_per_token") / cache


def _ridge_flop_per_byte(inputs: Inputs) -> float:
    """Rate of arithmetic over rate of reading weights, as evaluated on one card."""
    flop = inputs.sum_of_operations("flop_per_token")
    weights = inputs.figure("memory.weights_bytes", "the memory")
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
    throughput = inputs.given("throughput", "tokens_per_second")
    if throughput is None:
        throughput = inputs.figure("decode.tokens_per_second", "the throughput")
    # Stages work side by side, and the ranks of a stage share its arithmetic.
    return throughput * _arithmetic_seconds(inputs) / _stages(inputs)


def _step_seconds(inputs: Inputs) -> float:
    """Time of a step from given times of a stage, of all-reduces and of a hop."""
    stage = inputs.quantity("stage", "seconds")
    all_reduces = inputs.given("communication", "seconds") or 0.0
    hops = inputs.number("hops") * (inputs.given("hop", "seconds") or 0.0)
    return step_seconds(inputs.number("stages") * stage + all_reduces + hops, stage, 1)


def _memory_bandwidth_ratio(inputs: Inputs) -> float:
    """Memory bandwidth of one accelerator over that of another."""
    place = "memory_bandwidth", "bytes_per_second"
    one, other = (
        inputs.entity_figure("accelerators", inputs.text(name), *place)
        for name in ("accelerator", "over")
    )
    return one / other


# --- What it costs --------------------------------------------------------------------


def _price(inputs: Inputs) -> float:
    given = inputs.given("price", "usd")
    return inputs.figure("cost.price_usd", "the price") if given is None else given


def _energy_per_hour(inputs: Inputs) -> float:
    power, pue = inputs.given("power", "watts"), inputs.cost_assumption("pue")
    if power is None:
        power = inputs.figure("power_watts", "the power")
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


def _hours(inputs: Inputs) -> float:
    return inputs.quantity("period", "seconds") / SECONDS_PER_HOUR


def _rent_usd(inputs: Inputs, hours: float) -> float:
    rent = inputs.quantity("rent", "usd_per_hour")
    return rent_usd(rent, hours, _duty(inputs))


def _break_even_days(inputs: Inputs) -> float:
    """Day on which a purchase with its electricity has cost as much as renting."""
    energy, rent = _energy_per_hour(inputs), _rent_usd(inputs, HOURS_PER_DAY)
    day = break_even_days(_price(inputs), HOURS_PER_DAY * energy, rent, 0.0)
    return known(day, "the day, for renting never costs more,")


FIGURES: dict[str, Callable[[Inputs], float]] = {
    "break_even_days": _break_even_days,
    "cache_saves_flop": lambda of: _cache_saves(of, "key_value_flop_per_token"),
    "cache_saves_flop_per_byte": _cache_saves_flop_per_byte,
    "cache_saves_weight_reads": lambda of: _cache_saves(of, "key_value_weights"),
    "capital_per_hour": lambda of: capital_usd_per_hour(
        _price(of), of.cost_assumption("years")
    ),
    "energy_kwh": lambda of: energy_kwh(
        of.quantity("power", "watts"), _hours(of), _duty(of), of.cost_assumption("pue")
    ),
    "energy_per_hour": _energy_per_hour,
    "energy_usd": lambda of: _hours(of) * _energy_per_hour(of),
    "fewest_accelerators": _fewest_accelerators,
    # Those that hold what other rows add up to, evenly divided.
    "fewest_accelerators_holding": lambda of: fewest_accelerators(
        _sum_of_rows(of), of.figure("memory.capacity_bytes", "the memory")
    ),
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
    # Of training.
    # Accelerators that work a number of hours off in time.
    "accelerators_to_finish": lambda of: accelerators_to_finish(
        of.number("accelerator_hours"), of.quantity("period", "seconds")
    ),
    # What one micro-batch keeps of all layers.
    "activations_of_layers": lambda of: of.model.layers * _kept_by_a_layer(of),
    # Bandwidth at which messages take as long as the arithmetic of one head.
    "bandwidth_to_keep_up": lambda of: bandwidth_to_keep_up(
        _peak(of), _tensor_intensity(of)
    ),
    # Forwards of single layers where backward has the model's input alone.
    "forwards_from_the_input": lambda of: forwards_from_the_input(of.model.layers),
    "forwards_over_one_pass": lambda of: (
        forwards_from_the_input(of.model.layers) / of.model.layers
    ),
    # Micro-batches on the first stage of a pipeline that is never flushed.
    "in_flight_both_ways": lambda of: in_flight_both_ways(of.training.candidate.pp - 1),
    "largest_tensor_degree": _largest_tensor_degree,
    # Time in which some accelerators work off a number of hours.
    "run_duration": lambda of: run_seconds(
        of.number("accelerator_hours"), of.number("accelerators")
    ),
    "run_flop": _run_flop,
    # Model FLOPs of a step on one accelerator.
    "step_flop": lambda of: _flop_per_second(of) * _step_of_a_run(of),
    "tensor_intensity": _tensor_intensity,
    "training_step_seconds": _step_of_a_run,
}
