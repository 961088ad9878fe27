"""Writes the page that needs no server: `make explorer`."""

from __future__ import annotations

import base64
import gzip
import sys
from pathlib import Path

import msgspec

from planopt._native import __version__
from planopt.catalog.open import bundled_folder
from planopt.explore.page import held, panels
from planopt.options import taken_by
from planopt.report.page.html import EXPLORER, document, embedded

OFFLINE = (
    *("model", "weights", "kv", "workload", "isl", "osl", "max_model_len"),
    *("concurrency", "request_rate", "load", "target", "ttft", "percentile"),
    *("accelerators", "exclude", "vendor", "host", "network", "datacenter"),
    *("budget", "condition", "prices", "discount", "vat"),
    *("duty", "electricity", "years", "pue"),
)
"""Controls of a page without a server: what the core answers alone."""
NOT_CONSIDERED = (
    "Planned in this page by the core alone: rent, stock, power, racks, shared hosts, "
    "several loads and confidence are not considered, nor what lies beside the plan. "
    "`planopt solve` considers them."
)


def offline(core: bytes) -> str:
    """Write the page that asks the core in itself, compiled to WebAssembly."""
    taken = taken_by("explore")
    settings = {
        "given": {"target": "5tok/s", "budget": "20000"},
        "folders": (),
        "panels": panels({name: taken[name] for name in OFFLINE}, ()),
        "notes": (NOT_CONSIDERED,),
        "version": __version__,
    }
    root = bundled_folder()
    files = {
        f"/catalogs/{path.relative_to(root).as_posix()}": path.read_text("utf-8")
        for path in sorted(root.rglob("*.toml"))
        if not path.is_relative_to(root / "article")
    }
    parts = (
        held("explorer", embedded(settings), "application/json"),
        held("catalogs", _packed(msgspec.json.encode(files))),
        held("core", _packed(core)),
    )
    return document(
        *("planopt explorer", "\n".join(parts), (*EXPLORER, "offline")),
        scripts="'wasm-unsafe-eval'",
        allowed="worker-src blob:",
    )


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()


if __name__ == "__main__":
    core, page = map(Path, sys.argv[1:])
    page.write_text(offline(core.read_bytes()), encoding="utf-8")
    sys.stdout.write(f"{page}: {page.stat().st_size / 1e6:.2f} MB\n")
