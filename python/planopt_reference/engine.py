"""A second, slow simulator of an engine under a load (serving.md, sections 1 and 4).

Step by step and sequence by sequence, from the description alone: no sums that are kept
up to date, no steps at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

WATERMARK = 0.01
"""Share of the pages that an admission leaves free (vLLM)."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What an engine may do in a step, and how much it holds."""

    token_budget: int
    max_sequences: int
    kv_tokens: int
    page_tokens: int
    decode_first: bool
    reserve: bool
    """Whether whoever is admitted gets the pages of his whole answer."""
    lanes: int = 1
    """Micro-batches under way at the same time."""


@dataclass(frozen=True)
class Work:
    """The tokens that go through a step together."""

    chunks: tuple[tuple[int, int], ...] = ()
    """Tokens read of each prompt, and tokens cached before them."""
    contexts: tuple[int, ...] = ()
    """Tokens cached of each sequence that gets one."""


StepSeconds: TypeAlias = "Callable[[Work], tuple[float, float]]"
"""Seconds of a step, and until the next one of another lane may start."""


@dataclass(eq=False)
class Sequence_:
    """A request in the engine."""

    arrival: float
    prompt: int
    output: int
    cached: int = 0
    put_out: int = 0
    to_read: int = 0
    first: float = math.nan
    end: float = math.nan
    admitted: int = 0
    pages: int = 0

    @property
    def decodes(self) -> bool:
        """Whether its prompt, and what it lost when it was preempted, is read."""
        return self.cached >= self.to_read and self.put_out > 0


@dataclass(eq=False)
class _Lane:
    members: list[Sequence_] = field(default_factory=list)
    reading: list[tuple[Sequence_, int]] = field(default_factory=list)
    decoding: list[Sequence_] = field(default_factory=list)
    ends: float = math.inf
    """When its step ends."""


class Engine:
    """One replica."""

    def __init__(self, limits: Limits, seconds: StepSeconds) -> None:
        self.limits, self.seconds = limits, seconds
        self.lanes = [_Lane() for _ in range(limits.lanes)]
        self.line: list[Sequence_] = []
        self.accepts = 0.0
        self.turn = count()
        self.all_pages = limits.kv_tokens // limits.page_tokens

    def run(self, requests: Sequence[tuple[float, int, int]]) -> list[Sequence_]:
        """Answer requests: when they arrive, tokens of the prompt and of the answer."""
        everybody = [Sequence_(*each, to_read=each[1]) for each in requests]
        coming = list(everybody)
        now = 0.0
        while True:
            starts = self.accepts if self.accepts > now and self._wants() else math.inf
            times = [lane.ends for lane in self.lanes]
            times += [coming[0].arrival] if coming else []
            now = min([*times, starts])
            if now == math.inf:
                return everybody
            for lane in self.lanes:
                if lane.ends <= now:
                    self._finish(lane, now)
            while coming and coming[0].arrival <= now:
                self.line.append(coming.pop(0))
            for lane in self.lanes:
                if lane.ends == math.inf and self.accepts <= now:
                    self._start(lane, now)

    def _wants(self) -> bool:
        idle = [lane for lane in self.lanes if lane.ends == math.inf]
        return any(lane.members or self.line for lane in idle)

    def _start(self, lane: _Lane, now: float) -> None:
        first = self.limits.decode_first
        if first:
            self._make_room(lane)
        decoding = sum(each.decodes for each in lane.members) if first else 0
        lane.reading = list(self._chunks(lane, self.limits.token_budget - decoding))
        if not first and not lane.reading:
            self._make_room(lane)
        lane.decoding = (
            [each for each in lane.members if each.decodes]
            if first or not lane.reading
            else []
        )
        chunks = tuple((tokens, each.cached) for each, tokens in lane.reading)
        contexts = tuple(each.cached for each in lane.decoding)
        if chunks or contexts:
            latency, interval = self.seconds(Work(chunks, contexts))
            lane.ends, self.accepts = now + latency, now + interval

    def _finish(self, lane: _Lane, now: float) -> None:
        lane.ends = math.inf
        for each in lane.decoding:
            each.cached += 1
            self._gain(lane, each, now)
        for each, tokens in lane.reading:
            each.cached += tokens
            if each.cached == each.to_read:
                self._gain(lane, each, now)

    def _gain(self, lane: _Lane, each: Sequence_, now: float) -> None:
        """Put out a token; the last one frees its place and pages."""
        each.put_out += 1
        if math.isnan(each.first):
            each.first = now
        if each.put_out == each.output:
            each.end, each.pages = now, 0
            lane.members.remove(each)

    def _free(self) -> int:
        held = sum(each.pages for lane in self.lanes for each in lane.members)
        return self.all_pages - held

    def _of(self, tokens: int) -> int:
        return math.ceil(tokens / self.limits.page_tokens)

    def _make_room(self, lane: _Lane) -> None:
        """Give everybody who decodes the page of his next token; the latest go."""
        if self.limits.reserve:
            return
        while True:
            growing = {
                each: self._of(each.cached + 1) for each in lane.members if each.decodes
            }
            needed = sum(pages - each.pages for each, pages in growing.items())
            if needed <= self._free():
                for each, pages in growing.items():
                    each.pages = pages
                return
            latest = max(lane.members, key=lambda each: each.admitted)
            lane.members.remove(latest)
            latest.to_read = latest.prompt + latest.put_out
            latest.cached = latest.pages = 0
            self.line.insert(0, latest)

    def _chunks(self, lane: _Lane, budget: int) -> Iterator[tuple[Sequence_, int]]:
        """Read those who are being read in their order, then those in the line."""
        for each in [each for each in lane.members if not each.decodes]:
            if budget <= 0:
                return
            tokens = min(budget, each.to_read - each.cached)
            budget -= tokens
            yield each, tokens
        while budget > 0 and self.line and self._admit(lane):
            each = lane.members[-1]
            tokens = min(budget, each.to_read)
            budget -= tokens
            yield each, tokens

    def _admit(self, lane: _Lane) -> bool:
        here = sum(len(other.members) for other in self.lanes)
        share = math.ceil((here + len(self.line)) / len(self.lanes))
        if len(lane.members) >= self.limits.max_sequences:
            return False
        if len(self.lanes) > 1 and len(lane.members) >= share:
            return False
        each = self.line[0]
        whole = each.prompt + each.output if self.limits.reserve else 0
        pages, free = self._of(max(each.to_read, whole)), self._free()
        spare = math.floor(self.all_pages * WATERMARK)
        fits_alone = free == self.all_pages and pages <= free
        if not fits_alone and pages + spare > free:
            return False
        each.pages, each.admitted = pages, next(self.turn)
        lane.members.append(self.line.pop(0))
        return True
