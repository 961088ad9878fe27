"""Accelerators ranked by what they put out for a dollar."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.planning.compare import Ranking

SOME = ("rtx-3090", "rtx-4090", "h100-sxm", "a100-sxm-80", "rtx-3070")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert isinstance(left.value.code, int)
    return left.value.code


def rank(**options: Any) -> Ranking:
    return planopt.per_dollar(
        accelerators=list(SOME), **{"model": "llama-3.1-8b", **options}
    )


def test_the_best_is_first_and_all_are_shares_of_it() -> None:
    ranking = rank()
    shares = [each.best for each in ranking.standings]
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True)
    assert ranking.without == ("rtx-3070",)  # It has no price in any way.
    assert (ranking.years, ranking.duty) == (5.0, 0.15)


def test_used_is_no_dearer_than_new_and_rent_does_not_wait_for_work() -> None:
    guide = {each.accelerator: each for each in rank().standings}
    used, new = guide["h100-sxm"].used, guide["h100-sxm"].new
    assert used is not None
    assert new is not None
    assert used.usd_per_million_tokens < new.usd_per_million_tokens
    busy = {each.accelerator: each for each in rank(duty="100%").standings}
    for name in ("h100-sxm", "a100-sxm-80"):
        idle_rent, busy_rent = guide[name].rented, busy[name].rented
        idle_own, busy_own = guide[name].new, busy[name].new
        assert idle_rent is not None
        assert busy_rent is not None
        assert idle_own is not None
        assert busy_own is not None
        # What is rented goes back when it is idle; what is owned is paid all the same.
        assert idle_rent.usd_per_million_tokens == pytest.approx(
            busy_rent.usd_per_million_tokens
        )
        assert idle_own.usd_per_million_tokens > busy_own.usd_per_million_tokens


def test_it_is_the_cost_per_token_of_the_plan() -> None:
    """The ranking says of one accelerator what `solve` says."""
    (alone,) = [each for each in rank().standings if each.accelerator == "rtx-4090"]
    assert alone.new is not None
    plan = planopt.solve(
        model="llama-3.1-8b",
        accelerators="rtx-4090",
        objective="cost-per-token",
        years=5,
        duty="15%",
        electricity="$0.175/kWh",
    )
    assert plan.cost.usd_per_million_tokens == pytest.approx(
        alone.new.usd_per_million_tokens
    )


def test_memory_comes_first() -> None:
    """A model that fills several cards says how many; none that holds it is none."""
    ranking = planopt.per_dollar(accelerators=["rtx-4090"], model="llama-2-70b")
    (card,) = ranking.standings
    assert card.new is not None
    assert card.new.accelerators >= 6  # 138 GB of weights, 24 GiB a card


def test_the_table_and_the_chart(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    chart = tmp_path / "chart.svg"
    asked = ("compare", "--all", "--per-dollar", "--model", "llama-3.1-8b")
    assert run(*asked, "--out", str(chart)) == 0
    shown = capsys.readouterr().out
    assert "electricity at $0.175/kWh" in shown
    assert "#" * 16 in shown
    drawn = ET.fromstring(chart.read_text(encoding="utf-8"))
    assert drawn.tag.endswith("svg")
    assert len(list(drawn)) > 100
    assert run(*asked, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["standings"]) > 40
    assert told["standings"][0]["name"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--all",), "E004"),
        (("--out", "chart.svg", "--accelerators", "rtx-4090"), "E004"),
        (("--per-dollar",), "E005"),
        (("--per-dollar", "--all", "--accelerators", "rtx-4090"), "E004"),
        (("--per-dollar", "--all", "--duty", "2"), "E003"),
    ],
)
def test_what_does_not_go_together_is_refused(
    options: tuple[str, ...], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compare", *options) == 2
    assert f"error[{code}]" in capsys.readouterr().err
