"""The page in a browser: it draws what the plan says, and nothing fails.

Needs Chromium (Debian: ``apt-get install chromium``); nightly there is one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from browser import FOUND, Page

import planopt
from planopt.report.page.html import page
from planopt.report.page.write import write_report

if TYPE_CHECKING:
    from planopt.documents.base import Drawn
    from planopt.documents.homes import HomesPlan
    from planopt.documents.plan import Plan, PlanDocument

FLEET = Path(__file__).parent.parent / "cli" / "fleet_small.toml"
HOSTILE = '<img src=x onerror="document.title=1">' + "n" * 300


@pytest.fixture(scope="module")
def browser() -> str:
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no chromium to look at pages with")
    return found


def shown(browser: str, file: Path) -> str:
    """The document of a page after its scripts have run."""
    done = subprocess.run(
        [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu"),
            *(
                f"--user-data-dir={file.with_name('profile')}",
                "--window-size=1240,2000",
            ),
            *("--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom"),
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    assert "CONSOLE" not in done.stderr, done.stderr
    return done.stdout.partition("<noscript>")[0]


def written(plan: PlanDocument | HomesPlan, folder: Path) -> Path:
    file = folder / "plan.html"
    file.write_text(page(plan), encoding="utf-8")
    return file


SECTIONS = {
    "serving": {
        *("What it costs to run", "How it stands", "Memory of each accelerator"),
        *("Where a token's time goes", "What moves the cost", "Alternatives"),
        *("Speed against value", "Cost against busy hours", "How sure this is"),
        *("Assumed, and not considered", "What to buy"),
    },
    "training": {
        *("What it costs to run", "How it stands", "Memory of each accelerator"),
        *("Where a step's time goes", "What becomes of the peak", "What to buy"),
        *("Failures and checkpoints", "Price against days", "Alternatives"),
        *("What moves the cost", "How sure this is", "Assumed, and not considered"),
        "One step of the pipeline",
    },
    "fleet": {
        *("What is paid in each period", "What to buy", "What to do"),
        "Demand and what is left after a failure, last period",
    },
    "islands": {"Islands", "A round", "Steps between two exchanges", "Assumed"},
    "neighbours": {
        *("A chain", "Where a token's time goes", "Chains that are whole"),
        *("What a member earns", "Stages of a chain", "Assumed"),
    },
    "none": {"Limits in conflict", "Change one thing", "Assumed, and not considered"},
}


def asked(kind: str) -> PlanDocument | HomesPlan:
    match kind:
        case "serving":
            return planopt.solve(target="5tok/s", budget=20_000, load="steady")
        case "training":
            return planopt.train("llama-2-70b", tokens="2T", deadline="45d")
        case "fleet":
            return planopt.fleet(FLEET, compare=False)
        case "islands":
            return planopt.train_islands(
                model="llama-3.2-1b", islands="16xrtx-4090", tokens="20B"
            )
        case "neighbours":
            return planopt.serve_neighbours(
                neighbours="8xrtx-3090,2xrtx-4090", weights="int4", target="5tok/s"
            )
        case _:
            return planopt.solve(target="20tok/s", budget=12_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SECTIONS)
def test_every_drawing_is_there(kind: str, browser: str, tmp_path: Path) -> None:
    text = shown(browser, written(asked(kind), tmp_path))
    titles = set(re.findall(r"<h2>([^<]*)</h2>", text.replace("&nbsp;", " ")))
    assert SECTIONS[kind] <= titles
    assert not re.search(r"NaN|undefined|Infinity|\[object", text)
    drawings = re.findall(r'<div class="drawing">(.)', text)
    assert set(drawings) <= {"<"}
    assert text.count('role="img"') == len(drawings)


def test_hostile_names_stay_text(browser: str, plan: Plan, tmp_path: Path) -> None:
    request = msgspec.structs.replace(plan.request, model=HOSTILE)
    hostile = msgspec.structs.replace(plan, request=request)
    text = shown(browser, written(hostile, tmp_path))
    assert "<img" not in text
    assert "&lt;img src=x" in text


@pytest.mark.slow
@pytest.mark.skipif(FOUND is None, reason="no chromium to look at pages with")
def test_figures_open_how_they_were_worked_out(tmp_path: Path) -> None:
    """By the second opinion, beside a roofline of what it computes with."""
    plan = planopt.solve("llama-3.1-8b", target="20tok/s", load="steady")
    write_report(plan, {"html": str(tmp_path / "plan.html")})
    with Page(tmp_path / "driven") as driven:
        driven.open((tmp_path / "plan.html").as_uri())
        titles = "[...document.querySelectorAll('h2')].map((each) => each.textContent)"
        assert "What limits each operation" in driven.evaluate(titles)
        driven.evaluate("document.querySelector('button.figure').focus()")
        assert driven.evaluate("document.querySelector(':popover-open')") is None
        driven.evaluate("document.querySelector('button.figure').click()")
        told = driven.evaluate("document.querySelector(':popover-open').innerText")
        assert told.startswith("tco = ")
        assert "model.md, section 7" in told
        assert driven.console == []


ALONE = {
    "plan": {"What it costs to run", "How it stands", "Where a token's time goes"},
    "infeasible": set(),
    "evaluation": {"Where a token's time goes", "Memory of each accelerator"},
    "run": {"Where a step's time goes", "Memory of each accelerator"},
    "front": {"Speed against value"},
    "comparison": {"Speed against cost"},
}


def drawn(kind: str) -> Drawn:
    cards, model = ["rtx-4090", "l40s"], "llama-3.1-8b"
    match kind:
        case "plan":
            return planopt.solve(model, target="20tok/s", load="steady")
        case "infeasible":
            return planopt.solve(target="20tok/s", budget=3000)
        case "evaluation":
            return planopt.evaluate(accelerator="rtx-4090", tp=4, pp=2)
        case "run":
            return planopt.evaluate_training(accelerator="h100-sxm", dp=8)
        case "front":
            return planopt.frontier(model=model, accelerators=cards, max_accelerators=1)
        case _:
            return planopt.compare(model=model, accelerators=cards, target="20tok/s")


@pytest.mark.parametrize("kind", ALONE)
def test_a_plot_is_the_drawings_alone(kind: str, browser: str, tmp_path: Path) -> None:
    """A notebook shows it in a frame; here the page in that frame is opened."""
    found = re.fullmatch(
        r'<iframe[^>]* srcdoc="(.*)"></iframe>', drawn(kind).plot().html, re.DOTALL
    )
    assert found
    file = tmp_path / "plot.html"
    file.write_text(unescape(found[1]), encoding="utf-8")
    text = shown(browser, file).partition("<body>")[2].partition("<script ")[0]
    titles = set(re.findall(r"<h2>([^<]*)</h2>", text.replace("&nbsp;", " ")))
    assert ALONE[kind] <= titles
    assert not titles & {"What to buy", "Alternatives", "How sure this is"}
    assert ("There is nothing to draw." in text) == (not ALONE[kind])
    assert text.count('<div class="drawing"><svg') == text.count('class="drawing"')
    assert not re.search(
        r"NaN|undefined|Infinity|\[object", text.partition("<script")[0]
    )
