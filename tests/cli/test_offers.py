"""What can be rented: the bundled offers, as the command line tells of them."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest

from planopt.catalog import open_catalog
from planopt.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert isinstance(left.value.code, int)
    return left.value.code


def test_every_offer_has_a_price_with_its_source() -> None:
    catalog = open_catalog()
    offers = catalog.list("offers")
    assert len(offers) > 250

    for offer in offers:
        shown = catalog.show("offers", offer["id"])["figures"]
        figures = {figure["field"]: figure for figure in shown}
        prices = [figures[name] for name in ("price", "spot") if name in figures]
        assert prices, offer["id"]
        assert all(price["cite"] and price["date"] for price in prices), offer["id"]


def test_prices_are_those_of_the_list(shared: Path) -> None:
    catalog = open_catalog()
    with (shared / "catalog-facts" / "cloud_offers.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(catalog.list("offers"))
    for row in rows:
        id_ = f"{row['provider']}/{row['instance_type']}/{row['region']}"
        shown = catalog.show("offers", id_)["figures"]
        figures = {figure["field"]: figure["text"] for figure in shown}
        assert figures["accelerator"] == row["accelerator_id"]
        assert figures["count"] == row["accelerator_count"]
        if row["price_usd_h"]:
            stated = float(figures["price"].strip("$").removesuffix("/h"))
            assert stated == float(row["price_usd_h"]), id_


def test_a_provider_and_its_offers_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("catalog", "show", "gcp", "--json") == 0
    provider = json.loads(capsys.readouterr().out)
    assert provider["name"] == "Google Cloud"

    assert run("catalog", "show", "gcp/a2-highgpu-1g/us-central1", "--json") == 0
    offer = json.loads(capsys.readouterr().out)
    assert offer["name"] == "1x a100-sxm-40, $3.67/h"
    assert offer["figures"][0]["field"] == "instance"


def test_an_offer_that_is_wrong_is_named_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "offers"
    folder.mkdir()
    (folder / "mine.toml").write_text(
        'id = "mine"\nname = "Mine"\n[[offer]]\ninstance = "box"\n'
        'accelerator = "rtx-4091"\ncount = 0\nregion = "here"\nprice = "$2/GB"\n',
        encoding="utf-8",
    )
    assert run("catalog", "check", "--catalog", str(tmp_path), "--json") == 2
    shown = capsys.readouterr().err
    assert "mine.toml:6" in shown
    assert "mine.toml:8" in shown
