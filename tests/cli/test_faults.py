"""Disks that are full, streams that are closed, signals, spoiled files: a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from planopt_studies.faults import befallen, prepare

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = range(20)
"""Points of `make faults`, which tries two hundred."""


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    prepare(folder, repository / "tests" / "cli" / "fleet_small.toml")
    return folder


@pytest.mark.parametrize("number", SAMPLE)
def test_bad_luck_is_told_and_leaves_nothing_half_written(
    number: int, prepared: Path
) -> None:
    point, seen = befallen(number, prepared)
    assert not seen.wrong, f"{point.fault}: {' '.join(point.command)}: {seen.said}"
