"""Twenty minutes of what is worth measuring: its launch, its loads, what follows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec.structs import replace

from planopt.documents.evaluation import Deployment
from planopt.documents.parts import Hardware
from planopt.documents.plan import Plan
from planopt.errors import InputError
from planopt.exchange.benchmark import MAKERS, RESULTS, load_command, load_terms
from planopt.exchange.export import (
    BENCHMARK,
    CONFIGURATION,
    README,
    export,
    heading,
    server_of,
)
from planopt.exchange.measured_on import configured
from planopt.exchange.render import comment
from planopt.exchange.terms import serving_roles
from planopt.exchange.tool import tool
from planopt.options import Asked, only
from planopt.planning.evaluate import evaluated

if TYPE_CHECKING:
    from planopt.documents.evaluation import EvaluationDocument
    from planopt.documents.plan import PlanDocument
    from planopt.exchange.export import Export
    from planopt.exchange.tool import Tool

SECONDS = 240
"""Of each load: three of them leave eight minutes of twenty for the start."""
LEAST_ROUNDS = 2
"""Requests of each user: the first ones come all at once."""
OF_A_LOAD = ("people", "sessions", "concurrency", "request_rate", "traffic")
"""What a measurement has of its own."""


def export_measurement(plan: PlanDocument, to: str) -> Export:
    """Write what launches and loads the configuration that is worth measuring first."""
    if not isinstance(plan, Plan) or not plan.worth_measuring:
        raise InputError.of(
            "E301",
            "the plan does not say what is worth measuring",
            field="--measure",
            accepted="a plan of solve --scenarios N that names an accelerator in "
            "`worth_measuring`",
        )
    options = _options(plan, to)
    found = _evaluated(options)
    one = Deployment(
        model=plan.deployments[0].model,
        candidate=found.candidate,
        hardware=found.hardware,
        evaluation=found,
    )
    load = replace(plan.request, requests_per_second=None, concurrency=None)
    of_one = replace(
        plan, request=load, deployments=(one,), disaggregated=None, promises=()
    )
    made = export(of_one, to, (f"`sh {BENCHMARK}`, three loads",))
    loads = _loads(options, found.candidate.batch * found.candidate.in_flight)
    files = {
        BENCHMARK: _script(of_one, server_of(plan, to), loads),
        README: made.files[README] + _then(plan, loads),
        CONFIGURATION: found.to_json(),
    }
    return replace(made, files=made.files | files)


def _name(users: int) -> str:
    return f"{RESULTS}-{users}"


def _script(plan: Plan, of: Tool, loads: dict[int, int]) -> str:
    """Write the loads, one after the other."""
    (role,) = serving_roles(plan)
    head = ["one user, all, and some between: what tells factors of a card apart"]
    lines = ["#!/bin/sh", comment([*heading(plan, role, of, ()), *head]) + "set -eu"]
    for users, requests in loads.items():
        terms = load_terms(plan, role, of, users, requests, _name(users))
        lines.append(load_command(tool(MAKERS[0]), terms))
    return "\n".join(lines) + "\n"


def _then(plan: Plan, loads: dict[int, int]) -> str:
    """Say where, and what to do with the results."""
    offer = plan.worth_measuring[0].offer
    where = "" if offer is None else f", such as {offer}"
    results = " ".join(f"--from {_name(users)}.json" for users in loads)
    asked = plan.provenance.command if plan.provenance else "planopt solve"
    return (
        f"\nOn rented machines{where}. Then:\n\n"
        f"    planopt calibrate {results} --plan {CONFIGURATION} --out measured\n"
        f"    {asked} --catalog measured --assumptions measured\n"
    )


def _options(plan: Plan, to: str) -> dict[str, object]:
    """Find the configuration, in the plan or beside it."""
    card = plan.worth_measuring[0].accelerator
    known = [(each.candidate, each.hardware) for each in plan.deployments]
    known += [
        (each.candidate, each.hardware or Hardware())
        for each in plan.alternatives
        if each.candidate is not None
    ]
    candidate, hardware = next(each for each in known if each[0].accelerator == card)
    engine = plan.request.engine_name or server_of(plan, to).tool
    typed = only("evaluate serving", plan.request.typed)
    own = configured(candidate, hardware, plan.deployments[0].model, engine)
    batch = max(candidate.batch, candidate.dp)
    said = {**typed, **own, "load": "steady", "batch": batch}
    return {name: each for name, each in said.items() if name not in OF_A_LOAD}


def _evaluated(options: dict[str, object]) -> EvaluationDocument:
    return evaluated(Asked("evaluate serving", options))


def _loads(options: dict[str, object], most: int) -> dict[int, int]:
    """Say how many users there are at a time, and how many requests of each load."""
    loads = {}
    for users in sorted({1, math.isqrt(most), most}):
        asked = {name: each for name, each in options.items() if name != "batch"}
        found = _evaluated({**asked, "concurrency": users, "load": "benchmark"})
        load = found.under_load
        rate = (load.requests_per_second if load is not None else None) or 0.0
        loads[users] = max(LEAST_ROUNDS * users, round(rate * SECONDS))
    return loads
