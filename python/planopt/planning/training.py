"""What only training has: how its question is read, and the sections of its plan."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from planopt.accuracy.statistics import errors
from planopt.documents.parts import Accuracy, BillOfMaterials, PlanCost, Search
from planopt.documents.plan import TrainingPlan
from planopt.market import read_market
from planopt.options import Asked, Edit
from planopt.planning.alternatives import other_clusters
from planopt.planning.certainty import certain, priced, run_to
from planopt.planning.heterogeneous import heterogeneous
from planopt.planning.nearest import why_no_cluster
from planopt.planning.question import TrainingQuestion
from planopt.planning.rent_or_buy import renting
from planopt.planning.scenarios import with_scenarios
from planopt.planning.sensitivity import run_sensitivities
from planopt.planning.warnings import run_warnings
from planopt.price_sources import oldest_price
from planopt.summary import made_from
from planopt.training.problem import TrainingProblem
from planopt.units import MICRO_USD

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.procurement.problem import Purchase
    from planopt.procurement.solver import Solver
    from planopt.training.build import TrainingBuild


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
        self,
        question: TrainingQuestion,
        purchase: Purchase,
        chosen: TrainingBuild,
        started: float,
    ) -> TrainingPlan:
        """Put a purchase into a plan, without what needs further questions."""
        bill = chosen.bill_of_materials
        bound = purchase.bound_micro_usd
        problem = question.problem
        plan = TrainingPlan(
            status="optimal" if purchase.status == "optimal" else "feasible",
            objective=problem.objective,
            price_usd=chosen.price_usd,
            bound_usd=None if bound is None else bound / MICRO_USD,
            gap=purchase.gap,
            why=purchase.why,
            request=problem.request(),
            bill_of_materials=BillOfMaterials(bill),
            oldest_price_date=oldest_price(bill),
            deployments=(chosen.deployment,),
            cost=PlanCost.of(chosen.evaluation.cost),
            power_watts=chosen.evaluation.power_watts,
            warnings=run_warnings(question, chosen),
            batches=question.batches,
            search=_timed(question, started),
            assumed=problem.assumed,
            assumptions=problem.assumptions,
            accuracy=_accuracy(question, chosen),
        )
        return certain(plan, question, lambda _: run_to(question, chosen))

    def so_far(
        self, question: TrainingQuestion, purchase: Purchase, started: float
    ) -> TrainingPlan:
        """Put what was best until an interruption into a plan."""
        return self.plan(question, purchase, question.bought(purchase), started)

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
        return priced(plan, question, _price)

    def infeasible(
        self, question: TrainingQuestion, purchase: Purchase, started: float
    ) -> TrainingPlan:
        """Say why there is no plan, and what is nearest to one."""
        problem = question.problem
        return TrainingPlan(
            status="infeasible",
            objective=problem.objective,
            request=problem.request(),
            infeasibility=why_no_cluster(question, purchase, question.until),
            heterogeneous=heterogeneous(question),
            renting=renting(question, None),
            search=_timed(question, started),
            assumed=problem.assumed,
            assumptions=problem.assumptions,
            accuracy=Accuracy(statement="no plan: nothing was predicted"),
        )


def _price(question: TrainingQuestion) -> float | None:
    best = question.best()
    return None if best is None else best.price_usd


def _accuracy(question: TrainingQuestion, chosen: TrainingBuild) -> Accuracy:
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


def _timed(question: TrainingQuestion, started: float) -> Search:
    return replace(question.found.search, seconds=time.monotonic() - started)
