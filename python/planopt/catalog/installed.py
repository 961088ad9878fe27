"""Catalogs that are installed beside planopt: `planopt-catalog`, data alone."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

try:
    import planopt_catalog
except ImportError:
    planopt_catalog = None

BUNDLED = Path(__file__).parent.parent / "catalogs"
"""Those that planopt brings."""


@lru_cache
def newer() -> Path | None:
    """Folder of installed catalogs, if there are any of a later date than the bundled.

    They are laid over those, under the overlays of whoever asks.
    """
    if planopt_catalog is None:
        return None
    folder = Path(planopt_catalog.__file__).parent / "catalogs"
    return folder if date_of(folder) > date_of(BUNDLED) else None


def date_of(folder: Path) -> str:
    """Day of catalogs, as 2026.11.26; nothing where they say none."""
    try:
        return (folder / "date.txt").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
