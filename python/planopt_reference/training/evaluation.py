"""One training candidate, evaluated slowly (training.md)."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, Final

from planopt_reference import units
from planopt_reference.architecture import model_from_table
from planopt_reference.communication import Fabric, link_rate, pcie_link_rate
from planopt_reference.cost import SECONDS_PER_HOUR
from planopt_reference.rent import is_offer
from planopt_reference.training.candidate import Candidate, candidate_from_request
from planopt_reference.training.groups import groups_of
from planopt_reference.training.memory import memory_of
from planopt_reference.training.rank import Rank
from planopt_reference.training.rates import Machine
from planopt_reference.training.rules import (
    broken_rule_of_hardware,
    broken_rule_of_layout,
)
from planopt_reference.training.run import (
    HOURS_PER_DAY,
    AtWork,
    failures_of,
    model_flops,
    recomputed_share,
    run_of,
)
from planopt_reference.training.stages import stages_of
from planopt_reference.training.step import Placed, step_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt_reference.assumptions import Assumptions
    from planopt_reference.facts import Facts
    from planopt_reference.hardware import Host
    from planopt_reference.training.stages import Stage


# Section 1, "goodput below 0.001".
_LEAST_GOODPUT: Final = 0.001
_COMPUTE: Final = ("forward", "backward", "recompute", "optimizer")
_WAITING: Final = ("bubble", "straggler")


def evaluate_training(
    facts: Facts,
    *,
    model: str | Mapping[str, Any],
    accelerator: str,
    host: str | None,
    network: str | None = None,
    nics_per_host: int | None = None,
    accelerators_per_host: int | None = None,
    kv_heads: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Evaluate a candidate of a training run.

    Parameters
    ----------
    facts : Facts
        Catalogs and assumptions.
    model : str or mapping
        Catalog id, or the architecture that a plan embeds.
    accelerator, host, network : str
        Catalog ids; without a network hosts are not connected. No host where none of
        the catalog takes the accelerators.
    nics_per_host, accelerators_per_host : int, optional
        Else as many as the host takes.
    kv_heads : int, optional
        Key/value heads in place of the model's own.
    **options
        The rest of the request, by the names of `planopt.evaluate_training`.

    Returns
    -------
    dict
        Figures as in `evaluation` of a plan, with `rejections` by code.
    """
    table = facts.model_table(model) if isinstance(model, str) else model
    architecture = model_from_table(table, kv_heads=kv_heads)
    candidate = candidate_from_request(
        options,
        longest_context=units.count(table["max_context"]),
        mtp_modules=architecture.mtp_modules,
    )
    if host is None and accelerators_per_host is None:
        accelerators_per_host = candidate.accelerators
    machine_host = facts.host_for(host, accelerator, accelerators_per_host)
    slots = machine_host.slots
    broken = broken_rule_of_layout(candidate, architecture, slots)
    if broken is not None:
        return _rejected(broken)
    fabric = fabric_of(
        facts, accelerator, machine_host, network, nics_per_host, candidate
    )
    groups = groups_of(candidate, fabric, slots)
    machine = Machine(
        fabric.accelerator,
        _of_rented(facts.assumptions)
        if host is not None and is_offer(host)
        else facts.assumptions,
        candidate.precision,
        candidate.framework,
    )
    broken = broken_rule_of_hardware(groups, fabric, machine)
    if broken is not None:
        return _rejected(broken)
    rank = Rank(candidate, architecture, machine, groups)
    return _evaluated(stages_of(rank), fabric, slots)


# Section 13, "Rented runs".
def _of_rented(assumptions: Assumptions) -> Assumptions:
    """Return the assumptions where failed hosts are replaced at once."""
    training = assumptions.training
    if training is None:
        return assumptions
    return replace(assumptions, training=replace(training, repair=0.0))


def _rejected(code: str) -> dict[str, Any]:
    return {"feasible": False, "rejections": [code]}


def fabric_of(
    facts: Facts,
    accelerator: str,
    machine: Host,
    network: str | None,
    nics_per_host: int | None,
    candidate: Candidate,
) -> Fabric:
    """Return the links of an accelerator in its host."""
    chosen = facts.accelerator(accelerator)
    joined = None if network is None else facts.network(network)
    link = None if joined is None else facts.link(joined.link)
    return Fabric(
        accelerator=chosen,
        host=machine,
        assumptions=facts.assumptions,
        pcie_link_rate=pcie_link_rate(facts, chosen, machine),
        network=joined,
        nic_rate=0.0 if link is None else link_rate(link),
        network_latency=0.0 if link is None else link.latency,
        nics_per_host=nics_per_host or machine.nics,
        t=candidate.tp,
        p=candidate.pp,
    )


# Section 5, "The fullest stage is the first with the largest total".
def _fullest(stages: list[Stage]) -> dict[str, float]:
    dual = stages[0].rank.candidate.schedule == "dualpipe"
    met = _met_at_the_other_end(stages) if dual else [() for _ in stages]
    memories = [memory_of(own, *other) for own, other in zip(stages, met, strict=True)]
    return max(memories, key=lambda memory: memory["total_bytes"])


# Section 5, DualPipe: "inner ones meet their like".
def _met_at_the_other_end(stages: list[Stage]) -> list[tuple[Stage, ...]]:
    inner = [(stage,) for stage in stages[1:-1]]
    if not stages[1:]:
        return [(stages[0],)]
    return [(stages[-1],), *inner, (stages[0],)]


# Section 5, "Of a host's memory".
def _host_share(fabric: Fabric, candidate: Candidate, slots: int) -> float:
    """Return the bytes that each accelerator may keep in its host."""
    if fabric.accelerator.unified_memory:
        return 0.0
    if fabric.host.memory is None:
        return inf
    usable = fabric.assumptions.memory.unified_usable_fraction
    return fabric.host.memory * usable / min(candidate.accelerators, slots)


# Section 8.
def _evaluated(stages: list[Stage], fabric: Fabric, slots: int) -> dict[str, Any]:
    rank = stages[0].rank
    candidate = rank.candidate
    placed = [Placed(stage, fabric, slots) for stage in stages]
    parts = step_of(placed, candidate.hosts(slots))
    memory = _fullest(stages)
    flops = model_flops(rank) * candidate.global_batch * candidate.seq_len
    peak = rank.machine.quantised * candidate.accelerators
    if candidate.mfu is not None:
        scale = flops / (candidate.mfu * peak) / sum(parts.values())
        parts = {name: scale * part for name, part in parts.items()}
    step = sum(parts.values())
    mfu = flops / (step * peak)
    rate = candidate.global_batch * candidate.seq_len / step
    compute = sum(parts[f"{name}_seconds"] for name in _COMPUTE)
    waiting = sum(parts[f"{name}_seconds"] for name in _WAITING)
    host = parts["host_seconds"]
    others = {f"{name}_seconds" for name in (*_COMPUTE, *_WAITING, "host")}
    exposed = sum(part for name, part in parts.items() if name not in others)
    rejections = []
    if memory["total_bytes"] > memory["capacity_bytes"]:
        rejections.append("memory")
    elif memory["host_bytes"] > _host_share(fabric, candidate, slots):
        rejections.append("host-memory")
    failures = failures_of(
        rank, [AtWork(candidate.accelerators, candidate.hosts(slots))]
    )
    goodput = failures.pop("goodput")
    if not rejections and goodput < _LEAST_GOODPUT:
        rejections.append("failures")
    evaluation = {
        "feasible": not rejections,
        "rejections": rejections,
        "memory": memory,
        "step_seconds": step,
        "compute_seconds": compute,
        "bubble_seconds": waiting,
        "exposed_communication_seconds": exposed,
        "host_seconds": host,
        "step": parts,
        "tokens_per_second": rate,
        "tokens_per_second_per_accelerator": rate / candidate.accelerators,
        "model_tflops_per_accelerator": mfu * rank.machine.quantised / 1e12,
        "mfu": mfu,
        "hfu": mfu * (1 + recomputed_share(stages)),
        "model_flops": candidate.model_flops,
        "accelerators": candidate.accelerators,
        "hosts": candidate.hosts(slots),
        "micro_batches": candidate.micro_batches,
        "global_batch": candidate.global_batch,
        "seq_len": candidate.seq_len,
        "mtp_modules": candidate.mtp_modules,
        "expert_data_parallel": candidate.expert_ranks,
        "failures": failures,
    }
    if "failures" in rejections:
        return evaluation
    evaluation["goodput"] = goodput
    if candidate.tokens is not None:
        run = run_of(
            rank, tokens=candidate.tokens, tokens_per_second=rate, goodput=goodput
        )
        hours = run["accelerator_hours"] / candidate.accelerators
        failures["expected"] = hours * SECONDS_PER_HOUR / failures["interval_seconds"]
        evaluation |= {"days": hours / HOURS_PER_DAY, "run": run}
    return evaluation
