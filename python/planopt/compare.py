"""The same question for several accelerators, side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planopt.catalog import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.errors import InputError
from planopt.problem import read_problem
from planopt.procurement import Solver
from planopt.solve import Question, answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.plan import Plan

__all__ = ["compare"]


def compare(
    *,
    accelerators: str | Sequence[str] | None = None,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
    **options: Any,
) -> list[Plan]:
    """Answer a question for each accelerator alone.

    Parameters
    ----------
    accelerators : str or sequence of str
        Catalog ids.
    assumptions, catalog
        Assumptions by name or file, and overlay folders.
    **options
        As of `planopt.solve`.

    Returns
    -------
    list of Plan
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
    with Solver() as solver:
        opened = open_catalog(catalog, assumptions)
        typed = {name: str(value) for name, value in options.items()}
        problem = read_problem(
            opened,
            accelerators=accelerators,
            assumptions=assumptions,
            typed=typed,
            **options,
        )
        if not problem.accelerators:
            raise InputError.of(
                "E005",
                "which accelerators?",
                field="--accelerators",
                accepted="ids between commas, such as rtx-4090,a100-sxm-80,h100-sxm",
            )
        return [
            answer(Question(opened, replace(problem, accelerators=(name,)), solver))
            for name in problem.accelerators
        ]
