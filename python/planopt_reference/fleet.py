"""Re-checking the plan of a fleet: docs/reference/fleet.md."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.bill import bill_mismatches
from planopt_reference.certainty import judged, share
from planopt_reference.cost import HOURS_PER_YEAR, electricity_kwh, housed, owning
from planopt_reference.fleet_demand import Demand, demands_of, loss_of
from planopt_reference.fleet_limits import limit_mismatches
from planopt_reference.fleet_serving import Bought, acquired, deployment_mismatches
from planopt_reference.fleet_sold import sold_mismatches
from planopt_reference.mismatch import Mismatch, compared, compared_money
from planopt_reference.purchase import merged
from planopt_reference.remarks import run_interval_mismatches
from planopt_reference.scenarios import scenario_mismatches
from planopt_reference.training.plan import run_again, run_mismatches
from planopt_reference.units import MICRO_USD_PER_USD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt_reference.facts import Facts

Document = Any
_TOTALS: Final = "added up again"
_MICRO_USD_PER_CENT: Final = MICRO_USD_PER_USD // 100
CENTS: Final = 100


def fleet_mismatches(
    plan: Document, request: Mapping[str, Any], facts: Facts
) -> Iterator[Mismatch]:
    """Recompute the figures of a fleet's plan, and check its demands and limits.

    Parameters
    ----------
    plan : mapping
        A plan document of kind `fleet` that has one.
    request : mapping
        Its question.
    facts : Facts
        Catalogs and assumptions.

    Yields
    ------
    Mismatch
        One for each figure that differs, each demand that is not met and each limit
        that is broken.
    """
    demands = demands_of(request)
    for index, table in enumerate(plan["deployments"]):
        demand = demands[table["stream"]]
        field = f"deployments[{index}]"
        yield from deployment_mismatches(field, table, demand, request, facts)
    for index, table in enumerate(plan["runs"]):
        yield from _run_mismatches(f"runs[{index}]", table, demands, request, facts)
    bought = [acquired(table, facts) for table in plan["acquisitions"]]
    for index, (table, one) in enumerate(
        zip(plan["acquisitions"], bought, strict=True)
    ):
        field = f"acquisitions[{index}]"
        yield from _acquisition_mismatches(field, table, one, request, facts)
    yield from _money_mismatches(plan, bought, request)
    emitted = _kg_co2e(plan, bought, request, facts)
    yield from compared("kg_co2e", plan.get("kg_co2e"), emitted, _TOTALS)
    yield from sold_mismatches(plan, request, facts.assumptions.cost)
    yield from _stream_mismatches(plan, demands, request, facts)
    yield from _held_mismatches(plan, request)
    yield from limit_mismatches(plan, bought, request, facts.assumptions.cost)
    yield from _outcome_mismatches(plan)
    confidence = share(request.get("confidence"))
    yield from compared("confidence", plan.get("confidence"), confidence, "asked")
    yield from scenario_mismatches(plan, request, facts)


def _run_mismatches(
    field: str,
    table: Document,
    demands: Mapping[str, Demand],
    request: Document,
    facts: Facts,
) -> Iterator[Mismatch]:
    """Evaluate a run of training again, and hold it against its deadline."""
    run = demands[table["stream"]].run
    if run is None:
        yield Mismatch(f"{field}.stream", table["stream"], "a run", "it trains none")
        return
    yield from compared(f"{field}.model", table["model"], run["model"], "the request's")
    again = run_again(table, {"tokens": run["tokens"]}, facts)
    yield from run_mismatches(field, table, again)
    asked = {**run, "assumptions": request["assumptions"]}
    yield from run_interval_mismatches(field, table, asked, facts)
    figures = again.evaluation
    yield from compared(f"{field}.days", table["days"], figures["days"], "recomputed")
    slower = judged(facts, request, table["candidate"]["accelerator"], run)
    if slower * figures["days"] * 86400 > run["deadline_seconds"] * (1 + 1e-9):
        deadline = run["deadline_seconds"]
        yield Mismatch(f"{field}.days", figures["days"], deadline, "the deadline")


def _acquisition_mismatches(
    field: str,
    table: Document,
    bought: Bought,
    request: Mapping[str, Any],
    facts: Facts,
) -> Iterator[Mismatch]:
    buys = table["way"] == "buy"
    price = bought.price if buys else 0
    expected = {
        "accelerators": bought.accelerators,
        "hosts": bought.hosts,
        "power_watts": bought.power_watts,
        "rack_units": bought.rack_units,
    }
    yield from compared(field, table, expected, "recomputed from the catalogs")
    count = sum(table["units"])
    for name, micro in (("unit_price_usd", price), ("price_usd", price * count)):
        yield from compared_money(f"{field}.{name}", table[name], micro, _TOTALS)
    charge = sum(
        units * charge_cents(price, bought, table, request, facts, period)
        for period, units in enumerate(table["units"])
    )
    yield from compared_money(
        f"{field}.charge_usd",
        table["charge_usd"],
        charge * _MICRO_USD_PER_CENT,
        _TOTALS,
    )
    lines = merged([(1, bought.lines)]) if buys else []
    yield from bill_mismatches(
        f"{field}.bill_of_materials", table["bill_of_materials"], lines
    )


def charge_cents(
    price: int,
    bought: Bought,
    table: Document,
    request: Mapping[str, Any],
    facts: Facts,
    period: int,
) -> int:
    """Charge of a unit from a period to the end: written off, electricity, hosting."""
    cost = facts.assumptions.cost
    hours = (request["periods"] - period) * request["period_hours"]
    gone = min(1.0, hours / (cost.years * HOURS_PER_YEAR)) * (1.0 - cost.residual)
    region = _named(request["regions"], table["region"])
    tariff = region.get("electricity_by_hour") or ()
    own = region.get("electricity_usd_per_kwh")
    own = math.fsum(tariff) / len(tariff) if tariff else own
    per_kwh = cost.electricity_usd_per_kwh if own is None else own
    cost = replace(cost, electricity_usd_per_kwh=per_kwh)
    lines = owning(price, bought.power_watts, bought.rack_units, cost)
    interest = lines.pop("financing") * min(hours, cost.years * HOURS_PER_YEAR)
    running = sum(lines.values()) - lines["purchase"]
    dollars = price / MICRO_USD_PER_USD * gone + interest + running * hours
    cents: float = round(dollars * CENTS, 6)
    return math.ceil(cents)


def _kg_co2e(
    plan: Document,
    bought: list[Bought],
    request: Mapping[str, Any],
    facts: Facts,
) -> float | None:
    """Carbon dioxide of the electricity of all that is held, to the end."""
    cost, total = facts.assumptions.cost, 0.0
    for table, one in zip(plan["acquisitions"], bought, strict=True):
        own = _named(request["regions"], table["region"]).get("carbon_kg_per_kwh")
        carbon = cost.carbon_kg_per_kwh if own is None else own
        if carbon is None:
            return None
        for period, units in enumerate(table["units"]):
            hours = units * (request["periods"] - period) * request["period_hours"]
            there = housed(cost, one.rack_units)
            total += electricity_kwh(one.power_watts, hours, there) * carbon
    return total


def _money_mismatches(
    plan: Document, bought: list[Bought], request: Mapping[str, Any]
) -> Iterator[Mismatch]:
    tables = plan["acquisitions"]
    lines = merged(
        (sum(table["units"]), one.lines)
        for table, one in zip(tables, bought, strict=True)
        if table["way"] == "buy"
    )
    yield from bill_mismatches("bill_of_materials", plan["bill_of_materials"], lines)
    price = sum(
        one.price * sum(table["units"])
        for table, one in zip(tables, bought, strict=True)
        if table["way"] == "buy"
    )
    yield from compared_money("price_usd", plan["price_usd"], price, _TOTALS)
    charge = sum(round(table["charge_usd"] * CENTS) for table in tables)
    rents: Counter[int] = Counter()
    for table in plan["deployments"]:
        for rental in table["rentals"]:
            rents[rental["period"]] += round(rental["rent_usd"] * CENTS)
    totals = {
        "charge_usd": charge,
        "rent_usd": sum(rents.values()),
        "total_usd": charge + sum(rents.values()),
    }
    for name, cents in totals.items():
        micro = cents * _MICRO_USD_PER_CENT
        yield from compared_money(name, plan[name], micro, _TOTALS)
    power = 0.0
    if len(plan["periods"]) != request["periods"]:
        yield Mismatch("periods", len(plan["periods"]), request["periods"], _TOTALS)
    for index, stated in enumerate(plan["periods"]):
        field = f"periods[{index}]"
        power += sum(
            one.power_watts * table["units"][index]
            for table, one in zip(tables, bought, strict=True)
        )
        spent = sum(
            one.price * table["units"][index]
            for table, one in zip(tables, bought, strict=True)
            if table["way"] == "buy"
        )
        own = {"period": index + 1, "power_watts": power}
        yield from compared(field, stated, own, _TOTALS)
        for name, micro in (
            ("purchase_usd", spent),
            ("rent_usd", rents[index + 1] * _MICRO_USD_PER_CENT),
        ):
            yield from compared_money(f"{field}.{name}", stated[name], micro, _TOTALS)
    yield from compared("power_watts", plan["power_watts"], power, _TOTALS)


def _stream_mismatches(
    plan: Document,
    demands: Mapping[str, Demand],
    request: Mapping[str, Any],
    facts: Facts,
) -> Iterator[Mismatch]:
    """Check that every demand is met in every hour, failures aside."""
    at_work: dict[str, list[Document]] = defaultdict(list)
    for table in (*plan["deployments"], *plan["runs"]):
        at_work[table["stream"]].append(table)
    stated = {table["stream"]: table for table in plan["streams"]}
    if stated.keys() != demands.keys():
        yield Mismatch("streams", sorted(stated), sorted(demands), "all demands")
        return
    for index, name in enumerate(demands):
        demand, field = demands[name], f"streams[{index}]"
        if plan["streams"][index]["stream"] != name:
            yield Mismatch(f"{field}.stream", stated, name, "in the file's order")
        for period, steps in enumerate(demand.periods):
            supply = [_supplied(at_work[name], period, step) for step in steps]
            losses = [
                demand.losses
                * _worst(at_work[name], demand, period, hours, request, facts)
                for _, hours in steps
            ]
            peak = steps[0][0] if steps else 0.0
            figures = {
                "demand": peak,
                "supply": supply[0] if supply else _peak_of(at_work[name], period),
            }
            figures["after_failures"] = figures["supply"] - (losses[0] if losses else 0)
            for key, expected in figures.items():
                place = f"{field}.{key}[{period}]"
                yield from compared(place, stated[name][key][period], expected, _TOTALS)
            for (asked, _), there, lost in zip(steps, supply, losses, strict=True):
                if there - lost < asked * (1 - 1e-9) - 1e-6:
                    yield Mismatch(
                        f"{field}.supply[{period}]", there - lost, asked, "the demand"
                    )


def _supplied(
    tables: list[Document], period: int, step: tuple[float, Fraction]
) -> float:
    """Supply in the hours of a step: what is bought, and what is rented in them."""
    total = 0.0
    for table in tables:
        each = table.get("requests_per_second", 1.0)
        if table["way"] != "rent":
            total += each * table["units"][period]
        else:
            total += each * sum(
                rental["units"]
                for rental in table["rentals"]
                if rental["period"] == period + 1
                and math.isclose(rental["hours"], step[1], rel_tol=1e-9)
            )
    return total


def _peak_of(tables: list[Document], period: int) -> float:
    each = (t.get("requests_per_second", 1.0) * t["units"][period] for t in tables)
    return float(sum(each))


def _worst(
    tables: list[Document],
    demand: Demand,
    period: int,
    hours: Fraction,
    request: Mapping[str, Any],
    facts: Facts,
) -> float:
    """Tell the largest loss of what is at work in a step."""
    if not demand.losses:
        return 0.0
    return max(
        (
            loss_of(table, demand, request, facts)
            for table in tables
            if _supplied([table], period, (0.0, hours)) > 0
        ),
        default=0.0,
    )


def _held_mismatches(plan: Document, request: Mapping[str, Any]) -> Iterator[Mismatch]:
    """Check that no more is at work than there is."""
    for period in range(request["periods"]):
        held: Counter[tuple[object, ...]] = Counter()
        for table in plan["acquisitions"]:
            held[_hardware(table)] += sum(table["units"][: period + 1])
        for table in plan["deployments"]:
            if table["way"] != "rent":
                at = {**table["hardware"], **table["candidate"], **table}
                ranks = (at["tp"], at.get("cp", 1), at.get("dp", 1), at["pp"])
                at["accelerators"] = math.prod(ranks) * table["replicas"]
                held[_hardware(at)] -= table["units"][period]
        for table in plan["runs"]:
            at = {**table["hardware"], **table["candidate"], **table}
            held[_hardware(at)] -= table["units"][period]
        for key, left in held.items():
            if left < 0:
                yield Mismatch("acquisitions", left, 0, f"{key} in period {period + 1}")


def _hardware(table: Mapping[str, Any]) -> tuple[object, ...]:
    names = ("region", "way", "accelerator", "host", "hosts", "network", "switch")
    return tuple(table.get(name) for name in names)


def _outcome_mismatches(plan: Document) -> Iterator[Mismatch]:
    """Check bound, gap and status against the total."""
    total, bound, gap = plan["total_usd"], plan.get("total_bound_usd"), plan.get("gap")
    if bound is None:
        if plan["status"] == "optimal" or gap is not None:
            yield Mismatch("status", plan["status"], "feasible", "there is no bound")
        return
    if bound > total:
        yield Mismatch("total_bound_usd", bound, total, "no bound is above the total")
    expected = float(Fraction(total - bound) / Fraction(max(total, 0.01)))
    yield from compared("gap", round(gap, 9), round(expected, 9), _TOTALS)
    if (plan["status"] == "optimal") != (bound == total):
        yield Mismatch("status", plan["status"], "optimal if the bound is met", _TOTALS)


def _named(tables: list[Document], name: str) -> Document:
    return next(table for table in tables if table["name"] == name)
