"""Shared by the tests of procurement: one warm solver, and a unit to vary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from units import Unit

from planopt.procurement.solver import Solver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def solver() -> Iterator[Solver]:
    with Solver() as solver:
        yield solver


@pytest.fixture(scope="session")
def unit() -> Callable[..., Unit]:
    """Make a host with one accelerator and one replica of four users, for $1,000."""

    def make(index: int = 0, **changes: object) -> Unit:
        figures: dict[str, object] = {
            "stock": "x",
            "accelerators": 1,
            "price_micro_usd": 1000 * 10**6,
            "usd_per_hour": 0.5,
            "power_watts": 300.0,
            "rack_units": 2.0,
            "replicas": 1,
            "replica_users": 4,
            "tokens_per_second": 40.0,
            "tokens_per_second_per_user": 10.0,
            "host": "desktop",
        } | changes
        return Unit(index=index, **figures)  # type: ignore[arg-type]

    return make
