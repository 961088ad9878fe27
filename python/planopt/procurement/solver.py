"""The parent's side of the solver process: starts it, asks it, outlives it."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from planopt.errors import InternalError
from planopt.procurement.model import MAX_ACTIVITY, Model

if TYPE_CHECKING:
    from typing_extensions import Self


Status = Literal["optimal", "feasible", "infeasible", "unknown"]
Method = Literal["cp-sat", "branch-and-cut", "linear", "mps"]

OVERTIME_SECONDS = 30.0
"""Added to the time limit before the process is given up: it may still be importing
OR-Tools on a busy machine, and presolve looks at the clock only now and then."""

LAST_WORD_SECONDS = 2.0
"""How long an interrupted solve has to hand over its best solution."""

CHILD = Path(__file__).with_name("child.py")
"""Run by its path: a module would be looked for in the current folder first."""

PACKAGES = Path(__file__).parents[2]  # Folder that planopt was imported from

WAKE_SECONDS = 0.1  # How often a wait looks for Ctrl-C; a reply is seen at once


class Outcome(Struct, frozen=True):
    """What the solver says of a model; status and bound are OR-Tools' own."""

    status: Status  # Proven best; best at the time limit; proven to have none; neither
    values: tuple[int, ...] = ()  # The solution; empty where there is none
    # Value of the solution, and what no solution can be below.
    objective: int | None = None
    bound: int | None = None
    # Of a relaxation, what a unit more on the right of each row would cost.
    duals: tuple[float, ...] = ()
    seconds: float = 0.0  # Time the solver took
    mps: str = ""  # The model itself, where only that was asked for
    error: str | None = None  # Why there is none of it


SEED = 1  # Where its choices begin, unless said: the same for every question
NEAR_ENOUGH = 1e-4
NODES = 20_000  # Where branch and cut stops: far beyond the proofs that it is asked for

RELAXING = (
    "cp_model_probing_level:0",
    "max_presolve_iterations:1",
    "linearization_level:2",
)

IMPROVING = ("use_lns_only:true", "interleave_search:true", "num_workers:8")
"""Neighbourhoods of the best solution, searched in turns by one thread: as reproducible
as one worker."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard the solver is to try; by default reproducibly, to the proof."""

    # Deterministic time (about seconds) after which it stops: unlike seconds, it stops
    # at the same solution wherever it runs.
    work: float | None = None
    first: bool = False  # Stop at the first solution
    # Spend little on presolve and more on linear relaxations: for programmes whose
    # proof is out of reach, where the bound is what counts.
    relaxing: bool = False
    # Only better solutions than the hint are sought, and no bound.
    improving: bool = False
    # Where its choices begin.
    seed: int = SEED
    # How: to the last unit, by CP-SAT; within the tolerances of floating point, by SCIP
    # (`work` counts nodes), where linear relaxations are sharp; or not in whole
    # numbers, for the duals; or not at all, for the model in the format of others.
    method: Method = "cp-sat"

    def parameters(self) -> str:
        """Parameters of the solver, as its text format has them."""
        if self.method == "linear":
            return ""
        if self.method == "branch-and-cut":
            seed = f"randomization/randomseedshift = {self.seed}"
            return f"{seed}\nlimits/gap = {NEAR_ENOUGH}\nlimits/nodes = {NODES}"
        parts = [
            *(IMPROVING if self.improving else ("num_workers:1",)),
            f"random_seed:{self.seed}",
            f"mip_max_bound:{MAX_ACTIVITY}",
        ]
        if self.work is not None:
            parts.append(f"max_deterministic_time:{self.work}")
        if self.first:
            parts.append("stop_after_first_solution:true")
        if self.relaxing:
            parts += RELAXING
        return " ".join(parts)


REPRODUCIBLY = Effort()
"""One worker and a fixed seed: the same question has the same answer."""


@dataclass(eq=False)
class SolveInterrupted(KeyboardInterrupt):
    """The user stopped a solve."""

    outcome: Outcome


class Solver:
    """A solver process, started at once and kept warm.

    It has a session of its own: Ctrl-C reaches the parent alone, which passes it on.
    Construction does not wait for it, so it loads OR-Tools while the parent works.
    Threads that ask it at the same time are answered one after the other.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Process id of the solver process now in use."""
        return self._process.pid

    def close(self) -> None:
        """End the process at once; it holds nothing that needs saving."""
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):  # What it was not sent any more.
            self._requests.close()

    def stop(self) -> None:
        """End the solve that another thread waits for, with the best it has."""
        self._stopped = True
        self._process.terminate()

    def solve(
        self,
        model: Model,
        time_limit: float,
        hint: Sequence[int] | None = None,
        effort: Effort = REPRODUCIBLY,
    ) -> Outcome:
        """Solve a model."""
        request = {
            "model": model,
            "time_limit": time_limit,
            "hint": hint,
            "method": effort.method,
            "parameters": effort.parameters(),
        }
        line = msgspec.json.encode(request) + b"\n"
        try:
            with self._turn:
                late = time.monotonic() + time_limit + OVERTIME_SECONDS
                return self._ask(line, late)
        except KeyboardInterrupt:
            raise SolveInterrupted(self._last_word()) from None

    def _ask(self, line: bytes, deadline: float) -> Outcome:
        for _ in range(2):
            if self._stopped:
                return Outcome("unknown")
            try:
                if not self._send(line):
                    self._restart()
                    continue
                reply = self._reply(deadline)
            except queue.Empty:
                self.close()
                return Outcome("unknown")
            if reply is not None:
                return _outcome(reply)
            if not self._stopped:
                self._restart()
        raise InternalError.of(
            "E901",
            "the solver process ended without an answer, twice",
            help="it may have run out of memory; a smaller search asks less of it",
        )

    def _last_word(self) -> Outcome:
        """Ask an interrupted solve for what it has, and end it."""
        try:
            self._process.terminate()
            reply = self._reply(time.monotonic() + LAST_WORD_SECONDS)
            if reply is not None:
                return _outcome(reply)
        except (queue.Empty, InternalError, KeyboardInterrupt):
            pass  # A second Ctrl-C, or nothing to hand over: leave without it.
        finally:
            self.close()
        return Outcome("unknown")

    def _send(self, line: bytes) -> bool:
        try:
            self._requests.write(line)
            self._requests.flush()
        except (OSError, ValueError):  # It died, or was closed after an interruption.
            return False
        return True

    def _reply(self, deadline: float) -> bytes | None:
        """Wait for a line, in steps: a long wait would hold up Ctrl-C in places."""
        while time.monotonic() + WAKE_SECONDS < deadline:
            with contextlib.suppress(queue.Empty):
                return self._replies.get(timeout=WAKE_SECONDS)
        return self._replies.get(timeout=max(0.0, deadline - time.monotonic()))

    def _restart(self) -> None:
        self.close()
        self._start()

    def _start(self) -> None:
        self._stopped = False
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(CHILD), *_import_folders()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None  # both are pipes
        assert replies is not None
        self._requests = requests
        # A queue of its own: the last words of an earlier process go unheard.
        self._replies: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(
            target=_pump, args=(replies, self._replies), daemon=True
        ).start()


def _import_folders() -> list[str]:
    """Name the folders that OR-Tools is looked for in: those of this process.

    The current one is not among them, as whatever lies there would be run: an
    `ortools.py`, a `json.py`. Unless planopt itself is installed there.
    """
    if _is_current(PACKAGES):
        return sys.path
    return [folder for folder in sys.path if not _is_current(Path(folder))]


def _is_current(folder: Path) -> bool:
    try:
        return folder.samefile(Path())
    except OSError:  # One of them is not there.
        return False


def _pump(pipe: IO[bytes], replies: queue.SimpleQueue[bytes | None]) -> None:
    """Move replies from the pipe to the queue; none says that there are no more."""
    with pipe:
        for line in pipe:
            replies.put(line)
    replies.put(None)


def _outcome(line: bytes) -> Outcome:
    outcome = msgspec.json.decode(line, type=Outcome)
    if outcome.error is not None:
        raise InternalError.of(
            "E902",
            f"the solver cannot answer: {outcome.error}",
            help="check that the ortools package is installed",
        )
    return outcome
