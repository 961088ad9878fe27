"""What a layout must satisfy, in the order it is checked (training.md, section 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_reference.formats import FormatError
from planopt_reference.operations import MatMul

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt_reference.communication import Fabric
    from planopt_reference.operations import Model
    from planopt_reference.training.candidate import Candidate
    from planopt_reference.training.groups import Groups
    from planopt_reference.training.rates import Machine


def _is_interleaved(candidate: Candidate) -> bool:
    """Return whether a layout with several chunks of a stage can run."""
    m = candidate.global_batch // (candidate.dp * candidate.micro_batch)
    return (
        candidate.schedule == "interleaved"
        and candidate.pp > 1
        and m % candidate.pp == 0
    )


def _layout(candidate: Candidate, model: Model, slots: int) -> Iterator[str]:
    t, p, v, c = candidate.tp, candidate.pp, candidate.vpp, candidate.cp
    if any(heads % t for heads in model.heads):
        yield "heads"
    if p > len(model.layers) or (v > 1 and p * v > len(model.layers) + 2):
        yield "layers"
    if candidate.global_batch % (candidate.dp * candidate.micro_batch):
        yield "global_batch"
    if v > 1 and not _is_interleaved(candidate):
        yield "interleave"
    if any(experts % candidate.ep for experts in _experts(model) or {1}):
        yield "experts"
    all_to_all = candidate.context_parallel == "all-to-all"
    if candidate.seq_len % c or (
        all_to_all and any(heads // t % c for heads in model.heads)
    ):
        yield "context"
    if candidate.dense_ranks * candidate.folded % candidate.ep:
        yield "expert_ranks"
    if candidate.shard_group and candidate.dense_ranks % candidate.shard_group:
        yield "shard_group"
    if slots % t and t % slots:
        yield "placement"


def _experts(model: Model) -> set[int]:
    return {
        one.experts
        for one in model.operations()
        if isinstance(one, MatMul) and one.experts > 1
    }


def broken_rule_of_layout(candidate: Candidate, model: Model, slots: int) -> str | None:
    """Return the code of the first rule that a layout breaks, or none."""
    return next(_layout(candidate, model, slots), None)


def broken_rule_of_hardware(
    groups: Groups, fabric: Fabric, machine: Machine
) -> str | None:
    """Return the code of the first rule that a laid out candidate breaks, or none."""
    if fabric.network is None and any(one.leaves_its_domain for one in groups.all):
        return "network"
    try:
        _ = machine.base, machine.quantised
    except FormatError:
        return "format"
    return None
