"""Questions that nobody has looked at before: the page's answer is the command line's.

Twenty are drawn anew every night; a failure names the seed, PLANOPT_SEED asks it again.
The gate asks two that are always the same.
"""

from __future__ import annotations

import json
import os
import secrets
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from browser import FOUND, Page

import planopt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exploring import Served

IN_THE_GATE = "CI" in os.environ
SEED = int(os.environ.get("PLANOPT_SEED", 1 if IN_THE_GATE else secrets.randbits(32)))
QUESTIONS = 2 if IN_THE_GATE else 20
SETTLED = "document.querySelector('.working')?.textContent === ''"
CHOICES: dict[str, tuple[str | None, ...]] = {
    "model": ("llama-3.1-8b", "gpt-oss-20b", "qwen2.5-32b", "llama-3.1-70b"),
    "target": ("2tok/s", "5tok/s", "9tok/s", "15tok/s", "30tok/s"),
    "concurrency": ("1", "3", "8", "20"),
    "isl": (None, "200", "1500"),
    "budget": (None, "3000", "20000", "90000"),
    "accelerators": (None, "rtx-4090,rtx-5090,l40s", "r9700,mi300x,gaudi3"),
    "datacenter": (None, None, "yes"),
    "electricity": (None, "$0.31/kWh"),
    "years": (None, "5"),
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(FOUND is None, reason="no chromium to ask in"),
]


def drawn(place: int) -> dict[str, str]:
    """A question; the first has a price that is drawn, too."""
    random = Random(f"{SEED}/{place}")
    said = {name: random.choice(of) for name, of in CHOICES.items()}
    options = {name: value for name, value in said.items() if value is not None}
    if place == 0:
        options["prices"] = f"rtx-5090={random.randint(300, 9000)}"
    return {**options, "load": "steady"}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with Page(tmp_path_factory.mktemp("drawn")) as page:
        yield page
        assert page.console == []


@pytest.mark.parametrize("place", range(QUESTIONS))
def test_the_page_answers_as_the_command_line(
    place: int, browser: Page, served: Served
) -> None:
    options: dict[str, Any] = drawn(place)
    browser.open("about:blank")
    browser.open(f"{served.address}#{urlencode(options)}")
    browser.until(SETTLED, seconds=100)
    told = json.loads(served.get("plan.json").read())
    plan = json.loads(planopt.solve(**options).to_json())
    asked = f"PLANOPT_SEED={SEED}: {options}"
    for name in ("status", "price_usd", "bill_of_materials", "promises", "totals"):
        assert told[name] == plan[name], f"{name} of {asked}"
    title = browser.evaluate("document.querySelector('h1').textContent")
    if plan["status"] == "infeasible":
        assert title.startswith(f"No plan for {options['model']}"), asked
    else:
        shown = browser.evaluate("document.querySelector('.price').textContent")
        price = plan["price_usd"]
        rounded = f"${float(f'{price:.3g}'):,.0f}", f"${price:,.0f}"
        assert shown.removeprefix("~") in rounded, asked
