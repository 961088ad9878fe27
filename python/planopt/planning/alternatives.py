"""Builds and clusters beside the answer: why not those, and what was not considered."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

from planopt.catalog.open import LIMITED_TO
from planopt.documents.explanations import Alternative, TrainingAlternative
from planopt.documents.parts import NotConsidered
from planopt.documents.training import (
    TrainingDeployment,
    TrainingDocument,
    TrainingEvaluation,
)
from planopt.market import CLASSES
from planopt.options import Edit
from planopt.planning.question import (
    AnyBuild,
    AnyQuestion,
    ServingQuestion,
    TrainingQuestion,
)
from planopt.price_sources import apart, is_rough, price
from planopt.procurement.problem import ListedRuns
from planopt.procurement.purchase import why_not
from planopt.serving.build import Build
from planopt.training.build import TrainingBuild
from planopt.training.evaluate import Both
from planopt.training.problem import TrainingProblem
from planopt.units import HOURS_PER_DAY, SECONDS_PER_DAY, SECONDS_PER_HOUR

# --- What holds a run back ------------------------------------------------------------


SHARES_WORTH_NAMING = 0.05  # Parts of a step below this share are not what breaks a run

_PARTS = {
    "tensor_seconds": "tensor-parallel messages",
    "context_seconds": "context-parallel messages",
    "expert_seconds": "messages between experts",
    "pipeline_seconds": "messages between stages",
    "data_seconds": "exchange of gradients and weights between replicas",
    "bubble_seconds": "waiting for other pipeline stages",
    "recompute_seconds": "recomputation of activations that memory has no room for",
    "offload_seconds": "transfers to the host",
    "straggler_seconds": "waiting for the slowest host",
}


class HeldBack(NamedTuple):
    """The fastest run there is on some hardware, and what keeps it from more."""

    build: TrainingBuild | None  # None where the model fits none
    sentence: str


def held_back(question: TrainingQuestion) -> HeldBack:
    """Find the fastest run that the question's other limits allow, and explain it."""
    fastest = question.edited(Edit({"deadline": "", "objective": "throughput"}))
    build = fastest.best()
    most = question.problem.max_accelerators
    if build is None and not question.seconds_left:
        return HeldBack(None, "there was no time to look for the fastest run")
    if build is None:
        ratio = fastest.found.summary.nearest.memory_ratio
        closest = f": the closest needs {ratio:.2f} times the memory" if ratio else ""
        return HeldBack(None, f"nothing of up to {most:,} accelerators fits{closest}")
    paid = price(build.price_usd, build.bill_of_materials)
    said = [
        f"the fastest of up to {most:,} accelerators, {build.summary}, takes "
        f"{span(build.days)} for {paid}",
        *_speed(build),
        *_memory(build),
        *_failures(build),
    ]
    return HeldBack(build, "; ".join(said))


def _speed(build: TrainingBuild) -> list[str]:
    """Say what its accelerators do beside the model's arithmetic."""
    evaluation = build.evaluation
    seconds = evaluation.step_seconds
    if not seconds or evaluation.mfu is None:
        return []
    parts = (
        ((getattr(evaluation.step, name) or 0.0) / seconds, what)
        for name, what in _PARTS.items()
    )
    largest = sorted(filter(lambda part: part[0] >= SHARES_WORTH_NAMING, parts))
    shares = ", ".join(f"{part:.0%} {what}" for part, what in reversed(largest))
    return [f"MFU {evaluation.mfu:.1%}" + (f", of a step {shares}" if shares else "")]


def _memory(build: TrainingBuild) -> list[str]:
    """Say what fills the memory."""
    memory = build.evaluation.memory
    if memory is None:
        return []
    activations = memory.activations_bytes / 1e9
    in_flight = memory.micro_batches_in_flight or 1
    several = f"{in_flight:g} micro-batches" if in_flight > 1 else "one micro-batch"
    return [
        f"{memory.total_bytes / 1e9:.1f} of {memory.capacity_bytes / 1e9:.1f} GB of "
        f"memory, {activations:.1f} GB of them activations of {several} in flight"
    ]


def _failures(build: TrainingBuild) -> list[str]:
    """Say how often its accelerators fail."""
    of = build.evaluation
    interval, goodput, number = (
        of.failures.interval_seconds,
        of.goodput,
        of.accelerators,
    )
    if interval is None or goodput is None:
        return []
    every = span(interval / SECONDS_PER_DAY)
    return [f"{number or 0:,} accelerators fail every {every}: goodput {goodput:.1%}"]


def span(days: float) -> str:
    """Write a time as an option would take it: ``26d``, ``4.1h``, ``30s``."""
    hours = days * HOURS_PER_DAY
    if hours < 1:
        return f"{hours * SECONDS_PER_HOUR:.3g}s"
    if days < 2:
        return f"{hours:.3g}h"
    return f"{days:.3g}d" if days < 1000 else f"{days:.0f}d"


# --- Alternatives ---------------------------------------------------------------------


# --- Of serving -----------------------------------------------------------------------


def other_builds(
    question: ServingQuestion, chosen: Build, builds: Sequence[Build]
) -> tuple[Alternative, ...]:
    """List the cheapest build of each other accelerator, bought and rented, by price.

    Hosts and networks of it are folded into that one. Beside two pools, one pool of the
    same accelerators is another build.
    """
    top, hourly = question.problem.top, question.problem.hourly
    others: list[Alternative] = []
    seen = {_kind(chosen)}
    for other in builds:
        if _kind(other) in seen or len(others) == top:
            continue
        seen.add(_kind(other))
        deployment = other.deployments[0]
        over = _over(question, other)
        others.append(
            Alternative(
                **figures_of(other),
                why_not=over or _why_no_build(other, chosen, hourly=hourly),
                power_watts=None if other.rented else other.power_watts,
                replicas=deployment.replicas,
                candidate=deployment.candidate,
                hardware=deployment.hardware,
            )
        )
    return tuple(others)


def figures_of(build: Build) -> dict[str, Any]:
    """Return what is told of a build beside the answer."""
    return {
        "summary": build.summary,
        "price_usd": build.price_usd,
        "usd_per_hour": build.usd_per_hour,
        "usd_per_million_tokens": build.cost.usd_per_million_tokens,
        "tokens_per_second": build.tokens_per_second,
        "tokens_per_second_per_user": build.tokens_per_second_per_user,
        "users": build.users,
        "bill_of_materials": build.bill_of_materials,
    }


def _over(question: AnyQuestion, other: AnyBuild) -> str:
    """Say which limits a build breaks."""
    rough, hourly = is_rough(other.bill_of_materials), question.problem.hourly
    broken = why_not(other.broken, question.limits, rough=rough, hourly=hourly)
    return "; ".join(broken)


def _kind(build: Build) -> tuple[tuple[str, ...], bool, bool]:
    """Tell builds apart by their accelerators, whether they are rented, and pools."""
    named = (each.candidate.accelerator for each in build.deployments)
    used = {each.partition(LIMITED_TO)[0] for each in named}
    return tuple(sorted(used)), build.rented, build.transfer is not None


def _why_no_build(other: Build, chosen: Build, *, hourly: bool) -> str:
    """Say what a build within all limits lacks."""
    if hourly:
        dearer = other.usd_per_hour - chosen.usd_per_hour
        said = f"${abs(dearer):,.3g}/h"
    else:
        dearer = other.price_usd - chosen.price_usd
        said = _apart(other, chosen)
    if dearer > 0:
        return f"{said} more"
    if dearer < 0:
        return f"{said} less, but not best at what was asked for"
    return "same price; more dollars per token, more power or later by name"


def _apart(one: AnyBuild, other: AnyBuild) -> str:
    """Say by how much two prices differ, as exactly as both are known."""
    rough = any(is_rough(each.bill_of_materials) for each in (one, other))
    return apart(one.price_usd, other.price_usd, rough=rough)


def is_within(other: Alternative | TrainingAlternative) -> bool:
    """Whether a build is within all limits, so that only money speaks against it."""
    return "more" in other.why_not and "over" not in other.why_not


# --- Of training ----------------------------------------------------------------------


def other_clusters(
    question: TrainingQuestion, chosen: TrainingBuild
) -> tuple[TrainingAlternative, ...]:
    """List the best cluster of each accelerator, with why it was not chosen.

    Of the accelerator that was chosen it is the best of the others. Those that were
    named and have no cluster are listed with what keeps them from it.
    """
    runs = question.found.runs()
    listed = list(question.found.offered.builds)
    if question.problem.objective == "throughput":
        listed.sort(key=lambda each: -runs.tokens_per_second[each.row])
    others: dict[str, TrainingAlternative] = {}
    for each in listed:
        accelerator = runs.accelerator[each.row]
        if accelerator in others or len(others) >= question.problem.top:
            continue
        (other,) = question.builds([each.row])
        if other.bill_of_materials == chosen.bill_of_materials:
            continue
        others[accelerator] = training_alternative(
            other.deployment,
            other.evaluation,
            other.summary,
            _over(question, other) or _why_no_cluster(other, chosen),
            other.price_usd,
        )
    return *others.values(), *_without_cluster(question, runs)


def _why_no_cluster(other: TrainingBuild, chosen: TrainingBuild) -> str:
    """Say what a cluster within all limits lacks."""
    dearer = round(other.price_usd - chosen.price_usd)
    later, by = other.days - chosen.days, _apart(other, chosen)
    if dearer > 0:
        return f"{by} more" + (f", {span(later)} later" if later > 0 else "")
    money = f"{by} less" if dearer else "same price"
    if later > 0:
        return f"{money}, {span(later)} later"
    return money if other.rented else f"{money}; more power"


def _without_cluster(
    question: TrainingQuestion, runs: ListedRuns
) -> Iterator[TrainingAlternative]:
    """Say of each accelerator that was named why it has no cluster."""
    for name in question.problem.accelerators:
        if name not in runs.accelerator:
            why = held_back(question.alone(name))
            yield TrainingAlternative(summary=name, why_not=why.sentence)


def training_alternative(
    of: TrainingDeployment | TrainingDocument,
    evaluation: TrainingEvaluation,
    summary: str,
    why_not: str,
    price_usd: float | None,
) -> TrainingAlternative:
    """Put a run on a cluster up as an alternative, with what it does there."""
    does = ("days", "mfu", "goodput", "accelerators", "power_watts")
    return TrainingAlternative(
        summary=summary,
        why_not=why_not,
        price_usd=price_usd,
        run_usd=evaluation.run.usd,
        **{name: getattr(evaluation, name) for name in does},
        candidate=of.candidate,
        hardware=of.hardware,
        bill_of_materials=of.bill_of_materials,
    )


# --- One run over accelerators of several kinds ---------------------------------------


WAYS: Final = {
    "slowest": "evenly partitioned, at the pace of the slowest",
    "balanced": "stages balanced by speed",
}
LARGEST_TENSOR: Final = 8
MICRO_BATCHES: Final = (1, 2, 4)
RECOMPUTES: Final = ("none", "full")
SHARDINGS: Final = ("zero1", "zero3")


def heterogeneous(question: TrainingQuestion) -> tuple[TrainingAlternative, ...]:
    """Find the fastest layout of each way to share a run among several kinds.

    Asked where every kind is given with its number. All hosts are on the network of the
    fastest cluster of one kind. The hardware is the same whatever the layout: so the
    fastest is the cheapest.
    """
    problem = question.problem
    if len(question.kinds) < 2 or problem.rented:
        return ()
    fastest = Edit({"deadline": "", "objective": "throughput"})
    of_one_kind = question.edited(fastest).best()
    hardware = None if of_one_kind is None else of_one_kind.deployment.hardware
    if hardware is None or hardware.network is None:
        return ()
    shares = [
        {"accelerator": name, "accelerators": number}
        for name, number in question.kinds.items()
    ]
    network = hardware.network
    over = {"hardware": {"network": network}, "shares": shares}
    best: dict[str, tuple[Mapping[str, object], TrainingDocument]] = {}
    for layout in _layouts(question):
        run = {**problem.run, **over, "layout": layout}
        both = question.catalog.ask("evaluate_mixed", run, Both)
        for way, answer in (("slowest", both.slowest), ("balanced", both.balanced)):
            days = best[way][1].days if way in best else None
            if answer.feasible and (days is None or (answer.days or 0.0) < days):
                best[way] = (layout, answer)
    return tuple(
        _alternative(question, way, network, *best[way]) for way in WAYS if way in best
    )


def _layouts(question: TrainingQuestion) -> Iterator[dict[str, object]]:
    """List the layouts of all accelerators together."""
    everything = sum(question.kinds.values())
    degrees = [each for each in range(1, everything + 1) if everything % each == 0]
    tensor = [each for each in degrees if each <= LARGEST_TENSOR]
    for tp, pp, micro_batch in product(tensor, degrees, MICRO_BATCHES):
        dp = everything // (tp * pp)
        if everything % (tp * pp) or question.problem.global_batch % (dp * micro_batch):
            continue
        shardings = SHARDINGS if dp > 1 else ("none",)
        for shard, recompute in product(shardings, RECOMPUTES):
            yield {
                "tp": tp,
                "sequence_parallel": tp > 1,
                "pp": pp,
                "dp": dp,
                "micro_batch": micro_batch,
                "shard": shard,
                "recompute": recompute,
            }


def _alternative(
    question: TrainingQuestion,
    way: str,
    network: str,
    layout: Mapping[str, object],
    evaluation: TrainingDocument,
) -> TrainingAlternative:
    kinds = " + ".join(f"{number:,}x {name}" for name, number in question.kinds.items())
    degrees = "TP{tp} x PP{pp} x DP{dp}, {shard}".format_map(layout)
    price = evaluation.cost.price_usd
    return training_alternative(
        evaluation,
        evaluation,
        f"{kinds} over {network}, {degrees}, {WAYS[way]}",
        _verdict(question.problem, evaluation.days, price),
        price,
    )


def _verdict(problem: TrainingProblem, days: float | None, price: float | None) -> str:
    """Say which of the limits it would keep."""
    said = []
    deadline = problem.deadline_seconds
    if deadline is not None and days is not None:
        in_time = days * SECONDS_PER_DAY <= deadline
        said.append("in time" if in_time else "too late")
    if problem.budget_usd is not None and price is not None:
        said.append("within budget" if price <= problem.budget_usd else "too dear")
    return ", ".join(said)


# --- What was not considered ----------------------------------------------------------


_BOUGHT: Final = {
    "licence": ("licence forbids data centers", "leave out --datacenter"),
    "price": ("no price {condition}", "--price ID=USD, or --procurement rent"),
    "power": ("power is not known", "an overlay with --catalog DIR"),
    "host": ("no host that holds them has a price", "an overlay with --catalog DIR"),
}
_NOT_RENTED: Final = (
    "nobody rents them out on these terms",
    "other --billing, --provider or --provider-class",
)
_RENTED: Final = dict.fromkeys(_BOUGHT, _NOT_RENTED) | {"licence": _BOUGHT["licence"]}


def _left_out(what: str, names: Sequence[str], why: str, help_: str) -> NotConsidered:
    count = len(names)
    return NotConsidered(
        what=what, count=count, names=tuple(names), why=why, help=help_
    )


_OF_SESSIONS: Final = _left_out(
    "deployments",
    ("two pools", "other routers"),
    "a session goes to the replica that has fewest, and stays",
    "--router; evaluate serving --prefill-tp N for two pools, without sessions",
)
_ODD: Final = _left_out(
    "layouts",
    ("stages divided among hosts over TCP",),
    "engines send only activations over TCP",
    "--allow-odd",
)
_UNEVEN: Final = _left_out(
    "layouts",
    ("uneven pipelines of other than 2^n or 3 x 2^n stages",),
    "nobody builds uneven pipelines",
    "--allow-odd",
)
_LESS_POWER: Final = _left_out(
    "layouts",
    ("cards below their power",),
    "lower power pays only where power is short",
    "--max-power, or --accelerators ID@WATTS",
)
_UNLIKE: Final = _left_out(
    "replicas",
    ("cards of different kinds in one replica",),
    "chains of them are bought of a --stock alone",
    "--stock rtx-5090=3,rtx-4090=3, and a --target without further limits",
)
_WIDE: Final = _left_out(
    "changes of the question",
    ("sensitivity", "prices at other confidences"),
    "each would take as long again as the answer did",
    "a longer --time-limit, fewer --accelerators, or ask with the change",
)


def not_considered(question: AnyQuestion) -> tuple[NotConsidered, ...]:
    """Name accelerators that nothing can be built of, by what keeps them out."""
    problem = question.problem
    hardware = {
        **problem.asked["hardware"],
        "accelerators": problem.accelerators,
        "exclude": (*problem.exclude, *problem.left_out),
        "hosts": [],
    }
    rent = problem.rent_request()
    asked: list[dict[str, object]] = []
    if problem.procurement != "rent":
        asked.append({"hardware": hardware})
    if problem.rents:
        asked.append({"hardware": hardware, "rent": rent})
    # Accelerators, and at last offers, by what keeps them out.
    names_by_what = dict[str, tuple[str, ...]]
    every = [question.catalog.ask("left_out", one, names_by_what) for one in asked]
    first, *more = every
    # What can be rented is considered where both are open.
    kept = [{name for what in _BOUGHT for name in each[what]} for each in more]
    reasons = _RENTED if problem.procurement == "rent" else _BOUGHT
    told: dict[tuple[str, str], list[str]] = {}
    for what, reason in reasons.items():
        left = [name for name in first[what] if all(name in out for out in kept)]
        told.setdefault(reason, []).extend(left)
    unmeasured = problem.left_out
    if problem.accelerators:
        unmeasured = tuple(set(unmeasured).intersection(problem.accelerators))
    told[
        "too little was measured of them with this kind of model", "--evidence any"
    ] = [*unmeasured]
    accelerators = (
        _left_out("accelerators", names, why.format(condition=problem.condition), help_)
        for (why, help_), names in told.items()
        if names
    )
    if isinstance(question, TrainingQuestion):
        applies = {_UNEVEN: not question.problem.allow_odd}
    else:
        applies = {
            _OF_SESSIONS: question.problem.session_load is not None,
            _ODD: not question.problem.allow_odd,
            _LESS_POWER: question.problem.max_power_watts is None,
            _UNLIKE: not question.asked_chains and len(_kinds_there(question)) > 1,
            _WIDE: question.is_wide,
        }
    return (
        *accelerators,
        *_of_classes(problem.provider_classes, every[-1]["class"]),
        *(each for each, is_so in applies.items() if is_so),
    )


def _kinds_there(question: ServingQuestion) -> set[str]:
    """Return the accelerators of which there are so many and no more."""
    cards = {each.id for each in question.catalog.list("accelerators")}
    return cards & {*question.problem.stock, *question.problem.own}


def _of_classes(
    asked: Container[str], offers: tuple[str, ...]
) -> Iterator[NotConsidered]:
    """Count the offers for which others answer than those who are asked for."""
    others = " and ".join(each for each in CLASSES if each not in asked)
    if offers:
        yield NotConsidered(
            what="offers",
            count=len(offers),
            names=tuple(dict.fromkeys(each.partition("/")[0] for each in offers)),
            why=f"{others} machines",
            help="--provider-class any",
        )
