"""Money: bills added up, what a dollar per hour stands for, and what a token costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from planopt.catalog.entries import CostAssumptions
from planopt.documents.evaluation import Deployment
from planopt.documents.parts import BomLine, Cost
from planopt.documents.training import TrainingDeployment
from planopt.units import (
    HOURS_PER_YEAR,
    MICRO_USD,
    MONTHS_PER_YEAR,
    SECONDS_PER_HOUR,
    TOKENS_PER_MILLION,
    WATTS_PER_KILOWATT,
)

AROUND = {
    "front_end": "front-end network",
    "management": "management ports",
    "storage": "storage of a run",
    "racks": "racks",
    "memory": "memory for KV caches",
    "disks": "disks for KV caches",
    "freight": "freight and integration",
    "spares": "spare parts",
}
"""Lines that what stands in racks is bought with, by kind: no parts of a catalog."""
SUMS = frozenset(("racks", "freight", "spares"))
"""Kinds of lines that are paid in one sum, however many units they are for."""


def bill_of(bought: Iterable[tuple[BomLine, int]]) -> tuple[BomLine, ...]:
    """Add up so many times each of some lines, alike ones together, as they appear."""
    of_part: dict[tuple[str, str, str, bool], BomLine] = {}
    numbers: Counter[tuple[str, str, str, bool]] = Counter()
    for line, count in bought:
        # Of an instance, the name tells the terms.
        part = line.kind, line.id, line.name, line.owned
        each = _micro(line.unit_price_usd) if line.kind in SUMS else line.quantity
        of_part[part] = line
        numbers[part] += each * count
    return tuple(_of_so_many(line, numbers[part]) for part, line in of_part.items())


def _of_so_many(line: BomLine, number: int) -> BomLine:
    """Return what so many of a line come to, or so many micro-dollars of a sum."""
    if line.kind in SUMS:
        paid = number / MICRO_USD
        return replace(line, unit_price_usd=paid, price_usd=paid)
    return replace(
        line,
        quantity=number,
        price_usd=_times(line.unit_price_usd, number),
        usd_per_hour=_times(line.unit_usd_per_hour, number),
    )


def _micro(usd: float | None) -> int:
    return round((usd or 0.0) * MICRO_USD)


def _times(unit_usd: float | None, quantity: int) -> float | None:
    return None if unit_usd is None else _micro(unit_usd) * quantity / MICRO_USD


def price_of_an_hourly_dollar(cost: CostAssumptions) -> float | None:
    """Purchase that a dollar per hour writes off; none where nothing is lost."""
    lost = 1 - cost.residual
    return cost.years * HOURS_PER_YEAR / lost if lost > 0 else None


def parts(
    cost: CostAssumptions, price_usd: float, power_watts: float, rack_units: float
) -> dict[str, float]:
    """Return dollars per hour of owning by line; what is in no rack has no hall."""
    kilowatts, racks = power_watts / WATTS_PER_KILOWATT, rack_units / cost.rack_units
    if not rack_units:
        home = {"pue": 1.0, "colocation_usd_per_kw_month": 0.0, "wacc": 0.0}
        cost = replace(cost, support_per_year=0.0, **home)
    lost, interest = price_usd * (1 - cost.residual) / cost.years, 0.0
    if cost.wacc:
        sinking = cost.wacc / ((1 + cost.wacc) ** cost.years - 1)
        interest = price_usd * (sinking * (1 - cost.residual) + cost.wacc) - lost
    kwh = kilowatts * HOURS_PER_YEAR * cost.duty * cost.pue
    yearly = {
        "purchase": lost,
        "financing": interest,
        "electricity": kwh * cost.electricity_usd_per_kwh,
        "rack_space": racks * cost.rack_usd_per_month * MONTHS_PER_YEAR,
        "colocation": kilowatts * cost.colocation_usd_per_kw_month * MONTHS_PER_YEAR,
        "support": price_usd * cost.support_per_year,
        "staff": racks * cost.staff_usd_per_rack_year,
    }
    return {name: usd / HOURS_PER_YEAR for name, usd in yearly.items()}


def of_a_dollar(cost: CostAssumptions, rack_units: float) -> float:
    """Return dollars per hour of a dollar that such a unit is dearer."""
    dearer, none = (parts(cost, usd, 0.0, rack_units) for usd in (1.0, 0.0))
    return sum(dearer.values()) - sum(none.values())


def of_deployments(
    cost: CostAssumptions,
    deployments: Iterable[Deployment | TrainingDeployment],
    price: float = 1.0,
) -> dict[str, float]:
    """Add up the lines of what is owned, at so many times its price."""
    total: dict[str, float] = {}
    for each in deployments:
        usd = sum(line.price_usd or 0.0 for line in each.bill_of_materials)
        watts = (each.evaluation.power_watts or 0.0) * each.units
        height = each.hardware.rack_units * each.units
        for name, hourly in parts(cost, usd * price, watts, height).items():
            total[name] = total.get(name, 0.0) + hourly
    return total


def at_load(cost: Cost, tokens_per_second: float | None, duty: float) -> Cost:
    """Cost of the tokens that come of a load, in the share of hours that are busy."""
    if not tokens_per_second or not cost.usd_per_hour:
        return cost
    per_hour = tokens_per_second * SECONDS_PER_HOUR * duty
    return replace(
        cost,
        usd_per_million_tokens=cost.usd_per_hour / (per_hour / TOKENS_PER_MILLION),
        tokens_per_usd=per_hour / cost.usd_per_hour,
    )
