"""Limits of a fleet file, each added up again (docs/reference/fleet.md, section 4)."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.mismatch import Mismatch
from planopt_reference.units import MICRO_USD_PER_USD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt_reference.assumptions import Cost
    from planopt_reference.fleet_serving import Bought

_TOLERANCE: Final = 1e-9


def limit_mismatches(
    plan: Mapping[str, Any],
    bought: list[Bought],
    request: Mapping[str, Any],
    cost: Cost,
) -> Iterator[Mismatch]:
    """Check budget, regions, stock, what is owned, and quotas."""
    pairs = list(zip(plan["acquisitions"], bought, strict=True))
    spent = sum(
        one.price * sum(table["units"]) for table, one in pairs if table["way"] == "buy"
    )
    budget = request.get("budget_usd")
    if budget is not None:
        yield from _within("budget_usd", spent / MICRO_USD_PER_USD, budget)
    for region in request["regions"]:
        here = [pair for pair in pairs if pair[0]["region"] == region["name"]]
        watts = sum(one.power_watts * sum(table["units"]) for table, one in here)
        height = sum(one.rack_units * sum(table["units"]) for table, one in here)
        hosts = sum(one.hosts * sum(table["units"]) for table, one in here)
        racks, of_a_rack = region.get("racks"), region.get("rack_watts")
        limits = {
            "power_watts": (watts, region.get("power_watts")),
            "racks": (height / cost.rack_units, racks),
            "switch_ports": (hosts, region.get("switch_ports")),
        }
        if racks is not None and of_a_rack is not None:
            limits["rack_watts"] = (watts, racks * of_a_rack)
        for name, (used, limit) in limits.items():
            if limit is not None:
                yield from _within(f"regions.{region['name']}.{name}", used, limit)
    yield from _stock(pairs, request)
    yield from _owned(pairs, request)
    yield from _quotas(plan, request)


def _within(name: str, used: float, limit: float) -> Iterator[Mismatch]:
    if used > limit * (1 + _TOLERANCE):
        yield Mismatch(f"request.{name}", limit, used, "the plan takes more")


def _stock(
    pairs: list[tuple[Any, Bought]], request: Mapping[str, Any]
) -> Iterator[Mismatch]:
    """Check that what is bought is for sale, and that there is enough of it."""
    taken: Counter[tuple[object, ...]] = Counter()
    for table, one in pairs:
        if table["way"] == "buy":
            key = table["accelerator"], table["host"], table["region"]
            taken[key] += one.accelerators * sum(table["units"])
    stock: Counter[tuple[object, ...]] = Counter()
    for source in request["buy"]:
        regions = [region["name"] for region in request["regions"]]
        of_it = [source["region"]] if source["region"] else regions
        keys = [(source["accelerator"], source["host"], region) for region in of_it]
        limit = source["stock"]
        used = sum(taken[key] for key in keys)
        for key in keys:
            stock[key] = 1
        alike = [
            other
            for other in request["buy"]
            if (other["accelerator"], other["host"])
            == (source["accelerator"], source["host"])
        ]
        if limit is not None and len(alike) == 1:
            yield from _within(f"buy.{source['accelerator']}.stock", used, limit)
    for where in taken:
        if not stock[where]:
            yield Mismatch("acquisitions", where, None, "this is not for sale")


def _owned(
    pairs: list[tuple[Any, Bought]], request: Mapping[str, Any]
) -> Iterator[Mismatch]:
    there: Counter[tuple[object, ...]] = Counter()
    for source in request["own"]:
        there[source["accelerator"], source["host"], source["region"]] += source[
            "hosts"
        ]
    for table, one in pairs:
        if table["way"] == "own":
            there[_at(table)] -= one.hosts * sum(table["units"])
    for key, left in there.items():
        if left < 0:
            yield Mismatch("request.own", key, left, "the plan uses more")


def _at(table: Mapping[str, Any]) -> tuple[object, ...]:
    return table["accelerator"], table["host"], table["region"]


def _quotas(plan: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[Mismatch]:
    quotas: dict[tuple[object, ...], float] = {}
    for source in request["rent"]:
        key: tuple[object, ...] = source["offer"], source["region"]
        quota = math.inf if source["quota"] is None else source["quota"]
        quotas[key] = max(quotas.get(key, 0), quota)
    for period in range(1, request["periods"] + 1):
        used: Counter[tuple[object, ...]] = Counter()
        for table in plan["deployments"]:
            if table["way"] == "rent":
                of_it = [r["units"] for r in table["rentals"] if r["period"] == period]
                key = table["hardware"]["host"], table["region"]
                used[key] += max(of_it, default=0)
        for key, count in used.items():
            if count > quotas.get(key, 0):
                yield Mismatch("request.rent", key, count, f"rented in period {period}")
