"""``planopt solve``: what to buy."""

from typing import Any

from planopt.cli.options import ACCELERATORS, JSON, QUESTION, takes
from planopt.cli.plans import OUT, show_plan


@takes(ACCELERATORS, *QUESTION)
def solve(
    *,
    out: OUT = None,
    json: JSON = False,
    **options: Any,
) -> int:
    """Find the cheapest cluster that serves a model at the speed asked for.

    planopt solve --target 5tok/s --budget 20000
    """
    from planopt.planning.serving import solve as find_plan
    from planopt.report.plan import render_plan

    return show_plan(lambda: find_plan(**options), render_plan, out=out, json=json)
