"""Rows of microbench.csv: all-reduces of one host, by the formulas of the reference."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from planopt.accuracy.measurements import Comparison, Missing
from planopt.second_opinion import FactError, all_reduce_in_a_host

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.accuracy.measurements import Outcome, Row

__all__ = ["MICROBENCH"]

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


class _Microbench:
    """The schema of microbench.csv."""

    name = "kernels and messages"
    columns = frozenset({"kind", "accelerator", "n_accelerators", "size", "value"})
    needed = frozenset({"n_accelerators", "value"})

    def predict(self, rows: Sequence[Row], assumptions: str) -> Iterator[Outcome]:
        """Predict the seconds of every all-reduce inside of a host."""
        for row in rows:
            yield _predict(row, assumptions)


MICROBENCH: Final = _Microbench()


def _predict(row: Row, assumptions: str) -> Outcome:
    if not row["kind"].startswith("allreduce"):
        return Missing(row=row["id"], reason=f"{row['kind']} is fitted, not predicted")
    payload = _bytes(row)
    if payload is None:
        return Missing(row=row["id"], reason="no size is stated")
    ranks = int(float(row["n_accelerators"]))
    ring = "custom" not in row["notes"]
    try:
        seconds = all_reduce_in_a_host(
            payload, row["accelerator"], ranks, ring=ring, assumptions=assumptions
        )
    except FactError as error:
        return Missing(row=row["id"], reason=str(error))
    if seconds is None or "nodes" in row["interconnect"]:
        return Missing(row=row["id"], reason="not ranks of one host")
    sent = 2 * (ranks - 1) / ranks * payload
    value = float(row["value"])
    measured = (
        value * _MICRO if row["kind"].endswith("latency") else sent / (value * _GIGA)
    )
    engine = "nccl" if ring else row["notes"].split(" custom")[0]
    launch = _LAUNCH.get((row["source"], engine), 0.0)
    return Comparison(
        row=row["id"],
        source=row["source"],
        metric="all_reduce",
        measured=measured / _MICRO,
        predicted=(seconds + launch) / _MICRO,
        unit="us",
        accelerator=row["accelerator"],
        model=f"{ranks} ranks",
        engine=engine,
        why={"bytes": payload},
    )


def _bytes(row: Row) -> float | None:
    found = _SIZE.match(row["size"])
    if found is None:
        return None
    size = float(found[1]) * _UNITS[found[2] or ""]
    return size * _ELEMENTS.get(row["source"], 1.0)
