"""What the doors of the core refuse: never an error of Python, always a diagnostic."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt._native import doors
from planopt.catalog.entries import Pricing
from planopt.catalog.open import open_catalog
from planopt.documents.evaluation import EvaluationDocument
from planopt.door import question, written
from planopt.errors import InputError

MODEL = {"model": "llama-3.1-8b"}
SERVED = {**MODEL, "context": 1024, "prompt": 512}
CARD = {"accelerator": "h100-sxm"}
LENGTHS = {"kind": "fixed", "tokens": 512}
LOAD = {
    "arrivals": {"kind": "closed", "users": 4, "think_seconds": 0.0},
    "sizes": {"kind": "independent", "prompt": LENGTHS, "output": LENGTHS},
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "evaluate_serving": {**SERVED, **CARD, "tp": 1, "engine": "vllm"},
    "estimate_serving": {**SERVED, **CARD, "load": LOAD, "run": {"requests": 4}},
    "simulate_serving": {
        **SERVED,
        **CARD,
        "load": LOAD,
        "run": {"requests": 4},
        "decode": {**SERVED, **CARD, "tp": 2, "scheduler": {"max_sequences": 8}},
    },
    "search_serving": {**SERVED, "tokens_per_second_per_user": 1e9}
    | {"accelerators": ["h100-sxm"], "max_accelerators": 1},
    "search_pools": {**SERVED, "load": LOAD, "percentile": "p95", "aim": "cheapest"}
    | {"accelerators": ["h100-sxm"], "max_accelerators": 1, "tpot_seconds": 1e-9},
    "evaluate_training": {**MODEL, **CARD, "tokens": 1e9},
    "evaluate_mixed": {
        **MODEL,
        "shares": [{"accelerator": "h100-sxm", "accelerators": 1}],
    },
    "search_training": {**MODEL, "tokens": 1e9, "aim": "cheapest"}
    | {"accelerators": ["h100-sxm"], "max_accelerators": 1},
}
SECONDS = 60.0
ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    2**64,
    10**40,
    float("nan"),
    float("-inf"),
    "",
    "\ud800",
    b"bytes",
    object(),
    [],
    [[]],
    {},
    {1: 2},
]


def tables(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all tables of a question."""
    found = [path] if isinstance(value, dict) else []
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, each in pairs:
        found += tables(each, (*path, key))
    return found


def changed(value: Any, path: tuple[Any, ...], key: Any, other: Any) -> Any:
    """Copy a question with another value in one place."""
    copied = dict(value) if isinstance(value, dict) else list(value)
    if path:
        copied[path[0]] = changed(copied[path[0]], path[1:], key, other)
    else:
        copied[key] = other
    return copied


def field_of(path: tuple[Any, ...]) -> str:
    """Write a path as diagnostics do."""
    parts = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
    return "".join(parts).removeprefix(".")


def ask(door: str, asked: Any) -> Any:
    native = open_catalog().native
    if door == "search_serving":
        return native.search([([written(asked)], None, SECONDS)])
    within = {"search_pools": (SECONDS,), "search_training": (None, SECONDS)}
    return getattr(native, door)(written(asked), *within.get(door, ()))


@pytest.mark.parametrize("door", QUESTIONS)
def test_questions_are_answered(door: str) -> None:
    ask(door, question(door, QUESTIONS[door]))


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_misspelt_key_is_refused_at_every_level(data: st.DataObject) -> None:
    door = data.draw(st.sampled_from(sorted(QUESTIONS)))
    whole = question(door, QUESTIONS[door])
    path = data.draw(st.sampled_from(tables(whole)))
    key = data.draw(st.text("abcdefgh_", min_size=3, max_size=9)) + "_x"
    with pytest.raises(InputError) as refused:
        ask(door, changed(whole, path, key, 1))
    (problem,) = refused.value.diagnostics
    assert problem.code == "E103"
    assert problem.field == field_of((*path, key))
    assert problem.accepted


@pytest.mark.parametrize("door", QUESTIONS)
def test_an_option_that_a_door_does_not_have_is_refused(door: str) -> None:
    with pytest.raises(InputError) as refused:
        ask(door, question(door, {**QUESTIONS[door], "tensor_parallel": 2}))
    (problem,) = refused.value.diagnostics
    assert (problem.code, problem.field) == ("E103", "tensor_parallel")


def test_a_misspelt_key_is_told_with_the_nearest() -> None:
    asked = question("evaluate_training", QUESTIONS["evaluate_training"])
    with pytest.raises(InputError) as refused:
        ask("evaluate_training", {**asked, "layout": {"micro_bach": 2}})
    (problem,) = refused.value.diagnostics
    assert problem.field == "layout.micro_bach"
    assert problem.value == "2"
    assert "`micro_batch`" in str(problem.help)


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_no_value_breaks_a_door(data: st.DataObject) -> None:
    door = data.draw(st.sampled_from(sorted(QUESTIONS)))
    whole = question(door, QUESTIONS[door])
    group, keys = data.draw(st.sampled_from(doors()[door]))
    value = data.draw(st.sampled_from(ODD))
    path: tuple[Any, ...] = ()
    inner: bool = data.draw(st.booleans())
    if keys and inner:
        table = whole.get(group, {})
        assert isinstance(table, dict)
        whole[group] = dict(table)
        path, group = (group,), data.draw(st.sampled_from(keys))
    try:
        ask(door, changed(whole, path, group, value))
    except InputError as refused:
        for problem in refused.diagnostics:
            assert problem.field, problem
            assert problem.accepted, problem


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InputError) as refused:
        ask("evaluate_serving", {"model": {"name": endless}})
    assert [each.field for each in refused.value.diagnostics] == ["model.name"]


def test_a_number_that_is_none_is_not_taken_for_nothing() -> None:
    for number in (float("nan"), float("inf")):
        asked = question("evaluate_serving", {**SERVED, **CARD, "kv_heads": number})
        with pytest.raises(InputError) as refused:
            ask("evaluate_serving", asked)
        (problem,) = refused.value.diagnostics
        assert (problem.code, problem.field) == ("E104", "model.kv_heads")


def test_what_is_no_json_is_refused() -> None:
    for text in (b"", b"{", b"[" * 1000, b'{"model": "\xff"}', b"null"):
        with pytest.raises(InputError) as refused:
            open_catalog().native.evaluate_serving(text)
        assert refused.value.diagnostics[0].field
        assert refused.value.diagnostics[0].accepted


@pytest.mark.parametrize("number", [0.1 + 0.2, 1e22, 5e-324, 1.7976931348623157e308])
def test_a_number_arrives_as_it_was_said(number: float) -> None:
    cost = open_catalog().with_cost({"carbon_kg_per_kwh": number}).cost
    assert cost.carbon_kg_per_kwh == number


def test_other_doors_refuse_in_the_same_way() -> None:
    native = open_catalog().native
    for asked, field in (
        (lambda: native.with_cost(b'{"yaers": 3.0}'), "yaers"),
        (lambda: native.with_cost(b'{"years": "three"}'), "years"),
        (lambda: open_catalog().at_price("rtx-4090", float("nan")), "usd"),
        (lambda: open_catalog().paid(Pricing(condition="stolen")), "--condition"),
        (lambda: native.model(b'{"nam": "llama-3.1-8b"}'), "nam"),
        (lambda: native.front(b'{"kind": "all"}', b"{}"), "--kind"),
    ):
        with pytest.raises(InputError) as refused:
            asked()
        assert field in [problem.field for problem in refused.value.diagnostics]


def test_a_power_limit_is_an_option_of_its_own() -> None:
    catalog = open_catalog()
    asked = {**SERVED, "tp": 2}
    named = catalog.with_power_limits("rtx-4090@300W").ask(
        "evaluate_serving",
        {**asked, "accelerator": "rtx-4090@300W"},
        EvaluationDocument,
    )
    card: dict[str, Any] = {"accelerator": "rtx-4090", "power_limit_watts": 300}
    alike = catalog.ask("evaluate_serving", {**asked, **card}, EvaluationDocument)
    assert alike == named
    card["power_limit_watts"] = 20
    with pytest.raises(InputError) as refused:
        catalog.ask("evaluate_serving", {**asked, **card}, EvaluationDocument)
    (problem,) = refused.value.diagnostics
    assert problem.code == "E003"


def test_what_is_rented_is_as_it_is() -> None:
    catalog = open_catalog()
    offer = catalog.list("offers")[0].id
    host: dict[str, Any] = {"host": offer, "terms": "on-demand", "hosts": 2}
    with pytest.raises(InputError) as refused:
        catalog.ask("evaluate_serving", {**SERVED, **CARD, **host}, EvaluationDocument)
    assert [each.field for each in refused.value.diagnostics] == ["--hosts"]
