"""Plans as files for people: a page, Markdown, rows, a workbook."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import msgspec
import pytest

import planopt
from planopt.cli import main
from planopt.report.front import SERVED
from planopt.report.page.html import page
from planopt.report.page.plot import plot
from planopt.report.page.tables import markdown, rows
from planopt.report.page.workbook import workbook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.documents.plan import Plan, PlanDocument

FOLDER = Path(__file__).parent
GOLDEN = FOLDER / "golden"
FLEET = FOLDER.parent / "cli" / "fleet_small.toml"
LARGEST_PAGE = 500_000
LARGEST_ASSETS = 150_000
HOSTILE = '</script><script>alert(1)</script><!--<img src=x onerror="alert(2)">|`*'
KINDS = ("serving", "rented", "training", "fleet", "none")


def answered(kind: str) -> PlanDocument:
    """A plan of each kind, as it is found."""
    match kind:
        case "serving":
            return planopt.solve("llama-3.1-8b", target="20tok/s", concurrency=64)
        case "rented":
            return planopt.solve(
                "llama-3.1-8b",
                target="20tok/s",
                concurrency=64,
                procurement="rent",
                duty="40%",
            )
        case "training":
            return planopt.train("llama-2-7b", tokens="50B", deadline="30d")
        case "fleet":
            return planopt.fleet(FLEET, compare=False)
        case _:
            return planopt.solve(target="20tok/s", budget=3000)


@pytest.fixture(scope="module")
def plans() -> dict[str, PlanDocument]:
    return {kind: answered(kind) for kind in KINDS}


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["report", *arguments])
    assert isinstance(left.value.code, int)
    return left.value.code


# --- The page -------------------------------------------------------------------------


def test_a_page_is_made_of_scripts_and_a_style_sheet_of_ours() -> None:
    assets = [*(Path(planopt.__file__).parent / "report/page/assets").iterdir()]
    assert {file.suffix for file in assets} == {".js", ".css"}
    assert sum(file.stat().st_size for file in assets) < LARGEST_ASSETS


class Tags(HTMLParser):
    """The tags of a page, with their attributes, and the texts of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script" and data.strip():
            self.scripts.append(data)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_one_file_that_loads_nothing(
    plans: dict[str, PlanDocument], kind: str
) -> None:
    text = page(plans[kind])
    assert len(text.encode()) < LARGEST_PAGE
    found = Tags(text)
    for tag, attributes in found.tags:
        assert tag not in {"link", "img", "iframe", "object", "base", "form"}
        assert not {"src", "srcset", "href", "data"} & {*attributes}
        assert not [name for name in attributes if name.startswith("on")]
    assert not re.search(r"url\((?!#)|@import|fetch\(|XMLHttp|import\(", text)
    (policy,) = [
        attributes["content"]
        for tag, attributes in found.tags
        if tag == "meta" and "http-equiv" in attributes
    ]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    carried = msgspec.json.decode(found.scripts[0], type=type(plans[kind]))
    assert carried == plans[kind]


def test_a_plot_of_a_front_has_what_nothing_of_an_accelerator_beats() -> None:
    front = planopt.frontier(
        model="llama-3.1-8b", accelerators=["rtx-4090", "l40s"], max_accelerators=1
    )
    embedded = re.search(r'id="drawn">(.*?)</script>', plot(front))
    assert embedded
    choices = json.loads(embedded[1])["choices"]
    assert {each["name"] for each in choices} == {"rtx-4090", "l40s"}
    for each in choices:
        points = each["points"]
        assert len(points) <= 60
        rows = [r for r in front.to_dicts() if r["accelerator"] == each["name"]]
        assert points[0]["y"] == max(map(SERVED.y, rows))
        faster = [point["x"] for point in points]
        assert faster == sorted(faster)
        worth = [point["y"] for point in points]
        assert worth == sorted(worth, reverse=True)


def test_hostile_names_stay_text(plan: Plan) -> None:
    lines = [
        msgspec.structs.replace(line, name=HOSTILE) for line in plan.bill_of_materials
    ]
    request = msgspec.structs.replace(plan.request, model=HOSTILE)
    hostile = msgspec.structs.replace(
        plan, request=request, bill_of_materials=tuple(lines)
    )
    found = Tags(page(hostile))
    assert [tag for tag, _ in found.tags].count("script") == 3
    assert "img" not in [tag for tag, _ in found.tags]
    said = json.loads(found.scripts[0])
    assert said["bill_of_materials"][0]["name"] == HOSTILE
    assert "\n| <" not in markdown(hostile)
    assert r"\|\`\*" in markdown(hostile)


def test_a_plan_that_is_too_long_leaves_its_facts_out(
    plans: dict[str, PlanDocument], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planopt.report.page.html.LARGEST", 10)
    carried = json.loads(Tags(page(plans["serving"])).scripts[0])
    assert carried["facts"] is None
    assert carried["price_usd"] == plans["serving"].price_usd


# --- Markdown and rows ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["plan", "no_plan"])
def test_markdown_and_rows(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795305600")
    plan = request.getfixturevalue(name)
    for end, text in (("md", markdown(plan)), ("csv", rows(plan))):
        file = GOLDEN / f"{name}.{end}"
        if os.environ.get("PLANOPT_BLESS"):
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8")


def test_rows_are_exact(plans: dict[str, PlanDocument]) -> None:
    plan = plans["serving"]
    told = {
        (each["section"], each["item"], each["property"]): each
        for each in csv.DictReader(io.StringIO(rows(plan)))
    }
    price = told["Answer", "purchase", "value"]
    assert (float(price["value"]), price["unit"]) == (plan.price_usd, "USD")
    hourly = told["What it costs to run", "all", "cost"]
    assert float(hourly["value"]) == plan.cost.usd_per_hour


@pytest.mark.parametrize("start", "=+-@\t")
def test_a_text_is_no_formula(plan: Plan, start: str) -> None:
    name = f"{start}HYPERLINK(1)"
    lines = [
        msgspec.structs.replace(line, name=name) for line in plan.bill_of_materials
    ]
    hostile = msgspec.structs.replace(plan, bill_of_materials=tuple(lines))
    told = list(csv.reader(io.StringIO(rows(hostile))))
    assert f"'{name}" in [cell for row in told for cell in row]
    assert not [row for row in told if row[1].startswith(start)]
    assert not [
        cell for cell in cells(workbook(hostile))["Bill"].values() if name in cell[0]
    ]


# --- The workbook ---------------------------------------------------------------------

_OF = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def cells(book: bytes) -> dict[str, dict[str, tuple[str, str]]]:
    """Formula and value of each cell, by sheet."""
    with zipfile.ZipFile(io.BytesIO(book)) as files:
        names = [
            str(each.attrib["name"])
            for each in ET.fromstring(files.read("xl/workbook.xml")).iter(f"{_OF}sheet")
        ]
        strings = [
            "".join(each.itertext())
            for each in ET.fromstring(files.read("xl/sharedStrings.xml"))
        ]
        return {
            name: dict(
                _cells(
                    ET.fromstring(files.read(f"xl/worksheets/sheet{at}.xml")), strings
                )
            )
            for at, name in enumerate(names, start=1)
        }


def _cells(
    sheet: ET.Element, strings: list[str]
) -> Iterator[tuple[str, tuple[str, str]]]:
    for cell in sheet.iter(f"{_OF}c"):
        value = cell.findtext(f"{_OF}v") or ""
        told = strings[int(value)] if cell.get("t") == "s" else value
        yield cell.attrib["r"], (cell.findtext(f"{_OF}f") or "", told)


def read(sheet: dict[str, tuple[str, str]], row: int) -> tuple[str, str, float]:
    """A row of costs: its title, its formula with titles in place of cells, value."""
    formula, value = sheet[f"B{row}"]
    named = re.sub(r"(?<![!A-Z])B(\d+)(?!:)", lambda at: sheet[f"A{at[1]}"][1], formula)
    return sheet[f"A{row}"][1], named, float(value or 0)


@pytest.mark.parametrize("kind", ["serving", "rented", "training"])
def test_totals_of_a_workbook_are_the_plans_and_follow_its_prices(
    plans: dict[str, PlanDocument], kind: str
) -> None:
    plan = plans[kind]
    book = cells(workbook(plan))
    bill, cost = book["Bill"], book["Cost"]
    last = len(plan.bill_of_materials) + 1
    for row, line in enumerate(plan.bill_of_materials, start=2):
        assert bill[f"A{row}"][1] == line.name
        if line.unit_price_usd is not None:
            assert bill[f"E{row}"][0] == f"C{row}*D{row}"
            product = float(bill[f"C{row}"][1]) * float(bill[f"D{row}"][1])
            assert product == pytest.approx(line.price_usd, abs=0.5)
            assert float(bill[f"E{row}"][1]) == pytest.approx(line.price_usd)
    assert bill[f"E{last + 1}"][0] == f"SUM(E2:E{last})"
    assert bill[f"H{last + 1}"][0] == f"SUM(H2:H{last})"
    assert float(bill[f"E{last + 1}"][1]) == pytest.approx(plan.price_usd or 0.0)
    told = {
        title: (named, value)
        for title, named, value in (read(cost, row) for row in range(2, 30))
    }
    years = "Years until written off"
    assert told["Purchase, USD"][0] == f"Bill!E{last + 1}"
    assert told["Purchase, USD/h"][0] == (
        f"Purchase, USD*(1-Share of the price that is left then)/({years}*8760)"
    )
    assert told["Electricity, USD/h"][0] == (
        "(Power, W+Of it in racks, W*(Power usage effectiveness-1))/1000*"
        "Share of the hours that are busy*Electricity, USD/kWh"
    )
    assert told["Rack space, USD/h"][0] == (
        "Rack units/Units of a rack*A rack, USD per month*12/8760"
    )
    assert told["Rent, USD/h"][0] == f"Bill!H{last + 1}"
    assert told["TCO of all years, USD"][0] == f"TCO, USD/h*{years}*8760"
    assert told["Colocation, USD/h"][0] == (
        "Of it in racks, W/1000*Colocation, USD per kW and month*12/8760"
    )
    assert cost["B27"][0] == "SUM(B19:B26)"
    parts = [read(cost, row)[2] for row in range(19, 27)]
    assert sum(parts) == pytest.approx(plan.tco_usd_per_hour)
    assert told["TCO, USD/h"][1] == pytest.approx(plan.tco_usd_per_hour)
    per_million = told["A million tokens, USD"]
    assert per_million[0] == (
        "TCO, USD/h/(Tokens per second while busy*3600*"
        "Share of the hours that are busy/1000000)"
    )
    assert per_million[1] == pytest.approx(plan.usd_per_million_tokens)


def test_a_fleet_adds_up(plans: dict[str, PlanDocument]) -> None:
    plan = plans["fleet"]
    total = cells(workbook(plan))["Total"]
    assert total["B4"][0] == "B2+B3"
    assert float(total["B4"][1]) == pytest.approx(plan.total_usd)  # type: ignore[attr-defined]
    owned_and_rent = float(total["B2"][1]) + float(total["B3"][1])
    assert owned_and_rent == pytest.approx(float(total["B4"][1]), abs=0.02)


# --- The command ----------------------------------------------------------------------


@pytest.fixture
def saved(plan: Plan, tmp_path: Path) -> str:
    file = tmp_path / "plan.json"
    plan.save(file)
    return str(file)


def test_every_form_at_once(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {form: tmp_path / f"out.{form}" for form in ("html", "md", "csv", "xlsx")}
    said = [word for form, file in names.items() for word in (f"--{form}", str(file))]
    assert run(saved, *said, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "written": [str(file) for file in names.values()]
    }
    assert all(file.stat().st_size > 100 for file in names.values())


@pytest.mark.parametrize("kind", ["serving", "training", "none"])
def test_derivations_stand_at_the_end(
    plans: dict[str, PlanDocument], kind: str, tmp_path: Path
) -> None:
    file, out = tmp_path / "plan.json", tmp_path / "out.html"
    plans[kind].save(file)
    told = tmp_path / "out.md"
    assert run(str(file), "--html", str(out), "--md", str(told), "--derivations") == 0
    text = out.read_text(encoding="utf-8")
    assert len(text.encode()) < LARGEST_PAGE
    worked_out = {"serving": "step time = ", "training": "model flops = ", "none": ""}
    for said in (text, told.read_text(encoding="utf-8")):
        assert worked_out[kind] in said
    assert ("How each figure was worked out" in text) == bool(plans[kind].capex_usd)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "E005"),
        (["--html", "/nowhere/at/all/out.html"], "E006"),
        (["--xlsx", "/nowhere/at/all/out.xlsx"], "E006"),
    ],
)
def test_what_cannot_be_written_is_refused(
    saved: str, arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(saved, *arguments) == 2
    assert capsys.readouterr().err.startswith(f"error[{code}]")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "error[E301]"),
        ('{"schema": "planopt.plan/1", "request": {}}', "run `planopt solve --out"),
    ],
)
def test_what_is_no_plan_is_refused(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    assert run(str(file), "--md", str(tmp_path / "out.md")) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out.md").exists()


def test_a_workbook_needs_its_extra(
    saved: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    assert run(saved, "--xlsx", str(tmp_path / "out.xlsx")) == 2
    said = capsys.readouterr().err
    assert said.startswith("error[E905]")
    assert "pip install 'planopt[xlsx]'" in said
    assert not (tmp_path / "out.xlsx").exists()
