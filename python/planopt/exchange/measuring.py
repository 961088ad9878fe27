"""What is measured and on what: twenty minutes of it, and the results read again."""

import math
from collections.abc import Mapping

import msgspec
from msgspec import structs
from msgspec.structs import replace

from planopt.catalog.overlay import is_id
from planopt.documents.evaluation import Deployment, EvaluationDocument
from planopt.documents.exchange import ImportDocument
from planopt.documents.parts import Candidate, Hardware
from planopt.documents.plan import Plan, PlanDocument, content_of
from planopt.errors import InputError
from planopt.exchange.benchmark import MAKERS, RESULTS, load_command, load_terms
from planopt.exchange.export import (
    BENCHMARK,
    CONFIGURATION,
    README,
    Export,
    export,
    heading,
    server_of,
)
from planopt.exchange.render import comment
from planopt.exchange.results import Result
from planopt.exchange.serving import LOADED
from planopt.exchange.terms import serving_roles
from planopt.exchange.tool import Options, Tool, tool
from planopt.options import Asked, only
from planopt.planning.evaluate import evaluated

# --- What a result was measured on ----------------------------------------------------


ACCEPTED = (
    "a plan of solve with one deployment, or what `import --json` or "
    "`evaluate serving --json` has written"
)
OF_LOADS = {
    *LOADED,
    *("load", "workload", "traffic", "isl", "osl", "max_model_len", "arrival_cv"),
    *("turns", "grow", "shared", "think", "prefix_hit_rate"),
}


def configuration(path: str) -> Options:
    """Read what was measured on, of a plan, an evaluation or a command understood."""
    content = content_of(path)
    try:
        schema = str(msgspec.json.decode(content)["schema"])
    except (ValueError, TypeError, KeyError, RecursionError):
        schema = ""
    if schema.startswith("planopt.evaluation/"):
        done = EvaluationDocument.from_json(content, file=path)
        own = configured(done.candidate, done.hardware, done.model, done.engine)
        return {**own, "replicas": done.replicas}
    if schema.startswith("planopt.import/"):
        heard = ImportDocument.from_json(content, file=path)
        if heard.serving is None:
            raise _wrong(path, "the command was not evaluated on an accelerator")
        said = {**heard.options, "max_sequences": heard.sequences or None}
        return {name: each for name, each in said.items() if each is not None}
    plan = Plan.from_json(content, file=path)
    if len(plan.deployments) != 1:
        raise _wrong(path, f"the plan has {len(plan.deployments)} deployments")
    (of,) = plan.deployments
    engine = plan.request.engine_name
    own = configured(of.candidate, of.hardware, of.model, engine)
    typed = only("evaluate serving", plan.request.typed)
    return {**typed, **own, "replicas": of.replicas}


def _wrong(path: str, message: str) -> InputError:
    return InputError.of("E301", message, field="--plan", value=path, accepted=ACCEPTED)


def configured(
    of: Candidate, on: Hardware, model: str | None, engine: str | None
) -> Options:
    """Say a layout as options; what is 0 or none of it is left out."""
    said = {**structs.asdict(on), **structs.asdict(of), "dp_attention": of.dp}
    said |= {"model": model, "engine": engine, "batch": None}
    if on.terms is not None:  # What is rented has no host of the catalogs.
        said |= {"host": None, "link": None, "network": None}
    elif not is_id(on.link or ""):  # A card's own link comes with its board.
        said["link"] = None
    return only("evaluate serving", {name: each for name, each in said.items() if each})


def under(result: Result, options: Mapping[str, object]) -> tuple[Options, str]:
    """Put the load of a result in the place of that of its plan; and say it."""
    known = result.counts
    sizes = {"isl": known.get("prompt"), "osl": known.get("output")}
    load: Options = {name: max(round(each), 1) for name, each in sizes.items() if each}
    both = len(load) == len(sizes)
    tokens = f", {load['isl']} + {load['osl']} tokens" if both else ""
    offered = known.get("offered", math.inf)
    users = known.get("concurrency", 0.5)
    if any(times.alone for times in result.times.values()):
        arrivals: Options = {"batch": 1, "load": "steady"}
        told = "1 alone"
    elif offered < math.inf:
        arrivals, told = {"request_rate": offered}, f"{offered:g}/s"
    elif users >= 1 and users == round(users):
        as_tools = "benchmark" if tokens else "closed"
        arrivals = {"concurrency": round(users), "load": as_tools}
        told = "1 user" if users == 1 else f"{users:g} users"
    elif "request_rate" in known:
        offered = known["request_rate"]
        arrivals, told = {"request_rate": offered}, f"{offered:.3g}/s"
    else:
        return dict(options), "as planned"
    replaced = OF_LOADS if tokens else {*LOADED, "load"}
    kept = {name: each for name, each in options.items() if name not in replaced}
    return {**kept, **load, **arrivals}, told + tokens


# --- Twenty minutes of what is worth measuring ----------------------------------------


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
    found = evaluated(Asked("evaluate serving", options))
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


def _options(plan: Plan, to: str) -> Options:
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


def _loads(options: Options, most: int) -> dict[int, int]:
    """Say how many users there are at a time, and how many requests of each load."""
    loads = {}
    for users in sorted({1, math.isqrt(most), most}):
        asked = {name: each for name, each in options.items() if name != "batch"}
        asked |= {"concurrency": users, "load": "benchmark"}
        load = evaluated(Asked("evaluate serving", asked)).under_load
        rate = (load.requests_per_second if load is not None else None) or 0.0
        loads[users] = max(LEAST_ROUNDS * users, round(rate * SECONDS))
    return loads
