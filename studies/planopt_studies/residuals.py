"""The quantiles of errors on file, and the classes that they are of."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from planopt.catalog.open import bundled_folder
from planopt.documents.validation import Residual  # noqa: TC001 - msgspec reads it
from planopt.toml import tomllib

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog

__all__ = ["ANY_ENGINE", "model_classes", "residuals", "serving_covered"]

ANY_ENGINE = ", any engine"
"""Behind a class: serving predicted without an engine, measured under any."""


class _File(Struct, frozen=True, kw_only=True):
    residual: tuple[Residual, ...]
    covered: dict[str, float] = {}
    """Share of left-out figures within the intervals, by metric."""


@lru_cache(maxsize=2)
def _read(name: str) -> _File:
    path = bundled_folder() / "measurements" / name
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File)


def serving_covered() -> dict[str, float]:
    """Return by serving metric the share of left-out figures within the intervals."""
    return _read("serving-residuals.toml").covered


def residuals() -> tuple[Residual, ...]:
    """Return the errors of every metric and class."""
    files = ("residuals.toml", "serving-residuals.toml")
    return tuple(each for name in files for each in _read(name).residual)


def model_classes(catalog: Catalog, accelerator: str, model: str) -> list[str]:
    """Return the classes of a model on an accelerator, the narrowest first."""
    kind = "moe" if catalog.has_experts(model) else "dense"
    family = catalog.text("accelerators", accelerator, "family")
    families = [family] if family else []
    return [f"{name} {kind}" for name in (accelerator, *families)]
