"""The general functions behind figures of training that are no field of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt._native import (
    accelerators_to_finish,
    bandwidth_to_keep_up,
    forwards_from_the_input,
    in_flight_both_ways,
    largest_tensor_degree,
    run_seconds,
    tensor_intensity,
)
from planopt.article.inputs import known
from planopt.units import SECONDS_PER_HOUR

if TYPE_CHECKING:
    from collections.abc import Callable

    from planopt.article.inputs import Inputs

_TERA = 1e12
# The product of a layer that attention starts with; its heads are divided among ranks.
_HEADS = "query_key_value"


def _run_flop(inputs: Inputs) -> float:
    """Model FLOPs of a whole run."""
    hours = known(
        inputs.training.run.productive_accelerator_hours, "the length of the run"
    )
    return _flop_per_second(inputs) * hours * SECONDS_PER_HOUR


def _flop_per_second(inputs: Inputs) -> float:
    """Model FLOPs per second of one accelerator, as it goes."""
    tflops = inputs.training.model_tflops_per_accelerator
    return known(tflops, "the rate of the model's arithmetic") * _TERA


def _step_seconds(inputs: Inputs) -> float:
    return known(inputs.training.step_seconds, "the length of a step")


def _kept_by_a_layer(inputs: Inputs) -> float:
    memory = known(inputs.training.memory, "the memory")
    kept = memory.activations_per_layer_bytes
    return known(kept, "what forward keeps of a layer")


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
    return _flop_per_second(inputs) / known(inputs.training.mfu, "the utilisation")


def _largest_tensor_degree(inputs: Inputs) -> float:
    """Tensor-parallel degree from which on a layer's input outlasts the arithmetic."""
    return largest_tensor_degree(
        _heads_flop(inputs),
        _kept_by_a_layer(inputs),
        _peak(inputs),
        _bandwidth(inputs),
    )


def _bandwidth(inputs: Inputs) -> float:
    """Bandwidth of the link named, or of the one that comes with the accelerator."""
    if "link" in inputs:
        place = ("links", inputs.text("link"), "bandwidth")
    else:
        accelerator = inputs.training.candidate.accelerator
        place = ("accelerators", accelerator, "scale_up.bandwidth")
    return inputs.entity_figure(*place, "bytes_per_second")


TRAINING_FIGURES: dict[str, Callable[[Inputs], float]] = {
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
    "step_flop": lambda of: _flop_per_second(of) * _step_seconds(of),
    "tensor_intensity": _tensor_intensity,
    "training_step_seconds": _step_seconds,
}
