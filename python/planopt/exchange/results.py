"""A benchmark's result in planopt's words: `results.toml` says what tools call it."""

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from planopt.errors import InputError
from planopt.files import read, unreadable
from planopt.toml import read_table
from planopt.traffic import LARGEST_QUANTITY

LEVELS = (50, 75, 90, 95, 97, 99, 99.9)
"""Percentiles that tools tell."""
Count = Literal[
    "sent",
    "completed",
    "failed",
    "offered",
    "request_rate",
    "throughput",
    "concurrency",
    "step",
    "prompt",
    "output",
]
"""What is counted, by its names here; `prompt` and `output` are tokens of a request."""
MLLOG = ":::MLLOG"


@dataclass(frozen=True)
class Measured:
    """A time in seconds, at the percentiles that a result has."""

    mean: float | None = None
    levels: tuple[tuple[float, float, float], ...] = ()
    """Percentile, and what it is at least and at most: buckets tell no more."""
    alone: bool = False
    """Whether it is of one request without others, which a load only makes longer."""

    def at(self, percentile: float | None) -> tuple[float, float]:
        """Tell what a percentile, or the mean, is at least and at most."""
        if self.alone:
            return self.mean or 0.0, math.inf
        if percentile is None:
            return (0.0, math.inf) if self.mean is None else (self.mean, self.mean)
        if percentile > 100:
            return math.inf, math.inf  # more failed than may be late
        least = (low for level, low, _ in self.levels if level <= percentile)
        most = (high for level, _, high in self.levels if level >= percentile)
        return max(least, default=0.0), min(most, default=math.inf)

    @property
    def usual(self) -> tuple[float | None, bool]:
        """The median where it is known exactly, else the mean; and if it is that."""
        low, high = self.at(50)
        is_mean = low != high or self.alone
        return (self.mean if is_mean else low), is_mean


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a benchmark has seen."""

    tool: str
    times: Mapping[str, Measured]
    counts: Mapping[str, float]
    """What there is of what is counted."""
    missing: tuple[str, ...]
    """Names that were looked for in vain."""
    has_others: bool
    """Whether the file has more benchmarks than the one that was read."""

    @property
    def failed(self) -> float:
        """Share of the requests that nobody answered."""
        failed = self.counts.get("failed")
        completed, sent = self.counts.get("completed"), self.counts.get("sent")
        if failed is None:
            failed = sent - completed if sent and completed is not None else 0.0
        everything = sent or (completed or 0.0) + failed
        return min(1.0, max(0.0, failed) / everything) if everything else 0.0


class Names(Struct, forbid_unknown_fields=True):
    """What a tool calls a time, and its unit in seconds; ``{p}`` is a percentile."""

    unit: float
    mean: str
    median: str | None = None
    level: str | None = None


class Tool(Struct, forbid_unknown_fields=True):
    """What a tool calls its figures."""

    name: str
    shape: str
    known_by: tuple[str, ...]
    counts: dict[Count, str]
    alone: bool = False
    others: str | None = None
    per_request: bool = False
    ttft: Names | None = None
    tpot: Names | None = None


@lru_cache
def tools() -> tuple[Tool, ...]:
    """Read what each tool calls its figures."""
    path = Path(__file__).with_name("results.toml")
    return tuple(read_table(path, dict[str, Tool]).values())


def read_result(path: str) -> Result:
    """Read the result of any of the tools; E006 if it is no file, E305 if none."""
    with unreadable("the result", "what a benchmark has saved", value=path):
        text = read(path).decode("utf-8-sig")
    for tool in tools():
        named = _SHAPES[tool.shape](text)
        if all(_at(named, name) is not None for name in tool.known_by):
            return _read(path, tool, named)
    raise InputError.of(
        "E305",
        "no benchmark's result that is known",
        value=path,
        accepted=", ".join(tool.name for tool in tools()),
        help="save it as JSON (`--save-result`, `-o json`, `--output-path`)",
    )


def _read(path: str, tool: Tool, named: object) -> Result:
    missing: list[str] = []

    def number(name: str, most: float = LARGEST_QUANTITY) -> float | None:
        value = _at(named, name)
        if value is None:
            missing.append(name)
            return None
        return _number(path, name, value, most)

    most = {"offered": math.inf}
    read = {
        figure: number(name, most.get(figure, LARGEST_QUANTITY))
        for figure, name in tool.counts.items()
    }
    for total in () if tool.per_request else ("prompt", "output"):
        tokens, requests = read.get(total), read.get("completed")
        read[total] = tokens / requests if tokens and requests else None
    times = {}
    for figure, names in (("ttft", tool.ttft), ("tpot", tool.tpot)):
        if names is None:
            continue
        levels = dict(_levels(path, named, names))
        if names.median and (median := _at(named, names.median)) is not None:
            exact = _number(path, names.median, median) * names.unit
            levels.setdefault(50, (exact, exact))
        mean = number(names.mean)
        times[figure] = Measured(
            mean=None if mean is None else mean * names.unit,
            levels=tuple((at, *both) for at, both in sorted(levels.items())),
            alone=tool.alone,
        )
    return Result(
        tool=tool.name,
        times=times,
        counts={figure: each for figure, each in read.items() if each is not None},
        missing=tuple(missing),
        has_others=tool.others is not None and _at(named, tool.others) is not None,
    )


def _levels(
    path: str, named: object, names: Names
) -> Iterator[tuple[float, tuple[float, float]]]:
    for level in LEVELS if names.level else ():
        name = (names.level or "").format(p=f"{level:g}")
        if (value := _at(named, name)) is not None:
            both = value if isinstance(value, tuple) else (value, value)
            low, high = (_number(path, name, each, math.inf) for each in both)
            yield level, (low * names.unit, high * names.unit)


def _number(
    path: str, name: str, value: object, most: float = LARGEST_QUANTITY
) -> float:
    """Take a number from 0; "inf" is as fast as it goes, or above all buckets."""
    try:
        number = float(value) if isinstance(value, (int, float, str)) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if isinstance(value, bool) or not 0 <= number <= most:
        raise InputError.of(
            "E305",
            f"`{name}` is no figure: {value!r:.60}",
            value=path,
            accepted=f"a number from 0, up to {LARGEST_QUANTITY:g}",
        )
    return number


def _at(named: object, path: str) -> object:
    """Find what is there by a path of names and places; the longest name first."""
    if isinstance(named, dict):
        if path in named:
            return named[path]
        head, _, rest = path.partition(".")
        return _at(named.get(head), rest) if rest else None
    if isinstance(named, list):
        head, _, rest = path.partition(".")
        known = head.isdigit() and int(head) < len(named)
        item = named[int(head)] if known else None
        return _at(item, rest) if rest else item
    return None


# --- Shapes of files ------------------------------------------------------------------


def _json(text: str) -> object:
    """One document, or the last of several lines."""
    for part in (text, text.rstrip().rpartition("\n")[2]):
        try:
            return json.loads(part)
        except (ValueError, RecursionError):  # noqa: PERF203 - one of two
            continue
    return None


def _llama_bench(text: str) -> object:
    """Seconds of a token and of a prompt, of rows that have either."""
    rows = _json(text)
    named: dict[str, object] = {}
    for row in rows if isinstance(rows, list) else ():
        if not (isinstance(row, dict) and "avg_ts" in row):
            continue
        named["llama_bench_rows"] = len(named)
        rate = row["avg_ts"]
        if not isinstance(rate, (int, float)) or not rate > 0:
            named["token_seconds"] = rate if isinstance(rate, str) else "no rate"
        elif row.get("n_gen"):
            named |= {"token_seconds": 1 / rate, "n_gen": row["n_gen"]}
        else:
            prompt = row.get("n_prompt", 0)
            with suppress(TypeError, OverflowError):
                named |= {"prompt_seconds": prompt / rate, "n_prompt": prompt}
    return named


def _lines(text: str) -> object:
    """Entries of an MLPerf log by their keys, and `name : value` of a summary."""
    named: dict[str, object] = {}
    for line in text.splitlines():
        if MLLOG in line:
            entry = _json(line.partition(MLLOG)[2])
            if isinstance(entry, dict):
                named[str(entry.get("key"))] = entry.get("value")
        else:
            name, colon, value = line.partition(":")
            if colon:
                named[name.strip()] = value.strip()
    return named


class _Series(Struct):
    """One series of a range: labels, and the time and text of each value."""

    metric: dict[str, str]
    values: list[tuple[float, str]]


def _prometheus(text: str) -> object:
    """Means, rates and percentiles of each metric over a range."""
    try:
        series = msgspec.convert(_at(_json(text), "data.result"), list[_Series])
        read = [
            (
                each.metric,
                float(each.metric.get("le", math.inf)),
                [(at, float(value)) for at, value in each.values],
            )
            for each in series
            if each.values
        ]
    except (msgspec.ValidationError, ValueError):
        return None
    totals: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    buckets: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
    for labels, limit, values in read:
        (begin, first), (end, last) = values[0], values[-1]
        name, grown = labels.get("__name__", ""), last - first
        if "le" in labels:
            if not math.isnan(limit):
                buckets[name.removesuffix("_bucket")][limit] += grown
            continue
        totals[name]["mean"] += sum(value for _, value in values) / len(values)
        totals[name]["increase"] += grown
        totals[name]["per_second"] += grown / (end - begin) if end > begin else 0.0
    named: dict[str, object] = {**totals}
    for name, counted in buckets.items():
        many = totals[f"{name}_count"]["increase"]
        mean = {"mean": totals[f"{name}_sum"]["increase"] / many} if many > 0 else {}
        named[name] = {**mean, **dict(_percentiles(counted))}
    return named


def _percentiles(counted: Mapping[float, float]) -> Iterator[tuple[str, object]]:
    """Yield between which limits of buckets each percentile lies."""
    limits = sorted(counted)
    total = counted[limits[-1]]
    for level in LEVELS if total > 0 else ():
        reached = [le for le in limits if counted[le] >= total * level / 100]
        below = [le for le in limits if le < reached[0]]
        yield f"p{level:g}", (max(below, default=0.0), reached[0])


_SHAPES = {
    "json": _json,
    "llama-bench": _llama_bench,
    "lines": _lines,
    "prometheus": _prometheus,
}
