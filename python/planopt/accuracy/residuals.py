"""Prediction intervals: quantiles of errors of rows that no fit had seen.

``measurements/residuals.toml`` and ``serving-residuals.toml`` have, for a metric and a
class of hardware and model, the tenth and the ninetieth percentile of measured over
predicted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.catalog.open import Catalog


class Errors(Struct, frozen=True, kw_only=True):
    """Errors of a metric of the nearest class that is known, as the core finds them."""

    of: str
    rows: int
    low: float
    high: float
    median_ape: float
    mape: float
    extrapolated: bool
    """No measurement is of this hardware and this kind of model."""


def errors(
    catalog: Catalog,
    accelerator: str,
    model: str,
    metrics: Sequence[str],
    *,
    any_engine: bool = False,
) -> dict[str, Errors]:
    """Return the errors that are known; ``any_engine`` is of serving without one."""
    request = {
        "model": model,
        "accelerator": accelerator,
        "any_engine": any_engine,
        "metrics": list(metrics),
    }
    response = catalog.native.errors(msgspec.json.encode(request))
    found = msgspec.json.decode(response, type=dict[str, Errors | None])
    return {metric: each for metric, each in found.items() if each is not None}
