"""The same question for several accelerators, side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from planopt.catalog.open import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.procurement import Solver
from planopt.serving.problem import read_problem
from planopt.serving.question import Question
from planopt.serving.solve import answer
from planopt.shared_options import asks_for_training, check_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.documents.plan import Plan, TrainingPlan
    from planopt.options import TextOrNumber

__all__ = ["compare"]


@overload
def compare(
    *,
    tokens: TextOrNumber,
    accelerators: str | Sequence[str] | None = None,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
    **options: Any,
) -> list[TrainingPlan]: ...


@overload
def compare(
    *,
    accelerators: str | Sequence[str] | None = None,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
    **options: Any,
) -> list[Plan]: ...


def compare(
    *,
    accelerators: str | Sequence[str] | None = None,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
    **options: Any,
) -> list[Plan] | list[TrainingPlan]:
    """Answer a question for each accelerator alone.

    Parameters
    ----------
    accelerators : str or sequence of str
        Catalog ids.
    assumptions, catalog
        Assumptions by name or file, and overlay folders.
    **options
        As of `planopt.solve`; with ``tokens``, as of `planopt.train`.

    Returns
    -------
    list of Plan or of TrainingPlan
        One for each accelerator, in the order given; those that cannot do it are
        ``infeasible``.

    Raises
    ------
    InputError
        With a diagnostic for each option that cannot be used.

    Examples
    --------
    >>> import planopt
    >>> plans = planopt.compare(accelerators=["rtx-4090", "h100-sxm"], target="5tok/s")
    >>> [plan.status for plan in plans]
    ['optimal', 'optimal']
    """
    if asks_for_training(options):
        from planopt.training.compare import compare_training

        return compare_training(
            accelerators=accelerators,
            assumptions=assumptions,
            catalog=catalog,
            **options,
        )
    with Solver() as solver:
        opened = open_catalog(catalog, assumptions, accelerators)
        typed = {name: str(value) for name, value in options.items()}
        problem = read_problem(
            opened,
            accelerators=accelerators,
            assumptions=assumptions,
            typed=typed,
            **options,
        )
        check_named(problem.accelerators)
        counted = problem.counted(opened)
        return [
            answer(Question(counted, replace(problem, accelerators=(name,)), solver))
            for name in problem.accelerators
        ]
