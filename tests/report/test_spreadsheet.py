"""The workbook in LibreOffice: totals are the plan's, and follow prices and rates.

Needs LibreOffice (Debian: ``apt-get install libreoffice-calc``); nightly there is one.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest

import planopt
from planopt.report.page.workbook import workbook

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.documents.plan import Plan

ALL_SHEETS = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,,,-1"


@pytest.fixture(scope="module")
def office() -> str:
    found = shutil.which("soffice")
    if found is None:
        pytest.skip("no LibreOffice to recalculate with")
    return found


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planopt.solve(
        "llama-3.1-8b", target="20tok/s", concurrency=64, accelerators="h100-sxm"
    )


def recalculated(
    office: str, plan: Plan, folder: Path, **changed: float
) -> dict[str, float]:
    """Costs as LibreOffice works them out, with other numbers in some cells.

    Cells are named by sheet and place, such as ``Bill_D2``; no formula keeps its value.
    """
    file, changes = folder / "plan.xlsx", dict(changed)
    file.write_bytes(workbook(plan))
    with zipfile.ZipFile(file) as book:
        parts = {name: book.read(name).decode() for name in book.namelist()}
    titles = re.findall(r'<sheet name="([^"]*)"', parts["xl/workbook.xml"])
    for at, title in enumerate(titles, start=1):
        name = f"xl/worksheets/sheet{at}.xml"
        parts[name] = re.sub(r"(</f>)<v>[^<]*</v>", r"\1", parts[name])
        for cell in [each for each in changes if each.startswith(f"{title}_")]:
            place, value = cell.partition("_")[2], changes.pop(cell)
            told = rf'(<c r="{place}"[^>]*>)<v>[^<]*</v>'
            parts[name], times = re.subn(told, rf"\g<1><v>{value}</v>", parts[name])
            assert times == 1
    assert not changes
    with zipfile.ZipFile(file, "w") as book:
        for name, text in parts.items():
            book.writestr(name, text)
    subprocess.run(
        [
            *(office, "--headless", f"-env:UserInstallation={folder.as_uri()}/profile"),
            *("--convert-to", ALL_SHEETS, "--outdir", str(folder), str(file)),
        ],
        capture_output=True,
        timeout=110,
        check=True,
    )
    with (folder / "plan-Cost.csv").open(encoding="utf-8") as rows:
        return {title: float(value) for title, value in [*csv.reader(rows)][1:]}


@pytest.mark.slow
def test_totals_are_the_plans(office: str, plan: Plan, tmp_path: Path) -> None:
    told = recalculated(office, plan, tmp_path)
    assert told["Purchase, USD"] == pytest.approx(plan.price_usd, abs=0.5)
    assert told["TCO, USD/h"] == pytest.approx(plan.tco_usd_per_hour)
    assert told["A million tokens, USD"] == pytest.approx(plan.usd_per_million_tokens)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["electricity_usd_per_kwh", "years", "duty"])
def test_totals_follow_a_rate(
    name: str, office: str, plan: Plan, tmp_path: Path
) -> None:
    (move,) = [each for each in plan.cost.moves if each.name == name]
    places = {"years": "B2", "electricity_usd_per_kwh": "B4", "duty": "B5"}
    told = recalculated(office, plan, tmp_path, **{f"Cost_{places[name]}": move.low})
    expected = move.at_low_usd_per_million_tokens
    assert told["A million tokens, USD"] == pytest.approx(expected)


@pytest.mark.slow
def test_totals_follow_a_price(office: str, plan: Plan, tmp_path: Path) -> None:
    line = plan.bill_of_materials[0]
    assert line.kind == "accelerator"
    (move,) = [each for each in plan.cost.moves if each.name == "accelerator_price"]
    assert line.unit_price_usd is not None
    price = line.unit_price_usd * move.high
    told = recalculated(office, plan, tmp_path, Bill_D2=price)
    expected = move.at_high_usd_per_million_tokens
    assert told["A million tokens, USD"] == pytest.approx(expected)
