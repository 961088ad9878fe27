"""Procurement: which rows to buy, decided by OR-Tools in a process of its own.

The core says what a solver is offered, and adds purchases up; `buy` answers, and
`minimal_conflict` says why there is no answer.
"""

from planopt.procurement.conflict import minimal_conflict
from planopt.procurement.problem import (
    Alternative,
    Limits,
    Objective,
    Offer,
    Offered,
    Purchase,
    offer,
    offers,
)
from planopt.procurement.purchase import PurchaseInterrupted, buy, satisfiable
from planopt.procurement.solver import Solver
from planopt.procurement.why_not import why_not

__all__ = [
    "Alternative",
    "Limits",
    "Objective",
    "Offer",
    "Offered",
    "Purchase",
    "PurchaseInterrupted",
    "Solver",
    "buy",
    "minimal_conflict",
    "offer",
    "offers",
    "satisfiable",
    "why_not",
]
