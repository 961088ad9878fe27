"""Names of others hold what a terminal obeys: on a screen it is spelt out."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import planopt
from planopt.catalog.open import bundled_folder
from planopt.cli import main
from planopt.printable import printable, screened
from planopt.report.style import bad, faint, good, head, warn

if TYPE_CHECKING:
    from pathlib import Path

FAKED = "error[E999]: faked"
HOSTILE = f"X\x1b]0;title\x07\u202e\u2066\x9b31m\x85\n{FAKED}"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u2028-\u202e\u2066-\u2069]")

QUESTION = ("--model", "llama-2-7b", "--accelerators", "rtx-4090")
SOLVE = ("solve", *QUESTION, "--target", "5tok/s")
COMMANDS = {
    "list": ("catalog", "list"),
    "show": ("catalog", "show", "rtx-4090"),
    "solve": SOLVE,
    "no plan": (*SOLVE, "--budget", "10"),
    "compare": ("compare", *QUESTION, "--target", "5tok/s"),
    "evaluate": (
        *("evaluate", "serving", "--explain", "--model", "llama-2-7b"),
        *("--accelerator", "rtx-4090"),
    ),
    "train": (
        *("train", "--model", "llama-2-7b", "--accelerators", "rtx-4090"),
        *("--tokens", "1B", "--deadline", "90d"),
    ),
}


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert isinstance(left.value.code, int)
    return left.value.code


def harmless(text: str) -> bool:
    return not OBEYED.search(text) and FAKED not in text.splitlines()


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Entries whose names and sources are hostile."""
    folder = tmp_path_factory.mktemp("overlay")
    written = json.dumps(HOSTILE)  # TOML's texts are spelt as JSON's.
    for entry in ("accelerators/rtx-4090.toml", "models/llama-2-7b.toml"):
        text = (bundled_folder() / entry).read_text(encoding="utf-8")
        text = re.sub(
            '(?m)^(name|cite) = ".*"', lambda found: f"{found[1]} = {written}", text
        )
        (folder / entry).parent.mkdir()
        (folder / entry).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_names_of_a_catalog_are_not_obeyed(
    name: str, overlay: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*COMMANDS[name], "--catalog", str(overlay)) == (name == "no plan")

    shown = capsys.readouterr()
    assert harmless(shown.out + shown.err)
    assert name in ("no plan", "evaluate", "compare") or r"X\x1b]0;" in shown.out


def test_a_plan_is_saved_as_it_is_and_shown_spelt_out(
    overlay: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"plan\n{FAKED}"

    assert run(*SOLVE, "--catalog", str(overlay), "--out", str(path)) == 0
    assert run("diff", str(path), str(path)) == 0
    run("verify", str(path))
    shown = capsys.readouterr()
    assert harmless(shown.out + shown.err)

    plan = planopt.Plan.load(path)
    assert HOSTILE in [line.name for line in plan.bill_of_materials]
    assert harmless(str(plan))
    assert harmless(plan._repr_html_())


def test_a_chart_has_no_control_characters(overlay: Path, tmp_path: Path) -> None:
    out = tmp_path / "chart.svg"
    ranking = ("compare", "--per-dollar", *QUESTION)

    assert run(*ranking, "--catalog", str(overlay), "--out", str(out)) == 0

    assert harmless(out.read_text(encoding="utf-8"))


def test_a_plot_has_no_control_characters(tmp_path: Path) -> None:
    measured = bundled_folder() / "measurements" / "training.csv"
    header, *rows = measured.read_text(encoding="utf-8").splitlines(keepends=True)
    data = tmp_path / HOSTILE
    few = [row for row in rows if ",calculon" in row][:3]
    data.write_text("".join([header, *few]), encoding="utf-8")
    plot = tmp_path / "plot.svg"

    assert run("validate", "--data", str(data), "--plot", str(plot)) == 0

    drawn = plot.read_text(encoding="utf-8")
    assert r"X\x1b]0;" in drawn
    assert harmless(drawn)


@pytest.mark.parametrize(
    "arguments",
    [
        ("solve", "--target", f"5{HOSTILE}"),
        ("solve", f"--target{HOSTILE}"),
        (HOSTILE,),
        ("catalog", "show", HOSTILE),
        ("solve", "--model", f"/nowhere/{HOSTILE}/config.json"),
        ("verify", f"/nowhere/{HOSTILE}"),
        ("explain", HOSTILE),
    ],
)
def test_arguments_are_not_obeyed(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2

    shown = capsys.readouterr()
    assert shown.out == ""
    assert harmless(shown.err)


def test_json_on_a_terminal_is_json_of_the_same_meaning(overlay: Path) -> None:
    command = [sys.executable, "-m", "planopt.cli", *COMMANDS["show"], "--json"]
    command += ["--catalog", str(overlay)]
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs):
        os.close(theirs)
        shown = read(ours).replace("\r\n", "\n")
    piped = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert harmless(shown)
    assert not harmless(piped)
    assert json.loads(shown) == json.loads(piped)


def read(terminal: int) -> str:
    """Read all that a terminal is sent; once all have left it, that is an error."""
    pieces = []
    with suppress(OSError):
        while piece := os.read(terminal, 65536):
            pieces.append(piece)
    os.close(terminal)
    return b"".join(pieces).decode("utf-8")


def test_a_document_is_spelt_out_to_its_leaves() -> None:
    document = {"\x1b": ["\u202e", ("\x9b", 1, None)]}

    assert printable(document) == {"\\x1b": ["\\u202e", ("\\x9b", 1, None)]}
    assert printable("\ud800\u2028\t\n caf\xe9 \U0001f980\u200d") == (
        "\\ud800\\u2028\\t\\n caf\xe9 \U0001f980\u200d"
    )


def test_only_colours_of_our_own_reach_a_screen() -> None:
    marked = [mark("it") for mark in (bad, faint, good, head, warn)]

    assert [screened(each) for each in marked] == marked
    assert screened("a\x1b[2J\x1b[31m\x9b\r\n\tb") == (
        "a\\u001b[2J\\u001b[31m\\u009b\\u000d\n\tb"
    )
