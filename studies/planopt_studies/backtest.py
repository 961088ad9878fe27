"""``python -m planopt_studies.backtest FILE ...``: what choices are worth.

Among measured runs of one model with prompts and answers of one length, one is chosen
by what is predicted of all of them: the cheapest that holds a promised time per token
for so many users, the fastest within so much an hour, the most tokens for a dollar. No
fit had seen a run of the model. What was measured of the choice stands beside what was
measured of the best.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from planopt.accuracy.serving_rows import predict_serving
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, bundled_folder
from planopt.confidence import slower
from planopt.documents.explanations import Kind
from planopt.documents.validation import Comparison
from planopt.files import write
from planopt.toml import tomllib
from planopt_studies.accuracy import between
from planopt_studies.backtest_peer import groups_of, latencies_of
from planopt_studies.fits.engine_fit import fit_engines, left_out
from planopt_studies.fits.engine_rows import ENGINES, EngineRows
from planopt_studies.fits.serving import Measured
from planopt_studies.intervals import Unseen, quantiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from planopt.accuracy.serving_rows import ServingRow

__all__ = [
    "Outcome",
    "Run",
    "beside",
    "chosen",
    "lines_of",
    "outcomes",
    "questions",
    "rents",
]

BEGIN: Final = "<!-- backtest: make backtest -->"
END: Final = "<!-- end of backtest -->"
PAGE: Final = Path("README.md")
OBJECTIVES: Final = ("cheapest", "fastest", "tokens per dollar")
CONFIDENCES: Final = {"planopt, 50 %": 0.5, "planopt, 80 %": 0.8, "planopt, 95 %": 0.95}
ROOFLINE: Final = "roofline"
POPULAR: Final = "most popular"
PEER: Final = "AISimulate"
CHOOSERS: Final = (*CONFIDENCES, ROOFLINE, POPULAR)
_DRAWS: Final = 10
"""Questions of each objective that are drawn for a model and lengths."""
_MILLI: Final = 1e3
_OWN_HARDWARE: Final = 'hardware = "article"'
_FOLDS: Final = 5


@dataclass(frozen=True, kw_only=True)
class Run:
    """What was measured of one configuration under so many users, and predicted."""

    row: str
    kind: tuple[str, int, int]
    """Model, tokens of a prompt, tokens of an answer."""
    configuration: tuple[str, ...]
    users: int
    usd: float
    """Of an hour."""
    tpot: float
    """Seconds."""
    rate: float
    """Tokens of answers a second, of all users."""
    predicted: Mapping[str, tuple[float, float]]
    """The same two by chooser."""
    sure: Mapping[str, float]
    """How many times longer than predicted a chooser takes a token to be."""
    popularity: int
    """Runs of other models on its accelerators, under its engine."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """Runs to choose from, and what of them is asked."""

    objective: str
    runs: tuple[Run, ...]
    most: float
    """Seconds of a token that are promised; for the fastest, dollars of an hour."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a choice turned out to be."""

    objective: str
    chooser: str
    regret: float | None = None
    """Over the best that was measured; of a choice that breaks its promise, none."""
    is_broken: bool = False


def rents() -> dict[str, float]:
    """Return dollars of an accelerator's hour on demand: the median of providers.

    Each counts once, with its cheapest offer: some have a price for every region.
    """
    found: dict[str, list[float]] = defaultdict(list)
    for path in sorted((bundled_folder() / "offers").glob("*.toml")):
        own: dict[str, float] = {}
        for offer in tomllib.loads(path.read_text(encoding="utf-8")).get("offer", ()):
            if "price" in offer:
                usd = float(offer["price"]["value"].strip("$/h")) / offer["count"]
                card = offer["accelerator"]
                own[card] = min(usd, own.get(card, usd))
        for card, usd in own.items():
            found[card].append(usd)
    return {accelerator: median(usd) for accelerator, usd in found.items()}


def questions(runs: Iterable[Run], seed: int) -> list[Question]:
    """Draw questions that more than one configuration could be the answer to."""
    dice = random.Random(seed)
    by_kind: dict[tuple[str, int, int], list[Run]] = defaultdict(list)
    for run in runs:
        by_kind[run.kind].append(run)
    found = []
    for _, own in sorted(by_kind.items()):
        for objective in OBJECTIVES:
            for _ in range(_DRAWS):
                users = dice.choice(sorted({run.users for run in own}))
                alike = objective == "tokens per dollar"
                among = [run for run in own if alike or run.users == users]
                # Between the quickest and the slowest, so that at least one holds it.
                ends = [
                    math.log(end([run.tpot for run in among])) for end in (min, max)
                ]
                most = math.exp(dice.uniform(*ends))
                if objective == "fastest":
                    most = dice.choice([run.usd for run in among])
                    among = [run for run in among if run.usd <= most]
                if len({run.configuration for run in among}) > 1:
                    asked = Question(objective=objective, runs=(*among,), most=most)
                    found.append(asked)
    return found


def chosen(question: Question, chooser: str) -> Run | None:
    """Return the run that a chooser takes, if it sees any that holds."""
    if chooser == POPULAR:
        return max(question.runs, key=lambda run: (run.popularity, run.row))
    value = _of(question.objective, lambda run: run.predicted[chooser])
    # What a chooser has no figure of (infinite) it does not take.
    most = sys.float_info.max if question.objective == "fastest" else question.most
    holds = [
        run
        for run in question.runs
        if run.predicted[chooser][0] * run.sure.get(chooser, 1.0) <= most
    ]
    return min(holds, key=value) if holds else None


def _of(
    objective: str, figures: Callable[[Run], tuple[float, float]]
) -> Callable[[Run], tuple[float, float]]:
    """Return what an objective makes small, and what decides among equals."""

    def value(run: Run) -> tuple[float, float]:
        tpot, rate = figures(run)
        if objective == "cheapest":
            return run.usd, tpot
        return (tpot, run.usd) if objective == "fastest" else (run.usd / rate, tpot)

    return value


def outcome(question: Question, chooser: str) -> Outcome:
    """Compare a choice with the best run that was measured."""
    objective = question.objective
    run = chosen(question, chooser)
    if run is None:
        return Outcome(objective=objective, chooser=chooser)
    is_bound = objective != "fastest"
    if is_bound and run.tpot > question.most:
        return Outcome(objective=objective, chooser=chooser, is_broken=True)
    value = _of(objective, lambda run: (run.tpot, run.rate))
    held = (
        each for each in question.runs if not is_bound or each.tpot <= question.most
    )
    best = min(value(each)[0] for each in held)
    regret = value(run)[0] / best - 1
    return Outcome(objective=objective, chooser=chooser, regret=regret)


def outcomes(
    asked: Iterable[Question], choosers: Sequence[str] = CHOOSERS
) -> list[Outcome]:
    """Ask every chooser every question."""
    return [outcome(question, name) for question in asked for name in choosers]


def beside(
    asked: Iterable[Question], told: Mapping[str, tuple[float, float]]
) -> list[Question]:
    """Return the questions whose runs a peer was all asked of, with what it said."""
    return [
        replace(
            question,
            runs=tuple(
                replace(run, predicted={**run.predicted, PEER: told[run.row]})
                for run in question.runs
            ),
        )
        for question in asked
        if all(run.row in told for run in question.runs)
    ]


def lines_of(found: Sequence[Outcome], choosers: Sequence[str] = CHOOSERS) -> list[str]:
    """Lay out median and mean regret, broken promises and what was found infeasible."""
    lines = [
        "| chooser | "
        + " | ".join(f"{each}: regret" for each in OBJECTIVES)
        # Of those of a price: the fastest has no promise to break.
        + " | broken | nothing found |",
        "|---|" + "---:|" * (len(OBJECTIVES) + 2),
    ]
    for chooser in choosers:
        own = [each for each in found if each.chooser == chooser]
        cells = []
        for objective in OBJECTIVES:
            lost = [
                each.regret
                for each in own
                if each.objective == objective and each.regret is not None
            ]
            cells.append(f"{median(lost):.1%} ({fmean(lost):.0%})" if lost else "-")
        bound = [each for each in own if each.objective != "fastest"]
        told = [each for each in bound if each.is_broken or each.regret is not None]
        broken = f"{fmean(each.is_broken for each in told):.0%}" if told else "-"
        refused = f"{1 - len(told) / len(bound):.0%}" if bound else "-"
        cells += [broken, refused]
        lines.append(f"| {chooser} | {' | '.join(cells)} |")
    return lines


def _runs(rows: Sequence[ServingRow], errors: Sequence[Unseen]) -> list[Run]:
    """Bring what was measured and predicted of closed loads together."""
    usd = rents()
    seen = {(each.row, each.metric): each for each in errors}
    roofline = _roofline(rows)
    widths = {
        fold: quantiles(each for each in errors if each.fold != fold)
        for fold in range(_FOLDS)
    }
    popular = Counter((row.model, row.accelerator, row.engine) for row in rows)
    everywhere = Counter((row.accelerator, row.engine) for row in rows)
    found = []
    for row in rows:
        cards = row.tp * row.pp * row.dp_attention * row.replicas
        cards += (
            (row.prefill_tp or 0)
            * (row.prefill_pp or 1)
            * (row.prefill_dp_attention or 1)
            * (row.prefill_replicas or 1)
        )
        told = [seen.get((row.id, metric)) for metric in ("tpot", "ttft")]
        by_roof = roofline.get(row.id)
        if row.accelerator not in usd or None in told or by_roof is None:
            continue
        tpot, ttft = (each for each in told if each is not None)
        measured = _figures(row, row.tpot_ms or 0.0, row.ttft_ms or 0.0)
        predicted = _figures(
            row, (row.tpot_ms or 0.0) / tpot.ratio, (row.ttft_ms or 0.0) / ttft.ratio
        )
        classes = ((tpot.metric, name) for name in tpot.classes)
        known = widths[tpot.fold]
        low, high = next(known[name] for name in classes if name in known)
        kind = Kind(accelerator=row.accelerator, low=low, high=high)
        engine = (row.accelerator, row.engine)
        own = (row.model, *engine)
        found.append(
            Run(
                row=row.id,
                kind=(row.model, row.prompt_tokens, row.output_tokens),
                configuration=(*engine, row.weight_format, str(cards), str(row.ep)),
                users=row.users or 1,
                usd=usd[row.accelerator] * cards,
                tpot=measured[0],
                rate=measured[1],
                predicted=dict.fromkeys(CONFIDENCES, predicted) | {ROOFLINE: by_roof},
                sure={name: slower(kind, at) for name, at in CONFIDENCES.items()},
                popularity=everywhere[engine] - popular[own],
            )
        )
    return found


def _figures(row: ServingRow, tpot_ms: float, ttft_ms: float) -> tuple[float, float]:
    """Return seconds of a token, and tokens a second of users who ask again at once."""
    answer = ttft_ms + (row.output_tokens - 1) * tpot_ms
    return tpot_ms / _MILLI, (row.users or 1) * row.output_tokens / answer * _MILLI


def _roofline(rows: Sequence[ServingRow]) -> dict[str, tuple[float, float]]:
    """Predict rows with peaks reached in full: the article's arithmetic, our cards."""
    text = (bundled_folder() / "assumptions" / "article.toml").read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "article.toml"
        path.write_text(text.replace(_OWN_HARDWARE, 'hardware = ""'), "utf-8")
        figures: dict[str, dict[str, float]] = defaultdict(dict)
        for each in predict_serving(rows, str(path)):
            if isinstance(each, Comparison):
                figures[each.row][each.metric] = each.predicted
    by_id = {row.id: row for row in rows}
    return {
        row: _figures(by_id[row], each["tpot"], each["ttft"])
        for row, each in figures.items()
        if {"tpot", "ttft"} <= each.keys()
    }


def _folds(rows: Iterable[ServingRow], seed: int) -> dict[str, int]:
    """Assign models to folds: all runs of one are left out at once."""
    models = sorted({row.model for row in rows})
    random.Random(seed).shuffle(models)
    return {model: place % _FOLDS for place, model in enumerate(models)}


def main() -> None:
    """Ask, print, and write the table into README."""
    parser = argparse.ArgumentParser(prog="planopt_studies.backtest")
    parser.add_argument("files", type=Path, nargs="+", help="measurements")
    parser.add_argument("--seed", type=int, default=7, help="of folds and questions")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--peer", help="the executable of AISimulate, beside us")
    parser.add_argument("--most", type=int, default=100, help="runs it is asked of")
    arguments = parser.parse_args()
    measured = Measured(arguments.files)
    base = bundled_folder() / "assumptions" / f"{DEFAULT_ASSUMPTIONS}.toml"
    engines = [
        EngineRows(name, measured.rows_of(name), base, sample=5000) for name in ENGINES
    ]
    engines = [each for each in engines if each.rows]
    fits, _ = fit_engines(engines, rounds=0, workers=arguments.workers)
    rows = [row for each in engines for row in each.rows]
    folds = _folds(rows, arguments.seed)
    groups: dict[tuple[str, ...], int] = {
        (row.source, row.accelerator, row.model): folds[row.model] for row in rows
    }
    errors = left_out(fits, groups)
    closed = [row for row in rows if row.load == "closed"]
    asked = questions(_runs(closed, errors), arguments.seed)
    lines = lines_of(outcomes(asked))
    print(f"{len(asked)} questions", *lines, sep="\n")
    if arguments.peer:
        used = {run.row for question in asked for run in question.runs}
        chosen_rows = groups_of(
            (row for row in closed if row.id in used), arguments.most, arguments.seed
        )
        by_id = {row.id: row for row in closed}
        figures = {
            name: _figures(by_id[name], *latencies)
            for name, latencies in latencies_of(chosen_rows, arguments.peer).items()
        }
        common = beside(asked, figures)
        named = (*CHOOSERS, PEER)
        found = lines_of(outcomes(common, named), named)
        print(f"{len(common)} of them beside {PEER}", *found, sep="\n")
    text = between(PAGE.read_text(encoding="utf-8"), BEGIN, END, "\n".join(lines))
    write(PAGE, text)


if __name__ == "__main__":
    main()
