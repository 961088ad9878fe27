"""A plan carries what it was made from: it holds after catalogs have moved on."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from forging import forged
from planopt.catalog.open import bundled_folder
from planopt.cli import main
from planopt.documents.facts import digest
from planopt_reference import verify_plan

if TYPE_CHECKING:
    from pathlib import Path

CARD = "accelerators/rtx-4090"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    folder = tmp_path / "overlay"
    (folder / "accelerators").mkdir(parents=True)
    at(folder, "$999")
    return folder


def at(folder: Path, price: str) -> None:
    """Sell the card of the overlay at a price."""
    lines = (bundled_folder() / f"{CARD}.toml").read_text("utf-8").splitlines()
    said = [
        f'price = {{ value = "{price}", source = "shop" }}'
        if line.startswith("price =")
        else line
        for line in lines
        if not line.startswith("on_sale")
    ]
    said += ["[sources.shop]", 'cite = "shop"', 'date = "2026-10-01"']
    said += ['status = "stored"']
    (folder / f"{CARD}.toml").write_text("\n".join(said), "utf-8")


@pytest.fixture
def saved(overlay: Path, tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    plan = planopt.solve(
        "llama-3.1-8b", target="20tok/s", accelerators="rtx-4090", catalog=overlay
    )
    plan.save(path)
    return path


def test_a_plan_holds_after_prices_have_moved_and_its_overlay_is_gone(
    saved: Path, overlay: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told, _ = run(capsys, "verify", str(saved))
    assert (code, "since" in told) == (0, False)
    at(overlay, "$899")
    code, told, _ = run(capsys, "verify", str(saved))
    assert code == 0
    assert f"1 fact has changed since:\n  {CARD} price: $999 is $899 now\n" in told
    shutil.rmtree(overlay)
    code, told, _ = run(capsys, "verify", "--json", str(saved))
    document = json.loads(told)
    assert (code, document["verified"]) == (0, True)
    assert str(overlay) in {each["field"] for each in document["changed"]}


def test_of_a_card_that_is_gone_the_fits_of_its_family_are_not_gone(
    overlay: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (overlay / f"{CARD}.toml").read_text("utf-8").splitlines()
    said = [line for line in lines if not line.startswith(("id =", "aliases ="))]
    own = overlay / "accelerators" / "own-card.toml"
    own.write_text("\n".join(['id = "own-card"', *said]), "utf-8")
    path = tmp_path / "plan.json"
    planopt.solve(
        "llama-3.1-8b",
        target="20tok/s",
        load="steady",
        accelerators="own-card",
        catalog=overlay,
    ).save(path)
    shutil.rmtree(overlay)
    code, told, _ = run(capsys, "verify", str(path))
    assert code == 0
    gone = f"  catalog {overlay}: a folder is gone\n  accelerators/own-card: an entry"
    assert f"2 facts have changed since:\n{gone} is gone\n" in told


def test_a_changed_fact_is_refused_and_a_made_up_one_is_told(saved: Path) -> None:
    document: dict[str, Any] = json.loads(saved.read_text("utf-8"))
    fact = document["facts"]["entries"][CARD]
    fact["table"]["memory"] = "240 GiB"
    assert "facts.entries" in fields_of(document)
    fact["digest"] = digest(fact["table"])
    # Now it agrees with itself, but for what the digests of all come to.
    assert "provenance.catalog_digest" in fields_of(document)
    digests = [each["digest"] for each in document["facts"]["entries"].values()]
    document["provenance"]["catalog_digest"] = digest(digests)
    saved.write_text(json.dumps(document), "utf-8")
    changed = planopt.verify(saved).changed
    assert (CARD, "memory", "240 GiB") in {
        (each.entry, each.field, each.before) for each in changed
    }


def fields_of(document: dict[str, Any]) -> str:
    return " ".join(each.field for each in verify_plan(document, bundled_folder()))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("promises", []),
        ("promises[0].predicted", 1e-9),
        ("promises[0].asked", 1e-9),
        ("promises[0].held", False),
        ("totals.accelerators", 2),
        ("totals.tokens_per_second", 1e9),
        ("capex_usd", 1.0),
        ("facts.rates.electricity_usd_per_kwh", 0.01),
        ("facts.prices", {}),
    ],
)
def test_what_is_summed_up_is_computed_again(
    saved: Path, field: str, value: object
) -> None:
    document = json.loads(saved.read_text("utf-8"))
    assert verify_plan(document, bundled_folder()) == []
    assert field.split("[")[0].split(".")[0] in fields_of(
        forged(document, field, value)
    )


def test_an_old_plan_is_refused_with_the_command_to_run_again(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(saved.read_text("utf-8"))
    command = document["provenance"]["command"]
    assert command.startswith("planopt solve --model llama-3.1-8b --target 20tok/s")
    saved.write_text(json.dumps({**document, "schema": "planopt.plan/1"}), "utf-8")
    code, _, told = run(capsys, "verify", str(saved))
    assert code == 2
    assert f"run `{command} --out plan.json` again" in told
