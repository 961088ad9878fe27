"""What an easier question may never cost, and what an answer must not depend on."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import planopt
from planopt.catalog.open import bundled_folder

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.documents.explanations import Alternative
    from planopt.documents.plan import Plan

CENT = 0.01
ANSWER_SECONDS = 0.2
"""After which people press Ctrl-C again."""

thorough = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

ACCELERATORS = ("rtx-3090", "rtx-4090", "a100-sxm-80", "h100-sxm", "gb10-dgx-spark")
MODELS = ("llama-3.1-8b", "llama-2-70b", "mixtral-8x7b", "deepseek-v2-lite")


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    """Questions that are answered in a tenth of a second."""
    return {
        "model": draw(st.sampled_from(MODELS)),
        "target": draw(st.floats(1, 40)),
        "users": draw(st.integers(1, 60)),
        "context": draw(st.integers(1024, 8192)),
        "accelerators": draw(
            st.lists(st.sampled_from(ACCELERATORS), min_size=1, max_size=3, unique=True)
        ),
        "max_accelerators": draw(st.sampled_from([8, 16])),
        "load": "steady",
    }


def solve(**options: Any) -> Plan:
    """Answer without what stands beside the plan: alternatives cost time."""
    return planopt.solve(top=1, **options)


def price(plan: Plan | Alternative) -> float:
    return float("inf") if plan.price_usd is None else plan.price_usd


def choice(plan: Plan | Alternative) -> list[tuple[str, str, int]]:
    return [(line.kind, line.id, line.quantity) for line in plan.bill_of_materials]


@thorough
@given(question=questions(), easier=st.data())
def test_an_easier_question_is_never_dearer(
    question: dict[str, Any], easier: st.DataObject
) -> None:
    name = easier.draw(st.sampled_from(["target", "users", "context", "accelerators"]))
    relaxed = dict(question)
    if name == "accelerators":
        relaxed[name] = list(ACCELERATORS)
    elif name == "context":
        relaxed[name] = easier.draw(st.integers(1024, question[name]))
    elif name == "users":
        relaxed[name] = easier.draw(st.integers(1, question[name]))
    else:
        relaxed[name] = easier.draw(st.floats(0.5, question[name]))

    hard, easy = solve(**question), solve(**relaxed)

    assert price(easy) <= price(hard) + CENT


@thorough
@given(question=questions(), share=st.floats(0.3, 3))
def test_a_plan_keeps_its_promises(question: dict[str, Any], share: float) -> None:
    unlimited = solve(**question)
    assume(unlimited.price_usd is not None)
    budget = round(share * price(unlimited), 2)

    plan = solve(**question, budget=budget)

    if budget < price(unlimited):
        assert plan.status == "infeasible"
        assert plan.infeasibility is not None
        assert plan.infeasibility.binding
        return
    assert plan.status == "optimal"
    assert price(plan) == price(unlimited) == plan.bound_usd
    assert price(plan) <= budget
    _adds_up(plan)
    assert sum(_users(plan)) >= question["users"]
    for deployment in plan.deployments:
        evaluation = deployment.evaluation
        assert evaluation.feasible
        assert evaluation.decode is not None
        assert evaluation.decode.tokens_per_second_per_user >= question["target"]


def _adds_up(plan: Plan) -> None:
    """Prices are compared in whole micro-dollars."""
    total = 0
    for line in plan.bill_of_materials:
        assert line.unit_price_usd is not None
        assert line.price_usd is not None
        assert micro(line.price_usd) == micro(line.unit_price_usd) * line.quantity
        total += micro(line.price_usd)
    assert total == micro(price(plan))


def micro(usd: float) -> int:
    return round(usd * 1e6)


def _users(plan: Plan) -> list[int]:
    return [
        deployment.candidate.batch
        * deployment.candidate.in_flight
        * deployment.replicas
        for deployment in plan.deployments
    ]


@thorough
@given(question=questions())
def test_alternatives_are_dearer_or_beyond_a_limit_and_all_different(
    question: dict[str, Any],
) -> None:
    plan = planopt.solve(top=6, **question)
    assume(plan.status == "optimal")

    prices = [price(each) for each in plan.alternatives]
    assert prices == sorted(prices)
    cheaper = [each for each in plan.alternatives if price(each) < price(plan)]
    assert all("where the limit is" in each.why_not for each in cheaper)
    bills = [choice(plan), *map(choice, plan.alternatives)]
    assert len({json.dumps(bill) for bill in bills}) == len(bills)
    assert all(each.why_not for each in plan.alternatives)


@thorough
@given(question=questions())
def test_trying_everything_finds_the_same(question: dict[str, Any]) -> None:
    quick, slow = solve(**question), solve(**question, exhaustive=True)

    assert choice(quick) == choice(slow)
    assert quick.deployments == slow.deployments
    assert quick.cost == slow.cost


@pytest.fixture(scope="module")
def dearer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Overlay in which everything costs three times as much."""
    overlay = tmp_path_factory.mktemp("dearer")
    for kind in ("accelerators", "hosts", "networks"):
        (overlay / kind).mkdir()
        for file in (bundled_folder() / kind).glob("*.toml"):
            # Values, and the ranges that they are in.
            text, times = re.subn(
                r'((?:value|low|high) = "\$)([\d.]+)(")',
                lambda found: f"{found[1]}{3 * float(found[2]):.2f}{found[3]}",
                file.read_text("utf-8"),
            )
            if times:
                (overlay / kind / file.name).write_text(text, "utf-8")
    return overlay


@thorough
@given(question=questions())
def test_prices_times_three_make_the_price_times_three(
    question: dict[str, Any], dearer: Path
) -> None:
    # Lines in dollars are no prices of the catalog.
    lines = dict.fromkeys(("front_end", "management", "racks"), "off")
    plan = solve(**question, cost_line=lines)
    dear = solve(**question, cost_line=lines, catalog=[str(dearer)])

    assert choice(dear) == choice(plan)
    assert price(dear) == pytest.approx(3 * price(plan), rel=1e-12)


def run(*arguments: str, threads: int = 0) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "planopt.cli", "solve", "--json", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "RAYON_NUM_THREADS": str(threads)},
    )
    document = json.loads(ran.stdout)
    del document["search"]["seconds"]
    for at in (50, 95):  # told where asking does not take long
        document.pop(f"price_usd_at_confidence_{at}", None)
    return json.dumps(document)


@pytest.mark.parametrize(
    "question",
    [
        "--target 5tok/s --budget 20000",
        "--model mixtral-8x7b --concurrency 200 --budget 90000"
        " --objective cost-per-token",
        "--model llama-3.1-8b --objective latency --budget 9000",
    ],
)
def test_threads_do_not_change_the_plan(question: str) -> None:
    alone = run(*question.split(), threads=1)

    assert run(*question.split(), threads=2) == alone
    assert run(*question.split(), threads=7) == alone


STARTED = (
    "import planopt.planning.pipeline, planopt.cli; "
    "print(flush=True); planopt.cli.main()"
)
"""A command that says when Python has started: before, a signal is Python's own."""


def seconds_to_stop(question: str) -> float | None:
    """Interrupt a search at work; nothing if it has answered before."""
    process = subprocess.Popen(
        [sys.executable, "-c", STARTED, "solve", "--exhaustive", *question.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.1)
        sent = time.perf_counter()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=10)
        taken = time.perf_counter() - sent
    if process.returncode == 0:
        return None
    assert process.returncode == 130
    assert "Traceback" not in said
    return taken


@pytest.mark.parametrize("model", ["llama-3.2-1b", "mixtral-8x7b"])
def test_an_interrupt_is_answered_at_once(model: str) -> None:
    """The fastest of a few, since other processes of the machine take their share."""
    question = f"--model {model} --target 1tok/s --isl 1 --osl 1 --max-model-len 2"
    measured = [seconds_to_stop(question) for _ in range(5)]
    answered = [taken for taken in measured if taken is not None]

    assert answered, "every search ended before it was interrupted"
    assert min(answered) <= ANSWER_SECONDS
