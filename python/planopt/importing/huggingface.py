"""A published config.json as a model file of a catalog."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt.catalog import open_catalog
from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["import_hf"]


def import_hf(config: str | Path, out: str | Path, *, name: str | None = None) -> Path:
    """Write a model of a Hugging Face ``config.json`` as an overlay.

    Parameters
    ----------
    config : path
        The file.
    out : path
        Overlay folder.
    name : str, optional
        Id of the model; else the name of the file, or of its folder for
        ``config.json``.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    InputError
        The file is no model that planopt knows, or the folder cannot be written.
    """
    config = Path(config)
    model = dict(open_catalog().native.architecture(str(config)))
    id_ = name or (config.resolve().parent.name if config.stem == "config" else None)
    id_ = re.sub(r"[^a-z0-9.-]+", "-", (id_ or config.stem).lower()).strip("-")
    model.update(id=id_, name=name or id_)
    path = Path(out) / "models" / f"{id_}.toml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(_table(model)) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError.of(
            "E006",
            f"cannot write the overlay: {error.strerror or error}",
            field="--out",
            value=str(out),
            accepted="a folder that can be written to",
        ) from error
    return path


def _table(table: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Write a table: its values first, then the tables inside of it."""
    for key, value in table.items():
        if not _is_inner(value):
            yield f"{key} = {json.dumps(value)}"
    for key, value in table.items():
        if isinstance(value, dict):
            yield f"[{path}{key}]"
            yield from _table(value, f"{path}{key}.")
        elif _is_inner(value):
            for item in value:
                yield ""
                yield f"[[{path}{key}]]"
                yield from _table(item, f"{path}{key}.")


def _is_inner(value: object) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    )
