"""The same facts and words in another order are the same question."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import planopt
from planopt.catalog.open import bundled_folder

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.documents.plan import Plan

SEEDS = (1, 2, 3)
HARDWARE = ["rtx-4090", "l40s", "h100-sxm", "mi300x"]
ASKED: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "target": "20tok/s",
    "concurrency": 20,
    "load": "steady",
    "time_limit": "60s",
}


def said(plan: Plan) -> bytes:
    """Say all of a plan but what was typed, by whom the facts are, and the time."""
    told = msgspec.to_builtins(plan)
    told["search"].pop("seconds", None)
    told.pop("provenance", None)
    told.pop("facts", None)
    request = told["request"]
    for words in ("accelerators", "host", "hosts", "catalogs", "catalog", "typed"):
        request.pop(words, None)
    return msgspec.json.encode(told, order="sorted")


@pytest.mark.parametrize("seed", SEEDS)
def test_hardware_may_be_named_in_any_order(seed: int) -> None:
    shuffled = random.Random(seed).sample(HARDWARE, len(HARDWARE))
    assert shuffled != HARDWARE
    plan = planopt.solve(**ASKED, accelerators=HARDWARE)
    assert plan.status == "optimal"
    assert said(planopt.solve(**ASKED, accelerators=shuffled)) == said(plan)


@pytest.mark.parametrize("seed", SEEDS)
def test_offers_may_stand_in_any_order(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    folders = []
    for name in ("as they are", "shuffled"):
        offers = tmp_path / name / "offers"
        offers.mkdir(parents=True)
        folders.append(str(offers.parent))
        for file in sorted((bundled_folder() / "offers").glob("*.toml")):
            head, *rows = file.read_text(encoding="utf-8").split("[[offer]]")
            *rows, last = rows
            # Of the last one there is more behind it: sources.
            if name == "shuffled":
                draw.shuffle(rows)
            text = "[[offer]]".join([head, *rows, last])
            (offers / file.name).write_text(text, encoding="utf-8")
    plans = [
        planopt.solve(**ASKED, procurement="rent", catalog=folder) for folder in folders
    ]
    assert plans[0].status == "optimal"
    assert said(plans[1]) == said(plans[0])
