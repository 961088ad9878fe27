"""Somebody's own traffic, as a file has it."""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from statistics import fmean, pstdev
from typing import NamedTuple, TypeAlias

from planopt.files import read
from planopt.loads import Arrivals, Hashed, Sizes
from planopt.options import Asked
from planopt.traces import HASHED_TOKENS, HASHES, Rows, of_json

LARGEST_COUNT = 2**31
LARGEST_QUANTITY = 1e12  # Beyond any number of tokens, and any time of a trace
LEAST_CV, MOST_CV = 0.01, 100.0
"""How unevenly requests may be said to come (`--arrival-cv`)."""
MOST_DIGITS = 20  # Of a number of tokens: those of any 64-bit integer
MICROSECONDS = 26
"""Characters of a moment to its microseconds; Azure's have a digit more."""


def _moment(text: str) -> float:
    moment = datetime.fromisoformat(text[:MICROSECONDS])
    return moment.replace(tzinfo=moment.tzinfo or timezone.utc).timestamp()


PROMPTS = ("prompt", "ContextTokens", "Request tokens", "input_length", "input_tokens")
ANSWERS = (
    *("output", "GeneratedTokens", "Response tokens", "output_length"),
    "output_tokens",
)
TIMES: dict[str, Callable[[str], float]] = {
    "seconds": float,
    "TIMESTAMP": _moment,
    "Timestamp": float,
    "timestamp": lambda milliseconds: float(milliseconds) / 1e3,
    "created_time": lambda milliseconds: float(milliseconds) / 1e3,
}
"""Columns: planopt's own, and those of Azure's, BurstGPT's and Mooncake's traces; the
latter also by the other names that Dynamo and AISimulate take for them."""

LOGGED = {
    "arrived": re.compile(r"(\d\d-\d\d \d\d:\d\d:\d\d) .*?Received request ([^\s:]+):"),
    "asked": re.compile(
        r"(?:Received request|Request) ([^\s:]+)(?: details)?: prompt: "
    ),
    "answered": re.compile(r"Generated response ([^\s:]+)"),
}
"""What vLLM logs of a request: when it came, its prompt, its answer or a part of it."""
TOKENS = re.compile(r".*(?:prompt|output)_token_ids: \[([\d, ]*)\]")
STREAMED = re.compile(r"<streaming_complete: (\d+) tokens>")
HOW_LOGGED = (
    "no prompt_token_ids and lengths of answers in it: vLLM logs them with "
    "--enable-log-requests --enable-log-outputs and VLLM_LOGGING_LEVEL=DEBUG"
)


ACCEPTED = (
    f"a CSV with the columns prompt and output, in tokens up to {LARGEST_COUNT}, and "
    f"seconds, in growing order up to {LARGEST_QUANTITY:g}; or a trace of Azure, "
    "BurstGPT, Mooncake, Bailian, Dynamo or Weka; or a log or a detailed result of vLLM"
)


class Traffic(NamedTuple):
    """Somebody's own traffic."""

    prompts: list[int]
    answers: list[int]
    seconds: list[float] | None = None  # When each request arrived, where that is known
    hashed: Hashed | None = None  # What prompts begin with, where that is known

    @property
    def sizes(self) -> Sizes:
        """Prompts with their answers, as a load has them."""
        prompts, answers = self.prompts, self.answers
        return Sizes(kind="pairs", prompt=prompts, output=answers, hashed=self.hashed)

    @property
    def arrivals(self) -> Arrivals | None:
        """When they came, as a load has it."""
        if self.seconds is None:
            return None
        return Arrivals(kind="trace", seconds=self.seconds)

    def add_to(self, asked: Asked) -> None:
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
    """Read one's own traffic, as docs/reference/serving.md, section 7, has it.

    A CSV may have ``hash_ids``, too: which pieces of 512 tokens of prompts are alike.
    """
    if "traffic" not in asked.given:
        return None
    path, why = str(asked.given["traffic"]), "no requests in it"
    rows: list[_Request] = []
    hashed_tokens = HASHED_TOKENS
    try:
        rows, hashed_tokens = _requests(read(path).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        why = f"cannot be read as traffic: {error}"
    if not rows:
        asked.problem("E002", why, option="traffic", value=path, accepted=ACCEPTED)
        return None
    prompts, answers, times, hashes = (
        list(column) for column in zip(*rows, strict=True)
    )
    seconds = [time for time in times if time is not None]
    pieces = [each for each in hashes if each is not None]
    begin = all(pieces) and len(pieces) == len(rows)
    hashed = Hashed(tokens=hashed_tokens, pieces=pieces) if begin else None
    if hashed:
        asked.given.setdefault("router", "cache-aware")
    if len(seconds) < len(rows):
        return Traffic(prompts, answers, hashed=hashed)
    since = [each - seconds[0] for each in seconds]
    return Traffic(prompts, answers, since, hashed)


def _rows(text: str) -> Rows:
    """Read names of columns, and the rows with their lines."""
    if "Received request " in text:
        logged = [*enumerate(_logged(text), 1)]
        if not logged:
            raise ValueError(HOW_LOGGED)
        return Rows([*logged[0][1]], logged)
    if not text.lstrip().startswith("{"):
        table = csv.DictReader(io.StringIO(text, newline=""))
        names = [*(table.fieldnames or ())]
        return Rows(names, ((table.line_num, row) for row in table))
    return of_json(text)


def _logged(text: str) -> list[dict[str, object]]:
    """Read requests of a log of vLLM: those whose prompt and answer are told.

    It tells the second in which a request came; where in it, is drawn by a seed.
    """
    came: dict[str, datetime] = {}
    last: datetime | None = None
    lengths: dict[str, dict[str, int]] = {"prompt": {}, "output": {}}
    for line in text.splitlines():
        if arrived := LOGGED["arrived"].search(line):
            came[arrived[2]] = last = _second(arrived[1], last)
        tokens = TOKENS.match(line)
        number = len(tokens[1].split(",")) if tokens and tokens[1] else 0
        if (asked := LOGGED["asked"].search(line)) and number:
            lengths["prompt"][asked[1]] = number
        elif answered := LOGGED["answered"].search(line):
            told = lengths["output"]
            whole = STREAMED.search(line)
            parts = told.get(answered[1], 0) + number
            told[answered[1]] = int(whole[1]) if whole else parts
    draw = random.Random(0)
    seconds = sorted(
        (each.timestamp() + draw.random(), name)
        for name, each in came.items()
        if lengths["prompt"].get(name) and lengths["output"].get(name)
    )
    return [
        {"seconds": each, **{kind: told[name] for kind, told in lengths.items()}}
        for each, name in seconds
    ]


def _second(text: str, before: datetime | None) -> datetime:
    """Read a moment without a year: a log goes on into the next."""
    moment = datetime.strptime(f"2024-{text}+0000", "%Y-%m-%d %H:%M:%S%z")
    while before is not None and before - moment > timedelta(days=180):
        moment += timedelta(days=366)
    return moment


_Request: TypeAlias = "tuple[int, int, float | None, list[int] | None]"


def _requests(text: str) -> tuple[list[_Request], int]:
    """Read prompt, output, time and hashes of each request, and tokens of a hash."""
    names, read, hashed_tokens = _rows(text)
    columns = [
        next((name for name in known if name in names), None)
        for known in (PROMPTS, ANSWERS, TIMES)
    ]
    prompt, answer, time = columns
    if prompt is None or answer is None:
        missing = [known[0] for known in (PROMPTS, ANSWERS) if not {*known} & {*names}]
        raise ValueError(f"no column {' and no column '.join(sorted(missing))}")
    rows: list[_Request] = []
    latest, line = -LARGEST_QUANTITY, 0
    try:
        for at, row in read:
            line = at
            cell = None if time is None else row.get(time)
            seconds = None if cell in (None, "") else TIMES[time or ""](f"{cell}")
            latest = _after(seconds, latest)
            sizes = (_tokens(row.get(prompt)), _tokens(row.get(answer)))
            rows.append((*sizes, seconds, _hashes(row.get(HASHES))))
    except ValueError as error:
        raise ValueError(f"line {line}: {error}") from error
    return rows, hashed_tokens


def _after(seconds: float | None, latest: float) -> float:
    """Refuse a request that arrives before the latest of those above it."""
    if seconds is None:
        return latest
    if not latest <= seconds <= LARGEST_QUANTITY:
        raise ValueError(f"{seconds:g} seconds after {latest:g}")
    return seconds


def _hashes(cell: object) -> list[int] | None:
    """Read the hashes of a prompt: a list, or numbers between spaces."""
    if cell is None:
        return None
    each = cell if isinstance(cell, list) else f"{cell}".split()
    told = [f"{hash_}" for hash_ in each]
    if not all(hash_.isdecimal() and len(hash_) < MOST_DIGITS for hash_ in told):
        raise ValueError(f"`{f'{cell}'[:MOST_DIGITS]}` are no hashes")
    return [int(hash_) for hash_ in told]


def _tokens(cell: object) -> int:
    """Read a number of tokens; where it is 0 there is one all the same."""
    told = "" if cell is None else f"{cell}"
    if not told.strip().isdecimal() or len(told) > MOST_DIGITS:
        raise ValueError(f"`{told[:MOST_DIGITS]}` is no number of tokens")
    tokens = int(told)
    if tokens > LARGEST_COUNT:
        raise ValueError(f"{tokens} tokens are more than {LARGEST_COUNT}")
    return max(1, tokens)
