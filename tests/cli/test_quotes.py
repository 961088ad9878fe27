"""Quotes stand beside the prices of the catalogs, line by line, and replace them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import planopt
from planopt.catalog.open import open_catalog
from planopt.cli import main
from planopt.errors import InputError
from planopt.prices import quotes

if TYPE_CHECKING:
    from pathlib import Path

TABLE = """\
part,price,currency,usd,condition,source,date
RTX 4090,1500,EUR,1.1,,shop.example,2026-11-20
rtx-3090,600,,,used,a market,2026-11-01
hgx-8,21000,USD,,,,
akash/1x_rtx-3090/any,0.2,,,spot,mail,2026-11-25
"""


@pytest.fixture
def table(tmp_path: Path) -> str:
    file = tmp_path / "quotes.csv"
    file.write_text(TABLE)
    return str(file)


def test_each_line_is_compared(table: str) -> None:
    lines = quotes([table], open_catalog()).lines
    assert [(each.id, each.condition, each.line) for each in lines] == [
        ("rtx-4090", "new", 2),
        ("rtx-3090", "used", 3),
        ("hgx-8", "new", 4),
        ("akash/1x_rtx-3090/any", "spot", 5),
    ]
    first, second, third, last = lines
    assert first.usd == pytest.approx(1650)
    assert first.off == pytest.approx(1650 / 1800 - 1)
    assert (first.currency, first.source, first.date) == (
        "EUR",
        "shop.example",
        "2026-11-20",
    )
    assert (second.low_usd, second.high_usd, second.catalog_usd) == (700, 1500, 1300)
    assert (third.source, third.date, third.age_days) == ("quotes.csv", None, None)
    assert last.kind == "instance"
    assert last.catalog_date == "2026-05-24"


def test_the_screen_tells_them_with_their_ages(
    table: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795737600")  # 2026-11-27
    with pytest.raises(SystemExit) as left:
        main(["catalog", "quotes", table])
    assert left.value.code == 0
    shown = capsys.readouterr().out
    assert "$1,650  7 d" in " ".join(shown.split(" ")).replace("   ", "  ")
    assert "below the range" in shown
    assert "--price rtx-4090=1650" in shown


def test_a_plan_pays_what_was_quoted_and_says_where_from(
    table: str, tmp_path: Path
) -> None:
    found = quotes([table], open_catalog(), out=str(tmp_path / "own"))
    assert [file.split("/own/")[1] for file in found.files] == [
        "accelerators/rtx-4090.toml",
        "accelerators/rtx-3090.toml",
        "hosts/hgx-8.toml",
    ]
    assert found.options == ("--price akash/1x_rtx-3090/any=0.2",)
    plan = planopt.solve(
        model="llama-3.1-8b",
        accelerators="rtx-4090",
        host="pcie-4gpu",
        target="20tok/s",
        load="steady",
        catalog=str(tmp_path / "own"),
    )
    line = next(each for each in plan.bill_of_materials if each.id == "rtx-4090")
    assert line.unit_price_usd == pytest.approx(1650)
    assert (line.price_date, line.price_status) == ("2026-11-20", "stored")
    figure = open_catalog([str(tmp_path / "own")]).figures("accelerators", "rtx-4090")
    assert "shop.example: 1500 EUR" in str(figure["price"])


@pytest.mark.parametrize(
    ("line", "field", "said"),
    [
        ("rtx-409,5,,,,,", "part", "no part"),
        ("rtx-4090,,,,,,", "price", "no price"),
        ("rtx-4090,-5,,,,,", "price", "no figure"),
        ("rtx-4090,5,EUR,,,,", "usd", "one EUR"),
        ("rtx-4090,5,,,broken,,", "condition", "no condition"),
    ],
)
def test_what_is_no_quote_is_refused_with_its_place(
    line: str, field: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "quotes.csv"
    file.write_text(TABLE + line + "\n")
    with pytest.raises(InputError) as refused:
        quotes([str(file)], open_catalog())
    problem = refused.value.diagnostics[0]
    assert (problem.field, problem.line, problem.file) == (field, 6, str(file))
    assert said in problem.message
