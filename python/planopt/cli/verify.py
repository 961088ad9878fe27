"""``planopt verify``: whether a saved plan holds, computed again."""

from pathlib import Path
from typing import Annotated

import typer

from planopt.cli.exits import NO_PLAN, OK
from planopt.cli.options import JSON, takes
from planopt.cli.output import show, tell
from planopt.errors import Diagnostic


@takes()
def verify(
    *,
    plan: Annotated[
        Path, typer.Argument(metavar="plan.json", help="A plan that solve has saved")
    ],
    json: JSON = False,
) -> int:
    """Compute a saved plan again, slowly and without the optimizer."""
    import msgspec

    from planopt.catalog import bundled_folder
    from planopt.plan import Plan, to_json
    from planopt.report import render_verification
    from planopt.verify.plan import verify_plan

    document = msgspec.to_builtins(Plan.load(plan))
    problems = [
        Diagnostic(
            code="E302",
            message=f"{mismatch.field} does not hold: {mismatch.reason}",
            file=str(plan),
            field=mismatch.field,
            value=str(mismatch.stated),
            accepted=str(mismatch.expected),
        )
        for mismatch in verify_plan(document, bundled_folder())
    ]
    tell(problems)
    show(
        lambda: to_json({"verified": not problems, "problems": problems}),
        lambda style: render_verification(plan, problems, style=style),
        json=json,
    )
    return NO_PLAN if problems else OK
