"""``python -m planopt.calibration.training --data FILE ...``: fits training to rows.

Few named figures per framework, family and accelerator are moved until the logarithms
of predicted over measured step times are small (soft L1, with a prior on every figure),
by SciPy's bounded least squares. Whole groups of source, accelerator and model are left
out in seeded folds to see what is not known: their errors are what intervals are made
of. The result is written into the assumptions, with the errors and the rows used.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.optimize import least_squares

from planopt.calibration.parameters import Parameter, sections, with_block
from planopt.calibration.training_parameters import SWITCHES, training_parameters
from planopt.catalog import Catalog, bundled_folder
from planopt.validation.measurement import Missing, read_table
from planopt.validation.training import Question, questions

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
_MARK: Final = "training"
_GENERAL: Final = "training"
_FOLDS: Final = 5


@dataclass(frozen=True)
class Row:
    """A measured step and the question that predicts it."""

    question: Question
    seconds: float
    weight: float

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
        self._file = folder / base.name
        self._overlay = folder / "models"
        self._overlay.mkdir()
        asked = [
            each
            for path in paths
            for each in questions(read_table(path).rows, "calibrated", self._overlay)
            if not isinstance(each, Missing)
        ]
        self._write({each: each.start for each in self.parameters})
        self.rows = self._measured(asked)
        self._scopes = [self._scope(each) for each in self.parameters]

    def _write(self, values: Mapping[Parameter, float]) -> None:
        self._file.write_text(self.assumptions(values), encoding="utf-8")

    def assumptions(
        self, values: Mapping[Parameter, float], source: str | None = None
    ) -> str:
        """Return the text of the assumptions with the figures in their places."""
        text, tables = self._text, dict(values)
        for parameter, value in values.items():
            if parameter.table == _GENERAL:
                del tables[parameter]
                place = re.compile(rf"(?m)^({parameter.key} = \{{ value = )[0-9.e-]+")
                text = place.sub(rf"\g<1>{parameter.text(value)}", text, count=1)
        return with_block(text, _MARK, sections(tables, SWITCHES, source))

    def _measured(self, asked: Iterable[Question]) -> list[Row]:
        catalog = Catalog([str(self._overlay)], str(self._file))
        found: list[tuple[Question, float]] = []
        for each in asked:
            if not each.has_layout or each.row.standing != "counted":
                continue
            answer = catalog.native.evaluate_training(each.request)
            if answer.get("step_seconds") is None:
                continue
            seconds = each.row.step_seconds(answer)
            if seconds is not None:
                found.append((each, seconds))
        crowd = Counter((each.row.source, each.row.accelerator) for each, _ in found)
        return [
            Row(
                each,
                seconds,
                crowd[(each.row.source, each.row.accelerator)] ** -_CROWD,
            )
            for each, seconds in found
        ]

    def _scope(self, parameter: Parameter) -> set[int]:
        """Return the rows that a figure has a part in."""
        kind, _, name = parameter.table.partition(".")
        return {
            place
            for place, row in enumerate(self.rows)
            if kind == _GENERAL
            or name
            in (
                row.question.row.framework.id,
                row.question.row.accelerator,
                row.question.family,
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
        evaluate = catalog.native.evaluate_training
        return np.array(
            [
                evaluate(self.rows[place].question.request)["step_seconds"]
                for place in places
            ]
        )

    def fit(
        self, places: Sequence[int], start: Array | None = None, *, rounds: int
    ) -> Array:
        """Return the coordinates that fit some rows best."""
        low, high = (
            np.array([each.bounds[side] for each in self.parameters]) for side in (0, 1)
        )
        if start is None:
            start = np.array([each.coordinate(each.start) for each in self.parameters])
        measured = np.array([self.rows[place].seconds for place in places])
        weights = np.array([self.rows[place].weight for place in places])
        at = {place: index for index, place in enumerate(places)}

        def errors(coordinates: Array) -> Array:
            return np.log(self.predicted(coordinates, places) / measured) / _SCALE

        def pulls(coordinates: Array) -> Array:
            return np.array(
                [
                    each.pull(coordinate)
                    for each, coordinate in zip(
                        self.parameters, coordinates, strict=True
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
            for column, parameter in enumerate(self.parameters):
                moved = np.array(coordinates)
                step = _STEP if moved[column] + _STEP < high[column] else -_STEP
                moved[column] += step
                own = [place for place in places if place in self._scopes[column]]
                if own:
                    index = np.array([at[place] for place in own])
                    change = np.log(self.predicted(moved, own) / base[index]) / step
                    found[index, column] = slope[index] * change
                found[len(places) + column, column] = 1 / parameter.spread
            return found

        inside = np.clip(start, low + 1e-6, high - 1e-6)
        return least_squares(
            residuals, inside, jacobian, bounds=(low, high), max_nfev=rounds
        ).x

    def left_out(self, seed: int, start: Array, *, rounds: int) -> Array:
        """Return predictions of every row by a fit that has not seen its group."""
        groups = sorted({row.group for row in self.rows})
        random.Random(seed).shuffle(groups)
        fold = {group: place % _FOLDS for place, group in enumerate(groups)}
        found = np.zeros(len(self.rows))
        for number in range(_FOLDS):
            places = range(len(self.rows))
            out = [p for p in places if fold[self.rows[p].group] == number]
            seen = [p for p in places if fold[self.rows[p].group] != number]
            found[out] = self.predicted(self.fit(seen, start, rounds=rounds), out)
        return found


def main() -> None:
    """Fit, print the errors of left-out rows by class, and write the assumptions."""
    parser = argparse.ArgumentParser(prog="planopt.calibration.training")
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--seed", type=int, default=7, help="of the folds")
    parser.add_argument("--rounds", type=int, default=25, help="of the fit")
    parser.add_argument("--date", required=True, help="of the fit, cited")
    arguments = parser.parse_args()
    folder = bundled_folder()
    target = folder / "assumptions" / "calibrated.toml"
    with tempfile.TemporaryDirectory(prefix="planopt-") as name:
        fit = Fit(arguments.data, target, Path(name))
        coordinates = fit.fit(range(len(fit.rows)), rounds=arguments.rounds)
        values = fit.values(coordinates)
        target.write_text(
            _cited(fit.assumptions(values, "fit-training"), fit, arguments.date),
            encoding="utf-8",
        )
        predicted = fit.left_out(
            arguments.seed, coordinates, rounds=max(arguments.rounds // 4, 2)
        )
    residuals = folder / "measurements" / "residuals.toml"
    residuals.write_text(_residuals(fit.rows, predicted, arguments), encoding="utf-8")


def _cited(text: str, fit: Fit, date: str) -> str:
    """Say behind the block what it was fitted to."""
    rows = len(fit.rows)
    sources = len({row.question.row.source for row in fit.rows})
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


def _residuals(rows: Sequence[Row], predicted: Array, arguments: Any) -> str:
    """Write quantiles of measured over predicted by class, of rows left out."""
    classes: dict[str, list[float]] = {}
    for row, seconds in zip(rows, predicted, strict=True):
        ratio = row.seconds / float(seconds)
        for name in (*row.question.classes, "all"):
            classes.setdefault(name, []).append(ratio)
    lines = [
        "# Measured over predicted, of rows that the fit had not seen (five grouped "
        f"folds, seed {arguments.seed}).",
        "# An interval at 0.8 is the prediction times `low` to `high`: the tenth and "
        "the ninetieth percentile.",
    ]
    for name, ratios in sorted(classes.items()):
        ordered = np.sort(ratios)
        spread = np.abs(1 / ordered - 1)
        low, high = np.quantile(ordered, (0.1, 0.9))
        lines += [
            "",
            "[[residual]]",
            'metric = "step_time"',
            f'of = "{name}"',
            f"rows = {len(ratios)}",
            f"low = {low:.4f}",
            f"high = {high:.4f}",
            f"median_ape = {np.median(spread):.4f}",
            f"mape = {np.mean(spread):.4f}",
        ]
        print(
            f"{name:36} n {len(ratios):5} median {np.median(spread):6.1%} "
            f"MAPE {np.mean(spread):6.1%} bias {np.mean(1 / ordered - 1):+6.1%}",
            flush=True,
        )
    return "\n".join((*lines, ""))


if __name__ == "__main__":
    main()
