"""The slow reference of the formulas, written from docs/reference/model.md alone.

It checks saved plans and is the other side of the differential tests. It shares no code
with the optimizer, and needs the standard library only.
"""

from planopt_reference.facts import FactError, Facts
from planopt_reference.mismatch import Mismatch
from planopt_reference.plan import columns_mismatches, verify_plan
from planopt_reference.serving import evaluate_serving

__all__ = [
    "FactError",
    "Facts",
    "Mismatch",
    "columns_mismatches",
    "evaluate_serving",
    "verify_plan",
]
