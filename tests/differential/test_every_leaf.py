"""Plans changed in places drawn at random: `make forge` tries all of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import msgspec
import pytest

import planopt
from forging import (
    Forgery,
    drawn,
    forged,
    forgeries,
    located,
    other_than,
    passed,
    passes,
)
from planopt_reference.fields import mark_of

# The reference is slow: its tests may take longer than others on a busy machine.
pytestmark = pytest.mark.timeout(600)

FLEET = Path(__file__).parents[1] / "cli" / "fleet_small.toml"


@cache
def saved(kind: str) -> bytes:
    """A plan as a file has it."""
    if kind == "training":
        run = planopt.train(
            "llama-3.1-8b",
            tokens="20B",
            deadline="30d",
            accelerators=["h100-sxm", "a100-sxm-80"],
        )
        return run.to_json().encode()
    if kind == "fleet":
        return planopt.fleet(FLEET).to_json().encode()
    return (
        planopt.solve(
            "llama-3.1-8b",
            target="20tok/s",
            load="steady",
            accelerators=["l40s", "rtx-4090"],
        )
        .to_json()
        .encode()
    )


@pytest.mark.parametrize(
    ("kind", "number"), [("serving", 60), ("training", 40), ("fleet", 5)]
)
def test_what_is_computed_again_cannot_be_changed(kind: str, number: int) -> None:
    text = saved(kind)
    assert passes(text)
    tried = drawn(msgspec.json.decode(text), Random(0), number)
    found = passed(text, tried)
    assert {place for place in found if mark_of(place) == "verified"} == set()
    assert sum(map(len, found.values())) < number / 4, found


@pytest.mark.parametrize("kind", ["serving", "training"])
def test_no_field_is_left_out_and_none_is_added(kind: str) -> None:
    text = saved(kind)
    deleted = [
        each
        for each in forgeries(msgspec.json.decode(text))
        if each.how == "deleted" and isinstance(each.path[-1], str)
    ]
    tried = Random(1).sample([each for each in deleted if each.path[0] != "facts"], 12)
    assert passed(text, tried) == {}
    added = Forgery("other", ("more",), 1).made(text)
    assert added is not None
    assert not passes(added)


def test_what_an_older_version_wrote_has_no_newer_fields() -> None:
    document = msgspec.json.decode(saved("serving"))
    del document["pools_bound_usd"]
    assert not passes(msgspec.json.encode(document))
    document["provenance"]["planopt"] = "0.1.9"
    assert passes(msgspec.json.encode(document))


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("serving", "alternatives[0].bill_of_materials[0].quantity"),
        ("serving", "alternatives[0].tokens_per_second_per_user"),
        ("serving", "alternatives[0].power_watts"),
        ("serving", "alternatives[0].hardware.rack_units"),
        ("serving", "alternatives[0].candidate.batch"),
        ("serving", "answers.cheapest.bill_of_materials[0].unit_price_usd"),
        ("serving", "answers.cheapest.status"),
        ("training", "alternatives[0].bill_of_materials[0].quantity"),
        ("training", "alternatives[0].price_usd"),
        ("training", "alternatives[0].days"),
        ("training", "alternatives[0].run_usd"),
        ("fleet", "runs[0].evaluation.memory.total_bytes"),
        ("fleet", "runs[0].evaluation.run.usd"),
        ("fleet", "runs[0].evaluation.cost.usd_per_hour"),
        ("fleet", "runs[0].evaluation.failures.availability"),
        ("fleet", "runs[0].evaluation.intervals.days.high"),
        ("fleet", "runs[0].hardware.rack_units"),
    ],
)
def test_what_was_not_chosen_is_computed_again(kind: str, place: str) -> None:
    document = msgspec.json.decode(saved(kind))
    holder, key = located(document, place)
    changed = forged(document, place, other_than(holder[key], by=0.01))
    assert not passes(msgspec.json.encode(changed)), place


@pytest.mark.parametrize("kind", ["serving", "training"])
def test_an_alternative_is_not_made_cheaper_as_a_whole(kind: str) -> None:
    document = msgspec.json.decode(saved(kind))
    one = document["alternatives"][0]
    for line in one["bill_of_materials"]:
        line["unit_price_usd"] /= 2
        line["price_usd"] /= 2
    one["price_usd"] /= 2
    assert not passes(msgspec.json.encode(document))


@pytest.mark.parametrize("kind", ["serving", "training"])
def test_a_plan_carries_its_alternatives_and_says_nothing_twice(kind: str) -> None:
    document = msgspec.json.decode(saved(kind))
    cards = {one["candidate"]["accelerator"] for one in document["alternatives"]}
    assert cards
    assert {f"accelerators/{card}" for card in cards} <= {*document["facts"]["entries"]}
    names = [each["name"] for each in document["assumed"]]
    assert len(names) == len({*names})
