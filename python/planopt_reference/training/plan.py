"""Re-checking a saved plan of a training run without the optimizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.bill import bill_mismatches
from planopt_reference.certainty import certainty_mismatches, kind, share
from planopt_reference.choices import not_allowed, only, part_mismatches
from planopt_reference.cluster import cluster, rented_cluster
from planopt_reference.cost import SECONDS_PER_HOUR, housed
from planopt_reference.derivation import unrecorded
from planopt_reference.limits import outcome_mismatches, owned_mismatches
from planopt_reference.mismatch import (
    RELATIVE_TOLERANCE,
    Mismatch,
    compared,
    compared_money,
)
from planopt_reference.outlays import (
    nothing_itemised,
    outlay_mismatches,
    peak_mismatches,
)
from planopt_reference.promises import delivered
from planopt_reference.remarks import run_remarks
from planopt_reference.scenarios import scenario_mismatches
from planopt_reference.training.batches import batch_mismatches
from planopt_reference.training.evaluation import evaluate_training
from planopt_reference.training.run import HOURS_PER_DAY, energy_of
from planopt_reference.units import MICRO_USD_PER_USD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt_reference.cluster import Cluster
    from planopt_reference.facts import Facts

    Document = Mapping[str, Any]

_MODEL: Final = "recomputed from the training page"
_CATALOG: Final = "recomputed from the catalogs"
# What a candidate records of a run, by the names of a request.
_RECORDED: Final = (
    "accelerator",
    "tp",
    "sequence_parallel",
    "pp",
    "vpp",
    "schedule",
    "dp",
    "cp",
    "context_parallel",
    "ep",
    "global_batch",
    "seq_len",
    "mtp_modules",
    "recompute",
    "shard",
    "shard_group",
    "precision",
    "optimizer",
    "offload",
    "lora_rank",
    "lora_modules",
    "frozen_weights",
    "expert_tp",
    "framework",
    "loss_chunks",
    "master_weights",
)
_DERIVED: Final = ("micro_batches", "expert_data_parallel")
_OF_AN_ALTERNATIVE: Final = ("days", "mfu", "goodput", "accelerators")
_NOT_IN_A_PLAN: Final = ("global_batch", "seq_len", "mtp_modules", *_DERIVED)


def training_plan_mismatches(
    plan: Document, request: Document, facts: Facts
) -> Iterator[Mismatch]:
    """Recompute the figures of a plan for training, and check its limits.

    Parameters
    ----------
    plan : mapping
        A plan document of kind `training` that buys something.
    request : mapping
        Its question.
    facts : Facts
        Catalogs and assumptions.

    Yields
    ------
    Mismatch
        One for each figure that differs and each limit that is broken.
    """
    (table,) = plan["deployments"]
    again = run_again(table, request, facts)
    evaluation, bought, cost = again.evaluation, again.bought, again.cost
    hours = evaluation["days"] * HOURS_PER_DAY
    productive = evaluation["tokens_per_second"] * evaluation["goodput"]
    price = bought.paid(hours)
    field = "deployments[0]"
    for count in ("units", "replicas"):
        yield from compared(f"{field}.{count}", table.get(count), 1, "one run")
    yield from run_mismatches(field, table, again)
    place = f"{field}.bill_of_materials"
    yield from bill_mismatches(place, table.get("bill_of_materials"), bought.lines)
    yield from _link_mismatches(table, facts)
    yield from _choice_mismatches(table, request, facts)
    yield from bill_mismatches(
        "bill_of_materials", plan.get("bill_of_materials"), bought.lines
    )
    stated = plan.get("price_usd")
    yield from compared_money("price_usd", stated, price, _CATALOG)
    power = plan.get("power_watts")
    yield from compared("power_watts", power, _drawn(bought), _CATALOG)
    yield from compared("cost", plan.get("cost"), cost, _CATALOG)
    yield from peak_mismatches("deployments[0].evaluation", table["evaluation"])
    if bought.rented:
        yield from nothing_itemised(plan)
    else:
        yield from outlay_mismatches(
            plan,
            [bought.owned],
            productive,
            facts.assumptions.cost,
        )
    height = bought.rack_units / facts.assumptions.cost.rack_units
    totals = {
        "deadline_seconds": delivered(request, table) + hours * SECONDS_PER_HOUR,
        "budget_usd": price / MICRO_USD_PER_USD,
        "max_power_watts": bought.power_watts,
        "max_racks": height,
        "max_accelerators": bought.accelerators - _spare(table, facts),
    }
    yield from _limit_mismatches(request, totals, bought)
    name = table["candidate"]["accelerator"]
    deadline = request.get("deadline_seconds")
    wait = delivered(request, table)
    limits = {name: (deadline - wait) / (hours * SECONDS_PER_HOUR)} if deadline else {}
    known = kind(facts, request, name)
    if deadline and limits[name] < known.slower(share(request.get("confidence"))) * (
        1 - RELATIVE_TOLERANCE
    ):
        reason = "the plan does not have the time that its confidence needs"
        yield Mismatch("request.deadline_seconds", deadline, limits[name], reason)
    yield from certainty_mismatches(plan, request, {name: known}, limits)
    yield from scenario_mismatches(plan, request, facts)
    yield from batch_mismatches(plan, request, facts)
    yield from run_remarks(plan, request, facts)
    yield from _alternative_mismatches(plan, request, facts)
    yield from outcome_mismatches(plan, price / MICRO_USD_PER_USD)


def recomputed_run(table: Document, request: Document, facts: Facts) -> dict[str, Any]:
    """Evaluate the run of a deployment again.

    Raises
    ------
    ValueError
        If its candidate is rejected.
    """
    candidate, hardware = table["candidate"], table["hardware"]
    embedded = request.get("architecture")
    evaluation = evaluate_training(
        facts,
        model=embedded or table["model"],
        host=hardware["host"],
        network=hardware.get("network"),
        nics_per_host=hardware.get("nics_per_host"),
        kv_heads=request.get("kv_heads"),
        micro_batch=candidate["batch"],
        gradients=request.get("gradients"),
        redundancy=request.get("redundancy"),
        tokens=request["tokens"],
        **{name: candidate.get(name) for name in _RECORDED},
    )
    if not evaluation["feasible"]:
        message = f"the candidate is rejected: {', '.join(evaluation['rejections'])}"
        raise ValueError(message)
    return evaluation


@dataclass(frozen=True)
class Run:
    """A run as it was computed again, on what it is bought or rented on."""

    evaluation: Mapping[str, Any]
    bought: Cluster
    cost: Document


def run_again(table: Document, request: Document, facts: Facts) -> Run:
    """Evaluate the run of a deployment again, and put together what it is on.

    Raises
    ------
    ValueError
        If its candidate is rejected.
    """
    evaluation = recomputed_run(table, request, facts)
    bought = _bought(table, evaluation, facts)
    hours = evaluation["days"] * HOURS_PER_DAY
    productive = evaluation["tokens_per_second"] * evaluation["goodput"]
    cost = bought.cost(productive, facts.assumptions.cost)
    evaluation["run"] |= {
        **_energy(hours, bought, facts),
        "usd": hours * cost["usd_per_hour"],
    }
    return Run(evaluation, bought, cost)


# Section 9, spare hosts come beside what was asked for; what is rented has none.
def _spare(table: Document, facts: Facts) -> int:
    hardware, failures = table["hardware"], table["evaluation"]["failures"]
    if hardware.get("terms") is not None:
        return 0
    machine = facts.host_for(hardware["host"], table["candidate"]["accelerator"])
    return int(failures["spare_hosts"]) * machine.slots


def _bought(table: Document, evaluation: Document, facts: Facts) -> Cluster:
    hardware = table["hardware"]
    if hardware.get("terms") is not None:
        return rented_cluster(
            facts,
            offer=hardware["host"],
            terms=hardware["terms"],
            accelerators=evaluation["accelerators"],
        )
    return cluster(
        facts,
        accelerator=table["candidate"]["accelerator"],
        host=hardware["host"],
        network=hardware.get("network"),
        nics_per_host=hardware.get("nics_per_host") or 0,
        accelerators=evaluation["accelerators"],
        spares=evaluation["failures"]["spare_hosts"],
        owned=hardware.get("owned"),
    )


# Section 9, energy and carbon: not known of what is rented.
def _energy(hours: float, bought: Cluster, facts: Facts) -> Mapping[str, float | None]:
    if bought.rented:
        return {"energy_kwh": None, "kg_co2e": None}
    training = facts.assumptions.training
    carbon = 0.0 if training is None else training.carbon_kg_per_kwh
    pue = housed(facts.assumptions.cost, bought.rack_units).pue
    return energy_of(bought.power_watts, hours, pue=pue, carbon_kg_per_kwh=carbon)


def run_mismatches(field: str, table: Document, again: Run) -> Iterator[Mismatch]:
    """Compare the layout, the figures and the hardware of a run with those computed."""
    evaluation, bought = again.evaluation, again.bought
    for name in _DERIVED:
        stated = table["candidate"].get(name)
        place = f"{field}.candidate.{name}"
        yield from compared(place, stated, evaluation[name], _MODEL)
    stated = table["evaluation"]
    for part, expected in evaluation.items():
        if part not in _NOT_IN_A_PLAN:
            place = f"{field}.evaluation.{part}"
            yield from compared(place, stated.get(part), expected, _MODEL)
    own = {"power_watts": _drawn(bought), "cost": again.cost}
    yield from compared(f"{field}.evaluation", stated, own, _CATALOG)
    hardware = {
        "hosts": evaluation["hosts"],
        "rack_units": bought.rack_units,
        "switch": bought.switch,
        "switch_count": bought.switches,
        # Blocks of ports are of switches that replicas share; a run has its own.
        "switch_port_blocks": 0,
        "goodput": 1.0 if bought.rented else None,
    }
    yield from compared(f"{field}.hardware", table["hardware"], hardware, _CATALOG)


def _alternative_mismatches(
    plan: Document, request: Document, facts: Facts
) -> Iterator[Mismatch]:
    """Compute the other clusters again, each from its layout and its hardware."""
    for index, one in enumerate(plan.get("alternatives") or ()):
        field = f"alternatives[{index}]"
        if one["candidate"] is None:
            told = {name for name, value in one.items() if value not in (None, [])}
            reason = "there is no cluster of it"
            yield from compared(field, sorted(told), ["summary", "why_not"], reason)
            continue
        table = {**one, "model": plan["deployments"][0]["model"]}
        with unrecorded():
            again = run_again(table, request, facts)
        evaluation, bought = again.evaluation, again.bought
        figures = {
            **{name: evaluation[name] for name in _OF_AN_ALTERNATIVE},
            "run_usd": evaluation["run"]["usd"],
            "power_watts": _drawn(bought),
        }
        yield from compared(field, one, figures, _MODEL)
        price = bought.paid(evaluation["days"] * HOURS_PER_DAY)
        yield from compared_money(
            f"{field}.price_usd", one["price_usd"], price, _CATALOG
        )
        place = f"{field}.bill_of_materials"
        yield from bill_mismatches(place, one["bill_of_materials"], bought.lines)


def _drawn(bought: Cluster) -> float | None:
    """Return the power that the owner of a run pays for."""
    return None if bought.rented else bought.power_watts


def _link_mismatches(table: Document, facts: Facts) -> Iterator[Mismatch]:
    """Check that the link inside a host is one that it has."""
    host = facts.host(table["hardware"]["host"])
    card = facts.accelerator(table["candidate"]["accelerator"])
    links = {host.link, card.pcie_link, card.scale_up_name} - {None}
    stated = table["hardware"].get("link")
    if stated not in links:
        known = ", ".join(sorted(link for link in links if link))
        yield Mismatch(
            "deployments[0].hardware.link", stated, known, "links of the host"
        )


def _choice_mismatches(
    table: Document, request: Document, facts: Facts
) -> Iterator[Mismatch]:
    field, candidate = "deployments[0]", table["candidate"]
    yield from part_mismatches(field, table, request, facts)
    asked = ("seq_len", "global_batch", "mtp_modules", "precision", "optimizer")
    chosen = {
        f"candidate.{name}": (candidate.get(name), only(request.get(name)))
        for name in asked
    }
    chosen["model"] = (table["model"], only(request.get("model")))
    # Adapters are trained where that is asked for, and nowhere else.
    ranks = [table.get("lora_rank") or 0 for table in (candidate, request)]
    chosen["candidate.lora_rank"] = (ranks[0], ranks[1:])
    for name in ("lora_modules", "frozen_weights"):
        stated = candidate.get(name) or "none"
        chosen[f"candidate.{name}"] = (stated, only(request.get(name)))
    # Nothing that a search chooses: logits of a micro-batch are there at once.
    chosen["candidate.loss_chunks"] = (candidate.get("loss_chunks"), only(1))
    yield from not_allowed(field, chosen)


def _limit_mismatches(
    request: Document, totals: Mapping[str, float], bought: Cluster
) -> Iterator[Mismatch]:
    reason = "the plan needs more than allowed"
    for key, total in totals.items():
        limit = request.get(key)
        if limit is not None and total > limit * (1 + RELATIVE_TOLERANCE):
            yield Mismatch(f"request.{key}", total, limit, reason)
    owned: dict[str | None, int] = {
        bought.accelerator if line.kind == "accelerator" else line.id: line.quantity
        for line in bought.lines
        if line.owned
    }
    quantities: dict[str | None, int] = {
        **{line.id: line.quantity for line in bought.lines if not line.owned},
        bought.accelerator: bought.accelerators - owned.get(bought.accelerator, 0),
    }
    yield from owned_mismatches(request, owned)
    for part, limit in (request.get("stock") or {}).items():
        if quantities.get(part, 0) > limit:
            yield Mismatch(f"request.stock.{part}", quantities[part], limit, reason)
