"""What a unit of a fleet is charged: its price written off, electricity, hosting."""

from __future__ import annotations

from typing import Any

import pytest

from planopt.catalog.entries import CostAssumptions
from planopt.fleets.question import charges_cents


class Of:
    """Fields that a charge reads, and no others."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


@pytest.mark.parametrize(
    ("residual", "price_usd", "cents"),
    [(0.0, 1000, [25000, 12500]), (0.2, 1000, [20000, 10000]), (0.2, 0, [0, 0])],
)
def test_what_a_unit_is_sold_for_is_not_written_off(
    residual: float, price_usd: int, cents: list[int]
) -> None:
    cost = CostAssumptions(
        years=4,
        residual=residual,
        duty=1.0,
        regained=0.0,
        pue=1.0,
        electricity_usd_per_kwh=0.1,
        rack_units=42.0,
        rack_usd_per_month=0.0,
        colocation_usd_per_kw_month=0.0,
        support_per_year=0.0,
        staff_usd_per_rack_year=0.0,
        wacc=0.0,
        front_end_usd_per_accelerator=0.0,
        management_usd_per_host=0.0,
        storage_usd_per_accelerator=0.0,
        racks_usd_per_rack=0.0,
        rack_kilowatts=0.0,
        freight=0.0,
        spares=0.0,
        memory_usd_per_tb=0.0,
        cache_disk_usd=0.0,
        hosted_usd_per_million_tokens=None,
        carbon_kg_per_kwh=None,
    )
    request: Any = Of(periods=2, period_hours=4380)
    region: Any = Of(electricity_usd_per_kwh=None)
    unit: Any = Of(power_watts=0.0, rack_units=2.0)
    found = charges_cents(cost, request, region, unit, price_usd * 10**6)
    # One and a half year of four: a year, and half of one, of the loss.
    assert list(found) == cents
