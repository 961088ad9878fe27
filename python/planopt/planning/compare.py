"""The same question for several accelerators, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, overload

from planopt.documents.base import Drawn
from planopt.market import must_name_accelerators
from planopt.options import Asked, flag, taken_by
from planopt.planning.pipeline import compared
from planopt.planning.serving import Serving
from planopt.planning.training import Training

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from typing_extensions import Unpack

    from planopt.documents.plan import Plan, TrainingPlan
    from planopt.option_types import CompareOptions, CompareTrainingOptions
    from planopt.steps import Step

PlanT = TypeVar("PlanT", "Plan", "TrainingPlan")


class Comparison(list[PlanT], Drawn, Generic[PlanT]):
    """Plans of the same question, one for each accelerator, in the order given."""

    __slots__ = ()


@overload
def compare(
    *,
    on_progress: Callable[[Step], object] | None = None,
    **options: Unpack[CompareTrainingOptions],
) -> Comparison[TrainingPlan]: ...


@overload
def compare(
    *,
    on_progress: Callable[[Step], object] | None = None,
    **options: Unpack[CompareOptions],
) -> Comparison[Plan]: ...


def compare(
    *, on_progress: Callable[[Step], object] | None = None, **options: object
) -> Comparison[Plan] | Comparison[TrainingPlan]:
    """Answer a question for each accelerator alone.

    Parameters
    ----------
    on_progress : callable, optional
        Told what is being done, and how far it is.
    **options
        As of `planopt.solve`; with ``tokens``, as of `planopt.train`.

    Returns
    -------
    Comparison
        A list of `Plan` or of `TrainingPlan`: one for each accelerator, in the order
        given; those that cannot do it are ``infeasible``.

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
    asked = Asked("compare", options)
    must_name_accelerators(asked)
    asked.typed.pop("accelerators", None)  # each plan is about one of them
    if _marks(options):
        return Comparison(compared(Training(), _of_training(asked), on_progress))
    asked.finish()
    serving = Asked.by_user("compare", asked.given)
    serving.typed = asked.typed
    return Comparison(compared(Serving(), serving, on_progress))


def _marks(options: Iterable[str]) -> set[str]:
    """Return the options that only a question of training has."""
    return set(options) & (taken_by("train").keys() - taken_by("solve").keys())


def _of_training(asked: Asked) -> Asked:
    """Return a question of training, refusing options of serving."""
    own = taken_by("train")
    asked.out_of_place(
        sorted(asked.given.keys() - own.keys()),
        f"asks about serving, {flag(min(_marks(asked.given)))} about training",
        accepted="the options of `planopt train`",
    )
    asked.finish()
    training = Asked.by_user("train", asked.given)
    training.typed = asked.typed
    return training
