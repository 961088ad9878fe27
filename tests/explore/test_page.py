"""The explorer's page in a browser: what it shows is what the command line says.

Needs Chromium (Debian: ``apt-get install chromium``); nightly there is one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from browser import FOUND, Page
from write_explorer import NOT_CONSIDERED, offline

import planopt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exploring import Served

pytestmark = pytest.mark.skipif(FOUND is None, reason="no chromium to ask in")
STEADY = {"target": "5tok/s", "budget": "20000", "load": "steady"}
SETTLED = "document.querySelector('.working')?.textContent === ''"
PRICE = "document.querySelector('.price')?.textContent"
WASM = Path(os.environ.get("CARGO_TARGET_DIR", "target")) / (
    "wasm32-unknown-unknown/page/planopt_wasm.wasm"
)
HOSTILE = '<img src=x onerror="document.title=1">' + "n" * 300
ARROW_RIGHT = ("ArrowRight", 39)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with Page(tmp_path_factory.mktemp("profile")) as page:
        yield page
        assert page.console == []


def asked(browser: Page, served: Served, options: dict[str, str]) -> None:
    browser.open("about:blank")
    browser.open(f"{served.address}#{urlencode(options)}")
    browser.until(SETTLED)


def price_of(**options: str) -> str:
    """As the page says it."""
    plan = planopt.solve(**options)  # type: ignore[arg-type] # words of a command line
    return f"~${float(f'{plan.price_usd:.3g}'):,.0f}"


def test_it_answers_as_the_command_line(browser: Page, served: Served) -> None:
    asked(browser, served, STEADY)
    assert browser.evaluate(PRICE) == price_of(**STEADY)
    command = browser.evaluate("document.querySelector('.asked code').textContent")
    assert command == "planopt solve --load steady --target 5tok/s --budget 20000"
    assert browser.evaluate("document.querySelectorAll('h2').length") > 8
    own = {served.address, f"{served.address}ask", "about:blank"}
    assert {each.partition("#")[0] for each in browser.requests} <= own


@pytest.mark.slow
def test_the_keyboard_asks_for_more_speed(browser: Page, served: Served) -> None:
    asked(browser, served, {**STEADY, "budget": "60000"})
    browser.evaluate("document.querySelector('[type=range]').focus()")
    browser.press(*ARROW_RIGHT, times=6)
    assert browser.evaluate("document.getElementById('of-target').value") == "20tok/s"
    browser.until("document.querySelector('.asked code').textContent.includes('20tok')")
    browser.until(SETTLED)
    price = price_of(**{**STEADY, "budget": "60000", "target": "20tok/s"})
    assert browser.evaluate(PRICE) == price
    assert "target=20tok" in browser.evaluate("location.hash")
    browser.order("Page.reload")
    browser.until(f"{SETTLED} && {PRICE} === '{price}'")


@pytest.mark.slow
def test_a_second_question_stands_beside_the_first(
    browser: Page, served: Served
) -> None:
    asked(browser, served, STEADY)
    browser.evaluate("document.querySelector('.buttons button').click()")
    browser.evaluate(
        "const field = document.getElementById('of-concurrency'); field.value = '1';"
        "field.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    browser.until(
        "document.querySelector('.asked code').textContent.includes('rrency 1')"
    )
    browser.until(SETTLED)
    told = browser.evaluate("document.getElementById('two').innerText")
    assert price_of(**STEADY) in told
    assert "better" in told
    assert "pin=" in browser.evaluate("location.hash")
    browser.order("Page.reload")
    browser.until(f"{SETTLED} && document.getElementById('two') !== null")
    again = browser.evaluate("document.getElementById('two').innerText")
    assert again == told


@pytest.mark.slow
def test_no_plan_offers_changes_that_have_one(browser: Page, served: Served) -> None:
    asked(browser, served, {**STEADY, "budget": "9000"})
    assert browser.evaluate("document.querySelector('.chip.bad') !== null")
    browser.evaluate("document.querySelector('td button, th button').click()")
    browser.until(f"{SETTLED} && {PRICE} !== undefined", seconds=30)


def test_what_is_wrong_stands_at_its_control(browser: Page, served: Served) -> None:
    asked(browser, served, STEADY)
    browser.open(f"{served.address}#{urlencode({**STEADY, 'model': HOSTILE})}")
    browser.until("document.getElementById('of-model-wrong')?.textContent.length > 0")
    assert browser.evaluate("document.querySelector('img')") is None
    said = browser.evaluate("document.getElementById('of-model-wrong').textContent")
    assert said.startswith("E")
    wrong = "document.getElementById('of-model').getAttribute('aria-invalid')"
    assert browser.evaluate(wrong) == "true"
    assert browser.evaluate("document.title") == "planopt explorer"


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 390, 768, 1240, 1920])
def test_nothing_is_wider_than_the_window(
    width: int, browser: Page, served: Served
) -> None:
    browser.size(width, 900)
    asked(browser, served, STEADY)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    unnamed = browser.evaluate(
        "[...document.querySelectorAll('input, select, button')].filter((each) => "
        "!each.labels?.length && !each.ariaLabel && !each.textContent.trim()).length"
    )
    assert unnamed == 0


@pytest.mark.slow
@pytest.mark.skipif(not WASM.exists(), reason="no core of a page: `make explorer`")
@pytest.mark.parametrize(
    "options",
    [
        STEADY,
        {"target": "5tok/s", "budget": "20000"},
        {**STEADY, "target": "20tok/s", "budget": "30000", "prices": "rtx-5090=900"},
    ],
)
def test_without_a_server_the_price_is_the_same(
    options: dict[str, str], browser: Page, tmp_path: Path
) -> None:
    file = tmp_path / "planopt.html"
    file.write_text(offline(WASM.read_bytes()), encoding="utf-8")
    before = len(browser.requests)
    browser.open("about:blank")
    browser.open(f"{file.as_uri()}#{urlencode(options)}")
    browser.until(f"{SETTLED} && {PRICE} !== undefined")
    assert browser.evaluate(PRICE) == price_of(**options)
    told = browser.evaluate("document.getElementById('answer').innerText")
    assert NOT_CONSIDERED.partition("`")[0].strip() in told
    asked = {each.partition(":")[0] for each in browser.requests[before:]}
    assert asked <= {"about", "blob", "file"}


def test_a_chain_of_neighbours_is_drawn(browser: Page, served: Served) -> None:
    home: dict[str, Any] = {
        "neighbours": "8xrtx-3090",
        "weights": "int4",
        "model": "llama-3.1-70b",
    }
    asked(browser, served, {**STEADY, **home})
    plan = planopt.serve_neighbours(target="5tok/s", **home)
    assert plan.best is not None
    title = browser.evaluate("document.querySelector('h1').textContent")
    assert title.startswith(f"{plan.best.users:.0f} users at once")
    said = browser.evaluate("document.querySelector('.asked').innerText")
    assert "planopt solve --model llama-3.1-70b --weights int4 --target" in said
    assert "Not asked of solve --neighbours: --load, --budget" in said
    browser.evaluate("document.querySelector('.buttons button').click()")
    assert browser.evaluate("document.getElementById('two') !== null")
