"""A published config.json as a model file of a catalog."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planopt.catalog.open import open_catalog
from planopt.catalog.overlay import IDS, id_of, toml_value, write_overlay
from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def import_hf(
    config: str | Path,
    out: str | Path,
    *,
    name: str | None = None,
    force: bool = False,
) -> Path:
    """Write a model of a Hugging Face ``config.json`` as an overlay."""
    config = Path(config)
    model = open_catalog().architecture(str(config))
    named = config.resolve().parent.name if config.stem == "config" else config.stem
    id_ = id_of(named if name is None else name)
    if not id_:
        raise InputError.of(
            "E114",
            "the name of the model leaves no id",
            field="--name",
            value=named if name is None else name,
            accepted=IDS,
            help="name the model with `--name`",
        )
    model.update(id=id_, name=name or id_)
    text = "\n".join(_table(model)) + "\n"
    (file,) = write_overlay(Path(out), {f"models/{id_}.toml": text}, force=force)
    return Path(file)


def _table(table: Mapping[str, object], path: str = "") -> Iterator[str]:
    """Write a table: its values first, then the tables inside of it."""
    for key, value in table.items():
        if not (isinstance(value, dict) or _tables(value)):
            yield f"{key} = {toml_value(value)}"
    for key, value in table.items():
        if isinstance(value, dict):
            yield f"[{path}{key}]"
            yield from _table(value, f"{path}{key}.")
        for item in _tables(value):
            yield ""
            yield f"[[{path}{key}]]"
            yield from _table(item, f"{path}{key}.")


def _tables(value: object) -> list[dict[str, object]]:
    """Take the tables of a list that is of tables."""
    return (
        [each for each in value if isinstance(each, dict)]
        if isinstance(value, list)
        else []
    )
