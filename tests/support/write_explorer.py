"""Writes the page that needs no server: `make explorer`."""

from __future__ import annotations

import sys
from pathlib import Path

from planopt.explore.page import offline

if __name__ == "__main__":
    core, page = map(Path, sys.argv[1:])
    page.write_text(offline(core.read_bytes()), encoding="utf-8")
    sys.stdout.write(f"{page}: {page.stat().st_size / 1e6:.2f} MB\n")
