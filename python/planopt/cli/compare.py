"""``planopt compare``: the same question for several accelerators, side by side."""

from typing import Any

from planopt.cli.exits import NO_PLAN, OK
from planopt.cli.options import ACCELERATORS, JSON, QUESTION, takes
from planopt.cli.output import show


@takes(ACCELERATORS, *QUESTION)
def compare(*, json: JSON = False, **options: Any) -> int:
    """Ask the same question for each accelerator, and show the answers side by side.

    planopt compare --accelerators rtx-4090,a100-sxm-80,h100-sxm --target 5tok/s
    """
    from planopt.compare import compare as compare_plans
    from planopt.plan import to_json
    from planopt.report import render_comparison

    plans = list(compare_plans(**options))
    show(
        lambda: to_json(plans),
        lambda style: render_comparison(plans, style=style),
        json=json,
    )
    return OK if any(plan.status != "infeasible" for plan in plans) else NO_PLAN
