"""What frameworks add to training and accelerators reach in it (training.md, 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import inf
from typing import TYPE_CHECKING, Any, Final

from planopt_reference import units

if TYPE_CHECKING:
    from planopt_reference.hardware import Accelerator

Table = Mapping[str, Any]

_DIMENSIONS: Final = {
    "host_launch": "seconds",
    "expert_launch": "seconds",
    "hop_overhead": "seconds",
    "step_overhead": "seconds",
    "bucket": "bytes",
}
_SWITCHES: Final = (
    "send_once",
    "portable_attention",
    "gradients_everywhere",
    "broadcasts",
    "eight_bit_weights",
    "loss_in_place",
    "eight_bit_activations",
)


@dataclass(frozen=True)
class Framework:
    """A table of `[frameworks]`: factors, shares, seconds, bytes."""

    host_launch: float = 0.0
    elementwise: float = 1.0
    loss: float = 1.0
    scan: float = 1.0
    casts: float = 0.0
    casts_4bit: float = 1.0
    routing: float = 1.0
    expert_launch: float = 0.0
    send_once: bool = False
    expert_overlap: float = 0.0
    tensor_overlap: float = 0.0
    gradient_overlap: float = 1.0
    pipeline_overlap: float = 0.0
    hop_overhead: float = 0.0
    gradients_everywhere: bool = False
    broadcasts: bool = False
    eight_bit_weights: bool = False
    weight_copies: float = 2.0
    eight_bit_activations: bool = False
    expert_hosts: float = inf
    loss_in_place: bool = False
    data_overlap: float = 0.0
    data_contention: float = 0.0
    bucket: float = inf
    portable_attention: bool = False
    gradient_copy: float = 0.0
    memory_reserve: float = 1.0
    step_overhead: float = 0.0


@dataclass(frozen=True)
class Trainer:
    """What an accelerator reaches: a table of `[trainers]` over the general figures."""

    sustained: float = 1.0
    sustained_8bit: float = 1.0
    sustained_4bit: float = 1.0
    gathered_8bit: float = 1.0
    grouped: float = 1.0
    grouped_8bit: float = 1.0
    attention_forward: float = 1.0
    attention_backward: float = 1.0
    portable_attention: float = 1.0
    attention_half_length: float = 0.0
    attention_half_head: float = 0.0
    clock: float = 1.0
    host: float = 1.0


class Trainers:
    """The tables `[frameworks]` and `[trainers]` of an assumptions file."""

    def __init__(self, table: Table) -> None:
        training = table.get("training", {})
        self._frameworks: Table = table.get("frameworks", {})
        self._trainers: Table = table.get("trainers", {})
        self._general = Framework()
        self._trainer = Trainer()
        if training:
            self._general = Framework(
                tensor_overlap=units.share(training["tensor_overlap"]),
                pipeline_overlap=units.share(training["pipeline_overlap"]),
                data_overlap=units.share(training["data_overlap"]),
                data_contention=units.share(training["contention"]),
            )
            attention = units.share(training["attention_efficiency"])
            self._trainer = Trainer(
                attention_forward=attention, attention_backward=attention
            )
        self.unaligned = units.share(training.get("unaligned", 1.0))

    def framework(self, name: str) -> Framework:
        """Return a framework by its name; one without a table adds nothing."""
        own = self._frameworks.get(name, {})
        changes: dict[str, Any] = {key: _figure(own, key) for key in own}
        return replace(self._general, **changes)

    def trainer(self, accelerator: Accelerator) -> Trainer:
        """Return an accelerator: its own figures over those of its family."""
        reached = self._trainer
        known = {field.name for field in fields(Trainer)}
        for name in (accelerator.family, accelerator.model_id):
            own = self._trainers.get(name, {})
            reached = replace(
                reached, **{key: units.share(own[key]) for key in own if key in known}
            )
        return reached


def _figure(table: Table, key: str) -> float | bool:
    if key in _SWITCHES:
        return bool(units.unwrapped(table[key]))
    if key in _DIMENSIONS:
        return units.quantity(table[key], _DIMENSIONS[key])
    return units.share(table[key])
