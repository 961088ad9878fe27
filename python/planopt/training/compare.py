"""The same run on several accelerators, side by side."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from planopt.catalog.open import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.market import MarketOptions
from planopt.options import OptionReader, flag
from planopt.procurement import Solver
from planopt.shared_options import TRAINING_MARKS, check_named
from planopt.training.problem import read_training_problem
from planopt.training.question import TrainingQuestion
from planopt.training.train import answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt.catalog.open import Catalog
    from planopt.documents.plan import TrainingPlan
    from planopt.training.problem import TrainingProblem

__all__ = ["compare_training", "read_question"]


def read_question(catalog: Catalog, options: Mapping[str, Any]) -> TrainingProblem:
    """Read a question of training, refusing options of serving.

    Raises
    ------
    InputError
        With a diagnostic for each option that cannot be used.
    """
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
    return read_training_problem(catalog, **options)


def compare_training(
    *,
    accelerators: str | Sequence[str] | None = None,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
    **options: Any,
) -> list[TrainingPlan]:
    """Answer a question of training for each accelerator alone.

    Parameters
    ----------
    accelerators : str or sequence of str
        Catalog ids.
    assumptions, catalog
        Assumptions by name or file, and overlay folders.
    **options
        As of `planopt.train`.

    Raises
    ------
    InputError
        With a diagnostic for each option that cannot be used.
    """
    with Solver() as solver:
        opened = open_catalog(catalog, assumptions, accelerators)
        typed = {name: str(value) for name, value in options.items()}
        asked = {**options, "accelerators": accelerators, "assumptions": assumptions}
        problem = read_question(opened, {**asked, "typed": typed})
        check_named(problem.accelerators)
        counted = opened.priced(problem.condition, problem.prices)
        return [
            answer(
                TrainingQuestion(
                    counted, problem.with_changes(accelerators=(name,)), solver
                )
            )
            for name in problem.accelerators
        ]
