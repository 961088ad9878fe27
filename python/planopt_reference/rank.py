"""A rank, what passes through it in a step, and for how long (model.md, section 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from planopt_reference.derivation import formula
from planopt_reference.formats import (
    ENDS,
    activation_bytes,
    base_rate,
    bytes_per_element,
    quantised_rate,
)
from planopt_reference.operations import MatMul, Operation
from planopt_reference.own_kernels import narrow_rate

if TYPE_CHECKING:
    from planopt_reference.assumptions import Assumptions
    from planopt_reference.hardware import Accelerator
    from planopt_reference.reached import Compute, Products


@dataclass(frozen=True)
class Rank:
    """One accelerator of a stage of `t` x `c` x `d`, and the formats it works in.

    The experts are assigned to `e` parts of `t` x `d`; `c` ranks divide contexts.
    """

    accelerator: Accelerator
    assumptions: Assumptions
    weights: str
    kv: str | None
    t: int
    d: int = 1
    e: int = 1
    c: int = 1
    drafter: Drafter | None = None
    offload: Offload | None = None
    lora_adapters: int = 0
    lora_rank: int = 0
    encoder: Encoder | None = None

    # Section 1, t_e.
    def dividing(self, operation: Operation) -> int:
        """Return how many ranks divide an operation."""
        return self.t * self.d // self.e if is_choice(operation) else self.t

    # Section 1, "a rank holds 1/e of its matrices".
    def fraction(self, operation: Operation) -> float:
        """Return the share of an operation's parameters that this rank holds."""
        parts = self.e if is_choice(operation) else 1
        return operation.fraction(self.dividing(operation)) / parts

    # Section 3, MatMul: R of one token. Section 5, x.
    def rows_per_token(self, operation: MatMul) -> float:
        """Return the rows of a product that a token of any group adds here."""
        if not is_choice(operation):
            return 1
        return operation.active * min(1, self.assumptions.experts.imbalance / self.e)

    # Section 4, B_x.
    @property
    def sent_bytes(self) -> float:
        """Return the bytes of an element on its way to an expert."""
        if self.weights in ("fp8", "int8", "nvfp4"):
            return bytes_per_element(self.weights)
        if self.weights in ("w4a8", "fp8-2:4"):
            return bytes_per_element("fp8")
        return self.activation_bytes

    @property
    def activation_bytes(self) -> float:
        """Return `B_a`."""
        return activation_bytes(self.weights)

    @property
    def kv_bytes(self) -> float:
        """Return `B_kv`."""
        return self.activation_bytes if self.kv is None else bytes_per_element(self.kv)

    @cached_property
    def compute(self) -> Compute:
        """Return what the accelerator reaches."""
        return self.assumptions.compute(self.accelerator)

    def products(self, operation: MatMul) -> Products:
        """Return what products of an operation's kind reach."""
        weights = self.weights if operation.quantised else None
        return self.compute.products(weights, experts=operation.experts > 1)

    @cached_property
    def elementwise(self) -> Products:
        """Return what operations without products reach of the memory."""
        return self.compute.products(None, experts=False)

    @cached_property
    def base_rate(self) -> float:
        """Return the FLOP/s of operations that are not quantised."""
        if self.compute.own is not None:
            return narrow_rate(self.accelerator)
        return base_rate(self.accelerator, self.assumptions, self.weights)

    @cached_property
    def quantised_rate(self) -> float:
        """Return the FLOP/s of quantised operations."""
        return quantised_rate(self.accelerator, self.assumptions, self.weights)

    @property
    def memory_bandwidth(self) -> float:
        """Return the bytes/s of the memory."""
        return self.accelerator.memory_bandwidth

    def parameter_bytes(self, operation: Operation) -> float:
        """Return the bytes of one parameter of an operation."""
        if operation.quantised:
            return bytes_per_element(self.weights)
        name = getattr(operation, "name", "")
        embedding, head = ENDS.get(self.weights, (self.activation_bytes,) * 2)
        if name == "embedding":
            return embedding
        if name in ("head", "shared_embedding"):
            return head
        return self.activation_bytes


# Section 9, "What drafts".
@dataclass(frozen=True)
class Drafter:
    """What drafts `tokens` tokens, one by one, on the ranks of the last stage."""

    operations: tuple[Operation, ...]
    rank: Rank
    tokens: int


def is_choice(operation: Operation) -> bool:
    """Return whether an operation is a choice of experts."""
    return isinstance(operation, MatMul) and operation.experts > 1


@dataclass(frozen=True)
class Step:
    """What passes through an operation at once.

    `decoding` sequences gain one token each over `context` cached ones, and `chunk`
    tokens of one prompt are read behind `cached` ones. Meanwhile other groups of the
    stage bring `remote_tokens` to the experts. Each sequence has `drafted` tokens
    checked beside the one that it gains.
    """

    decoding: int = 0
    context: int = 0
    chunk: int = 0
    cached: int = 0
    remote_tokens: int = 0
    drafted: int = 0
    ranks: int = 1
    """Ranks that divide the chunk, and contexts."""

    # Section 3, Groups.
    def of_group(self, d: int) -> Step:
        """Return the step as the busiest of `d` groups sees it."""
        decoding = math.ceil(self.decoding / d)
        others = max(min(d, self.decoding) - 1, 0)
        remote_tokens = decoding * (1 + self.drafted) * others
        return replace(self, decoding=decoding, remote_tokens=remote_tokens)

    # Serving, section 13, s/c.
    @property
    def queries(self) -> float:
        """Return the tokens of the chunk that one rank has."""
        return self.chunk / self.ranks

    @property
    def decoded(self) -> int:
        """Return the tokens of what decodes, with those that are checked."""
        return self.decoding * (1 + self.drafted)

    @property
    def tokens(self) -> float:
        """Return the tokens that pass through the layers of one rank."""
        return self.decoded + self.queries

    @property
    def in_head(self) -> Step:
        """Return what passes through the head: of a chunk the last token."""
        return replace(self, chunk=min(self.chunk, 1), remote_tokens=0, ranks=1)


# Section 3: rounding must not decide what bounds an operation.
_EQUALLY_LONG: Final = 1 + 1e-10


@dataclass(frozen=True)
class Duration:
    """Seconds of arithmetic and of memory traffic, and of both with the launch."""

    arithmetic: float
    traffic: float
    seconds: float
    exposed: float = 0.0
    """Of the shorter of the two, what does not hide behind the longer."""
    launch: float = 0.0

    def slower(self, factor: float) -> Duration:
        """Return arithmetic and traffic so many times as long, launches as they are."""
        work = self.seconds - self.launch
        return Duration(
            self.arithmetic * factor,
            self.traffic * factor,
            work * factor + self.launch,
            self.exposed * factor,
            self.launch,
        )

    # Section 3, "A time is counted to what bounds it".
    @property
    def compute(self) -> float:
        """Seconds that count as arithmetic."""
        return self.arithmetic if self._is_bound_by_arithmetic else self.exposed

    @property
    def memory(self) -> float:
        """Seconds that count as memory traffic."""
        return self.exposed if self._is_bound_by_arithmetic else self.traffic

    @property
    def _is_bound_by_arithmetic(self) -> bool:
        return self.arithmetic > self.traffic * _EQUALLY_LONG


# Section 3, the first formula.
@formula(
    "t = (a + b + sqrt((a - b)^2 + 4 (1 - overlap) a b)) / 2 + overhead, a "
    "arithmetic, b traffic",
    section="3",
    unit="s",
    reads=("compute.roofline_overlap",),
)
def duration(
    rank: Rank, arithmetic: float, traffic: float, overhead: float
) -> Duration:
    """Return the time of an operation."""
    seconds = rank.compute.roofline(arithmetic, traffic) + overhead
    exposed = rank.compute.exposed(arithmetic, traffic)
    return Duration(arithmetic, traffic, seconds, exposed, overhead)


@dataclass(frozen=True)
class Encoder:
    """What encodes `patches` patches of a prompt of `prompt` tokens."""

    parameters: float
    patches: float
    prompt: int


@dataclass(frozen=True)
class Offload:
    """Layers of each stage that rest in the host."""

    layers: int
    to: str
    """``host`` for its memory, or ``disk``."""
