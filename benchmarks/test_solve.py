"""The main question asked of a warm process: `pytest benchmarks/test_solve.py`.

No part of the gate: a measurement says nothing on a machine that does other things.
"""

from pytest_benchmark.fixture import BenchmarkFixture

import planopt


def test_solve(benchmark: BenchmarkFixture) -> None:
    """The cheapest cluster within a budget."""
    plan = benchmark(planopt.solve, target="5tok/s", budget=20000)
    assert plan.status == "optimal"


def test_cheapest_without_a_budget(benchmark: BenchmarkFixture) -> None:
    """The cheapest one whatever it costs."""
    plan = benchmark(planopt.solve, target="5tok/s")
    assert plan.status == "optimal"
