"""One run over several kinds of accelerator (training.md, section 14)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from planopt_reference import units
from planopt_reference.architecture import model_from_table
from planopt_reference.training.candidate import Candidate, candidate_from_request
from planopt_reference.training.evaluation import fabric_of
from planopt_reference.training.groups import groups_of, with_stages_apart
from planopt_reference.training.memory import memory_of
from planopt_reference.training.rank import Rank
from planopt_reference.training.rates import Machine
from planopt_reference.training.run import AtWork, failures_of
from planopt_reference.training.stages import Stage
from planopt_reference.training.step import Placed, micro_batch, step_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt_reference.facts import Facts
    from planopt_reference.operations import Model


@dataclass(frozen=True)
class Share:
    """So many accelerators of one kind, with the layers of each of their stages."""

    accelerator: str
    host: str
    accelerators: int
    layers: Sequence[int]


def _of_share(
    share: Share,
    candidate: Candidate,
    model: Model,
    facts: Facts,
    network: str,
    nics_per_host: int,
) -> tuple[Rank, Placed]:
    """Return the rank of a share, and an empty stage in its place."""
    host = facts.host_for(share.host, share.accelerator)
    fabric = fabric_of(
        facts, share.accelerator, host, network, nics_per_host, candidate
    )
    slots = host.slots
    own = replace(candidate, pp=len(share.layers))
    groups = groups_of(own, fabric, slots)
    groups = with_stages_apart(groups, candidate, fabric, slots)
    machine = Machine(
        fabric.accelerator,
        facts.assumptions,
        candidate.precision,
        candidate.framework,
    )
    rank = Rank(candidate, model, machine, groups)
    return rank, Placed(Stage(rank, 0, ()), fabric, slots)


def evaluate_balanced(
    facts: Facts,
    *,
    model: str,
    shares: Sequence[Share],
    network: str,
    nics_per_host: int,
    **options: Any,
) -> dict[str, Any]:
    """Evaluate a run whose stages are assigned so many layers each.

    Parameters
    ----------
    facts : Facts
        Catalogs and assumptions.
    model, network : str
        Catalog ids.
    shares : sequence of Share
        Kinds of accelerator in the order of the pipeline's stages.
    nics_per_host : int
        NICs of each host.
    **options
        The rest of the request, by the names of `planopt.evaluate_training`.

    Returns
    -------
    dict
        Step, its parts, memory of the fullest accelerator and goodput.
    """
    table: Mapping[str, Any] = facts.model_table(model)
    architecture = model_from_table(table)
    candidate = candidate_from_request(
        options,
        longest_context=units.count(table["max_context"]),
        mtp_modules=architecture.mtp_modules,
    )
    placed: list[Placed] = []
    for share in shares:
        rank, place = _of_share(
            share, candidate, architecture, facts, network, nics_per_host
        )
        placed += [
            replace(place, stage=Stage(rank, len(placed) + one, ()))
            for one in range(len(share.layers))
        ]
    counts = [layers for share in shares for layers in share.layers]
    ends = list(accumulate(counts))
    placed = [
        replace(
            one,
            stage=replace(one.stage, layers=architecture.layers[end - count : end]),
        )
        for one, count, end in zip(placed, counts, ends, strict=True)
    ]
    kinds = [
        AtWork(
            share.accelerators,
            -(
                -share.accelerators
                // facts.host_for(share.host, share.accelerator).slots
            ),
        )
        for share in shares
    ]
    hosts = sum(kind.hosts for kind in kinds)
    parts = step_of(placed, hosts)
    memories = [memory_of(one.stage) for one in placed]
    return {
        "step_seconds": sum(parts.values()),
        "step": parts,
        "memory": max(
            memories, key=lambda one: one["total_bytes"] / one["capacity_bytes"]
        ),
        "goodput": failures_of(placed[0].stage.rank, kinds)["goodput"],
        "slowest_stage_seconds": max(
            micro_batch(one.stage, one.fabric).seconds for one in placed
        ),
    }
