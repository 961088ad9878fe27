"""Stages of a pipeline, and what each works on, keeps and holds (section 5)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

from planopt.verify.memory import layers_per_stage
from planopt.verify.training import parameters
from planopt.verify.training.tally import Work, total
from planopt.verify.training.work import embedding_work, head_work, layer_work

if TYPE_CHECKING:
    from planopt.verify.operations import Operation
    from planopt.verify.training.parameters import Bytes, Holdings
    from planopt.verify.training.work import Rank

Layer = tuple["Operation", ...]


# Section 5, `recompute`.
@dataclass(frozen=True)
class Recomputed:
    """What a layer keeps, what is there once besides, and the share done again."""

    kept: float
    working_set: float


@dataclass(frozen=True)
class Stage:
    """A stage: its kinds of layer and how many it has of each."""

    rank: Rank
    number: int
    layers: tuple[Layer, ...]

    @property
    def is_first(self) -> bool:
        """Return whether the embedding is on it."""
        return self.number == 0

    @property
    def is_last(self) -> bool:
        """Return whether the head is on it."""
        return self.number == self.rank.candidate.pp - 1

    @property
    def embedding(self) -> Work:
        """Return the work of the embedding, if it is here."""
        return embedding_work(self.rank) if self.is_first else Work()

    @property
    def head(self) -> Work:
        """Return the work of the head, if it is here."""
        return head_work(self.rank) if self.is_last else Work()

    @cached_property
    def kinds(self) -> list[tuple[Work, int]]:
        """Return the work of each kind of layer, and how many there are."""
        counted = Counter(self.layers)
        return [(layer_work(kind, self.rank), many) for kind, many in counted.items()]

    @cached_property
    def body(self) -> Work:
        """Return the work of all layers."""
        return total(work for work, many in self.kinds for _ in range(many))

    @cached_property
    def whole(self) -> Work:
        """Return the work of everything on the stage."""
        return total([self.body, self.embedding, self.head])

    # Section 5, the table of `recompute`.
    def recomputed(self, layer: Work) -> Recomputed:
        """Return what a micro-batch keeps of a layer of this stage."""
        rank, layers = self.rank, len(self.layers)
        beginning = rank.stream * rank.machine.activation_bytes
        kind, _, count = rank.candidate.recompute.partition(":")
        if kind == "selective":
            return Recomputed(layer.kept - layer.core, layer.core)
        if kind == "full":
            return Recomputed(beginning, layer.kept - beginning)
        if kind == "block":
            every = int(count)
            return Recomputed(
                beginning * ceil(layers / every) / layers,
                layer.kept * min(every, layers) - beginning,
            )
        if kind == "layers":
            x = min(int(count) / layers, 1)
            return Recomputed(
                beginning * x + layer.kept * (1 - x), layer.kept - beginning
            )
        return Recomputed(layer.kept, 0.0)

    # Section 7, R.
    @property
    def share_done_again(self) -> float:
        """Return the share of the layers' forward that is done again."""
        kind, _, count = self.rank.candidate.recompute.partition(":")
        if kind in ("full", "block"):
            return 1.0
        if kind == "layers":
            return min(int(count) / len(self.layers), 1)
        return 0.0

    @property
    def kept_by_layers(self) -> float:
        """Return the bytes that the layers keep of one micro-batch."""
        return sum(many * self.recomputed(work).kept for work, many in self.kinds)

    # Section 5, "Micro-batches in flight".
    @property
    def in_flight(self) -> float:
        """Return the micro-batches that it holds at once."""
        candidate = self.rank.candidate
        p, v, m = candidate.pp, candidate.vpp, candidate.micro_batches
        if candidate.schedule == "gpipe":
            return m
        if v == 1:
            return min(p - self.number, m)
        return min((2 * (p - 1 - self.number) + (v - 1) * p + 1) / v, m)

    @property
    def has_tied_copy(self) -> bool:
        """Return whether a tied head here holds the token table again."""
        tied = self.rank.model.tied and self.rank.model.vocabulary > 0
        return tied and self.is_last and not self.is_first

    @cached_property
    def holdings(self) -> Holdings:
        """Return the bytes of its parameters on one rank."""
        model = self.rank.model
        operations = [one for layer in self.layers for one in layer]
        if self.is_first:
            operations += model.embedding
        if self.is_last:
            operations += model.head
        held = parameters.holdings(operations, self.rank)
        if not self.has_tied_copy:
            return held
        copy = parameters.tied_copy(self.rank)
        return parameters.Holdings(parameters.total([held.dense, copy]), held.experts)

    @cached_property
    def layer_holdings(self) -> list[Bytes]:
        """Return the bytes of a whole layer of each kind on one rank."""
        kinds = (parameters.holdings(kind, self.rank) for kind in set(self.layers))
        return [parameters.total([kind.dense, kind.experts]) for kind in kinds]


# Section 5, "Layers are dealt".
def stages_of(rank: Rank) -> list[Stage]:
    """Deal the layers of the model to stages."""
    layers, candidate = rank.model.layers, rank.candidate
    p, v = candidate.pp, candidate.vpp
    counts = layers_per_stage(len(layers), p * v)
    if v == 1:
        firsts = [sum(counts[:stage]) for stage in range(p)]
        dealt = [
            layers[first : first + counts[stage]] for stage, first in enumerate(firsts)
        ]
    else:
        chunk = len(layers) // (p * v)
        dealt = [
            tuple(
                layer
                for turn in range(v)
                for layer in layers[(turn * p + stage) * chunk :][:chunk]
            )
            for stage in range(p)
        ]
    return [Stage(rank, number, own) for number, own in enumerate(dealt)]
