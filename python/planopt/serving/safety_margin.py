"""What a robust plan counts on: the slow end of the intervals of predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from planopt.accuracy.residuals import errors
from planopt.catalog.open import DEFAULT_ASSUMPTIONS
from planopt.serving.question_types import SafetyMargin

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.serving.question_types import Problem

WHERE_UNKNOWN = 1.25
"""Measured over predicted time where no errors are known, as under assumptions other
than the fitted ones: a fifth off the speed, the error of the best public predictors of
decode speed on hardware that they were not fitted to."""

_TIMES: Final = ("tpot", "ttft")
"""Metrics that were measured as times; others were measured as rates."""


def safety_margin(catalog: Catalog, problem: Problem, accelerator: str) -> SafetyMargin:
    """Tell how much longer things may take on an accelerator.

    Of a token the worse of two: of one user alone, and under a load.
    """
    if catalog.assumptions != DEFAULT_ASSUMPTIONS:
        return SafetyMargin(WHERE_UNKNOWN, WHERE_UNKNOWN)
    known = errors(
        catalog,
        accelerator,
        problem.model,
        ("tpot", "decode", "ttft"),
        any_engine=problem.engine_name is None,
    )

    def longer(metric: str) -> float:
        found = known.get(metric)
        if found is None:
            return WHERE_UNKNOWN
        return max(1.0, found.high if metric in _TIMES else 1 / found.low)

    return SafetyMargin(max(longer("tpot"), longer("decode")), longer("ttft"))


def each_at_worst(catalog: Catalog, problem: Problem) -> list[Problem]:
    """Split a robust question by what may be counted on: one for each margin."""
    if not problem.robust:
        return [problem]
    groups: dict[SafetyMargin, list[str]] = {}
    named = problem.accelerators or [each.id for each in catalog.list("accelerators")]
    for accelerator in named:
        if accelerator not in problem.exclude:
            worst = safety_margin(catalog, problem, accelerator)
            groups.setdefault(worst, []).append(accelerator)
    return [
        replace(
            problem,
            safety_margin=worst,
            accelerators=tuple(group) if problem.accelerators else (),
            exclude=tuple(
                {*problem.exclude, *(name for name in named if name not in group)}
            ),
        )
        for worst, group in groups.items()
    ]


def at_worst(catalog: Catalog, problem: Problem) -> Problem:
    """Put a robust question as if the worst were true of all hardware."""
    each = [one.safety_margin for one in each_at_worst(catalog, problem)]
    return replace(
        problem,
        safety_margin=SafetyMargin(
            max((one.tpot for one in each), default=1.0),
            max((one.ttft for one in each), default=1.0),
        ),
    )
