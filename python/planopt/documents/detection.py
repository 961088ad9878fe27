"""What a machine has: ``planopt.detect/1``."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from planopt.documents.base import Document


class Found(Struct, frozen=True, kw_only=True):
    """Accelerators of one name."""

    name: str
    count: int
    id: str | None = None
    """In the catalog; none where it has no such accelerator."""
    link: str | None = None
    """Between it and the host, at most."""
    nearest: str | None = None


class Detection(Document, frozen=True, kw_only=True):
    """The accelerators, links and memory of a machine, as options say them."""

    _what = "detect"

    schema: Literal["planopt.detect/1"] = "planopt.detect/1"
    processor: str
    memory_bytes: float | None = None
    found: tuple[Found, ...]
    own: str
    """What `--own` takes; empty where nothing of it is known."""
    overlay: str | None = None
    """Folder that was written, for `--catalog`."""
    remarks: tuple[str, ...] = ()
