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
    micro_batches: int = 1
    """Micro-batches under way at the same time."""


@dataclass(frozen=True)
class Work:
    """The tokens that go through a step together."""

    chunks: tuple[tuple[int, int], ...] = ()
    """Tokens read of each prompt, and tokens cached before them."""
    contexts: tuple[int, ...] = ()
    """Tokens cached of each sequence that gets one."""


StepSeconds: TypeAlias = "Callable[[Work], tuple[float, float]]"
"""Seconds of a step, and until the next one of another micro_batch may start."""


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
    found: int = 0
    """Pages that were here before, beside its own."""

    ready: float = -math.inf
    """When what others have of its prompt is here."""

    @property
    def comes(self) -> float:
        """When it is put in the line."""
        return max(self.arrival, self.ready)

    @property
    def decodes(self) -> bool:
        """Whether its prompt, and what it lost when it was preempted, is read."""
        return self.cached >= self.to_read and self.put_out > 0


@dataclass(eq=False)
class _MicroBatch:
    members: list[Sequence_] = field(default_factory=list)
    reading: list[tuple[Sequence_, int]] = field(default_factory=list)
    decoding: list[Sequence_] = field(default_factory=list)
    ends: float = math.inf
    """When its step ends."""


class Engine:
    """One replica."""

    def __init__(self, limits: Limits, seconds: StepSeconds) -> None:
        self.limits, self.seconds = limits, seconds
        self.micro_batches = [_MicroBatch() for _ in range(limits.micro_batches)]
        self.line: list[Sequence_] = []
        self.accepts = 0.0
        self.turn = count()
        self.all_pages = limits.kv_tokens // limits.page_tokens
        self.coming: list[Sequence_] = []

    def run(self, requests: Sequence[tuple[float, int, int]]) -> list[Sequence_]:
        """Answer requests: when they arrive, tokens of the prompt and of the answer."""
        everybody = [Sequence_(*each, to_read=each[1]) for each in requests]
        self.coming = list(everybody)
        self._serve()
        return everybody

    def _serve(self) -> None:
        now = 0.0
        while (now := self.next(now)) < math.inf:
            self.advance(now)

    def next(self, now: float) -> float:
        """Say when something happens after `now`."""
        starts = self.accepts if self.accepts > now and self._wants() else math.inf
        times = [micro_batch.ends for micro_batch in self.micro_batches]
        times += [self.coming[0].comes] if self.coming else []
        return min([*times, starts])

    def advance(self, now: float) -> None:
        """Do what is due."""
        for micro_batch in self.micro_batches:
            if micro_batch.ends <= now:
                self._finish(micro_batch, now)
        while self.coming and self.coming[0].comes <= now:
            self._arrive(self.coming.pop(0))
        for micro_batch in self.micro_batches:
            if micro_batch.ends == math.inf and self.accepts <= now:
                self._start(micro_batch, now)

    def _arrive(self, each: Sequence_) -> None:
        self.line.append(each)

    def _wants(self) -> bool:
        idle = [
            micro_batch
            for micro_batch in self.micro_batches
            if micro_batch.ends == math.inf
        ]
        return any(micro_batch.members or self.line for micro_batch in idle)

    def _start(self, micro_batch: _MicroBatch, now: float) -> None:
        first = self.limits.decode_first
        if first:
            self._make_room(micro_batch)
        decoding = sum(each.decodes for each in micro_batch.members) if first else 0
        micro_batch.reading = list(
            self._chunks(micro_batch, self.limits.token_budget - decoding, now)
        )
        if not first and not micro_batch.reading:
            self._make_room(micro_batch)
        micro_batch.decoding = (
            [each for each in micro_batch.members if each.decodes]
            if first or not micro_batch.reading
            else []
        )
        chunks = tuple((tokens, each.cached) for each, tokens in micro_batch.reading)
        contexts = tuple(each.cached for each in micro_batch.decoding)
        if chunks or contexts:
            latency, interval = self.seconds(Work(chunks, contexts))
            micro_batch.ends, self.accepts = now + latency, now + interval

    def _finish(self, micro_batch: _MicroBatch, now: float) -> None:
        micro_batch.ends = math.inf
        for each in micro_batch.decoding:
            each.cached += 1
            self._gain(micro_batch, each, now)
        for each, tokens in micro_batch.reading:
            each.cached += tokens
            if each.cached == each.to_read:
                self._gain(micro_batch, each, now)

    def _gain(self, micro_batch: _MicroBatch, each: Sequence_, now: float) -> None:
        """Put out a token; the last one frees its place and pages."""
        each.put_out += 1
        if math.isnan(each.first):
            each.first = now
        if each.put_out == each.output:
            each.end = now
            self._leave(each)
            micro_batch.members.remove(each)

    def _found(self, _: Sequence_, /) -> tuple[int, int]:
        """Say how many pages of a prompt are here, and how many nobody holds."""
        return 0, 0

    def _hold(self, _: Sequence_, __: int, /) -> None:
        """Keep what was found for a sequence that is let in."""

    def _fetches(self, _: Sequence_, __: int, ___: float, /) -> bool:
        """Fetch what of a prompt is not here; whether it comes again once it is."""
        return False

    def _leave(self, each: Sequence_) -> None:
        """Take back the pages of a sequence."""
        each.pages = 0

    def _free(self) -> int:
        held = sum(
            each.pages
            for micro_batch in self.micro_batches
            for each in micro_batch.members
        )
        return self.all_pages - held

    def _of(self, tokens: int) -> int:
        return math.ceil(tokens / self.limits.page_tokens)

    def _make_room(self, micro_batch: _MicroBatch) -> None:
        """Give everybody who decodes the page of his next token; the latest go."""
        if self.limits.reserve:
            return
        while True:
            growing = {
                each: self._of(each.cached + 1) - each.found
                for each in micro_batch.members
                if each.decodes
            }
            needed = sum(pages - each.pages for each, pages in growing.items())
            if needed <= self._free():
                for each, pages in growing.items():
                    each.pages = pages
                return
            latest = max(micro_batch.members, key=lambda each: each.admitted)
            self._leave(latest)
            micro_batch.members.remove(latest)
            latest.to_read = latest.prompt + latest.put_out
            latest.cached = 0
            self.line.insert(0, latest)

    def _chunks(
        self, micro_batch: _MicroBatch, budget: int, now: float
    ) -> Iterator[tuple[Sequence_, int]]:
        """Read those who are being read in their order, then those in the line."""
        for each in [each for each in micro_batch.members if not each.decodes]:
            if budget <= 0:
                return
            tokens = min(budget, each.to_read - each.cached)
            budget -= tokens
            yield each, tokens
        while budget > 0 and self.line and self._admit(micro_batch, now):
            each = micro_batch.members[-1]
            tokens = min(budget, each.to_read - each.cached)
            budget -= tokens
            yield each, tokens

    def _admit(self, micro_batch: _MicroBatch, now: float) -> bool:
        here = sum(len(other.members) for other in self.micro_batches)
        share = math.ceil((here + len(self.line)) / len(self.micro_batches))
        if len(micro_batch.members) >= self.limits.max_sequences:
            return False
        if len(self.micro_batches) > 1 and len(micro_batch.members) >= share:
            return False
        each = self.line[0]
        whole = each.prompt + each.output if self.limits.reserve else 0
        found, idle = self._found(each)
        pages, free = self._of(max(each.to_read, whole)) - found, self._free()
        spare = math.floor(self.all_pages * WATERMARK)
        fits_alone = free == self.all_pages and pages + idle <= free
        if not fits_alone and pages + idle + spare > free:
            return False
        if self._fetches(each, found, now):
            self.line.pop(0)
            return bool(self.line) and self._admit(micro_batch, now)
        self._hold(each, found)
        each.pages, each.admitted = pages, next(self.turn)
        micro_batch.members.append(self.line.pop(0))
        return True
