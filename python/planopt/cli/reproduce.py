"""``planopt reproduce``: the seed article's figures, ours beside its."""

from typing import Annotated, Any

import typer

from planopt.cli.options import JSON, several, takes
from planopt.cli.output import show


@takes(
    several("catalog", "DIR", "Folder of catalog files laid over the bundled ones"),
)
def reproduce(
    *,
    topic: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only this topic, such as inference"),
    ] = None,
    json: JSON = False,
    **options: Any,
) -> None:
    """Work the figures of the seed article out again, through the model itself."""
    from planopt.plan import to_json
    from planopt.report import render_reproduction
    from planopt.reproduce import reproduce as reproduce_figures

    rows = [
        row
        for row in reproduce_figures(**options)
        if topic is None or row["topic"] == topic
    ]
    show(
        lambda: to_json(rows),
        lambda style: render_reproduction(rows, style=style),
        json=json,
    )
