"""Options that questions of serving and of training share, and how each is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planopt.catalog.open import Catalog
    from planopt.options import Asked

__all__ = [
    "architecture_of",
    "check_model",
    "check_named",
    "check_names",
    "is_file",
    "refuse_both",
]


def check_names(
    asked: Asked,
    catalog: Catalog,
    kind: str,
    option: str,
    names: Iterable[str],
) -> None:
    """Refuse names that the catalog does not have, beside whatever else is wrong."""

    def check(name: str) -> None:
        try:
            catalog.show(kind, name)
        except InputError as unknown:
            asked.refuse(option, unknown)

    for name in names:
        check(name)


def check_model(asked: Asked, catalog: Catalog, model: str) -> None:
    """Refuse a model that the catalog does not have; files speak for themselves."""
    if is_file(model):
        return
    try:
        catalog.model(model)
    except InputError as unknown:
        asked.refuse("model", unknown)


def is_file(model: str) -> bool:
    """Whether a model is named by its file."""
    return Path(model).suffix in (".json", ".toml")


def check_named(accelerators: Sequence[str]) -> None:
    """Refuse a comparison of nothing."""
    if not accelerators:
        raise InputError.of(
            "E005",
            "which accelerators?",
            field="--accelerators",
            accepted="ids between commas, such as rtx-4090,a100-sxm-80,h100-sxm",
        )


def refuse_both(
    asked: Asked, accelerators: Sequence[str], exclude: Sequence[str]
) -> None:
    """Refuse accelerators that are asked for and excluded."""
    both = sorted(set(accelerators) & set(exclude))
    if both:
        asked.problem(
            "E004",
            f"{', '.join(both)} both asked for and excluded",
            option="exclude",
            value=",".join(both),
            accepted="accelerators that --accelerators does not name",
        )


def architecture_of(catalog: Catalog, model: str) -> dict[str, Any] | None:
    """Read a model that is a file: any other can be looked up again."""
    if not is_file(model):
        return None
    architecture: dict[str, Any] = catalog.native.architecture(model)
    return architecture
