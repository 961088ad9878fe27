"""The accelerator that is meant by the name that a driver gives a device."""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import get_close_matches

from planopt.catalog.open import Catalog
from planopt.errors import InputError

_BRANDS = re.compile(r"^(NVIDIA |AMD |Tesla |GeForce |Intel\(R\) )+")


def accelerator_called(
    catalog: Catalog, name: str, memory_bytes: float | None
) -> str | None:
    """Return its id in the catalog: some names are sold with several memories."""
    memory = "" if memory_bytes is None else f" {memory_bytes / 2**30:.0f}GB"
    bare = _BRANDS.sub("", name)
    for each in dict.fromkeys(
        f"{start}{end}" for start in (name, bare) for end in (memory, "")
    ):
        with suppress(InputError):
            return catalog.show("accelerators", each).id
    return None


def nearest_accelerator(catalog: Catalog, name: str) -> str | None:
    """Return the id of the accelerator whose name is most like it."""
    ids = {_plain(each.name): each.id for each in catalog.list("accelerators")}
    near = get_close_matches(_plain(name), ids, 1)
    return ids[near[0]] if near else None


def _plain(name: str) -> str:
    return _BRANDS.sub("", name).lower()
