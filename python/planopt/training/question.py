"""A question about training that can be asked again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from planopt.procurement import Solver, buy
from planopt.procurement.problem import Limits, Objective, Purchase, Unit
from planopt.training.build import TrainingBuild, build_cluster
from planopt.training.search import Clusters, find_clusters

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.training.problem import TrainingProblem


MICRO_USD = 10**6


@dataclass
class TrainingQuestion:
    """A problem with what answers it."""

    catalog: Catalog
    problem: TrainingProblem
    solver: Solver

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

    def build(self, unit: Unit) -> TrainingBuild:
        """Lay the run out on a cluster."""
        return build_cluster(self.catalog, self.problem, self.found.request(unit))

    def bought(self, purchase: Purchase) -> TrainingBuild:
        """Lay the run out on what was bought."""
        (index,) = purchase.counts
        return self.build(self.found.units[index])

    def about(self, **changes: Any) -> TrainingQuestion:
        """Ask the same with other limits."""
        return TrainingQuestion(
            self.catalog, self.problem.with_changes(**changes), self.solver
        )

    def up_to(self, price_usd: float) -> TrainingQuestion:
        """Ask the same of clusters that cost no more."""
        catalog, problem = self.catalog, self.problem
        other = self.about()
        other.found = find_clusters(catalog, problem, price_cap_usd=price_usd)
        return other

    def best(self) -> TrainingBuild | None:
        """Cluster of the best purchase, or none if there is none."""
        purchase = self.buy()
        return self.bought(purchase) if purchase.counts else None
