"""What the terminal shows, word for word at 100 columns.

A golden file is changed by ``PLANOPT_BLESS=1 pytest tests/cli/test_reports.py`` and the
difference is read in review.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from planopt.catalog.entries import Entity, Entry, Figure
from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.parts import Candidate, Hardware, PlanWarning, Rejection
from planopt.report.catalog import render_catalog, render_entry
from planopt.report.comparison import render_comparison
from planopt.report.evaluation import render_evaluation
from planopt.report.money import money
from planopt.report.numbers import rate, size
from planopt.report.plan import render_plan
from planopt.report.reproduction import render_reproduction
from planopt.report.style import Style

if TYPE_CHECKING:
    from planopt.documents.plan import Plan

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(autouse=True)
def _hundred_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def assert_golden(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("PLANOPT_BLESS"):
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")


@pytest.fixture
def evaluation(plan: Plan) -> EvaluationDocument:
    deployment = plan.deployments[0]
    figures = {
        field: getattr(deployment.evaluation, field)
        for field in ("memory", "decode", "prefill")
    }
    return EvaluationDocument(
        feasible=True,
        **figures,
        model="llama-2-70b",
        candidate=deployment.candidate,
        hardware=deployment.hardware,
        bill_of_materials=plan.bill_of_materials,
        cost=plan.cost,
        power_watts=4220.0,
        assumed=plan.assumed,
    )


def test_plan(plan: Plan) -> None:
    assert_golden("plan", str(render_plan(plan, saved="plan.json", details=True)))


def test_no_plan(no_plan: Plan) -> None:
    assert_golden("no-plan", str(render_plan(no_plan, details=True)))


def test_evaluation(evaluation: EvaluationDocument) -> None:
    assert_golden("evaluation", str(render_evaluation(evaluation, details=True)))


def test_comparison(plan: Plan, no_plan: Plan) -> None:
    dearer = msgspec.structs.replace(plan, price_usd=28000.0)
    assert_golden("comparison", str(render_comparison([plan, dearer, no_plan])))


def test_catalog() -> None:
    entries = {
        "hosts": [Entry("desktop", "Desktop, one GPU")],
        "networks": [],
    }
    assert_golden("catalog", str(render_catalog(entries)))


def test_entry() -> None:
    def figure(field: str, text: str, *source: str | None) -> Figure:
        cite, date, status = source
        return Figure(field=field, text=text, cite=cite, date=date, status=status)

    sheet = ("data sheet", "2022-10", "stored")
    entry = Entity(
        kind="accelerator",
        id="rtx-4090",
        name="GeForce RTX 4090",
        file="accelerators/rtx-4090.toml",
        figures=(
            figure("vendor", "NVIDIA", None, None, None),
            figure("memory", "24 GiB", *sheet),
            figure("peak.fp16", "165.2 TFLOPS", *sheet),
        ),
    )
    assert_golden("entry", str(render_entry(entry)))


def test_reproduction() -> None:
    row = {
        "id": "inf-kv",
        "kind": "derived",
        "topic": "inference",
        "quantity": "KV cache per token",
        "article": 0.3,
        "exact": 0.32768,
        "ours": 0.32768,
        "chained": None,
        "unit": "MB",
        "note": "the article rounds down",
    }
    assert_golden("reproduction", str(render_reproduction([row])))


def test_a_bill_without_sources_has_no_column_for_them(plan: Plan) -> None:
    bill = tuple(
        msgspec.structs.replace(line, source=None) for line in plan.bill_of_materials
    )

    unknown = msgspec.structs.replace(plan, bill_of_materials=bill)
    text = str(render_plan(unknown, details=True))

    assert "source" not in text
    assert "$12,800" in text


def test_an_evaluation_that_does_not_fit_says_why() -> None:
    evaluation = EvaluationDocument(
        feasible=False,
        candidate=Candidate(accelerator="rtx-4090"),
        hardware=Hardware(),
        rejections=(Rejection(code="memory", message="needs 80 GB of 24 GB"),),
    )

    text = str(render_evaluation(evaluation))

    assert "does not fit" in text
    assert "memory: needs 80 GB of 24 GB" in text


def test_what_is_not_proven_is_not_called_proven(plan: Plan) -> None:
    found = msgspec.structs.replace(
        plan, status="feasible", gap=0.02, bound_usd=18718.0
    )

    text = str(render_plan(found))

    assert "cheapest in the space searched" not in text
    assert "feasible, within 2.0% of the best" in text
    assert "no purchase is below $18,718" in text


def test_colour_changes_nothing_but_colour(plan: Plan, no_plan: Plan) -> None:
    import re

    for each in (plan, no_plan):
        painted = render_plan(each).text(Style(colour=True))
        assert "\x1b[" in painted
        assert re.sub(r"\x1b\[[\d;]*m", "", painted) == str(render_plan(each))


@pytest.mark.parametrize("columns", ["60", "80", "100"])
def test_lines_fit_the_terminal(
    plan: Plan, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    warning = PlanWarning(code="W001", message="word " * 60, help="word " * 60)
    wordy = msgspec.structs.replace(plan, warnings=(warning,), alternatives=())

    prose = str(render_plan(wordy, details=True)).split("warning[")[1]

    assert max(map(len, prose.splitlines())) <= int(columns)


def test_numbers_as_people_read_them() -> None:
    assert [money(each) for each in (19100.0, 0.5, None)] == ["$19,100", "$0.50", "-"]
    assert [rate(each) for each in (4057.3, 12.34, 5.0, 0.1234, None)] == [
        "4,057",
        "12.3",
        "5.00",
        "0.123",
        "-",
    ]
    assert size(23.7e9) == "23.70 GB"
