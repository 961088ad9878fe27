"""What one micro-batch asks of a rank, by operation (training.md, section 3)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from planopt_reference.compute import distinct_matrices
from planopt_reference.derivation import formula
from planopt_reference.formats import bytes_per_element
from planopt_reference.operations import (
    AllReduce,
    Attention,
    Elementwise,
    LatentAttention,
    MatMul,
    Operation,
    StateSpace,
)
from planopt_reference.training.attention import attention_work
from planopt_reference.training.rates import Product
from planopt_reference.training.scan import scan_work
from planopt_reference.training.tally import Work, total

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt_reference.training.rank import Rank


# Section 3, Kept: what reads the latent behind its normalisation.
_READS_A_LATENT: Final = ("query_up", "key_value_up")
# Section 3, Kept: of experts, or of the gates of a mixer.
_OUT_OF_A_NARROW_WIDTH: Final = ("latent_up", "mixer_gate_up")
# Products of a dense feed-forward network.
_NETWORK: Final = (
    "up",
    "gate_up",
    "down",
    "shared_up",
    "shared_gate_up",
    "shared_down",
)
# The last product of a feed-forward network.
_ENDS_A_NETWORK: Final = ("down", "experts_down", "shared_down")
# What ends the part of a layer that mixes tokens.
_MIXER_OUTPUTS: Final = ("attention_output", "mixer_output")
# Section 3, Loss: bytes of a logit that are kept.
_KEPT_LOGIT_BYTES: Final = 4


# Section 3, Activation function: passes of the clamped one over those of a fused one.
_CLAMPED: Final = (9 + 7) / 3


# Section 3, Product.
@formula(
    "t(n_m, rows; weights) forward, t(n_m, ...) for inputs and for weights backward",
    section="3",
)
def _product(operation: MatMul, rank: Rank) -> Work:
    machine, candidate = rank.machine, rank.candidate
    inputs, outputs = operation.divided(rank.degree(operation))
    count = 1.0
    tokens = rank.tokens_of(operation)
    if operation.experts > 1:
        seen = tokens * candidate.ep
        distinct = distinct_matrices(operation.experts, operation.active, seen)
        count = distinct / candidate.ep
    all_rows = tokens * rank.copies(operation)
    rows = all_rows / count
    moved = rows * (inputs + outputs) * machine.activation_bytes
    weights = inputs * outputs * rank.weight_bytes(operation)
    gradients = inputs * outputs * bytes_per_element(candidate.gradients)
    rate = rank.rate(operation)
    if operation.name != "head":
        rate *= machine.whole(inputs, outputs)

    def time(rows: float, columns: float, depth: float, moved: float) -> float:
        together = Product(count, rows, columns, depth)
        return machine.product_time(together, rate, count * moved)

    to_weights = (
        time(inputs, outputs, rows, moved + 2 * gradients)
        if candidate.lora_rank is None
        else 0.0
    )
    product = Work(
        forward=time(rows, outputs, inputs, moved + weights),
        backward=time(rows, inputs, outputs, moved + weights) + to_weights,
        to_weights=to_weights,
        forward_kernels=1,
        backward_kernels=2 if candidate.lora_rank is None else 1,
        flops=2 * all_rows * inputs * outputs,
    )
    added = _added_biases(operation, all_rows * outputs, rank)
    casts = _casts(operation, all_rows, inputs, outputs, rank)
    written_out = _dequantised(operation, count * inputs * outputs, rank)
    frozen = total([product, added, casts, written_out])
    if candidate.lora_rank is None or not rank.has_adapter(operation):
        return frozen
    adapters = (
        _adapter(count, rows, width, candidate.lora_rank, rank)
        for width in (outputs, inputs)
    )
    return total([frozen, *adapters])


# Section 3, Dequantisation.
def _dequantised(operation: MatMul, elements: float, rank: Rank) -> Work:
    stored, read = rank.stored_bytes(operation), rank.input_bytes(operation)
    if stored >= read:
        return Work()
    machine = rank.machine
    rate = machine.accelerator.memory_bandwidth * machine.training.dequantisation
    seconds = elements * (stored + read) / rate + machine.overhead
    return Work(
        forward=seconds, backward=seconds, forward_kernels=1, backward_kernels=1
    )


# Section 5, modules of `recompute`.
def _module(operation: MatMul) -> str | None:
    if operation.name in _READS_A_LATENT:
        return "mla_up_proj"
    if operation.experts > 1:
        return "moe"
    return "mlp" if operation.name in _NETWORK else None


def _has_routed_biases(operation: MatMul) -> bool:
    matrices = operation.experts * operation.inputs * operation.outputs
    return operation.experts > 1 and operation.parameters > matrices


# Section 3, "Biases of routed products".
def _added_biases(operation: MatMul, elements: float, rank: Rank) -> Work:
    if not _has_routed_biases(operation):
        return Work()
    each, machine = elements * rank.machine.activation_bytes, rank.machine
    return Work(
        forward=machine.elementwise_time(2 * each),
        backward=machine.elementwise_time(each),
        forward_kernels=1,
        backward_kernels=1,
    )


# Section 3, Casts.
def _casts(
    operation: MatMul, rows: float, inputs: float, outputs: float, rank: Rank
) -> Work:
    machine, passes = rank.machine, rank.machine.framework.casts
    if not (operation.quantised and rank.candidate.casts) or passes == 0:
        return Work()
    if rank.candidate.precision == "nvfp4":
        passes *= machine.framework.casts_4bit
    each = machine.activation_bytes + 2 * rank.input_bytes(operation)
    return Work(
        forward=machine.pass_time(passes * rows * inputs * each),
        backward=machine.pass_time(passes * rows * outputs * each),
        forward_kernels=1,
        backward_kernels=1,
    )


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
        rate = machine.base * machine.sustained(quantised=False)
        rate *= machine.whole(width, rank_of_adapter)
        return machine.product_time(product, rate, moved)

    return Work(
        forward=time(forward),
        backward=time(to_inputs) + time(to_weights),
        forward_kernels=1,
        backward_kernels=2,
        flops=forward.flops,
    )


# Section 3, Activation function.
def _activation_function(columns: MatMul, rows: MatMul, rank: Rank) -> Work:
    t, element = rank.degree(columns), rank.machine.activation_bytes
    outputs, inputs = columns.divided(t)[1], rows.divided(t)[0]
    each = rank.tokens_of(columns) * rank.copies(columns) * element
    moved = each * (_CLAMPED if _has_routed_biases(rows) else 1)
    passes = Work(
        forward=rank.machine.elementwise_time(moved * (outputs + inputs)),
        backward=rank.machine.elementwise_time(moved * (2 * outputs + inputs)),
        forward_kernels=1,
        backward_kernels=1,
    )
    whole, act = ("moe", "moe_act") if columns.experts > 1 else ("mlp", "mlp_act")
    kept = each / element * rank.bytes_between_products(rows) * outputs
    return total([passes.of(act), Work(kept=kept).of(whole)])


# Section 3, Dispatch.
def _dispatch(operation: MatMul, rank: Rank) -> Work:
    copies, element = rank.copies(operation), rank.machine.activation_bytes
    framework, experts = rank.machine.framework, rank.groups.expert
    share = rank.candidate.stream_share
    sent = rank.tokens * operation.inputs * share * copies * element
    seconds = rank.machine.elementwise_time(4 * framework.routing * sent)
    across = 1.0
    if framework.send_once:
        hosts = experts.domains
        distinct = min(hosts * (1 - (1 - 1 / hosts) ** copies), framework.expert_hosts)
        across = min(distinct / copies, 1.0)
    there = sent / element * rank.bytes_between_products(operation)
    messages = experts.all_to_all(there, across) + experts.all_to_all(sent, across)
    return Work(
        forward=seconds,
        backward=seconds,
        forward_kernels=1,
        backward_kernels=1,
        routed=1,
        expert_forward=messages,
        expert_backward=messages,
    ).of("moe")


# Section 3, Normalisation, and Gather.
def _elementwise(operation: Elementwise, rank: Rank) -> Work:
    each = rank.stream * rank.machine.activation_bytes
    each *= operation.width / rank.model.hidden
    is_norm = operation.name == "norm"
    passes = Work(
        forward=rank.machine.elementwise_time(2 * each),
        backward=rank.machine.elementwise_time(3 * each),
        forward_kernels=1,
        backward_kernels=1,
    )
    kept = Work(kept=each if is_norm else 0.0)
    return total([passes.of("layernorm" if is_norm else None), kept])


# Section 3, All-reduce: "waited for" and "overlapped with gradients".
def _summed(rank: Rank) -> Work:
    """Return the collectives of a layer's sum."""
    whole = rank.groups.tensor.all_reduce(rank.payload)
    gathered = (
        rank.groups.tensor.half(rank.payload)
        if rank.candidate.sequence_parallel
        else 0.0
    )
    launched = 1 if rank.candidate.tp > 1 else 0
    return Work(
        tensor_forward=whole,
        tensor_backward=gathered,
        overlapped=whole,
        forward_kernels=launched,
        backward_kernels=launched,
    )


# Section 3, "Behind the all-reduce of a layer stand dropout and residual".
def _dropout_and_residual(rank: Rank) -> Work:
    each, mask = rank.stream * rank.machine.activation_bytes, 0.0
    backward = 3 * each
    if rank.candidate.dropout:
        backward, mask = 5 * each, rank.stream
    return Work(
        forward=rank.machine.elementwise_time(3 * each + mask),
        backward=rank.machine.elementwise_time(backward + mask),
        forward_kernels=1,
        backward_kernels=1,
        kept=mask,
    )


# Section 3, "Behind that of the embedding, with dropout".
def _embedded(rank: Rank) -> Work:
    messages = _summed(rank)
    sums = replace(messages, overlapped=0.0)
    if not rank.candidate.dropout:
        return sums
    moved = rank.stream * (2 * rank.machine.activation_bytes + 1)
    seconds = rank.machine.elementwise_time(moved)
    dropped = Work(
        forward=seconds,
        backward=seconds,
        forward_kernels=1,
        backward_kernels=1,
        kept=rank.stream,
    )
    return total([sums, dropped])


def _kept_by_products(operations: Sequence[Operation], rank: Rank) -> Work:
    """Return what products keep of what they read (section 3, Kept)."""
    share, whole = rank.candidate.stream_share, rank.candidate.folded > 1
    kept: list[Work] = []
    stream_is_kept, normalised = False, False
    before: Operation | None = None

    def keep(bytes_kept: float, module: str | None = None) -> None:
        kept.append(Work(kept=bytes_kept).of(module))

    for operation in operations:
        last, before = before, operation
        if isinstance(operation, Elementwise):
            stream_is_kept, normalised = False, operation.name == "norm"
        if not isinstance(operation, MatMul):
            continue
        needed = rank.needs_its_input(operation)
        inputs = operation.divided(rank.degree(operation))[0]
        each = rank.tokens_of(operation) * inputs * rank.input_bytes(operation)
        if operation.division == "rows":
            activated = isinstance(last, MatMul) and last.division == "columns"
            act = "moe_act" if operation.experts > 1 else "mlp_act"
            if not activated:
                keep(each)
            elif needed:
                keep(each * rank.copies(operation), act)
        elif operation.name in _READS_A_LATENT:
            keep(each * share)
            if needed:
                keep(each * share, "layernorm")
        elif not needed:
            continue
        elif operation.experts > 1:
            keep(each * rank.copies(operation) * (1 if whole else share), "moe")
        elif operation.name in _OUT_OF_A_NARROW_WIDTH:
            keep(each * share)
        elif not stream_is_kept:
            keep(each * share, "layernorm" if normalised else None)
            stream_is_kept = True
    return total(kept)


def _of(operation: Operation, rank: Rank) -> Work:
    if isinstance(operation, MatMul):
        return _product(operation, rank).of(_module(operation))
    if isinstance(operation, Attention | LatentAttention):
        return attention_work(operation, rank.candidate, rank.machine, rank.groups)
    if isinstance(operation, StateSpace):
        return scan_work(operation, rank)
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


# Section 3, "behind experts whose ranks have tokens of their own".
def _unsummed(operations: Sequence[Operation], rank: Rank) -> set[int]:
    """Return the places of all-reduces that have nothing to sum."""
    found, routed = set(), False
    for place, operation in enumerate(operations):
        if isinstance(operation, MatMul) and operation.experts > 1:
            routed = rank.candidate.folded > 1
        if isinstance(operation, AllReduce):
            if routed:
                found.add(place)
            routed = False
    return found


# Section 5: a network that is recomputed sums again.
def _sums_of_networks(
    operations: Sequence[Operation], unsummed: set[int], rank: Rank
) -> Work:
    """Return what modules have of the sums behind feed-forward networks."""
    parts, network = [], None
    for place, operation in enumerate(operations):
        if isinstance(operation, MatMul) and operation.name in _ENDS_A_NETWORK:
            network = "moe" if operation.experts > 1 else "mlp"
        if isinstance(operation, AllReduce) and network:
            forward = 0.0 if place in unsummed else _summed(rank).tensor_forward
            recomputed = Work(tensor_forward=forward)
            parts.append(Work(modules=((network, recomputed),)))
            network = None
    return total(parts)


# Model.md, section 1: half of the normalisations are around attention.
def in_order(layer: Sequence[Operation]) -> list[Operation]:
    """Put the normalisations of the feed-forward part in front of it."""
    norms = [
        one for one in layer if isinstance(one, Elementwise) and one.name == "norm"
    ]
    others = [one for one in layer if one not in norms]
    names = [one.name if isinstance(one, MatMul) else "" for one in others]
    outputs = [name for name in names if name in _MIXER_OUTPUTS]
    if not outputs:
        return [*norms, *others]
    middle = names.index(outputs[-1]) + 1
    around_attention = (len(norms) + 1) // 2
    # Behind all of them stands what is beside the stream.
    behind = next(
        (place for place, one in enumerate(others) if _is_beside(one)), len(others)
    )
    return [
        *norms[:around_attention],
        *others[:middle],
        *norms[around_attention : around_attention + 1],
        *others[middle:behind],
        *norms[around_attention + 1 :],
        *others[behind:],
    ]


def _is_beside(operation: Operation) -> bool:
    """Return whether it is a small product or a pass over further streams."""
    return isinstance(operation, MatMul | Elementwise) and operation.name in (
        "side",
        "streams",
    )


def layer_work(layer: Sequence[Operation], rank: Rank) -> Work:
    """Return what a layer takes and keeps of one micro-batch."""
    # What ranks of one norm bring together is a few bytes a token, and no stream.
    operations = [
        one
        for one in in_order(layer)
        if not isinstance(one, AllReduce) or one.width == rank.model.hidden
    ]
    unsummed = _unsummed(operations, rank)
    return total(
        [
            *(
                _dropout_and_residual(rank)
                if place in unsummed
                else _of(operation, rank)
                for place, operation in enumerate(operations)
            ),
            *_between(operations, rank),
            _sums_of_networks(operations, unsummed, rank),
            _kept_by_products(operations, rank),
            Work(beginning=beginning(rank)),
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
    return total([*parts, kept])


# Section 3, "A module of multi-token prediction".
def mtp_work(rank: Rank) -> Work:
    """Return what a module takes and keeps, its head apart."""
    entry = _before_a_layer(rank.model.mtp_entry, rank)
    two_streams = Work(beginning=beginning(rank))
    layers = [layer_work(layer, rank) for layer in rank.model.mtp_layers]
    return total([entry, *layers, two_streams])


# Section 3, "of the head's input", and Loss.
def head_work(rank: Rank) -> Work:
    """Return what the heads and losses take and keep of one micro-batch."""
    modules = rank.candidate.mtp_modules
    exits = [_one_head(rank.model.mtp_exit, rank) for _ in range(modules)]
    return total([_one_head(rank.model.head, rank), *exits])


def _one_head(operations: Sequence[Operation], rank: Rank) -> Work:
    parts = [_of(operation, rank) for operation in operations]
    if rank.model.vocabulary:
        each = _KEPT_LOGIT_BYTES + rank.machine.activation_bytes
        passes = rank.machine.framework.loss
        loss = rank.machine.pass_time(passes * logits(rank) * each)
        of_logit = (
            rank.machine.activation_bytes
            if rank.machine.framework.loss_in_place
            else _KEPT_LOGIT_BYTES
        )
        kept = of_logit * logits(rank) / rank.candidate.loss_chunks
        parts += [
            Work(overlapped=_summed(rank).overlapped),
            Work(
                forward=loss,
                backward=loss,
                forward_kernels=1,
                backward_kernels=1,
                kept=kept,
            ),
            _kept_by_products(operations, rank),
        ]
    return total(parts)


def logits(rank: Rank) -> float:
    """Return `T n'`, the logits of one rank."""
    return rank.tokens * rank.model.vocabulary / rank.candidate.tp
