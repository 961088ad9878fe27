"""The operations of a model, and how ranks divide them (model.md, section 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Division = Literal["replicated", "columns", "rows", "heads"]


@dataclass(frozen=True)
class MatMul:
    """A product by a matrix of `inputs` x `outputs`, or by the active ones of experts.

    With `division` of `heads`, `outputs` are `query` columns and `key_value` columns.
    """

    name: str
    inputs: float
    outputs: float
    division: Division
    parameters: float
    quantised: bool = True
    experts: int = 1
    active: int = 1
    query: int = 0
    key_value: int = 0
    kv_heads: int = 1

    def divided(self, t: int) -> tuple[float, float]:
        """Return the inputs and outputs of one of `t` ranks."""
        if self.division == "columns":
            return self.inputs, self.outputs / t
        if self.division == "rows":
            return self.inputs / t, self.outputs
        if self.division == "heads":
            key_value = self.key_value / min(t, self.kv_heads)
            return self.inputs, self.query / t + key_value
        return self.inputs, self.outputs

    def fraction(self, t: int) -> float:
        """Return the share of the parameters that one of `t` ranks holds."""
        inputs, outputs = self.divided(t)
        return (inputs * outputs) / (self.inputs * self.outputs)


@dataclass(frozen=True)
class Attention:
    """Grouped heads over the cache; an indexer has one key, no values, and no ranks."""

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    window: int | None
    selected: int | None = None
    cached: bool = True
    indexes: bool = False
    parameters: int = 0
    quantised: bool = False

    def fraction(self, t: int) -> float:
        """Return the share of its parameters: it has none."""
        return 1 / t


@dataclass(frozen=True)
class LatentAttention:
    """Latent attention over the cached latent and rotary key."""

    heads: int
    latent: int
    rope: int
    nope: int
    value: int
    selected: int | None = None
    parameters: int = 0
    quantised: bool = False

    def fraction(self, t: int) -> float:
        """Return the share of its parameters: it has none."""
        return 1 / t


@dataclass(frozen=True)
class Elementwise:
    """Reads and writes `width` elements per token: a normalisation or a gather."""

    name: str
    width: int
    parameters: int
    by_vocabulary: bool = False
    quantised: bool = False

    def fraction(self, t: int) -> float:
        """Return the share of the parameters that one of `t` ranks holds."""
        return 1 / t if self.by_vocabulary else 1.0


@dataclass(frozen=True)
class AllReduce:
    """Sums `width` elements per token over the tensor-parallel group."""

    width: int
    parameters: int = 0
    quantised: bool = False

    def fraction(self, t: int) -> float:
        """Return the share of its parameters: it has none."""
        return 1 / t


Rule = Literal["mamba2", "gated-delta", "kimi-delta", "convolution"]


@dataclass(frozen=True)
class StateSpace:
    """The scan of a state-space layer, with what stands before and behind it."""

    rule: Rule
    normalised: bool
    heads: int
    head_dim: int
    groups: int
    state: int
    conv: int
    chunk: int
    quantised: bool = False

    @property
    def inner(self) -> int:
        """Return the width of the heads together."""
        return self.heads * self.head_dim

    @property
    def convolved(self) -> int:
        """Return the elements of a token that go through the convolution."""
        return self.inner + 2 * self.groups * self.state

    @property
    def columns(self) -> int:
        """Return all that is projected of a token."""
        gates = {
            "mamba2": self.inner + self.heads,
            "gated-delta": self.inner + 2 * self.heads,
            "kimi-delta": 2 * self.inner + self.heads,
            "convolution": 2 * self.inner,
        }
        return self.convolved + gates[self.rule]

    @property
    def narrow(self) -> int:
        """Return the columns that come out of projections as narrow as a head."""
        return 2 * self.inner if self.rule == "kimi-delta" else 0

    @property
    def corrects(self) -> bool:
        """Return whether the rule is a delta rule."""
        return self.rule.endswith("delta")

    @property
    def parameters(self) -> int:
        """Return the parameters beside those of the projections."""
        of_mamba = self.convolved + 3 * self.heads
        beside = {
            "mamba2": of_mamba + (self.inner if self.normalised else 0),
            "gated-delta": 2 * self.heads + self.head_dim,
            "kimi-delta": self.heads + self.inner + self.head_dim,
            "convolution": 0,
        }
        return self.convolved * self.conv + beside[self.rule]

    def fraction(self, t: int) -> float:
        """Return the share of the parameters that one of `t` ranks holds."""
        return 1 / t


Operation = MatMul | Attention | LatentAttention | StateSpace | Elementwise | AllReduce


@dataclass(frozen=True)
class Model:
    """A model: what runs before, in, and after each layer."""

    id: str
    hidden: int
    heads: tuple[int, ...]
    vocabulary: int
    tied: bool
    weights: str
    embedding: tuple[Operation, ...]
    layers: tuple[tuple[Operation, ...], ...]
    head: tuple[Operation, ...]
    mtp_modules: int
    mtp_entry: tuple[Operation, ...]
    mtp_layers: tuple[tuple[Operation, ...], ...]
    mtp_exit: tuple[Operation, ...]

    def operations(self) -> Iterator[Operation]:
        """Return every operation, once for each time it runs."""
        yield from self.embedding
        for layer in self.layers:
            yield from layer
        yield from self.head

    def mtp_operations(self) -> Iterator[Operation]:
        """Return the operations of one module of multi-token prediction."""
        yield from self.mtp_entry
        for layer in self.mtp_layers:
            yield from layer
        yield from self.mtp_exit

    @property
    def mtp_parameters(self) -> float:
        """Return the parameters of one module beside those it shares."""
        return sum(operation.parameters for operation in self.mtp_operations())

    @property
    def parameters(self) -> float:
        """Return the parameters of the list; a tied head counts once."""
        return sum(operation.parameters for operation in self.operations())
