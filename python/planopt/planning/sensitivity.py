"""What the answer becomes when one thing is different, and what a step saves.

Each is the question with an edit, asked again.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from msgspec import Struct, convert, structs

from planopt._native import parse_quantity
from planopt.documents.evaluation import ServingEvaluation
from planopt.documents.explanations import Sensitivity, Step
from planopt.options import Edit
from planopt.planning.held_back import span
from planopt.planning.question import best_of
from planopt.planning.warnings import LOW_MARGIN, PCIE_CHANGE
from planopt.price_sources import dollars, is_rough
from planopt.serving.load import configuration_of
from planopt.units import SECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from planopt.catalog.open import Catalog
    from planopt.documents.evaluation import Deployment
    from planopt.planning.question import ServingQuestion, TrainingQuestion
    from planopt.serving.build import Build
    from planopt.serving.question_types import Problem
    from planopt.training.build import TrainingBuild

PCIE_CLASSES = ("slow", "good")
NONE_FOUND = "no plan was found"
DEADLINES = (0.8, 1.5)
"""Shares of the deadline that the question is asked again with."""
OTHER_NETWORK = 1.5
"""How much dearer a cluster on another network is looked for first."""
ROUNDING_USD = 1.0
"""What a price may be off by where it was added up in another order."""
WIDE = 50_000
"""Candidates of a question under a load beyond which none near it is asked: each takes
as long again, some 30 microseconds a candidate."""
TIMES = 2
"""By which sessions are longer, more, faster growing or sooner back."""
FOUND = 0.9
"""What is found where prompts do not begin as they did: a time of day, tools in another
order, thoughts that are left out."""
TIERS = (
    ("extra-memory", "memory_bytes", "2TB", 2e12),
    ("cache-disks", "disks", "4", 4),
)
"""What each host may be bought with besides."""
SHARE = 0.1
"""A step of what is measured: money, power, speed. Of what is counted it is one."""


class _Mean(Struct):
    mean: float | None = None
    tokens: int | None = None


class _Think(Struct):
    share: float
    mean_seconds: float


class _Sessions(Struct):
    """Of a load of sessions, what is asked about otherwise."""

    turns: _Mean
    grow: _Mean
    think: list[_Think]


# --- Of serving -----------------------------------------------------------------------


def sensitivities(
    question: ServingQuestion,
    chosen: Build,
    held: Callable[[ServingQuestion], Build | None],
) -> tuple[Sensitivity, ...]:
    """Ask what flips the choice, where that does not take as long again.

    What another network would buy is ``held``: it keeps its promises as the choice
    does.
    """
    edits = {
        **_higher_target(question.problem, chosen),
        **_pcie_classes(question),
        **_other_sessions(question.problem),
    }
    networks = _other_networks(
        question, (each.hardware.network for each in chosen.deployments)
    )
    if is_wide(question):
        edits = networks = {}
    asked = [question.edited(edit).near(chosen) for edit in edits.values()]
    told = [
        _told(change, chosen, other)
        for change, other in zip(edits, best_of(asked), strict=True)
    ]
    return (
        *(
            each
            for each in told
            if each.choice_changes or not each.change.startswith(PCIE_CHANGE)
        ),
        *(
            _told(change, chosen, held(question.edited(edit)))
            for change, edit in networks.items()
        ),
        *_full_pipeline(question, chosen),
    )


def is_wide(question: ServingQuestion) -> bool:
    """Whether asking nearly the same again takes seconds, or time that there is not."""
    if not question.had_time:
        return True
    judged = question.problem.percentile is not None
    return judged and question.found.search.candidates_evaluated > WIDE


def _told(change: str, chosen: Build, other: Build | None) -> Sensitivity:
    if other is None:
        return Sensitivity(change=change, result=NONE_FOUND, choice_changes=True)
    same = other.bill_of_materials == chosen.bill_of_materials
    speed = f"{other.tokens_per_second_per_user:.1f} tok/s per user"
    rough = is_rough(other.bill_of_materials)
    price = f"{dollars(other.usd_per_hour)}/h"
    if not other.rented:
        price = dollars(other.price_usd, rough=rough, whole=True)
    found = f"the same parts: {speed}" if same else f"{other.summary}: {price}, {speed}"
    return Sensitivity(
        change=change,
        result=found,
        choice_changes=not same,
        price_usd=other.price_usd,
    )


def _higher_target(problem: Problem, chosen: Build) -> dict[str, Edit]:
    """Ask for the next plan that clears the target, where this one barely does."""
    higher = problem.target * (1 + LOW_MARGIN)
    if problem.target and chosen.tokens_per_second_per_user < higher:
        return {f"--target {higher:g}tok/s": Edit({"target": higher})}
    return {}


def _other_sessions(problem: Problem) -> dict[str, Edit]:
    """Ask for sessions that grow more or pause less, and for more room."""
    if problem.session_load is None:
        return {}
    load = convert(problem.session_load, _Sessions)
    think = sum(each.share * each.mean_seconds for each in load.think)
    turns, grow = (
        round(TIMES * (each.mean or each.tokens or 1.0))
        for each in (load.turns, load.grow)
    )
    return {
        f"--sessions {TIMES * problem.concurrency}": Edit(
            {"sessions": TIMES * problem.concurrency}
        ),
        f"--turns {turns}": Edit({"turns": turns}),
        f"--grow {grow}": Edit({"grow": grow}),
        f"--think {think / TIMES:.3g}s": Edit({"think": think / TIMES}),
        **({} if problem.prefix_hit_rate else _room(problem)),
    }


def _room(problem: Problem) -> dict[str, Edit]:
    """Ask what less that is found costs, and more memory or disks for it save."""
    edits = {f"--prefix-hit-rate {FOUND:.0%}": Edit({"prefix_hit_rate": FOUND})}
    edits |= {
        f"--{name} {said}": Edit({name.replace("-", "_"): figure})
        for name, key, said, figure in TIERS
        if key not in problem.cost
    }
    return edits


def _pcie_classes(question: ServingQuestion) -> dict[str, Edit]:
    """Ask whether slower or faster all-reduce over PCIe changes what is bought."""
    problem = question.problem
    if problem.pcie_all_reduce is not None or problem.objective != "cheapest":
        return {}
    if not question.found.summary.reduces_over_pcie:
        return {}
    return {
        f"{PCIE_CHANGE} of class `{name}`": Edit({"pcie_all_reduce": name})
        for name in PCIE_CLASSES
    }


def _full_pipeline(question: ServingQuestion, chosen: Build) -> Iterator[Sensitivity]:
    """Say what a full pipeline would do, where the question keeps it from filling."""
    for deployment in chosen.deployments:
        candidate = deployment.candidate
        if question.problem.in_flight is None or candidate.in_flight >= candidate.pp:
            continue
        stages = candidate.pp
        for batch in (candidate.batch, -(-candidate.batch // stages)):
            yield Sensitivity(
                change=f"in-flight = p = {stages}, batch {batch}",
                result=_with_in_flight(question, deployment, batch, stages),
            )


def _with_in_flight(
    question: ServingQuestion, deployment: Deployment, batch: int, in_flight: int
) -> str:
    filled = structs.replace(deployment.candidate, batch=batch, in_flight=in_flight)
    one = structs.replace(deployment, candidate=filled, replicas=1)
    evaluation = question.catalog.ask(
        "evaluate_serving", configuration_of(question.problem, one), ServingEvaluation
    )
    users = batch * in_flight
    if not evaluation.feasible:
        return f"{users} users: {evaluation.rejections[0].message}"
    decode = evaluation.decode
    return (
        f"{users} users at {decode.tokens_per_second_per_user:.1f} tok/s each, "
        f"{decode.tokens_per_second:,.0f} tok/s in all"
    )


# --- Of training ----------------------------------------------------------------------


def run_sensitivities(
    question: TrainingQuestion, chosen: TrainingBuild
) -> tuple[Sensitivity, ...]:
    """Ask again with less time and with more, and on slower and faster networks."""
    deadline = question.problem.deadline_seconds
    asked = [(share, share * deadline) for share in DEADLINES if deadline]
    in_other_times = (
        _told_of_run(
            f"--deadline {span(seconds / SECONDS_PER_DAY)}",
            chosen,
            _best_near(
                question.edited(Edit({"deadline": seconds})), chosen, _dearer(share)
            ),
        )
        for share, seconds in asked
    )
    networks = _other_networks(question, [chosen.deployment.hardware.network])
    over_other_networks = (
        _told_of_run(
            change, chosen, _best_near(question.edited(edit), chosen, OTHER_NETWORK)
        )
        for change, edit in networks.items()
    )
    return (*in_other_times, *over_other_networks)


# --- Of either ------------------------------------------------------------------------


def _other_networks(
    question: ServingQuestion | TrainingQuestion, networks: Iterable[str | None]
) -> dict[str, Edit]:
    """Ask for networks one step slower and faster: what the network is worth."""
    if question.problem.networks or not question.had_time:
        return {}
    catalog = question.catalog
    known = catalog.list("network")
    # What is rented has a region's; of several the first.
    ids = {each.id for each in known}
    network = next((each for each in networks if each in ids), None)
    if network is None:
        return {}
    by_rate: dict[float, list[str]] = {}
    for each in known:
        if catalog.text("network", each.id, "nic.price") is not None:
            by_rate.setdefault(_line_rate(catalog, each.id), []).append(each.id)
    rates = sorted(by_rate)
    place = bisect_left(rates, _line_rate(catalog, network))
    steps = [*rates[:place][-1:], *rates[place + 1 :][:1]]
    lists = [",".join(by_rate[rate]) for rate in steps]
    return {f"--network {names}": Edit({"network": names}) for names in lists}


def _line_rate(catalog: Catalog, network: str) -> float:
    """Bytes per second of a port."""
    link = catalog.text("network", network, "link") or ""
    rate = catalog.text("link", link, "bandwidth") or "0 B/s"
    return parse_quantity(rate, "bytes_per_second")


def _told_of_run(
    change: str, chosen: TrainingBuild, other: TrainingBuild | None
) -> Sensitivity:
    if other is None:
        return Sensitivity(change=change, result=NONE_FOUND, choice_changes=True)
    rough = is_rough(other.bill_of_materials)
    price = dollars(other.price_usd, rough=rough, whole=True)
    return Sensitivity(
        change=change,
        result=f"{other.summary}: {price}, {span(other.days)}",
        choice_changes=other.bill_of_materials != chosen.bill_of_materials,
        price_usd=other.price_usd,
    )


def _dearer(share: float) -> float:
    """Say how much dearer a cluster for a share of the time may be.

    Twice as many accelerators in half of the time, and as much again for what they
    lose on the way; with more time none that is dearer is better.
    """
    return max(1.0, 1.0 / share**2)


def _best_near(
    question: TrainingQuestion, chosen: TrainingBuild, dearer: float
) -> TrainingBuild | None:
    """Find the best cluster, first among those that are not much dearer than `chosen`.

    Whatever is found within a price is the cheapest of all; the whole search is for
    where nothing is.
    """
    near = chosen.price_usd * dearer + ROUNDING_USD
    cheapest = question.problem.objective == "cheapest"
    found = question.up_to(near).best() if cheapest else None
    return question.best() if found is None else found


# --- Steps of limits ------------------------------------------------------------------


def steps(question: ServingQuestion, chosen: Build) -> tuple[Step, ...]:
    """Ask again with each limit a step wider, where that was asked for.

    A limit is binding if a step of it changes what is best; what the step is worth is
    the difference, exactly.
    """
    if not question.problem.steps:
        return ()
    return tuple(
        _worth(question, chosen, name, edit) for name, edit in _wider(question.problem)
    )


def _wider(problem: Problem) -> Iterator[tuple[str, Edit]]:
    """List each limit that is set, with a step of it."""
    if (usd := problem.budget_usd) is not None:
        yield "budget", Edit({"budget": usd * (1 + SHARE)}, f"+${usd * SHARE:,.0f}")
    if (usd := problem.budget_usd_per_hour) is not None:
        wider = Edit({"budget": f"{usd * (1 + SHARE)!r}/h"}, f"+${usd * SHARE:,.3g}/h")
        yield "budget per hour", wider
    if (watts := problem.max_power_watts) is not None:
        wider = Edit({"max_power": watts * (1 + SHARE)}, f"+{watts * SHARE:,.0f} W")
        yield "power", wider
    if (racks := problem.max_racks) is not None:
        yield "racks", Edit({"max_racks": racks + 1}, "+1 rack")
    if (most := problem.max_accelerators) is not None:
        yield "accelerators", Edit({"max_accelerators": most + 1}, "+1")
    for part, number in sorted(problem.stock.items()):
        stock = {**problem.stock, part: number + 1}
        yield f"stock:{part}", Edit({"stock": stock}, "+1")
    for part, number in sorted(problem.own.items()):
        yield f"own:{part}", Edit({"own": {**problem.own, part: number + 1}}, "+1")
    if problem.concurrency > 1:
        yield "concurrency", Edit({"concurrency": problem.concurrency - 1}, "-1")
    for part, number in sorted(problem.redundancy.items()):
        fewer = {**problem.redundancy, part: number - 1}
        yield f"redundancy:{part}", Edit({"redundancy": fewer}, "-1")
    if target := problem.target:
        slower = Edit({"target": target * (1 - SHARE)}, f"-{target * SHARE:g} tok/s")
        yield "target", slower


def _worth(question: ServingQuestion, chosen: Build, name: str, edit: Edit) -> Step:
    said = edit.note or ""
    other = question.edited(edit).best()
    if other is None:  # Not in time: a wider limit has every plan of the narrower.
        return Step(limit=name, step=said)
    hourly = question.problem.hourly
    saved = (
        chosen.usd_per_hour - other.usd_per_hour
        if hourly
        else chosen.price_usd - other.price_usd
    )
    return Step(
        limit=name,
        step=said,
        binding=other.bill_of_materials != chosen.bill_of_materials,
        saves_usd=saved,
        gains_tokens_per_second=other.tokens_per_second - chosen.tokens_per_second,
        choice=other.summary,
    )
