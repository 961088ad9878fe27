"""Stages of a pipeline, and what each works on, keeps and holds (section 5)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor
from typing import TYPE_CHECKING

from planopt_reference.operations import MatMul
from planopt_reference.stage import layers_per_stage
from planopt_reference.training import parameters
from planopt_reference.training.tally import Work, total
from planopt_reference.training.work import (
    embedding_work,
    head_work,
    layer_work,
    mtp_work,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt_reference.operations import Operation
    from planopt_reference.training.parameters import Bytes, Holdings
    from planopt_reference.training.rank import Rank

Layer = tuple["Operation", ...]


# Section 5, `recompute`.
@dataclass(frozen=True)
class Recomputed:
    """What a layer keeps, what is there once besides, and the share recomputed."""

    kept: float
    working_set: float


@dataclass(frozen=True)
class Stage:
    """A stage: its kinds of layer and how many it has of each."""

    rank: Rank
    number: int
    layers: tuple[Layer, ...]
    """Those of the model."""

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

    @property
    def mtp_modules(self) -> int:
        """Return the modules of multi-token prediction that are here."""
        return self.rank.candidate.mtp_modules if self.is_last else 0

    @property
    def layer_count(self) -> int:
        """Return `n`: the layers, modules of multi-token prediction included."""
        return len(self.layers) + self.mtp_modules

    @cached_property
    def kinds(self) -> list[tuple[Work, int]]:
        """Return the work of each kind of layer, and how many there are."""
        counted = Counter(self.layers)
        kinds = [(layer_work(kind, self.rank), many) for kind, many in counted.items()]
        if self.mtp_modules:
            kinds.append((mtp_work(self.rank), self.mtp_modules))
        return kinds

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
        layers, beginning = self.layer_count, layer.beginning
        kind, _, count = self.rank.candidate.recompute.partition(":")
        recomputed = recomputed_of(layer, self.rank).kept
        if recomputed:
            return Recomputed(layer.kept - recomputed, recomputed)
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

    # Section 7, R of modules.
    @cached_property
    def of_modules(self) -> Work:
        """Return the work that modules of its layers recompute."""
        return recomputed_of(self.body, self.rank)

    # Section 7, R.
    @property
    def recompute_fraction(self) -> float:
        """Return the share of the layers' forward that is recomputed."""
        kind, _, count = self.rank.candidate.recompute.partition(":")
        if kind in ("full", "block"):
            return 1.0
        if kind == "layers":
            return min(int(count) / self.layer_count, 1)
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
        behind = p - 1 - self.number
        if candidate.schedule == "gpipe":
            return m
        if candidate.schedule == "zb-h2":
            return min(2 * behind + 1, m)
        if candidate.schedule == "zb-v":
            return min(p, m)
        if candidate.schedule == "dualpipe":
            return min((p + 1) / 2, m)
        if v == 1:
            return min(p - self.number, m)
        return min((2 * (p - 1 - self.number) + (v - 1) * p + 1) / v, m)

    @property
    def has_table_again(self) -> bool:
        """Return whether the token table is held here again."""
        needed = parameters.table_on_two_stages(self.rank)
        return needed and self.is_last and not self.is_first

    @cached_property
    def holdings(self) -> Holdings:
        """Return the bytes of its parameters on one rank."""
        model = self.rank.model
        operations = [one for layer in self.layers for one in layer]
        operations += list(model.mtp_operations()) * self.mtp_modules
        if self.is_first:
            operations += model.embedding
        if self.is_last:
            operations += model.head
        held = parameters.holdings(operations, self.rank)
        if not self.has_table_again:
            return held
        copy = parameters.token_table(self.rank)
        return parameters.Holdings(parameters.total([held.dense, copy]), held.experts)

    @cached_property
    def layer_holdings(self) -> list[Bytes]:
        """Return the bytes of a whole layer of each kind on one rank."""
        kinds = [parameters.holdings(kind, self.rank) for kind in set(self.layers)]
        if self.mtp_modules:
            # Its exit goes with the head.
            model = self.rank.model
            layers = (one for layer in model.mtp_layers for one in layer)
            module = (*model.mtp_entry, *layers)
            kinds.append(parameters.holdings(module, self.rank))
        return [parameters.total([kind.dense, kind.experts]) for kind in kinds]


# Section 5, modules of `recompute`.
def recomputed_of(work: Work, rank: Rank) -> Work:
    """Return the parts of modules that are recomputed."""
    named = rank.candidate.recomputed_modules
    return total(part for module, part in work.modules if module in named)


# Section 5, "do not divide evenly".
def _chunks(layers: int, chunks: int) -> list[int]:
    """Return the layers of each chunk."""
    if layers % chunks == 0:
        return [layers // chunks] * chunks
    each, rest = divmod(layers + 2, chunks)
    sizes = [each + (chunk < rest) for chunk in range(chunks)]
    sizes[0] -= 1
    sizes[-1] -= 1
    return sizes


# Section 5, "counts as".
def _layers_behind(rank: Rank) -> int:
    """Return the layers that modules of multi-token prediction count as."""
    model, modules = rank.model, rank.candidate.mtp_modules
    if not modules:
        return 0

    def active_weights(operations: Sequence[Operation]) -> float:
        products = [each for each in operations if isinstance(each, MatMul)]
        return sum(each.inputs * each.outputs * each.active for each in products)

    heads = (
        (1 + modules) * active_weights(model.head) / active_weights(model.layers[-1])
    )
    return min(modules + floor(heads + 0.5), len(model.layers))


# Section 5, "the last chunk has".
def _with_fewer_at_the_end(layers: int, chunks: int, v: int, behind: int) -> list[int]:
    """Return the layers of each chunk where the last one has others to carry."""
    last = max(ceil((layers + behind) / chunks) - behind, 0)
    each, rest = divmod(layers - last, chunks - 1)
    first = chunks - 1 - rest if v == 1 else 0
    sizes = [each + (first <= chunk < first + rest) for chunk in range(chunks - 1)]
    return [*sizes, last]


def _sizes(rank: Rank) -> list[int]:
    """Return the layers of each chunk, in their order."""
    layers, v = len(rank.model.layers), rank.candidate.vpp
    chunks, behind = rank.candidate.pp * v, _layers_behind(rank)
    if behind and chunks > 1:
        return _with_fewer_at_the_end(layers, chunks, v, behind)
    return layers_per_stage(layers, chunks) if v == 1 else _chunks(layers, chunks)


# Section 5, "Layers are partitioned".
def stages_of(rank: Rank) -> list[Stage]:
    """Partition the layers of the model into stages."""
    layers, candidate = rank.model.layers, rank.candidate
    p, v = candidate.pp, candidate.vpp
    sizes = _sizes(rank)
    starts = [sum(sizes[:chunk]) for chunk in range(p * v)]
    assigned = [
        tuple(
            layer
            for turn in range(v)
            for layer in layers[starts[turn * p + stage] :][: sizes[turn * p + stage]]
        )
        for stage in range(p)
    ]
    return [Stage(rank, number, own) for number, own in enumerate(assigned)]
