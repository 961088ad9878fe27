"""``planopt.toml``: defaults of options, each told with its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.errors import InputError
from planopt.report.plan import render_plan

if TYPE_CHECKING:
    from pathlib import Path

ASKED: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "target": "20tok/s",
    "accelerators": "rtx-4090",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that is not the home directory."""
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def says(folder: Path, text: str) -> str:
    file = folder / "planopt.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def told(plan: planopt.Plan) -> dict[str, tuple[str, str | None]]:
    return {each.name: (each.value, each.why) for each in plan.assumed}


def test_a_folder_goes_before_the_home_directory_and_a_question_before_both(
    folder: Path,
) -> None:
    at_home = says(
        folder.parent / "home", 'electricity = "$0.30/kWh"\nvat = "7%"\npue = 1.5'
    )
    here = says(folder, 'vat = "19%"\nprice = { "RTX 4090" = 1500, desktop = 900 }')
    plan = planopt.solve(**ASKED, pue=1.2, prices="desktop=1000")
    request = plan.request
    assert request.prices == {"rtx-4090": 1500.0, "desktop": 1000.0}
    assert request.cost == {"electricity_usd_per_kwh": 0.3, "pue": 1.2}
    assert plan.price_usd == pytest.approx(2500 * 1.19)
    said = told(plan)
    assert said["electricity"] == ("$0.30/kWh", at_home)
    assert said["vat"] == ("19%", here)
    assert "pue" not in said
    assert request.typed.keys() == {*ASKED, "pue", "prices"}
    # What a plan is verified with is what it records.
    assert at_home in str(render_plan(plan, details=True))


def test_options_that_a_command_does_not_take_are_left_alone(folder: Path) -> None:
    file = says(folder, 'electricity = "$0.30/kWh"\ncondition = "used"')
    evaluation = planopt.evaluate(accelerator="rtx-4090", model="llama-3.1-8b")
    assert {each.name for each in evaluation.assumed if each.why == file} == {
        "condition"
    }


def test_folders_are_beside_the_file_that_names_them(folder: Path) -> None:
    (folder / "ours").mkdir()
    says(folder, 'catalog = "ours"')
    assert planopt.solve(**ASKED).request.catalog == (str(folder / "ours"),)
    says(folder, 'catalog = ["theirs"]')
    with pytest.raises(InputError) as refused:
        planopt.solve(**ASKED)
    (problem,) = refused.value.diagnostics
    assert (problem.line, problem.column) == (1, 11)


def test_all_that_is_wrong_is_told_at_once_with_its_place(folder: Path) -> None:
    file = says(
        folder,
        'electricity = "0.30 bananas"\ndiscout = { nvidia = 0.1 }\nvat = -3\nusers = 7',
    )
    with pytest.raises(InputError) as refused:
        planopt.solve(**ASKED)
    problems = refused.value.diagnostics
    assert [each.line for each in problems] == [1, 2, 3, 4]
    assert {each.file for each in problems} == {file}
    assert problems[1].help == "did you mean `discount`?"
    # Names are looked up once a catalog is open: they have their places all the same.
    says(folder, 'price = { "RTX 4099" = 1500 }\ndiscount = { nvida = "10%" }')
    with pytest.raises(InputError) as refused:
        planopt.solve(**ASKED)
    found = {(each.line, each.value) for each in refused.value.diagnostics}
    assert found == {(1, "RTX 4099"), (2, "nvida")}


def test_money_may_be_said_in_another_currency(folder: Path) -> None:
    file = says(folder, 'currency = { EUR = 1.25 }\nelectricity = "0.20EUR/kWh"')
    plan = planopt.solve(**ASKED, budget="20k EUR", prices={"desktop": "800 EUR"})
    assert plan.request.budget_usd == 25_000
    assert plan.request.cost["electricity_usd_per_kwh"] == pytest.approx(0.25)
    assert plan.request.prices == {"desktop": 1000.0}
    assert plan.price_usd is not None
    euros = plan.price_usd / 1.25
    assert f"EUR {euros:,.0f})" in str(render_plan(plan)).replace("~", "")
    assert told(plan)["currency"] == ("EUR=1.25", file)
    assert planopt.verify(plan)


@pytest.mark.parametrize(
    ("currency", "said"),
    [("EUR", "`EUR` says no number"), ("k=1.08", "three capital letters")],
)
def test_a_currency_has_a_code_and_its_dollars(currency: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        planopt.solve(**ASKED, currency=currency, budget="20k$")
