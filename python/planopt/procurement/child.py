"""The process that holds OR-Tools: models in, solutions out, one JSON line each.

Nothing else in planopt imports ``ortools``. It clashes with other solvers' libraries
in one process (or-tools #5246), takes time to import, and a fault of native code must
not take the user's session with it. Of its Python fronts this is the one that loads
neither numpy nor pandas. CP-SAT is reached through it unharmed: status, objective,
bound, hint, time limit and interruption are CP-SAT's own.

A request is ``{"model": {...}, "time_limit": seconds, "hint": [...] | null, "method",
"parameters": text of the solver's parameters}``, a reply ``{"status", "values",
"objective", "bound", "duals", "mps", "seconds"}`` or ``{"status": "unknown", "error":
message}``.
SIGTERM ends the current solve early; its best solution is still the reply.

It is run by its path and isolated (`python -I`): only the standard library is there
until `main` takes the folders to import from, which are its arguments.
"""

from __future__ import annotations

import json
import math
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    # OR-Tools ships no types for this front.
    from ortools.linear_solver.pywraplp import Solver  # type: ignore[import-untyped]

SOLVERS = {"cp-sat": "SAT", "branch-and-cut": "SCIP", "linear": "GLOP", "mps": "SAT"}
"""OR-Tools' names of them."""

WAKE_SECONDS = 0.1
"""How often the waiting thread looks for signals; a finished solve is seen at once."""


ROUNDING = 1e-6
"""The bound of a whole objective is whole, give or take its passage as a double."""


class _Backend:
    """OR-Tools, imported once and asked many times."""

    def __init__(self) -> None:
        from ortools.linear_solver import pywraplp  # type: ignore[import-untyped]

        self._front = pywraplp
        self._running: Solver | None = None
        self._words = {
            pywraplp.Solver.OPTIMAL: "optimal",
            pywraplp.Solver.FEASIBLE: "feasible",
            pywraplp.Solver.INFEASIBLE: "infeasible",
            pywraplp.Solver.NOT_SOLVED: "unknown",
        }

    def interrupt(self, *_: object) -> None:
        """Answer SIGTERM: with the best so far, or by leaving when idle."""
        if self._running is None:
            raise SystemExit
        self._running.InterruptSolve()

    def solve(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request."""
        started = time.perf_counter()
        method, model = request["method"], request["model"]
        solver, variables = self._build(model, method, request["parameters"])
        if method == "mps":
            is_fixed = is_obfuscated = False
            text = solver.ExportModelAsMpsFormat(is_fixed, is_obfuscated)
            return {"status": "unknown", "mps": text, "seconds": 0.0}
        solver.SetTimeLimit(max(1, int(request["time_limit"] * 1000)))
        if request["hint"]:
            solver.SetHint(variables, list(map(float, request["hint"])))
        status = self._words.get(self._run(solver))
        if status is None:
            if method == "cp-sat":
                return _failed("OR-Tools refuses the model")
            status = "unknown"  # Numerical trouble of floating point.
        reply: dict[str, Any] = {"status": status}
        # Asking for values that do not exist makes the library write to stderr.
        if status in ("optimal", "feasible"):
            money = _scale(method, model["objective"])
            reply["objective"] = round(solver.Objective().Value() * money)
            if method == "linear":
                reply["duals"] = [
                    row.dual_value() * money / _scale(method, stated["coefficients"])
                    for row, stated in zip(
                        solver.constraints(), model["rows"], strict=True
                    )
                ]
            else:
                reply["values"] = [round(each.solution_value()) for each in variables]
            if method == "cp-sat":
                bound = solver.Objective().BestBound()
                reply["bound"] = math.ceil(bound - ROUNDING)
        if method == "branch-and-cut" and status == "optimal":
            reply["status"] = (
                "feasible"  # Best to within a tolerance, which is no proof.
            )
        return {**reply, "seconds": time.perf_counter() - started}

    def _build(
        self, model: dict[str, Any], method: str, parameters: str
    ) -> tuple[Solver, list[Any]]:
        solver = self._front.Solver.CreateSolver(SOLVERS[method])
        if not solver.SetSolverSpecificParametersAsString(parameters):
            raise ValueError(f"OR-Tools does not accept {parameters!r}")
        infinity = solver.infinity()
        add = solver.NumVar if method == "linear" else solver.IntVar
        variables = [add(0, upper, "") for upper in model["uppers"]]
        for row in model["rows"]:
            lower, upper = row["lower"], row["upper"]
            scale = _scale(method, row["coefficients"])
            constraint = solver.Constraint(
                -infinity if lower is None else lower / scale,
                infinity if upper is None else upper / scale,
            )
            places = row["variables"]
            taking_part = (
                variables if places is None else [variables[place] for place in places]
            )
            for variable, coefficient in zip(
                taking_part, row["coefficients"], strict=True
            ):
                if coefficient:
                    constraint.SetCoefficient(variable, coefficient / scale)
        objective = solver.Objective()
        money = _scale(method, model["objective"])
        for variable, coefficient in zip(variables, model["objective"], strict=True):
            objective.SetCoefficient(variable, coefficient / money)
        objective.SetMinimization()
        return solver, variables

    def _run(self, solver: Solver) -> int:
        """Solve in a thread, so that a signal finds the main thread awake."""
        exactly = self._front.MPSolverParameters()
        exactly.SetDoubleParam(exactly.RELATIVE_MIP_GAP, 0.0)
        status: list[int] = []
        thread = threading.Thread(target=lambda: status.append(solver.Solve(exactly)))
        self._running = solver
        thread.start()
        while thread.is_alive():
            thread.join(WAKE_SECONDS)
        self._running = None
        return status[0]


def _scale(method: str, coefficients: list[int]) -> int:
    """Return what coefficients are divided by: those of CP-SAT stay whole."""
    if method in ("cp-sat", "mps"):
        return 1
    return max(map(abs, coefficients), default=1) or 1


def _failed(why: str) -> dict[str, Any]:
    return {"status": "unknown", "error": why}


def _claim_stdout() -> TextIO:
    """Keep standard output for replies; what native code prints goes nowhere."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    return replies


def _requests() -> Iterator[str]:
    """Lines of the parent; when it is gone so is this process, amid a solve too."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield lines.get()


def main() -> None:
    """Answer requests until the parent closes standard input."""
    sys.path[:] = sys.argv[1:]
    replies = _claim_stdout()
    backend: _Backend | None = None
    failure = ""
    try:
        backend = _Backend()
        signal.signal(signal.SIGTERM, backend.interrupt)
    except Exception as error:  # whatever it is, the parent reports it
        failure = f"OR-Tools cannot be loaded: {error}"
    for line in _requests():
        try:
            request = json.loads(line)
            reply = backend.solve(request) if backend else _failed(failure)
        except Exception as error:  # as above: an answer, no traceback
            reply = _failed(f"{type(error).__name__}: {error}")
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
