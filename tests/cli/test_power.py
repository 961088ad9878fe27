"""What limits the cards of a host, and cards that are limited themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.catalog.open import bundled_folder
from planopt.errors import InputError
from planopt_reference import verify_plan

if TYPE_CHECKING:
    from pathlib import Path

QUESTION: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "accelerators": "rtx-4090",
    "host": "frame",
    "target": "10tok/s",
    "users": 800,
    "context": 1024,
}


def frame(folder: Path, limits: str) -> list[str]:
    """Overlay with a host of four slots that has some limits besides."""
    text = (bundled_folder() / "hosts" / "pcie-4gpu.toml").read_text(encoding="utf-8")
    kept = [
        line
        for line in text.splitlines()
        if not line.startswith(("card_slots", "power_supply"))
    ]
    text = "\n".join(kept).replace('id = "pcie-4gpu"', f'id = "frame"\n{limits}')
    path = folder / "hosts" / "frame.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
    return [str(folder)]


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ("", 4),
        ("card_slots = 12", 4),
        # A 4090 covers three slots: two go into eight.
        ("card_slots = 8", 2),
        # 300 W of the host and 450 W of each card.
        ('power_supply = "2100 W"', 4),
        ('power_supply = "2099 W"', 3),
        ('power_supply = "760 W"', 1),
        ('card_slots = 8\npower_supply = "760 W"', 1),
    ],
)
def test_a_host_takes_what_its_width_and_its_supply_allow(
    tmp_path: Path, limits: str, most: int
) -> None:
    catalog = frame(tmp_path, limits)
    plan = planopt.solve(**QUESTION, load="steady", catalog=catalog)
    cards = sum(
        line.quantity for line in plan.bill_of_materials if line.kind == "accelerator"
    )
    hosts = sum(line.quantity for line in plan.bill_of_materials if line.kind == "host")
    assert plan.status == "optimal"
    assert cards > 4
    assert hosts == -(-cards // most)
    assert verify_plan(json.loads(plan.to_json()), bundled_folder()) == []


def test_a_plan_that_overfills_a_host_is_refused(tmp_path: Path) -> None:
    roomy = frame(tmp_path, "card_slots = 12")
    plan = planopt.solve(**QUESTION, catalog=roomy)
    document = json.loads(plan.to_json())
    assert verify_plan(document, bundled_folder()) == []
    (name,) = (name for name in document["facts"]["entries"] if "frame" in name)
    document["facts"]["entries"][name]["table"]["card_slots"] = 8
    assert verify_plan(document, bundled_folder())


def test_a_host_without_power_for_one_card_says_so(tmp_path: Path) -> None:
    catalog = frame(tmp_path, 'power_supply = "700 W"')
    with pytest.raises(InputError) as refused:
        planopt.evaluate_serving(
            accelerator="rtx-4090", host="frame", catalog=catalog, model="llama-3.1-8b"
        )
    (problem,) = refused.value.diagnostics
    assert "power for one" in (problem.accepted or "")


def test_the_article_has_no_such_limits(tmp_path: Path) -> None:
    catalog = frame(tmp_path, "card_slots = 3")
    plan = planopt.solve(
        model="article-70b",
        accelerators="rtx-4090",
        host="frame",
        target="5tok/s",
        max_model_len=128,
        batch=64,
        assumptions="article",
        catalog=catalog,
    )
    counts = {line.kind: line.quantity for line in plan.bill_of_materials}
    assert counts["accelerator"] > counts["host"]


def test_fifty_watts_less_cost_seven_percent() -> None:
    """The GPU guide's RTX 2080 Ti: 250 W to 200 W, 7 % slower where compute counts."""
    asked: dict[str, Any] = {
        "model": "llama-3.2-1b",
        "host": "desktop",
        "batch": 1,
        "prompt": 2048,
    }
    full, limited = (
        planopt.evaluate_serving(**asked, accelerator=name)
        for name in ("rtx-2080-ti", "rtx-2080-ti@200W")
    )
    assert full.power_watts is not None
    assert limited.power_watts == full.power_watts - 50
    assert full.prefill.seconds is not None
    assert limited.prefill.seconds is not None
    slower = full.prefill.seconds / limited.prefill.seconds
    assert slower == pytest.approx(0.93, abs=0.02)
    # Decoding waits for memory, whose clock stays.
    assert limited.decode.tokens_per_second == pytest.approx(
        full.decode.tokens_per_second, rel=0.02
    )


def test_a_limit_is_a_choice_that_the_plan_makes(tmp_path: Path) -> None:
    """A supply that is too small for full cards is enough for limited ones."""
    catalog = frame(tmp_path, 'power_supply = "1600 W"')
    question = {**QUESTION, "catalog": catalog}
    question["accelerators"] = "rtx-4090,rtx-4090@320W"
    plan = planopt.solve(**question)
    cards = {each.candidate.accelerator for each in plan.deployments}
    assert "rtx-4090@320W" in cards
    full = planopt.solve(**{**question, "accelerators": "rtx-4090"})
    assert plan.price_usd is not None
    assert full.price_usd is not None
    assert plan.price_usd < full.price_usd
    assert verify_plan(json.loads(plan.to_json()), bundled_folder()) == []


def test_limited_cards_are_of_the_same_stock() -> None:
    plan = planopt.solve(
        model="llama-2-70b",
        accelerators="rtx-4090@320W",
        stock="rtx-4090=4",
        target="5tok/s",
    )
    assert plan.status == "infeasible"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("rtx-9999@300W", "E001"),
        ("rtx-4090@blue", "E002"),
        ("rtx-4090@900W", "E003"),
        ("rtx-4090@20W", "E003"),
    ],
)
def test_limits_that_cannot_be_are_refused(name: str, code: str) -> None:
    with pytest.raises(InputError) as refused:
        planopt.solve(model="llama-3.1-8b", accelerators=name)
    assert [each.code for each in refused.value.diagnostics] == [code]


def test_the_article_knows_no_power_limits() -> None:
    with pytest.raises(InputError) as refused:
        planopt.solve(
            model="article-70b", accelerators="rtx-4090@300W", assumptions="article"
        )
    assert [each.code for each in refused.value.diagnostics] == ["E004"]


def test_the_carbon_of_a_kwh_can_be_said() -> None:
    asked: dict[str, Any] = {"target": "5tok/s", "budget": 20_000, "top": 1}
    assumed, clean = planopt.solve(**asked), planopt.solve(**asked, carbon=0.05)
    assert clean.bill_of_materials == assumed.bill_of_materials
    assert clean.power_watts is not None
    kwh = clean.power_watts / 1000 * 8760
    assert clean.kg_co2e_per_year == pytest.approx(kwh * 0.05)
    assert assumed.kg_co2e_per_year != clean.kg_co2e_per_year
    assert verify_plan(json.loads(clean.to_json()), bundled_folder()) == []
