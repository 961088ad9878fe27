"""Least squares of what engines make of kernels, over measured serving figures.

Every engine is fitted for itself: a handful of named figures, the same for all models
and accelerators. The logarithms of predicted over measured figures are made small (soft
L1, with a prior on each figure) by a few Gauss-Newton steps with derivatives taken by
simulating the rows again.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.optimize import least_squares

from planopt.calibration.parameters import Parameter
from planopt.calibration.residuals import EVERYTHING, Unseen
from planopt.catalog import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.intervals import model_classes
from planopt.validation.measurement import Comparison
from planopt.validation.schemas import SCHEMAS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt.validation.measurement import Row

__all__ = ["ENGINES", "FITTED", "EngineFit", "EngineRows", "fit_engine", "left_out"]

Array = Any
"""A NumPy array of numbers."""

ENGINES: Final = (
    "vllm",
    "sglang",
    "trtllm",
    "trtllm-cpp",
    "lmdeploy",
    "llama-cpp",
    "gpt-fast",
    "exllama",
    "exllamav2",
)
FITTED: Final = ("decode", "prefill", "tpot", "throughput", "ttft")
_SCALE: Final = 0.1
"""Error beyond which a figure pulls by its size and no longer by its square."""
_STEP: Final = 0.05
"""Step of a coordinate in which derivatives are taken."""
_STRIDE: Final = 0.6
"""Longest step of a round: what is simulated is not linear."""
_CROWD: Final = 0.25
"""Each of `n` figures of a metric, accelerator and model pulls by `n` to minus this."""
_HALFWAY: Final = 0.25
"""Of squares of weights: half of what would make their sums equal."""
_TOLD: Final = 1e-3
"""Slope below which nothing is known of a figure."""
_CONVERGED: Final = 0.02
"""Step below which another round would change nothing that is measured."""
# No engine's kernel can do what no kernel can: those of the tables reach 0.69 to 0.81
# of the peak arithmetic, and 0.7 to 0.9 of the bandwidth (the fits to kernels).
_BEST_ARITHMETIC: Final = 1.3
_BEST_BANDWIDTH: Final = 1.25
# An engine that is not the one of the tables may be that much slower, or launch so much
# less: with fused kernels and graphs, or one by one from Python.
_SLOWEST: Final = 0.5
_LAUNCHES: Final = (0.3, 3.0)
# Attention that writes its scores to memory and reads them again, several times.
_WITHOUT_FLASH: Final = ("llama-cpp",)
_UNFUSED: Final = 0.05
# NCCL in place of all-reduces of its own is two to three times slower (microbench.csv).
_MESSAGES: Final = (0.4, 2.5)
_FOLDS: Final = 5
# What nothing tells stays at 1; three tenths either way weigh as much as a measurement.
# A tenth was tried: errors of left-out rows grow (docs/reference/accuracy.md).
_SPREAD: Final = 0.3


def engine_parameters(engine: str) -> list[Parameter]:
    """Return what may be moved for an engine: figures with priors."""
    table = f"engines.{engine}"

    def factor(key: str, low: float, high: float) -> Parameter:
        return Parameter(
            table=table, key=key, start=1, low=low, high=high, spread=_SPREAD
        )

    def time(key: str, start: float, spread: float) -> Parameter:
        return Parameter(
            table=table,
            key=key,
            start=start,
            low=start / 100,
            high=start * 30,
            spread=spread,
            unit="us",
        )

    prompts = [factor("attention", _UNFUSED, 1.0)] if engine in _WITHOUT_FLASH else []
    return [
        *prompts,
        factor("arithmetic", _SLOWEST, _BEST_ARITHMETIC),
        factor("bandwidth", _SLOWEST, _BEST_BANDWIDTH),
        factor("cache", _SLOWEST, _BEST_BANDWIDTH),
        factor("overhead", *_LAUNCHES),
        factor("experts", _SLOWEST, 1 / _SLOWEST),
        factor("quantised", _SLOWEST, 1 / _SLOWEST),
        factor("all_reduce", *_MESSAGES),
        time("step_overhead", 500, 1.0),
        time("prompt_launch", 30, 1.0),
        time("request_overhead", 15000, 1.5),
    ]


class EngineRows:
    """Rows that an engine was measured in, and their figures by what is assumed."""

    def __init__(
        self, engine: str, rows: Mapping[str, Sequence[Row]], base: Path
    ) -> None:
        self.engine = engine
        self.rows = rows
        self.parameters = engine_parameters(engine)
        self._name = base.name
        self._text = base.read_text(encoding="utf-8")

    def predicted(self, coordinates: Array) -> dict[tuple[str, str], Comparison]:
        """Return the figures of the rows by id and metric."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / self._name
            path.write_text(self._assumptions(coordinates), encoding="utf-8")
            found = (
                outcome
                for schema in SCHEMAS
                if self.rows.get(schema.name)
                for outcome in schema.predict(self.rows[schema.name], str(path))
            )
            return {
                (each.row, each.metric): each
                for each in found
                if isinstance(each, Comparison)
                and each.metric in FITTED
                and each.engine == self.engine
                and each.standing == "counted"
            }

    def _assumptions(self, coordinates: Array) -> str:
        """Return the assumptions with the figures in their places."""
        text = self._text
        for parameter, coordinate in zip(self.parameters, coordinates, strict=True):
            text = _put(text, parameter, parameter.text(parameter.value(coordinate)))
        return text

    def start(self) -> Array:
        """Return the coordinates of what the file has, or of where it is drawn to."""
        table = tomllib.loads(self._text)["engines"].get(self.engine, {})
        found = [
            each.coordinate(_figure(table[each.key]))
            if each.key in table
            else each.coordinate(each.start)
            for each in self.parameters
        ]
        low, high = zip(*(each.bounds for each in self.parameters), strict=True)
        return np.clip(found, low, high)

    def linear(self, coordinates: Array) -> Linear:
        """Return errors and their derivatives at a point."""
        here = self.predicted(coordinates)
        keys = sorted(here)
        logs = np.log([here[key].predicted / here[key].measured for key in keys])
        slopes = np.zeros((len(keys), len(coordinates)))
        for column in range(len(coordinates)):
            moved = np.array(coordinates)
            moved[column] += _STEP
            there = self.predicted(moved)
            slopes[:, column] = [
                np.log(there[key].predicted / here[key].predicted) / _STEP
                for key in keys
            ]
        return Linear(np.array(coordinates), [here[key] for key in keys], logs, slopes)


@dataclass(frozen=True)
class Linear:
    """Errors of rows around a point, as logarithms of predicted over measured."""

    at: Array
    rows: list[Comparison]
    errors: Array
    slopes: Array

    def of(self, kept: Array) -> Linear:
        """Return some of the rows."""
        rows = [row for row, keep in zip(self.rows, kept, strict=True) if keep]
        return Linear(self.at, rows, self.errors[kept], self.slopes[kept])

    def errors_at(self, coordinates: Array) -> Array:
        """Return the errors elsewhere, to first order."""
        return self.errors + self.slopes @ (coordinates - self.at)


def solve(
    linear: Linear,
    parameters: Sequence[Parameter],
    weights: Array,
    *,
    most: float | None = None,
) -> Array:
    """Return what is best to first order, no step being longer than `most`."""
    low = np.array([each.bounds[0] for each in parameters])
    high = np.array([each.bounds[1] for each in parameters])
    if most is not None:
        low, high = (
            np.maximum(low, linear.at - most),
            np.minimum(high, linear.at + most),
        )

    def residuals(coordinates: Array) -> Array:
        scaled = linear.errors_at(coordinates) / _SCALE
        soft = np.sign(scaled) * np.sqrt(2 * (np.sqrt(1 + scaled**2) - 1))
        pulls = [
            each.pull(coordinate)
            for each, coordinate in zip(parameters, coordinates, strict=True)
        ]
        return np.concatenate([soft * weights, pulls])

    inside = np.clip(linear.at, low + 1e-9, high - 1e-9)
    return least_squares(residuals, inside, bounds=(low, high)).x


@dataclass(frozen=True)
class EngineFit:
    """What an engine makes of kernels, and the errors that are left."""

    linear: Linear
    parameters: Sequence[Parameter]

    @property
    def figures(self) -> dict[str, str]:
        """The figures as TOML, as far as any row depends on them."""
        told = np.abs(self.linear.slopes).max(axis=0) > _TOLD
        return {
            each.key: each.text(float(f"{each.value(at):.4g}"))
            for each, at, is_told in zip(
                self.parameters, self.linear.at, told, strict=True
            )
            if is_told
        }

    @property
    def summary(self) -> dict[str, str]:
        """Median and mean errors by metric."""
        metrics = np.array([each.metric for each in self.linear.rows])
        errors = np.abs(np.expm1(self.linear.errors))
        return {
            str(metric): f"n {sum(metrics == metric)} "
            f"median {np.median(errors[metrics == metric]):.1%} "
            f"mean {np.mean(errors[metrics == metric]):.1%}"
            for metric in sorted(set(metrics))
        }


def fit_engine(rows: EngineRows, *, rounds: int) -> EngineFit:
    """Fit an engine in rounds of simulating its rows, until nothing moves any more."""
    at = rows.start()
    for _ in range(rounds):
        linear = rows.linear(at)
        found = solve(linear, rows.parameters, _weights(linear.rows), most=_STRIDE)
        moved = np.abs(found - at).max()
        at = found
        if moved < _CONVERGED:
            break
    return EngineFit(rows.linear(at), rows.parameters)


def folds_of(fit: EngineFit, seed: int) -> Array:
    """Deal whole groups of source, accelerator and model to folds, row by row."""
    groups = sorted({each.group for each in fit.linear.rows})
    random.Random(seed).shuffle(groups)
    fold = {group: place % _FOLDS for place, group in enumerate(groups)}
    return np.array([fold[each.group] for each in fit.linear.rows])


def left_out(
    fit: EngineFit, folds: Array, on_unseen_cards: Mapping[tuple[str, str], float]
) -> list[Unseen]:
    """Return the errors of rows that were left out.

    Whole groups of source, accelerator and model are left out, and the engine is fitted
    again to the others: to first order around the fit to all, which is exact where what
    is predicted is a power of the figures. Rows on cards are predicted, to begin with,
    on the cards as they are without the rows that were left out.
    """
    linear = fit.linear
    weights = _weights(linear.rows)
    errors = np.zeros(len(folds))
    for number in range(_FOLDS):
        seen = folds != number
        if seen.all():
            continue
        again = (
            solve(linear.of(seen), fit.parameters, weights[seen], most=_STRIDE)
            if seen.any()
            else np.array([each.coordinate(each.start) for each in fit.parameters])
        )
        errors[~seen] = linear.errors_at(again)[~seen]
    for place, row in enumerate(linear.rows):
        unseen = on_unseen_cards.get((row.row, row.metric), row.predicted)
        errors[place] += np.log(unseen / row.predicted)
    catalog = open_catalog((), DEFAULT_ASSUMPTIONS)
    return [
        Unseen(
            metric=each.metric,
            classes=(*model_classes(catalog, each.accelerator, each.model), EVERYTHING),
            ratio=float(np.exp(-error)),
            fold=int(number),
        )
        for each, error, number in zip(linear.rows, errors, folds, strict=True)
    ]


def _weights(rows: Sequence[Comparison]) -> Array:
    """Return how much each figure counts: less where there are many alike.

    Dense models and such with experts count halfway to the same, however many rows
    each has: in full, a few rows of the one would decide on all of the other.
    """
    keys = [(each.metric, each.accelerator, each.model) for each in rows]
    crowd = Counter(keys)
    weights = np.array([crowd[key] ** -_CROWD for key in keys])
    kinds = np.array([_kind(each) for each in rows])
    present = sorted(set(kinds))
    even = float(weights @ weights) / len(present)
    for kind in present:
        own = kinds == kind
        weights[own] *= (even / float(weights[own] @ weights[own])) ** _HALFWAY
    return weights


def _kind(row: Comparison) -> str:
    """Return whether a row's model is dense or has experts."""
    catalog = open_catalog((), DEFAULT_ASSUMPTIONS)
    return model_classes(catalog, row.accelerator, row.model)[0].rpartition(" ")[2]


def _figure(entry: Any) -> float:
    """Read a figure with or without a source; times are in microseconds."""
    value = entry["value"] if isinstance(entry, dict) else entry
    return float(str(value).removesuffix(" us"))


def _put(text: str, parameter: Parameter, shown: str) -> str:
    """Put a figure into its table, which may not have it yet."""
    head = f"[{parameter.table}]\n"
    line = f"{parameter.key} = {shown}"
    start = text.index(head) + len(head)
    end = text.find("\n\n", start)
    body = text[start:end]
    place = re.compile(rf"(?m)^{parameter.key} = .*$")
    body = place.sub(line, body) if place.search(body) else f"{body}\n{line}"
    return text[:start] + body + text[end:]
