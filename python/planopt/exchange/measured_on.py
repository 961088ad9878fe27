"""What a result was measured on and under which load, as `evaluate serving` asks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from planopt.catalog.overlay import is_id
from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.exchange import ImportDocument
from planopt.documents.plan import Plan, content_of
from planopt.errors import InputError
from planopt.exchange.serving import LOADED
from planopt.options import only

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.documents.parts import Candidate, Hardware
    from planopt.exchange.results import Result

Options = dict[str, object]

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
