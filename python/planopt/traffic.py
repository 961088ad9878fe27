"""Somebody's own traffic, as a file has it."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, NamedTuple

from planopt.files import read
from planopt.loads import Arrivals, Sizes

if TYPE_CHECKING:
    from planopt.options import Asked

LARGEST_COUNT = 2**31
LARGEST_QUANTITY = 1e12
"""Beyond any number of tokens, and any time of a trace."""
LEAST_CV, MOST_CV = 0.01, 100.0
"""How unevenly requests may be said to come (`--arrival-cv`)."""
MOST_DIGITS = 20
"""Of a number of tokens: those of any 64-bit integer."""


class Traffic(NamedTuple):
    """Somebody's own traffic."""

    prompts: list[int]
    answers: list[int]
    seconds: list[float] | None = None
    """When each request arrived, where that is known."""

    @property
    def sizes(self) -> Sizes:
        """Prompts with their answers, as a load has them."""
        return Sizes(kind="pairs", prompt=self.prompts, output=self.answers)

    @property
    def arrivals(self) -> Arrivals | None:
        """When they came, as a load has it."""
        if self.seconds is None:
            return None
        return Arrivals(kind="trace", seconds=self.seconds)

    def told(self, asked: Asked) -> None:
        """Add what a purchase for it must know: mean lengths, and how requests come.

        They come at the rate of the file, and as unevenly, unless the question says
        how many come or wait.
        """
        means = {"isl": fmean(self.prompts), "osl": fmean(self.answers)}
        why = "is what --traffic says of each request"
        asked.out_of_place(means, why, accepted="one of the two")
        asked.given |= {name: max(1, round(mean)) for name, mean in means.items()}
        said = {"request_rate", "concurrency", "throughput"} & set(asked.given)
        if said or not self.seconds or self.seconds[-1] <= 0:
            return
        gaps = [after - before for before, after in pairwise(self.seconds)]
        mean = fmean(gaps)
        asked.given["request_rate"] = 1 / mean
        asked.given["arrival_cv"] = min(max(pstdev(gaps) / mean, LEAST_CV), MOST_CV)


def read_traffic(asked: Asked) -> Traffic | None:
    """Read one's own traffic: a CSV with the columns ``prompt`` and ``output``.

    A column ``seconds`` says when each request arrived, in growing order.
    """
    if "traffic" not in asked.given:
        return None
    path = str(asked.given["traffic"])
    accepted = (
        "a CSV with the columns prompt and output, in tokens up to "
        f"{LARGEST_COUNT}, and seconds, in growing order up to {LARGEST_QUANTITY:g}"
    )
    try:
        lines = io.StringIO(read(path).decode("utf-8-sig"), newline="")
        rows = _requests(csv.DictReader(lines))
    except (OSError, ValueError, csv.Error) as error:
        asked.problem(
            "E002",
            f"cannot be read as traffic: {error}",
            option="traffic",
            value=path,
            accepted=accepted,
        )
        return None
    if not rows:
        asked.problem(
            "E002", "no requests in it", option="traffic", value=path, accepted=accepted
        )
        return None
    seconds = [row[2] for row in rows if row[2] is not None]
    prompts, answers = [row[0] for row in rows], [row[1] for row in rows]
    if len(seconds) < len(rows):
        return Traffic(prompts, answers)
    return Traffic(prompts, answers, [each - seconds[0] for each in seconds])


def _requests(table: csv.DictReader[str]) -> list[tuple[int, int, float | None]]:
    """Read prompt, output and, where it is said, time of each request."""
    if missing := {"prompt", "output"} - set(table.fieldnames or ()):
        message = f"no column {' and no column '.join(sorted(missing))}"
        raise ValueError(message)
    rows: list[tuple[int, int, float | None]] = []
    latest = -LARGEST_QUANTITY
    try:
        for row in table:
            seconds = _seconds(row.get("seconds"), latest)
            latest = latest if seconds is None else seconds
            rows.append((_tokens(row["prompt"]), _tokens(row["output"]), seconds))
    except ValueError as error:
        message = f"line {table.line_num}: {error}"
        raise ValueError(message) from error
    return rows


def _seconds(cell: str | None, latest: float) -> float | None:
    """Read when a request arrives, not before the latest of those above it."""
    if not cell:
        return None
    seconds = float(cell)
    if not latest <= seconds <= LARGEST_QUANTITY:
        message = f"{seconds:g} seconds after {latest:g}"
        raise ValueError(message)
    return seconds


def _tokens(cell: str | None) -> int:
    """Read a number of tokens; where it is 0 there is one all the same."""
    if cell is None or not cell.strip().isdecimal() or len(cell) > MOST_DIGITS:
        message = f"`{(cell or '')[:MOST_DIGITS]}` is no number of tokens"
        raise ValueError(message)
    tokens = int(cell)
    if tokens > LARGEST_COUNT:
        message = f"{tokens} tokens are more than {LARGEST_COUNT}"
        raise ValueError(message)
    return max(1, tokens)
