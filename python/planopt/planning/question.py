"""A question that can be asked again: problem, units found, best purchase."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from msgspec import structs

from planopt.catalog.open import Catalog
from planopt.documents.certificate import Proven
from planopt.documents.parts import Accuracy
from planopt.documents.plan import Plan, TrainingPlan
from planopt.documents.training import Batches
from planopt.market import read_market, read_markets
from planopt.money import price_of_an_hourly_dollar
from planopt.options import Asked, Edit
from planopt.procurement.problem import (
    Counts,
    Found,
    Limits,
    Objective,
    Purchase,
    Wanted,
    check,
    micro_usd,
)
from planopt.procurement.purchase import buy
from planopt.procurement.solver import Solver
from planopt.serving.build import NO_POOLS, Build, TwoPools, lay_out_together
from planopt.serving.question_types import Problem
from planopt.serving.search import Aim, UnitsSought, find_together
from planopt.training.build import TrainingBuild, lay_clusters_out
from planopt.training.problem import TrainingProblem, find_clusters
from planopt.units import HOURS_PER_YEAR, MICRO_USD

if TYPE_CHECKING:
    from typing_extensions import Self

REACH = 2
"""Units are searched for up to so many times the budget or the best price known."""
FIRST_CAP_USD = 20_000.0
CAP_STEP = 5
MUCH_DEARER = 1.25
"""What another question's answer costs at most for one search to find it."""
LAST_CAP_USD = 1e8
"""Prices of a unit that are tried in turn where none is said to be the most."""
SEARCHED = 0.5  # Share of the time that is left, after which what was found must do
RUN_SEARCHED = 0.8
"""The same of a run: what is bought is not judged by another search."""
LEAST_SECONDS = 0.1
"""What OR-Tools takes to say anything of what was found at the last moment."""
LONGEST_WAIT = "24h"
"""Beyond what anybody waits for a turn of a session, which has to end."""
LEAST_GAIN = 1e-6  # Share by which a speed is higher than another one, at least
WIDE = 20_000
"""Candidates of a question under a load beyond which none near it is asked: each takes
as long again, some 80 microseconds a candidate."""
EVERY = 2**32
"""More builds than there are."""
TOLD: tuple[Objective, ...] = ("cheapest", "throughput", "cost-per-token")
"""Objectives whose best purchase a plan tells."""

PlanT = TypeVar("PlanT", "Plan", "TrainingPlan")
AskedT = TypeVar("AskedT", Problem, TrainingProblem)
BuildT = TypeVar("BuildT", Build, TrainingBuild)


@dataclass
class Question(ABC, Generic[AskedT, BuildT]):
    """A problem with what answers it: asked again whenever an explanation needs it."""

    catalog: Catalog
    problem: AskedT
    solver: Solver
    asked: Asked  # What the problem was read from

    started: float = field(default_factory=time.monotonic)
    """When its answer was begun, by the clock of this process."""
    took: float = 0.0  # Seconds that its answer took
    had_time: bool = True
    """Whether there was the time to ask it with changes, once it was answered."""
    _found: Found | None = field(default=None, init=False)

    @property
    def found(self) -> Found:
        """What can be bought."""
        if self._found is None:
            self._found = self.search()
        return self._found

    @abstractmethod
    def search(self) -> Found:
        """Search for what can be bought."""

    @property
    @abstractmethod
    def limits(self) -> Limits:
        """What a purchase must supply and stay within."""

    @property
    @abstractmethod
    def wanted(self) -> Wanted:
        """What is best of the rows, by what else a plan is told, and what beside."""

    @abstractmethod
    def bought(self, purchase: Purchase) -> BuildT:
        """Lay a purchase out, and refuse what breaks a limit."""

    def unanswered(self, of: type[PlanT]) -> PlanT:
        """Say what was asked and looked at, before there is a plan."""
        problem, seconds = self.problem, time.monotonic() - self.started
        return of(
            status="infeasible",
            objective=problem.objective,
            request=problem.request(),
            search=structs.replace(self.found.search, seconds=seconds),
            assumed=problem.assumed,
            assumptions=problem.assumptions,
            accuracy=Accuracy(statement="no plan: nothing was predicted"),
        )

    @property
    def may_ask_again(self) -> bool:
        """Whether a question that takes as long as this one did ends in its time."""
        return time.monotonic() + self.took <= self.ends

    @property
    def ends(self) -> float:
        """When its answer is due, by the clock of this process."""
        return self.started + self.problem.time_limit_seconds

    @property
    def seconds_left(self) -> float:
        """What there is of its time."""
        return max(0.0, self.ends - time.monotonic())

    def buy(self) -> Purchase:
        """Ask OR-Tools for the best purchase."""
        offer = self.found.offered.offers[self.wanted.objectives[0]]
        return buy(offer, self.solver, max(LEAST_SECONDS, self.seconds_left))

    def about(self, **changes: object) -> Self:
        """Ask the same with something changed that is no option."""
        problem = structs.replace(self.problem, **changes)
        return type(self)(
            self.catalog, problem, self.solver, self.asked, started=self.started
        )

    def edited(self, edit: Edit) -> Self:
        """Ask the same in other words of the command line, by the same clock."""
        (other,) = self.edited_each([edit])
        return other

    def edited_each(self, edits: Iterable[Edit]) -> list[Self]:
        """Ask the same in several other words, which are read at once."""
        asked = [*map(self.asked.edited, edits)]
        read = read_markets(self.asked, self.catalog, type(self.problem), asked)
        return [self._in_words(*each) for each in zip(asked, read, strict=True)]

    def _in_words(self, asked: Asked, read: AskedT) -> Self:
        problem = read.judged_as(self.problem)
        catalog = self.catalog
        if not problem.counts_as(self.problem):
            catalog = problem.counted(catalog)
        return type(self)(catalog, problem, self.solver, asked, started=self.started)

    def alone(self, accelerator: str) -> Self:
        """Ask the same of one accelerator, for a plan of its own."""
        return self.instead(Edit({"accelerators": accelerator}))

    def instead(self, edit: Edit) -> Self:
        """Ask in other words for a plan of its own, in the same time."""
        asked = self.asked.edited(edit)
        problem = read_market(asked, self.catalog, type(self.problem))
        return replace(self, problem=problem, asked=asked)

    def best(self) -> BuildT | None:
        """Build of the best purchase, or none if there is none."""
        purchase = self.buy()
        return self.bought(purchase) if purchase.counts else None


@dataclass
class ServingQuestion(Question[Problem, Build]):
    """What to buy to serve a model."""

    first_cap_usd: float = FIRST_CAP_USD
    """Price of a unit up to which is searched first, where nothing bounds it."""
    is_told: bool = False  # Whether its plan is told, with what lies beside it
    simulated: tuple[int, int] = (0, 0)  # Simulations of its proof, and their requests
    proven: Proven | None = None  # What that proof rests on
    pools: TwoPools = NO_POOLS  # The best two pools for it, once it is settled
    asked_chains: bool = False
    """Whether no chain of unlike cards of the stock is cheaper: each was asked."""
    looked_up_to: float | None = None
    """Money beyond which there was no time to look for units; 0 where none is known."""

    def search(self) -> Found:
        """Find units that meet the speed, as far as their price can matter.

        No unit of a purchase costs more than the whole purchase. So the search stops
        at the budget, or at the price of a purchase that is known; of a plan that is
        told, somewhat beyond, only to show what lies there.
        """
        return self._far_enough(self.find(self.first_aim))

    def buy(self) -> Purchase:
        """Ask OR-Tools for the best purchase of what there was the time to find."""
        purchase = super().buy()
        if self.looked_up_to is None:
            return purchase
        # What was not looked at is dearer, where so much is known.
        least = round(self.looked_up_to * MICRO_USD) or None
        bound = purchase.bound_micro_usd
        if bound is None or least is None or self.problem.objective != "cheapest":
            return purchase.cut()
        if least >= bound:
            return purchase
        price = purchase.price_micro_usd or least
        gap = (price - least) / price
        return replace(purchase.cut(), bound_micro_usd=least, gap=gap)

    def hastened(self, purchase: Purchase) -> Purchase:
        """Ask for more speed than is known until no purchase has it.

        At a speed each layout takes all users that it serves so fast: shares are free.
        """
        faster, asked = purchase, self
        while faster.counts:
            purchase = faster
            self._found = asked.found
            speed = self.bought(purchase).tokens_per_second_per_user
            asked = self.about(target_tokens_per_second=speed * (1 + LEAST_GAIN))
            faster = asked.buy()
        if not purchase.counts or faster.status == "infeasible":
            return purchase
        return replace(purchase, status="feasible", why="time", gap=None)

    @property
    def first_aim(self) -> Aim:
        """How far is searched first."""
        problem = self.problem
        if self._goes_in_steps:
            return self.up_to(self.first_cap_usd / self._reach)
        if problem.money is not None:
            return self.up_to(REACH * problem.money)
        alone = problem.objective in ("cost-per-token", "latency")
        return Aim(aim=problem.objective if alone and not problem.limited else None)

    @property
    def _goes_in_steps(self) -> bool:
        """Whether what is cheapest lies far below all that may be spent."""
        problem = self.problem
        if problem.objective != "cheapest":
            return False
        if problem.money is None:
            return True
        return REACH * problem.money * self._reach > CAP_STEP * FIRST_CAP_USD

    @property
    def _shares_units(self) -> bool:
        """Whether the best purchases by other objectives are of the same units."""
        problem = self.problem
        has_all = problem.money is not None and not self._goes_in_steps
        return self.is_told and has_all and problem.objective != "latency"

    def up_to(self, money: float) -> Aim:
        """Search for what is not dearer alone than so much of the money asked about."""
        sought = self._sought
        if money * self._reach >= LAST_CAP_USD:
            return Aim(aim=sought)
        price = money * self._reach
        if not self.problem.hourly:
            return Aim(price_cap_usd=price, aim=sought)
        is_lost = price_of_an_hourly_dollar(self.catalog.cost) is not None
        # What is rented for a share of the time is paid for no less than that.
        rent = money / self.catalog.cost.paid_on_demand
        most = price if is_lost else None
        return Aim(price_cap_usd=most, rent_cap_usd_per_hour=rent, aim=sought)

    @property
    def _sought(self) -> str | None:
        """What is sought alone of a load, where the closed form proves nothing."""
        problem = self.problem
        if problem.percentile is None or problem.objective != "cheapest":
            return None
        if self._shares_units or problem.counted_out:
            return None
        if not problem.hourly:
            return "price"
        return None if problem.budget_usd is not None else "hour"

    @property
    def _reach(self) -> float:
        """Purchase money that a dollar of the money asked about stands for."""
        if not self.problem.hourly:
            return 1.0
        return price_of_an_hourly_dollar(self.catalog.cost) or HOURS_PER_YEAR

    def _far_enough(self, found: Found) -> Found:
        """Search further while what is cheapest may lie beyond the price so far."""
        if found.summary.is_cut_by_time:
            self.looked_up_to = 0.0
        if found.summary.is_cut_by_time or not self._goes_in_steps:
            return found
        cap = self.first_cap_usd / self._reach
        most = REACH * (self.problem.money or math.inf)
        while found.summary.is_cut_by_price and cap < most:
            known = found.offered.least_micro_usd
            enough = math.inf
            if known is not None:
                enough = (REACH if self.is_told else 1.0) * known / MICRO_USD
            if enough <= cap:
                break
            # What is far dearer than the dearest unit so far is soon known for less.
            further = min(enough, cap * CAP_STEP, most)
            beyond = self.find(self.up_to(further)) if self.seconds_left else None
            if beyond is None or beyond.summary.is_cut_by_time:
                self.looked_up_to = cap
                break
            cap, found = further, beyond
        return found

    def find(self, aim: Aim) -> Found:
        """Search for units."""
        (found,) = find_together(self.catalog, [self.sought(aim)])
        return found

    def sought(self, aim: Aim) -> UnitsSought:
        """Say what is searched for, which leaves the time to choose between it."""
        left = SEARCHED * self.seconds_left
        return UnitsSought(self.problem, aim, left, self.wanted)

    @cached_property
    def limits(self) -> Limits:
        """What a purchase must supply and stay within."""
        return self.limits_of(self.problem)

    def limits_of(self, problem: Problem) -> Limits:
        """Limits of a problem, as the purchase takes them."""
        hourly = problem.hourly
        budget = problem.budget_usd_per_hour if hourly else problem.budget_usd
        capital = problem.budget_usd if hourly else None
        return Limits(
            users=problem.concurrency,
            tokens_per_second=problem.throughput,
            budget_micro_usd=micro_usd(budget),
            power_watts=problem.max_power_watts,
            rack_units=problem.rack_units(self.catalog),
            accelerators=problem.max_accelerators,
            stock=problem.stock,
            owned=problem.own,
            redundancy=problem.redundancy,
            capital_micro_usd=micro_usd(capital),
        )

    @property
    def wanted(self) -> Wanted:
        """What is best, by what else a plan is told of the same units, and builds.

        Twice as many of these as are told: some are the same purchase.
        """
        own, others = self.problem.objective, TOLD if self._shares_units else ()
        objectives = own, *(each for each in others if each != own)
        builds = 2 * self.problem.top if self.is_told else 0
        return Wanted(self.limits, objectives, builds)

    def bought(self, purchase: Purchase) -> Build:
        """Lay a purchase out."""
        ((chosen,),) = laid_out([(self, [purchase.counts])])
        check(chosen.broken)
        return chosen

    @cached_property
    def without_target(self) -> ServingQuestion:
        """The same question at any speed."""
        return self.edited(Edit({"target": ""}))

    @cached_property
    def without_ttft(self) -> ServingQuestion:
        """The same question after any wait."""
        return self.edited(Edit(self.after_any_wait))

    @property
    def after_any_wait(self) -> dict[str, object]:
        """What leaves out the time to the first token, and nothing else."""
        wait = "" if self.problem.session_load is None else LONGEST_WAIT
        return {"ttft": wait, "percentile": self.problem.percentile or ""}

    @property
    def is_wide(self) -> bool:
        """Whether asking nearly the same again takes seconds, or there is no time."""
        judged = self.problem.percentile is not None
        candidates = self.found.search.candidates_evaluated
        return not self.had_time or (judged and candidates > WIDE)

    def near(self, chosen: Build) -> ServingQuestion:
        """Look first up to about the price of a known answer to another question."""
        if not self.problem.hourly:
            self.first_cap_usd = MUCH_DEARER * chosen.price_usd
        return self

    def aiming(self, objective: Objective) -> ServingQuestion:
        """Ask the same for another objective.

        Within a budget the units are the same, save for latency; without one, each
        objective looks as far as it needs to.
        """
        other = self.about(objective=objective)
        if self._shares_units and objective != "latency":
            other._found = self.found
        return other


def search_together(questions: Sequence[ServingQuestion]) -> None:
    """Search for what can be bought of questions about one catalog, at once."""
    new = [each for each in questions if each._found is None]
    if new:
        asked = [each.sought(each.first_aim) for each in new]
        together = find_together(new[0].catalog, asked)
        for each, found in zip(new, together, strict=True):
            each._found = each._far_enough(found)


def laid_out(
    purchases: Sequence[tuple[ServingQuestion, Sequence[Counts]]],
) -> list[tuple[Build, ...]]:
    """Lay purchases of questions about one catalog out, at once."""
    return lay_out_together(
        [(each.found, each.problem, each.limits, counts) for each, counts in purchases]
    )


@dataclass
class TrainingQuestion(Question[TrainingProblem, TrainingBuild]):
    """What to buy for a training run."""

    kinds: dict[str, int] = field(default_factory=dict)
    """Accelerators that there are, by id, where each is given with its number: they may
    share a run."""
    batches: Batches | None = None
    """The range that its batch is the best of, with what was found for each."""
    tried_all: bool = True  # Whether there was the time for each of them
    most_usd: float | None = None  # Price of a cluster that is looked for, at most

    def search(self) -> Found:
        """Find the best cluster of each accelerator, host and network."""
        return find_clusters(
            self.catalog,
            self.problem,
            RUN_SEARCHED * self.seconds_left,
            wanted=self.wanted,
            price_cap_usd=self.most_usd,
        )

    @cached_property
    def limits(self) -> Limits:
        """What a purchase must stay within; it must carry one run.

        Accelerators are counted by the search: spare hosts come beside them.
        """
        problem = self.problem
        budget = problem.budget_usd
        return Limits(
            users=1,
            budget_micro_usd=micro_usd(budget),
            power_watts=problem.max_power_watts,
            rack_units=problem.rack_units(self.catalog),
            stock=problem.stock,
            owned=problem.own,
        )

    def buy(self) -> Purchase:
        """Ask for the best purchase; what was not tried may be better."""
        purchase = super().buy()
        if self.tried_all and not self.found.summary.is_cut_by_time:
            return purchase
        return purchase.cut()

    @property
    def wanted(self) -> Wanted:
        """The cheapest cluster, or the fastest; the best of each accelerator beside."""
        fastest = self.problem.objective == "throughput"
        return Wanted(self.limits, ["latency" if fastest else "cheapest"], EVERY)

    def bought(self, purchase: Purchase) -> TrainingBuild:
        """Lay the run out on what was bought."""
        (chosen,) = self.builds(purchase.counts)
        check(chosen.broken)
        return chosen

    def best(self) -> TrainingBuild | None:
        """Build of the best purchase, with the best batch of a range."""
        batches = self.problem.batches
        if batches is None:
            return super().best()
        best = self.with_best_of(batches)
        return best.bought(best.buy()) if best else None

    def with_best_of(self, batches: Batches) -> TrainingQuestion | None:
        """Ask the same with the best batch of a range, and the tokens that it needs.

        Of the cheapest, what is far dearer than one that is known is not looked for.
        """
        best: TrainingQuestion | None = None
        least = (math.inf, math.inf)
        tried = []
        for each in batches.tried:
            if best is not None and not self.seconds_left:
                best.tried_all = False
                break
            asked = {"global_batch": each.global_batch, "tokens": each.tokens}
            question = self.instead(Edit(asked))
            if each.global_batch == self.problem.global_batch:
                question._found = self._found
            is_bounded = best is not None and self.problem.objective == "cheapest"
            build = (
                question.up_to(REACH * least[0]) if is_bounded else question
            ).best()
            if build is None:
                tried.append(each)
                continue
            price, days = build.price_usd, build.days
            tried.append(structs.replace(each, price_usd=price, days=days))
            is_fastest = self.problem.objective == "throughput"
            value = (days, price) if is_fastest else (price, days)
            if value < least:
                best, least = question, value
        self.batches = structs.replace(batches, tried=tuple(tried))
        if best is not None:
            best.batches = self.batches
        return best

    def builds(self, rows: Iterable[int]) -> tuple[TrainingBuild, ...]:
        """Lay the run out on each of some clusters."""
        return lay_clusters_out(self.found, self.limits, rows)

    def up_to(self, price_usd: float) -> TrainingQuestion:
        """Ask the same of clusters that cost no more."""
        other = self.about()
        other.most_usd = price_usd
        return other


AnyQuestion: TypeAlias = ServingQuestion | TrainingQuestion
AnyBuild: TypeAlias = Build | TrainingBuild
