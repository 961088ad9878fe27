import csv
import json
from pathlib import Path

import pytest

from planopt.cli import main
from planopt.errors import InputError
from planopt.exchange.rows import write_rows
from planopt.planning.compare import Frontier
from planopt.report.spaces import render_frontier

ROWS = [
    {
        "accelerator": "rtx-4090",
        "users": 8,
        "price_usd": 2500.5,
        "tokens_per_second_per_user": 20.0,
        "tokens_per_second": 160.0,
        "network": None,
    },
    {
        "accelerator": "h100-sxm",
        "users": 64,
        "price_usd": 30000.0,
        "tokens_per_second_per_user": 90.0,
        "tokens_per_second": 640.0,
        "network": "ib",
    },
]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["frontier", *arguments])
    return int(left.value.code or 0)


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "json"])
def test_a_file_has_the_rows(form: str, tmp_path: Path) -> None:
    import pyarrow.ipc
    import pyarrow.parquet

    path = tmp_path / f"front.{form}"
    write_rows(path, ROWS)
    if form == "parquet":
        assert pyarrow.parquet.read_table(path).to_pylist() == ROWS
    elif form == "arrow":
        with pyarrow.ipc.open_file(path) as reader:
            assert reader.read_all().to_pylist() == ROWS
    elif form == "csv":
        with path.open() as file:
            assert [row["accelerator"] for row in csv.DictReader(file)] == [
                row["accelerator"] for row in ROWS
            ]
    else:
        assert json.loads(path.read_text()) == ROWS


def test_the_table_names_the_accelerators() -> None:
    text = str(render_frontier(ROWS))
    assert "rtx-4090" in text
    assert "30,000" in text


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

    found = Frontier({name: [row[name] for row in ROWS] for name in ROWS[0]})
    stream = pyarrow.RecordBatchReader.from_stream(found)
    assert stream.read_all().to_pylist() == found.to_dicts() == ROWS


def test_a_form_that_there_is_not_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no rows can be written in this form"):
        write_rows(tmp_path / "front.xlsx", [])


def test_so_many_rows_are_shown_as_are_asked_for() -> None:
    front = [
        {**ROWS[0], "tokens_per_second_per_user": 10.0 + at, "price_usd": 100.0 + at}
        for at in range(30)
    ]
    for number in (1, 2, 5, 12, 30):
        shown = str(render_frontier(front, top=number)).splitlines()
        titles = next(at for at, line in enumerate(shown) if "ACCELERATOR" in line)
        assert len(shown[titles + 1 : -1]) == number
        assert shown[-1].startswith(f"  {number} of 30 ")
    ends = str(render_frontier(front, top=2))
    assert "10.0" in ends
    assert "39.0" in ends


def test_no_row_is_not_a_number_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--space", "calculon-gpt3-175b", "--top", "0") == 2
    assert "--top must be a whole number from 1" in capsys.readouterr().err
