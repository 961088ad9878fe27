"""What has no rows of its own is drawn to what others of its kind were fitted to."""

from __future__ import annotations

import pytest

from planopt_studies.fits.parameters import Parameter
from planopt_studies.fits.training import moved_together
from planopt_studies.fits.training_parameters import POOLS, training_parameters

POOL = Parameter(
    table=f"{POOLS}kind", key="passes", start=3.0, low=1.0, high=9.0, spread=0.4
)
MEMBER = Parameter(
    table="frameworks.one",
    key="passes",
    start=3.0,
    low=1.0,
    high=9.0,
    spread=0.2,
    pool=POOL,
)


def test_a_member_of_a_pool_is_drawn_to_where_the_pool_is() -> None:
    there = POOL.coordinate(4.5)
    assert MEMBER.pull(there, there) == 0.0
    assert MEMBER.pull(there) == pytest.approx(2.027, abs=1e-3)
    assert MEMBER.pull(there, POOL.coordinate(3.0)) == MEMBER.pull(there)


def test_every_pool_is_fitted_and_has_members() -> None:
    fitted = training_parameters()
    pools = {each for each in fitted if each.table.startswith(POOLS)}
    assert pools
    assert pools == {each.pool for each in fitted if each.pool is not None}


def test_figures_that_share_no_row_are_moved_together() -> None:
    scopes = [{1, 2}, {3}, {2, 3}, {4}, set(), {1}]
    assert moved_together(scopes, {1, 2, 3, 4}) == [[0, 1, 3], [2, 5]]
    # Of rows that are not asked about nothing is moved.
    assert moved_together(scopes, {4}) == [[3]]
