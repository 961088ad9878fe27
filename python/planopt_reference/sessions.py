"""A second, slow simulator of sessions and their prefix cache (serving.md, section 18).

Block by block: a table of all blocks that are there, and one order of those that nobody
holds. It shares no code and no random numbers with the core.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from planopt_reference.engine import Engine, Limits, Sequence_, StepSeconds

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterator

Block = tuple["Hashable", int]


@dataclass(frozen=True)
class Turns:
    """What a session is made of; each figure is drawn when it is needed."""

    shared: int
    first: Callable[[], int]
    grow: Callable[[], int]
    output: Callable[[], int]
    turns: Callable[[], int]
    think: Callable[[], float]


@dataclass(frozen=True)
class Host:
    """Memory behind the engine, which gets a copy of all that is left in the cache."""

    kv_tokens: int
    seconds_per_token: float


@dataclass(eq=False)
class _Session:
    name: int
    said: int
    left: int


@dataclass(eq=False)
class _Turn(Sequence_):
    session: _Session | None = None
    held: list[Block] = field(default_factory=list)
    looked: bool = False
    fetched: int = 0
    """Blocks of its beginning that the host has brought."""
    hit: int = 0
    """Tokens of its prompt that were found."""


class Sessions(Engine):
    """One replica with so many sessions, of which each is followed by another."""

    def __init__(
        self,
        limits: Limits,
        seconds: StepSeconds,
        turns: Turns,
        alive: int,
        host: Host | None = None,
    ) -> None:
        super().__init__(limits, seconds)
        self.host, self.link = host, 0.0
        self.copies: OrderedDict[Block, None] = OrderedDict()
        self.turns, self.alive = turns, alive
        self.names = 0
        self.holders: dict[Block, int] = {}
        self.idle: OrderedDict[Block, None] = OrderedDict()
        self.answered: list[_Turn] = []
        self.most = 0

    def serve(self, turns: int) -> list[_Turn]:
        """Serve so many turns."""
        self.most = turns
        for _ in range(self.alive):
            self._ask(self.turns.think(), self._new())
        self._serve()
        return self.answered

    def _new(self) -> _Session:
        self.names += 1
        said = self.turns.shared + self.turns.first()
        return _Session(self.names, said, self.turns.turns())

    def _ask(self, when: float, session: _Session) -> None:
        turn = _Turn(when, session.said, self.turns.output(), to_read=session.said)
        turn.session = session
        self.coming.append(turn)
        self.coming.sort(key=lambda each: each.comes)

    def _arrive(self, each: Sequence_, now: float) -> None:
        """Put a turn in the line, once what the host alone has of it is here."""
        if self.host is None or not isinstance(each, _Turn) or each.looked:
            super()._arrive(each, now)
            return
        each.looked = True
        self._trim()
        here, there = (
            self._beginning(each, self.holders),
            self._beginning(each, self.copies),
        )
        if there > here:
            each.fetched = there
            tokens = (there - here) * self.limits.page_tokens
            self.link = max(self.link, now) + tokens * self.host.seconds_per_token
            each.ready = self.link
        self.coming.append(each)
        self.coming.sort(key=lambda other: other.comes)

    def _beginning(self, turn: _Turn, where: Container[Block]) -> int:
        """Count the first blocks of a prompt that are somewhere."""
        most = (turn.to_read - 1) // self.limits.page_tokens
        blocks = zip(self._blocks(turn), range(most), strict=False)
        return next((at for block, at in blocks if block not in where), most)

    def _blocks(self, turn: _Turn) -> Iterator[Block]:
        page, session = self.limits.page_tokens, turn.session
        shared = self.turns.shared // page
        at = 0
        while session is not None:
            own = at - shared
            yield ("all", at) if own < 0 else (session.name, own)
            at += 1

    def _free(self) -> int:
        held = sum(1 for holders in self.holders.values() if holders)
        return super()._free() - held

    def _trim(self) -> None:
        while len(self.idle) > self._free():
            block, _ = self.idle.popitem(last=False)
            del self.holders[block]

    def _found(self, each: Sequence_, /) -> tuple[int, int]:
        if not isinstance(each, _Turn):
            return super()._found(each)
        self._trim()
        found = self._beginning(each, self.holders)
        first = zip(self._blocks(each), range(found), strict=False)
        return found, sum(1 for block, _ in first if not self.holders[block])

    def _hold(self, each: Sequence_, found: int, /) -> None:
        if not isinstance(each, _Turn):
            return
        each.held = [
            block for block, _ in zip(self._blocks(each), range(found), strict=False)
        ]
        each.found = found
        for block in each.held:
            self.holders[block] += 1
            self.idle.pop(block, None)
        each.cached = max(found, each.fetched) * self.limits.page_tokens
        if each.to_read == each.prompt:
            each.hit = each.cached

    def _leave(self, each: Sequence_) -> None:
        self._trim()
        super()._leave(each)
        if not isinstance(each, _Turn) or each.session is None:
            return
        for block in each.held:
            self.holders[block] -= 1
        each.held, each.found = [], 0
        full = each.cached // self.limits.page_tokens
        left = [
            block for block, _ in zip(self._blocks(each), range(full), strict=False)
        ]
        # The last is the first to go.
        for block in reversed(left):
            if not self.holders.setdefault(block, 0):
                self.idle[block] = None
                self.idle.move_to_end(block)
            self.copies[block] = None
            self.copies.move_to_end(block)
        room = self.host.kv_tokens // self.limits.page_tokens if self.host else 0
        while len(self.copies) > room:
            self.copies.popitem(last=False)
        each.fetched = 0
        if math.isnan(each.end):
            return
        self.answered.append(each)
        if len(self.answered) >= self.most:
            self.coming.clear()
            self.most = 0
        if not self.most:
            return
        session = each.session
        session.said += each.output + self.turns.grow()
        session.left -= 1
        self._ask(
            each.end + self.turns.think(), session if session.left else self._new()
        )
