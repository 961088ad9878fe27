from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from planopt.errors import InternalError
from planopt.procurement.model import MAX_ACTIVITY, Model, Row
from planopt.procurement.solver import (
    CHILD,
    Effort,
    SolveInterrupted,
    Solver,
    _import_folders,
)

SMALL = Model((5, 5), (Row("users", (2, 3), lower=7),), (10, 14))
IMPOSSIBLE = Model((5,), (Row("users", (1,), lower=6),), (1,))


def hard() -> Model:
    """Model without a proof within minutes: many items, six knapsacks."""
    draw = random.Random(1)
    rows = []
    for _ in range(6):
        sizes = tuple(draw.randint(500, 1000) for _ in range(60))
        rows.append(Row("size", sizes, upper=sum(sizes) // 2))
    return Model((3,) * 60, tuple(rows), tuple(-draw.randint(700, 800) for _ in sizes))


def test_status_values_and_bound(solver: Solver) -> None:
    outcome = solver.solve(SMALL, 10)
    assert (outcome.status, outcome.values) == ("optimal", (2, 1))
    assert outcome.objective == outcome.bound == 34
    assert solver.solve(IMPOSSIBLE, 10).status == "infeasible"


def test_large_coefficients_stay_exact(solver: Solver) -> None:
    # The row is full to the last unit; one less is one too few.
    big = MAX_ACTIVITY // 8
    model = Model((3, 3), (Row("budget", (big, big + 1), upper=2 * big + 1),), (-2, -3))
    assert solver.solve(model, 10).values == (1, 1)


def test_relaxations_have_duals_in_the_units_of_their_rows(solver: Solver) -> None:
    # The cheaper of the two gives all 7 million users; each costs a fifth of a cent.
    rows = (Row("users", (1_000_000, 500_000), lower=7_000_000),)
    outcome = solver.solve(
        Model((50, 50), rows, (200_000, 140_000)), 10, effort=Effort(method="linear")
    )
    assert (outcome.status, outcome.objective) == ("optimal", 1_400_000)
    assert outcome.duals == pytest.approx([0.2])
    assert outcome.values == ()


def test_branch_and_cut_claims_no_proof(solver: Solver) -> None:
    outcome = solver.solve(SMALL, 10, effort=Effort(method="branch-and-cut"))
    assert (outcome.status, outcome.values) == ("feasible", (2, 1))
    assert (outcome.objective, outcome.bound) == (34, None)
    impossible = solver.solve(IMPOSSIBLE, 10, effort=Effort(method="branch-and-cut"))
    assert impossible.status == "infeasible"


def test_threads_are_each_told_their_own_answer(solver: Solver) -> None:
    def solved(users: int) -> int | None:
        model = Model((99,), (Row("users", (1,), lower=users),), (1,))
        return solver.solve(model, 10).objective

    asked = range(1, 41)
    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(solved, asked)] == [*asked]


def test_who_was_stopped_solves_no_more() -> None:
    solver = Solver()
    try:
        assert solver.solve(SMALL, 10).status == "optimal"
        solver.stop()
        assert solver.solve(SMALL, 10).status == "unknown"
    finally:
        solver.close()


def test_the_best_until_the_time_limit_has_a_bound(solver: Solver) -> None:
    started = time.monotonic()
    outcome = solver.solve(hard(), 0.3)
    assert time.monotonic() - started < 5
    assert outcome.status == "feasible"
    assert outcome.objective is not None
    assert outcome.bound is not None
    assert outcome.bound < outcome.objective


def test_the_same_question_has_the_same_answer(solver: Solver) -> None:
    assert len({solver.solve(SMALL, 10).values for _ in range(5)}) == 1


def test_a_model_that_is_refused_is_an_error_and_not_a_crash(solver: Solver) -> None:
    unequal = Model((1,), (Row("users", (1, 2), lower=1),), (1,))
    with pytest.raises(InternalError, match="E902"):
        solver.solve(unequal, 10)
    assert solver.solve(SMALL, 10).status == "optimal"


def test_a_killed_process_is_replaced(solver: Solver) -> None:
    before = solver.pid
    os.kill(before, signal.SIGKILL)
    assert solver.solve(SMALL, 10).objective == 34
    assert solver.pid != before


def test_a_process_killed_in_the_middle_of_a_solve_is_replaced(solver: Solver) -> None:
    solver.solve(SMALL, 10)
    killed = solver.pid
    timer = threading.Timer(0.2, os.kill, (killed, signal.SIGKILL))
    timer.start()
    outcome = solver.solve(hard(), 1)
    timer.join()
    assert outcome.status == "feasible"
    assert solver.pid != killed


def test_a_process_that_keeps_dying_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with Solver() as solver, pytest.raises(InternalError, match="E901"):
        solver.solve(SMALL, 10)


def test_a_process_that_hangs_is_given_up(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver.solve(SMALL, 10)
    monkeypatch.setattr("planopt.procurement.solver.OVERTIME_SECONDS", 0.0)
    os.kill(solver.pid, signal.SIGSTOP)
    assert solver.solve(SMALL, 0.2).status == "unknown"
    monkeypatch.undo()
    assert solver.solve(SMALL, 10).status == "optimal"


def test_ctrl_c_hands_over_the_best_so_far(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver.solve(SMALL, 10)
    timer = threading.Timer(1.0, signal.raise_signal, (signal.SIGINT,))
    send = solver._send

    def sent(line: bytes) -> bool:
        # Not before it waits: elsewhere an interrupt is the end of all tests.
        timer.start()
        return send(line)

    model = hard()
    monkeypatch.setattr(solver, "_send", sent)
    started = time.monotonic()
    try:
        with pytest.raises(SolveInterrupted) as caught:
            solver.solve(model, 60)
    finally:
        timer.cancel()
    monkeypatch.undo()
    assert time.monotonic() - started < 5
    assert isinstance(caught.value, KeyboardInterrupt)
    assert caught.value.outcome.status == "feasible"
    assert caught.value.outcome.values
    assert solver.solve(SMALL, 10).status == "optimal"


def test_ctrl_c_at_the_terminal_does_not_reach_the_process(solver: Solver) -> None:
    solver.solve(SMALL, 10)
    assert os.getsid(solver.pid) != os.getsid(0)


def test_closing_is_quick_and_leaves_no_process() -> None:
    solver = Solver()
    pid = solver.pid
    started = time.monotonic()
    solver.close()
    assert time.monotonic() - started < 1
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_process_whose_parent_is_gone_leaves_amid_a_solve() -> None:
    model = hard()
    request = {
        "model": model,
        "time_limit": 60,
        "hint": None,
        "method": "cp-sat",
        "parameters": Effort().parameters(),
    }
    command = [sys.executable, "-I", str(CHILD), *_import_folders()]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)

    process.communicate(msgspec.json.encode(request) + b"\n", timeout=30)

    assert process.returncode == 0


def test_the_parent_imports_no_solver() -> None:
    code = "import sys, planopt.procurement; print('ortools' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout == "False\n"


def test_the_process_loads_neither_numpy_nor_pandas() -> None:
    code = (
        "import sys; from planopt.procurement import child; child._Backend();"
        "print([m for m in ('numpy', 'pandas') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout == "[]\n"
