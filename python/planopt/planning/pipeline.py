"""From options to a plan: read, search, buy, settle, explain; of either subject."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from msgspec.structs import replace

from planopt.accuracy.statistics import errors
from planopt.catalog.open import Catalog, open_for
from planopt.documents.explanations import Alternative, Answer, Answers, Infeasibility
from planopt.documents.parts import Accuracy, Cost, PlanCost, Status
from planopt.documents.plan import Interrupted, Plan, TrainingPlan
from planopt.market import read_market
from planopt.money import at_load
from planopt.options import Asked, Edit
from planopt.planning.alternatives import (
    figures_of,
    heterogeneous,
    not_considered,
    other_builds,
    other_clusters,
)
from planopt.planning.certificate import certified
from planopt.planning.nearest import unproven, why_no_cluster, why_no_purchase
from planopt.planning.pools import better_of
from planopt.planning.question import (
    REACH,
    TOLD,
    ServingQuestion,
    TrainingQuestion,
    laid_out,
    search_together,
)
from planopt.planning.recourse import with_recourse
from planopt.planning.rent_or_buy import rent_or_buy, renting
from planopt.planning.risk import (
    at_confidences,
    certain,
    priced,
    run_to,
    served_to,
    with_scenarios,
)
from planopt.planning.sensitivity import (
    nearby,
    run_sensitivities,
    sensitivities,
    steps,
    uncertainty,
)
from planopt.planning.settle import Choice, settled
from planopt.planning.space import space
from planopt.planning.unlike import or_chain
from planopt.planning.warnings import flipped, run_warnings, serving_warnings
from planopt.price_sources import oldest_price, price
from planopt.procurement.problem import Purchase, check
from planopt.procurement.purchase import PurchaseInterrupted
from planopt.procurement.solver import Solver
from planopt.serving.build import Build
from planopt.serving.prediction_interval import statement
from planopt.serving.question_types import Problem
from planopt.steps import Step, Steps
from planopt.summary import made_from, summed_up
from planopt.traffic import read_traffic
from planopt.training.build import TrainingBuild
from planopt.training.problem import TrainingProblem
from planopt.units import MICRO_USD

QuestionT = TypeVar("QuestionT", ServingQuestion, TrainingQuestion)
BuildT = TypeVar("BuildT")
PlanT = TypeVar("PlanT", Plan, TrainingPlan)


class Subject(Protocol[QuestionT, BuildT, PlanT]):
    """What differs between serving and training."""

    def read(self, asked: Asked, catalog: Catalog, solver: Solver) -> QuestionT:
        """Read a question from options."""

    def settled(
        self, question: QuestionT, purchase: Purchase
    ) -> tuple[QuestionT, Purchase, BuildT] | None:
        """Lay out what keeps its promises, if anything is known to."""

    def plan(self, question: QuestionT, purchase: Purchase, chosen: BuildT) -> PlanT:
        """Put a purchase into a plan, without what needs further questions."""

    def so_far(self, question: QuestionT, purchase: Purchase) -> PlanT:
        """Put what was best until an interruption into a plan."""

    def explained(self, question: QuestionT, plan: PlanT, chosen: BuildT) -> PlanT:
        """Add what lies beside the answer."""

    def infeasible(self, question: QuestionT, purchase: Purchase) -> PlanT:
        """Say why there is no plan, and what is nearest to one."""


def answered(
    subject: Subject[QuestionT, BuildT, PlanT],
    asked: Asked,
    on_progress: Callable[[Step], object] | None = None,
) -> PlanT:
    """Answer the question that options ask."""
    steps = Steps(on_progress)
    with Solver() as solver:
        question = subject.read(asked, open_for(asked).watched(steps), solver)
        steps.most_bytes = question.problem.memory_limit_bytes
        return whole(subject, question, steps)


def compared(
    subject: Subject[QuestionT, BuildT, PlanT],
    asked: Asked,
    on_progress: Callable[[Step], object] | None = None,
) -> list[PlanT]:
    """Answer the question that options ask for each accelerator alone."""
    steps, plans = Steps(on_progress), []
    with Solver() as solver:
        question = subject.read(asked, open_for(asked).watched(steps), solver)
        steps.most_bytes = question.problem.memory_limit_bytes
        for each in question.problem.accelerators:
            steps.of = f"{each}: "
            plans.append(whole(subject, question.alone(each), steps))
    return plans


def whole(
    subject: Subject[QuestionT, BuildT, PlanT], question: QuestionT, steps: Steps
) -> PlanT:
    """Answer a question with a plan, and say what could not be part of any."""
    plan, left_out = _answer(subject, question, steps), not_considered(question)
    search = replace(plan.search, space=space(question, plan, left_out))
    return replace(plan, search=search, not_considered=left_out)


def _answer(
    subject: Subject[QuestionT, BuildT, PlanT], question: QuestionT, steps: Steps
) -> PlanT:
    question.started = started = time.monotonic()
    steps.end_in(question.problem.time_limit_seconds)
    covered = question.found.search.candidates_covered
    steps.at(f"{covered:,} configurations, {len(question.found)} worth buying")
    try:
        purchase = question.buy()
    except PurchaseInterrupted as stop:
        best = stop.purchase
        if not best.counts:
            raise Interrupted from None
        plan = subject.so_far(question, best)
        told = made_from(summed_up(plan, question.catalog), question.catalog)
        raise Interrupted(told) from None
    if purchase.counts:
        steps.at("judging what is best")
    else:
        steps.at("no purchase: what would help", is_counted=False)
    settled = subject.settled(question, purchase)
    if settled is None:
        return subject.infeasible(question, purchase)
    asked = question
    question, purchase, chosen = settled
    question.started, question.took = started, time.monotonic() - started
    question.had_time = asked.had_time = question.may_ask_again
    plan = subject.plan(question, purchase, chosen)
    plan = summed_up(plan, question.catalog)
    steps.at("what would change the choice", is_counted=False)
    try:
        return subject.explained(question, plan, chosen)
    except KeyboardInterrupt:
        raise Interrupted(made_from(plan, question.catalog)) from None


# --- Serving --------------------------------------------------------------------------


SIMULATED = (
    "latencies under a load are simulated: `planopt verify` holds them against each "
    "other, and does not compute them again"
)
"""What is said besides where latencies are judged."""


class Serving:
    """The subject of `planopt solve`."""

    def read(self, asked: Asked, catalog: Catalog, solver: Solver) -> ServingQuestion:
        """Read a question, and the file of traffic that it names."""
        traffic = read_traffic(asked)
        if traffic is not None:
            traffic.add_to(asked)
        problem = read_market(asked, catalog, Problem)
        if traffic is not None:
            problem = replace(problem, sizes=traffic.sizes)
        return ServingQuestion(
            problem.counted(catalog), problem, solver, asked, is_told=True
        )

    def settled(
        self, question: ServingQuestion, purchase: Purchase
    ) -> tuple[ServingQuestion, Purchase, Build] | None:
        """Lay a purchase out, or a chain of unlike cards where that is cheaper."""
        (like,) = self._of_like_cards([(question, purchase)])
        return or_chain(question, purchase, like and Choice(*like))

    def _of_like_cards(
        self, asked: Sequence[tuple[ServingQuestion, Purchase]]
    ) -> list[Choice | None]:
        """Lay purchases out; where latencies are promised, what is shown to hold.

        That may be two pools.
        """
        judged = [each for each in asked if each[0].problem.percentile is not None]
        if len(judged) < len(asked):
            return [self._bought(*each) for each in asked]
        choices = []
        for (question, _), choice in zip(asked, settled(judged), strict=True):
            better, question.pools = better_of(question, choice)
            if better is not None:
                better.question.pools = question.pools
            choices.append(better)
        return choices

    def _bought(self, question: ServingQuestion, purchase: Purchase) -> Choice | None:
        """Lay a purchase out whose steps are all alike."""
        if question.problem.objective == "latency":
            purchase = question.hastened(purchase)
        if not purchase.counts:
            return None
        return Choice(question, purchase, question.bought(purchase))

    def plan(
        self, question: ServingQuestion, purchase: Purchase, chosen: Build
    ) -> Plan:
        """Put a purchase into a plan, without what needs further questions."""
        if violations := chosen.missed:
            return _none_holds(question, purchase, chosen, violations)
        hourly = question.problem.hourly
        simulations, requests = question.simulated
        empty = question.unanswered(Plan)
        bound = None
        if purchase.bound_micro_usd is not None:
            # An hour of a unit is rounded up to a millionth of a dollar.
            bound = purchase.bound_micro_usd / MICRO_USD
            bound = min(bound, chosen.usd_per_hour) if hourly else bound
        plan = replace(
            empty,
            status="optimal" if purchase.status == "optimal" else "feasible",
            price_usd=chosen.price_usd,
            bound_usd=None if hourly else bound,
            bound_usd_per_hour=bound if hourly else None,
            gap=purchase.gap,
            why=purchase.why,
            bill_of_materials=chosen.bill_of_materials,
            oldest_price_date=oldest_price(chosen.bill_of_materials),
            deployments=chosen.deployments,
            failures=chosen.failures,
            transfer=chosen.transfer,
            pools_bound_usd=question.pools.bound
            if question.problem.objective == "cheapest"
            else None,
            cost=PlanCost.of(_cost(chosen, question.catalog.cost.duty)),
            power_watts=None if chosen.rented else chosen.power_watts,
            kg_co2e_per_year=chosen.kg_co2e_per_year,
            warnings=serving_warnings(question, chosen),
            search=replace(empty.search, simulations=simulations, requests=requests),
            accuracy=_accuracy(question, chosen),
        )
        plan = certified(plan, question)
        return certain(plan, question, lambda kind: served_to(question, chosen, kind))

    def so_far(self, question: ServingQuestion, purchase: Purchase) -> Plan:
        """Put what was best until an interruption into a plan."""
        return self.plan(question, purchase, question.bought(purchase))

    def explained(self, question: ServingQuestion, plan: Plan, chosen: Build) -> Plan:
        """Add what lies beside the answer: other aims, other builds, what flips it."""
        if plan.status == "infeasible":
            return plan
        if any(each.chain for each in chosen.deployments):
            _, answers, others = _beside(question, plan.status, chosen, {})
            return made_from(
                replace(plan, answers=answers, alternatives=others), question.catalog
            )
        reach = REACH * chosen.price_usd
        networks, near = nearby(question, chosen)
        surer = {} if question.is_wide else at_confidences(plan, question)
        judged = [*networks.values(), *surer.values()]
        held = self._held(judged, reach, near.values())
        over = dict(zip(networks, held, strict=False))
        at = zip(surer, held[len(networks) :], strict=True)
        prices = {each: build.price_usd if build else None for each, build in at}
        best, answers, others = _beside(question, plan.status, chosen, near)
        flips = sensitivities(question, chosen, {**best, **over})
        plan = replace(
            plan,
            answers=answers,
            alternatives=others,
            disaggregated=None if chosen.transfer else question.pools.told,
            rent_or_buy=rent_or_buy(question, chosen),
            steps=steps(question, chosen),
            uncertainty=uncertainty(question, chosen, others),
            sensitivity=flips,
            warnings=(*plan.warnings, *flipped(flips)),
        )
        plan = with_scenarios(made_from(plan, question.catalog), question)
        if question.is_wide:
            return plan
        plan = with_recourse(plan, question, lambda one: self._held([one], reach)[0])
        return priced(plan, question, prices)

    def _held(
        self,
        questions: Sequence[ServingQuestion],
        reach: float,
        beside: Iterable[ServingQuestion] = (),
    ) -> list[Build | None]:
        """Find what is held, where that is found in time; first within `reach`.

        What is asked beside is searched for at once.
        """
        for question in questions:
            question.first_cap_usd = reach
        search_together([*questions, *beside])
        choices = self._of_like_cards([(each, each.buy()) for each in questions])
        return [*map(_if_held, choices)]

    def infeasible(self, question: ServingQuestion, purchase: Purchase) -> Plan:
        """Say why there is no plan, and what is nearest to one."""
        why = Infeasibility(note=unproven(purchase))
        if question.looked_up_to is None:
            why = why_no_purchase(question, purchase)
        return replace(
            question.unanswered(Plan),
            infeasibility=why,
            disaggregated=question.pools.told,
            why="time" if purchase.status == "unknown" else None,
        )


def _if_held(choice: Choice | None) -> Build | None:
    """Return what is chosen, where it was found in time and keeps its promises."""
    if choice is None or choice.purchase.why == "time":
        return None
    return None if choice.build.missed else choice.build


def _none_holds(
    question: ServingQuestion,
    purchase: Purchase,
    chosen: Build,
    violations: Mapping[str, float],
) -> Plan:
    """Say that no plan was found that holds, and what the nearest misses."""
    none = "no plan keeps its promises when it is simulated"
    if purchase.why == "time":
        none = "none was shown to keep its promises in time: more of it may find one"
    misses = missing(question.problem.percentile, violations)
    sum_ = price(chosen.price_usd, chosen.bill_of_materials)
    nearest = f"{none}; the nearest, {chosen.summary} for {sum_}: {misses}"
    return replace(
        question.unanswered(Plan),
        infeasibility=Infeasibility(note=nearest),
        disaggregated=question.pools.told,
        why="time" if purchase.why == "time" else None,
        accuracy=_accuracy(question, chosen),
    )


def _cost(chosen: Build, duty: float) -> Cost:
    """Cost of the tokens under the load; of a steady step where none is judged."""
    loads = [(each.evaluation.under_load, each.hardware) for each in chosen.deployments]
    tokens = sum(
        (load.tokens_per_second or 0.0) * (hardware.goodput or 1.0)
        for load, hardware in loads
        if load is not None
    )
    return at_load(chosen.cost, tokens, duty)


def missing(percentile: str | None, violations: Mapping[str, float]) -> str:
    """Say by how much promised latencies are missed, as multiples of them."""
    return " and ".join(
        f"{name} at {percentile} is {times - 1:.0%} longer than promised"
        if times > 1
        else f"{name} is too near its promise at {percentile} to be held for certain"
        for name, times in violations.items()
    )


def _accuracy(question: ServingQuestion, chosen: Build) -> Accuracy:
    """Say within what the figures lie, and which are of a simulation."""
    said = statement(each.evaluation for each in chosen.deployments)
    judged = question.problem.percentile
    return Accuracy(statement=f"{said}; {SIMULATED}" if judged else said)


def _beside(
    question: ServingQuestion,
    status: Status,
    chosen: Build,
    near: Mapping[str, ServingQuestion],
) -> tuple[dict[str, Build | None], Answers, tuple[Alternative, ...]]:
    """Tell what is best nearby, what is by other objectives, and other builds."""
    # The other two are best for a budget: without one, they are told if asked for.
    own, budget = question.problem.objective, question.problem.money
    told = TOLD if budget is not None else ("cheapest",)
    aims = {each: question.aiming(each) for each in told if each != own}
    asked: dict[str, ServingQuestion] = {
        **near,
        **{
            objective: each
            for objective, each in aims.items()
            if question.may_ask_again and not each.found.summary.is_cut_by_time
        },
    }
    bought = {name: each.buy() for name, each in asked.items()}
    counts = ([each.counts] if each.counts else [] for each in bought.values())
    listed = [{each.row: each.count} for each in question.found.offered.builds]
    *laid, builds = laid_out(
        [*zip(asked.values(), counts, strict=True), (question, listed)]
    )
    best = {
        name: next(iter(each), None) for name, each in zip(asked, laid, strict=True)
    }
    for each in filter(None, best.values()):
        check(each.broken)
    answers = {own: Answer(objective=own, status=status, **figures_of(chosen))}
    for objective in aims:
        if (other := best.pop(objective, None)) is not None:
            is_proven = bought[objective].status == "optimal"
            answers[objective] = Answer(
                objective=objective,
                status="optimal" if is_proven else "feasible",
                **figures_of(other),
            )
    return (
        best,
        Answers(
            cheapest=answers.get("cheapest"),
            throughput=answers.get("throughput"),
            cost_per_token=answers.get("cost-per-token"),
        ),
        other_builds(
            question, chosen, [*filter(None, (question.pools.beaten,)), *builds]
        ),
    )


# --- Training -------------------------------------------------------------------------


class Training:
    """The subject of `planopt train`."""

    def read(self, asked: Asked, catalog: Catalog, solver: Solver) -> TrainingQuestion:
        """Read a question."""
        problem = read_market(asked, catalog, TrainingProblem)
        kinds = problem.kinds
        if kinds:
            # Accelerators with numbers are accelerators, and a stock of them.
            asked = asked.edited(Edit({"accelerators": [*kinds], "stock": kinds}))
        counted = problem.counted(catalog)
        return TrainingQuestion(counted, problem, solver, asked, kinds=kinds)

    def settled(
        self, question: TrainingQuestion, purchase: Purchase
    ) -> tuple[TrainingQuestion, Purchase, TrainingBuild] | None:
        """Lay the run out: it keeps its deadline without a simulation."""
        batches = question.problem.batches
        if batches is not None:
            best = question.with_best_of(batches)
            if best is None:
                return None
            question, purchase = best, best.buy()
        if not purchase.counts:
            return None
        return question, purchase, question.bought(purchase)

    def plan(
        self, question: TrainingQuestion, purchase: Purchase, chosen: TrainingBuild
    ) -> TrainingPlan:
        """Put a purchase into a plan, without what needs further questions."""
        bill = chosen.bill_of_materials
        bound = purchase.bound_micro_usd
        plan = replace(
            question.unanswered(TrainingPlan),
            status="optimal" if purchase.status == "optimal" else "feasible",
            price_usd=chosen.price_usd,
            bound_usd=None if bound is None else bound / MICRO_USD,
            gap=purchase.gap,
            why=purchase.why,
            bill_of_materials=bill,
            oldest_price_date=oldest_price(bill),
            deployments=(chosen.deployment,),
            cost=PlanCost.of(chosen.evaluation.cost),
            power_watts=chosen.evaluation.power_watts,
            warnings=run_warnings(question, chosen),
            batches=question.batches,
            accuracy=_accuracy_of_run(question, chosen),
        )
        return certain(plan, question, lambda _: run_to(question, chosen))

    def so_far(self, question: TrainingQuestion, purchase: Purchase) -> TrainingPlan:
        """Put what was best until an interruption into a plan."""
        return self.plan(question, purchase, question.bought(purchase))

    def explained(
        self, question: TrainingQuestion, plan: TrainingPlan, chosen: TrainingBuild
    ) -> TrainingPlan:
        """Add what lies beside the answer: other clusters, what flips it."""
        plan = replace(
            plan,
            alternatives=other_clusters(question, chosen),
            sensitivity=run_sensitivities(question, chosen),
            heterogeneous=heterogeneous(question),
            renting=renting(question, chosen),
        )
        plan = with_scenarios(made_from(plan, question.catalog), question)
        surer = at_confidences(plan, question)
        prices = {at: _price(other) for at, other in surer.items()}
        return priced(plan, question, prices)

    def infeasible(
        self, question: TrainingQuestion, purchase: Purchase
    ) -> TrainingPlan:
        """Say why there is no plan, and what is nearest to one."""
        return replace(
            question.unanswered(TrainingPlan),
            infeasibility=why_no_cluster(question, purchase),
            heterogeneous=heterogeneous(question),
            renting=renting(question, None),
            why="time" if purchase.status == "unknown" else None,
        )


def _price(question: TrainingQuestion) -> float | None:
    best = question.best()
    return None if best is None else best.price_usd


def _accuracy_of_run(question: TrainingQuestion, chosen: TrainingBuild) -> Accuracy:
    """Say how far step times of this hardware and kind of model have been off."""
    accelerator = chosen.deployment.candidate.accelerator
    problem = question.problem
    known = errors(question.catalog, accelerator, problem.model, ["step_time"])
    found = known.get("step_time")
    if found is None:
        return Accuracy(statement="no measurement says how far this may be off")
    of = "other hardware and models" if found.extrapolated else found.of
    return Accuracy(
        statement=(
            f"step times of {of} that no fit had seen were off by "
            f"{found.median_ape:.0%} in the median, {found.mape:.0%} in the mean "
            f"({found.rows} rows)"
            + ("; nothing like this was measured" if found.extrapolated else "")
        ),
        median_error=found.median_ape,
        source="measurements/residuals.toml",
    )
