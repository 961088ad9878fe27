"""The pages that say how to do something: their commands do it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from planopt.cli import main

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
COMMAND = re.compile(r"^```console\n(.*?)^```", re.M | re.S)


def commands(page: str) -> list[str]:
    """Lines of the console blocks of a page."""
    text = (HOW_TO / page).read_text(encoding="utf-8")
    return [line for block in COMMAND.findall(text) for line in block.splitlines()]


@pytest.mark.parametrize("command", commands("money.md") + commands("own-hardware.md"))
def test_the_page_on_money(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, *arguments = shlex.split(command)
    assert name == "planopt"
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 0
    shown = capsys.readouterr()
    assert "$" in shown.out or arguments == ["detect"]
    assert "error" not in shown.err


@pytest.mark.parametrize("command", commands("latency.md"))
def test_the_page_on_latencies(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *arguments = shlex.split(command)
    assert name == "planopt"
    with pytest.raises(SystemExit) as left:
        main(arguments)
    shown = capsys.readouterr().out
    if "400tok/s" in arguments:
        assert left.value.code == 1
        assert "p95 TTFT fails" in shown
        assert "p95 TPOT fails" in shown
        assert "--ttft" in shown.split("CHANGE ONE THING")[1]
    else:
        assert left.value.code == 0
        assert "TTFT" in shown


@pytest.mark.parametrize("command", commands("training.md"))
def test_the_page_on_training(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, *arguments = shlex.split(command)
    assert name == "planopt"
    with pytest.raises(SystemExit) as left:
        main(arguments)
    shown = capsys.readouterr()
    if arguments[-1] == "rtx-4090":
        assert left.value.code == 1
        assert "tensor-parallel messages" in shown.out
        assert "--deadline" in shown.out.split("CHANGE ONE THING")[1]
    else:
        assert left.value.code == 0
        assert "goodput" in shown.out.lower()


def test_the_page_on_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in commands("report.md"):
        with pytest.raises(SystemExit) as left:
            main(shlex.split(command)[1:])
        assert left.value.code == 0
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"plan.json", "plan.html", "plan.md", "plan.csv"}


def test_the_page_on_launching(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = {}
    for command in commands("launch.md"):
        name, *arguments = shlex.split(command)
        assert name == "planopt"
        with pytest.raises(SystemExit) as left:
            main(arguments)
        shown = capsys.readouterr()
        refused = "--swap-space" in command
        assert left.value.code == (2 if refused else 0), command
        assert ("error[E304]" in shown.err) == refused
        printed[command] = shown.out
    text = (HOW_TO / "launch.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```text\n(.*?)^```", text, re.M | re.S)
    assert printed["planopt export plan.json --to vllm"].endswith(block)
    assert (tmp_path / "cluster" / "serve.yaml").is_file()
    assert "fits on 3 of 3 accelerators" in printed[commands("launch.md")[6]]
