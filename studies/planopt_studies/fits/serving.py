"""``python -m planopt_studies.fits.serving FILE ...``: engines, from rows.

All engines together; whole groups of source,
accelerator and model are then left out in seeded folds, and the errors of what the fits
had not seen are written beside the measurements: intervals are made of them. Of no
rounds engines stay as they are; without a date nothing is fitted or written.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planopt.accuracy.columns import read_rows
from planopt.accuracy.serving_rows import ServingRow
from planopt.accuracy.validate import KINDS, predict
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, Catalog, bundled_folder
from planopt.documents.validation import Comparison
from planopt.files import write
from planopt_studies.documents import LEAST_ROWS
from planopt_studies.fits.engine_fit import (
    by_its_law,
    figures,
    fit_engines,
    folds_of,
    left_out,
)
from planopt_studies.fits.engine_rows import (
    ENGINES,
    FITTED,
    TERMS,
    USUAL,
    EngineRows,
    engine_parameters,
)
from planopt_studies.fits.residuals import write_residuals
from planopt_studies.fits.write import (
    ENGINES_BEGIN,
    ENGINES_END,
    replace_fitted,
    sourced,
)
from planopt_studies.intervals import EVERYTHING, Unseen, judged_by_others
from planopt_studies.residuals import ANY_ENGINE, model_classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from planopt_studies.fits.engine_fit import EngineFit
    from planopt_studies.fits.write import Section

# What engines do in a step unless told otherwise, as they document it, and what else is
# known of them and not fitted.
_KNOWN: Final[Mapping[str, Mapping[str, str]]] = {
    # Prompts and answers take turns.
    "sglang": {"policy": '"prefill-first"'},
    # Products of one row by vector units (or, of many, by cuBLAS): no tile to fill.
    "gpt-fast": {"half_rows": "1.0"},
    "exllama": {"half_rows": "1.0"},
    "exllamav2": {"half_rows": "1.0"},
}
_TOOL: Final = "InferenceX"
_BOTH: Final = ("vllm", "trtllm")
_LEANS: Final = 0.2
"""Mean error beyond which a group of rows leans to one side."""
_ONCE: Final = (23, 3)
"""Seed of folds that are looked at once, and how many."""
_ENGINE_TABLES: Final = re.compile(r"(?m)^\[engines\.[^\]]+\]\n(?:.+\n)+")


def main() -> None:
    """Fit engines to measured figures and write the assumptions."""
    parser = argparse.ArgumentParser(prog="planopt_studies.fits.serving")
    parser.add_argument("files", type=Path, nargs="+", help="measurements")
    parser.add_argument("--date", help="of the fit, cited; without, nothing is written")
    parser.add_argument("--seed", type=int, default=7, help="of samples and folds")
    parser.add_argument("--rounds", type=int, default=4, help="of each fit at most")
    parser.add_argument(
        "--sample", type=int, default=5000, help="rows of an engine that are fitted to"
    )
    parser.add_argument("--left-out", type=Path, help="where rows left out are written")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    arguments = parser.parse_args()
    base = bundled_folder() / "assumptions" / f"{DEFAULT_ASSUMPTIONS}.toml"
    measured = Measured(arguments.files)
    closing = f'date = "{arguments.date}"\nstatus = "derived"'
    rows = (
        EngineRows(name, measured.rows_of(name), base, sample=arguments.sample)
        for name in ENGINES
    )
    fits, found = fit_engines(
        [each for each in rows if each.rows],
        rounds=arguments.rounds if arguments.date else 0,
        workers=arguments.workers,
    )
    if arguments.date and arguments.rounds:
        sections = [_ranges(), *(_engine(fit, closing) for fit in fits)]
        sections.append(_usual(found[USUAL], closing))
        replace_fitted(base, sections, begin=ENGINES_BEGIN, end=ENGINES_END)
    by_id = {row.id: row for row in measured.rows}
    folds = folds_of(fits, arguments.seed)
    errors = left_out(fits, folds) + by_its_law(measured.rows_of("llama-cpp"))
    print(*lines_of(errors, by_id), sep="\n", flush=True)
    print(*whole_tools(fits, folds), sep="\n", flush=True)
    if arguments.left_out:
        write(arguments.left_out, _as_csv(errors))
    if not arguments.date:
        once = left_out(fits, folds_of(fits, *_ONCE))
        print("looked at once:", *lines_of(once, by_id), sep="\n")
        return
    judgements = judged_by_others(errors)
    errors += _any_engine(arguments.files, base)
    path = bundled_folder() / "measurements" / "serving-residuals.toml"
    write_residuals(path, errors, by_id, judgements, arguments)


def lines_of(errors: Iterable[Unseen], rows: Mapping[str, ServingRow]) -> list[str]:
    """Return errors by metric and engine, and groups that lean to one side."""
    of: dict[tuple[str, str], list[float]] = defaultdict(list)
    groups: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for each in errors:
        row, off = rows[each.row], 1 / each.ratio - 1
        names = [row.engine, EVERYTHING, *(["both"] if row.engine in _BOTH else ())]
        for name in names:
            of[each.metric, name].append(off)
        if each.metric == "tpot":
            kind = (row.engine, row.model, row.accelerator, row.weight_format)
            groups[kind].append(off)
    lines = [
        f"{metric:10} {name:12} n {len(own):5} median {median(map(abs, own)):6.1%} "
        f"MAPE {fmean(map(abs, own)):6.1%} bias {fmean(own):+6.1%}"
        for (metric, name), own in sorted(of.items())
    ]
    return lines + [
        f"leans: {' '.join(kind)}: {len(own)} rows, bias {fmean(own):+.1%}"
        for kind, own in sorted(groups.items())
        if len(own) >= LEAST_ROWS and abs(fmean(own)) > _LEANS
    ]


def whole_tools(
    fits: Sequence[EngineFit], groups: Iterable[tuple[str, ...]]
) -> Iterator[str]:
    """Yield errors of each tool's runs by fits that have seen none of them."""
    tools = {group: int(group[0].startswith(_TOOL)) for group in groups}
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for each in left_out(fits, tools):
        found[each.metric, each.fold].append(abs(1 / each.ratio - 1))
    for (metric, fold), errors in sorted(found.items()):
        tool = f"{_TOOL} by others" if fold else f"others by {_TOOL}"
        yield (
            f"whole tools left out, {tool}, {metric}: {len(errors)} rows, "
            f"median {median(errors):.1%}, MAPE {fmean(errors):.1%}"
        )


def _as_csv(errors: Iterable[Unseen]) -> str:
    """Return what every row left out was measured at over what it was predicted at."""
    lines = (f"{e.row},{e.metric},{e.fold},{e.ratio:.6g}" for e in errors)
    return "\n".join(("row,metric,fold,ratio", *lines, ""))


def _any_engine(files: Iterable[Path], base: Path) -> Iterator[Unseen]:
    """Yield errors of the same figures where no engine is named: nothing is fitted."""
    text = base.read_text(encoding="utf-8")
    catalog = Catalog((), DEFAULT_ASSUMPTIONS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / base.name
        path.write_text(_ENGINE_TABLES.sub("", text), encoding="utf-8")
        for file in files:
            for each in predict(read_rows(file, KINDS), str(path)):
                if not isinstance(each, Comparison) or each.metric not in FITTED:
                    continue
                names = model_classes(catalog, each.accelerator, each.model)
                classes = tuple(f"{name}{ANY_ENGINE}" for name in (*names, EVERYTHING))
                if each.standing == "counted":
                    yield Unseen(
                        metric=each.metric,
                        classes=classes,
                        ratio=each.measured / each.predicted,
                        group=each.group,
                        row=each.row,
                    )


class Measured:
    """Tables of measurements, and what was measured of each engine."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.rows = [row for file in files for row in read_rows(file, (ServingRow,))]

    def rows_of(self, engine: str) -> list[ServingRow]:
        """Return the rows of an engine that are judged by."""
        return [
            row for row in self.rows if row.engine == engine and row.not_judged != "all"
        ]


def _engine(fit: EngineFit, closing: str) -> Section:
    name = fit.rows.engine
    errors = np.abs(np.expm1(fit.linear.errors))
    cite = (
        f'cite = "inference.csv and serving_silicon.csv: {len(errors)} figures, '
        f'median error {np.median(errors):.1%}, mean {np.mean(errors):.1%}"'
    )
    shown = {**fit.figures, **_KNOWN.get(name, {})}
    return sourced(f"engines.{name}", shown, f"engine-{name}", f"{cite}\n{closing}")


def _ranges() -> Section:
    """Return what of the terms of a server's host is physical, as comments."""
    return [
        "# Terms of a server's host, and what of them is physical:",
        *(
            f"# {term.key} {term.low:g} to {term.high:g} {term.unit}".rstrip()
            + f": {term.why}"
            for term in TERMS
        ),
        "",
    ]


def _usual(coordinates: Any, closing: str) -> Section:
    """Return what servers are drawn to: of one that is not known."""
    shown = figures(engine_parameters(USUAL), coordinates)
    cite = 'cite = "what the fits of servers are drawn to, and are the mean of"'
    return sourced(f"engines.{USUAL}", shown, f"engine-{USUAL}", f"{cite}\n{closing}")


if __name__ == "__main__":
    main()
