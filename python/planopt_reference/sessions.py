"""A second, slow simulator of prompts that begin alike (serving.md, section 18).

Block by block: a table of all blocks that are there, and one order of those that nobody
holds. It shares no code and no random numbers with the core.
"""

from __future__ import annotations

import math
import random
from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import TYPE_CHECKING, TypeAlias

from planopt_reference.engine import Engine, Limits, Sequence_, StepSeconds

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterator, Sequence

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
class Tier:
    """A memory behind the engine, with a copy of all that is left in the cache."""

    kv_tokens: int
    seconds_per_token: float


@dataclass(eq=False)
class _Session:
    name: int
    said: int
    left: int


@dataclass(eq=False)
class Turn(Sequence_):
    """A prompt, of which others may have left the beginning."""

    text: Callable[[int], Block | None] = lambda _: None
    """The block at a place of it; none behind what is known."""
    shared: int = 0
    """Blocks that all begin with."""
    here: int = 0
    """The replica that it is served by."""
    session: _Session | None = None
    held: list[Block] = field(default_factory=list)
    looked: bool = False
    fetched: int = 0
    """Blocks of its beginning that memories behind have brought."""
    hit: int = 0
    """Tokens of its prompt that were found."""

    def blocks(self, most: int) -> Iterator[Block]:
        """Return its first blocks, as far as they are known."""
        known = takewhile(bool, (self.text(at) for at in range(most)))
        return (block for block in known if block)


class Replica(Engine):
    """An engine that keeps what was read as long as there is room."""

    def __init__(
        self,
        limits: Limits,
        seconds: StepSeconds,
        tiers: Sequence[Tier] = (),
        store: OrderedDict[Block, None] | None = None,
    ) -> None:
        super().__init__(limits, seconds)
        copies = [OrderedDict[Block, None]() for _ in tiers]
        if store is not None:
            copies[-1] = store  # the last one is a store that others have, too
        self.tiers = [*zip(tiers, copies, strict=True)]
        self.links = [0.0 for _ in tiers]
        self.holders: dict[Block, int] = {}
        self.idle: OrderedDict[Block, None] = OrderedDict()
        self.answered: list[Turn] = []

    def put(self, turn: Turn) -> None:
        """Take a turn when it comes."""
        self.coming.append(turn)
        self.coming.sort(key=lambda each: each.comes)

    @property
    def in_flight(self) -> int:
        """Tokens of those who are served, and of the prompts that wait for it."""
        held = (self.all_pages - self._free()) * self.limits.page_tokens
        return held + sum(each.to_read for each in self.line)

    def found(self, turn: Turn) -> int:
        """Count the tokens of a prompt that are here, but those that all begin with."""
        self._trim()
        own = self._beginning(turn, self.holders) - turn.shared
        return max(0, own) * self.limits.page_tokens

    def _arrive(self, each: Sequence_) -> None:
        """Put a turn in the line; who has waited for memories behind is first in it."""
        looked = isinstance(each, Turn) and each.looked
        self.line.insert(0 if looked else len(self.line), each)

    def _fetches(self, each: Sequence_, found: int, now: float, /) -> bool:
        """Fetch what only memories behind have of a prompt, once its turn comes."""
        if not self.tiers or not isinstance(each, Turn) or each.looked:
            return False
        each.looked, here = True, found
        for at, (tier, copies) in enumerate(self.tiers):
            there = self._beginning(each, copies)
            if there > here:
                tokens = (there - here) * self.limits.page_tokens
                self.links[at] = max(self.links[at], now)
                self.links[at] += tokens * tier.seconds_per_token
                each.ready = max(each.ready, self.links[at])
                each.fetched = here = there
        if each.ready > now:
            self.put(each)
        return each.ready > now

    def _beginning(self, turn: Turn, where: Container[Block]) -> int:
        """Count the first blocks of a prompt that are somewhere."""
        most = (turn.to_read - 1) // self.limits.page_tokens
        return sum(1 for _ in takewhile(where.__contains__, turn.blocks(most)))

    def _free(self) -> int:
        # What nobody holds is idle.
        return super()._free() - (len(self.holders) - len(self.idle))

    def _trim(self) -> None:
        while len(self.idle) > self._free():
            block, _ = self.idle.popitem(last=False)
            del self.holders[block]

    def _found(self, each: Sequence_, /) -> tuple[int, int]:
        if not isinstance(each, Turn):
            return super()._found(each)
        self._trim()
        found = self._beginning(each, self.holders)
        return found, sum(1 for block in each.blocks(found) if not self.holders[block])

    def _hold(self, each: Sequence_, found: int, /) -> None:
        if not isinstance(each, Turn):
            return
        each.held = [*each.blocks(found)]
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
        if not isinstance(each, Turn):
            return
        for block in each.held:
            self.holders[block] -= 1
        each.held, each.found = [], 0
        # The last is the first to go.
        for block in reversed([*each.blocks(each.cached // self.limits.page_tokens)]):
            if not self.holders.setdefault(block, 0):
                self.idle[block] = None
                self.idle.move_to_end(block)
            for _, copies in self.tiers:
                copies[block] = None
                copies.move_to_end(block)
        for tier, copies in self.tiers:
            while len(copies) > tier.kv_tokens // self.limits.page_tokens:
                copies.popitem(last=False)
        each.fetched, each.looked = 0, False
        if not math.isnan(each.end):
            self.answered.append(each)


Router: TypeAlias = "Callable[[Sequence[Replica], Turn], int]"
"""The place of the replica that a turn goes to."""


def even(_: Sequence[Replica], turn: Turn) -> int:
    """Leave a session where it is."""
    return turn.here


def anywhere(seed: int) -> Router:
    """Send each turn anywhere."""
    dice = random.Random(seed)
    return lambda replicas, _: dice.randrange(len(replicas))


def by_hash(seed: int) -> Router:
    """Send a session where its name leads."""

    def router(replicas: Sequence[Replica], turn: Turn) -> int:
        name = turn.session.name if turn.session else 0
        return random.Random(f"{seed} {name}").randrange(len(replicas))

    return router


def in_turn() -> Router:
    """Send each turn to the next."""
    turn = count()
    return lambda replicas, _: next(turn) % len(replicas)


def cache_aware(load_weight: float) -> Router:
    """Send each turn where least is left to read, in view of what is served there."""
    next_ = count()

    def router(replicas: Sequence[Replica], turn: Turn) -> int:
        first = next(next_)
        places = [(first + step) % len(replicas) for step in range(len(replicas))]

        def to_do(place: int) -> tuple[float, int]:
            served = replicas[place].in_flight
            return load_weight * served - replicas[place].found(turn), served

        return min(places, key=to_do)

    return router


class Replicas:
    """Several that are alike, behind a router."""

    def __init__(self, replicas: Sequence[Replica], router: Router) -> None:
        self.replicas, self.router = replicas, router
        self.coming: list[Turn] = []

    def serve(self, turns: Sequence[Turn]) -> list[Turn]:
        """Serve turns that come at times of their own."""
        self.coming = sorted(turns, key=lambda each: each.arrival)
        answered: list[Turn] = []
        now = 0.0
        while True:
            arrival = self.coming[0].arrival if self.coming else math.inf
            now = min(arrival, *(each.next(now) for each in self.replicas))
            if now == math.inf:
                return answered
            while self.coming and self.coming[0].arrival <= now:
                turn = self.coming.pop(0)
                turn.here = self.router(self.replicas, turn)
                self.replicas[turn.here].put(turn)
            for replica in self.replicas:
                replica.advance(now)
                for turn in replica.answered:
                    answered.append(turn)
                    self.leave(turn)
                replica.answered.clear()

    def leave(self, turn: Turn) -> None:
        """Let somebody go who has been answered."""


class Sessions(Replicas):
    """As many sessions, of which each is followed by another."""

    def __init__(
        self,
        replicas: Sequence[Replica],
        turns: Turns,
        alive: int,
        router: Router = even,
    ) -> None:
        super().__init__(replicas, router)
        self.turns, self.alive = turns, alive
        self.names = count(1)
        self.left = 0

    def serve_turns(self, turns: int) -> list[Turn]:
        """Serve so many turns."""
        self.left = turns
        each = range(self.alive)
        return self.serve(
            [self._turn(self.turns.think(), self._new(), place) for place in each]
        )[:turns]

    def _new(self) -> _Session:
        said = self.turns.shared + self.turns.first()
        return _Session(next(self.names), said, self.turns.turns())

    def _turn(self, when: float, session: _Session, place: int) -> Turn:
        shared = self.turns.shared // self.replicas[0].limits.page_tokens
        name = session.name
        turn = Turn(when, session.said, self.turns.output(), to_read=session.said)
        turn.text = lambda at: ("all", at) if at < shared else (name, at - shared)
        turn.shared, turn.session = shared, session
        turn.here = place % len(self.replicas)
        return turn

    def leave(self, turn: Turn) -> None:
        """Ask again, or let another session ask."""
        self.left -= 1
        session = turn.session
        if self.left <= 0 or session is None:
            self.coming.clear()
            return
        session.said += turn.output + self.turns.grow()
        session.left -= 1
        follows = session if session.left else self._new()
        again = self._turn(turn.end + self.turns.think(), follows, turn.here)
        self.coming.append(again)
        self.coming.sort(key=lambda each: each.arrival)


def traced(
    arrival: float,
    prompt: int,
    output: int,
    pieces: Sequence[int],
    tokens: int,
    page: int,
) -> Turn:
    """Return a request of a trace: its pieces of so many tokens, by their hashes."""
    known = min(prompt // page, len(pieces) * tokens // page)
    turn = Turn(arrival, prompt, output, to_read=prompt)
    turn.text = lambda at: (pieces[at * page // tokens], at) if at < known else None
    return turn
