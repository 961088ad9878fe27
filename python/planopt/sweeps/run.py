"""A study from its first chunk to its last, wherever they are evaluated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from msgspec.json import decode

from planopt.steps import AGAIN, Step, Steps
from planopt.sweeps.parts import Evaluated, Parts
from planopt.sweeps.study import Chunk, Study, read_study
from planopt.sweeps.work import Far, evaluate, executor_on

AHEAD = 256
"""Chunks that are handed out at once: enough for any cluster, and few in memory."""

_RANKED = {
    "training": ("price_usd", "days"),
    "serving": ("usd_per_million_tokens", "tpot_seconds"),
}
"""Figures of a front: the less the better."""

_HASH = 1 << 64


@dataclass(frozen=True)
class SweepResult:
    """What a study came to."""

    folder: str
    """Where its parts are."""
    chunks: int
    """Parts of the study."""
    resumed: int
    """Of them, those that were there already."""
    candidates: int
    """Candidates of all cases: as many as were covered."""
    evaluated: int
    """Candidates that work, and that do not."""
    rejected: int
    checksum: str
    """Of all figures of all evaluated candidates, whatever was evaluated where."""
    front: int
    """Rows of ``front.parquet``."""
    seconds: float
    """Wall time of this run."""


def sweep(
    study: str | Study,
    *,
    out: str,
    on: str = "local",
    executor: Executor | None = None,
    catalog: Sequence[str] = (),
    on_progress: Callable[[Step], object] | None = None,
) -> SweepResult:
    """Evaluate what is missing of a study, and merge the fronts."""
    started = time.perf_counter()
    asked = study if isinstance(study, Study) else read_study(study, catalog=catalog)
    parts = Parts.of(asked, out)
    chunks = list(asked.chunks())
    todo = [chunk for chunk in chunks if not parts.is_there(chunk)]
    if todo:
        opened = executor_on(on) if executor is None else nullcontext(executor)
        with opened as running:
            course = _Course(todo, Steps(on_progress, "evaluating"))
            for chunk, found in _evaluated(running, asked, todo, course):
                parts.write(chunk, found)
    return _result(asked, parts, chunks, len(chunks) - len(todo), started)


class _Course:
    """How far all chunks are, told by the thread that waits for them."""

    def __init__(self, todo: Sequence[Chunk], steps: Steps) -> None:
        self._steps = steps
        self._done = {chunk.index: 0 for chunk in todo}
        self._of = sum(chunk.end - chunk.start for chunk in todo)

    def of(self, chunk: Chunk) -> Far:
        """Make what the core tells how far it is with a chunk."""

        def far(_what: str, done: int, _of: int, _gap: float | None) -> None:
            self._done[chunk.index] = done

        return far

    def ended(self, chunk: Chunk) -> None:
        """Take that a chunk is done, wherever that was."""
        self._done[chunk.index] = chunk.end - chunk.start
        self.tell()

    def tell(self) -> None:
        """Tell how far it is."""
        self._steps.far("candidates", sum(self._done.values()), self._of, None)


def _evaluated(
    executor: Executor, study: Study, todo: Sequence[Chunk], course: _Course
) -> Iterator[tuple[Chunk, Evaluated]]:
    """Hand chunks out, a bounded number ahead, and yield each as it comes back."""
    waiting: dict[Future[bytes], Chunk] = {}
    left = iter(todo)
    is_here = isinstance(executor, ThreadPoolExecutor)
    try:
        while True:
            while len(waiting) < AHEAD and (chunk := next(left, None)) is not None:
                told = (course.of(chunk),) if is_here else ()
                task = executor.submit(evaluate, chunk, study.catalog, *told)
                waiting[task] = chunk
            if not waiting:
                return
            finished, _ = wait(waiting, AGAIN, return_when=FIRST_COMPLETED)
            course.tell()
            # What succeeded is written before what failed is told.
            for future in sorted(finished, key=lambda each: bool(each.exception())):
                found = decode(future.result(), type=Evaluated)
                chunk = waiting.pop(future)
                course.ended(chunk)
                yield chunk, found
    finally:
        for future in waiting:
            future.cancel()


def _result(
    study: Study, parts: Parts, chunks: Sequence[Chunk], resumed: int, started: float
) -> SweepResult:
    tallies = list(parts.tallies())
    front = merged(list(parts.rows()), _RANKED[study.kind])
    if front:
        parts.write_front(front)
    return SweepResult(
        folder=str(parts.folder),
        chunks=len(chunks),
        resumed=resumed,
        candidates=sum(tally.covered for tally in tallies),
        evaluated=sum(tally.evaluated for tally in tallies),
        rejected=sum(tally.rejected for tally in tallies),
        checksum=f"{sum(int(tally.checksum, 16) for tally in tallies) % _HASH:016x}",
        front=len(front),
        seconds=time.perf_counter() - started,
    )


def merged(rows: list[dict[str, Any]], ranked: tuple[str, str]) -> list[dict[str, Any]]:
    """Keep the rows of each case that no other one of it beats, the cheapest first."""
    price, other = ranked
    ordered = sorted(rows, key=lambda r: (r["case"], r[price], r[other], r["index"]))
    front: list[dict[str, Any]] = []
    for row in ordered:
        last = front[-1] if front and front[-1]["case"] == row["case"] else None
        if last is None or row[other] < last[other]:
            front.append(row)
    return front
