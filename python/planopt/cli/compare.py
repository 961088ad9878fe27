"""``planopt compare``: the same question for several accelerators, side by side."""

from typing import Any

from planopt.cli.exits import NO_PLAN, OK
from planopt.cli.options import (
    ACCELERATORS,
    JSON,
    QUESTION,
    TRAINING_QUESTION,
    takes,
)
from planopt.cli.output import show

_SHARED = {option.name for option in QUESTION}
_OF_TRAINING = tuple(each for each in TRAINING_QUESTION if each.name not in _SHARED)


@takes(ACCELERATORS, *QUESTION, *_OF_TRAINING)
def compare(*, json: JSON = False, **options: Any) -> int:
    """Ask the same question for each accelerator, and show the answers side by side.

    planopt compare --accelerators rtx-4090,a100-sxm-80,h100-sxm --target 5tok/s

    planopt compare --accelerators a100-sxm-80,h100-sxm --tokens 2T --deadline 30d
    """
    from planopt.plan import to_json
    from planopt.shared_options import asks_for_training

    if asks_for_training(options):
        return _compare_training(json=json, **options)
    from planopt.comparison import compare as compare_plans
    from planopt.report import render_comparison

    plans = list(compare_plans(**options))
    show(
        lambda: to_json(plans),
        lambda style: render_comparison(plans, style=style),
        json=json,
    )
    return OK if any(plan.status != "infeasible" for plan in plans) else NO_PLAN


def _compare_training(*, json: bool, **options: Any) -> int:
    from planopt.plan import to_json
    from planopt.report.training_comparison import render_training_comparison
    from planopt.training.compare import compare_training

    plans = compare_training(**options)
    show(
        lambda: to_json(plans),
        lambda style: render_training_comparison(plans, style=style),
        json=json,
    )
    return OK if any(plan.status != "infeasible" for plan in plans) else NO_PLAN
