"""How much longer than predicted things may take (model.md, section 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt_reference.facts import Facts

# Assumptions whose errors were measured, and the factor of all others.
_MEASURED: Final = "calibrated"
_OTHERWISE: Final = 1.25
_FEWEST_ROWS: Final = 20
_FEWEST_GROUPS: Final = 3
# Behind a class where no engine is named: errors of runs under any.
_ANY_ENGINE: Final = ", any engine"


@dataclass(frozen=True)
class Worst:
    """Factors on the predicted time of a token, and on that to the first one."""

    token: float = 1.0
    first: float = 1.0


def worst(
    facts: Facts, request: Mapping[str, Any], accelerator: str, model: str
) -> Worst:
    """Return what a robust plan may count on: as predicted if it is not robust."""
    if not request.get("robust"):
        return Worst()
    if request["assumptions"] != _MEASURED:
        return Worst(_OTHERWISE, _OTHERWISE)
    kind = "moe" if _has_experts(facts, request, model) else "dense"
    family = facts.accelerator(accelerator).family
    under = _ANY_ENGINE if request.get("engine_name") is None else ""
    classes = [f"{name} {kind}{under}" for name in (accelerator, family)]
    rows = _rows(facts)

    def ends(metric: str) -> tuple[float, float]:
        for name in (*classes, f"all{under}"):
            row = rows.get((metric, name))
            if row is not None and _tells(row):
                return row["low"], row["high"]
        return 1 / _OTHERWISE, _OTHERWISE

    # Tokens of one user alone were measured as a rate, under a load as a time.
    token = max(1.0, ends("tpot")[1], 1 / ends("decode")[0])
    return Worst(token, max(1.0, ends("ttft")[1]))


def _tells(row: Mapping[str, Any]) -> bool:
    groups = row.get("groups", _FEWEST_GROUPS)
    return bool(row["rows"] >= _FEWEST_ROWS and groups >= _FEWEST_GROUPS)


def _has_experts(facts: Facts, request: Mapping[str, Any], model: str) -> bool:
    table = request.get("architecture") or facts.model_table(model)
    kinds = (block.get("mlp", {}).get("kind") for block in table["block"])
    return "experts" in kinds


def _rows(facts: Facts) -> dict[tuple[str, str], Mapping[str, Any]]:
    read = facts.residuals()
    return {(row["metric"], row["of"]): row for row in read["residual"]}
