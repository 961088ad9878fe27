"""A plan and its alternatives in scenarios, drawn again (model.md, 9)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from operator import add
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.certainty import kind
from planopt_reference.mismatch import Mismatch, compared
from planopt_reference.pools import answering
from planopt_reference.promises import delivered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from planopt_reference.facts import Facts

    Document = Mapping[str, Any]

_SPREADS: Final = {
    "demand_spread": 0.2,
    "common_price_spread": 0.1,
    "own_price_spread": 0.08,
    "later_price_ratio": 1.3,
}
_COMMON: Final = ("accelerator", "host")
_SECONDS_PER_DAY: Final = 86_400
_MEASURED_IN: Final = 100
_WORD: Final = (1 << 64) - 1


@dataclass(frozen=True)
class Offer:
    """A plan: dollars by part, what runs where, and the room that it has."""

    parts: Sequence[tuple[str, str, float]]
    runs: Sequence[tuple[str, float | None, float | None]]
    """Accelerator, how much longer steps may be, and what is carried of the demand."""
    most: float | None

    def cost(self, world: World) -> float:
        """Return its price in a world."""
        return sum(usd * world.price(kind, id_) for kind, id_, usd in self.parts)

    def lacks(self, demand: float, slower: Callable[[str], float]) -> float | None:
        """Return how much more of it is needed; none where more of it is too slow."""
        for card, room, _ in self.runs:
            if room is not None and slower(card) > room:
                return None
        carried = [
            all_ / slower(card) for card, _, all_ in self.runs if all_ is not None
        ]
        bounds = [sum(carried)] if carried else []
        bounds += [] if self.most is None else [self.most]
        return max([0.0, *(demand / bound - 1 for bound in bounds)])


class World:
    """One draw of demand, prices and errors."""

    def __init__(
        self,
        number: int,
        seed: int,
        error: Callable[[str, float], float],
        spread: float,
    ) -> None:
        self._number, self._seed, self._error = number, seed, error
        self.demand = math.exp(spread * self._normal("demand") - spread**2 / 2)

    def _normal(self, name: str) -> float:
        """Draw a factor: two outputs of splitmix64, by Box and Muller."""
        state = 0xCBF29CE484222325
        for byte in name.encode():
            state = (state ^ byte) * 0x100000001B3 & _WORD
        one, two = (
            _uniform((state ^ self._seed) + place * 0x9E3779B97F4A7C15)
            for place in (2 * self._number + 1, 2 * self._number + 2)
        )
        return math.sqrt(-2 * math.log(one)) * math.cos(2 * math.pi * two)

    def price(self, kind: str, id_: str) -> float:
        """Return how many times its price a part costs."""
        moved = _SPREADS["own_price_spread"] * self._normal(f"{kind}/{id_}")
        if kind in _COMMON:
            common = self._normal("memory and wafers")
            moved += _SPREADS["common_price_spread"] * common
        return math.exp(moved)

    def slower(self, card: str) -> float:
        """Return how many times longer than predicted steps of a kind are."""
        return self._error(card, self._normal(card))


def _uniform(state: int) -> float:
    mixed = state & _WORD
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _WORD
    return (((mixed ^ mixed >> 31) >> 11) + 1) / 2**53


def scenario_mismatches(
    plan: Document, request: Document, facts: Facts
) -> Iterator[Mismatch]:
    """Draw the scenarios again that a plan was compared in, where it was asked for."""
    told, number = plan.get("scenarios"), request.get("scenarios")
    if (told is None) != (number is None):
        yield Mismatch("scenarios", told, number, "as many as were asked for")
    if told is None or number is None:
        measured = plan.get("worth_measuring") or None
        reason = "nothing is weighed without scenarios"
        yield from compared("worth_measuring", measured, None, reason)
        return
    yield from compared("scenarios.drawn", told.get("drawn"), number, "asked for")
    training = plan.get("kind") == "training"
    # Another seed could be chosen for what it says.
    spreads = {**_SPREADS, "seed": 1, "demand_spread": 0.0 if training else 0.2}
    stated = {name: told.get(name) for name in spreads}
    yield from compared("scenarios", stated, spreads, "model.md, 9")
    by_name = {one["summary"]: one for one in plan.get("alternatives") or ()}
    named = [each["summary"] for each in told["regret"]]
    others = [by_name.get(name) for name in named[1:]]
    if named[:1] != ["the plan"] or None in others or len({*named}) < len(named):
        reason = "the plan, and alternatives of it"
        yield Mismatch("scenarios.regret", named, sorted(by_name), reason)
        return
    own = _run(plan, request) if training else _served(plan, request)
    offers = [own, *(_other(plan, request, own, one) for one in others if one)]
    for each, offer in zip(told["regret"], offers, strict=True):
        card = offer.runs[0][0]
        where = f"scenarios.{each['summary']}.accelerator"
        yield from compared(where, each["accelerator"], card, "what it runs on")
    cards = {card for offer in offers for card, _, _ in offer.runs}
    kinds = {card: kind(facts, request, card) for card in cards}

    def worlds_of(number: int) -> list[World]:
        spread = spreads["demand_spread"]
        return [
            World(place, told["seed"], lambda card, z: kinds[card].at(z), spread)
            for place in range(number)
        ]

    worlds = worlds_of(number)
    yield from _risk_mismatches(told, _judged(offers, worlds))
    results = worlds_of(_MEASURED_IN)
    measured = plan.get("worth_measuring") or ()
    yield from _worth_mismatches(measured, named, offers, results)


def _judged(
    offers: Sequence[Offer], worlds: Sequence[World]
) -> tuple[float, list[dict[str, float]]]:
    """Tell the share of scenarios in which none holds, and what each plan comes to."""
    costs: list[list[float]] = [[] for _ in offers]
    regrets: list[list[float]] = [[] for _ in offers]
    best, holds, none = [0] * len(offers), [0] * len(offers), 0
    for world in worlds:
        prices = [offer.cost(world) for offer in offers]
        lacks = [offer.lacks(world.demand, world.slower) for offer in offers]
        holding = [place for place, each in enumerate(lacks) if each == 0]
        cheapest = min(holding, key=prices.__getitem__, default=None)
        here = _costs(prices, lacks)
        for place, lack in enumerate(lacks):
            holds[place] += lack == 0
            best[place] += place == cheapest
        none += cheapest is None
        for place, cost in enumerate(here):
            costs[place].append(cost)
            regrets[place].append(cost - min(here))
    told = [
        {
            "p_best": best[place] / len(worlds),
            "p_holds": holds[place] / len(worlds),
            **{f"price_usd_p{at}": _quantile(costs[place], at) for at in (50, 80, 95)},
            **{
                f"regret_usd_p{at}": _quantile(regrets[place], at)
                for at in (50, 80, 95)
            },
            "cvar95_usd": _worst(costs[place]),
        }
        for place in range(len(offers))
    ]
    return none / len(worlds), told


def _costs(prices: Sequence[float], lacks: Sequence[float | None]) -> list[float]:
    """Return what plans come to with what is bought later."""
    both = [*zip(prices, lacks, strict=True)]
    holding = [price for price, lack in both if lack == 0]
    costs = []
    for price, lack in both:
        ways = [] if lack is None else [lack * price]
        ways += [min(holding)] if holding else []
        later = min(ways, default=price)
        costs.append(price + _SPREADS["later_price_ratio"] * later)
    return costs


# Section 9, "What measuring a kind is worth".
def _worth(
    offers: Sequence[Offer], worlds: Sequence[World], card: str
) -> dict[str, float | int]:
    """Return what it is worth to know how fast a kind is before anything is bought."""
    prices = [sum(usd for _, _, usd in offer.parts) for offer in offers]
    cards = {one for offer in offers for one, _, _ in offer.runs}
    slow = {one: [world.slower(one) for world in worlds] for one in cards}
    alone = len(cards) == 1
    after = []
    for result in range(len(worlds)):
        sums = [0.0] * len(offers)
        for other in [result] if alone else range(len(worlds)):
            of = {one: slow[one][result if one == card else other] for one in cards}
            lacks = [offer.lacks(1.0, of.__getitem__) for offer in offers]
            sums = [*map(add, sums, _costs(prices, lacks))]
        after.append([each / (1 if alone else len(worlds)) for each in sums])
    before = [sum(each) / len(after) for each in zip(*after, strict=True)]
    chosen = before.index(min(before))
    bought = [each.index(min(each)) for each in after]
    others = Counter(sorted(place for place in bought if place != chosen))
    paid = sum(min(each) for each in after) / len(after)
    return {
        "changes_choice": others.total() / len(after),
        "saves_usd": before[chosen] - paid,
        "chosen": chosen,
        "instead": max(others, key=others.__getitem__, default=chosen),
    }


def _worth_mismatches(
    told: Sequence[Document],
    named: Sequence[str],
    offers: Sequence[Offer],
    worlds: Sequence[World],
) -> Iterator[Mismatch]:
    reason = "of the kinds' errors, drawn again"
    cards = sorted({card for offer in offers for card, _, _ in offer.runs})
    found = {card: _worth(offers, worlds, card) for card in cards}
    there = {card: each for card, each in found.items() if each["changes_choice"]}
    order = sorted(there, key=lambda card: -there[card]["saves_usd"])
    stated = [one["accelerator"] for one in told]
    yield from compared("worth_measuring.accelerator", stated, order, reason)
    for place, (one, card) in enumerate(zip(told, order, strict=False)):
        each: dict[str, object] = {**there[card]}
        each["instead"] = named[int(there[card]["instead"])]
        each["without"] = named[int(there[card]["chosen"])]
        del each["chosen"]
        stated_of = {name: one.get(name) for name in each}
        yield from compared(f"worth_measuring[{place}]", stated_of, each, reason)


def _quantile(figures: Sequence[float], percent: int) -> float:
    """Return the least figure that a percentage does not exceed."""
    return sorted(figures)[max(1, -(-len(figures) * percent // 100)) - 1]


def _worst(figures: Sequence[float]) -> float:
    number = -(-len(figures) * 5 // 100)
    return sum(sorted(figures)[-number:]) / number


def _risk_mismatches(
    told: Document, found: tuple[float, Sequence[Mapping[str, float]]]
) -> Iterator[Mismatch]:
    none, risks = found
    reason = "of the same scenarios, drawn again"
    field = "scenarios.p_none_holds"
    yield from compared(field, told.get("p_none_holds"), none, reason)
    own = {name: at for name, at in risks[0].items() if not name.startswith("regret")}
    yield from compared(
        "scenarios", {name: told.get(name) for name in own}, own, reason
    )
    for place, (each, risk) in enumerate(zip(told["regret"], risks, strict=True)):
        stated = {name: each.get(name) for name in risk}
        yield from compared(f"scenarios.regret[{place}]", stated, risk, reason)


def _parts(bill: Sequence[Document]) -> list[tuple[str, str, float]]:
    return [
        (line["kind"], line["id"], line["price_usd"])
        for line in bill
        if line.get("price_usd") and not line.get("owned")
    ]


def _served(plan: Document, request: Document) -> Offer:
    timed = request.get("target_tokens_per_second") or request.get("ttft_seconds")
    held = {one["accelerator"]: one.get("held_to") for one in plan["evidence"]["kinds"]}
    cards = [one["candidate"]["accelerator"] for one in plan["deployments"]]
    rooms = [held[card] if timed else None for card in cards]
    rates = [
        one["evaluation"]["decode"]["tokens_per_second"]
        * one["replicas"]
        * (one.get("role") != "prefill")
        for one in plan["deployments"]
    ]
    runs = zip(cards, rooms, _carried(request, rates, rooms), strict=True)
    most = _most(request, plan["totals"]["concurrency"])
    return Offer(_parts(plan["bill_of_materials"]), [*runs], most)


def _carried(
    request: Document, rates: Sequence[float], rooms: Sequence[float | None]
) -> list[float | None]:
    asked = request.get("throughput_tokens_per_second")
    if asked:
        return [rate / asked for rate in rates]
    if request.get("percentile") is None:
        return [None for _ in rates]
    return [
        None if None in rooms or room is None else room * rate / sum(rates)
        for rate, room in zip(rates, rooms, strict=True)
    ]


def _most(request: Document, users: int | None) -> float | None:
    asked: int | None = request.get("concurrency")
    if request.get("requests_per_second") or not asked or not users:
        return None
    return users / asked


def _other(plan: Document, request: Document, own: Offer, other: Document) -> Offer:
    """Return an alternative, with the plan's room by the speed of its steps."""
    card, parts = other["candidate"]["accelerator"], _parts(other["bill_of_materials"])
    if plan.get("kind") == "training":
        return Offer(
            parts, [(card, _in_time(request, other, other["days"]), None)], None
        )
    rooms = [room for _, room, _ in own.runs if room is not None]
    speed = "tokens_per_second_per_user"
    answers = answering(plan["deployments"])
    slowest = min(one["evaluation"]["decode"][speed] for one in answers)
    room = min(rooms) * other[speed] / slowest if rooms else None
    (carried,) = _carried(request, [other["tokens_per_second"]], [room])
    return Offer(parts, [(card, room, carried)], _most(request, other["users"]))


def _run(plan: Document, request: Document) -> Offer:
    (one,) = plan["deployments"]
    room = _in_time(request, one, one["evaluation"]["days"])
    card = one["candidate"]["accelerator"]
    return Offer(_parts(plan["bill_of_materials"]), [(card, room, None)], None)


def _in_time(request: Document, one: Document, days: float) -> float | None:
    deadline: float | None = request.get("deadline_seconds")
    if not deadline:
        return None
    return (deadline - delivered(request, one)) / _SECONDS_PER_DAY / days
