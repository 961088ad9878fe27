import csv
import json
from pathlib import Path

import pytest

import planopt
from planopt.cli import main
from planopt.errors import InputError
from planopt.tables import write_rows

ASKED = ("--model", "llama-3.1-8b", "--accelerators", "rtx-4090", "--target", "20tok/s")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["frontier", *arguments])
    return int(left.value.code or 0)


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "json"])
def test_a_file_has_the_rows_that_are_printed(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow.ipc
    import pyarrow.parquet

    path = tmp_path / f"front.{form}"
    assert run(*ASKED, "--json", "--out", str(path)) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed
    if form == "parquet":
        assert pyarrow.parquet.read_table(path).to_pylist() == printed
    elif form == "arrow":
        with pyarrow.ipc.open_file(path) as reader:
            assert reader.read_all().to_pylist() == printed
    elif form == "csv":
        with path.open() as file:
            assert len(list(csv.DictReader(file))) == len(printed)
    else:
        assert json.loads(path.read_text()) == printed


def test_the_table_names_the_accelerator(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*ASKED) == 0
    assert "rtx-4090" in capsys.readouterr().out


def test_the_front_of_a_space_gets_dearer_and_faster(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--space", "calculon-gpt3-175b", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    prices = [row["price_usd"] for row in rows]
    days = [row["days"] for row in rows]
    assert prices == sorted(prices)
    assert days == sorted(days, reverse=True)


def test_any_reader_of_arrow_takes_a_frontier() -> None:
    import pyarrow

    found = planopt.frontier(model="llama-3.1-8b", accelerators=["rtx-4090"])
    stream = pyarrow.RecordBatchReader.from_stream(found)
    assert stream.read_all().to_pylist() == found.to_dicts()


def test_a_form_that_there_is_not_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no rows can be written in this form"):
        write_rows(tmp_path / "front.xlsx", [])
