"""How sure a prediction is: quantiles of errors of rows that no fit had seen.

``measurements/residuals.toml`` has, for a metric and a class of hardware and model, the
tenth and the ninetieth percentile of measured over predicted.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from planopt.catalog import bundled_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.catalog import Catalog

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "LEVEL",
    "Interval",
    "Residual",
    "interval",
    "residual",
    "residuals",
    "training_classes",
]

LEVEL = 0.8
"""Share of measurements that an interval is to cover."""
_LEAST_ROWS = 10
"""Rows below which a class says nothing of its own."""
_EVERYTHING = "all"


class Interval(Struct, frozen=True, kw_only=True):
    """What a figure is expected to lie in."""

    low: float
    high: float
    level: float = LEVEL
    extrapolated: bool = False
    """No measurement is of this hardware and this kind of model."""


class Residual(Struct, frozen=True, kw_only=True):
    """Errors of a metric of a class."""

    metric: str
    of: str
    """Class: an accelerator or a family, and ``dense`` or ``moe``; or ``all``."""
    rows: int
    low: float
    """Measured over predicted, tenth percentile."""
    high: float
    median_ape: float
    mape: float


@lru_cache(maxsize=1)
def _residuals() -> dict[tuple[str, str], Residual]:
    path = bundled_folder() / "measurements" / "residuals.toml"
    read: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    known = msgspec.convert(read["residual"], tuple[Residual, ...])
    return {(each.metric, each.of): each for each in known}


def residuals() -> tuple[Residual, ...]:
    """Return the errors of every metric and class."""
    return tuple(_residuals().values())


def residual(metric: str, classes: Sequence[str]) -> tuple[Residual, bool] | None:
    """Return the errors of the nearest class, and whether that extrapolates.

    Parameters
    ----------
    metric : str
        Such as ``step_time``.
    classes : sequence of str
        From the narrowest to the widest; the class of everything follows.
    """
    known = _residuals()
    for name in (*classes, _EVERYTHING):
        found = known.get((metric, name))
        if found is not None and found.rows >= _LEAST_ROWS:
            return found, name == _EVERYTHING
    return None


def interval(metric: str, value: float, classes: Sequence[str]) -> Interval | None:
    """Return what a predicted value is expected to lie in, if anything is known."""
    found = residual(metric, classes)
    if found is None:
        return None
    errors, extrapolated = found
    return Interval(
        low=value * errors.low, high=value * errors.high, extrapolated=extrapolated
    )


def training_classes(catalog: Catalog, accelerator: str, model: str) -> list[str]:
    """Return the classes of a training run, the narrowest first."""
    blocks = catalog.native.architecture(model)["block"]
    experts = any(block.get("mlp", {}).get("kind") == "experts" for block in blocks)
    kind = "moe" if experts else "dense"
    shown = catalog.show("accelerators", accelerator)["figures"]
    families = [each["text"] for each in shown if each["field"] == "family"]
    return [f"{name} {kind}" for name in (accelerator, *families)]
