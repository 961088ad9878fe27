"""What to buy for a training run: searched by the core, bought by OR-Tools."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from planopt.accuracy.residuals import model_classes, residual
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.documents.parts import Accuracy, Search
from planopt.documents.plan import Interrupted, TrainingPlan
from planopt.price_sources import oldest_price
from planopt.procurement import Solver
from planopt.procurement.purchase import PurchaseInterrupted
from planopt.training.problem import read_training_problem
from planopt.training.question import MICRO_USD, TrainingQuestion
from planopt.training.renting import renting
from planopt.training.together import together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.procurement.problem import Purchase
    from planopt.training.build import TrainingBuild


__all__ = ["answer", "train"]

SECONDS_PER_DAY = 86_400


def train(
    *,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
    **options: Any,
) -> TrainingPlan:
    """Find the cheapest cluster that trains a model in time, or the fastest for a sum.

    Parameters
    ----------
    assumptions : str
        Name, or path of a TOML file.
    catalog : sequence of str
        Folders laid over the bundled catalog.
    **options
        As of ``planopt train``, with underscores: text with units (``"2T"``) or numbers
        in SI units.

    Returns
    -------
    TrainingPlan
        Also where there is none: then its status is ``infeasible``, with why and the
        nearest changes.

    Raises
    ------
    InputError
        With a diagnostic for each option or file that cannot be used.
    Interrupted
        On Ctrl-C, with the best plan so far.

    Examples
    --------
    >>> import planopt
    >>> plan = planopt.train(tokens="2T", deadline="30d", accelerators="a100-sxm-80")
    >>> plan.status
    'optimal'
    """
    with Solver() as solver:
        opened = open_catalog(catalog, assumptions, options.get("accelerators"))
        typed = {name: str(value) for name, value in options.items()}
        problem = read_training_problem(
            opened, assumptions=assumptions, typed=typed, **options
        )
        counted = opened.priced(problem.condition, problem.prices)
        return answer(TrainingQuestion(counted, problem, solver))


def answer(question: TrainingQuestion) -> TrainingPlan:
    """Answer a question with a plan."""
    started = time.monotonic()
    try:
        purchase = question.buy()
    except PurchaseInterrupted as stop:
        best = stop.purchase
        raise Interrupted(
            _plan(question, best, question.bought(best), started)
            if best.counts
            else None
        ) from None
    if not purchase.counts:
        from planopt.training.nearest import infeasible_plan

        return infeasible_plan(question, started)
    chosen = question.bought(purchase)
    plan = _plan(question, purchase, chosen, started)
    try:
        return _explained(question, plan, chosen, started)
    except KeyboardInterrupt:
        raise Interrupted(plan) from None


def _plan(
    question: TrainingQuestion,
    purchase: Purchase,
    chosen: TrainingBuild,
    started: float,
) -> TrainingPlan:
    """Put a purchase into a plan, without what needs further questions."""
    from planopt.training.beside import warnings_of

    bill = chosen.bill_of_materials
    bound = purchase.bound_micro_usd
    problem = question.problem
    return TrainingPlan(
        status="optimal" if purchase.status == "optimal" else "feasible",
        objective=problem.objective,
        price_usd=chosen.price_usd,
        bound_usd=None if bound is None else bound / MICRO_USD,
        gap=purchase.gap,
        request=problem.request(),
        bill_of_materials=bill,
        oldest_price_date=oldest_price(bill),
        deployments=(chosen.deployment,),
        cost=chosen.evaluation.cost,
        power_watts=chosen.evaluation.power_watts,
        warnings=warnings_of(question, chosen),
        search=_timed(question, started),
        assumed=problem.assumed,
        assumptions=problem.assumptions,
        accuracy=_accuracy(question, chosen),
    )


def _accuracy(question: TrainingQuestion, chosen: TrainingBuild) -> Accuracy:
    """Say how far step times of this hardware and kind of model have been off."""
    accelerator = chosen.deployment.candidate.accelerator
    problem = question.problem
    classes = model_classes(question.catalog, accelerator, problem.model)
    found = residual("step_time", classes)
    if found is None:
        return Accuracy(statement="no measurement says how far this may be off")
    errors, extrapolated = found
    of = "other hardware and models" if extrapolated else errors.of
    return Accuracy(
        statement=(
            f"step times of {of} that no fit had seen were off by "
            f"{errors.median_ape:.0%} in the median, {errors.mape:.0%} in the mean "
            f"({errors.rows} rows)"
            + ("; nothing like this was measured" if extrapolated else "")
        ),
        median_error=errors.median_ape,
        source="measurements/residuals.toml",
    )


def _timed(question: TrainingQuestion, started: float) -> Search:
    return replace(question.found.search, seconds=time.monotonic() - started)


def _explained(
    question: TrainingQuestion,
    plan: TrainingPlan,
    chosen: TrainingBuild,
    started: float,
) -> TrainingPlan:
    """Add what lies beside the answer: other clusters, what flips it."""
    from planopt.training.beside import alternatives_of, sensitivities

    return replace(
        plan,
        alternatives=alternatives_of(question, chosen),
        sensitivity=sensitivities(question, chosen),
        together=together(question),
        renting=renting(question.catalog, question.problem, chosen),
        search=_timed(question, started),
    )
