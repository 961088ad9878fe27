"""``planopt evaluate``: what one configuration does, whether or not it fits."""

from typing import Any

import typer

from planopt.cli.exits import OK
from planopt.cli.options import (
    ASSUMPTIONS,
    JSON,
    LAYOUT,
    LENGTHS,
    MODEL,
    count,
    takes,
    text,
)
from planopt.cli.output import show

app = typer.Typer(
    help="Evaluate one configuration.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def _evaluate() -> None:
    pass  # keeps `serving` a command of its own


@app.command("serving")
@takes(
    *MODEL,
    text("accelerator", "NAME", "Accelerator of the catalog"),
    text("host", "NAME", "Host that holds the accelerators"),
    text("link", "NAME", "Link between accelerators of a host"),
    text("network", "NAME", "Network between the hosts of a replica"),
    count("hosts", "Hosts of one replica"),
    count("tp", "Tensor-parallel degree"),
    count("pp", "Pipeline stages"),
    count("ep", "Expert-parallel degree"),
    count("replicas", "Copies of the model"),
    *LAYOUT,
    *LENGTHS,
    *ASSUMPTIONS,
)
def serving(*, json: JSON = False, **options: Any) -> int:
    """Evaluate one way of serving a model: memory, speed, cost, power.

    planopt evaluate serving --accelerator rtx-4090 --tp 4 --pp 2 --batch 8
    """
    from planopt.evaluate import evaluate_serving
    from planopt.report import render_evaluation

    evaluation = evaluate_serving(**options)
    show(
        evaluation.to_json,
        lambda style: render_evaluation(evaluation, style=style),
        json=json,
    )
    return OK
