"""The load of a plan is made by flags that the tools of the day take."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest
from exchanging import CASES, plan_of
from msgspec.structs import replace

from planopt.exchange.benchmark import MAKERS
from planopt.exchange.export import BENCHMARK, README, export
from planopt.exchange.tool import tool

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.documents.plan import Plan


@pytest.fixture
def plan() -> Plan:
    return plan_of(**CASES["dense"])


def run(plan: Plan, maker: str, folder: Path) -> list[str]:
    """Words that the script starts a tool with."""
    script = export(plan, "sglang").files[BENCHMARK].replace("exec ", "exec echo ")
    environment = {"BENCH": maker, "URL": "http://there:1"}
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return shlex.split(done.stdout)


def unknown(maker: str, words: list[str]) -> list[str]:
    """Options, and fields of a kind, that the release does not take."""
    listed, wrong = tool(maker).listed.flags, []
    for flag, value in zip(words, [*words[1:], ""], strict=True):
        if flag.startswith("--"):
            kind = re.match(r"kind=(\w+)", value)
            fields = re.findall(r"(\w+)=", value) if kind else ()
            wrong += [
                each
                for each in (
                    flag,
                    *(f"{flag} {kind[1]} {key}" for key in fields if kind),
                )
                if each not in listed
            ]
            choices = listed[flag].choices if flag in listed else ()
            if choices and value not in choices:
                wrong.append(f"{flag} {value}")
    return wrong


@pytest.mark.parametrize("maker", MAKERS)
def test_every_option_is_one_of_the_release(
    maker: str, plan: Plan, tmp_path: Path
) -> None:
    rated = replace(plan, request=replace(plan.request, requests_per_second=2.5))
    for asked in (plan, rated):
        words = run(asked, maker, tmp_path)
        assert tuple(words[: len(tool(maker).start)]) == tool(maker).start
        assert unknown(maker, words) == []
        said = " ".join(words)
        assert "http://there:1" in said
        assert ("2.5" in said) == (asked is rated)
        assert "80" in said
        assert said.count("512") == 2
    planted = [each.replace("prompt_tokens", "tokens") for each in words]
    planted = ["--isll" if each == "--isl" else each for each in planted]
    planted = ["openai-chats" if each == "openai" else each for each in planted]
    assert unknown(maker, planted)


def test_promises_at_p95_are_among_what_is_written(plan: Plan, tmp_path: Path) -> None:
    words = run(plan, MAKERS[0], tmp_path)
    told = words[words.index("--metric-percentiles") + 1].split(",")
    assert {"50", "90", "95", "99"} == {*told}


def test_another_tool_is_refused_by_the_script(plan: Plan, tmp_path: Path) -> None:
    script = export(plan, "vllm").files[BENCHMARK]
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env={"BENCH": "ab"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "vllm-bench, guidellm, aiperf" in done.stderr


def test_the_readme_ends_with_what_judges_the_plan(plan: Plan) -> None:
    steps = export(plan, "vllm").files[README].splitlines()[2:]
    assert [each[2:].split("`")[1].split()[:2] for each in steps] == [
        ["sh", "serve.sh"],
        ["sh", "benchmark.sh"],
        ["planopt", "accept"],
    ]
