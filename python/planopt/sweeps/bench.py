"""How many candidates this machine evaluates in a second."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.json import decode

from planopt._native import build_info
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, Catalog, open_catalog
from planopt.door import written
from planopt.errors import InputError
from planopt.machine import processor_name
from planopt.options import Asked, TextOrNumber
from planopt.steps import Step, Steps
from planopt.sweeps.spaces import Space, read_space

CHUNK = 1 << 18
"""Candidates of a chunk: a few milliseconds of work."""

RANDOM_CHUNK = 1 << 12
"""The same where each candidate is far from the last."""

RANDOM_CANDIDATES = 4_000_000
"""Candidates of the measurement of random access: about a second."""

REPEATS = 3
"""Runs of each measurement, of which the fastest counts: the others were disturbed."""


class _Run(Struct, frozen=True):
    """What going through a space once came to."""

    candidates: int
    evaluated: int
    rejected: int
    rejected_by: tuple[tuple[str, int], ...]
    seconds: float
    candidates_per_second: float
    checksum: str


class Measured(Struct, frozen=True, kw_only=True):
    """How fast a space was gone through, on one thread and on several."""

    about: str
    candidates_per_second: float
    checksum: str
    checksum_of_one_thread: str
    one_thread: float
    per_cpu_second: float
    scaling: float
    candidates: int
    evaluated: int
    rejected: int
    rejected_by: dict[str, int]
    seconds: float


def bench(
    *,
    threads: TextOrNumber | None = None,
    spaces: Sequence[str] = (),
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
    on_progress: Callable[[Step], object] | None = None,
) -> dict[str, object]:
    """Measure candidates per second: training and serving in bulk, and random access.

    A candidate counts when every figure of its evaluation has been computed and is part
    of the checksum. Those that are rejected are reported apart.
    """
    options = {"threads": threads, "space": spaces or None}
    asked = Asked("bench", options).values()
    profile = build_info()["build_profile"]
    if profile != "release":
        raise InputError.of(
            "E904",
            f"this is a {profile} build, whose speed says nothing",
            field="bench",
            value=profile,
            accepted="a release build",
            help="install planopt with `pip install .`, or `maturin develop --release`",
        )
    read = [read_space(name) for name in asked["space"]]
    steps = Steps(on_progress, "measuring")
    opened = open_catalog(catalog, assumptions).watched(steps)
    most: int = asked.get("threads") or len(os.sched_getaffinity(0))
    answer: dict[str, object] = {
        "build_profile": profile,
        "cpu": processor_name(),
        "threads": most,
    }
    of_each = [opened.native.space_count(written(space.request)) for space in read]
    steps.among(2 * REPEATS * (sum(of_each) + RANDOM_CANDIDATES))
    ran = partial(steps.passed, "candidates")
    for space in read:
        answer[space.name] = measure(opened, space, most, ran=ran)
    answer["random_access"] = measure(opened, read[0], most, access="random", ran=ran)
    return answer


def measure(
    catalog: Catalog,
    space: Space,
    threads: int,
    *,
    access: str = "bulk",
    ran: Callable[[int], object] = lambda _: None,
) -> Measured:
    """Evaluate a space, or single candidates of it, on one thread and on several."""
    one, cpu_seconds = _fastest(catalog, space, 1, access, ran)
    all_, _ = _fastest(catalog, space, threads, access, ran)
    return Measured(
        about=space.about,
        candidates_per_second=all_.candidates_per_second,
        checksum=all_.checksum,
        checksum_of_one_thread=one.checksum,
        one_thread=one.candidates_per_second,
        per_cpu_second=one.evaluated / cpu_seconds,
        scaling=all_.candidates_per_second / one.candidates_per_second,
        candidates=all_.candidates,
        evaluated=all_.evaluated,
        rejected=all_.rejected,
        rejected_by=dict(all_.rejected_by),
        seconds=all_.seconds,
    )


def _fastest(
    catalog: Catalog,
    space: Space,
    threads: int,
    access: str,
    ran: Callable[[int], object],
) -> tuple[_Run, float]:
    """Run a few times; return the fastest, and its seconds of the processors."""
    bulk = access == "bulk"
    options = {
        "access": access,
        "threads": threads,
        "chunk": CHUNK if bulk else RANDOM_CHUNK,
        "candidates": 2**63 if bulk else RANDOM_CANDIDATES,
    }
    runs = []
    for _ in range(REPEATS):
        before = time.process_time()
        found = catalog.native.bench(written(space.request), written(options))
        cpu_seconds = time.process_time() - before
        run = decode(found, type=_Run)
        runs.append((run, cpu_seconds))
        ran(run.candidates)
    return min(runs, key=lambda run: run[0].seconds)
