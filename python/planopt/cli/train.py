"""``planopt train``: what to buy for a training run."""

from typing import Any

from planopt.cli.options import JSON, KINDS, TRAINING_QUESTION, takes
from planopt.cli.plans import OUT, show_plan


@takes(KINDS, *TRAINING_QUESTION)
def train(
    *,
    out: OUT = None,
    json: JSON = False,
    **options: Any,
) -> int:
    """Find the cheapest cluster that trains a model in time, or the fastest for a sum.

    planopt train --model llama-2-70b --tokens 2T --deadline 30d
    """
    from planopt.planning.training import train as find_plan
    from planopt.report.plan import render_plan

    return show_plan(lambda: find_plan(**options), render_plan, out=out, json=json)
