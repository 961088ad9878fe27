"""Least squares of what engines make of kernels, over measured serving figures.

All engines are fitted together: each has its own figures, and those of servers are
drawn to a usual one's (`planopt_studies.fits.engine_rows`). The logarithms of predicted
over measured figures are made small (soft L1, with a prior on each figure) by a few
Gauss-Newton steps.
"""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.optimize import least_squares

from planopt.accuracy.serving_rows import predict_serving
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.documents.validation import Comparison
from planopt_studies.fits.engine_rows import (
    FITTED,
    USUAL,
    EngineRows,
    Linear,
    engine_parameters,
)
from planopt_studies.intervals import EVERYTHING, Unseen
from planopt_studies.residuals import model_classes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt.accuracy.serving_rows import ServingRow
    from planopt_studies.fits.parameters import Parameter

__all__ = ["EngineFit", "by_its_law", "figures", "fit_engines", "folds_of", "left_out"]

Array = Any
"""A NumPy array of numbers."""
Coordinates = dict[str, Array]
"""Of the figures of each engine."""

_SCALE: Final = 0.1
"""Error beyond which a figure pulls by its size and no longer by its square."""
_STRIDE: Final = 0.6
"""Longest step of a round: what is simulated is not linear."""
_CROWD: Final = 0.25
"""Each of `n` figures of a metric, accelerator and model pulls by `n` to minus this."""
_FIRST_TOKENS: Final = 0.3
"""Weight of a time to the first token: mostly of waiting for others."""
_HALFWAY: Final = 0.25
"""Of squares of weights: half of what would make their sums equal."""
_TOLD: Final = 1e-3
"""Slope below which nothing is known of a figure."""
_CONVERGED: Final = 0.02
"""Step below which another round would change nothing that is measured."""
_FOLDS: Final = 5
_TWO: Final = 2.0
_NOTHING: Final = 1e-4
"""Share of its scale below which a figure is none."""


@dataclass(frozen=True)
class EngineFit:
    """What an engine makes of kernels, and the errors that are left."""

    rows: EngineRows
    linear: Linear

    @property
    def figures(self) -> dict[str, str]:
        """The figures as TOML, as far as any row depends on them."""
        told = np.abs(self.linear.slopes).max(axis=0) > _TOLD
        parameters = [
            each for each, of in zip(self.rows.parameters, told, strict=True) if of
        ]
        return figures(parameters, self.linear.at[told])

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


def figures(parameters: Sequence[Parameter], coordinates: Array) -> dict[str, str]:
    """Return figures as TOML."""
    return {
        each.key: each.text(float(f"{_told(each, at):.4g}"))
        for each, at in zip(parameters, coordinates, strict=True)
    }


def _told(parameter: Parameter, at: float) -> float:
    """Return a figure; what a bound at 0 leaves of it is 0."""
    value = parameter.value(at)
    return 0.0 if abs(value) < _NOTHING * parameter.scale else value


def fit_engines(
    rows: Sequence[EngineRows], *, rounds: int, workers: int = 1
) -> tuple[list[EngineFit], Coordinates]:
    """Fit engines in rounds of simulating their rows, until nothing moves any more.

    Parameters
    ----------
    rows : sequence of EngineRows
        One of each engine.
    rounds : int
        At most; of none all is where it was, and nothing is said of the usual engine.
    workers : int
        Processes that simulate.

    Returns
    -------
    list of EngineFit
        In the order of `rows`.
    dict
        Coordinates of the usual engine besides, and of all others.
    """
    at = found = {each.engine: each.start() for each in rows}
    # Spawned: a fork would have the threads of the core no more.
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for _ in range(rounds):
            linears = _linears(pool, rows, at)
            weights = {name: _weights(one.rows) for name, one in linears.items()}
            found = solve(linears, weights)
            moved = max(np.abs(found[name] - at[name]).max() for name in at)
            at = {name: found[name] for name in at}
            if moved < _CONVERGED:
                break
        linears = _linears(pool, rows, at)
    fits = [EngineFit(each, linears[each.engine]) for each in rows]
    return fits, found


def _linears(
    pool: ProcessPoolExecutor, rows: Sequence[EngineRows], at: Coordinates
) -> dict[str, Linear]:
    """Linearise every engine, those of most rows first."""
    order = sorted(rows, key=lambda each: -len(each.rows))
    jobs = {each.engine: pool.submit(each.linear, at[each.engine]) for each in order}
    return {each.engine: jobs[each.engine].result() for each in rows}


def solve(linears: Mapping[str, Linear], weights: Mapping[str, Array]) -> Coordinates:
    """Return what is best to first order: of each engine, and of the usual one."""
    names = [*linears, USUAL]
    parameters = {name: engine_parameters(name) for name in names}
    keys = [each.key for each in parameters[USUAL]]
    ends = np.cumsum([0, *(len(parameters[name]) for name in names)])
    own = {
        name: slice(start, end)
        for name, start, end in zip(names, ends[:-1], ends[1:], strict=True)
    }
    every = [each for name in names for each in parameters[name]]
    pools = [
        None if each.pool is None else ends[-2] + keys.index(each.key) for each in every
    ]
    bounds = np.array([each.bounds for each in every])
    low, high = bounds[:, 0], bounds[:, 1]
    start = np.array([each.coordinate(each.start) for each in every])
    for name, one in linears.items():
        start[own[name]] = one.at
        low[own[name]] = np.maximum(low[own[name]], one.at - _STRIDE)
        high[own[name]] = np.minimum(high[own[name]], one.at + _STRIDE)

    def residuals(coordinates: Array) -> Array:
        parts = []
        for name, one in linears.items():
            scaled = one.errors_at(coordinates[own[name]]) / _SCALE
            soft = np.sign(scaled) * np.sqrt(2 * (np.sqrt(1 + scaled**2) - 1))
            parts.append(soft * weights[name])
        pulls = [
            each.pull(coordinate, None if pool is None else coordinates[pool])
            for each, coordinate, pool in zip(every, coordinates, pools, strict=True)
        ]
        return np.concatenate([*parts, pulls])

    inside = np.clip(start, low + 1e-9, high - 1e-9)
    found = least_squares(residuals, inside, bounds=(low, high)).x
    return {name: found[own[name]] for name in names}


def folds_of(
    fits: Sequence[EngineFit], seed: int, many: int = _FOLDS
) -> dict[tuple[str, ...], int]:
    """Assign whole groups of source, accelerator and model to folds."""
    groups = sorted({_group(row) for fit in fits for row in fit.rows.rows})
    random.Random(seed).shuffle(groups)
    return {group: place % many for place, group in enumerate(groups)}


def left_out(
    fits: Sequence[EngineFit],
    folds: Mapping[tuple[str, ...], int],
) -> list[Unseen]:
    """Return the errors of rows that were left out.

    Whole groups of source, accelerator and model are left out of all engines at once,
    and these are fitted again to the others: to first order around the fit to all. All
    rows of what is left out are then simulated with the figures found, those that
    nothing was fitted to as well.
    """
    found: list[Unseen] = []
    for number in sorted(set(folds.values())):
        seen = {
            fit.rows.engine: fit.linear.of(
                np.array([folds[each.group] != number for each in fit.linear.rows])
            )
            for fit in fits
        }
        told = {name: one for name, one in seen.items() if one.rows}
        again = solve(told, {name: _weights(one.rows) for name, one in told.items()})
        for fit in fits:
            at = again.get(fit.rows.engine, _prior(fit.rows.engine, again[USUAL]))
            ids = {row.id for row in fit.rows.rows if folds[_group(row)] == number}
            found += [
                _unseen(each, each.predicted, number)
                for each in fit.rows.predicted(at, ids).values()
            ]
    return found


def _group(row: ServingRow) -> tuple[str, str, str]:
    """Return what is left out as a whole; no sample of it is seen."""
    return (row.source, row.accelerator, row.model)


def _prior(engine: str, usual: Array) -> Array:
    """Return the figures of an engine that nothing tells of."""
    keys = [each.key for each in engine_parameters(USUAL)]
    return [
        each.coordinate(each.start)
        if each.pool is None
        else usual[keys.index(each.key)]
        for each in engine_parameters(engine)
    ]


def _unseen(row: Comparison, predicted: float, fold: int) -> Unseen:
    return Unseen(
        metric=row.metric,
        classes=(*_classes(row.accelerator, row.model), EVERYTHING),
        ratio=row.measured / predicted,
        fold=fold,
        group=row.group,
        row=row.row,
    )


def by_its_law(rows: Sequence[ServingRow]) -> list[Unseen]:
    """Return the errors of an engine that is not fitted here but has a law of its own.

    The dozen figures of llama.cpp's law are of 776 rows, none of a card: with a card
    left out they err by 0.2 points more.
    """
    outcomes = predict_serving(rows, DEFAULT_ASSUMPTIONS)
    found = [each for each in outcomes if isinstance(each, Comparison)]
    groups = sorted({each.group for each in found})
    return [
        _unseen(each, each.predicted, groups.index(each.group) % _FOLDS)
        for each in found
        if each.standing == "counted" and each.metric in FITTED
    ]


def _weights(rows: Sequence[Comparison]) -> Array:
    """Return how much each figure counts: less where there are many alike.

    Dense models and such with experts count halfway to the same, however many rows
    each has: in full, a few rows of the one would decide on all of the other.
    """
    keys = [(each.metric, each.accelerator, each.model) for each in rows]
    crowd = Counter(keys)
    weights = np.array([crowd[key] ** -_CROWD for key in keys])
    weights[[_is_queue(each) for each in rows]] = 0.0
    weights[[each.metric == "ttft" for each in rows]] *= _FIRST_TOKENS
    kinds = np.array([_kind(each) for each in rows])
    present = sorted(set(kinds))
    even = float(weights @ weights) / len(present)
    for kind in present:
        own = kinds == kind
        weights[own] *= (even / float(weights[own] @ weights[own])) ** _HALFWAY
    return weights


def _is_queue(row: Comparison) -> bool:
    """Return whether a figure is mostly the wait for a pool that is full.

    Users of two pools wait where one of them is the narrower: what an engine reaches
    tells by its inverse of the little that is left, and a wait tells nothing of it.
    """
    return row.metric == "ttft" and row.why.get("pools") == _TWO


def _kind(row: Comparison) -> str:
    """Return whether a row's model is dense or has experts."""
    return _classes(row.accelerator, row.model)[0].rpartition(" ")[2]


@cache
def _classes(accelerator: str, model: str) -> tuple[str, ...]:
    catalog = open_catalog((), DEFAULT_ASSUMPTIONS)
    return tuple(model_classes(catalog, accelerator, model))
