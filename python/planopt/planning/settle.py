"""What keeps its promises when it is simulated, and what is proven of it.

The core looks at rates, by simulation, until the cheapest purchase at those that nobody
has refused is one at rates that are shown to hold (docs/reference/serving.md, section
11). OR-Tools buys what the core's fronts do not know, and proves the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace as with_changes

from planopt.documents.certificate import Proven
from planopt.documents.evaluation import Deployment
from planopt.door import written
from planopt.loads import Latencies
from planopt.planning.question import MUCH_DEARER, REACH, ServingQuestion
from planopt.procurement.problem import Purchase, Summary, check, offer
from planopt.procurement.purchase import buy
from planopt.serving.build import Build, for_users, has_errors
from planopt.serving.load import USUAL, Trial, Tried, of_deployment, of_pools
from planopt.serving.question_types import Problem
from planopt.serving.search import Aim, parts_of
from planopt.units import MICRO_USD

if TYPE_CHECKING:
    from planopt._native import Rows

ATTEMPTS = 5
"""How often a late plan is looked for again with what it lacked, where the fastest is
sought."""
LEAST_CARE = 1.03
"""By how much a promise that is not kept is taken more carefully, at least."""
FINAL_REQUESTS = 16_000
FINAL_SEED = 1  # Of the run that a purchase which nothing was proven of must pass
SHARE_OF_TIME = 0.8
"""Of the time limit, after which the best that is known must do: its final run and what
lies beside it take the rest."""
MOST_LATE = 64
"""Replicas of a purchase that is simulated once the clock has ended, and as many more
for each second that is left: a thousand of them took 55 seconds."""


class _Settled(Proven, frozen=True):
    """What the core bought and proved."""

    ended: Literal["proven", "edge", "time", "nothing"]
    counts: dict[int, int]
    runs: tuple[Latencies, ...]  # Final run of each row
    build: Build | None  # The purchase, laid out
    summary: Summary
    value: float | None
    """Of the purchase: millionths of a dollar, or what else is least."""
    bound: float | None  # No purchase that holds is below it
    simulations: int
    requests: int


_SETTLED: Final = msgspec.json.Decoder(_Settled)


class Choice(NamedTuple):
    """What is bought, by which question."""

    question: ServingQuestion
    purchase: Purchase
    build: Build


class _Ask(NamedTuple):
    """What the core is asked to settle."""

    question: ServingQuestion
    guess: Purchase
    """What the closed form would buy."""
    cap: float | None
    """Money beyond which nothing is looked at."""

    @classmethod
    def about(cls, question: ServingQuestion, guess: Purchase) -> _Ask:
        """Ask about what is not much dearer than the closed form says."""
        cap, known = question.problem.money, _known_price(question, guess)
        if known is not None:
            cap = min(REACH * known / MICRO_USD, cap or math.inf)
        return cls(question, guess, cap)

    def is_too_near(self, answer: _Settled) -> bool:
        """Whether a better purchase may have what is dearer than was looked at."""
        if self.cap is None or self.cap == self.question.problem.money:
            return False
        is_below = answer.value is not None and answer.value <= self.cap * MICRO_USD
        return answer.summary.is_cut_by_price and not is_below

    def further(self, answer: _Settled) -> _Ask:
        """Ask again: what is dearer than all that is known is in no better purchase."""
        known = answer.value
        cap = self.question.problem.money if known is None else known / MICRO_USD
        return self._replace(cap=cap)


def settled(asked: Sequence[tuple[ServingQuestion, Purchase]]) -> list[Choice | None]:
    """Choose what keeps its promises in its own simulation, and say what is proven.

    Of several questions about one catalog the core is asked at once, and again of those
    for which it did not look far enough.
    """
    asks = {
        place: _Ask.about(question, purchase)
        for place, (question, purchase) in enumerate(asked)
        if not _has_no_method(question.problem)
    }
    answers: dict[int, _Settled] = {}
    while asks:
        told = zip(asks.items(), _asked([*asks.values()]), strict=True)
        asks = {}
        for (place, ask), answer in told:
            answers[place] = answer
            if not ask.is_too_near(answer):
                continue
            if answer.ended != "time":
                asks[place] = ask.further(answer)
            elif answer.bound is not None and ask.cap is not None:
                # Nothing dearer was looked at.
                bound = min(answer.bound, ask.cap * MICRO_USD)
                answers[place] = with_changes(answer, bound=bound)
    return [_chosen(*each, answers.get(place)) for place, each in enumerate(asked)]


def _has_no_method(problem: Problem) -> bool:
    """Whether nothing proves what is best: the fastest, or of one batch."""
    return problem.objective == "latency" or problem.batch is not None


def _known_price(question: ServingQuestion, guess: Purchase) -> int | None:
    """Return what the closed form would pay, where that is what is asked about."""
    is_price = question.problem.objective == "cheapest"
    return guess.price_micro_usd if is_price else None


def _chosen(
    question: ServingQuestion, purchase: Purchase, answer: _Settled | None
) -> Choice | None:
    """Choose for one of them, and predict its figures, however slow it was judged."""
    if answer is None:
        choice = _unproven(question, purchase)
    else:
        choice = _as_settled(question, purchase, answer)
    if choice is None or not question.problem.slower or question.problem.is_brief:
        return choice
    return choice._replace(build=_finally(question.about(slower={}), choice.build))


def _as_settled(
    question: ServingQuestion, purchase: Purchase, answer: _Settled
) -> Choice | None:
    """Choose what the core has settled, or what the closed form knows beside it."""
    problem, chosen = question.problem, answer.build
    why: Literal["edge", "time"] = "time" if answer.ended == "time" else "edge"
    if chosen is None:
        other = _unproven(question, purchase, answer.bound)
        return other and other._replace(purchase=replace(other.purchase, why=why))
    value, known = answer.value or 0.0, _known_price(question, purchase)
    if why == "time" and known is not None and value > MUCH_DEARER * known:
        # The closed form may know one that nobody had the time to look at.
        other = _unproven(question, purchase, answer.bound)
        is_cheaper = other and other.build.price_usd * MICRO_USD < value
        if other and is_cheaper and not other.build.missed:
            return other
    check(chosen.broken)
    ran = zip(chosen.deployments, answer.runs, strict=True)
    deployments = tuple(_with(each, report) for each, report in ran)
    chosen = with_changes(chosen, deployments=deployments)
    is_proven = answer.ended == "proven"
    proven = Purchase(
        status="optimal" if is_proven else "feasible",
        counts=answer.counts,
        why=None if is_proven else why,
    )
    proven = _bounded(proven, problem, answer.value, answer.bound)
    question.simulated = answer.simulations, answer.requests
    question.proven = answer
    return Choice(question, proven, chosen)


def _asked(asks: Sequence[_Ask]) -> list[_Settled]:
    """Ask the core to settle questions, with OR-Tools for what its fronts lack.

    The final run and what lies beside it take the rest of the time.
    """
    told = []
    for question, guess, cap in asks:
        problem = question.problem
        asked = {
            "limits": question.limits,
            "objective": problem.objective,
            "guess": guess.counts,
            "is_brief": problem.is_brief,
            "for_users": for_users(problem),
            "has_errors": has_errors(problem),
        }
        aim = Aim() if cap is None else question.up_to(cap)
        parts = [written(part) for part in parts_of(problem, aim)]
        seconds = SHARE_OF_TIME * question.seconds_left
        found, solver = question.found.native, partial(_bought, question)
        told.append((parts, msgspec.json.encode(asked), seconds, found, solver))
    return [*map(_SETTLED.decode, asks[0].question.catalog.native.settle(told))]


def _bought(
    question: ServingQuestion, rows: Rows
) -> tuple[dict[int, int], float, float] | None:
    """Buy of some rows as a question does: what it is worth, and the bound."""
    objective = question.problem.objective
    times = {"cheapest": MICRO_USD, "throughput": -1}.get(objective, 1)
    offered = offer(rows, question.limits, objective)
    best = buy(offered, question.solver, question.seconds_left, ties=False)
    if best.objective_value is None:
        return None
    value, bound = best.objective_value, best.objective_bound
    if bound is None and best.status != "optimal":
        # The clock ended before anything was known of the others.
        return best.counts, times * value, -math.inf
    return best.counts, times * value, times * (value if bound is None else bound)


def _bounded(
    purchase: Purchase, problem: Problem, value: float | None, bound: float | None
) -> Purchase:
    """Tell how far a purchase is from what none that holds is below."""
    if value is None or bound is None:
        return replace(purchase, bound_micro_usd=None, gap=None)
    bound = min(value, bound)
    is_price = problem.objective == "cheapest"
    if is_price:
        bound = math.floor(bound)
    return replace(
        purchase,
        bound_micro_usd=int(bound) if is_price else None,
        gap=(value - bound) / abs(value) if value else 0.0,
    )


def held(question: ServingQuestion) -> Build | None:
    """Build what keeps its promises where latencies are judged, with nothing proven.

    It is looked for more carefully until the time is over.
    """
    if question.problem.percentile is None:
        return question.best()
    choice = _unproven(question, question.buy())
    if choice is None or choice.build.missed:
        return None
    return choice.build


def _unproven(
    question: ServingQuestion, purchase: Purchase, bound: float | None = None
) -> Choice | None:
    """Simulate what the closed form buys, more carefully while it is late."""
    if not purchase.counts:
        return None
    bought = question.bought(purchase)
    replicas = sum(each.replicas for each in bought.deployments)
    if replicas > MOST_LATE * (1 + question.seconds_left):
        return None
    choice = judged(Choice(question, purchase, bought))
    while question.seconds_left:
        late = choice.build.missed
        other = _more_carefully(choice) if late else None
        if other is None:
            break
        choice = judged(other)
    price = choice.purchase.price_micro_usd
    has_method = not _has_no_method(question.problem)
    why: Literal["space", "time"] = "time" if has_method else "space"
    feasible = replace(choice.purchase, status="feasible", why=why)
    return choice._replace(purchase=_bounded(feasible, question.problem, price, bound))


def _more_carefully(choice: Choice) -> Choice | None:
    """Ask for the same with less of the promised times for the closed form."""
    margins = narrower(choice.question.problem, choice.build.missed)
    question = choice.question.about(**margins).near(choice.build)
    question.is_told = choice.question.is_told
    purchase = question.buy()
    if not purchase.counts:
        return None
    return Choice(question, purchase, question.bought(purchase))


def narrower(problem: Problem, violations: Mapping[str, float]) -> dict[str, float]:
    """Return the margins of a problem that leave less of what was not kept."""
    share = {name: 1 / max(times, LEAST_CARE) for name, times in violations.items()}
    return {
        "ttft_margin": problem.ttft_margin * share.get("TTFT", 1.0),
        "tpot_margin": problem.tpot_margin * share.get("TPOT", 1.0),
    }


def judged(choice: Choice) -> Choice:
    """Simulate a choice: shortly, and where that holds for as long as a plan needs."""
    question, chosen = choice.question, choice.build
    shortly = simulated_build(question, chosen)
    build = shortly if shortly.missed else _finally(question, chosen)
    return choice._replace(build=build)


def _finally(question: ServingQuestion, chosen: Build) -> Build:
    """Simulate a build for as long as a plan needs."""
    return simulated_build(question, chosen, Trial(FINAL_REQUESTS, FINAL_SEED))


def simulated_build(
    question: ServingQuestion, chosen: Build, trial: Trial = USUAL
) -> Build:
    """Put simulated latencies into the deployments of a build."""
    asked = question.catalog, question.problem
    loaded = _loaded(question.problem, chosen)
    runs = [(each, trial.of(*asked, run)) for each, run in loaded]
    missed: dict[str, float] = {}
    for _, came in runs:
        for name, times in came.missed.items() if came else ():
            missed[name] = max(missed.get(name, 0.0), times)
    deployments = tuple(_with(*run) for run in runs)
    return with_changes(chosen, deployments=deployments, missed=missed)


def _loaded(
    problem: Problem, chosen: Build
) -> Iterator[tuple[Deployment, Tried | None]]:
    """Put its share of a question's load on each deployment of a build.

    What comes of the whole load on two pools is told of the one that answers.
    """
    places = sum(each.users for each in chosen.deployments)
    for each in chosen.deployments:
        if chosen.transfer is None:
            yield each, of_deployment(problem, each, each.users / places)
        else:
            yield each, of_pools(problem, chosen) if each.role == "decode" else None


def runs_on(
    question: ServingQuestion, chosen: Build, accelerator: str
) -> Iterator[Tried]:
    """Name what is run of a build's deployments on an accelerator, as is judged."""
    for each, run in _loaded(question.problem, chosen):
        if run and (chosen.transfer or accelerator in each.cards):
            yield run


def _with(deployment: Deployment, latencies: Latencies | None) -> Deployment:
    """Put what came of a load beside what a step takes, where anything did."""
    if latencies is None:
        return deployment
    evaluation = with_changes(
        deployment.evaluation,
        ttft_seconds=latencies.ttft_seconds,
        tpot_seconds=latencies.tpot_seconds,
        under_load=latencies.under_load,
    )
    return with_changes(deployment, evaluation=evaluation)
