"""A run over islands, on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import count, days, duration, many, money, percent, size
from planopt.report.screen import Ends
from planopt.report.style import bad, good, head
from planopt.report.table import Report, Section, Sentence, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt.documents.islands import IslandKind, IslandsPlan, IslandsRun
    from planopt.documents.parts import Assumed
    from planopt.report.table import Block

_LABEL = 8


def render_islands(plan: IslandsPlan) -> Report:
    """Lay a run over islands out for a terminal."""
    run = plan.best or plan.nearest
    if run is None:
        why = "No island holds it: more machines, larger ones, or a smaller --model."
        return Report(Ends("✘ infeasible", "", bad), Sentence(why))
    late = plan.best is None
    said = f"{days(run.days)} days and {money(run.usd, whole=True)}"
    verdict = f"✘ too late: at best {said}" if late else f"✔ trained in {said}"
    asked = f"{plan.model}, {many(plan.tokens)} tokens, islands over the Internet"
    return Report(
        Ends(verdict, "", bad if late else good),
        Ends(asked, "", head),
        Section("", *_figures(run)),
        Section("Steps between two exchanges", *_cadences(plan.cadences, run)),
        *assumed(plan.assumed),
    )


def _figures(run: IslandsRun) -> Iterable[Block]:
    for kind in run.islands:
        yield from _kind(kind)
    if run.exchange_bytes:
        yield line(
            "Round",
            f"{run.inner_steps} steps, {duration(run.inner_seconds)}; then "
            f"{size(run.exchange_bytes)} of each by {run.topology}, "
            f"{duration(run.exchange_seconds)}",
            f"computing {percent(run.compute_utilisation)} of the time",
        )
    free, dear = run.tokens_factor_range
    if dear is None or dear != free:
        high = "never" if dear is None else f"{dear:.2f}"
        yield line(
            "Loss",
            f"{run.tokens_factor:.2f} times the tokens make up for meeting seldom",
            f"{free:.2f} to {high} as far as is known",
        )
    yield line(
        "Speed",
        f"{count(run.tokens_per_second)} tokens/s in the mean",
        f"{percent(run.availability)} of the islands are there, "
        f"{percent(run.goodput)} of their time counts",
    )
    energy = money(run.energy_usd, whole=True)
    kwh = f", {energy} of it for {count(run.energy_kwh)} kWh" if run.energy_kwh else ""
    yield line("Money", f"{money(run.usd, whole=True)}{kwh}")


def line(label: str, *said: str) -> Sentence:
    """Say something under a label."""
    text = "\N{NO-BREAK SPACE}".join([f"{label:<{_LABEL}}", ""])
    return Sentence(f"{text}{'; '.join(said)}", "  ", " " * (_LABEL + 3))


def _kind(kind: IslandKind) -> Iterable[Block]:
    candidate = kind.candidate
    each = kind.accelerators // kind.machines
    machines = f"{kind.islands} of {kind.machines} x {kind.id}"
    machines += f" ({each} accelerators each)" if each > 1 else ""
    degrees = {"tp": candidate.tp, "pp": candidate.pp, "dp": candidate.dp}
    divided = " ".join(
        f"{name} {size_}" for name, size_ in degrees.items() if size_ > 1
    )
    parts = [
        f"{machines} over {kind.network}",
        divided,
        f"{count(kind.tokens_per_second)} tokens/s each",
        f"{kind.spares} spare" if kind.spares else "",
    ]
    yield line("Islands", ", ".join(filter(None, parts)))


def _cadences(runs: Iterable[IslandsRun], best: IslandsRun) -> Iterable[Block]:
    rows = [
        (
            ("▸ " if each.inner_steps == best.inner_steps else "  ")
            + f"{each.inner_steps:,}",
            duration(each.round_seconds),
            percent(each.compute_utilisation),
            f"{each.tokens_factor:.2f}",
            days(each.days),
            money(each.usd, whole=True),
        )
        for each in runs
    ]
    titles = (">steps", ">round", ">computing", ">tokens", ">days", ">money")
    return [Table(titles, rows)] if len(rows) > 1 else []


def assumed(every: Iterable[Assumed]) -> Iterable[Block]:
    """Say what was assumed."""
    shown = [f"{each.name} {each.value}" for each in every]
    return [Section("", line("Assumed", *shown))] if shown else []
