"""A question that can be asked again: problem, units found, best purchase."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from planopt.bill import MICRO_USD
from planopt.money import price_of_an_hourly_dollar
from planopt.procurement import Solver, buy, scan
from planopt.procurement.problem import Limits, Objective, Purchase, Unit
from planopt.serving.build import Build, build
from planopt.serving.question_types import Problem
from planopt.serving.search import Found, find_units
from planopt.training.build import TrainingBuild, build_cluster
from planopt.training.problem import TrainingProblem
from planopt.training.search import Clusters, find_clusters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from planopt.catalog.open import Catalog

__all__ = ["Question", "ServingQuestion", "TrainingQuestion"]

REACH = 2
"""Units are searched for up to so many times the budget or the best price known."""
FIRST_CAP_USD = 20_000.0
CAP_STEP = 5
MUCH_DEARER = 1.25
"""What another question's answer costs at most for one search to find it."""
LAST_CAP_USD = 1e8
"""Prices of a unit that are tried in turn where there is no budget."""

AskedT = TypeVar("AskedT", Problem, TrainingProblem)
BuildT = TypeVar("BuildT", Build, TrainingBuild)


@dataclass
class Question(ABC, Generic[AskedT, BuildT]):
    """A problem with what answers it: asked again whenever an explanation needs it."""

    catalog: Catalog
    problem: AskedT
    solver: Solver

    @abstractmethod
    def buy(self) -> Purchase:
        """Ask OR-Tools for the best purchase."""

    @abstractmethod
    def bought(self, purchase: Purchase) -> BuildT:
        """Lay a purchase out."""

    def about(self, **changes: Any) -> Self:
        """Ask the same with some of the problem changed."""
        return type(self)(self.catalog, replace(self.problem, **changes), self.solver)

    def best(self) -> BuildT | None:
        """Build of the best purchase, or none if there is none."""
        purchase = self.buy()
        return self.bought(purchase) if purchase.counts else None


@dataclass
class ServingQuestion(Question[Problem, Build]):
    """What to buy to serve a model."""

    first_cap_usd: float = FIRST_CAP_USD
    """Price of a unit up to which is searched first, where nothing bounds it."""

    @cached_property
    def found(self) -> Found:
        """Units that meet the speed, as far as their price can matter.

        No unit of a purchase costs more than the whole purchase. So the search stops
        somewhat beyond the budget, or beyond the price of a purchase that is known: it
        goes on for a while only to show what lies there.
        """
        problem = self.problem
        hourly = problem.acquisition.hourly
        if problem.budget_usd is not None and not hourly:
            return self.find(REACH * problem.budget_usd)
        if problem.objective != "cheapest":
            alone = problem.objective in ("cost-per-token", "latency")
            aim = problem.objective if alone and not problem.limited else None
            return find_units(self.catalog, problem, aim=aim)
        if problem.acquisition.way == "rent":
            return self.find(None)
        cost = self.catalog.native.cost_assumptions()
        reach = price_of_an_hourly_dollar(cost) if hourly else 1.0
        cap = self.first_cap_usd if reach is not None else LAST_CAP_USD
        while cap < LAST_CAP_USD:
            found = self.find(cap)
            if not found.is_cut_by_price:
                return found
            known = scan(found.builds, self.limits, "cheapest")
            if known is not None and known.price_micro_usd is not None and reach:
                enough = REACH * known.price_micro_usd / MICRO_USD * reach
                return found if enough <= cap else self.find(enough)
            cap *= CAP_STEP
        return self.find(None)

    def find(self, price_cap_usd: float | None) -> Found:
        """Search for units up to a price."""
        return find_units(self.catalog, self.problem, price_cap_usd=price_cap_usd)

    @cached_property
    def limits(self) -> Limits:
        """What a purchase must supply and stay within."""
        return self.limits_of(self.problem)

    def limits_of(self, problem: Problem) -> Limits:
        """Limits of a problem, as the purchase takes them."""
        hourly = problem.acquisition.hourly
        budget = problem.budget_usd_per_hour if hourly else problem.budget_usd
        capital = problem.budget_usd if hourly else None
        return Limits(
            users=problem.users,
            tokens_per_second=problem.throughput,
            budget_micro_usd=None if budget is None else round(budget * MICRO_USD),
            power_watts=problem.max_power_watts,
            rack_units=problem.rack_units(self.catalog),
            accelerators=problem.accelerators_in_all,
            stock=problem.stock,
            redundancy=problem.redundancy,
            capital_micro_usd=None if capital is None else round(capital * MICRO_USD),
            hourly=hourly,
        )

    def buy(self) -> Purchase:
        """Ask OR-Tools for the best purchase."""
        goal = self.problem.objective
        limit = self.problem.time_limit_seconds
        return buy(self._payable(goal), self.limits, goal, self.solver, limit)

    def _payable(self, objective: Objective) -> Sequence[Unit]:
        """Units of which not even one costs more than the whole purchase may."""
        most = self.limits.budget_micro_usd
        if objective == "cheapest":
            known = scan(self.found.builds, self.limits, "cheapest")
            most = most if known is None else known.price_micro_usd
        if most is None:
            return self.found.units
        return [unit for unit in self.found.units if unit.price_micro_usd <= most]

    def bought(self, purchase: Purchase) -> Build:
        """Lay a purchase out."""
        return self.build(purchase.counts)

    def build(self, counts: dict[int, int]) -> Build:
        """Lay out so many of each unit."""
        return build(self.catalog, self.problem, self.found, counts)

    @property
    def as_asked(self) -> ServingQuestion:
        """The same question without the care that simulations have taught."""
        return self.about(ttft_margin=1.0, tpot_margin=1.0)

    @cached_property
    def without_target(self) -> ServingQuestion:
        """The same question at any speed."""
        return self.about(target=0.0)

    @cached_property
    def without_ttft(self) -> ServingQuestion:
        """The same question after any wait."""
        return self.about(ttft_seconds=None)

    def beside(self, chosen: Build, **changes: Any) -> ServingQuestion:
        """Ask another question whose answer costs about as much as a known one."""
        other = self.about(**changes)
        if not other.problem.acquisition.hourly:
            about = MUCH_DEARER * chosen.price_usd
            other.first_cap_usd = max(FIRST_CAP_USD, REACH * about)
        return other

    def aiming(self, objective: Objective) -> ServingQuestion:
        """Ask the same for another objective.

        Within a budget the units are the same, save for latency; without one, each
        objective looks as far as it needs to.
        """
        other = self.about(objective=objective)
        both = (objective, self.problem.objective)
        if self.problem.money is not None and "latency" not in both:
            other.found = self.found
        return other


@dataclass
class TrainingQuestion(Question[TrainingProblem, TrainingBuild]):
    """What to buy for a training run."""

    @cached_property
    def found(self) -> Clusters:
        """The best cluster of each accelerator, host and network."""
        return find_clusters(self.catalog, self.problem)

    @property
    def limits(self) -> Limits:
        """What a purchase must stay within; it must carry one run."""
        problem = self.problem
        budget = problem.budget_usd
        return Limits(
            users=1,
            budget_micro_usd=None if budget is None else round(budget * MICRO_USD),
            power_watts=problem.max_power_watts,
            rack_units=problem.rack_units(self.catalog),
            accelerators=problem.max_accelerators,
            stock=problem.stock,
        )

    def buy(self) -> Purchase:
        """Ask OR-Tools for the best cluster: the cheapest, or the fastest."""
        fastest = self.problem.objective == "throughput"
        goal: Objective = "latency" if fastest else "cheapest"
        limit = self.problem.time_limit_seconds
        return buy(self.found.units, self.limits, goal, self.solver, limit)

    def bought(self, purchase: Purchase) -> TrainingBuild:
        """Lay the run out on what was bought."""
        (index,) = purchase.counts
        return self.build(self.found.units[index])

    def build(self, unit: Unit) -> TrainingBuild:
        """Lay the run out on a cluster."""
        return build_cluster(self.catalog, self.problem, self.found.request(unit))

    def up_to(self, price_usd: float) -> TrainingQuestion:
        """Ask the same of clusters that cost no more."""
        other = self.about()
        other.found = find_clusters(self.catalog, self.problem, price_cap_usd=price_usd)
        return other
