"""What the cost of a plan consists of, and what moves it (model.md, section 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.cost import (
    amortised_usd_per_hour,
    cost_table,
    owning,
    rent_usd_per_hour,
)
from planopt_reference.derivation import unrecorded
from planopt_reference.mismatch import Mismatch, compared
from planopt_reference.units import MICRO_USD_PER_USD

if TYPE_CHECKING:
    from planopt_reference.assumptions import Cost
    from planopt_reference.cost import Owned
    from planopt_reference.rent import Rent

Document = Mapping[str, Any]

_WHY: Final = "the cost of the plan with this one thing otherwise"
_SECONDS_PER_HOUR: Final = 3600
_HOURS_PER_DAY: Final = 24
_MILLION: Final = 1e6
_PRICES: Final = ("accelerator_price", "other_prices")
_DUTIES: Final = (0.01, 0.02, 0.05, *(tenth / 10 for tenth in range(1, 11)))


def outlay_mismatches(
    plan: Document,
    owned: Sequence[Owned],
    tokens_per_second: float,
    cost: Cost,
    rents: Sequence[tuple[int, Rent | None]] = (),
) -> Iterator[Mismatch]:
    """Compute the parts of a plan's cost again, and what it is with one thing moved."""
    stated = plan.get("cost") or {}
    if "parts" not in stated:
        return
    with unrecorded():
        rented = rent_usd_per_hour(rents, cost)
        parts: dict[str, float] = {}
        for each in [*(owning(*one, cost) for one in owned), {"rent": rented}]:
            for line, paid in each.items():
                parts[line] = parts.get(line, 0.0) + paid
    for name in ("parts", "moves"):
        yield from once(f"cost.{name}", stated[name])
    told = {one["name"]: one["usd_per_hour"] for one in stated["parts"]}
    there = {name: usd for name, usd in parts.items() if usd}
    for name in sorted({*there, *told}):
        place = f"cost.parts.{name}"
        yield from compared(place, told.get(name), there.get(name), "as it is paid")
    if told.keys() == there.keys() and [*told] != [*there]:
        yield Mismatch("cost.parts", [*told], [*there], "in the order of the page")
    price, height = sum(one[0] for one in owned), sum(one[2] for one in owned)
    told_height = (plan.get("totals") or {}).get("rack_units")
    yield from compared("totals.rack_units", told_height, float(height), _WHY)

    def table(moved: Cost, paid: float = 1.0, speed: float = 1.0) -> dict[str, Any]:
        with unrecorded():
            return cost_table(
                [(round(usd * paid), watts, units) for usd, watts, units in owned],
                tokens_per_second * speed,
                moved,
                rent_usd_per_hour(rents, moved),
            )

    def per_million(moved: Cost, **otherwise: float) -> float:
        return float(table(moved, **otherwise)["usd_per_million_tokens"])

    def hourly(duty: float) -> float:
        return float(table(replace(cost, duty=duty))["usd_per_hour"])

    yield from _sell_mismatches(plan, hourly, price, tokens_per_second, cost)
    duties = [at["duty"] for at in stated["at_duty"]]
    if duties and duties != list(_DUTIES):
        yield Mismatch("cost.at_duty", duties, list(_DUTIES), "each once, in order")
    for index, at in enumerate(stated["at_duty"]):
        field = f"cost.at_duty[{index}].usd_per_million_tokens"
        told_usd, usd = at["usd_per_million_tokens"], replace(cost, duty=at["duty"])
        yield from compared(field, told_usd, per_million(usd), _WHY)
    cards = _price_of_accelerators(plan) * MICRO_USD_PER_USD / price if price else 0.0
    shares = dict(zip(_PRICES, (cards, 1 - cards), strict=True))
    for index, move in enumerate(stated["moves"]):
        yield from _move_mismatches(index, move, cost, shares, per_million)


def _sell_mismatches(
    plan: Document,
    hourly: Callable[[float], float],
    price: int,
    tokens_per_second: float,
    cost: Cost,
) -> Iterator[Mismatch]:
    """Compute again what selling tokens comes to; both sides are lines in the duty."""
    request, told = plan["request"], plan.get("sell") or {}
    sold = request.get("sell") or {}
    expected: dict[str, float | None] = {}
    if sold:
        read_per_token = (request["prompt_tokens"] or 0) / (
            request["output_tokens"] or 1
        )
        of_token = sold.get("out", 0.0) + sold.get("in", 0.0) * read_per_token
        full = tokens_per_second * _SECONDS_PER_HOUR / _MILLION * of_token
        half, whole = hourly(0.5), hourly(1.0)
        each = 2 * (whole - half)
        even = (whole - each) / (full - each) if full > each else None
        revenue, paid = full * cost.duty, hourly(cost.duty)
        running = paid - amortised_usd_per_hour(price, cost)
        days = None
        if price and revenue > running:
            earned = (revenue - running) * _HOURS_PER_DAY
            days = price / MICRO_USD_PER_USD / earned
        expected = {
            "revenue_usd_per_hour": revenue,
            "margin_usd_per_hour": revenue - paid,
            "break_even_utilisation": None if even is None or even > 1 else even,
            "payback_days": days,
        }
    for name in sorted({*told, *expected}):
        yield from compared(
            f"sell.{name}", told.get(name), expected.get(name), "as tokens are sold"
        )


def nothing_itemised(plan: Document) -> Iterator[Mismatch]:
    """Check that a plan without one purchase of its own says nothing of its cost."""
    told = {
        "cost.parts": (plan.get("cost") or {}).get("parts"),
        "totals.rack_units": (plan.get("totals") or {}).get("rack_units"),
    }
    for index, one in enumerate(plan.get("deployments") or ()):
        place = f"deployments[{index}].evaluation.time_parts"
        told[place] = one["evaluation"].get("time_parts")
    for field, stated in told.items():
        if stated:
            yield Mismatch(field, stated, None, "there is no such cost or time")


def _move_mismatches(
    index: int,
    move: Document,
    cost: Cost,
    shares: Mapping[str, float],
    per_million: Callable[..., float],
) -> Iterator[Mismatch]:
    name = move["name"]
    for end in ("low", "high"):
        if name in shares:
            usd = per_million(cost, paid=1 + shares[name] * (move[end] - 1))
        elif name == "speed":
            usd = per_million(cost, speed=move[end])
        else:
            usd = per_million(replace(cost, **{name: move[end]}))
        key = f"at_{end}_usd_per_million_tokens"
        yield from compared(f"cost.moves[{index}].{key}", move[key], usd, _WHY)


def _price_of_accelerators(plan: Document) -> float:
    lines = plan.get("bill_of_materials") or ()
    return sum(one["price_usd"] or 0.0 for one in lines if one["kind"] == "accelerator")


def once(
    field: str, named: Sequence[Document], order: Iterable[str] | None = None
) -> Iterator[Mismatch]:
    """Ask that no name stands twice in a list, and each where it has its place."""
    names = [one["name"] for one in named]
    expected = [name for name in order or dict.fromkeys(names) if name in names]
    if names != expected:
        yield Mismatch(field, names, expected, "each once, in its place")


# --- Times, and the peak --------------------------------------------------------------


def time_mismatches(
    field: str, evaluation: Document, percentile: str | None
) -> Iterator[Mismatch]:
    """Add up the parts of a token's time: they are what is judged, or a full batch."""
    stated = evaluation.get("time_parts")
    if stated is None:
        return
    decode = evaluation["decode"]
    token = decode["tpot_seconds"]
    judged = (evaluation.get("tpot_seconds") or {}).get(percentile) or 0.0
    expected = {
        name: decode[name] * token / decode["step_seconds"]
        for name in decode
        if name.endswith("_seconds") and name not in ("step_seconds", "tpot_seconds")
    }
    expected["load_seconds"] = max(judged - token, 0.0)
    yield from once(f"{field}.time_parts", stated, expected)
    told = {one["name"]: one["seconds"] for one in stated}
    for name in sorted({*expected, *told}):
        place = f"{field}.time_parts.{name}"
        seconds = expected.get(name) or None
        yield from compared(place, told.get(name), seconds, "as its steps take")


def peak_mismatches(field: str, evaluation: Document) -> Iterator[Mismatch]:
    """Divide the time of a step by what it goes into."""
    stated = evaluation.get("peak_parts") or ()
    step = evaluation["step_seconds"]
    computing = evaluation["compute_seconds"] / step
    expected = {
        "model": evaluation["mfu"],
        "kernels": computing - evaluation["mfu"],
        "bubble": evaluation["bubble_seconds"] / step,
        "communication": evaluation["exposed_communication_seconds"] / step,
        "host": evaluation["host_seconds"] / step,
    }
    yield from once(f"{field}.peak_parts", stated, expected)
    told = {one["name"]: one["share"] for one in stated}
    yield from compared(f"{field}.peak_parts", told, expected, "as a step goes")
