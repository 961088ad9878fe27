"""``planopt reproduce``: the seed article's figures, ours beside its."""

from typing import Any

from planopt.cli.options import JSON, several, takes, text
from planopt.cli.output import show


@takes(
    text("topic", "NAME", "Only this topic, such as inference"),
    several("catalog", "DIR", "Folder of catalog files laid over the bundled ones"),
)
def reproduce(*, json: JSON = False, **options: Any) -> None:
    """Work the figures of the seed article out again, through the model itself."""
    from planopt.article.reproduce import reproduce as reproduce_figures
    from planopt.report.reproduction import render_reproduction

    rows = reproduce_figures(**options)
    show(rows, render_reproduction, json=json)
