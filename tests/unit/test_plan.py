"""The plan as a document: saved, read again, described by its schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import msgspec
import pytest

from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.parts import Candidate, Hardware, Rejection
from planopt.documents.plan import Plan
from planopt.errors import InputError
from planopt.second_opinion import schema
from planopt_reference.fields import FIELDS, leaves, mark_of

if TYPE_CHECKING:
    from pathlib import Path


def test_plan_survives_the_way_through_a_file(plan: Plan, tmp_path: Path) -> None:
    plan.save(tmp_path / "plan.json")

    assert Plan.load(tmp_path / "plan.json") == plan


def test_infeasible_plan_survives_json(no_plan: Plan) -> None:
    assert Plan.from_json(no_plan.to_json()) == no_plan


def test_evaluation_survives_json() -> None:
    evaluation = EvaluationDocument(
        feasible=False,
        candidate=Candidate(accelerator="rtx-4090"),
        hardware=Hardware(),
        rejections=(
            Rejection(code="heads", message="8 for 3", numbers={"tp": 8, "heads": 3}),
        ),
    )

    assert EvaluationDocument.from_json(evaluation.to_json()) == evaluation


def test_figures_are_reached_by_name(plan: Plan) -> None:
    decode = plan.deployments[0].evaluation.decode

    assert decode.tokens_per_second_per_user == 12.3


def test_plan_cannot_be_changed(plan: Plan) -> None:
    with pytest.raises(AttributeError):
        plan.price_usd = 1.0  # type: ignore[misc]


def test_unknown_figures_are_null() -> None:
    evaluation = EvaluationDocument(
        feasible=True,
        candidate=Candidate(accelerator="rtx-4090"),
        hardware=Hardware(),
    )
    document = json.loads(evaluation.to_json())

    assert document["ttft_seconds"] == dict.fromkeys(
        ("mean", "p50", "p90", "p95", "p99")
    )
    assert document["power_watts"] is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "truncated"),
        ("{", "truncated"),
        ("[]", "array"),
        ("{}", "status"),
        ('{"status": "perfect"}', "$.status"),
        ('{"status": "optimal", "schema": "planopt.plan/3"}', "$.schema"),
        ('{"status": "optimal", "price_usd": "cheap"}', "$.price_usd"),
        ('{"status": "optimal", "price_usd": NaN}', "malformed"),
        ('{"status": "optimal", "deployments": [{}]}', "$.deployments[0]"),
    ],
)
def test_what_is_no_plan_is_refused_with_the_place(text: str, place: str) -> None:
    with pytest.raises(InputError, match="E301") as raised:
        Plan.from_json(text)

    (problem,) = raised.value.diagnostics
    assert place in problem.message
    assert problem.accepted is not None
    assert "planopt.plan/2" in problem.accepted


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(InputError, match="E301"):
        Plan.from_json(b'{"status": "\xff"}')


def test_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="E006"):
        Plan.load(tmp_path / "missing.json")


@pytest.mark.parametrize("kind", [Plan, EvaluationDocument])
def test_schema_is_a_json_schema(kind: type[Plan | EvaluationDocument]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(kind))


def test_schema_accepts_plans_and_refuses_others(plan: Plan, no_plan: Plan) -> None:
    validator = jsonschema.Draft202012Validator(schema())

    for document in (plan, no_plan):
        validator.validate(json.loads(document.to_json()))
    wrong = json.loads(plan.to_json()) | {"price_usd": "cheap"}
    assert not validator.is_valid(wrong)


def _marks(node: Any, path: str = "") -> dict[str, str]:
    """Paths of a schema with their marks."""
    found = {path: node["x-planopt"]} if "x-planopt" in node else {}
    for form in (node, *node.get("anyOf", ())):
        for key, below in form.get("properties", {}).items():
            found |= _marks(below, f"{path}.{key}".lstrip("."))
        if isinstance(form.get("items"), dict):
            found |= _marks(form["items"], f"{path}[]")
    return found


def test_schema_marks_every_figure_as_verify_treats_it(plan: Plan) -> None:
    marks = _marks(schema())

    assert marks["price_usd"] == "verified"
    assert marks["deployments[].evaluation.memory.total_bytes"] == "verified"
    assert marks["alternatives[].price_usd"] == "verified"
    assert marks["alternatives[].why_not"] == "informative"
    document = msgspec.to_builtins(plan)
    told = {field: mark_of(field) or "informative" for field, _ in leaves(document)}
    assert set(told.values()) == {"verified", "checked", "informative"}
    assert FIELDS["price_usd"] == marks["price_usd"]


def test_notebook_shows_the_screen(plan: Plan, no_plan: Plan) -> None:
    assert "GeForce RTX 4090" in plan._repr_html_()
    assert "$19,100" in plan._repr_html_()
    assert "infeasible: no plan" in no_plan._repr_html_()


def test_names_are_escaped_in_a_notebook(plan: Plan) -> None:
    line = msgspec.structs.replace(plan.bill_of_materials[0], name="<script>")
    shown = msgspec.structs.replace(plan, bill_of_materials=(line,))._repr_html_()

    assert "<script>" not in shown
