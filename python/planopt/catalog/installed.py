"""Catalogs that are installed beside planopt: `planopt-catalog`, data alone."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

BUNDLED = Path(__file__).parent.parent / "catalogs"
"""Those that planopt brings."""


@lru_cache
def newer() -> Path | None:
    """Folder of installed catalogs, if there are any of a later date than the bundled.

    They are laid over those, under the overlays of whoever asks.
    """
    found = find_spec("planopt_catalog")
    places = found.submodule_search_locations if found else None
    for place in places or ():
        folder = Path(place) / "catalogs"
        if date_of(folder) > date_of(BUNDLED):
            return folder
    return None


def date_of(folder: Path) -> str:
    """Day of catalogs, as 2026.11.26; nothing where they say none."""
    try:
        return (folder / "date.txt").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
