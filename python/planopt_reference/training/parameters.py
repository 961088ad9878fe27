"""Bytes that parameters take, per rank and in all (training.md, section 4)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from planopt_reference.derivation import formula
from planopt_reference.formats import bytes_per_element
from planopt_reference.operations import MatMul, Operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planopt_reference.training.rank import Rank

# Section 4, moments in bytes per parameter, where they do not depend on its shape.
_MOMENTS: Final = {"adam": 8.0, "adam16bit": 4.0, "adam8bit": 2.0, "sgd": 4.0}
_NARROW_MOMENTS: Final = ("adam16bit", "adam8bit")
_MASTER_BYTES: Final = 4.0


@dataclass(frozen=True)
class Bytes:
    """Bytes of one rank's parameters, before sharding, and FLOP of its optimizer."""

    weights: float = 0.0
    gradients: float = 0.0
    state: float = 0.0
    trained: float = 0.0
    gathered: float = 0.0
    muon_flops: float = 0.0


_KINDS: Final = tuple(field.name for field in fields(Bytes))


def total(parts: Iterable[Bytes]) -> Bytes:
    """Add up the bytes of several operations."""
    every = list(parts)
    return Bytes(*(sum(getattr(part, name) for part in every) for name in _KINDS))


@dataclass(frozen=True)
class Holdings:
    """What a rank holds of dense parameters and of experts."""

    dense: Bytes
    experts: Bytes


# Section 4, Moments.
def _moment_bytes(operation: Operation | None, optimizer: str) -> float:
    """Return the bytes of moments of a parameter; none stands for an adapter."""
    if optimizer in _MOMENTS:
        return _MOMENTS[optimizer]
    is_matrix = isinstance(operation, MatMul) and operation.quantised
    if optimizer == "muon":
        return 4.0 if is_matrix else 8.0
    if isinstance(operation, MatMul) and operation.quantised:
        k, n = operation.inputs, operation.outputs
        return 4 * (k + n) / (k * n)
    return 4.0


def _trained(
    parameters: float,
    operation: Operation | None,
    weight_bytes: float,
    rank: Rank,
    gathered: float,
) -> Bytes:
    candidate = rank.candidate
    master = _MASTER_BYTES
    if candidate.precision == "fp32" or not candidate.master_weights:
        master = 0.0
    moments = _moment_bytes(operation, candidate.optimizer)
    if not candidate.master_weights and candidate.optimizer not in _NARROW_MOMENTS:
        moments *= rank.machine.activation_bytes / _MASTER_BYTES
    return Bytes(
        weights=parameters * weight_bytes,
        gradients=parameters * bytes_per_element(candidate.gradients),
        state=parameters * (master + moments),
        trained=parameters * rank.machine.activation_bytes,
        gathered=parameters * gathered,
    )


# Section 7, Muon's FLOP of one matrix.
def _muon_flops(operation: Operation, share: float, rank: Rank) -> float:
    if (
        rank.candidate.optimizer != "muon"
        or rank.candidate.lora_rank is not None
        or not (isinstance(operation, MatMul) and operation.quantised)
    ):
        return 0.0
    x, y = sorted((operation.inputs, operation.outputs))
    each = 5 * (4 * x**2 * y + 2 * x**3)
    matrices = operation.parameters * share / (x * y)
    return each * matrices


def _of(operation: Operation, rank: Rank, *, share: float, adapter: float) -> Bytes:
    """Return the bytes of a share of an operation, and of its adapter's parameters."""
    candidate = rank.candidate
    parameters = operation.parameters * share
    wide = rank.machine.activation_bytes
    if candidate.lora_rank is None:
        stored = gathered = wide
        if candidate.casts and operation.quantised:
            framework = rank.machine.framework
            stored += framework.weight_copies * bytes_per_element(candidate.precision)
            only_narrow = framework.eight_bit_weights
            if only_narrow and candidate.precision == "fp8":
                stored -= wide
                gathered = rank.machine.trainer.gathered_8bit
        held = _trained(parameters, operation, stored, rank, gathered)
        return total([held, Bytes(muon_flops=_muon_flops(operation, share, rank))])
    if not (isinstance(operation, MatMul) and operation.quantised):
        return Bytes(weights=parameters * wide)
    frozen = Bytes(weights=parameters * bytes_per_element(candidate.frozen_weights))
    return total([frozen, _trained(adapter, None, wide, rank, wide)])


def _is_routed(operation: Operation) -> bool:
    return isinstance(operation, MatMul) and operation.experts > 1


# Section 4, "an adapter has `R (k' + n')` parameters (times the rank's experts)".
def _adapter_parameters(operation: Operation, rank: Rank, t: int) -> float:
    if not isinstance(operation, MatMul) or not rank.has_adapter(operation):
        return 0.0
    assert rank.candidate.lora_rank is not None
    return rank.candidate.lora_rank * sum(operation.divided(t)) * operation.experts


def _held(operation: Operation, rank: Rank) -> Bytes:
    """Return the bytes of an operation on one rank."""
    t, e = rank.candidate.tp, rank.candidate.ep
    if _is_routed(operation):
        t = rank.candidate.tp_of_experts
    share = operation.fraction(t) / (e if _is_routed(operation) else 1)
    adapter = _adapter_parameters(operation, rank, t) / (
        e if _is_routed(operation) else 1
    )
    return _of(operation, rank, share=share, adapter=adapter)


def holdings(operations: Sequence[Operation], rank: Rank) -> Holdings:
    """Return what a rank holds of operations."""
    # Layers are alike: each kind of operation is looked at once.
    held = {one: _held(one, rank) for one in set(operations)}
    return Holdings(
        total(held[one] for one in operations if not _is_routed(one)),
        total(held[one] for one in operations if _is_routed(one)),
    )


# Section 4, "holds the embedding's parameters again".
def table_on_two_stages(rank: Rank) -> bool:
    """Return whether the last stage needs the token table too."""
    needed = rank.model.tied or rank.candidate.mtp_modules > 0
    return needed and rank.model.vocabulary > 0 and rank.candidate.pp > 1


def token_table(rank: Rank) -> Bytes:
    """Return the bytes of the token table on one rank."""
    table = rank.model.embedding[0]
    return _held(table, rank)


# Section 9, `C`: "section 4, each parameter once".
@formula(
    "state of every parameter once",
    section="9",
    unit="B",
)
def checkpoint_bytes(rank: Rank) -> float:
    """Return the bytes of a checkpoint of the whole model."""
    everything = list(rank.model.operations())
    everything += list(rank.model.mtp_operations()) * rank.candidate.mtp_modules
    if table_on_two_stages(rank):
        everything.append(rank.model.embedding[0])

    def whole(operation: Operation) -> Bytes:
        adapter = _adapter_parameters(operation, rank, 1)
        return _of(operation, rank, share=1.0, adapter=adapter)

    of_each = {operation: whole(operation) for operation in set(everything)}
    held = total(of_each[operation] for operation in everything)
    if rank.candidate.precision != "fp32":
        return held.state
    return held.state + held.trained
