"""Newer catalogs that are installed beside planopt are laid over its own, and said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from planopt.catalog.open import BUNDLED, date_of, open_catalog

if TYPE_CHECKING:
    from pathlib import Path

ASKED = (
    *("solve", "--model", "llama-3.1-8b", "--accelerators", "rtx-4090"),
    *("--host", "pcie-4gpu", "--target", "20tok/s", "--load", "steady", "--json"),
)


def answer(folder: Path, *more: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "planopt", *ASKED, *more],
        env={
            **os.environ,
            "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def installed(folder: Path, date: str, price: str) -> Path:
    """A package as the wheel has it: one card, at another price."""
    catalogs = folder / "planopt_catalog" / "catalogs"
    (catalogs / "accelerators").mkdir(parents=True)
    (catalogs.parent / "__init__.py").touch()
    (catalogs / "date.txt").write_text(date)
    text = (BUNDLED / "accelerators" / "rtx-4090.toml").read_text("utf-8")
    assert 'value = "$1800"' in text
    (catalogs / "accelerators" / "rtx-4090.toml").write_text(
        text.replace('value = "$1800"', f'value = "{price}"'), "utf-8"
    )
    return folder


def card(found: dict[str, object]) -> float:
    bill = found["bill_of_materials"]
    assert isinstance(bill, list)
    prices = {line["id"]: line["unit_price_usd"] for line in bill}
    return float(prices["rtx-4090"])


@pytest.mark.parametrize(("date", "price"), [("2999.01.01", 900), ("2020.01.01", 1800)])
def test_later_catalogs_take_the_place_of_the_bundled(
    date: str, price: int, tmp_path: Path
) -> None:
    folder = installed(tmp_path, date, "$900")
    found = answer(folder)
    assert card(found) == price
    assumed = found["assumed"]
    assert isinstance(assumed, list)
    said = [each["value"] for each in assumed if each["name"] == "catalogs"]
    assert said == ([f"{date}, in place of {date_of(BUNDLED)}"] * (price == 900))


def test_own_overlays_stand_above_them(tmp_path: Path) -> None:
    folder = installed(tmp_path / "site", "2999.01.01", "$900")
    own = installed(tmp_path / "own", "", "$700") / "planopt_catalog" / "catalogs"
    assert card(answer(folder, "--catalog", str(own))) == 700


def test_the_date_of_the_catalogs_is_that_of_their_newest_price() -> None:
    catalog = open_catalog()
    tags = [*catalog.price_tags(), *catalog.rent_tags()]
    dates = [each.source.date for each in tags if each.source]
    dates = [each for each in dates if each[:2] == "20"]
    assert date_of(BUNDLED) >= max(dates).replace("-", ".")
