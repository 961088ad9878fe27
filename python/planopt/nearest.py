"""No plan: the smallest set of limits that cannot hold together, and what would."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt.plan import Accuracy, Change, Infeasibility, Limit, Plan
from planopt.procurement import minimal_conflict, satisfiable
from planopt.search import find_units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.build import Build
    from planopt.problem import Problem
    from planopt.procurement.problem import Limits, Purchase
    from planopt.search import Found
    from planopt.solve import Question

__all__ = ["infeasible_plan"]

GB = 1e9
MICRO_USD = 10**6
ROUND_BUDGET_USD = 10
"""Budgets are proposed in whole tens of dollars, upwards."""
NARROWER_FORMATS = ("fp8", "int4")
"""Formats that many models are served in; they change quality, so they are only named."""
SPEEDS = ("target", "ttft")
"""Demands that the search knows of and the purchase does not."""
NO_CAP = math.inf


def infeasible_plan(question: Question, purchase: Purchase, started: float) -> Plan:
    """Say why there is no plan, and what is nearest to one.

    Parameters
    ----------
    question : Question
        What was asked.
    purchase : Purchase
        What came of it.
    started : float
        When it was asked, on the monotonic clock.
    """
    conflict = _Conflict(question)
    proven = purchase.status == "infeasible"
    note = None if proven else "the time limit was reached before a proof"
    return Plan(
        status="infeasible",
        objective=question.problem.objective,
        request=question.problem.request(),
        infeasibility=Infeasibility(
            binding=conflict.limits(),
            nearest=tuple(nearest_changes(question)),
            note=note,
        ),
        search=_with_seconds(question, started),
        assumed=question.problem.assumed,
        assumptions=question.problem.assumptions,
        accuracy=Accuracy(statement="no plan: nothing was predicted"),
    )
