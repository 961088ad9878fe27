"""The door between Python and the core: what goes in, comes out, and is refused."""

from __future__ import annotations

import threading
import time

import pytest

from planopt import _native
from planopt.catalog.open import Catalog, open_catalog
from planopt.errors import InputError

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


def test_columns_of_a_search_have_one_length(catalog: Catalog) -> None:
    found = catalog.ask(
        "search_serving",
        {**SERVED, "tokens_per_second_per_user": 20.0, "max_accelerators": 2},
    )

    assert {len(column) for column in found["units"].values()} == {
        len(found["units"]["users"])
    }
    assert found["evaluated"] <= found["covered"]


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
        catalog.ask(
            "search_serving",
            {
                **SERVED,
                "tokens_per_second_per_user": 1.0,
                "max_accelerators": 64,
                "exhaustive": False,
            },
        )
    finally:
        done.set()
        counter.join()
    assert counted > 10


def test_the_build_says_how_it_was_built() -> None:
    assert _native.build_info()["build_profile"] in {"debug", "release"}
