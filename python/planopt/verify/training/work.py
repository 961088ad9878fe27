"""What one micro-batch asks of a rank, by operation (training.md, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from planopt.verify.compute import bytes_per_element, distinct_matrices
from planopt.verify.operations import (
    AllReduce,
    Attention,
    Elementwise,
    LatentAttention,
    MatMul,
    Model,
    Operation,
)
from planopt.verify.training.attention import attention_work
from planopt.verify.training.rates import Machine, Product
from planopt.verify.training.tally import Work, total

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.verify.reached import Products
    from planopt.verify.training.candidate import Candidate
    from planopt.verify.training.groups import Groups

# Section 3, Kept: what reads the latent behind its normalisation.
_READS_A_LATENT: Final = ("query_up", "key_value_up")
# Section 3, Loss: bytes of a logit that are kept.
_KEPT_LOGIT_BYTES: Final = 4


@dataclass(frozen=True)
class Rank:
    """One rank of a training run: what it works on, with what, and with whom."""

    candidate: Candidate
    model: Model
    machine: Machine
    groups: Groups

    @property
    def tokens(self) -> float:
        """Return `T`."""
        return self.candidate.tokens_of_micro_batch

    @property
    def stream(self) -> float:
        """Return `T h sigma`, elements of the residual stream that it holds."""
        return self.tokens * self.model.hidden * self.candidate.stream_share

    @property
    def payload(self) -> float:
        """Return `S = T h B_a`, the bytes of an all-reduce."""
        return self.tokens * self.model.hidden * self.machine.activation_bytes

    def input_bytes(self, operation: MatMul) -> float:
        """Return `B_x`, the bytes of an element that a product reads."""
        if self.candidate.precision == "fp8" and operation.quantised:
            return bytes_per_element("fp8")
        return self.machine.activation_bytes

    def weight_bytes(self, operation: MatMul) -> float:
        """Return `B_w`, the bytes of an element of a matrix as a product reads it."""
        if self.candidate.lora_rank is None:
            return self.input_bytes(operation)
        if operation.quantised:
            return bytes_per_element(self.candidate.frozen_weights)
        return self.machine.activation_bytes

    def rate(self, operation: MatMul) -> float:
        """Return the peak FLOP/s of a product."""
        return self.machine.quantised if operation.quantised else self.machine.base

    def reached(self, operation: MatMul) -> Products:
        """Return what products of an operation's kind reach."""
        routed = operation.experts > 1
        return self.machine.products(quantised=operation.quantised, routed=routed)

    def copies(self, operation: MatMul) -> float:
        """Return how many experts a token occupies, with their imbalance."""
        if operation.experts == 1:
            return 1.0
        return operation.active * self.machine.training.expert_imbalance


# Section 3, Product.
def _product(operation: MatMul, rank: Rank) -> Work:
    machine, candidate = rank.machine, rank.candidate
    inputs, outputs = operation.divided(candidate.tp)
    count = 1.0
    if operation.experts > 1:
        seen = rank.tokens * candidate.ep
        met = distinct_matrices(operation.experts, operation.active, seen)
        count = met / candidate.ep
    all_rows = rank.tokens * rank.copies(operation)
    rows = all_rows / count
    moved = all_rows * (inputs + outputs) * machine.activation_bytes
    weights = count * inputs * outputs * rank.weight_bytes(operation)
    gradients = count * inputs * outputs * bytes_per_element(candidate.gradients)
    rate, reached = rank.rate(operation), rank.reached(operation)

    def time(rows: float, columns: float, depth: float, moved: float) -> float:
        shape = Product(count, rows, columns, depth)
        return machine.product_time(shape, rate, reached, moved)

    to_weights = (
        time(inputs, outputs, rows, moved + 2 * gradients)
        if candidate.lora_rank is None
        else 0.0
    )
    frozen = Work(
        forward=time(rows, outputs, inputs, moved + weights),
        backward=time(rows, inputs, outputs, moved + weights) + to_weights,
        flops=2 * all_rows * inputs * outputs,
    )
    if candidate.lora_rank is None or not operation.quantised:
        return frozen
    adapters = (
        _adapter(count, rows, width, candidate.lora_rank, rank)
        for width in (outputs, inputs)
    )
    return total([frozen, *adapters])


# Section 3, "An adapter of rank `R`".
def _adapter(
    count: float, rows: float, width: float, rank_of_adapter: int, rank: Rank
) -> Work:
    machine = rank.machine
    moved = count * rows * (width + rank_of_adapter) * machine.activation_bytes
    forward = Product(count, rows, rank_of_adapter, width)
    to_inputs = Product(count, rows, width, rank_of_adapter)
    to_weights = Product(count, width, rank_of_adapter, rows)

    def time(product: Product) -> float:
        return machine.product_time(product, machine.base, machine.general, moved)

    return Work(
        forward=time(forward),
        backward=time(to_inputs) + time(to_weights),
        flops=forward.flops,
    )


# Section 3, Activation function.
def _activation_function(columns: MatMul, rows: MatMul, rank: Rank) -> Work:
    t, element = rank.candidate.tp, rank.machine.activation_bytes
    outputs, inputs = columns.divided(t)[1], rows.divided(t)[0]
    each = rank.tokens * rank.copies(columns) * element
    return Work(
        forward=rank.machine.pass_time(each * (outputs + inputs)),
        backward=rank.machine.pass_time(each * (2 * outputs + inputs)),
        kept=each * outputs,
    )


# Section 3, Dispatch.
def _dispatch(operation: MatMul, rank: Rank) -> Work:
    copies, element = rank.copies(operation), rank.machine.activation_bytes
    seconds = rank.machine.pass_time(4 * rank.stream * copies * element)
    messages = 2 * rank.groups.expert.all_to_all(rank.stream * copies * element)
    return Work(
        forward=seconds,
        backward=seconds,
        expert_forward=messages,
        expert_backward=messages,
    )


# Section 3, Normalisation, and Gather.
def _elementwise(operation: Elementwise, rank: Rank) -> Work:
    each = rank.stream * rank.machine.activation_bytes
    return Work(
        forward=rank.machine.pass_time(2 * each),
        backward=rank.machine.pass_time(3 * each),
        kept=each if operation.name == "norm" else 0.0,
    )


# Section 3, All-reduce: "waited for" and "beside gradients".
def _summed(rank: Rank) -> Work:
    """Return the collectives of a layer's sum."""
    whole = rank.groups.tensor.all_reduce(rank.payload)
    gathered = (
        rank.groups.tensor.half(rank.payload)
        if rank.candidate.sequence_parallel
        else 0.0
    )
    return Work(tensor_forward=whole, tensor_backward=gathered, beside=whole)


# Section 3, "Behind the all-reduce of a layer stand dropout and residual".
def _dropout_and_residual(rank: Rank) -> Work:
    each, mask = rank.stream * rank.machine.activation_bytes, 0.0
    backward = 3 * each
    if rank.candidate.dropout:
        backward, mask = 5 * each, rank.stream
    return Work(
        forward=rank.machine.pass_time(3 * each + mask),
        backward=rank.machine.pass_time(backward + mask),
        kept=mask,
    )


# Section 3, "Behind that of the embedding, with dropout".
def _embedded(rank: Rank) -> Work:
    messages = _summed(rank)
    sums = Work(
        tensor_forward=messages.tensor_forward, tensor_backward=messages.tensor_backward
    )
    if not rank.candidate.dropout:
        return sums
    moved = rank.stream * (2 * rank.machine.activation_bytes + 1)
    seconds = rank.machine.pass_time(moved)
    return total([sums, Work(forward=seconds, backward=seconds, kept=rank.stream)])


def _kept_by_products(operations: Sequence[Operation], rank: Rank) -> float:
    """Return the bytes that products keep of what they read (section 3, Kept)."""
    tokens, share = rank.tokens, rank.candidate.stream_share
    kept, stream_is_kept = 0.0, False
    for operation in operations:
        if isinstance(operation, Elementwise):
            stream_is_kept = False
        if not isinstance(operation, MatMul):
            continue
        inputs = operation.divided(rank.candidate.tp)[0]
        each = tokens * inputs * rank.input_bytes(operation)
        if operation.division == "rows":
            kept += each * rank.copies(operation)
        elif operation.experts > 1:
            kept += each * rank.copies(operation) * share
        elif operation.name in _READS_A_LATENT:
            kept += 2 * each * share
        elif not stream_is_kept:
            kept += each * share
            stream_is_kept = True
    return kept


def _of(operation: Operation, rank: Rank) -> Work:
    if isinstance(operation, MatMul):
        return _product(operation, rank)
    if isinstance(operation, Attention | LatentAttention):
        return attention_work(operation, rank.candidate, rank.machine, rank.groups)
    if isinstance(operation, AllReduce):
        return total([_summed(rank), _dropout_and_residual(rank)])
    return _elementwise(operation, rank)


def _between(operations: Sequence[Operation], rank: Rank) -> Iterator[Work]:
    """Yield what stands between products: activation functions and dispatch."""
    routed = False
    for before, after in pairwise(operations):
        if not isinstance(after, MatMul):
            continue
        if after.experts > 1 and not routed:
            routed = True
            yield _dispatch(after, rank)
        if (
            isinstance(before, MatMul)
            and before.division == "columns"
            and after.division == "rows"
        ):
            yield _activation_function(before, after, rank)


# Model.md, section 1: half of the normalisations are around attention.
def in_order(layer: Sequence[Operation]) -> list[Operation]:
    """Put the normalisations of the feed-forward part in front of it."""
    norms = [one for one in layer if isinstance(one, Elementwise)]
    others = [one for one in layer if not isinstance(one, Elementwise)]
    names = [one.name if isinstance(one, MatMul) else "" for one in others]
    if "attention_output" not in names:
        return [*norms, *others]
    middle = names.index("attention_output") + 1
    around_attention = (len(norms) + 1) // 2
    return [
        *norms[:around_attention],
        *others[:middle],
        *norms[around_attention:],
        *others[middle:],
    ]


def layer_work(layer: Sequence[Operation], rank: Rank) -> Work:
    """Return what a layer takes and keeps of one micro-batch."""
    operations = in_order(layer)
    return total(
        [
            *(_of(operation, rank) for operation in operations),
            *_between(operations, rank),
            Work(kept=_kept_by_products(operations, rank), beginning=beginning(rank)),
        ]
    )


# Section 3, "The input of a layer".
def beginning(rank: Rank) -> float:
    """Return the bytes of one stream between layers."""
    return rank.stream * rank.machine.activation_bytes


def embedding_work(rank: Rank) -> Work:
    """Return what the embedding takes and keeps of one micro-batch."""
    return _before_a_layer(rank.model.embedding, rank)


def _before_a_layer(operations: Sequence[Operation], rank: Rank) -> Work:
    kept = _kept_by_products(operations, rank)
    parts = (
        _embedded(rank) if isinstance(operation, AllReduce) else _of(operation, rank)
        for operation in operations
    )
    return total([*parts, Work(kept=kept)])


# Section 3, "A module of multi-token prediction".
def mtp_work(rank: Rank) -> Work:
    """Return what a module takes and keeps, its head apart."""
    entry = _before_a_layer(rank.model.mtp_entry, rank)
    two_streams = Work(beginning=beginning(rank))
    return total([entry, layer_work(rank.model.layers[-1], rank), two_streams])


# Section 3, "of the head's input", and Loss.
def head_work(rank: Rank) -> Work:
    """Return what the heads and losses take and keep of one micro-batch."""
    modules = rank.candidate.mtp_modules
    exits = [_one_head(rank.model.mtp_exit, rank) for _ in range(modules)]
    return total([_one_head(rank.model.head, rank), *exits])


def _one_head(operations: Sequence[Operation], rank: Rank) -> Work:
    parts = [_of(operation, rank) for operation in operations]
    if rank.model.vocabulary:
        loss = rank.machine.pass_time(
            logits(rank) * (_KEPT_LOGIT_BYTES + rank.machine.activation_bytes)
        )
        parts += [
            Work(beside=_summed(rank).beside),
            Work(forward=loss, backward=loss, kept=_KEPT_LOGIT_BYTES * logits(rank)),
            Work(kept=_kept_by_products(operations, rank)),
        ]
    return total(parts)


def logits(rank: Rank) -> float:
    """Return `T n'`, the logits of one rank."""
    return rank.tokens * rank.model.vocabulary / rank.candidate.tp
