"""What a serving engine makes of kernels (catalogs.md, `[engines.<name>]`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from planopt_reference import units

if TYPE_CHECKING:
    from planopt_reference.hardware import Accelerator

__all__ = ["KERNELS", "Engine", "engine_from_table"]

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Engine:
    """Factors of what kernels reach, limits of it, and what a step takes besides."""

    arithmetic: float = 1.0
    attention: float = 1.0
    cache: float = 1.0
    bandwidth: float = 1.0
    overhead: float = 1.0
    quantised: float = 1.0
    kernels: Table | None = None
    """Of its own, as the file has them."""
    experts: Mapping[str, list[str]] = field(default_factory=dict)
    """Families of kernels of experts by format, the first that was measured."""
    prompt_chunk: int | None = None
    """Tokens of a prompt that go through the stages at once, if not all."""
    half_rows: float | None = None
    """Rows at half rate of its own kernels; none leaves those of the kernels' table."""
    hop_overhead: float = 0.0
    """Seconds of passing a micro-batch on to the next stage, besides its message."""
    step_overhead: float | None = None
    """Seconds; none leaves those of the kernels' table."""
    layer_overhead: float | None = None
    """Seconds of all small kernels of a layer; none leaves the launch of each."""
    dependent_launch: float = 0.0
    """Seconds of these that kernels save which start before those before them end."""
    per_sequence: float = 0.0
    """Seconds of a step for each sequence that gains a token."""
    prompt_launch: float = 0.0
    """Seconds of each operation and message of a step that reads prompts, at least."""
    prefill_factor: float = 1.0
    """Time of products and attention of such a step over that of the best kernels."""
    steps: Table = field(default_factory=dict)
    """What is taken into steps by the memory of accelerators, as the file has it."""

    def graph_tokens(self, accelerator: Accelerator) -> int:
        """Return the tokens of the largest step of prompts that a graph is of."""
        reached = [
            (units.quantity(each.get("memory", "0 GiB"), "bytes"), each)
            for each in self.steps.values()
            if accelerator.model_id not in each.get("except", ())
        ]
        held = [(least, each) for least, each in reached if least <= accelerator.memory]
        if not held:
            return 0
        _, of_most = max(held, key=lambda pair: pair[0])
        return units.count(of_most.get("graph_tokens", 0))


KERNELS: Final = Engine()
"""No engine in particular: kernels as they were measured."""


def _as_it_is(figure: object) -> object:
    return figure


_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "kernels": _as_it_is,
    "experts": _as_it_is,
    "prompt_chunk": units.count,
    "hop_overhead": units.seconds,
    "step_overhead": units.seconds,
    "layer_overhead": units.seconds,
    "per_sequence": units.seconds,
    "dependent_launch": units.seconds,
    "steps": _as_it_is,
    "prompt_launch": units.seconds,
}


def engine_from_table(table: Table) -> Engine:
    """Read a table `[engines.<name>]`: what is not there is as without an engine.

    How it schedules and what a request takes outside of its steps is not of the time of
    a step, and left out.
    """
    stated: dict[str, Any] = {
        each.name: _READ.get(each.name, units.share)(table[each.name])
        for each in fields(Engine)
        if each.name in table
    }
    return Engine(**stated)
