"""Published documents: every property says what it is, its unit and its mark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import write_schema
from write_schema import KINDS, forms, walk

import planopt
import planopt.catalog.open as opening
from planopt.documents.base import Document
from planopt.documents.exchange import ImportDocument
from planopt.documents.plan import PlanDocument
from planopt.documents.schema import COUNT, properties, sentences, unit_of
from planopt.second_opinion import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENTS: tuple[type[Document], ...] = KINDS


class Undescribed(Document, frozen=True, kw_only=True):
    """A document with a property that nobody describes."""

    gradients_of_nothing: float = 0.0
    power_watts: float = 0.0
    tokens_by_sight: float = 0.0
    """What somebody saw."""


def undescribed(kind: type[Document]) -> Iterator[str]:
    """Properties without a sentence, without a mark, and numbers without a unit."""
    for title, name, node in walk(schema(kind)):
        leaves = not any("properties" in form for form in forms(node))
        numbers = any(form.get("type") in ("number", "integer") for form in forms(node))
        if not (
            node.get("description")
            and (not numbers or "x-unit" in node)
            and (
                not issubclass(kind, PlanDocument) or not leaves or "x-planopt" in node
            )
        ):
            yield f"{title}.{name}"


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_every_property_is_described(kind: type[Document]) -> None:
    assert list(undescribed(kind)) == []


def test_a_property_without_a_sentence_is_seen() -> None:
    assert list(undescribed(Undescribed)) == ["Undescribed.gradients_of_nothing"]
    assert sentences(Undescribed) == {"tokens_by_sight": "What somebody saw."}


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("power_watts", "W"),
        ("cost.usd_per_million_tokens", "USD/Mtok"),
        ("deployments[].evaluation.ttft_seconds.p95", "s"),
        ("deployments[].candidate.tp", COUNT),
        ("promises[].predicted", "of the figure"),
    ],
)
def test_the_end_of_a_name_says_the_unit(path: str, unit: str) -> None:
    assert unit_of(path) == unit


def test_every_sentence_is_of_a_property() -> None:
    used = {name for kind in DOCUMENTS for _, name, _ in walk(schema(kind))}
    assert properties().descriptions.keys() - used == set()


def test_no_name_of_before_is_left() -> None:
    used = {name for kind in DOCUMENTS for _, name, _ in walk(schema(kind))}
    assert used & properties().renamed.keys() == set()


def test_the_page_is_that_of_the_documents() -> None:
    said = "docs/reference/plan.md is old: make schema"
    assert write_schema.PAGE.read_text("utf-8") == write_schema.page(), said


OF_THE_CORE_ALONE = {
    # Kept apart as `cost.parts`, with words.
    *(f"cost.{part}_usd_per_hour" for part in ("capital", "energy", "financing")),
    *(f"cost.{part}_usd_per_hour" for part in ("hosting", "rent", "service")),
}


def keys(value: object, path: str = "") -> Iterator[str]:
    """Every key of a document, with what holds it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}".lstrip(".")
            yield from keys(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, path)


@pytest.mark.parametrize("door", ["evaluate_serving", "evaluate_training"])
def test_documents_hold_what_the_core_says(
    door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []

    def decoded(text: bytes, type: Any) -> object:
        answer = msgspec.json.decode(text, type=type)
        told = msgspec.json.decode(msgspec.json.encode(answer))
        answers.append(set(keys(msgspec.json.decode(text))) - set(keys(told)))
        return answer

    monkeypatch.setattr(opening, "decode", decoded)
    getattr(planopt, door)(model="llama-3.1-8b", accelerator="h100-sxm")
    assert answers
    assert set().union(*answers) <= OF_THE_CORE_ALONE


def test_two_structs_of_one_name_are_told_apart() -> None:
    found = schema(ImportDocument)["properties"]
    mixed = [
        next(each for each in found[kind]["anyOf"] if "properties" in each)
        for kind in ("serving", "training")
    ]
    told = [each["properties"]["mixed"]["anyOf"][0]["properties"] for each in mixed]
    assert [each.keys() & {"chunk_tokens", "stages"} for each in told] == [
        {"chunk_tokens"},
        {"stages"},
    ]
