"""Figures that an engine was measured at, as its factors move them.

A handful of named figures of each engine may be moved, the same for all models and
accelerators. Derivatives are taken by simulating the rows again.
"""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import structs

from planopt.accuracy.measurements import Comparison
from planopt.accuracy.serving_rows import predict_serving
from planopt_studies.fits.parameters import Parameter

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from planopt.accuracy.serving_rows import ServingRow

__all__ = ["ENGINES", "FITTED", "USUAL", "EngineRows", "Linear", "engine_parameters"]

Array = Any
"""A NumPy array of numbers."""

_SERVERS: Final = ("vllm", "sglang", "trtllm", "trtllm-cpp", "lmdeploy")
ENGINES: Final = (*_SERVERS, "gpt-fast", "exllama", "exllamav2")
FITTED: Final = ("decode", "prefill", "tpot", "throughput", "ttft")
USUAL: Final = "usual"
"""The engine that servers are drawn to."""
_POOLED: Final = (*_SERVERS, USUAL)
_STEP: Final = 0.05
"""Step of a coordinate in which derivatives are taken."""
# Prompts of each user in a run that is cut short: an opening burst, and two more.
_BRIEF: Final = 3
# No engine's kernel can do what no kernel can: those of the tables reach 0.69 to 0.81
# of the peak arithmetic, and 0.7 to 0.9 of the bandwidth (the fits to kernels).
_BEST_ARITHMETIC: Final = 1.3
_BEST_BANDWIDTH: Final = 1.25
# An engine that is not the one of the tables may be that much slower, or launch so much
# less: with fused kernels and graphs, or one by one from Python.
_SLOWEST: Final = 0.5
_LAUNCHES: Final = (0.3, 3.0)
# NCCL in place of all-reduces of its own is two to three times slower (microbench.csv).
_MESSAGES: Final = (0.4, 2.5)
# What nothing tells stays where it is drawn to; three tenths either way weigh as much
# as a measurement. Products are of the same few libraries under any engine, and were
# measured: what an engine makes of them is no more than what versions differ by.
_SPREAD: Final = 0.3
_SPREADS: Final = {"arithmetic": 0.05, "bandwidth": 0.05, "quantised": 0.1}
# Its host launches a step while the one before is computed: tokens of users who decode
# beside a prompt come as fast whether answers are long or short.
_LAUNCHES_AHEAD: Final = ("trtllm",)
# Times of servers are alike within a factor of two.
_TIME_SPREAD: Final = 0.7


def engine_parameters(engine: str) -> list[Parameter]:
    """Return what may be moved for an engine: figures with priors.

    Those of servers are drawn to the same figure of a usual one, which is fitted beside
    them: one of few rows is like the others.
    """
    table = f"engines.{engine}"

    def factor(key: str, low: float, high: float) -> Parameter:
        return Parameter(
            table=table,
            key=key,
            start=1.0,
            low=low,
            high=high,
            spread=_SPREADS.get(key, _SPREAD) if engine in _POOLED else _SPREAD,
            pool=pool(key),
        )

    def time(key: str, start: float, spread: float) -> Parameter:
        own = pool(key)
        return Parameter(
            table=table,
            key=key,
            start=start,
            low=start / 100,
            high=start * 30,
            spread=spread if own is None else _TIME_SPREAD,
            unit="us",
            pool=own,
        )

    def pool(key: str) -> Parameter | None:
        return usual.get(key) if engine in _SERVERS else None

    usual = (
        {each.key: each for each in engine_parameters(USUAL)}
        if engine in _SERVERS
        else {}
    )
    return [
        factor("arithmetic", _SLOWEST, _BEST_ARITHMETIC),
        factor("bandwidth", _SLOWEST, _BEST_BANDWIDTH),
        factor("cache", _SLOWEST, _BEST_BANDWIDTH),
        factor("overhead", *_LAUNCHES),
        factor("experts", _SLOWEST, 1 / _SLOWEST),
        factor("quantised", _SLOWEST, 1 / _SLOWEST),
        factor("all_reduce", *_MESSAGES),
        time("step_overhead", 500, 1.0),
        *([] if engine in _LAUNCHES_AHEAD else [time("prompt_launch", 30, 1.0)]),
        time("request_overhead", 15000, 1.5),
    ]


class EngineRows:
    """Rows that an engine was measured in, and their figures by what is assumed."""

    def __init__(self, engine: str, rows: Sequence[ServingRow], base: Path) -> None:
        self.engine = engine
        self.rows = rows
        self.parameters = engine_parameters(engine)
        self._name = base.name
        self._text = base.read_text(encoding="utf-8")

    def predicted(
        self,
        coordinates: Array,
        only: Collection[str] | None = None,
        *,
        briefly: bool = False,
    ) -> dict[tuple[str, str], Comparison]:
        """Return the figures of the rows by id and metric.

        Parameters
        ----------
        coordinates : array
            Of the figures that may be moved.
        only : collection of str, optional
            Ids of the rows that are asked about; all unless given.
        briefly : bool
            Whether runs are cut short: enough to see how they change.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / self._name
            path.write_text(self._assumptions(coordinates), encoding="utf-8")
            found = (
                outcome
                for outcome in predict_serving(
                    self._chosen(only, briefly=briefly), str(path)
                )
            )
            return {
                (each.row, each.metric): each
                for each in found
                if isinstance(each, Comparison)
                and each.metric in FITTED
                and each.standing == "counted"
            }

    def _chosen(
        self, only: Collection[str] | None, *, briefly: bool
    ) -> Iterator[ServingRow]:
        for row in self.rows:
            if only is not None and row.id not in only:
                continue
            if briefly and row.load == "closed" and row.users:
                yield structs.replace(row, requests=_BRIEF * row.users)
            else:
                yield row

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
        brief = self.predicted(coordinates, briefly=True)
        for column in range(len(coordinates)):
            moved = np.array(coordinates)
            moved[column] += _STEP
            there = self.predicted(moved, briefly=True)
            slopes[:, column] = [
                np.log(there[key].predicted / brief[key].predicted) / _STEP
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


def _figure(entry: Any) -> float:
    """Read a figure with or without a source; times are in microseconds."""
    value = entry["value"] if isinstance(entry, dict) else entry
    return float(str(value).removesuffix(" us"))


def _put(text: str, parameter: Parameter, shown: str) -> str:
    """Put a figure into its table, which may not have it yet."""
    head = f"[{parameter.table}]\n"
    line = f"{parameter.key} = {shown}"
    if head not in text:
        return f"{text}\n{head}{line}\n"
    start = text.index(head) + len(head)
    end = text.find("\n\n", start)
    end = len(text) if end < 0 else end
    body = text[start:end]
    place = re.compile(rf"(?m)^{parameter.key} = .*$")
    body = place.sub(line, body) if place.search(body) else f"{body}\n{line}"
    return text[:start] + body + text[end:]
