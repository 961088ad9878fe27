"""Factors of one's own machines, fitted to what benchmarks have measured on them."""

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Literal

from msgspec import Struct

from planopt._native import parse_quantity
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, Catalog, open_catalog
from planopt.catalog.overlay import bare, check_targets, write_overlay
from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.exchange import Fit, FittedFactor, FittedFigure, Unchanged
from planopt.errors import InputError
from planopt.exchange.least_squares import TELLS, Chosen, Fitting
from planopt.exchange.measuring import configuration, under
from planopt.exchange.results import read_result
from planopt.exchange.tool import Options
from planopt.files import write
from planopt.measurement.overlay import (
    ASSUMPTIONS,
    SOURCE,
    Origin,
    measured_assumptions,
)
from planopt.options import Asked
from planopt.planning.evaluate import evaluated
from planopt.price_sources import today
from planopt.toml import read_table, tomllib

Table = dict[str, object]
Place = tuple[Table, str]
"""A table and the key of a figure in it."""


class Factor(Struct, frozen=True, forbid_unknown_fields=True):
    """A factor, and the keys of what it multiplies."""

    what: str
    least: float
    most: float
    card: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    """In place of those of the card, of an engine that brings its own kernels."""
    engine: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()

    def has(self, value: float) -> bool:
        """Whether a value is one that its range is of: rates of a clock are not."""
        return self.least <= value <= self.most

    def times(self, figure: object, by: float) -> Table:
        """Multiply a figure, which stays in the range."""
        product, old = _value(figure) * by, _value(figure)
        if self.has(old):
            product = min(max(product, self.least), self.most)
        is_time = isinstance(bare(figure), str)
        told = f"{product * 1e6:.6g} us" if is_time else float(f"{product:.6g}")
        return {"value": told, "source": SOURCE}


@lru_cache
def factors() -> dict[str, Factor]:
    """Read which factors there are."""
    return read_table(Path(__file__).with_name("factors.toml"), dict[str, Factor])


class Machine:
    """Assumptions of one card and one engine, whose figures can be multiplied."""

    def __init__(
        self, base: str, catalog: Catalog, card: str, engine: str | None
    ) -> None:
        self._document = tomllib.loads(base)
        self._card, self._engine = card, engine
        self._link = catalog.text("accelerators", card, "scale_up.name")
        family = catalog.text("accelerators", card, "family")
        # A table of the card stands in place of its family's.
        cards = self._document.setdefault("accelerators", {})
        of_family = _table(self._document, "families", family)
        own = cards.setdefault(card, copy.deepcopy(of_family))
        for key in (key for each in factors().values() for key in each.card):
            if key in self._document["compute"]:
                own.setdefault(key, self._document["compute"][key])

    def range(self, factor: Factor) -> tuple[float, float] | None:
        """Tell what a factor may be; none where nothing is there to multiply."""
        places = self._places(factor, self._document)
        values = [*filter(factor.has, (_value(table[key]) for table, key in places))]
        if not values:
            return None
        return factor.least / max(values), factor.most / min(values)

    def text(self, chosen: Mapping[str, float], software: str, date: str) -> str:
        """Write the assumptions with figures multiplied by factors that are not 1."""
        document = copy.deepcopy(self._document)
        for name, by in chosen.items():
            for table, key in list(self._places(factors()[name], document)):
                if by != 1:
                    table[key] = factors()[name].times(table[key], by)
        origin = Origin(device=self._card, software=software, date=date)
        return measured_assumptions(document, origin)

    def _places(self, factor: Factor, document: Table) -> Iterator[Place]:
        engine = _table(document, "engines", self._engine)
        kernels = _table(engine, "kernels")
        own = _table(document, "accelerators", self._card)
        keys = factor.kernels if kernels else factor.card
        yield from _under(kernels or own, keys)
        yield from ((engine, key) for key in factor.engine if key in engine)
        link = _table(document, "links", self._link)
        messages = link or _table(document, "communication")
        yield from _under(messages, factor.messages)


def _table(of: object, *path: str | None) -> Table:
    """Find a table by its path; an empty one where there is none."""
    for key in path:
        of = of.get(key) if isinstance(of, dict) else None
    return of if isinstance(of, dict) else {}


def _under(table: Table, keys: tuple[str, ...]) -> Iterator[Place]:
    """Find keys in a table and in those inside of it."""
    for key, value in table.items():
        if key in keys:
            yield table, key
        elif isinstance(value, dict) and "value" not in value:
            yield from _under(value, keys)


def _value(figure: object) -> float:
    said = bare(figure)
    if isinstance(said, str):
        return parse_quantity(said, "seconds")
    return float(f"{said}")


MOST_FAILED = 0.05
"""Share of failed requests from which on times are those of the lucky ones."""
CARRIED = 0.9
"""Share of the offered rate below which a line grows, whose length tells nothing."""
FIGURES: tuple[Literal["tpot", "ttft"], ...] = ("tpot", "ttft")


class Seen(Struct, frozen=True, kw_only=True):
    """A time that was measured, and the question whose answer predicts it."""

    result: str
    figure: Literal["tpot", "ttft"]
    is_mean: bool
    seconds: float
    asked: Options
    load: str

    def predicted(self, catalog: Catalog) -> float:
        """Tell what is predicted in its place."""
        found = _answer(self.result, self.asked, catalog)
        if self.asked.get("load") == "steady":
            alone = {"tpot": found.decode.tpot_seconds, "ttft": found.prefill.seconds}
            return alone[self.figure] or math.nan
        known = found.ttft_seconds if self.figure == "ttft" else found.tpot_seconds
        return (known.mean if self.is_mean else known.p50) or math.nan


def fit(
    *,
    out: str,
    results: Sequence[str] = (),
    plan: Sequence[str] = (),
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
    force: bool = False,
    **other: object,
) -> Fit:
    """Fit factors of a card and an engine to results, and write them as an overlay."""
    Asked("calibrate", {"results": results, "plan": plan, **other}).values()
    written = f"assumptions/{ASSUMPTIONS}.toml"
    check_targets(Path(out), [written], force=force)
    opened, remarks = open_catalog(catalog, assumptions), list[str]()
    seen = _all_seen(results, plan, opened, remarks)
    card, engine = _of_one([each.asked for each in seen])
    (in_use,) = opened.list("assumptions")
    base = Path(opened.show("assumptions", in_use.id).file).read_text("utf-8")
    machine = Machine(base, opened, card, engine)
    ranges = {name: machine.range(each) for name, each in factors().items()}
    date = today().isoformat()
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"{ASSUMPTIONS}.toml"

        def predicted(chosen: Chosen) -> list[float]:
            write(file, machine.text(chosen, "results", date))
            other = open_catalog(catalog, str(file))
            return [each.predicted(other) for each in seen]

        there = {name: each for name, each in ranges.items() if each is not None}
        fitting = Fitting(predicted, [each.seconds for each in seen], there)
        chosen = fitting.run()
        before, after = predicted({}), predicted(chosen)
        stuck = [name for name in chosen if fitting.is_at_limit(name, chosen)]
    figures = tuple(
        FittedFigure(
            result=each.result,
            figure=each.figure,
            load=each.load,
            measured_seconds=each.seconds,
            before_seconds=was,
            after_seconds=now,
        )
        for each, was, now in zip(seen, before, after, strict=True)
    )
    first, last = (
        median(abs(by / each.seconds - 1) for by, each in zip(told, seen, strict=True))
        for told in (before, after)
    )
    if chosen and len(seen) <= len(chosen):
        remarks.append("as many factors as figures: nothing is left to check them by")
    what = f"results: {len(seen)} figures, median error {first:.1%}, now {last:.1%}"
    write_overlay(Path(out), {written: machine.text(chosen, what, date)}, force=force)
    return Fit(
        accelerator=card,
        engine=engine,
        factors=tuple(
            FittedFactor(
                name=name,
                what=factors()[name].what,
                factor=factor,
                uncertainty=fitting.uncertainty(name),
                at_limit=name in stuck,
            )
            for name, factor in chosen.items()
        ),
        unchanged=tuple(_unchanged(fitting)),
        figures=figures,
        error_before=first,
        error_after=last,
        remarks=tuple(remarks),
        overlay=out,
    )


def _all_seen(
    results: Sequence[str], plans: Sequence[str], catalog: Catalog, remarks: list[str]
) -> list[Seen]:
    """Read every result with the configuration that it was measured on."""
    if not results or len(plans) not in (1, len(results)):
        raise InputError.of(
            "E004",
            f"{len(results)} results were measured on {len(plans)} configurations",
            field="--plan" if results else "--from",
            accepted="--from of each result, and --plan of one for all or of each",
        )
    run = [configuration(path) for path in plans] * (len(results) // len(plans))
    seen = [
        each
        for path, options in zip(results, run, strict=True)
        for each in _seen(path, options, catalog, remarks)
    ]
    if not seen:
        raise InputError.of(
            "E305",
            "no figure of the results can be held against a prediction",
            field="--from",
            accepted="times to the first token or between tokens, of requests that "
            "were answered",
            help="; ".join(remarks) or None,
        )
    return seen


def _seen(
    path: str, options: Options, catalog: Catalog, remarks: list[str]
) -> Iterator[Seen]:
    """Yield the times of a result that tell of the machine, and remark on the rest."""
    result = read_result(path)
    if result.failed > MOST_FAILED:
        many = f"{result.failed:.0%} of the requests failed"
        remarks.append(f"{path}: {many}, and the times are of the others: left out")
        return
    if result.has_others:
        remarks.append(f"{path} has several benchmarks: the first one is read")
    asked, load = under(result, options)
    known = result.counts
    offered, came = known.get("offered", math.inf), known.get("request_rate")
    grows = offered < math.inf and came is not None and came < CARRIED * offered
    predicted = _answer(path, asked, catalog).under_load
    grows = grows or (predicted is not None and predicted.overloaded)
    seen = partial(Seen, result=path, asked=asked, load=load)
    for figure in FIGURES:
        times = result.times.get(figure)
        seconds, is_mean = times.usual if times is not None else (None, False)
        if figure == "ttft" and times is not None and times.mean:
            seconds, is_mean = times.mean, True  # Medians jump from wave to wave.
        if not seconds:
            remarks.append(f"{path} tells no {figure.upper()}")
        elif figure == "ttft" and grows:
            remarks.append(f"{path}: overloaded, so that its TTFT is that of a line")
        else:
            yield seen(figure=figure, is_mean=is_mean, seconds=seconds)


def _answer(path: str, asked: Options, catalog: Catalog) -> EvaluationDocument:
    found = evaluated(Asked("evaluate serving", asked), catalog)
    if not found.feasible:
        raise InputError.of(
            "E004",
            f"what {path} was measured on does not fit: {found.rejections[0].message}",
            field="--plan",
            accepted="the configuration that ran",
        )
    return found


def _of_one(asked: Sequence[Options]) -> tuple[str, str | None]:
    """Tell the card and the engine that all results are of."""
    both = dict.fromkeys(
        (str(each["accelerator"]).partition("@")[0], each.get("engine"))
        for each in asked
    )
    if len(both) > 1:
        told = " and ".join(f"{card} under {engine}" for card, engine in both)
        raise InputError.of(
            "E004",
            f"the results are of {told}",
            field="--plan",
            accepted="one accelerator and one engine at a time",
        )
    ((card, engine),) = both
    return card, None if engine is None else str(engine)


def _unchanged(fitting: Fitting) -> Iterator[Unchanged]:
    for name, factor in factors().items():
        if name in fitting.chosen:
            continue
        if name not in fitting.slopes:
            why = "the assumptions have no such figure of this card and engine"
        elif not fitting.moves(name):
            why = "it hardly moves what was measured"
        elif fitting.uncertainty(name) > TELLS:
            others = " and ".join(factors()[other].what for other in fitting.chosen)
            why = f"it moves the same figures as {others}: measure other loads too"
        else:
            why = "what was measured is met without it"
        yield Unchanged(name=name, what=factor.what, why=why)
