"""The door between Python and the core: what goes in, comes out, and is refused."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest

from planopt import _native
from planopt.catalog.open import Catalog, open_catalog
from planopt.door import question, written
from planopt.errors import InputError
from planopt.procurement.problem import Limits, Wanted

SERVED = {"model": "llama-3.1-8b", "context": 1024, "prompt": 512}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return open_catalog()


def test_a_quantity_is_read_in_si_units() -> None:
    assert _native.parse_quantity("80 GiB", "bytes") == 80 * 2**30
    assert _native.parse_quantity("300ms", "seconds") == pytest.approx(0.3)
    assert _native.parse_quantity("$20k", "usd") == 20_000


@pytest.mark.parametrize(
    ("text", "kind"), [("5 parsecs", "malformed"), ("-5 tok/s", "range")]
)
def test_a_quantity_that_cannot_be_read_says_what_is_accepted(
    text: str, kind: str
) -> None:
    with pytest.raises(ValueError, match="tok") as refused:
        _native.parse_quantity(text, "tokens_per_second")

    fault, message, accepted = refused.value.args
    assert fault == kind
    assert text in message
    assert "5tok/s" in accepted


def test_an_unknown_dimension_is_a_fault_of_the_caller() -> None:
    with pytest.raises(KeyError):
        _native.parse_quantity("5", "parsecs")


def search(catalog: Catalog, **given: object) -> _native.Found:
    asked = written(question("search_serving", {**SERVED, **given}))
    ((found, _),) = catalog.native.search([([asked], None, 60.0)])
    return found


def test_columns_of_a_search_have_one_length(catalog: Catalog) -> None:
    found = search(catalog, tokens_per_second_per_user=20.0, max_accelerators=2)
    rows = found.rows
    assert len(found) == len(rows) > 0
    listed = json.loads(found.listed())
    for name, unit, doc in rows.columns:
        column = np.asarray(rows.column(name))
        assert len(column) == len(rows)
        assert doc.endswith(".")
        assert ("USD" in unit) == ("usd" in name)
        if name in listed:
            assert column.tolist() == listed[name]
    assert {len(column) for column in listed.values()} == {len(rows)}
    with pytest.raises(KeyError):
        rows.column("colour")


def test_a_search_tells_what_is_wanted_of_it(catalog: Catalog) -> None:
    given = {"tokens_per_second_per_user": 20.0, "max_accelerators": 2}
    asked = written(question("search_serving", {**SERVED, **given}))
    wanted = Wanted(Limits(users=1), ["cheapest"], builds=2)
    both = [([asked], wanted.written(), 60.0), ([asked], None, 60.0)]
    (found, said), (_, unsaid) = catalog.native.search(both)
    told, beside = json.loads(said), json.loads(unsaid)
    assert told["summary"]["evaluated"] <= told["summary"]["covered"]
    assert told["offered"] == json.loads(found.rows.offered(wanted.written()))
    assert len(told["offered"]["builds"]) == 2
    assert beside["offered"] is None
    assert beside["summary"] == told["summary"]


def test_what_rows_need_of_what_is_scarce_is_a_table(catalog: Catalog) -> None:
    found = search(catalog, tokens_per_second_per_user=20.0, max_accelerators=2)
    names, *columns = found.rows.resources()
    offsets, resource, amount = map(np.asarray, columns)
    listed = json.loads(found.listed())
    for row in range(len(found)):
        needs = slice(offsets[row], offsets[row + 1])
        of_row = {
            names[place]: int(n)
            for place, n in zip(resource[needs], amount[needs], strict=True)
        }
        number, model = listed["accelerators"][row], listed["accelerator"][row]
        assert of_row == {"accelerators": number, f"stock:{model}": number}


def test_a_column_outlives_what_it_was_found_in(catalog: Catalog) -> None:
    found = search(catalog, tokens_per_second_per_user=20.0, max_accelerators=2)
    prices = np.asarray(found.rows.column("price_micro_usd"))
    known = prices.tolist()
    del found
    assert prices.tolist() == known
    assert not prices.flags.writeable


def test_json_that_the_core_cannot_read_is_a_fault_of_the_caller(
    catalog: Catalog,
) -> None:
    with pytest.raises(ValueError, match="expected"):
        catalog.native.sourced(b"{")
    found = search(catalog, tokens_per_second_per_user=20.0, max_accelerators=2)
    with pytest.raises(ValueError, match="unknown field `bill`"):
        _native.lay_out([(found, b'{"purchases": [], "bill": 1}')])


def test_problems_of_the_core_arrive_as_diagnostics(catalog: Catalog) -> None:
    with pytest.raises(InputError) as refused:
        catalog.ask(
            "evaluate_serving",
            {
                **SERVED,
                "accelerator": "rtx-4091",
                "tp": 1,
                "pp": 1,
                "replicas": 1,
                "batch": 1,
            },
            dict,
        )

    (problem,) = refused.value.diagnostics
    assert problem.code == "E001"
    assert problem.value == "rtx-4091"
    assert "rtx-4090" in str(problem.help)


def test_other_threads_run_while_the_core_searches(catalog: Catalog) -> None:
    # The search below takes a good part of a second: long enough to count in, if the
    # interpreter's lock is released.
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        search(catalog, tokens_per_second_per_user=1.0, max_accelerators=64)
    finally:
        done.set()
        counter.join()
    assert counted > 10


def test_the_build_says_how_it_was_built() -> None:
    assert _native.build_info()["build_profile"] in {"debug", "release"}
