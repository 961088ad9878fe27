"""How sure a plan is: what its kinds are known by, how far it holds, at what price.

Scenarios of demand, prices and errors are drawn and compared by the core
(docs/reference/model.md, section 9). Here it is read off a plan how much longer steps
of each alternative may be, and what each carries of the demand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from planopt._native import scenarios as compared
from planopt.catalog.open import LIMITED_TO, Catalog
from planopt.confidence import (
    chance,
    evidence,
    factors,
    holds_at,
    kinds,
    median,
    probability,
    share,
    slower,
)
from planopt.documents.evaluation import Deployment, answering
from planopt.documents.explanations import Kind, Risk, Scenarios, WorthMeasuring
from planopt.documents.parts import BomLine, Candidate
from planopt.documents.plan import Plan, TrainingPlan
from planopt.documents.training import TrainingCandidate, TrainingDeployment
from planopt.planning.alternatives import is_within
from planopt.planning.question import AnyQuestion, ServingQuestion, TrainingQuestion
from planopt.planning.settle import runs_on
from planopt.serving.build import Build
from planopt.serving.load import held_to
from planopt.training.build import TrainingBuild
from planopt.units import SECONDS_PER_DAY

HALVINGS = 6
"""Of the chance that a plan is held under a load: each simulates its deployments."""
MOST_CERTAIN = 0.999  # Chance beyond which nobody asks how slow a kind may be
BESIDE_SECONDS = 4.0  # What a chance, or a price, beside the answer may take

PlanT = TypeVar("PlanT", Plan, TrainingPlan)
QuestionT = TypeVar("QuestionT", ServingQuestion, TrainingQuestion)


def certain(
    plan: PlanT, question: AnyQuestion, held_to: Callable[[Kind], float | None]
) -> PlanT:
    """Let a plan say what is known of its kinds, and how likely it is held."""
    cards = {card for each in plan.deployments for card in _cards(each)}
    known = kinds(question.catalog, question.problem, cards)
    confidence = share(question.problem.confidence)
    limits = {name: held_to(kind) for name, kind in known.items()}
    told = evidence(known, confidence, limits)
    asked = any(limit is not None for limit in limits.values())
    return replace(
        plan,
        confidence=confidence,
        evidence=told,
        probability=probability(told) if asked else None,
    )


def _cards(of: Deployment | TrainingDeployment) -> tuple[str, ...]:
    return of.cards if isinstance(of, Deployment) else (of.candidate.accelerator,)


def served_to(question: ServingQuestion, chosen: Build, kind: Kind) -> float | None:
    """Tell how many times longer than predicted steps may be, if anything says so."""
    problem = question.problem
    if problem.percentile is None:
        return min(_of_steps(question, chosen, kind), default=None)
    if problem.target or problem.ttft_seconds:
        return _of_load(question, chosen, kind)
    return None


def run_to(question: TrainingQuestion, chosen: TrainingBuild) -> float | None:
    """Tell the same of a run."""
    of = chosen.deployment
    left = question.problem.time_left(of.candidate.accelerator, of.hardware)
    return None if left is None else left / SECONDS_PER_DAY / chosen.days


def _of_steps(question: ServingQuestion, chosen: Build, kind: Kind) -> Iterator[float]:
    """Compare steps that are all alike with each promise; redundant ones are gone."""
    problem = question.problem
    for each in chosen.deployments:
        if kind.accelerator in each.cards:
            if problem.target:
                user = each.evaluation.decode.tokens_per_second_per_user
                yield (user or 0.0) / problem.target
            if problem.ttft_seconds and each.evaluation.prefill.seconds:
                yield problem.ttft_seconds / each.evaluation.prefill.seconds
    if problem.throughput:
        yield chosen.tokens_per_second_left / problem.throughput


def _of_load(question: ServingQuestion, chosen: Build, kind: Kind) -> float | None:
    """Simulate the load with longer steps, from what is shown to hold on."""
    problem = question.problem
    judged = problem.slower.get(kind.accelerator, 1.0)
    chances = _halved(chance(kind, judged), MOST_CERTAIN, HALVINGS)
    longer = [slower(kind, each) for each in chances]
    runs = runs_on(question, chosen, kind.accelerator)
    within = max(question.seconds_left, BESIDE_SECONDS)
    held = held_to(question.catalog, problem, runs, kind.accelerator, longer, within)
    if held is None:
        return None
    return longer[held - 1] if held else judged


def _halved(least: float, most: float, times: int) -> list[float]:
    """Return what halving the way between two chances may come to."""
    if not times:
        return []
    middle = (least + most) / 2
    ways = (least, middle), (middle, most)
    below, above = (_halved(*way, times - 1) for way in ways)
    return [*below, middle, *above]


AT: Final = {"price_usd_at_confidence_50": 0.5, "price_usd_at_confidence_95": 0.95}
"""Other confidences that a plan tells a price at."""


def at_confidences(plan: PlanT, question: QuestionT) -> dict[float, QuestionT]:
    """Ask at other confidences, where the plan's own price is not that of them."""
    problem = question.problem
    if not _is_priced(question):
        return {}
    # Asked whatever the budget, and not for long.
    asked_for = time.monotonic() - question.started + BESIDE_SECONDS
    return {
        at: question.about(
            slower=factors(question.catalog, problem, at),
            budget_usd=None,
            is_brief=True,
            time_limit_seconds=min(asked_for, problem.time_limit_seconds),
        )
        for at in AT.values()
        if not (_is_held(plan, at) and at >= (plan.confidence or 0.0))
    }


def _is_held(plan: Plan | TrainingPlan, at: float) -> bool:
    return plan.evidence is not None and holds_at(plan.evidence, at)


def _is_priced(question: AnyQuestion) -> bool:
    return question.problem.objective == "cheapest" and not question.problem.rents


def priced(
    plan: PlanT, question: AnyQuestion, found: Mapping[float, float | None]
) -> PlanT:
    """Add prices at other confidences: those found, and the plan's own beside them."""
    if not _is_priced(question):
        return plan
    return replace(plan, **{name: _price(plan, at, found) for name, at in AT.items()})


def _price(
    plan: Plan | TrainingPlan, at: float, found: Mapping[float, float | None]
) -> float | None:
    own, price = plan.confidence, plan.price_usd or 0.0
    if at not in found:
        return price
    usd = found[at]
    if usd is None or own is None:
        return usd
    # Runs of the same purchase tell it apart from a late one, or do not.
    if _is_held(plan, at):
        return min(usd, price)
    return max(usd, price) if at > own else usd


# --- Scenarios ------------------------------------------------------------------------


SEED = 1
"""The same scenarios for every question, so that two plans differ by what they are."""
THE_PLAN = "the plan"
_OF_MEMORY_AND_WAFERS = ("accelerator", "host")
"""Kinds of parts that are dearer where memory and wafers are."""

MEASURED_HOURS = 1 / 3  # Twenty minutes: an engine is started, warmed up and loaded


class _Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One plan: card of each deployment, room of its steps, and what it carries."""

    summary: str
    candidate: Candidate | TrainingCandidate
    bill: Sequence[BomLine]
    runs: Sequence[tuple[str, float | None, float | None]]
    most: float | None = None


class _MeasuringWorth(msgspec.Struct, frozen=True):
    """What measuring a kind is worth; plans by their places."""

    kind: str
    changes_choice: float
    saves_usd: float
    chosen: int
    instead: int


def with_scenarios(plan: PlanT, question: AnyQuestion) -> PlanT:
    """Let a plan say how it does beside its alternatives, where that is asked for."""
    number = question.problem.scenarios
    if number is None:
        return plan
    offers = [*_offers(plan)]
    asked = {
        "scenarios": number,
        "seed": SEED,
        "demand_varies": isinstance(plan, Plan),
        **_put_up(question, offers),
    }
    response = msgspec.json.decode(compared(msgspec.json.encode(asked)))
    first = tuple(_worth(response.pop("worth"), offers, question.catalog))
    risks = [
        {"summary": offer.summary, "accelerator": offer.runs[0][0], **risk}
        for offer, risk in zip(offers, response.pop("plans"), strict=True)
    ]
    own = {name: risks[0][name] for name in Risk.__struct_fields__}
    whole = {"drawn": number, "seed": SEED, "regret": risks, **response, **own}
    risk = msgspec.convert(whole, Scenarios)
    return replace(plan, scenarios=risk, worth_measuring=first)


def _put_up(question: AnyQuestion, offers: Sequence[_Offer]) -> dict[str, object]:
    """Put plans up, with parts and kinds by their places."""
    parts, lines = parts_of(
        [line for line in each.bill if line.price_usd and not line.owned]
        for each in offers
    )
    names = sorted({card for each in offers for card, _, _ in each.runs})
    found = kinds(question.catalog, question.problem, names)
    return {
        "parts": parts,
        "kinds": [
            (name, median(found[name]), found[name].low, found[name].high)
            for name in names
        ],
        "plans": [
            {
                "lines": own,
                "runs": [
                    (names.index(card), room, carried)
                    for card, room, carried in each.runs
                ],
                "most": each.most,
            }
            for each, own in zip(offers, lines, strict=True)
        ],
    }


def parts_of(
    bills: Iterable[Sequence[BomLine]],
) -> tuple[list[tuple[str, bool]], list[list[tuple[int, float]]]]:
    """Name the parts of bills, and put each bill as their places and dollars."""
    all_ = [*bills]
    parts = sorted({(line.kind, line.id) for bill in all_ for line in bill})
    place = {part: number for number, part in enumerate(parts)}
    lines = [
        [(place[line.kind, line.id], line.price_usd or 0.0) for line in bill]
        for bill in all_
    ]
    named = [(f"{kind}/{id_}", kind in _OF_MEMORY_AND_WAFERS) for kind, id_ in parts]
    return named, lines


def _worth(
    found: object, offers: Sequence[_Offer], catalog: Catalog
) -> Iterator[WorthMeasuring]:
    """Say what to measure first, in what configuration, and what renting it costs."""
    worth = msgspec.convert(found, list[_MeasuringWorth])
    for each in sorted(worth, key=lambda each: -each.saves_usd):
        if not each.changes_choice:
            continue
        card = each.kind
        measured = next(offer.candidate for offer in offers if offer.runs[0][0] == card)
        layout, number = _replica(measured)
        offer, hourly = _offered(catalog, card, number)
        yield WorthMeasuring(
            accelerator=card,
            configuration=f"{number} × {card}, {layout}",
            accelerators=number,
            changes_choice=each.changes_choice,
            saves_usd=each.saves_usd,
            without=offers[each.chosen].summary,
            instead=offers[each.instead].summary,
            offer=offer,
            rent_usd=None if hourly is None else hourly * MEASURED_HOURS,
        )


def _replica(of: Candidate | TrainingCandidate) -> tuple[str, int]:
    """Describe one replica, and count its accelerators."""
    if isinstance(of, Candidate):
        batch = f"batch {of.batch}"
        return f"{of.layout}, {of.weights or 'as published'}, {batch}", of.accelerators
    layout = f"TP{of.tp} x PP{of.pp}" + (f" x CP{of.cp}" if of.cp > 1 else "")
    return f"{layout}, {of.precision}, micro-batch {of.batch}", of.tp * of.pp * of.cp


def _offered(
    catalog: Catalog, card: str, number: int
) -> tuple[str | None, float | None]:
    """Find the cheapest instance on demand with so many of a card."""
    named = card.partition(LIMITED_TO)[0]
    for tag in sorted(catalog.rent_tags(), key=lambda tag: tag.usd):
        if tag.condition == "on-demand":
            figures = catalog.figures("offers", tag.id)
            is_it = figures["accelerator"].text == named
            if is_it and int(figures["count"].text) >= number:
                return tag.id, tag.usd
    return None, None


def _offers(plan: Plan | TrainingPlan) -> Iterator[_Offer]:
    return _served(plan) if isinstance(plan, Plan) else _run(plan)


def _served(plan: Plan) -> Iterator[_Offer]:
    """Only the plan was simulated: others have its room by the speed of their steps."""
    request, deployed, known = plan.request, plan.deployments, plan.evidence
    is_timed = request.target_tokens_per_second or request.ttft_seconds
    held_to = {
        kind.accelerator: kind.held_to if is_timed else None
        for kind in (known.kinds if known else ())
    }
    cards = [each.candidate.accelerator for each in deployed]
    room = [held_to.get(card) for card in cards]
    steps = [each.evaluation.decode for each in deployed]
    rates = [
        (step.tokens_per_second or 0.0) * each.replicas * (each.role != "prefill")
        for each, step in zip(deployed, steps, strict=True)
    ]
    yield _Offer(
        summary=THE_PLAN,
        candidate=deployed[0].candidate,
        bill=plan.bill_of_materials,
        runs=[*zip(cards, room, _carried(plan, rates, room), strict=True)],
        most=_most(plan, plan.totals.concurrency),
    )
    slowest = min(
        each.evaluation.decode.tokens_per_second_per_user or 0.0
        for each in answering(deployed)
    )
    least = min((each for each in room if each is not None), default=None)
    for other in filter(is_within, plan.alternatives):
        if other.candidate is not None:
            faster = (other.tokens_per_second_per_user or 0.0) / (slowest or 1.0)
            of_other = None if least is None else least * faster
            (carried,) = _carried(plan, [other.tokens_per_second or 0.0], [of_other])
            yield _Offer(
                summary=other.summary,
                candidate=other.candidate,
                bill=other.bill_of_materials,
                runs=[(other.candidate.accelerator, of_other, carried)],
                most=_most(plan, other.users),
            )


def _carried(
    plan: Plan, rates: Sequence[float], room: Sequence[float | None]
) -> list[float | None]:
    """Under a load, the same engine slowed down is the load sped up."""
    asked = plan.request.throughput_tokens_per_second
    if asked:
        return [rate / asked for rate in rates]
    if plan.request.percentile is None or None in room:
        return [None] * len(rates)
    both = zip(rates, room, strict=True)
    return [(each or 0.0) * rate / (sum(rates) or 1.0) for rate, each in both]


def _most(plan: Plan, users: int | None) -> float | None:
    request = plan.request
    if request.requests_per_second or not (request.concurrency and users):
        return None
    return users / request.concurrency


def _run(plan: TrainingPlan) -> Iterator[_Offer]:
    """Put runs up: each has its deadline, and nothing more to carry."""
    own = plan.deployments[0]
    first = (THE_PLAN, own.candidate, own.hardware, own.evaluation.days)
    others = (
        (each.summary, each.candidate, each.hardware, each.days, each.bill_of_materials)
        for each in filter(is_within, plan.alternatives)
    )
    for summary, candidate, of, days, bill in (
        (*first, plan.bill_of_materials),
        *others,
    ):
        if candidate is not None:
            left = plan.request.time_left(candidate.accelerator, of)
            room = left / SECONDS_PER_DAY / days if left and days else None
            runs = [(candidate.accelerator, room, None)]
            yield _Offer(summary=summary, candidate=candidate, bill=bill, runs=runs)
