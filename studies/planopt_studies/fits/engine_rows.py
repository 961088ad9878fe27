"""Figures that an engine was measured at, as its factors move them.

A handful of named figures of each engine may be moved, the same for all models and
accelerators. Derivatives are taken by simulating the rows again.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import structs

from planopt.accuracy.serving_rows import predict_serving
from planopt.documents.validation import Comparison
from planopt_studies.fits.parameters import Parameter

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from planopt.accuracy.serving_rows import ServingRow

__all__ = [
    "ENGINES",
    "FITTED",
    "SERVERS",
    "TERMS",
    "USUAL",
    "EngineRows",
    "Linear",
    "Term",
    "engine_parameters",
]

Array = Any
"""A NumPy array of numbers."""

SERVERS: Final = ("vllm", "sglang", "trtllm", "trtllm-cpp", "lmdeploy")
ENGINES: Final = (*SERVERS, "gpt-fast", "exllama", "exllamav2")
FITTED: Final = ("decode", "prefill", "tpot", "throughput", "ttft")
USUAL: Final = "usual"
"""The engine that servers are drawn to."""
_SEED: Final = 5
"""Of the rows that are fitted to."""
_STEP: Final = 0.05
"""Step of a coordinate in which derivatives are taken."""
# Prompts of each user in a run that is cut short: an opening burst, and two more.
_BRIEF: Final = 3
# Engines with kernels of their own: no kernel does more than those of the tables, which
# reach 0.69 to 0.81 of the peak arithmetic and 0.7 to 0.9 of the bandwidth, could; and
# one that is not theirs may be that much slower, or launch so much less.
_BEST_ARITHMETIC: Final = 1.3
_BEST_BANDWIDTH: Final = 1.25
_SLOWEST: Final = 0.5
_LAUNCHES: Final = (0.3, 3.0)
_SPREAD: Final = 0.3


@dataclass(frozen=True)
class Term:
    """What a server's host adds, and what of it is physical."""

    key: str
    start: float
    low: float
    high: float
    unit: str = "us"
    why: str = ""


TERMS: Final = (
    Term(
        "layer_overhead",
        *(20.0, 4.0, 52.0),
        why="six small kernels of 2.0-3.3 us on an RTX 4090 (layer norm 1.98, rotary "
        "2.38, activation 3.26), three where fused; launches that overlap take 1-2 us "
        "off each",
    ),
    Term(
        "dependent_launch",
        *(8.0, 0.0, 24.0),
        why="of these, on data-centre Blackwell: ten to twelve kernels a layer that "
        "start before those before them end, 1-2 us each",
    ),
    Term(
        "step_overhead",
        *(300.0, 0.0, 1500.0),
        why="asynchronous schedulers hide it (vLLM issue 10634: 0.2-0.3 ms)",
    ),
    Term(
        "per_sequence",
        *(8.0, 0.0, 20.0),
        why="scheduler: 12.7 us a request (vLLM 0.27.1)",
    ),
    Term(
        "prompt_launch",
        *(50.0, 20.0, 80.0),
        why="eager launches: all-reduces 20-21 us on x86 hosts, 45 on Grace; layers of "
        "Python two to three times that",
    ),
    Term(
        "prefill_factor",
        *(1.25, 1.0, 1.5),
        unit="",
        why="none is faster than the fastest kernels; graphs in pieces, unfused "
        "quantisation",
    ),
    Term(
        "request_overhead",
        *(15000.0, 1000.0, 60000.0),
        why="HTTP, the queue between processes, the first token sent",
    ),
    Term(
        "request_per_1k",
        *(4000.0, 0.0, 10000.0),
        why="tokenising: 2.4-9 ms for 1,024 tokens",
    ),
)
"""Host terms of a server: where they start, and their physical range."""
# What nothing tells stays where it is drawn to: a fifth of the range either way weighs
# as much as a measurement.
_OF_RANGE: Final = 0.2
# Rows of several eras under one name: drawn more closely to the usual server.
_MIXED_ERAS: Final = {"sglang": 0.05}


def engine_parameters(engine: str) -> list[Parameter]:
    """Return what may be moved for an engine: figures with priors.

    A server has the terms of its host alone, each within its physical range, drawn to
    those of a usual one, which is fitted beside them. Others have kernels of their own.
    """
    table = f"engines.{engine}"
    if engine in (*SERVERS, USUAL):
        usual = () if engine == USUAL else engine_parameters(USUAL)
        pools = {each.key: each for each in usual}
        return [
            Parameter(
                table=table,
                key=term.key,
                start=term.start,
                low=term.low,
                high=term.high,
                spread=_MIXED_ERAS.get(engine, _OF_RANGE),
                unit=term.unit,
                linear=True,
                scale=term.high - term.low,
                pool=pools.get(term.key),
            )
            for term in TERMS
        ]

    def factor(key: str, low: float, high: float) -> Parameter:
        return Parameter(
            table=table, key=key, start=1.0, low=low, high=high, spread=_SPREAD
        )

    def time(key: str, start: float) -> Parameter:
        return Parameter(
            table=table,
            key=key,
            start=start,
            low=start / 100,
            high=start * 30,
            spread=1.0,
            unit="us",
        )

    return [
        factor("arithmetic", _SLOWEST, _BEST_ARITHMETIC),
        factor("bandwidth", _SLOWEST, _BEST_BANDWIDTH),
        factor("cache", _SLOWEST, _BEST_BANDWIDTH),
        factor("overhead", *_LAUNCHES),
        factor("quantised", _SLOWEST, 1 / _SLOWEST),
        time("step_overhead", 500),
    ]


class EngineRows:
    """Rows that an engine was measured in, and their figures by what is assumed."""

    def __init__(
        self, engine: str, rows: Sequence[ServingRow], base: Path, *, sample: int
    ) -> None:
        self.engine = engine
        self.rows = rows
        self.fitted = _partition(rows, sample)
        """Ids of those that are fitted to; all are judged."""
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
        here = self.predicted(coordinates, self.fitted)
        keys = sorted(here)
        logs = np.log([here[key].predicted / here[key].measured for key in keys])
        slopes = np.zeros((len(keys), len(coordinates)))
        brief = self.predicted(coordinates, self.fitted, briefly=True)
        for column in range(len(coordinates)):
            moved = np.array(coordinates)
            moved[column] += _STEP
            there = self.predicted(moved, self.fitted, briefly=True)
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


def _partition(rows: Sequence[ServingRow], most: int) -> set[str]:
    """Return ids of so many rows, as many of each kind of run as there are."""
    kinds: dict[tuple[object, ...], list[str]] = {}
    for row in random.Random(_SEED).sample(list(rows), len(rows)):
        kind = (row.source, row.accelerator, row.model, row.weight_format)
        kinds.setdefault(kind, []).append(row.id)
    turns = zip_longest(*(kinds[kind] for kind in sorted(kinds, key=str)))
    assigned = (each for turn in turns for each in turn if each is not None)
    return set(islice(assigned, most))


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
