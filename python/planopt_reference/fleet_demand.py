"""What a fleet file asks for, hour by hour (docs/reference/fleet.md, section 1)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt_reference.facts import Facts

_EIGHTHS: Final = 8
_HOURS_OF_A_WEEK: Final = 168
_PER_UNIT: Final = 10**6
_SECONDS_PER_HOUR: Final = 3600


@dataclass(frozen=True)
class Demand:
    """A demand: for each period the requests per second and hours of its steps."""

    name: str
    region: str
    losses: int
    periods: tuple[tuple[tuple[float, Fraction], ...], ...]
    workload: Mapping[str, Any] | None = None
    size: Mapping[str, Any] | None = None
    run: Mapping[str, Any] | None = None


def demands_of(request: Mapping[str, Any]) -> dict[str, Demand]:
    """List every demand of a request by its name, in the order of the file."""
    found: dict[str, Demand] = {}
    for workload in request["workloads"]:
        for size in workload["sizes"]:
            for place in workload["demand"]:
                name = f"{workload['name']}/{size['name']}/{place['region']}"
                found[name] = Demand(
                    name,
                    place["region"],
                    workload["failures"],
                    _periods(request, workload, size, place),
                    workload=workload,
                    size=size,
                )
    for run in request["training"]:
        name = f"{run['name']}/{run['region']}"
        hours = run["deadline_seconds"] / _SECONDS_PER_HOUR
        first = run["start"] - 1
        last = min(
            first + math.ceil(hours / request["period_hours"]), request["periods"]
        )
        length = _decimal(request["period_hours"])
        steps = tuple(
            ((1.0, length),) if first <= period < last else ()
            for period in range(request["periods"])
        )
        found[name] = Demand(name, run["region"], 0, steps, run=run)
    return found


def _periods(
    request: Mapping[str, Any],
    workload: Mapping[str, Any],
    size: Mapping[str, Any],
    place: Mapping[str, Any],
) -> tuple[tuple[tuple[float, Fraction], ...], ...]:
    shares = _shares(request, workload.get("curve"))
    peak = _decimal(place["requests_per_second"]) * _decimal(size["share"])
    growth = 1 + _decimal(workload["growth"])
    return tuple(
        tuple(
            (
                math.ceil(peak * growth**period * _PER_UNIT * share) / _PER_UNIT,
                _decimal(request["period_hours"]) * of_hours,
            )
            for share, of_hours in shares
        )
        for period in range(request["periods"])
    )


def _shares(
    request: Mapping[str, Any], name: str | None
) -> list[tuple[Fraction, Fraction]]:
    """Sort the hours of a week by eighths of the peak, rounded up."""
    if name is None:
        return [(Fraction(1), Fraction(1))]
    curve = next(each for each in request["curves"] if each["name"] == name)
    most = max(*curve["weekday"], *curve["weekend"])
    hours: Counter[int] = Counter()
    for days, shares in ((5, curve["weekday"]), (2, curve["weekend"])):
        for share in shares:
            hours[math.ceil(Fraction(share) / Fraction(most) * _EIGHTHS)] += days
    return [
        (Fraction(step, _EIGHTHS), Fraction(hours[step], _HOURS_OF_A_WEEK))
        for step in sorted(hours, reverse=True)
        if step
    ]


def loss_of(
    table: Mapping[str, Any], demand: Demand, request: Mapping[str, Any], facts: Facts
) -> float:
    """Tell what one failure takes of a deployment (section 3)."""
    if demand.workload is None:
        return 0.0
    supply = round(table["requests_per_second"] * _PER_UNIT)
    kind = demand.workload["failure"]
    if kind == "replica":
        return math.ceil(Fraction(supply, table["replicas"])) / _PER_UNIT
    together = 1
    if table["way"] != "rent" and kind in ("switch", "rack"):
        region = next(r for r in request["regions"] if r["name"] == demand.region)
        together = _together(kind, region, table, facts)
    peak = max(steps[0][0] for steps in demand.periods if steps)
    alone = math.ceil(Fraction(round(peak * _PER_UNIT), supply))
    return float(min(together, alone) * supply / _PER_UNIT)


def _together(
    kind: str, region: Mapping[str, Any], table: Mapping[str, Any], facts: Facts
) -> int:
    """Count the units that share a switch or a rack."""
    hosts = table["hardware"]["hosts"]
    if kind == "switch":
        ports = region.get("ports_of_a_switch") or region.get("switch_ports") or 1
        return int(max(1, ports // hosts))
    host = facts.host(table["hardware"]["host"])
    height = max(host.rack_units * hosts, 1.0)
    power = table["evaluation"]["power_watts"]
    watts = region.get("rack_watts")
    by_power = math.inf if watts is None else watts / max(power, 1.0)
    by_height = facts.assumptions.cost.rack_units / height
    return int(max(1, math.floor(min(by_height, by_power))))


def _decimal(value: float) -> Fraction:
    """Take a figure as the decimal it was written as, to twelve digits."""
    return Fraction(value) if isinstance(value, int) else Fraction(f"{value:.12g}")
