"""`planopt validate`: the document, the tables, and what it refuses."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest

from planopt.catalog import bundled_folder
from planopt.cli import main

if TYPE_CHECKING:
    from pathlib import Path

KEYS = {"n", "n_total", "mape", "median_ape", "p90_ape", "bias", "spearman"}

# Median errors of serving figures left out, and what they may be.
LEFT_OUT = {
    ("tpot", "hopper dense"): 0.10,
    ("tpot", "hopper moe"): 0.15,
    ("tpot", "blackwell moe"): 0.15,
    ("ttft", "all"): 0.30,
    ("throughput", "all"): 0.12,
}


@pytest.fixture
def few_rows(tmp_path: Path) -> Path:
    """Twelve rows of the bundled training measurements, one without a layout."""
    with (bundled_folder() / "measurements" / "training.csv").open() as file:
        rows = list(csv.DictReader(file))
    chosen = [row for row in rows if row["source"].startswith("calculon")]
    chosen += [row for row in rows if row["source"].startswith("flash-attention")]
    path = tmp_path / "few.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(chosen)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["validate", *arguments])
    written = capsys.readouterr()
    code = left.value.code
    return code if isinstance(code, int) else 0, written.out, written.err


def test_the_document_has_the_promised_names(
    capsys: pytest.CaptureFixture[str], few_rows: Path
) -> None:
    code, out, _ = run(capsys, "--data", str(few_rows), "--json")
    (dataset,) = json.loads(out)["datasets"]
    assert code == 0
    assert dataset["file"] == str(few_rows)
    assert set(dataset["metrics"]) == {"step_time"}
    assert set(dataset["metrics"]["step_time"]) == KEYS
    assert dataset["metrics"]["step_time"]["n"] == 8
    assert dataset["metrics"]["step_time"]["n_total"] == 8
    assert dataset["metrics"]["step_time"]["mape"] < 0.05
    assert dataset["searched"]["step_time"]["n"] == 5
    assert dataset["skipped"] == {}


def test_tables_name_the_worst_rows_and_their_derivation(
    capsys: pytest.CaptureFixture[str], few_rows: Path
) -> None:
    code, out, _ = run(capsys, "--data", str(few_rows))
    assert code == 0
    assert "furthest off" in out
    assert "backward_seconds" in out
    assert "layout searched" in out


def test_rows_left_out_are_judged(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--folds", "--json")
    judged = json.loads(out)
    assert code == 0
    classes = {each["of"]: each for each in judged["folds"]["in_folds"]}
    assert classes["h100-sxm dense"]["n"] >= 80
    assert 0.7 < judged["folds"]["covered"] < 0.9
    covered = judged["serving_covered"]
    assert covered.keys() >= {"decode", "tpot", "ttft", "throughput"}
    assert all(0.75 <= share <= 0.85 for share in covered.values())
    serving = {(each["metric"], each["of"]): each for each in judged["serving"]}
    # Every row that can be predicted, two pools among them.
    assert serving["tpot", "all"]["rows"] >= 1700
    for (metric, of), most in LEFT_OUT.items():
        assert serving[metric, of]["median_ape"] <= most
    assert serving["decode", "all"]["mape"] <= 0.08
    # Some runs have their memory published and not their time.
    assert judged["fitting"]["ran"] >= judged["step_time"]["n"]
    code, out, _ = run(capsys, "--folds")
    assert "whole sources left out" in out
    assert "80 % intervals cover" in out
    assert "any engine" not in out


def test_rows_left_out_are_those_that_come_along(
    capsys: pytest.CaptureFixture[str], few_rows: Path
) -> None:
    code, _, err = run(capsys, "--folds", "--data", str(few_rows))
    assert code == 2
    assert "E004" in err


def test_the_plot_has_a_mark_for_each_row(
    capsys: pytest.CaptureFixture[str], few_rows: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "plot.svg"
    run(capsys, "--data", str(few_rows), "--plot", str(picture))
    assert picture.read_text().count("<circle") == 8


@pytest.mark.parametrize(
    ("content", "code"), [(None, "E006"), ("a,b\n1,2\n", "E007"), ("", "E007")]
)
def test_a_file_that_is_none_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str | None, code: str
) -> None:
    path = tmp_path / "other.csv"
    if content is not None:
        path.write_text(content)
    left, _, err = run(capsys, "--data", str(path))
    assert left == 2
    assert code in err
