"""Commands that ask: solve, train, fleet, evaluate, compare, frontier, sweep."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt.cli.exits import INTERRUPTED, NO_PLAN, OK
from planopt.cli.output import Answer
from planopt.errors import InputError
from planopt.files import write
from planopt.printable import printable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from planopt.documents.homes import HomesPlan
    from planopt.documents.plan import PlanDocument
    from planopt.option_types import (
        FleetOptions,
        FrontierOptions,
        ServingOptions,
        SolveOptions,
        TrainingOptions,
        TrainOptions,
    )
    from planopt.planning.compare import Ranking
    from planopt.report.table import Report


def solve(
    *,
    out: str | None = None,
    details: bool = False,
    **options: "Unpack[SolveOptions]",
) -> Answer:
    """Find the cheapest cluster that serves a model at the speed asked for.

    planopt solve --target 5tok/s --budget 20000

    planopt solve --own 8xrtx-3090,wan-100m --target 5tok/s --weights int4
    """
    if options.keys() & {"neighbours", "own"}:
        from planopt.homes import meant_by, serve_neighbours

        if (neighbours := meant_by(options)) is not None:
            return _of_homes(serve_neighbours, neighbours, out)
    from planopt.api import solve as find_plan
    from planopt.report.plan import render_plan

    return _of_plan(find_plan, options, render_plan, out, details=details)


def train(
    *,
    out: str | None = None,
    details: bool = False,
    **options: "Unpack[TrainOptions]",
) -> Answer:
    """Find the cheapest cluster that trains a model in time, or the fastest for a sum.

    planopt train --model llama-2-70b --tokens 2T --deadline 30d

    planopt train --model llama-2-7b --islands 100xrtx-4090 --tokens 140B
    """
    if "islands" in options:
        from planopt.homes import train_islands

        return _of_homes(train_islands, options, out)
    from planopt.api import train as find_plan
    from planopt.report.plan import render_plan

    return _of_plan(find_plan, options, render_plan, out, details=details)


def _of_homes(
    find: "Callable[..., HomesPlan]", options: "Mapping[str, object]", out: str | None
) -> Answer:
    """Find what machines in homes do, and save it."""
    from planopt.cli.progress import Progress
    from planopt.report.homes import render_homes

    with Progress("searching"):
        plan = find(**options)
    if out is not None:
        write(out, plan.to_json() + "\n", field="--out")
    return Answer(plan, render_homes, NO_PLAN if plan.best is None else OK)


def fleet(
    *,
    file: str,
    out: str | None = None,
    details: bool = False,
    **options: "Unpack[FleetOptions]",
) -> Answer:
    """Plan what to buy and rent, and when, for several models and workloads.

    planopt fleet docs/how-to/fleet.toml
    """
    from planopt.fleets.plan import fleet as plan_fleet
    from planopt.report.fleet import render_fleet

    find = partial(plan_fleet, file)
    return _of_plan(find, options, render_fleet, out, details=details, stages=True)


def _of_plan(
    find: "Callable[..., PlanDocument]",
    options: "Mapping[str, object]",
    render: "Callable[..., Report]",
    out: str | None,
    *,
    details: bool,
    stages: bool = False,
) -> Answer:
    """Find a plan and save it; if stopped, the best until then."""
    from planopt.cli.progress import Progress
    from planopt.documents.plan import Interrupted

    try:
        with Progress("searching", stages=stages) as progress:
            plan = find(on_progress=progress.at, **options)
        code = NO_PLAN if plan.status == "infeasible" else OK
    except Interrupted as stop:
        if stop.plan is None:
            raise
        plan, code = stop.plan, INTERRUPTED
    if out is not None:
        plan.save(out)
    saved = None if out is None else printable(out)
    return Answer(plan, partial(render, saved=saved, details=details), code)


def serving(*, details: bool = False, **options: "Unpack[ServingOptions]") -> Answer:
    """Evaluate one way of serving a model: memory, speed, cost, power.

    planopt evaluate serving --accelerator rtx-4090 --tp 4 --pp 2 --batch 8
    """
    from planopt.planning.evaluate import evaluate_serving
    from planopt.report.evaluation import render_evaluation

    render = partial(render_evaluation, details=details)
    return Answer(evaluate_serving(**options), render)


def training(*, details: bool = False, **options: "Unpack[TrainingOptions]") -> Answer:
    """Evaluate one way of training a model: memory, step time, days, cost.

    planopt evaluate training --accelerator a100-sxm-80 --network infiniband-200g
    --tp 8 --pp 4 --dp 64 --sequence-parallel --zero 1 --tokens 2T
    """
    from planopt.report.evaluation import render_evaluation
    from planopt.training.evaluate import evaluate_training

    render = partial(render_evaluation, details=details)
    return Answer(evaluate_training(**options), render)


def compare(
    *,
    all: bool = False,
    per_dollar: bool = False,
    out: str | None = None,
    details: bool = False,
    **options: Any,
) -> Answer:
    """Ask the same question for each accelerator, and show the answers side by side.

    planopt compare --accelerators rtx-4090,a100-sxm-80,h100-sxm --target 5tok/s

    planopt compare --accelerators a100-sxm-80,h100-sxm --tokens 2T --deadline 30d

    planopt compare --all --per-dollar --model llama-3.1-8b --out chart.svg
    """
    from planopt.cli.progress import Progress
    from planopt.planning.compare import compare as answers
    from planopt.report.comparison import render_comparison

    if per_dollar:
        from planopt.planning.compare import per_dollar as rank

        return _ranked(rank(all=all, **options), out)
    for option, given in (("--all", all), ("--out", out)):
        if given:
            raise InputError.of(
                "E004",
                f"{option} is for a ranking",
                field=option,
                accepted="--per-dollar beside it, or accelerators by their names",
            )
    with Progress("comparing") as progress:
        plans = answers(on_progress=progress.at, **options)
    is_any = any(plan.status != "infeasible" for plan in plans)
    render = partial(render_comparison, details=details)
    return Answer(plans, render, OK if is_any else NO_PLAN)


def _ranked(ranking: "Ranking", out: str | None) -> Answer:
    from planopt.report.ranking import chart, render_ranking

    if out is not None:
        write(out, chart(printable(ranking)) + "\n", field="--out")
    return Answer(ranking, render_ranking, OK if ranking.standings else NO_PLAN)


def frontier(
    *,
    space: str | None = None,
    out: str | None = None,
    top: str | None = None,
    details: bool = False,
    **options: "Unpack[FrontierOptions]",
) -> Answer:
    """List what no other choice beats: units that serve a model, or a space's front.

    planopt frontier --model llama-3.1-8b --accelerators rtx-4090 --top 20
    """
    from planopt.options import Asked, given

    command = "frontier" if space is None else "frontier --space"
    listed: int | None = None
    if top is not None:
        listed = Asked(command, {"top": top}).values()["top"]
    from planopt.cli.progress import Progress
    from planopt.exchange.rows import write_rows
    from planopt.planning.compare import frontier as units
    from planopt.report.spaces import render_frontier
    from planopt.sweeps.fronts import front

    with Progress("evaluating") as progress:
        if space is None:
            rows = units(on_progress=progress.at, **options).to_dicts()
        else:
            of_a_space: Any = given(command, options)
            rows = front(space, on_progress=progress.at, **of_a_space)
    if out is not None:
        write_rows(Path(out), rows)
    saved = None if out is None else printable(out)
    render = partial(render_frontier, details=details, saved=saved, top=listed)
    return Answer(rows, render)


def sweep(*, study: str, **options: Any) -> Answer:
    """Evaluate every candidate of a study, and keep the front of each case as Parquet.

    planopt sweep study.toml --out DIR --on dask://localhost:8786
    """
    from planopt.cli.progress import Progress
    from planopt.report.spaces import render_sweep
    from planopt.sweeps.run import sweep as run

    with Progress("evaluating") as progress:
        return Answer(run(study, on_progress=progress.at, **options), render_sweep)


def explore(
    *,
    port: str | None = None,
    open: bool = False,
    catalog: "Sequence[str]" = (),
    **options: object,
) -> None:
    """Ask in a page of your own browser, until Ctrl-C.

    planopt explore --model llama-3.1-8b --target 20tok/s
    """
    from planopt.cli.output import answer, note
    from planopt.explore.server import ANY_PORT, serve
    from planopt.options import Asked

    number = Asked("explore", {"port": port}).values().get("port", ANY_PORT)

    def ready(address: str) -> None:
        answer(address)
        note("open it in a browser; Ctrl-C ends it")
        if open:
            import webbrowser

            webbrowser.open(address)

    serve(Asked("explore", options).given, catalog, number, ready)
