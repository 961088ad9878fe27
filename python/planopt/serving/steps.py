"""What one step of each limit is worth: asked again with the limit a step wider."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planopt.documents.explanations import Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.serving.build import Build
    from planopt.serving.question import Question
    from planopt.serving.question_types import Problem

__all__ = ["steps"]

SHARE = 0.1
"""A step of what is measured: money, power, speed. Of what is counted it is one."""


def steps(question: Question, chosen: Build) -> tuple[Step, ...]:
    """Ask again with each limit a step wider, where that was asked for.

    A limit is binding if a step of it changes what is best; what the step is worth is
    the difference, exactly.

    Parameters
    ----------
    question : Question
        What was asked.
    chosen : Build
        Its answer.
    """
    if not question.problem.steps:
        return ()
    return tuple(
        _worth(question, chosen, name, said, wider)
        for name, said, wider in _wider(question.problem)
    )


def _wider(problem: Problem) -> Iterator[tuple[str, str, Problem]]:
    """List each limit that is set, a step of it, and the question with the step."""
    measured = {
        "budget_usd": ("budget", "${:,.0f}"),
        "budget_usd_per_hour": ("budget per hour", "${:,.3g}/h"),
        "max_power_watts": ("power", "{:,.0f} W"),
    }
    for field, (name, form) in measured.items():
        limit = getattr(problem, field)
        if limit is not None:
            wider = replace(problem, **{field: limit * (1 + SHARE)})
            yield name, "+" + form.format(limit * SHARE), wider
    if problem.max_racks is not None:
        yield "racks", "+1 rack", replace(problem, max_racks=problem.max_racks + 1)
    if problem.accelerators_in_all is not None:
        more = problem.accelerators_in_all + 1
        yield "accelerators", "+1", replace(problem, accelerators_in_all=more)
    for part, number in sorted(problem.stock.items()):
        stock = {**problem.stock, part: number + 1}
        yield f"stock:{part}", "+1", replace(problem, stock=stock)
    if problem.users > 1:
        yield "users", "-1", replace(problem, users=problem.users - 1)
    if problem.redundancy:
        fewer = problem.redundancy - 1
        yield "redundancy", "-1", replace(problem, redundancy=fewer)
    if problem.target:
        slower = problem.target * (1 - SHARE)
        yield (
            "target",
            f"-{problem.target * SHARE:g} tok/s",
            replace(problem, target=slower),
        )


def _worth(
    question: Question, chosen: Build, name: str, said: str, wider: Problem
) -> Step:
    other = question.about(wider).best()
    if other is None:  # Not in time: a wider limit has every plan of the narrower.
        return Step(limit=name, step=said)
    hourly = question.problem.acquisition.hourly
    saved = (
        chosen.usd_per_hour - other.usd_per_hour
        if hourly
        else chosen.price_usd - other.price_usd
    )
    return Step(
        limit=name,
        step=said,
        binding=other.bill_of_materials != chosen.bill_of_materials,
        saves_usd=saved,
        gains_tokens_per_second=other.tokens_per_second - chosen.tokens_per_second,
        choice=other.summary,
    )
