"""A published config.json as a model file of a catalog."""

from __future__ import annotations

from pathlib import Path

from planopt.catalog.open import open_catalog
from planopt.catalog.overlay import IDS, id_of, toml_document, write_overlay
from planopt.errors import InputError


def import_hf(
    config: str | Path,
    out: str | Path,
    *,
    name: str | None = None,
    force: bool = False,
    online: bool = False,
) -> Path:
    """Write a model of a Hugging Face ``config.json`` as an overlay.

    ``online`` takes a repository of the Hub in place of a file.
    """
    catalog = open_catalog()
    config, asked = Path(catalog.found(str(config)) if online else config), config
    model = catalog.architecture(str(config))
    named = config.resolve().parent.name if config.stem == "config" else config.stem
    if config.is_dir():
        named = Path(asked).name
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
    files = {f"models/{id_}.toml": toml_document(model)}
    (file,) = write_overlay(Path(out), files, force=force)
    return Path(file)
