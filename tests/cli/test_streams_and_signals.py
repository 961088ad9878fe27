"""Streams that are full or closed, and Ctrl-C at any moment: no traceback, no fault."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PLANOPT = f"{sys.executable} -m planopt.cli"
WRONG = "solve --target 5GB"
COMMANDS = ["--help", "--version", "explain E105", "explain --json"]
SOLVE = ["solve", "--target", "5tok/s", "--budget", "20000", "--model", "llama-2-7b"]
SOLVE += ["--load", "steady"]


def shell(line: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, check=False, timeout=60
    )


@pytest.mark.parametrize("stdout", [">/dev/full", ">&-"])
@pytest.mark.parametrize("command", COMMANDS)
def test_an_answer_that_cannot_be_written_is_told_in_a_line(
    command: str, stdout: str
) -> None:
    ran = shell(f"{PLANOPT} {command} {stdout}")

    assert ran.returncode == 2
    (line,) = ran.stderr.decode().splitlines()
    assert line.startswith("error[E006]: cannot write the answer: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_has_left_is_no_error(command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    ran = subprocess.run(
        [sys.executable, "-m", "planopt.cli", *command.split()],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)

    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-"])
@pytest.mark.parametrize("command", [WRONG, "slove"])
def test_messages_without_a_place_leave_the_exit_code(
    command: str, stderr: str
) -> None:
    ran = shell(f"{PLANOPT} {command} {stderr}")

    assert (ran.returncode, ran.stdout) == (2, b"")


def test_without_any_stream_the_plan_is_saved_and_nothing_else_is_in_it(
    tmp_path: Path,
) -> None:
    from planopt.documents.plan import Plan

    plan = tmp_path / "plan.json"

    ran = shell(f"{PLANOPT} {' '.join(SOLVE)} --out {plan} <&- >&- 2>&-")

    assert ran.returncode == 2  # The answer on the screen could not be given.
    assert Plan.load(plan).status == "optimal"


def test_what_a_stream_cannot_spell_is_replaced() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "planopt.cli", "explain", "caf\xe9"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )

    assert ran.returncode == 2
    assert b"caf?" in ran.stderr


# The command line, interrupted as by Ctrl-C where its first argument says.
INTERRUPTED = """
import atexit, os, signal, sys

where = sys.argv.pop(1)
signal.signal(signal.SIGINT, signal.default_int_handler)  # Ignored in the background.

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

class Dropped:
    def __del__(self):
        interrupt()

class Importing:
    def find_spec(self, name, path=None, target=None):
        if name == where:
            interrupt()
        if name == "planopt.errors" and where == "in a destructor":
            Dropped()

sys.meta_path.insert(0, Importing())
if where == "at the end":
    atexit.register(interrupt)
from planopt.cli import main
main()
"""


def apart(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start Python; what it is sent does not reach the tests."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


@pytest.mark.parametrize(
    "where",
    [
        *("planopt.cli.streams", "planopt.cli.program", "typer", "planopt.errors"),
        *("msgspec", "planopt._native", "planopt.planning.pipeline"),
        "planopt.report.plan",
        *("in a destructor", "at the end"),
    ],
)
def test_an_interruption_is_quiet_wherever_it_comes(where: str) -> None:
    process = apart(INTERRUPTED, where, *SOLVE)
    _, said = process.communicate(timeout=60)

    assert (process.returncode, said) == (130, b"")


# The command line, one of whose calls of the system interrupts it or fails.
AT_A_CALL = """
import errno, os, signal, sys

call, how = sys.argv.pop(1), sys.argv.pop(1)
signal.signal(signal.SIGINT, signal.default_int_handler)
real = getattr(os, call)

def faulty(*arguments):
    if how == "interrupted":
        os.kill(os.getpid(), signal.SIGINT)
        return real(*arguments)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

setattr(os, call, faulty)
from planopt.cli import main
main()
"""


@pytest.mark.parametrize(
    ("call", "how", "code", "there"),
    [
        ("fsync", "interrupted", 130, True),
        ("fsync", "interrupted", 130, False),
        ("fsync", "refused", 2, True),
        ("replace", "refused", 2, True),
    ],
)
def test_what_was_saved_stays_whole_where_saving_fails(
    call: str, how: str, code: int, there: bool, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    if there:
        plan.write_text("an older plan", encoding="utf-8")

    process = apart(AT_A_CALL, call, how, *SOLVE, "--out", str(plan))
    _, said = process.communicate(timeout=60)

    assert process.returncode == code
    assert b"Traceback" not in said
    assert said == b"" or b"error[E006]: cannot write: No space left on device" in said
    left = {each.name: each.read_text(encoding="utf-8") for each in tmp_path.iterdir()}
    assert left == ({"plan.json": "an older plan"} if there else {})
