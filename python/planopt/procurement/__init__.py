"""Procurement: which units to buy, decided by OR-Tools in a process of its own.

`buy` answers; `scan` checks it where one kind of unit suffices; `alternatives` lists
the builds beside it; `minimal_conflict` says why there is none.
"""

from planopt.procurement.conflict import minimal_conflict
from planopt.procurement.dominance import undominated
from planopt.procurement.problem import Limits, Objective, Purchase, Totals, Unit
from planopt.procurement.purchase import PurchaseInterrupted, buy, satisfiable
from planopt.procurement.scan import Alternative, alternatives, scan
from planopt.procurement.solver import Solver

__all__ = [
    "Alternative",
    "Limits",
    "Objective",
    "Purchase",
    "PurchaseInterrupted",
    "Solver",
    "Totals",
    "Unit",
    "alternatives",
    "buy",
    "minimal_conflict",
    "satisfiable",
    "scan",
    "undominated",
]
