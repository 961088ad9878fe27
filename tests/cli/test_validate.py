"""`planopt validate`: the document, the tables, and what it refuses."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest

from planopt.catalog.open import bundled_folder
from planopt.cli import main

if TYPE_CHECKING:
    from pathlib import Path

KEYS = {"n", "n_total", "mape", "median_ape", "p90_ape", "bias", "spearman", "floor"}


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


def with_cell(few_rows: Path, column: str, text: str) -> Path:
    """Put a text in a cell of the second row."""
    with few_rows.open() as file:
        rows = list(csv.DictReader(file))
    rows[1][column] = text
    with few_rows.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return few_rows


@pytest.mark.parametrize(
    "column",
    [
        *("accelerators", "accelerators_per_host", "micro_batch", "global_batch"),
        *("tp", "pp", "cp", "ep", "vpp", "seq_len", "layers", "hidden"),
        *("step_seconds", "tokens_per_second_per_accelerator", "memory_gib", "mfu"),
    ],
)
@pytest.mark.parametrize(
    "text", ["x", "nan", "inf", "-1", "0", "1e400", "1e308", "9" * 25, "\u00e9"]
)
def test_a_cell_that_is_no_number_is_refused(
    capsys: pytest.CaptureFixture[str], few_rows: Path, column: str, text: str
) -> None:
    path = with_cell(few_rows, column, text)
    left, out, err = run(capsys, "--data", str(path))
    assert (left, out) == (2, "")
    assert "error[E113]" in err
    assert f"{path}:3" in err
    assert f"field: `{column}` is `{text}`" in err


def test_all_cells_that_are_no_numbers_are_told(
    capsys: pytest.CaptureFixture[str], few_rows: Path
) -> None:
    path = with_cell(with_cell(few_rows, "tp", "many"), "step_seconds", "none")
    _, _, err = run(capsys, "--data", str(path))
    assert err.count("error[E113]") == 2


SCHEMAS = {
    "serving": (
        "id,source,engine,model,weight_format,kv_format,accelerator,tp,pp,dp_attention,"
        "ep,replicas,load,users,prompt_tokens,output_tokens,lengths,tpot_ms\n"
        "a,here,vllm,llama-3.1-8b,bf16,activations,h100-sxm,1,1,1,1,1,steady,1,512,64,"
        "fixed,{}\n"
    ),
    "collectives": (
        "id,source,accelerator,ranks,library,ring,message_bytes,measured_us\n"
        "a,here,h100-sxm,8,nccl,true,1048576,{}\n"
    ),
}


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("text", ["x", "nan", "1e400", "-1", "0"])
def test_what_was_measured_is_a_number(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(SCHEMAS[name].format(text))
    left, out, err = run(capsys, "--data", str(path))
    assert (left, out) == (2, "")
    assert "error[E113]" in err


@pytest.mark.parametrize("name", SCHEMAS)
def test_columns_that_are_not_there_are_empty(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(SCHEMAS[name].format("20"))
    left, out, err = run(capsys, "--data", str(path), "--json")
    assert (left, err) == (0, "")
    assert json.loads(out)["datasets"]


def test_a_message_of_an_unknown_accelerator_is_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    rows = SCHEMAS["collectives"].format("20").replace("h100-sxm", "h1000")
    path.write_text(rows)
    left, out, _ = run(capsys, "--data", str(path), "--json")
    assert left == 0
    assert "h1000" in str(json.loads(out)["datasets"][0]["skipped"])


@pytest.mark.parametrize(
    "content", [b"\xff\xfea\0", b"model,\xe4\n1,2\n", b"a\0b\n1\n"]
)
def test_bytes_that_are_no_table_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    left, out, err = run(capsys, "--data", str(path))
    assert (left, out) == (2, "")
    assert "error[E00" in err


def test_a_column_that_nobody_reads_is_told_with_the_nearest(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    text = SCHEMAS["serving"].format("20")
    path.write_text(text.replace("tpot_ms", "tpot").replace(",ep,", ",epp,"))
    left, _, err = run(capsys, "--data", str(path))
    assert left == 2
    assert "column `tpot` has no unit" in err
    assert "accepted: tpot_ms" in err
    assert "without ep" in err


def test_a_format_that_is_not_known_is_never_sixteen_bits(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(SCHEMAS["serving"].format("20").replace("bf16", "q4_q_m"))
    left, _, err = run(capsys, "--data", str(path))
    assert left == 2
    assert "`q4_q_m` is no weight format" in err
    assert "did you mean `q4_k_m`?" in err


def test_a_folder_is_no_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    left, _, err = run(capsys, "--data", str(tmp_path))
    assert left == 2
    assert "error[E006]" in err
