"""``planopt compare``: the same question for several accelerators, side by side."""

from pathlib import Path
from typing import Annotated, Any

import typer

from planopt.cli.exits import NO_PLAN, OK
from planopt.cli.options import ACCELERATORS, JSON, QUESTION, TRAINING_QUESTION, takes
from planopt.cli.output import show
from planopt.errors import InputError
from planopt.files import write
from planopt.printable import printable

_SHARED = {option.name for option in QUESTION}
_OF_TRAINING = tuple(each for each in TRAINING_QUESTION if each.name not in _SHARED)


_All = Annotated[bool, typer.Option("--all", help="Every accelerator there is")]
_PerDollar = Annotated[
    bool, typer.Option("--per-dollar", help="Rank by tokens of a dollar, all ways")
]
_Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="chart.svg", help="Chart of --per-dollar"),
]


@takes(ACCELERATORS, *QUESTION, *_OF_TRAINING)
def compare(
    *,
    all_: _All = False,
    per_dollar: _PerDollar = False,
    out: _Out = None,
    json: JSON = False,
    **options: Any,
) -> int:
    """Ask the same question for each accelerator, and show the answers side by side.

    planopt compare --accelerators rtx-4090,a100-sxm-80,h100-sxm --target 5tok/s

    planopt compare --accelerators a100-sxm-80,h100-sxm --tokens 2T --deadline 30d

    planopt compare --all --per-dollar --model llama-3.1-8b --out chart.svg
    """
    from planopt.shared_options import asks_for_training

    if per_dollar:
        return _rank(out, json=json, **options, **({"all": True} if all_ else {}))
    for option, given in (("--all", all_), ("--out", out)):
        if given:
            raise InputError.of(
                "E004",
                f"{option} is for a ranking",
                field=option,
                accepted="--per-dollar beside it, or accelerators by their names",
            )
    if asks_for_training(options):
        return _compare_training(json=json, **options)
    from planopt.planning.compare import compare as compare_plans
    from planopt.report.comparison import render_comparison

    plans = list(compare_plans(**options))
    show(plans, render_comparison, json=json)
    return OK if any(plan.status != "infeasible" for plan in plans) else NO_PLAN


def _rank(out: Path | None, *, json: bool, **options: Any) -> int:
    from planopt.planning.per_dollar import per_dollar
    from planopt.report.ranking import chart, render_ranking

    ranking = per_dollar(**options)
    if out is not None:
        write(out, chart(printable(ranking)) + "\n", field="--out")
    show(ranking, render_ranking, json=json)
    return OK if ranking.standings else NO_PLAN


def _compare_training(*, json: bool, **options: Any) -> int:
    from planopt.planning.compare import compare as compare_plans
    from planopt.report.comparison import render_training_comparison

    plans = list(compare_plans(**options))
    show(plans, render_training_comparison, json=json)
    return OK if any(plan.status != "infeasible" for plan in plans) else NO_PLAN
