"""Builds: what a purchase of units becomes as hardware with models on it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from planopt.bill import MICRO_USD, _micro, bom_line, hardware_of, merged
from planopt.documents.evaluation import Deployment, ServingEvaluation
from planopt.documents.parts import BomLine, Candidate, Cost
from planopt.price_sources import sourced
from planopt.serving.sure import with_intervals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.catalog.open import Catalog
    from planopt.procurement.problem import Unit
    from planopt.serving.question_types import Problem
    from planopt.serving.search import Found, Row

__all__ = ["Build", "build", "cost_of", "evaluation_of"]

SECONDS_PER_HOUR = 3600
TOKENS_PER_MILLION = 10**6


@dataclass(frozen=True)
class Build:
    """A whole purchase, laid out."""

    deployments: tuple[Deployment, ...]
    bill_of_materials: tuple[BomLine, ...]
    cost: Cost
    power_watts: float
    """Of what is bought: whoever rents out pays for the power of the rest."""
    users: int
    tokens_per_second: float
    tokens_per_second_per_user: float
    """Of the slowest user."""

    @property
    def price_usd(self) -> float:
        """Price of everything."""
        return (
            sum(_micro(line.price_usd) for line in self.bill_of_materials) / MICRO_USD
        )

    @property
    def usd_per_hour(self) -> float:
        """Rent, and what is bought written off, with electricity and hosting."""
        return self.cost.usd_per_hour or 0.0

    @property
    def rented(self) -> bool:
        """Whether nothing of it is bought."""
        return all(each.hardware.terms for each in self.deployments)

    @property
    def summary(self) -> str:
        """The build in a line: accelerators, hosts, network, layout."""
        return "; ".join(_summary(deployment) for deployment in self.deployments)


def build(
    catalog: Catalog, problem: Problem, found: Found, counts: Mapping[int, int]
) -> Build:
    """Lay a purchase out.

    A purchase of one kind of unit for a number of users runs the batch that they need,
    in the layout that is fastest for them; otherwise each unit runs what it was bought
    for. Another layout may put more accelerators of a board to work: a limit of power
    rules that out.
    """
    bought = [(found.units[index], count) for index, count in sorted(counts.items())]
    for_users = (
        len(bought) == 1
        and problem.objective in ("cheapest", "latency")
        and not problem.throughput
        and not problem.redundancy
    )
    deployments = tuple(
        _deploy(catalog, problem, found.row(unit), unit, count, for_users=for_users)
        for unit, count in bought
    )
    return _total(catalog, deployments)


def _deploy(
    catalog: Catalog,
    problem: Problem,
    row: Row,
    unit: Unit,
    count: int,
    *,
    for_users: bool,
) -> Deployment:
    served = replace(problem.served, weights=row.weights, kv=row.kv)
    layout: dict[str, Any] = {**row.layout(), "replicas": unit.replicas}
    if for_users:
        layout |= {"batch": problem.batch, "in_flight": problem.in_flight}
    # Latencies under a load were judged for this layout and no other.
    judged = problem.percentile is not None
    if for_users and problem.max_power_watts is None and not judged:
        layout = {"batch": problem.batch, "in_flight": problem.in_flight}
    answer = catalog.ask(
        "fastest_serving",
        {
            **problem.asked(served),
            **row.hardware(),
            **layout,
            "users": math.ceil(problem.users / count) if for_users else unit.users,
            "context_ranks": served.context_ranks,
        },
    )
    evaluation = answer["evaluation"]
    return Deployment(
        model=problem.served.model,
        units=count,
        replicas=answer["unit_replicas"] * count,
        candidate=Candidate(
            accelerator=row.accelerator,
            tp=answer["tp"],
            cp=answer["cp"],
            dp=answer["dp"],
            ep=answer["ep"],
            pp=answer["pp"],
            batch=answer["batch"],
            in_flight=evaluation["in_flight"],
            overlap=served.overlap,
            weights=row.weights,
            kv=row.kv,
            **served.drafted,
        ),
        hardware=msgspec.structs.replace(
            hardware_of(evaluation),
            terms=row.terms,
            goodput=row.goodput if row.terms else None,
        ),
        evaluation=with_intervals(
            catalog,
            evaluation_of(evaluation),
            model=problem.served.model,
            accelerator=row.accelerator,
            batch=answer["batch"],
            engine=problem.served.engine_name,
        ),
        bill_of_materials=tuple(
            bom_line(line, count) for line in evaluation["bill_of_materials"]
        ),
    )


def evaluation_of(evaluation: Mapping[str, Any]) -> ServingEvaluation:
    """Read the core's answer, dropping what the plan does not record."""
    known = {
        name: value
        for name, value in evaluation.items()
        if name in ServingEvaluation.__struct_fields__ and value is not None
    }
    return msgspec.convert(known, ServingEvaluation)


def _total(catalog: Catalog, deployments: tuple[Deployment, ...]) -> Build:
    tokens_per_second = sum(
        (each.evaluation.decode.tokens_per_second or 0.0)
        * each.replicas
        * (each.hardware.goodput or 1.0)
        for each in deployments
    )
    usd_per_hour = sum(
        (each.evaluation.cost.usd_per_hour or 0.0) * each.units for each in deployments
    )
    deployed = [line for each in deployments for line in each.bill_of_materials]
    lines = sourced(catalog, merged(deployed))
    price = sum(_micro(line.price_usd) for line in lines) / MICRO_USD
    return Build(
        deployments=deployments,
        bill_of_materials=lines,
        cost=cost_of(catalog, price, usd_per_hour, tokens_per_second),
        power_watts=sum(
            (each.evaluation.power_watts or 0.0) * each.units for each in deployments
        ),
        users=sum(each.users for each in deployments),
        tokens_per_second=tokens_per_second,
        tokens_per_second_per_user=min(
            (each.evaluation.decode.tokens_per_second_per_user or 0.0)
            for each in deployments
        ),
    )


def cost_of(
    catalog: Catalog, price_usd: float, usd_per_hour: float, tokens_per_second: float
) -> Cost:
    """Cost of tokens, at the share of hours that are busy."""
    duty = catalog.native.cost_assumptions()["duty"]
    per_hour = tokens_per_second * SECONDS_PER_HOUR * duty
    return Cost(
        price_usd=price_usd,
        usd_per_hour=usd_per_hour,
        usd_per_million_tokens=usd_per_hour / (per_hour / TOKENS_PER_MILLION),
        tokens_per_usd=per_hour / usd_per_hour,
    )


def _summary(deployment: Deployment) -> str:
    candidate, hardware = deployment.candidate, deployment.hardware
    parts = {line.kind: line for line in deployment.bill_of_materials}
    cards = parts.get("accelerator")
    hosts = parts["instance"] if hardware.terms else parts["host"]
    what = f"{hosts.quantity}x {hosts.name}"
    if cards is not None:  # A complete machine brings its own.
        what = f"{cards.quantity}x {cards.name} in {what}"
    # Instances are connected by whoever rents them out.
    named = hardware.network and not hardware.terms
    over = f", {hardware.network}" if named else ""
    direct = " direct" if named and hardware.switch is None else ""
    beyond = {"EP": candidate.ep, "DP": candidate.dp, "CP": candidate.cp}
    more = "".join(f" x {name}{each}" for name, each in beyond.items() if each > 1)
    layout = f"TP{candidate.tp} x PP{candidate.pp}{more}"
    copies = f" x {deployment.replicas} replicas" if deployment.replicas > 1 else ""
    return f"{what}{over}{direct}, {layout}{copies}, {candidate.weights}"
