"""Rows of microbench.csv: its all-reduces, in the schema of collectives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from planopt.accuracy.collectives import CollectiveRow
from planopt_studies.prepare.rules import kept

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt_studies.prepare.rules import Ledger, Raw

__all__ = ["COLUMNS", "prepare_microbench"]

COLUMNS: Final = frozenset({"kind", "accelerator", "n_accelerators", "size", "value"})
_GIGA, _MICRO = 1e9, 1e-6
_SIZE: Final = re.compile(r"^([\d.]+)\s*(B|[KMG]i?B)?$")
_UNITS: Final = {
    "": 1.0,
    "B": 1.0,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
}
# Sources that do not say what their sizes count: elements of 4 bytes, by the slope of
# their times over that of the same kernels elsewhere.
_ELEMENTS: Final = {"sglang PR 2904": 4.0, "sglang PR 2688": 4.0}
# Kernels launched one by one from Python, not in a graph: seconds of each launch, by
# their smallest messages. That of PR 2904 needs none: it takes 3.7 us in all, less
# than vLLM takes to copy the payload into memory that its peers read.
_LAUNCH: Final = {
    ("sglang PR 2904", "vLLM"): 6e-6,
    ("sglang PR 2688", "vLLM"): 6e-6,
    ("sglang PR 2688", "SGLang"): 6e-6,
    ("ml-engineering all-reduce P6-B200", "nccl"): 20e-6,
}


def licence_is_share_alike(row: Raw) -> bool:
    """Tables of ml-engineering are not passed on."""
    return row["source"].startswith("ml-engineering")


def is_no_all_reduce(row: Raw) -> bool:
    """Products, copies and launches are fitted, not predicted."""
    return not row["kind"].startswith("allreduce")


def has_no_size(row: Raw) -> bool:
    """Whether what was sent is not stated."""
    return _bytes(row) is None


def is_of_several_hosts(row: Raw) -> bool:
    """Formulas are of ranks of one host."""
    return "nodes" in row["interconnect"]


def prepare_microbench(rows: Iterable[Raw], ledger: Ledger) -> list[CollectiveRow]:
    """Bring rows into the schema of collectives."""
    rules = (licence_is_share_alike, is_no_all_reduce, has_no_size, is_of_several_hosts)
    return [_row(row) for row in kept(rows, rules, ledger)]


def _row(row: Raw) -> CollectiveRow:
    payload = _bytes(row) or 0.0
    ranks = int(float(row["n_accelerators"]))
    sent = 2 * (ranks - 1) / ranks * payload
    ring = "custom" not in row["notes"]
    library = "nccl" if ring else row["notes"].split(" custom")[0]
    value = float(row["value"])
    if not row["kind"].endswith("latency"):
        value = sent / (value * _GIGA) / _MICRO
    return CollectiveRow(
        id=row["id"],
        source=row["source"],
        accelerator=row["accelerator"],
        ranks=ranks,
        library=library,
        ring=ring,
        message_bytes=payload,
        launch_us=_LAUNCH.get((row["source"], library), 0.0) / _MICRO,
        measured_us=value,
    )


def _bytes(row: Raw) -> float | None:
    found = _SIZE.match(row["size"])
    if found is None:
        return None
    size = float(found[1]) * _UNITS[found[2] or ""]
    return size * _ELEMENTS.get(row["source"], 1.0)
