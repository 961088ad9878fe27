"""The server of the explorer, without a browser."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from exploring import ended, started

import planopt
from planopt.explore.server import LARGEST_QUESTION, MOST_AT_ONCE

if TYPE_CHECKING:
    from exploring import Served

STEADY = {"target": "5tok/s", "budget": "20000", "load": "steady"}
SLOW = {"target": "5tok/s", "budget": "20000"}
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e"


def last(served: Served, options: dict[str, Any]) -> dict[str, Any]:
    *_, answer = served.lines(options)
    return answer


def test_strangers_are_refused(served: Served) -> None:
    assert served.get().status == 200
    assert served.get(Host="example.org").status == 403
    assert served.get(Host=f"example.org:{urlsplit(served.address).port}").status == 403
    for origin in ("http://example.org", "null", "https://127.0.0.1"):
        assert served.get(Origin=origin).status == 403
        assert served.post("{}", Origin=origin).status == 403
    own = served.address.rpartition("/")[0].rpartition("/")[0]
    assert served.get(Origin=own).status == 200
    served.address, address = f"{own}/another/", served.address
    try:
        assert served.get().status == 404
        assert served.post("{}").status == 404
    finally:
        served.address = address
    assert served.get("../../etc/passwd").status == 404


def test_what_is_sent_is_bounded(served: Served) -> None:
    assert served.post("x" * (LARGEST_QUESTION + 1)).status == 413
    assert served.post("{}", **{"Content-Length": "-1"}).status == 413
    assert served.post("[1]").status == 400
    with ExitStack() as idle:
        for _ in range(MOST_AT_ONCE):
            connection = served.connection()
            connection.connect()
            idle.callback(connection.close)
        with pytest.raises(ConnectionError):
            served.get()
    for left in reversed(range(100)):  # until the server has seen them leave
        try:
            assert served.get().status == 200
            break
        except ConnectionError:
            assert left
            time.sleep(0.05)


def test_a_page_loads_nothing_and_tells_nobody(served: Served) -> None:
    page = served.get()
    text = page.read().decode()
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'; script-src 'sha256-" in text
    assert "connect-src 'self'" in text
    assert len(text) < 200_000


@pytest.mark.parametrize(
    "options",
    [
        STEADY,
        {**STEADY, "prices": "rtx-5090=900", "target": "7tok/s"},
        {**STEADY, "model": "llama-3.1-8b", "concurrency": "40", "datacenter": "yes"},
    ],
)
def test_the_answer_is_that_of_the_command_line(
    served: Served, options: dict[str, Any]
) -> None:
    told = last(served, options)["plan"]
    plan = json.loads(planopt.solve(**options).to_json())
    for name in ("status", "price_usd", "bill_of_materials", "promises", "totals"):
        assert told[name] == plan[name], name
    kept = json.loads(served.get("plan.json").read())
    assert kept["price_usd"] == plan["price_usd"]
    assert kept["provenance"]["command"] == plan["provenance"]["command"]
    report = served.get("report.html").read().decode()
    assert '<script type="application/json" id="plan">' in report


def test_an_estimate_says_so_and_a_newer_question_ends_it(served: Served) -> None:
    slow = served.lines(SLOW)
    estimate = next(said["estimate"] for said in slow if "progress" not in said)
    assert estimate["status"] == "feasible"
    assert estimate["bound_usd"] is None
    assert estimate["price_usd"] > 0
    assert last(served, STEADY)["plan"]["price_usd"] < estimate["price_usd"]
    *_, end = slow
    assert end == {"superseded": True}


def test_no_plan_says_what_would_change_it(served: Served) -> None:
    plan = last(served, {**STEADY, "budget": "900"})["plan"]
    assert plan["status"] == "infeasible"
    assert plan["infeasibility"]["nearest"][0]["options"]


def test_problems_name_their_options(served: Served) -> None:
    problems = last(served, {"target": "fast", "isl": "0", "no_such": "1"})["problems"]
    assert [each["code"] for each in problems] == ["E001"]
    problems = last(served, {**STEADY, "target": "fast", "isl": "0"})["problems"]
    assert {each["field"] for each in problems} == {"--target", "--isl"}
    (problem,) = last(served, {**STEADY, "model": HOSTILE})["problems"]
    assert problem["field"] == "--model"


def test_it_ends_with_the_terminal_and_hostile_names_stay_text() -> None:
    served = started("--model", HOSTILE)
    text = served.get().read().decode()
    assert "</script><img" not in text
    assert "\\u003c/script\\u003e\\u003cimg" in text
    assert ended(served) == (0, "open it in a browser; Ctrl-C ends it\n")


def test_a_port_that_is_taken_is_named(served: Served) -> None:
    other = started("--port", str(urlsplit(served.address).port))
    assert other.address == ""
    _, said = other.process.communicate(timeout=20)
    assert other.process.returncode == 2
    assert "error[E006]: port" in said


@pytest.mark.parametrize(
    ("options", "ask"),
    [
        (
            {"islands": "8xrtx-4090,wan-1g", "tokens": "10B", "model": "llama-3.2-1b"},
            planopt.train_islands,
        ),
        (
            {"neighbours": "8xrtx-3090", "target": "5tok/s", "weights": "int4"},
            planopt.serve_neighbours,
        ),
    ],
)
def test_machines_in_homes_are_asked_about_as_well(
    served: Served, options: dict[str, Any], ask: Any
) -> None:
    plan = json.loads(ask(**options).to_json())
    assert last(served, options)["plan"] == plan
    assert json.loads(served.get("plan.json").read()) == plan
    assert "planopt." in served.get("report.html").read().decode()
    problems = last(served, {**options, "budget": "9"})["problems"]
    assert problems[0]["field"] == "--budget"
