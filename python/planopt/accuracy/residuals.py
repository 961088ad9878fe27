"""How sure a prediction is: quantiles of errors of rows that no fit had seen.

``measurements/residuals.toml`` and ``serving-residuals.toml`` have, for a metric and a
class of hardware and model, the tenth and the ninetieth percentile of measured over
predicted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from planopt.catalog.open import bundled_folder
from planopt.documents.parts import Interval
from planopt.documents.validation import Residual
from planopt.toml import tomllib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.catalog.open import Catalog

__all__ = [
    "ANY_ENGINE",
    "Errors",
    "errors",
    "model_classes",
    "residuals",
    "serving_covered",
]

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


def serving_covered() -> dict[str, float]:
    """Return by serving metric the share of left-out figures within the intervals."""
    return msgspec.convert(_read(_SERVING).get("covered", {}), dict[str, float])


def residuals() -> tuple[Residual, ...]:
    """Return the errors of every metric and class."""
    return tuple(_residuals().values())


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

    def interval(self, value: float) -> Interval:
        """Return what a predicted value is expected to lie in."""
        return Interval(
            low=value * self.low,
            high=value * self.high,
            extrapolated=self.extrapolated,
        )


def errors(
    catalog: Catalog,
    accelerator: str,
    model: str,
    metrics: Sequence[str],
    *,
    any_engine: bool = False,
) -> dict[str, Errors]:
    """Return the errors of metrics of a model on an accelerator, those that are known.

    ``any_engine`` is of serving that is predicted without an engine.
    """
    request = {
        "model": model,
        "accelerator": accelerator,
        "any_engine": any_engine,
        "metrics": list(metrics),
    }
    told = catalog.native.errors(msgspec.json.encode(request))
    found = msgspec.json.decode(told, type=dict[str, Errors | None])
    return {metric: each for metric, each in found.items() if each is not None}


def model_classes(catalog: Catalog, accelerator: str, model: str) -> list[str]:
    """Return the classes of a model on an accelerator, the narrowest first."""
    blocks = catalog.native.architecture(model)["block"]
    experts = any(block.get("mlp", {}).get("kind") == "experts" for block in blocks)
    kind = "moe" if experts else "dense"
    family = catalog.figures("accelerators", accelerator).get("family")
    families = [family["text"]] if family else []
    return [f"{name} {kind}" for name in (accelerator, *families)]
