"""`planopt verify` on files: what holds, what was changed, and what is no plan."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import planopt

if TYPE_CHECKING:
    from pathlib import Path


def verify(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "planopt.cli", "verify", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan of the main job, in a file."""
    path: Path = tmp_path_factory.mktemp("plans") / "plan.json"
    planopt.solve(target="5tok/s", budget=20_000).save(path)
    return path


def forged(saved: Path, field: str, value: object) -> Path:
    document: dict[str, Any] = json.loads(saved.read_text(encoding="utf-8"))
    document[field] = value
    path = saved.with_name(f"{field}.json")
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_saved_plan_holds(saved: Path) -> None:
    answer = verify(str(saved))
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "VERIFIED" in answer.stdout
    assert "without the optimizer" in answer.stdout


def test_a_changed_figure_is_shown_with_what_it_should_be(saved: Path) -> None:
    price = json.loads(saved.read_text(encoding="utf-8"))["price_usd"]
    path = forged(saved, "price_usd", price - 1)
    answer = verify(str(path))
    assert answer.returncode == 1
    assert "NOT VERIFIED" in answer.stdout
    assert f"price_usd says {price - 1}, recomputed {price}" in answer.stderr
    told = json.loads(verify(str(path), "--json").stdout)
    assert told["verified"] is False
    expected = {each["field"]: each["expected"] for each in told["mismatches"]}
    assert expected["price_usd"] == price
    others = {"capex_usd", "price_usd_at_confidence_50", "answers.cheapest.price_usd"}
    assert expected.keys() <= {"price_usd", *others}


@pytest.mark.parametrize(
    "content", ["", "no JSON", "[]", '{"schema": "planopt.money/1"}']
)
def test_what_is_no_plan_is_wrong_input(tmp_path: Path, content: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(content, encoding="utf-8")
    answer = verify(str(path))
    assert answer.returncode == 2
    assert "E301" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_plan_without_its_question_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{"schema": "planopt.plan/2", "status": "optimal"}', "utf-8")
    answer = verify(str(path))
    assert answer.returncode == 1
    assert "request" in answer.stderr
