"""``planopt explain``: what a diagnostic means and how to mend it."""

from typing import Annotated

import typer

from planopt.cli.options import JSON, takes
from planopt.cli.output import show


@takes()
def explain(
    *,
    code: Annotated[
        str | None, typer.Argument(metavar="[CODE]", help="A code, such as E105")
    ] = None,
    json: JSON = False,
) -> None:
    """Explain a diagnostic; without a code, list them all."""
    from planopt.explain import explanation, explanations
    from planopt.report.explanation import render_explanation, render_explanations

    if code is None:
        every = explanations()
        show(every, render_explanations, json=json)
        return
    one = explanation(code)
    show(one, render_explanation, json=json)
