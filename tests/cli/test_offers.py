"""What can be rented: the bundled offers, as the command line tells of them."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.catalog.open import open_catalog
from planopt.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.catalog.entries import Figure
    from planopt.catalog.open import Catalog


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert isinstance(left.value.code, int)
    return left.value.code


def test_every_offer_has_a_price_with_its_source() -> None:
    catalog = open_catalog()
    offers = catalog.list("offers")
    assert len(offers) > 1300

    for offer in offers:
        shown = catalog.show("offers", offer.id).figures
        figures = {figure.field: figure for figure in shown}
        prices = [figures[name] for name in ("price", "spot") if name in figures]
        assert prices, offer.id
        assert all(price.cite and price.date for price in prices), offer.id


CLOUDS = ("aws", "azure", "gcp", "oci")
"""Providers whose lists name every instance in every region."""
CALLED = {"jarvis-labs": "jarvislabs", "vast-ai": "vast"}
"""Our ids of providers that a list calls otherwise."""


def rows_of(shared: Path, *names: str) -> list[dict[str, str]]:
    """Read lists of offers; a later list marks its region with its month."""
    rows = []
    for name in names:
        with (shared / "catalog-facts" / name).open(encoding="utf-8") as file:
            rows += list(csv.DictReader(file))
    return rows


def figures_of(catalog: Catalog, id_: str) -> dict[str, Figure]:
    shown = catalog.show("offers", id_).figures
    return {figure.field: figure for figure in shown}


def dollars(figure: Figure) -> float:
    return float(figure.text.strip("$").removesuffix("/h").replace(",", ""))


def test_clouds_ask_the_newest_price_of_their_lists(shared: Path) -> None:
    catalog = open_catalog()
    newest: dict[str, dict[str, str]] = {}
    listed = rows_of(shared, "cloud_offers.csv", "offers_new.csv")
    for row in sorted(listed, key=lambda row: row["as_of"]):
        region = row["region"].partition("@")[0]
        # Oracle asks the same price everywhere: its older rows name another region.
        moved = row["provider"] == "oci" and not row["as_of"]
        if row["provider"] in CLOUDS and row["price_usd_h"] and not moved:
            newest[f"{row['provider']}/{row['instance_type']}/{region}"] = row
    assert len(newest) > 900
    for id_, row in newest.items():
        figures = figures_of(catalog, id_)
        assert figures["accelerator"].text == row["accelerator_id"]
        assert figures["count"].text == row["accelerator_count"]
        assert dollars(figures["price"]) == pytest.approx(
            float(row["price_usd_h"]), abs=1e-6
        ), id_


def test_every_other_price_is_one_of_a_list(shared: Path) -> None:
    """Of one accelerator: a machine of several may ask so many times as much."""
    asked: dict[str, set[float]] = {}
    for row in rows_of(shared, "cloud_offers.csv", "offers_new.csv"):
        of = asked.setdefault(CALLED.get(row["provider"], row["provider"]), set())
        for name in ("price_usd_h", "spot_price_usd_h"):
            if row[name]:
                of.add(round(float(row[name]) / int(row["accelerator_count"]), 6))
    for row in rows_of(shared, "prices_new.csv"):
        if row["id"].startswith("rent-"):
            provider = row["id"].partition("-2026")[0].rpartition("-")[2]
            asked.setdefault(provider, set()).add(float(row["price_usd"]))
    catalog = open_catalog()
    for offer in catalog.list("offers"):
        provider = offer.id.partition("/")[0]
        figures = figures_of(catalog, offer.id)
        count = int(figures["count"].text)
        for name in ("price", "spot"):
            if name in figures:
                one = round(dollars(figures[name]) / count, 6)
                known = asked[provider]
                assert any(abs(one - each) < 2e-6 for each in known), (offer, one)


def test_what_is_rented_has_a_price_of_this_year_or_says_that_it_is_undated() -> None:
    catalog = open_catalog()
    dates = [
        str(figure.date)
        for offer in catalog.list("offers")
        for name, figure in figures_of(catalog, offer.id).items()
        if name in ("price", "spot")
    ]
    assert {date[:4] for date in dates} == {"2026", "unda"}
    assert dates.count("undated") < 0.05 * len(dates)


@pytest.mark.parametrize(
    ("offer", "rate"),
    [
        ("azure/Standard_ND96isr_H100_v5/westus3", "3200 Gbps"),
        ("azure/Standard_NC24rs_v3/eastus", "56 Gbps"),
        ("nebius/gpu-h200-sxm_8gpu-128vcpu-1600gb/eu-north1", "3200 Gbps"),
        ("oci/BM.GPU.MI300X.8/af-casablanca-1", "3200 Gbps"),
    ],
)
def test_nodes_with_infiniband_or_roce_have_their_network(
    offer: str, rate: str
) -> None:
    figures = figures_of(open_catalog(), offer)
    assert (figures["network"].text, figures["transport"].text) == (rate, "rdma")


def test_a_dearer_region_is_rented_only_where_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "offers").mkdir()
    box = '[[offer]]\ninstance = "box"\naccelerator = "l40s"\ncount = 1\n'
    (tmp_path / "offers" / "mine.toml").write_text(
        'id = "mine"\nname = "Mine"\n'
        f'{box}region = "north"\nprice = "$2/h"\n'
        f'{box}region = "south"\nprice = "$1/h"\n',
        encoding="utf-8",
    )
    question: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "target": "10tok/s",
        "acquire": "rent",
        "catalog": [str(tmp_path)],
    }
    for named, expected in (
        ({"provider": "mine"}, "south"),
        ({"provider": "mine", "region": "north"}, "north"),
        ({"host": "mine/box/north"}, "north"),
    ):
        plan = planopt.solve(**{**question, **named})
        assert plan.deployments[0].hardware.host == f"mine/box/{expected}"
        assert not plan.alternatives


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
