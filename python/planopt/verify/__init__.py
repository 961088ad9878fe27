"""The slow reference of the formulas, written from docs/reference/model.md alone.

It checks saved plans and is the other side of the differential tests. It shares no code
with the optimizer, and needs the standard library only.
"""

from planopt.verify.facts import FactError, Facts
from planopt.verify.mismatch import Mismatch
from planopt.verify.plan import verify_plan
from planopt.verify.serving import evaluate_serving

__all__ = ["FactError", "Facts", "Mismatch", "evaluate_serving", "verify_plan"]
