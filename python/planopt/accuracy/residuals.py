"""How sure a prediction is: quantiles of errors of rows that no fit had seen.

``measurements/residuals.toml`` and ``serving-residuals.toml`` have, for a metric and a
class of hardware and model, the tenth and the ninetieth percentile of measured over
predicted.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from planopt.catalog.open import bundled_folder
from planopt.documents.parts import Interval
from planopt.documents.validation import Residual

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.catalog.open import Catalog

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "ANY_ENGINE",
    "interval",
    "model_classes",
    "residual",
    "residuals",
    "serving_covered",
    "under_engine",
]

_EVERYTHING = "all"
ANY_ENGINE = ", any engine"
"""Behind a class: serving predicted without an engine, measured under any."""
_SERVING = "serving-residuals.toml"
_FILES = ("residuals.toml", _SERVING)


@lru_cache(maxsize=1)
def _residuals() -> dict[tuple[str, str], Residual]:
    known: dict[tuple[str, str], Residual] = {}
    for name in _FILES:
        errors = msgspec.convert(_read(name)["residual"], tuple[Residual, ...])
        known.update({(each.metric, each.of): each for each in errors})
    return known


def _read(name: str) -> dict[str, Any]:
    path = bundled_folder() / "measurements" / name
    read: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return read


def under_engine(engine: str | None) -> str:
    """Return what is behind a class of serving: nothing where an engine is named."""
    return ANY_ENGINE if engine is None else ""


def serving_covered() -> dict[str, float]:
    """Return by serving metric the share of left-out figures within the intervals."""
    return msgspec.convert(_read(_SERVING).get("covered", {}), dict[str, float])


def residuals() -> tuple[Residual, ...]:
    """Return the errors of every metric and class."""
    return tuple(_residuals().values())


def residual(
    metric: str, classes: Sequence[str], *, everything: str = _EVERYTHING
) -> tuple[Residual, bool] | None:
    """Return the errors of the nearest class, and whether that extrapolates."""
    known = _residuals()
    for name in (*classes, everything):
        found = known.get((metric, name))
        if found is not None and found.is_telling:
            return found, name == everything
    return None


def interval(
    metric: str, value: float, classes: Sequence[str], *, everything: str = _EVERYTHING
) -> Interval | None:
    """Return what a predicted value is expected to lie in, if anything is known."""
    found = residual(metric, classes, everything=everything)
    if found is None:
        return None
    errors, extrapolated = found
    return Interval(
        low=value * errors.low, high=value * errors.high, extrapolated=extrapolated
    )


def model_classes(catalog: Catalog, accelerator: str, model: str) -> list[str]:
    """Return the classes of a model on an accelerator, the narrowest first."""
    blocks = catalog.native.architecture(model)["block"]
    experts = any(block.get("mlp", {}).get("kind") == "experts" for block in blocks)
    kind = "moe" if experts else "dense"
    family = catalog.figures("accelerators", accelerator).get("family")
    families = [family["text"]] if family else []
    return [f"{name} {kind}" for name in (accelerator, *families)]
