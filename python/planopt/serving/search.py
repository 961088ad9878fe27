"""Units worth buying, found by the compiled core."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from planopt.acquisition import is_offer
from planopt.catalog.open import LIMITED_TO
from planopt.documents.parts import Search
from planopt.procurement.problem import MICRO_USD, Unit
from planopt.serving.load import promised
from planopt.serving.pessimism import each_at_worst

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.serving.question_types import Problem, ServedModel

__all__ = ["Found", "find_units", "sought"]


@dataclass(frozen=True)
class Row:
    """How a unit is laid out, and what it is made of: a row of the core's columns."""

    accelerator: str
    host: str
    terms: str | None
    """Terms of an instance that is rented."""
    goodput: float
    """Share of the time that it is there and at work."""
    network: str | None
    nics_per_host: int
    switch: str | None
    switch_port_blocks: int
    hosts: int
    accelerators: int
    tp: int
    cp: int
    dp: int
    ep: int
    pp: int
    batch: int
    in_flight: int
    is_build: bool
    weights: str
    kv: str

    def hardware(self) -> dict[str, Any]:
        """Name its hardware, and how much of it a unit is, by options of the core."""
        names = ("accelerator", "host", "terms", "network")
        parts = ("hosts", "accelerators", "switch")
        return {
            **{name: getattr(self, name) for name in names},
            "nics_per_host": self.nics_per_host or None,
            "unit": {name: getattr(self, name) for name in parts},
        }

    def layout(self) -> dict[str, int]:
        """Name how it is divided."""
        names = ("tp", "cp", "dp", "ep", "pp", "batch", "in_flight")
        return {name: getattr(self, name) for name in names}


_ROW_COLUMNS = tuple(
    name for name in Row.__dataclass_fields__ if name not in ("weights", "kv")
)


@dataclass
class Found:
    """What a search found, and what it looked at."""

    units: list[Unit] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    search: Search = field(default_factory=Search)
    nearest: dict[str, float | None] = field(default_factory=dict)
    """How close rejected candidates came: memory ratio, speed, prefill."""
    is_cut_by_price: bool = False
    """Whether there are units beyond the price that it went up to."""
    reduces_over_pcie: bool = False
    """Whether any host has accelerators that all-reduce over its PCIe."""

    @property
    def builds(self) -> list[Unit]:
        """Units whose copies are one of the cheapest builds of different hardware."""
        return [
            unit
            for unit, row in zip(self.units, self.rows, strict=True)
            if row.is_build
        ]

    def row(self, unit: Unit) -> Row:
        """Layout and parts of a unit."""
        return self.rows[unit.index]

    def _add(self, answer: dict[str, Any], *, hourly: bool) -> None:
        columns = answer["units"]
        start = len(self.units)
        count = len(columns["users"])
        for position in range(count):
            cell = {name: column[position] for name, column in columns.items()}
            row = Row(
                **{name: cell[name] for name in _ROW_COLUMNS},
                weights=answer["weights"],
                kv=answer["kv"],
            )
            self.rows.append(row)
            unit = _unit(start + position, cell, answer["weights"])
            self.units.append(_by_the_hour(unit, cell) if hourly else unit)
        self.search = _sum(self.search, answer)
        self.nearest = _closest(self.nearest, answer["nearest"])
        self.is_cut_by_price |= answer["is_cut_by_price"]
        self.reduces_over_pcie |= answer["reduces_over_pcie"]


def _unit(index: int, cell: dict[str, Any], weights: str) -> Unit:
    signature = (
        cell["accelerator"],
        cell["accelerators"],
        cell["host"],
        cell["hosts"],
        cell["network"],
        cell["nics_per_host"],
        cell["switch"],
        cell["terms"],
        weights,
    )
    return Unit(
        index=index,
        signature=signature,
        accelerator=cell["accelerator"].partition(LIMITED_TO)[0],
        accelerators=cell["accelerators"],
        price_micro_usd=cell["price_micro_usd"],
        usd_per_hour=cell["usd_per_hour"],
        power_watts=cell["power_watts"],
        rack_units=cell["rack_units"],
        replicas=cell["replicas"],
        users=cell["users"],
        replica_users=cell["users"] // cell["replicas"],
        tokens_per_second=cell["tokens_per_second"],
        tokens_per_second_per_user=cell["tokens_per_second_per_user"],
    )


def _by_the_hour(unit: Unit, cell: dict[str, Any]) -> Unit:
    """Price a unit by what an hour of it costs, whether it is bought or rented.

    What is rented is not of the stock that there is to buy.
    """
    rented = cell["terms"] is not None
    return replace(
        unit,
        accelerator=f"rented {unit.accelerator}" if rented else unit.accelerator,
        price_micro_usd=math.ceil(unit.usd_per_hour * MICRO_USD),
        capital_micro_usd=0 if rented else unit.price_micro_usd,
    )


def _sum(search: Search, answer: dict[str, Any]) -> Search:
    rejected = dict(search.rejected)
    for reason, count in answer["rejected"].items():
        if count:
            rejected[reason] = rejected.get(reason, 0) + count
    covered = search.candidates_covered + answer["covered"]
    evaluated = search.candidates_evaluated + answer["evaluated"]
    return Search(
        candidates_covered=covered,
        candidates_evaluated=evaluated,
        candidates_pruned=covered - evaluated,
        rejected=rejected,
    )


def _closest(
    one: dict[str, float | None], other: dict[str, float | None]
) -> dict[str, float | None]:
    better = {"tokens_per_second_per_user": max}
    merged: dict[str, float | None] = {}
    for name, value in other.items():
        values = [v for v in (one.get(name), value) if v is not None]
        merged[name] = better.get(name, min)(values) if values else None
    return merged


def find_units(
    catalog: Catalog,
    problem: Problem,
    *,
    price_cap_usd: float | None = None,
    each_batch_up_to: int | None = None,
    aim: str | None = None,
) -> Found:
    """Find the units that meet a question's speed, for each format that it allows."""
    found = Found()
    own_format = problem.served.weights
    for weights in (own_format, *problem.allow_quantization):
        served = replace(problem.served, weights=weights)
        for asked in each_at_worst(catalog, problem):
            request = {
                **_units_sought(asked, served),
                "each_batch_up_to": each_batch_up_to,
                "aim": aim,
                "price_cap_usd": price_cap_usd,
            }
            hourly = problem.acquisition.hourly
            if problem.acquisition.way != "rent":
                found._add(catalog.ask("search_serving", request), hourly=hourly)
            if problem.acquisition.rents:
                renting = {
                    **request,
                    "hosts": [each for each in problem.hosts if is_offer(each)],
                    "price_cap_usd": None,
                    "rent": problem.acquisition.rent_request(),
                }
                found._add(catalog.ask("search_serving", renting), hourly=hourly)
    return found


def sought(problem: Problem, served: ServedModel) -> dict[str, Any]:
    """Put what is promised and what there is to choose from, by options of the core."""
    return {
        **problem.asked(served),
        **promised(problem),
        "prefill_seconds": problem.predicted_ttft_seconds,
        "redundancy": problem.redundancy,
        "context_ranks": served.context_ranks,
        "max_accelerators": problem.replica_accelerators,
        **problem.hardware(),
        "hosts": [each for each in problem.hosts if not is_offer(each)],
    }


def _units_sought(problem: Problem, served: ServedModel) -> dict[str, Any]:
    return {
        **sought(problem, served),
        "batch": problem.batch,
        "in_flight": problem.in_flight,
        "batches_that_share": problem.users if problem.objective == "latency" else None,
        "builds": problem.top + 1,
        "exhaustive": problem.exhaustive,
        "within_host": problem.within_host,
    }
