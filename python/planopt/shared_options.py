"""Options that questions of serving and of training share, and how each is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planopt.catalog.open import Catalog
    from planopt.options import OptionReader, TextOrNumber

__all__ = [
    "TRAINING_MARKS",
    "architecture_of",
    "asks_for_training",
    "check_model",
    "check_named",
    "check_names",
    "is_file",
    "read_purchase_money",
    "refuse_both",
]


TRAINING_MARKS = frozenset(
    {
        "deadline",
        "global_batch",
        "gradients",
        "mtp_modules",
        "optimizer",
        "precision",
        "seq_len",
        "tokens",
    }
)
"""Options that only a question of training has."""


def asks_for_training(options: Iterable[str]) -> bool:
    """Tell by the names of its options whether a question is about training."""
    return not TRAINING_MARKS.isdisjoint(options)


def read_purchase_money(
    reader: OptionReader, budget: TextOrNumber | None, acquire: str | None
) -> float | None:
    """Read a budget of purchase money."""
    if budget is None:
        return None
    usd, per_hour = reader.money("budget", budget)
    if per_hour and acquire in (None, "buy"):
        reader.problem(
            "E004",
            "a budget per time is for renting, and this question buys",
            option="budget",
            value=budget,
            accepted="purchase money, such as $20k, or --acquire rent beside it",
        )
    return usd


def check_names(
    reader: OptionReader,
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
            reader.refuse(option, unknown)

    for name in names:
        check(name)


def check_model(reader: OptionReader, catalog: Catalog, model: str) -> None:
    """Refuse a model that the catalog does not have; files speak for themselves."""
    if is_file(model):
        return
    try:
        catalog.model(model)
    except InputError as unknown:
        reader.refuse("model", unknown)


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
    reader: OptionReader, accelerators: Sequence[str], exclude: Sequence[str]
) -> None:
    """Refuse accelerators that are asked for and excluded."""
    both = sorted(set(accelerators) & set(exclude))
    if both:
        reader.problem(
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
