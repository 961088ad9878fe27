"""The other search finds what `solve` buys, and shares hosts in the relaxed one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from planopt_studies.overlays import Column, cheapest, drawn, gap, judged, relaxed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_what_is_bought_is_what_the_other_search_finds(seed: int) -> None:
    assert judged(seed)[0] == "equal"


def test_hosts_shared_by_unlike_replicas_are_no_cheaper() -> None:
    assert gap(2)[0] <= 0.005


def test_users_are_covered_by_the_cheapest_counts() -> None:
    columns = [Column(5.0, 2, 1.0), Column(9.0, 4, 1.0)]
    assert [cheapest(columns, users) for users in (1, 2, 3, 5, 6)] == [5, 5, 9, 14, 14]


def test_a_shared_host_is_paid_for_once() -> None:
    alone = ("rtx-4090", "desktop-2gpu")
    other = ("l40s", "desktop-2gpu")
    columns = [
        Column(1_000 + card * copies, users * copies, 1.0, hardware, 1, copies)
        for hardware, card, users in ((alone, 100.0, 2), (other, 300.0, 8))
        for copies in (1, 2)
    ]
    # One of each: ten users for less than two of the dearer one.
    assert relaxed(columns, 10) == pytest.approx(1_400)
    assert cheapest(columns, 10) == pytest.approx(1_600)


def test_an_overlay_is_drawn_by_its_seed(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    said = [drawn(7, folder).replace(str(folder), "") for folder in (one, other)]
    assert said[0] == said[1]
    assert drawn(8, tmp_path / "third") != said[0]
    files = sorted(path.relative_to(one) for path in one.rglob("*.toml"))
    assert files
    for file in files:
        assert (one / file).read_text() == (other / file).read_text()
