"""Metrics of candidates are handed over without a copy: the same address everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt import _native
from planopt.catalog.open import open_catalog
from planopt.door import written
from planopt.errors import InputError
from planopt.sweeps.fronts import front, metrics
from planopt.sweeps.spaces import read_space

SPACE = "training"
"""Most of its candidates work."""


def table(start: int, length: int) -> _native.Table:
    return metrics(SPACE, start, start + length)


@settings(max_examples=20, deadline=None)
@given(start=st.integers(0, 100_000_000), length=st.integers(0, 5_000))
def test_arrow_and_numpy_see_the_memory_of_the_core(start: int, length: int) -> None:
    arrow = pytest.importorskip("pyarrow")
    found = table(start, length)
    batch = arrow.record_batch(found)
    streamed = arrow.table(found)
    assert batch.schema.names == found.names == streamed.schema.names
    assert batch.num_rows == len(found) == streamed.num_rows <= length
    batch.validate(full=True)
    for name in found.names:
        column = found.column(name)
        address, readonly = column.__array_interface__["data"]
        array = np.asarray(column)
        assert array.ctypes.data == address
        assert readonly
        assert not array.flags.writeable
        if len(found):
            assert batch.column(name).buffers()[1].address == address
            assert streamed.column(name).chunk(0).buffers()[1].address == address
        assert np.array_equal(array, batch.column(name).to_numpy())


def test_a_column_outlives_its_table() -> None:
    arrow = pytest.importorskip("pyarrow")
    found = table(0, 60_000)
    assert len(found) > 0
    array, batch = np.asarray(found.column("days")), arrow.record_batch(found)
    days = array.copy()
    assert (days > 0).all()
    del found
    [table(0, 60_000) for _ in range(3)]  # would take the memory if it were free
    assert np.array_equal(array, days)
    assert np.array_equal(batch.column("days").to_numpy(), days)


def test_figures_are_those_of_the_front() -> None:
    rows = front(SPACE)
    for row in rows[:5]:
        index = row["index"]
        assert isinstance(index, int)
        one = table(index, 1)
        assert len(one) == 1
        for name in one.names:
            assert np.asarray(one.column(name))[0] == row[name]


def test_what_there_is_not_is_told() -> None:
    with pytest.raises(KeyError):
        table(0, 1).column("speed")
    count = open_catalog().native.space_count(written(read_space(SPACE).request))
    with pytest.raises(InputError) as refused:
        metrics(SPACE, 0, count + 1)
    assert refused.value.diagnostics[0].code == "E003"
    with pytest.raises(InputError):
        metrics(SPACE, -1, 5)
