"""The quantiles of errors on file, and the classes that they are of."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from planopt.catalog.open import bundled_folder
from planopt.errors import InputError
from planopt.toml import tomllib
from planopt_studies.documents import (  # noqa: TC001 - msgspec reads them
    Judgement,
    Residual,
)

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog

__all__ = ["ANY_ENGINE", "family_of", "model_classes", "residuals", "serving_judged"]

ANY_ENGINE = ", any engine"
"""Behind a class: serving predicted without an engine, measured under any."""


class _File(Struct, frozen=True, kw_only=True):
    residual: tuple[Residual, ...]
    judged: tuple[Judgement, ...] = ()
    """How left-out figures lie in the intervals, by metric."""


@lru_cache(maxsize=2)
def _read(name: str) -> _File:
    path = bundled_folder() / "measurements" / name
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File)


def serving_judged() -> dict[str, Judgement]:
    """Return by serving metric how left-out figures lie in the intervals."""
    return {each.metric: each for each in _read("serving-residuals.toml").judged}


def residuals() -> tuple[Residual, ...]:
    """Return the errors of every metric and class."""
    files = ("residuals.toml", "serving-residuals.toml")
    return tuple(each for name in files for each in _read(name).residual)


def model_classes(catalog: Catalog, accelerator: str, model: str) -> list[str]:
    """Return the classes of a model on an accelerator, the narrowest first."""
    kind = "moe" if catalog.has_experts(model) else "dense"
    family = catalog.text("accelerators", accelerator, "family")
    return [f"{name} {kind}" for name in filter(None, (accelerator, family))]


def family_of(catalog: Catalog, accelerator: str) -> str:
    """Return the family of an accelerator; none of one that is not known."""
    with suppress(InputError):
        return catalog.text("accelerators", accelerator, "family") or ""
    return ""
