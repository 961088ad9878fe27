"""Options of what arrives: read, simulated, and refused where they cannot be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.cli import main
from planopt.report.numbers import rate

if TYPE_CHECKING:
    from pathlib import Path

LAYOUT = (
    *("evaluate", "serving", "--model", "llama-3.1-8b"),
    *("--accelerator", "l40s", "--isl", "512", "--osl", "128"),
)


def asked(capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    with pytest.raises(SystemExit) as left:
        main([*LAYOUT, *options, "--json"])
    shown = capsys.readouterr()
    assert left.value.code == 0, shown.err
    return json.loads(shown.out)


def refused(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    with pytest.raises(SystemExit) as left:
        main([*LAYOUT, *options])
    shown = capsys.readouterr()
    assert left.value.code == 2
    assert shown.out == ""
    return shown.err


@pytest.mark.parametrize("load", [("--concurrency", "8"), ("--request-rate", "2/s")])
def test_a_load_has_latencies(
    load: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    answer = asked(capsys, *load)
    for latency in ("ttft_seconds", "tpot_seconds"):
        of = answer[latency]
        assert 0 < of["p50"] <= of["p95"] <= of["p99"]
    assert answer["under_load"]["tokens_per_second"] > 0


def test_without_a_load_there_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys)["ttft_seconds"]["p95"] is None


@pytest.mark.parametrize("much", ["100/s", "1e6/s", "1e12/s"])
def test_an_overload_is_told_with_what_can_be_carried(
    much: str, capsys: pytest.CaptureFixture[str]
) -> None:
    load = asked(capsys, "--request-rate", much)["under_load"]
    assert load["overloaded"]
    # With as many users as places the same engine is as busy as it can be.
    most = asked(capsys, "--concurrency", "256")["under_load"]
    carried = most["requests_per_second"]
    assert load["requests_per_second"] == pytest.approx(carried, rel=0.05)
    with pytest.raises(SystemExit):
        main([*LAYOUT, "--request-rate", much])
    shown = capsys.readouterr().out
    assert "OVERLOADED" in shown
    assert "fits" not in shown


def test_what_is_asked_for_is_served_where_it_can_be(
    capsys: pytest.CaptureFixture[str],
) -> None:
    load = asked(capsys, "--request-rate", "10/s")["under_load"]
    assert not load["overloaded"]
    assert load["requests_per_second"] == pytest.approx(10, rel=0.01)


def test_own_traffic_is_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{i},{400 + i},{50 + i}" for i in range(40)]
    file = tmp_path / "traffic.csv"
    file.write_text("\n".join(["seconds,prompt,output", *rows]))
    as_it_was = asked(capsys, "--traffic", str(file))
    in_a_rush = asked(capsys, "--traffic", str(file), "--request-rate", "20/s")
    assert as_it_was["ttft_seconds"]["p95"] < in_a_rush["ttft_seconds"]["p95"]


def test_the_engine_may_read_prompts_first(capsys: pytest.CaptureFixture[str]) -> None:
    load = ("--request-rate", "6/s")
    answers = [
        asked(capsys, *load, "--policy", policy)
        for policy in ("prefill-first", "decode-first")
    ]
    waits = [answer["tpot_seconds"]["p99"] for answer in answers]
    assert waits[0] != waits[1]


def test_fewer_places_make_users_wait(capsys: pytest.CaptureFixture[str]) -> None:
    few = asked(capsys, "--concurrency", "32", "--max-sequences", "4")
    many = asked(capsys, "--concurrency", "32")
    assert few["ttft_seconds"]["p50"] > 5 * many["ttft_seconds"]["p50"]


def test_smaller_steps_make_tokens_even(capsys: pytest.CaptureFixture[str]) -> None:
    small = asked(capsys, "--request-rate", "3/s", "--token-budget", "128")
    large = asked(capsys, "--request-rate", "3/s", "--token-budget", "4096")
    assert small["ttft_seconds"]["p50"] > large["ttft_seconds"]["p50"]


@pytest.mark.parametrize(
    ("options", "code", "field"),
    [
        (("--concurrency", "8", "--request-rate", "2/s"), "E004", "--concurrency"),
        (("--concurrency", "0"), "E003", "--concurrency"),
        (("--request-rate", "2"), "E002", "--request-rate"),
        (("--traffic", "nowhere.csv"), "E002", "--traffic"),
        (("--policy", "fair", "--concurrency", "8"), "E001", "--policy"),
        (("--token-budget", "0", "--concurrency", "8"), "E003", "--token-budget"),
        (("--prefill-tp", "3", "--batch", "8"), "E004", "--prefill-tp"),
    ],
)
def test_what_cannot_arrive_is_refused(
    options: tuple[str, ...],
    code: str,
    field: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = refused(capsys, *options)
    assert f"error[{code}]" in told
    assert field in told


def test_traffic_without_its_columns_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "traffic.csv"
    file.write_text("in,out\n1,2\n")
    assert "columns prompt and output" in refused(capsys, "--traffic", str(file))


ROWS = "prompt,output,seconds\n512,64,0\n"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "no column output"),
        (b"prompt,output\n", "no requests"),
        (b"prompt,output\n9223372036854775808,1\n", "line 2"),
        (b"prompt,output\n1," + b"9" * 5000, "line 2"),
        (b"prompt,output\n2147483649,1\n", "more than 2147483648"),
        (b"prompt,output\n-5,1\n", "`-5`"),
        (b"prompt,output\nnan,1\n", "`nan`"),
        (b"prompt,output\n1.5,1\n", "`1.5`"),
        (b"prompt,output\n1\n", "line 2"),
        (b"prompt,output\n1\0,1\n", "line 2"),
        (b"prompt,output\n\xff,1\n", "utf-8"),
        ("prompt,output\n1,1\n".encode("utf-16"), "utf-8"),
        (f"{ROWS}512,64,nan\n".encode(), "line 3: nan seconds"),
        (f"{ROWS}512,64,1e400\n".encode(), "line 3: inf seconds"),
        (f"{ROWS}512,64,-1\n".encode(), "line 3: -1 seconds after 0"),
        (f"{ROWS}512,64,1e13\n".encode(), "line 3: 1e+13 seconds"),
        (f"{ROWS}512,64,soon\n".encode(), "line 3"),
    ],
)
def test_traffic_that_cannot_be_is_refused(
    content: bytes, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "traffic.csv"
    file.write_bytes(content)

    told = refused(capsys, "--traffic", str(file))

    assert "error[E002]" in told
    assert word in told


def test_a_folder_is_no_traffic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "error[E002]" in refused(capsys, "--traffic", str(tmp_path))


def test_solve_shows_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(
            [
                *("solve", "--model", "llama-3.1-8b", "--accelerators", "l40s"),
                *(
                    "--ttft",
                    "1s",
                    "--target",
                    "20tok/s",
                    "--request-rate",
                    "20/s",
                    "--details",
                ),
            ]
        )
    assert left.value.code == 0
    shown = capsys.readouterr().out
    assert "Colocated or disaggregated" in shown


def test_the_headline_of_a_promise_is_the_load() -> None:
    plan = planopt.solve(
        model="llama-3.1-8b",
        accelerators="l40s",
        target="20tok/s",
        ttft="1s",
        concurrency=8,
        max_accelerators=1,
    )
    screen = str(plan)
    (evaluation,) = [each.evaluation for each in plan.deployments]
    assert evaluation.under_load is not None
    tokens = evaluation.under_load.tokens_per_second
    assert tokens is not None
    assert f"{rate(tokens)} tok/s in all" in screen
    assert evaluation.tpot_seconds.p95 is not None
    assert f"{rate(1 / evaluation.tpot_seconds.p95)} " in screen
