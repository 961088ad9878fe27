"""Fields that the page draws of: in no plan of these questions is one of them null.

The design's four questions, and ten of the sixty (``planopt_studies.sixty``); they take
minutes, and are asked every night.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planopt.cli import main
from planopt_studies.sixty import SEED, drawn

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DESIGN = (
    "solve --target 5tok/s --budget 20000",
    "solve --model llama-3.3-70b --target 30tok/s --ttft 2s --concurrency 200 "
    "--datacenter --duty 60% --pue 1.3 --electricity '$0.12/kWh'",
    "train --model llama-2-70b --tokens 2T --deadline 30d",
    f"fleet {ROOT / 'docs' / 'how-to' / 'fleet.toml'}",
)
OF_EACH = {"hobby": 4, "startup": 4, "training": 2}
"""How many of the sixty, by class."""

OF_A_CLUSTER = (
    *("evidence.grade", "totals.accelerators", "totals.hosts"),
    *("capex_usd", "tco_usd_per_hour", "usd_per_million_tokens"),
    *("cost.parts[].usd_per_hour", "cost.left_out", "cost.moves[].name"),
    *("totals.tokens_per_second", "accuracy.statement", "search.candidates_covered"),
    *("promises[].asked", "promises[].predicted", "promises[].held"),
    *("alternatives[].why_not", "alternatives[].bill_of_materials[].name"),
    *("deployments[].hardware.hosts", "deployments[].candidate.pp"),
)
"""Paths; those of a list are of each of it, and `!` asks that there is one."""
OF_WHAT_IS_BOUGHT = ("totals.rack_units", "power_watts")
"""Rent has neither: its sections are left out."""
DRAWN: dict[str, tuple[str, ...]] = {
    "serving": (
        *OF_A_CLUSTER,
        *("cost.at_duty[]!.usd_per_million_tokens", "cost.at_duty[]!.duty"),
        "deployments[]!.evaluation.time_parts[]!.seconds",
        "deployments[]!.evaluation.kv_capacity_tokens",
        "deployments[]!.evaluation.decode.tokens_per_second_per_user",
        *(
            f"deployments[]!.evaluation.memory.{part}_bytes"
            for part in ("weights", "kv_cache", "activations", "overhead", "capacity")
        ),
    ),
    "training": (
        *OF_A_CLUSTER,
        "deployments[]!.evaluation.peak_parts[]!.name",
        *(
            f"deployments[]!.evaluation.{name}"
            for name in ("mfu", "goodput", "days", "step_seconds", "run.usd")
        ),
        *(
            f"deployments[]!.evaluation.step.{part}_seconds"
            for part in ("forward", "backward", "data", "bubble", "optimizer")
        ),
        *(
            f"deployments[]!.evaluation.memory.{part}_bytes"
            for part in ("weights", "optimizer", "activations", "overhead", "capacity")
        ),
    ),
    "fleet": (
        *("total_usd", "capex_usd", "rent_usd", "charge_usd", "power_watts"),
        *("kg_co2e", "total_bound_usd", "bill_of_materials[]!.name"),
        "search.candidates_covered",
    ),
    "none": ("infeasibility.nearest", "search.candidates_covered"),
}


def questions() -> Iterator[str]:
    """Commands."""
    yield from DESIGN
    every = drawn(SEED)
    for kind, many in OF_EACH.items():
        yield from [each.command for each in every if each.kind == kind][:many]


def missing(value: Any, path: str) -> Iterator[str]:
    """List what lacks of a path."""
    name, _, rest = path.partition(".")
    plain = name.rstrip("[]!")
    found = value.get(plain)
    if found is None or (name.endswith("!") and not found):
        yield plain
        return
    inner = found if "[]" in name else [found]
    for each in inner if rest else ():
        yield from (f"{plain}.{left}" for left in missing(each, rest))


@pytest.mark.slow
@pytest.mark.skipif("CI" in os.environ, reason="minutes: `make report`")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("command", [*questions()])
def test_no_field_that_is_drawn_is_null(command: str, tmp_path: Path) -> None:
    words = shlex.split(command)
    saved = tmp_path / "plan.json"
    with pytest.raises(SystemExit) as left:
        main([*words, "--out", str(saved)])
    assert left.value.code in (0, 1)
    plan = json.loads(saved.read_text("utf-8"))
    kind = "none" if plan["status"] == "infeasible" else plan["kind"]
    bought = "--procurement rent" not in command and kind in ("serving", "training")
    paths = DRAWN[kind] + (OF_WHAT_IS_BOUGHT if bought else ())
    lacks = [each for path in paths for each in missing(plan, path)]
    assert not lacks


def test_what_lacks_is_found() -> None:
    plan = {"a": {"b": None}, "c": [{"d": 1}, {"d": None}], "e": []}
    assert [*missing(plan, "a.b")] == ["a.b"]
    assert [*missing(plan, "c[].d")] == ["c.d"]
    assert [*missing(plan, "e[].f")] == []
    assert [*missing(plan, "e[]!.f")] == ["e"]
