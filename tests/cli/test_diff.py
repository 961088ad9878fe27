"""What `planopt diff` tells of two plans."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import planopt
import planopt.catalog.open
import planopt.difference
from planopt.catalog.open import bundled_folder
from planopt.cli import main

if TYPE_CHECKING:
    from pathlib import Path

QUESTION: dict[str, Any] = {
    "model": "llama-2-70b",
    "target": "5tok/s",
    "accelerators": "rtx-4090,rtx-5090",
    "load": "steady",
}


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert isinstance(left.value.code, int)
    return left.value.code


def names(changed: tuple[planopt.difference.Changed, ...]) -> set[str]:
    return {each.name for each in changed}


def dearer(accelerator: str, old: str, new: str, folder: Path) -> str:
    """Overlay in which one accelerator has another price."""
    name = f"accelerators/{accelerator}.toml"
    text = (bundled_folder() / name).read_text(encoding="utf-8")
    assert f'price = {{ value = "{old}"' in text
    path = folder / name
    path.parent.mkdir(parents=True)
    path.write_text(
        text.replace(f'price = {{ value = "{old}"', f'price = {{ value = "{new}"'),
        encoding="utf-8",
    )
    return str(folder)


def test_the_same_plan_is_the_same() -> None:
    plan = planopt.solve(**QUESTION)
    found = planopt.diff(plan, planopt.solve(**QUESTION))
    assert found.same
    assert found.why == ("nothing that matters changed",)


def test_another_question_is_named() -> None:
    before = planopt.solve(**QUESTION)
    after = planopt.solve(**{**QUESTION, "target": "25tok/s"})
    found = planopt.diff(before, after)
    assert names(found.request) == {"target_tokens_per_second"}
    assert not found.prices
    assert found.parts
    assert "the question changed: target_tokens_per_second" in found.why


def test_another_price_is_named_and_why_the_old_choice_lost(tmp_path: Path) -> None:
    before = planopt.solve(**QUESTION)
    (card,) = {each.candidate.accelerator for each in before.deployments}
    catalog = planopt.catalog.open.open_catalog()
    shown = catalog.show("accelerators", card).figures
    (old,) = [each.text for each in shown if each.field == "price"]
    after = planopt.solve(**QUESTION, catalog=[dearer(card, old, "$3000", tmp_path)])
    found = planopt.diff(before, after)
    assert not found.request
    assert found.parts
    assert any("knows the choice before, and why not" in why for why in found.why)
    back = planopt.diff(after, before)
    assert {(each.name, each.before, each.after) for each in back.parts} == {
        (each.name, each.after, each.before) for each in found.parts
    }


def test_parts_that_are_only_dearer_keep_the_choice(tmp_path: Path) -> None:
    alone = {**QUESTION, "accelerators": "rtx-4090"}
    before = planopt.solve(**alone)
    overlay = dearer("rtx-4090", "$1800", "$1900", tmp_path)
    found = planopt.diff(before, planopt.solve(**alone, catalog=[overlay]))
    assert names(found.prices) == {"GeForce RTX 4090"}
    assert not found.parts
    assert "dearer: GeForce RTX 4090" in found.why
    assert "price_usd" in names(found.figures)


def test_on_files_of_serving_and_of_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, run_of = (str(tmp_path / name) for name in ("a.json", "b.json", "t.json"))
    planopt.solve(**QUESTION).save(a)
    planopt.solve(**{**QUESTION, "procurement": "rent"}).save(b)
    planopt.train(
        model="llama-3.2-1b", tokens="1B", deadline="30d", accelerators="h100-sxm"
    ).save(run_of)
    assert run("diff", a, b) == 0
    shown = capsys.readouterr().out
    assert "procurement" in shown
    assert "usd_per_hour" in shown
    assert run("diff", run_of, run_of, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "planopt.diff/2"
    assert told["figures"] == []
    assert run("diff", a, str(tmp_path / "none.json")) == 2
    assert "E006" in capsys.readouterr().err
