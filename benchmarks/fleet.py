"""What planning a fleet costs: 10,000 templates, 50 kinds of hardware, 4 workloads.

    python benchmarks/fleet.py [--workers 2] [SEED ...]

For each named instance of `fleet_instances`: the dominance filter of the compiled core;
the first plan, and the proof, of the selection of one shape, each with a warm solver;
the proof of two shapes; and all stages within ten seconds, with the gap that is left.
Peak memory is that of this process and its solvers together. Linux only.

Then fifty models in ten regions in one period, all stages, with ample and scarce stock.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_instances import SEEDS, instance, regional

from planopt._native import undominated_templates
from planopt.fleets.problem import columns_of, undominated
from planopt.fleets.programme import Selection
from planopt.fleets.stages import solve
from planopt.procurement.solver import Effort, Solver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.fleets.problem import Fleet

FILTERS = 9
TIME_LIMIT = 10.0
PATIENCE = 60.0
KIB_PER_MIB = 1024


def main() -> None:
    """Print a table, an instance a row, with median and worst."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="*", default=list(SEEDS))
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    print(
        "| seed | kept | filter ms | first plan s | one shape s | two shapes s "
        "| stages s | cost $ | bound $ | gap % | peak MiB |"
    )
    print("|---|" + "---:|" * 10)
    rows = []
    for seed in given.seeds:
        rows.append(measure(instance(seed), given.workers))
        print(_line(seed, rows[-1]), flush=True)
    columns = list(zip(*rows, strict=True))
    print(_line("median", [statistics.median(column) for column in columns]))
    print(_line("worst", [max(column) for column in columns]))
    print("\n| 50 models, 10 regions | stages s | cost $ | bound $ | gap % |")
    print("|---|" + "---:|" * 4)
    for seed in given.seeds:
        for scarce in (False, True):
            row = measure_regional(seed, given.workers, scarce=scarce)
            print(f"| {seed}, {'scarce' if scarce else 'ample'} | {row}", flush=True)


def measure_regional(seed: str, workers: int, *, scarce: bool) -> str:
    """Figures of a fleet of many small demands, in the order of the table."""
    whole = regional(seed, scarce=scarce)
    fleet = whole.only(undominated(whole))
    solvers = [Solver() for _ in range(workers)]
    started = time.perf_counter()
    answer = solve(fleet, solvers, TIME_LIMIT)
    seconds = time.perf_counter() - started
    for solver in solvers:
        solver.close()
    cost, bound = (answer.cost_cents or 0) / 100, (answer.bound_cents or 0) / 100
    gap = 100 * (answer.gap if answer.gap is not None else 1)
    return f"{seconds:.1f} | {cost:,.0f} | {bound:,.0f} | {gap:.2f} |"


def measure(whole: Fleet, workers: int) -> list[float]:
    """Figures of one instance, in the order of the table."""
    columns = columns_of(whole)
    filters = []
    for _ in range(FILTERS):
        started = time.perf_counter()
        kept = undominated_templates(*columns)
        filters.append(time.perf_counter() - started)
    fleet = whole.only(kept)
    solvers = [Solver() for _ in range(workers)]
    try:
        solvers[0].solve(Selection(fleet.only(range(40))).model, PATIENCE)  # warm
        first = _seconds(solvers[0], fleet, 1, Effort(first=True))
        one = _seconds(solvers[0], fleet, 1, Effort())
        two = _seconds(solvers[0], fleet, 4, Effort())
        started = time.perf_counter()
        answer = solve(fleet, solvers, TIME_LIMIT)
        seconds = time.perf_counter() - started
        peak = sum(map(_peak_kib, ("self", *(solver.pid for solver in solvers))))
    finally:
        for solver in solvers:
            solver.close()
    cost, bound = (answer.cost_cents or 0) / 100, (answer.bound_cents or 0) / 100
    gap = 100 * (answer.gap if answer.gap is not None else 1)
    times = [1000 * statistics.median(filters), first, one, two, seconds]
    return [len(kept), *times, cost, bound, gap, peak / KIB_PER_MIB]


def _seconds(solver: Solver, fleet: Fleet, parts: int, effort: Effort) -> float:
    """Time from the templates to the answer of a selection, stating it included."""
    started = time.perf_counter()
    outcome = solver.solve(Selection(fleet, parts).model, PATIENCE, effort=effort)
    seconds = time.perf_counter() - started
    expected = ("optimal", "feasible") if effort.first else ("optimal",)
    if outcome.status not in expected:
        raise SystemExit(f"the selection ends as {outcome.status}")
    return seconds


def _peak_kib(process: int | str) -> int:
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def _line(name: str, row: Sequence[float]) -> str:
    kept, sieve, first, one, two, seconds, cost, bound, gap, peak = row
    return (
        f"| {name} | {kept:,.0f} | {sieve:.1f} | {first:.2f} | {one:.2f} | {two:.2f} "
        f"| {seconds:.1f} | {cost:,.0f} | {bound:,.0f} | {gap:.1f} | {peak:.0f} |"
    )


if __name__ == "__main__":
    main()
