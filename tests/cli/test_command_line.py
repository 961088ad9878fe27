"""The command line itself: streams, exit codes, options; the search is stood in for."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from typing import TYPE_CHECKING, Any

import pytest

from planopt.cli import main
from planopt.documents.plan import Interrupted
from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from planopt.documents.plan import Plan

HEAVY = (
    "ortools",
    "numpy",
    "pandas",
    "rich",
    "msgspec",
    "planopt._native",
    "planopt.report.plan",
)


class Solver:
    """Stands in for the search: remembers what it was asked, answers as told."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}
        self.answer: Callable[[], Plan] | None = None

    def solve(self, *, on_progress: object, **options: Any) -> Plan:
        self.asked = options
        assert callable(on_progress)
        assert self.answer is not None
        return self.answer()


@pytest.fixture
def solver(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> Solver:
    stand_in = Solver()
    stand_in.answer = lambda: plan
    module = types.ModuleType("planopt.api")
    module.solve = stand_in.solve  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "planopt.api", module)
    return stand_in


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert isinstance(left.value.code, int)
    return left.value.code


def run_apart(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "planopt.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def _raiser(error: BaseException) -> Callable[[], Plan]:
    def answer() -> Plan:
        raise error

    return answer


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from planopt.cli import main\n"
        "try:\n    main(['--help'])\n"
        f"finally:\n    print([name for name in {HEAVY} if name in sys.modules])"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert ran.stdout.splitlines()[-1] == "[]"
    assert "solve" in ran.stdout


def test_a_plan_is_shown(solver: Solver, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("solve", "--target", "5tok/s", "--budget", "20000") == 0

    assert solver.asked == {"target": "5tok/s", "budget": "20000"}
    assert "cheapest in the space" in capsys.readouterr().out


@pytest.mark.usefixtures("solver")
def test_json_is_one_document_and_nothing_else(
    plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("solve", "--json") == 0

    shown = capsys.readouterr()
    assert json.loads(shown.out) == json.loads(plan.to_json())
    assert shown.err == ""


def test_only_options_that_are_given_reach_the_api(solver: Solver) -> None:
    run(
        "solve",
        *("--allow-quantization", "fp8,int8", "--in-flight", "1", "--datacenter"),
        *("--catalog", "a", "--catalog", "b", "--stock", "rtx-4090=8"),
    )

    assert solver.asked == {
        "allow_quantization": "fp8,int8",
        "in_flight": "1",
        "datacenter": True,
        "catalog": ["a", "b"],
        "stock": ["rtx-4090=8"],
    }


@pytest.mark.usefixtures("solver")
def test_a_plan_is_saved(plan: Plan, tmp_path: Path) -> None:
    from planopt.documents.plan import Plan as Saved

    assert run("solve", "--out", str(tmp_path / "plan.json")) == 0

    assert Saved.load(tmp_path / "plan.json") == plan


@pytest.mark.usefixtures("solver")
def test_a_plan_that_cannot_be_saved_is_an_input_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("solve", "--out", str(tmp_path / "no" / "plan.json")) == 2

    assert "error[E006]" in capsys.readouterr().err


def test_no_plan_is_an_answer_with_exit_code_1(
    no_plan: Plan, solver: Solver, capsys: pytest.CaptureFixture[str]
) -> None:
    solver.answer = lambda: no_plan

    assert run("solve") == 1
    assert "infeasible" in capsys.readouterr().out


def test_wrong_input_is_told_on_stderr(
    solver: Solver, capsys: pytest.CaptureFixture[str]
) -> None:
    solver.answer = _raiser(
        InputError.of("E002", "no", field="--target", value="5GB", accepted="5tok/s")
    )

    assert run("solve", "--json") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "error[E002]: no",
        "  --> --target 5GB",
        "  = accepted: 5tok/s",
        "  = note: `planopt explain E002` says more",
    ]


@pytest.mark.parametrize("error", [RuntimeError("odd"), BaseException("panic")])
def test_a_fault_is_told_without_a_traceback(
    error: BaseException, solver: Solver, capsys: pytest.CaptureFixture[str]
) -> None:
    solver.answer = _raiser(error)

    assert run("solve") == 70
    shown = capsys.readouterr()
    assert "error[E901]" in shown.err
    assert "Traceback" not in shown.err


def test_interruption_shows_the_best_plan_so_far(
    plan: Plan, solver: Solver, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    solver.answer = _raiser(Interrupted(plan))

    assert run("solve", "--json", "--out", str(tmp_path / "plan.json")) == 130
    assert json.loads(capsys.readouterr().out)["price_usd"] == plan.price_usd
    assert (tmp_path / "plan.json").exists()


@pytest.mark.parametrize("error", [Interrupted(), KeyboardInterrupt()])
def test_interruption_without_a_plan(error: BaseException, solver: Solver) -> None:
    solver.answer = _raiser(error)

    assert run("solve") == 130


@pytest.mark.parametrize(
    ("arguments", "code", "offer"),
    [
        (["solve", "--targt", "5"], "E001", "`--target`"),
        (["solve", "--budged", "5"], "E001", "`--budget`"),
        (["sovle"], "E001", "'solve'"),
        (["solve", "5tok/s"], "E001", "`planopt solve --help`"),
        (["solve", "--target"], "E005", "argument"),
        (["verify"], "E005", "`planopt verify --help`"),
        (["verify", "missing.json"], "E006", "plan.json"),
        (["explain", "E1O5"], "E001", "E105"),
        (["catalog", "list", "acelerators"], "E001", "accelerators"),
        (["catalog", "show", "a", "b", "c"], "E004", "rtx-4090"),
    ],
)
def test_wrong_usage_has_a_code_and_an_offer(
    arguments: list[str], code: str, offer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2

    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"error[{code}]")
    assert offer in shown.err


@pytest.mark.parametrize("arguments", [["evaluate"], ["catalog"]])
def test_without_a_command_the_help_is_shown(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    shown = capsys.readouterr()
    assert "Usage: planopt" in shown.out + shown.err


def test_explain_shows_meaning_example_and_fix(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("explain", "e105") == 0

    shown = capsys.readouterr().out
    assert shown.startswith("E105: ")
    assert "Example" in shown
    assert "Fix" in shown


def test_a_reader_that_leaves_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "planopt.cli", "explain", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()

    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.usefixtures("solver")
def test_a_pipe_gets_no_colour(capsys: pytest.CaptureFixture[str]) -> None:
    run("solve")

    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "value", "coloured"),
    [("TERM", "xterm", True), ("TERM", "dumb", False), ("NO_COLOR", "1", False)],
)
def test_colour_is_for_terminals_that_want_it(
    name: str, value: str, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    from planopt.cli.output import style_of

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)

    assert style_of(Terminal()).colour is coloured
