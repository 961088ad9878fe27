"""``planopt verify``: whether a saved plan holds, computed again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planopt.cli.exits import NO_PLAN, OK
from planopt.cli.options import JSON, takes
from planopt.cli.output import show, tell
from planopt.errors import Diagnostic
from planopt.printable import printable

if TYPE_CHECKING:
    from planopt.second_opinion import Mismatch

LONGEST_SHOWN = 60
"""Characters of a value in a message: a whole deployment says nothing on a screen."""

BOUGHT = """\
Computed again from the catalogs and the assumptions, without the optimizer: {computed}
figures of memory, times, parts, prices, power and cost. Held against them: limits,
formats, bound and status. Taken as remarks: alternatives, answers and sensitivity."""
NOTHING_BOUGHT = """\
The plan says that there is none, and buys nothing. That there is none is not computed
again: it would take the search."""


@takes()
def verify(
    *,
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="plan.json", help="A plan that solve or train has saved"
        ),
    ],
    json: JSON = False,
) -> int:
    """Compute a saved plan again, slowly and without the optimizer."""
    from planopt.report.plan import render_verification
    from planopt.second_opinion import verify as compute_again

    verdict = compute_again(plan)
    problems = [_problem(plan, mismatch) for mismatch in verdict.mismatches]
    tell(problems)
    says_what = BOUGHT if verdict.buys else NOTHING_BOUGHT
    computed = says_what.format(computed=verdict.figures)
    show(
        {
            "verified": not problems,
            "figures": verdict.figures,
            "mismatches": verdict.mismatches,
        },
        lambda _: render_verification(printable(str(plan)), problems, computed),
        json=json,
    )
    return NO_PLAN if problems else OK


def _problem(plan: Path, mismatch: "Mismatch") -> Diagnostic:
    stated, expected = _shown(mismatch.stated), _shown(mismatch.expected)
    return Diagnostic(
        code="E302",
        message=f"{mismatch.field} says {stated}, recomputed {expected}",
        file=str(plan),
        help=f"{mismatch.reason}; the plan has been changed, or the catalogs have",
    )


def _shown(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
