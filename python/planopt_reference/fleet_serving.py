"""Units of a fleet, computed again (docs/reference/fleet.md, section 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.certainty import judged
from planopt_reference.cluster import cluster
from planopt_reference.cost import cost_table, rent_usd_per_hour
from planopt_reference.layout import configuration, hardware_and_ranks
from planopt_reference.mismatch import Mismatch, compared, compared_money
from planopt_reference.purchase import Line, unit
from planopt_reference.remarks import interval_mismatches
from planopt_reference.serving import evaluate_serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt_reference.facts import Facts
    from planopt_reference.fleet_demand import Demand

_UTILISATION: Final = 0.8
_PER_UNIT: Final = 10**6
_MICRO_USD_PER_CENT: Final = 10**4
_MODEL: Final = "recomputed from the model page"
_PARTS: Final = (
    "feasible",
    "rejections",
    "memory",
    "decode",
    "prefill",
    "mixed",
    "kv_capacity_tokens",
    "ttft_seconds",
    "tpot_seconds",
    "messages",
    "hosts",
    "accelerators",
)


@dataclass(frozen=True)
class Bought:
    """One unit of what is acquired."""

    accelerators: int
    hosts: int
    power_watts: float
    rack_units: float
    price: int
    """Micro-dollars."""
    lines: tuple[Line, ...]


def acquired(table: Mapping[str, Any], facts: Facts) -> Bought:
    """Put one unit of an acquisition together, at its busiest."""
    if table["tp"] is None:
        trains = cluster(
            facts,
            accelerator=table["accelerator"],
            host=table["host"],
            network=table["network"],
            nics_per_host=table["nics_per_host"],
            accelerators=table["accelerators"],
            spares=0,
        )
        return Bought(
            table["accelerators"],
            trains.hosts,
            trains.power_watts,
            trains.rack_units,
            trains.price,
            tuple(trains.lines),
        )
    serves = unit(
        facts,
        **hardware_and_ranks(table, table),
        switch=table["switch"],
        replicas=table["replicas"],
    )
    return Bought(
        serves.accelerators,
        serves.hosts,
        serves.power_watts,
        serves.rack_units,
        serves.price,
        serves.lines,
    )


def deployment_mismatches(
    field: str,
    table: Mapping[str, Any],
    demand: Demand,
    request: Mapping[str, Any],
    facts: Facts,
) -> Iterator[Mismatch]:
    """Evaluate a deployment again, and hold it against its promise."""
    workload, size = demand.workload, demand.size
    if workload is None or size is None:
        yield Mismatch(f"{field}.stream", table["stream"], "requests", "it serves none")
        return
    own = {
        "model": workload["model"],
        "region": demand.region,
        "prompt_tokens": size["prompt"],
        "output_tokens": size["output"],
    }
    yield from compared(field, table, own, "the request's")
    candidate, hardware = table["candidate"], table["hardware"]
    figures = evaluate_serving(
        facts,
        model=workload["model"],
        **configuration(candidate, hardware),
        context=size["prompt"] + size["output"],
        prompt=size["prompt"],
        overlap=candidate.get("overlap") or "none",
        kv_heads=None,
    )
    stated = table["evaluation"]
    for part in _PARTS:
        place = f"{field}.evaluation.{part}"
        yield from compared(place, stated.get(part), figures[part], _MODEL)
    asked = {**workload, "assumptions": request["assumptions"]}
    yield from interval_mismatches(field, table, asked, facts)
    bought = unit(
        facts,
        **hardware_and_ranks(candidate, hardware),
        switch=hardware.get("switch"),
        replicas=table["replicas"],
        terms=hardware.get("terms"),
    )
    rents = bought.rent is not None
    power = None if rents else bought.power_watts
    place = f"{field}.evaluation.power_watts"
    yield from compared(place, stated.get("power_watts"), power, _MODEL)
    tokens = figures["decode"]["tokens_per_second"] * bought.goodput
    money = facts.assumptions.cost
    cost = cost_table(
        [(bought.price, bought.power_watts, bought.rack_units)],
        table["replicas"] * tokens,
        money,
        rent_usd_per_hour([(bought.rent_per_hour, bought.rent)], money),
    )
    yield from compared(f"{field}.evaluation.cost", stated.get("cost"), cost, _MODEL)
    yield from compared(f"{field}.hardware.hosts", hardware["hosts"], bought.hosts, "")
    place, height = f"{field}.hardware.rack_units", hardware["rack_units"]
    yield from compared(place, height, bought.rack_units, _MODEL)
    shared = None if bought.rent is None else bought.goodput
    place = f"{field}.hardware.goodput"
    yield from compared(place, hardware.get("goodput"), shared, _MODEL)
    if rents != (table["way"] == "rent"):
        yield Mismatch(f"{field}.way", table["way"], "rent", "instances are rented")
    slower = judged(facts, request, candidate["accelerator"], workload)
    at_work = bought.goodput / slower
    yield from _supply_mismatches(field, table, workload, size, figures, at_work)
    yield from _promise_mismatches(field, workload, request, figures, slower)
    yield from _rental_mismatches(field, table, demand, bought.rent_per_hour)


def _supply_mismatches(
    field: str,
    table: Mapping[str, Any],
    workload: Mapping[str, Any],
    size: Mapping[str, Any],
    figures: Mapping[str, Any],
    at_work: float,
) -> Iterator[Mismatch]:
    """Compare the requests that a unit is asked for."""
    speed = figures["decode"]["tokens_per_second"]
    seconds = figures["prefill"]["seconds"] + size["output"] / speed
    share = workload.get("utilisation") or _UTILISATION
    supply = table["replicas"] / seconds * share * at_work * _PER_UNIT
    stated = round(table["requests_per_second"] * _PER_UNIT)
    # It is rounded down to a millionth, which the last digit of a float may tip.
    if abs(stated - supply) > 1 + supply * 1e-9:
        yield Mismatch(
            f"{field}.requests_per_second",
            table["requests_per_second"],
            math.floor(supply) / _PER_UNIT,
            _MODEL,
        )


def _promise_mismatches(
    field: str,
    workload: Mapping[str, Any],
    request: Mapping[str, Any],
    figures: Mapping[str, Any],
    slower: float,
) -> Iterator[Mismatch]:
    promise = next(p for p in request["classes"] if p["name"] == workload["promise"])
    speed = figures["decode"]["tokens_per_second_per_user"] / slower
    if promise["target"] is not None and speed < promise["target"] * (1 - 1e-9):
        place = f"{field}.evaluation.decode.tokens_per_second_per_user"
        yield Mismatch(place, speed, promise["target"], "the promise")
    wait, longest = slower * figures["prefill"]["seconds"], promise["ttft_seconds"]
    if longest is not None and wait > longest * (1 + 1e-9):
        place = f"{field}.evaluation.prefill.seconds"
        yield Mismatch(place, wait, longest, "the promise")


def _rental_mismatches(
    field: str, table: Mapping[str, Any], demand: Demand, per_hour: int
) -> Iterator[Mismatch]:
    """Compare what is rented with the hours there are and the price of one."""
    for index, rental in enumerate(table["rentals"]):
        place = f"{field}.rentals[{index}]"
        steps = demand.periods[rental["period"] - 1]
        known = [each for _, each in steps if math.isclose(rental["hours"], each)]
        if not known:
            yield Mismatch(f"{place}.hours", rental["hours"], steps, "of the curve")
            continue
        exact = per_hour * known[0] / _MICRO_USD_PER_CENT
        micro = rental["units"] * math.ceil(exact) * _MICRO_USD_PER_CENT
        stated = rental["rent_usd"]
        yield from compared_money(f"{place}.rent_usd", stated, micro, "hours and price")
    for period, units in enumerate(table["units"]):
        steps = demand.periods[period]
        if table["way"] == "rent" and steps:
            there = sum(
                rental["units"]
                for rental in table["rentals"]
                if rental["period"] == period + 1
                and math.isclose(rental["hours"], steps[0][1])
            )
            yield from compared(f"{field}.units[{period}]", units, there, "its rentals")
