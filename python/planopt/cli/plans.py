"""Commands on what is saved or launched: verify, diff, export, import ...; explain."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from planopt.cli.exits import NO_PLAN, OK
from planopt.cli.output import Answer, tell
from planopt.errors import Diagnostic, InputError
from planopt.files import unwritable, write
from planopt.printable import printable

if TYPE_CHECKING:
    from planopt.documents.facts import Changed
    from planopt.planning.proof import Proof
    from planopt.second_opinion import Mismatch

LONGEST_SHOWN = 60
"""Characters of a value in a message: a whole deployment says nothing on a screen."""

BOUGHT = """\
Computed again from the facts that the plan carries, without the optimizer:
{computed} figures of memory, times, parts, prices, power and cost. Held against
them: limits, formats, bound and status. Taken as remarks: sentences, and what
would change the answer."""
OF_HOMES = """\
Computed again from the catalogs at hand, without the search: {computed} figures of
memory, times, shares of the time and money. The simulation is not, nor that no other
split of the layers is better."""
CHANGED = "\n\nIn the catalogs at hand {count} since:\n{changes}"
MOST_SHOWN = 20  # Changes that are shown one by one
PROVEN = """\
Held against all {0.columns:,} columns of the question, gathered without pruning,
dominance or bounds: {0.affordable:,} cost no more than the plan, and reduced costs
leave {0.left:,} of these to the solver{nearest}. Rates refused again by simulation:
{0.refused_again:,}. Computed again in other code: the {0.recomputed_nearest:,} columns
nearest to the bound and {0.recomputed_at_random:,} at random. {0.seconds:.1f} s:
gathering {0.gather_seconds:.1f}, reduced costs {0.check_seconds:.1f}, the solver
{0.solve_seconds:.1f}, computing again {0.recompute_seconds:.1f}."""
NEAREST = "; the nearest other is ${:,.2f} away"
WIDTH = 79
NOTHING_BOUGHT = """\
The plan says that there is none, and buys nothing. That there is none is not computed
again: it would take the search."""


def verify(*, plan: str, proof: bool = False, mps: str | None = None) -> Answer:
    """Compute a saved plan again, slowly and without the optimizer.

    planopt verify plan.json
    """
    from planopt.report.plan import render_verification
    from planopt.second_opinion import verify as compute_again

    if mps is not None and not proof:
        raise InputError.of(
            "E005", "the programme is of a proof", field="--mps", help="add `--proof`"
        )
    verdict = compute_again(plan)
    found = "E302", "recomputed", "; the plan has been changed"
    problems = [_problem(plan, each, *found) for each in verdict.mismatches]
    says_what = BOUGHT if verdict.carries_facts else OF_HOMES
    says_what = says_what if verdict.buys else NOTHING_BOUGHT
    computed = says_what.format(computed=verdict.figures) + _since(verdict.changed)
    proven, unproven = _proof(plan, mps) if proof and not problems else (None, [])
    tell([*problems, *unproven])
    if proven is not None:
        computed += f"\n\n{_told(proven)}"
    elif proof:
        computed += "\n\nIts bound was not proven again."
    return Answer(
        {
            "verified": not problems,
            "figures": verdict.figures,
            "mismatches": verdict.mismatches,
            "changed": verdict.changed,
            "proof": proven,
        },
        lambda _: render_verification(printable(plan), problems, computed, unproven),
        NO_PLAN if problems or unproven else OK,
    )


def _proof(plan: str, mps: str | None) -> "tuple[Proof | None, list[Diagnostic]]":
    """Prove a plan again, and say what is in the way."""
    from planopt.documents.load import any_of
    from planopt.documents.plan import content_of
    from planopt.planning.proof import prove

    read = any_of(content_of(plan), plan)
    try:
        proven = prove(read, mps)
    except InputError as error:
        return None, [replace(each, file=plan) for each in error.diagnostics]
    found = "E307", "all columns say"
    return proven, [_problem(plan, each, *found) for each in proven.mismatches]


def _told(proven: "Proof") -> str:
    """Say what a proof looked at, and how long it took."""
    nearest = "" if proven.nearest_usd is None else NEAREST.format(proven.nearest_usd)
    return fill(PROVEN.format(proven, nearest=nearest), WIDTH)


def accept(*, plan: str, result: str) -> Answer:
    """Hold the result of a benchmark against what a saved plan promises.

    planopt accept plan.json results.json
    """
    from planopt.exchange.accept import accept as held
    from planopt.report.exchange import render_acceptance

    found = held(plan, result)
    kept = found.outcome == "kept"
    return Answer(found, render_acceptance, OK if kept else NO_PLAN)


def _since(changed: "Sequence[Changed]") -> str:
    """Say what is another fact by now."""
    if not changed:
        return ""
    shown = [printable(f"  {_change(each)}") for each in changed[:MOST_SHOWN]]
    shown += ["  ..."] if len(changed) > MOST_SHOWN else []
    many = "1 fact has" if len(changed) == 1 else f"{len(changed)} facts have"
    return CHANGED.format(count=f"{many} changed", changes="\n".join(shown))


def _change(of: "Changed") -> str:
    where = " ".join(filter(None, (of.entry, of.field)))
    now = "gone" if of.now is None else f"{_shown(of.now)} now"
    return f"{where}: {_shown(of.before)} is {now}"


def _problem(
    plan: str, of: "Mismatch", code: str, found: str, more: str = ""
) -> Diagnostic:
    stated, expected = _shown(of.stated), _shown(of.expected)
    message = f"{of.field} says {stated}, {found} {expected}"
    return Diagnostic(code=code, message=message, file=plan, help=f"{of.reason}{more}")


def _shown(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def diff(*, before: str, after: str) -> Answer:
    """Show what changed between two saved plans: question, prices, choice, and why.

    planopt diff monday.json friday.json
    """
    from planopt.difference import diff as difference
    from planopt.documents.load import load_plan
    from planopt.report.difference import render_difference

    found = difference(load_plan(before), load_plan(after))
    return Answer(found, render_difference)


def report(
    *,
    plan: str,
    html: str | None = None,
    md: str | None = None,
    csv: str | None = None,
    xlsx: str | None = None,
    derivations: bool = False,
) -> Answer:
    """Write a saved plan for people: as a page, Markdown, rows or a workbook.

    planopt report plan.json --html plan.html --xlsx plan.xlsx
    """
    from planopt.documents.load import any_of
    from planopt.documents.plan import content_of
    from planopt.report.page.write import render_written, write_report

    wanted = {"html": html, "md": md, "csv": csv, "xlsx": xlsx}
    files = {form: name for form, name in wanted.items() if name is not None}
    read = any_of(content_of(plan), plan)
    written = write_report(read, files, derivations=derivations)
    return Answer({"written": written}, render_written)


def explain(*, code: str | None = None) -> Answer:
    """Explain a diagnostic; without a code, list them all.

    planopt explain E105
    """
    from planopt.explain import explanation, explanations
    from planopt.report.explanation import render_explanation, render_explanations

    if code is None:
        return Answer(explanations(), render_explanations)
    return Answer(explanation(code), render_explanation)


def export(
    *,
    plan: str,
    to: str | None = None,
    out: str | None = None,
    measure: bool = False,
) -> Answer:
    """Write what launches a saved plan: scripts or manifests, and a benchmark.

    planopt export plan.json --to vllm --out launch
    """
    from planopt.documents.load import load_plan
    from planopt.exchange.export import export as launched
    from planopt.exchange.measuring import export_measurement
    from planopt.options import Asked

    tool = Asked("export", {"to": to}).values()["to"]
    written = export_measurement if measure else launched
    made = written(load_plan(plan), tool)
    if out is not None:
        folder = Path(out)
        with unwritable(folder, field="--out"):
            folder.mkdir(parents=True, exist_ok=True)
        for name, text in made.files.items():
            write(folder / name, text, field="--out")
    if out is None:
        told = "\n".join(made.files[name] for name in made.launched).rstrip("\n")
    else:
        told = "\n".join(printable(f"{out}/{name}") for name in made.files)
    return Answer(made, lambda _: told)


def import_(*, what: str, details: bool = False, **options: object) -> Answer:
    """Understand the command line or file of a tool, and evaluate what it runs.

    planopt import --from vllm "vllm serve llama-3.1-8b -tp 2" --accelerator h100-sxm
    """
    from planopt.exchange.imports import read_command
    from planopt.report.exchange import render_import

    found = read_command(what, **options)
    render = partial(render_import, details=details)
    return Answer(found, render, NO_PLAN if found.fits is False else OK)
