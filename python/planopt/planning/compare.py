"""The same question for several accelerators, side by side."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, overload

from planopt.catalog.open import DEFAULT_ASSUMPTIONS
from planopt.market import MarketOptions
from planopt.options import OptionReader, flag
from planopt.planning.pipeline import compared
from planopt.planning.serving import Serving
from planopt.planning.training import Training
from planopt.shared_options import TRAINING_MARKS, asks_for_training
from planopt.training.problem import read_training_problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        _refuse_serving(options)
        return compared(Training(), accelerators, assumptions, catalog, options)
    return compared(Serving(), accelerators, assumptions, catalog, options)


def _refuse_serving(options: Mapping[str, Any]) -> None:
    """Refuse options of serving beside those of training."""
    own = inspect.signature(read_training_problem).parameters
    foreign = sorted(set(options) - set(own) - set(MarketOptions.__annotations__))
    mark = min(TRAINING_MARKS.intersection(options), default="tokens")
    reader = OptionReader()
    reader.out_of_place(
        {name: options[name] for name in foreign},
        f"asks about serving, {flag(mark)} about training",
        accepted="the options of `planopt train`",
    )
    reader.finish()
