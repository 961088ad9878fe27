"""``python -m planopt_studies.fits.training --data FILE ...``: fits training to rows.

Few named figures per framework, family and accelerator are moved until the logarithms
of predicted over measured step times are small (soft L1, with a prior on every figure),
by SciPy's bounded least squares. Whole groups of source, accelerator and model are left
out in seeded folds to see what is not known, and whole sources beside: their errors are
what intervals are made of. The figures are written into the assumptions, the errors
into ``measurements/residuals.toml``, and every prediction of a row left out into
``measurements/training-left-out.csv``, which ``planopt validate --folds`` judges.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
import tempfile
from collections import Counter
from dataclasses import dataclass
from math import ceil, log2
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import structs
from scipy.optimize import least_squares

from planopt.accuracy.columns import read_rows
from planopt.accuracy.training import Question, TrainingRow, questions
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, Catalog, bundled_folder
from planopt.documents.training import TrainingEvaluation
from planopt.documents.validation import Missing
from planopt.files import write
from planopt_studies.documents import LEAST_ROWS
from planopt_studies.fits.parameters import Parameter, plain, sections, with_block
from planopt_studies.fits.residuals import residual_table
from planopt_studies.fits.training_parameters import (
    POOLS,
    SWITCHES,
    training_parameters,
)
from planopt_studies.intervals import EVERYTHING, Unseen, widened
from planopt_studies.left_out import (
    COLUMNS,
    SINGLE_NODE,
    LeftOut,
    errors_by_class,
    judged,
    regrets,
    unseen,
    without_repeats,
)
from planopt_studies.residuals import family_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Array = Any
"""A NumPy array of numbers."""

_SCALE: Final = 0.06
"""Error beyond which a row pulls by its size and no longer by its square."""
_STEP: Final = 1e-3
"""Step of a coordinate in which derivatives are taken."""
_CROWD: Final = 0.2
"""Each of `n` rows of one source on one accelerator pulls with `n` to minus this."""
_MOST: Final = 120
"""Of more rows of one source on one accelerator every second, third ... is fitted."""
_SOURCE_ROUNDS: Final = 4
"""Rounds of the fits without one source, of which there are many."""
_MARK: Final = "training"
_GENERAL: Final = "training"
_FOLDS: Final = 5


@dataclass(frozen=True)
class Row:
    """A measured step and the question that predicts it."""

    question: Question
    family: str
    """Of its accelerator."""
    has_experts: bool
    """Whether the model has a choice of experts."""
    seconds: float
    weight: float
    fitted: bool

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes of hardware and model that errors are summed up by, narrow first."""
        kind = "moe" if self.has_experts else "dense"
        return (f"{self.question.row.accelerator} {kind}", f"{self.family} {kind}")

    @property
    def source(self) -> str:
        """Where it was published."""
        return self.question.row.source

    @property
    def group(self) -> tuple[str, str, str]:
        """What is left out as a whole."""
        row = self.question.row
        return (row.source, row.accelerator, self.question.model)


class Fit:
    """Rows, and the assumptions that are fitted to them."""

    def __init__(self, paths: Sequence[Path], base: Path, folder: Path) -> None:
        self.parameters = training_parameters()
        self._text = base.read_text(encoding="utf-8")
        self._plain = plain(self._text)
        self._file = folder / base.name
        self._overlay = folder / "models"
        self._overlay.mkdir()
        asked = [
            each
            for path in paths
            for each in questions(
                read_rows(path, (TrainingRow,)), "calibrated", self._overlay
            )
            if not isinstance(each, Missing)
        ]
        self._write({each: each.start for each in self.parameters})
        self.rows = self._measured(asked)
        self._scopes = [self._scope(each) for each in self.parameters]
        column = {each: place for place, each in enumerate(self.parameters)}
        self._pools = [
            None if each.pool is None else column[each.pool] for each in self.parameters
        ]

    def _write(self, values: Mapping[Parameter, float]) -> None:
        text = self._with(self._plain, values, None)
        self._file.write_text(text, encoding="utf-8")

    def assumptions(
        self, values: Mapping[Parameter, float], source: str | None = None
    ) -> str:
        """Return the text of the assumptions with the figures in their places."""
        return self._with(self._text, values, source)

    def _with(
        self, text: str, values: Mapping[Parameter, float], source: str | None
    ) -> str:
        tables = {}
        for parameter, value in values.items():
            if parameter.in_place:
                text = parameter.put(text, value)
            elif not parameter.table.startswith(POOLS):
                tables[parameter] = value
        return with_block(text, _MARK, sections(tables, SWITCHES, source))

    def _measured(self, asked: Iterable[Question]) -> list[Row]:
        catalog = Catalog([str(self._overlay)], str(self._file))
        found: list[tuple[Question, float]] = []
        for each in asked:
            if not each.row.has_layout or each.row.standing != "counted":
                continue
            answer = _evaluated(catalog, each)
            if answer.step_seconds is None:
                continue
            seconds = each.row.measured_step_seconds(answer)
            if seconds is not None:
                found.append((each, seconds))
        crowd = Counter((each.row.source, each.row.accelerator) for each, _ in found)
        seen: Counter[tuple[str, str]] = Counter()
        rows = []
        for each, seconds in found:
            key = (each.row.source, each.row.accelerator)
            stride = ceil(crowd[key] / _MOST)
            rows.append(
                Row(
                    each,
                    family_of(catalog, each.row.accelerator),
                    catalog.has_experts(each.model),
                    seconds,
                    (crowd[key] / stride) ** -_CROWD,
                    fitted=seen[key] % stride == 0,
                )
            )
            seen[key] += 1
        return rows

    @property
    def fitted(self) -> list[int]:
        """Return the rows that figures are fitted to."""
        return [place for place, row in enumerate(self.rows) if row.fitted]

    def _scope(self, parameter: Parameter) -> set[int]:
        """Return the rows that a figure has a part in."""
        kind, _, name = parameter.table.partition(".")
        return {
            place
            for place, row in enumerate(self.rows)
            if kind == _GENERAL
            or name
            in (
                row.question.row.framework,
                row.question.row.accelerator,
                row.family,
            )
        }

    def values(self, coordinates: Array) -> dict[Parameter, float]:
        """Return the figures of coordinates."""
        return {
            parameter: parameter.value(float(coordinate))
            for parameter, coordinate in zip(self.parameters, coordinates, strict=True)
        }

    def predicted(self, coordinates: Array, places: Iterable[int]) -> Array:
        """Return the step times of some rows."""
        self._write(self.values(coordinates))
        catalog = Catalog([str(self._overlay)], str(self._file))
        return np.array(
            [
                _evaluated(catalog, self.rows[place].question).step_seconds
                for place in places
            ]
        )

    def fit(self, places: Sequence[int], *, rounds: int) -> Array:
        """Return the coordinates that fit some rows best, from the priors on."""
        low, high = (
            np.array([each.bounds[side] for each in self.parameters]) for side in (0, 1)
        )
        start = np.array([each.coordinate(each.start) for each in self.parameters])
        measured = np.array([self.rows[place].seconds for place in places])
        weights = np.array([self.rows[place].weight for place in places])
        at = {place: index for index, place in enumerate(places)}
        together = moved_together(self._scopes, set(places))

        def errors(coordinates: Array) -> Array:
            return np.log(self.predicted(coordinates, places) / measured) / _SCALE

        def pulls(coordinates: Array) -> Array:
            return np.array(
                [
                    each.pull(own, None if pool is None else coordinates[pool])
                    for each, own, pool in zip(
                        self.parameters, coordinates, self._pools, strict=True
                    )
                ]
            )

        def residuals(coordinates: Array) -> Array:
            z = errors(coordinates)
            soft = np.sign(z) * np.sqrt(2 * (np.sqrt(1 + z * z) - 1))
            return np.concatenate([soft * weights, pulls(coordinates)])

        def jacobian(coordinates: Array) -> Array:
            base = self.predicted(coordinates, places)
            z = np.log(base / measured) / _SCALE
            bent = np.sqrt(1 + z * z)
            soft = np.sqrt(2 * (bent - 1))
            slope = np.where(
                np.abs(z) < _STEP, 1.0, np.abs(z) / bent / np.maximum(soft, 1e-9)
            )
            slope = slope / _SCALE * weights
            found = np.zeros((len(places) + len(self.parameters), len(self.parameters)))
            steps = np.where(coordinates + _STEP < high, _STEP, -_STEP)
            for columns in together:
                moved = np.array(coordinates)
                moved[columns] += steps[columns]
                of = {place: each for each in columns for place in self._scopes[each]}
                own = [place for place in places if place in of]
                index = np.array([at[place] for place in own])
                figures = np.array([of[place] for place in own])
                change = np.log(self.predicted(moved, own) / base[index])
                found[index, figures] = slope[index] * change / steps[figures]
            for column, parameter in enumerate(self.parameters):
                found[len(places) + column, column] = 1 / parameter.spread
                pool = self._pools[column]
                if pool is not None:
                    found[len(places) + column, pool] = -1 / parameter.spread
            return found

        inside = np.clip(start, low + 1e-6, high - 1e-6)
        return least_squares(
            residuals, inside, jacobian, bounds=(low, high), max_nfev=rounds
        ).x

    def left_out(self, parts: Sequence[int], *, rounds: int) -> Array:
        """Return predictions of every row by a fit that has not seen its part.

        Each starts from the priors.
        """
        found = np.zeros(len(self.rows))
        for number in sorted(set(parts)):
            out = [place for place, part in enumerate(parts) if part == number]
            seen = [place for place in self.fitted if parts[place] != number]
            found[out] = self.predicted(self.fit(seen, rounds=rounds), out)
        return found

    def stands(self) -> list[float]:
        """Return the step times of every row by the assumptions in use."""
        catalog = Catalog([str(self._overlay)], DEFAULT_ASSUMPTIONS)
        answers = (_evaluated(catalog, row.question) for row in self.rows)
        return [answer.step_seconds or 0.0 for answer in answers]

    def folds(self, seed: int, many: int = _FOLDS) -> list[int]:
        """Return the fold of every row: whole groups are assigned to them at random."""
        groups = sorted({row.group for row in self.rows})
        random.Random(seed).shuffle(groups)
        fold = {group: place % many for place, group in enumerate(groups)}
        return [fold[row.group] for row in self.rows]

    def sources(self) -> list[int]:
        """Return the number of every row's source."""
        names = sorted({row.source for row in self.rows})
        return [names.index(row.source) for row in self.rows]


def _evaluated(catalog: Catalog, asked: Question) -> TrainingEvaluation:
    return catalog.ask("evaluate_training", asked.request, TrainingEvaluation)


def moved_together(scopes: Sequence[set[int]], places: set[int]) -> list[list[int]]:
    """Assign figures to groups of which no two have a part in the same row.

    Moved together, each row tells of one of them (Curtis, Powell and Reid, 1974): a
    derivative by all figures takes as many evaluations as there are groups.
    """
    groups: list[tuple[list[int], set[int]]] = []
    for column, scope in enumerate(scopes):
        own = scope & places
        if not own:
            continue
        for columns, taken in groups:
            if not taken & own:
                columns.append(column)
                taken |= own
                break
        else:
            groups.append(([column], set(own)))
    return [columns for columns, _ in groups]


def main() -> None:
    """Fit, print the errors of left-out rows by class, and write the assumptions."""
    parser = argparse.ArgumentParser(prog="planopt_studies.fits.training")
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--seed", type=int, default=7, help="of the folds")
    parser.add_argument("--rounds", type=int, default=10, help="of the fit")
    parser.add_argument("--date", required=True, help="of the fit, cited")
    arguments = parser.parse_args()
    folder = bundled_folder()
    target = folder / "assumptions" / "calibrated.toml"
    with tempfile.TemporaryDirectory(prefix="planopt-") as name:
        fit = Fit(arguments.data, target, Path(name))
        coordinates = fit.fit(fit.fitted, rounds=arguments.rounds)
        values = fit.values(coordinates)
        fitted = fit.assumptions(values, "fit-training")
        write(target, _cited(fitted, fit, arguments.date))
        parts = fit.folds(arguments.seed)
        in_folds = fit.left_out(parts, rounds=arguments.rounds)
        without = fit.left_out(fit.sources(), rounds=_SOURCE_ROUNDS)
    left_out = [
        _left_out(row, part, float(one), float(other))
        for row, part, one, other in zip(
            fit.rows, parts, in_folds, without, strict=True
        )
    ]
    measurements = folder / "measurements"
    _write_left_out(
        measurements / "training-left-out.csv",
        [row for row in left_out if not row.of_grid],
    )
    write(measurements / "residuals.toml", residuals_of(left_out, arguments.seed))
    _report(left_out)


def _report(left_out: Sequence[LeftOut]) -> None:
    """Print what left-out rows say, the grid of single hosts included."""
    for each in errors_by_class(without_repeats(left_out), lambda row: row.in_folds):
        print(
            f"{each.of:36} n {each.n:5} median {each.median_ape:6.1%} "
            f"MAPE {each.mape:6.1%} bias {each.bias:+6.1%}",
            flush=True,
        )
    chosen = regrets(left_out)
    fitted = without_repeats(row for row in left_out if row.fitted)
    print(
        f"layouts ranked first lose {chosen.regret:.1%} in {chosen.groups} groups; "
        f"intervals cover {judged(fitted).inside:.1%}",
        flush=True,
    )


def _left_out(row: Row, fold: int, in_folds: float, without_source: float) -> LeftOut:
    asked, own = row.question, row.question.row
    size = round(log2(own.global_batch))
    hardware = (own.accelerator, own.accelerators, own.precision, own.framework)
    choice = (own.source, asked.model, *hardware, own.seq_len, size)
    # Batches of about one size are compared by the sequence.
    each = own.global_batch
    return LeftOut(
        row=own.id,
        fold=fold,
        source=own.source,
        model=asked.model,
        accelerator=own.accelerator,
        classes=row.classes,
        repeats=_contents(own),
        choice="/".join(map(str, choice)),
        layout=own.layout,
        measured=row.seconds / each,
        in_folds=in_folds / each,
        without_source=without_source / each,
        fitted=row.fitted,
    )


_APART: Final = ("id", "date", "framework", "release", "group")


def _contents(row: TrainingRow) -> str:
    """Return what rows that repeat each other have alike."""
    columns = structs.asdict(row).items()
    return "/".join(str(value) for name, value in columns if name not in _APART)


def _write_left_out(path: Path, rows: Sequence[LeftOut]) -> None:
    """Write predictions of rows left out; repeats and groups of choice as numbers."""
    numbers: dict[str, int] = {}
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows:
        table.writerow(
            [
                row.row,
                row.fold,
                row.source,
                row.model,
                row.accelerator,
                "; ".join(row.classes),
                numbers.setdefault(f"row {row.repeats}", len(numbers)),
                numbers.setdefault(f"choice {row.choice}", len(numbers)),
                row.layout,
                f"{row.measured:.5g}",
                f"{row.in_folds:.5g}",
                f"{row.without_source:.5g}",
                int(row.fitted),
            ]
        )
    write(path, text.getvalue())


def _cited(text: str, fit: Fit, date: str) -> str:
    """Say behind the block what it was fitted to."""
    rows = len(fit.fitted)
    sources = len({fit.rows[place].source for place in fit.fitted})
    lines = (
        "[sources.fit-training]",
        f'cite = "{rows} published training steps of {sources} sources in folds; '
        'errors of rows left out: measurements/residuals.toml"',
        f'date = "{date}"',
        'status = "derived"',
        "",
    )
    place = "# end of fitted: training"
    return text.replace(place, "\n".join((*lines, place)), 1)


def residuals_of(rows: Iterable[LeftOut], seed: int) -> str:
    """Write intervals of measured over predicted by class, of rows left out."""
    classes: dict[str, list[Unseen]] = {}
    for row in rows:
        names = (*row.classes, EVERYTHING) if row.fitted else ()
        for name in (*names, SINGLE_NODE) if row.of_grid else names:
            classes.setdefault(name, []).append(unseen(row))
    lines = [
        "# Measured over predicted, of rows that the fit had not seen (five grouped "
        f"folds, seed {seed}).",
        "# An interval at 0.8 is the prediction times `low` to `high`: quantiles so "
        "far out that a group lies as often within those of the others.",
        "# Classes of fewer rows say nothing of their own.",
        f"least_rows = {LEAST_ROWS}",
    ]
    for name, own in sorted(classes.items()):
        ratios = [each.ratio for each in own]
        lines += residual_table("step_time", name, ratios, within=widened(own))
    return "\n".join((*lines, ""))


if __name__ == "__main__":
    main()
