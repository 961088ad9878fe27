"""Traces of requests as others publish them in JSON: an object a line, or only one.

docs/reference/serving.md, section 7, has the formats.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import field

HASHES, HASHED_TOKENS = "hash_ids", 512
"""What of Mooncake's prompts is alike, and tokens of which each is a hash, with all
before them (arXiv 2407.00079, section 4)."""
BAILIAN_TOKENS = 16
"""The same of Alibaba's traces, which have Mooncake's columns beside `chat_id`, and
times in seconds (alibaba-edu/qwen-bailian-usagetraces-anon)."""
AGENTIC = "dynamo.agentic_mooncake"
"""What the first line of Dynamo's agentic traces is (version 2)."""
WAITING = ("delay", "delay_ms")
"""How long behind an answer a turn asks, in place of a time. To Dynamo the prompt
beside it is all that is sent, to AIPerf what is new."""
HOW_TURNS_ARE_ASKED = (
    "a turn that waits for an answer has no time: --sessions asks for such turns"
)


class Rows(NamedTuple):
    """Rows with their lines, under the names of their columns."""

    names: list[str]
    each: Iterable[tuple[int, Mapping[str, object]]]
    hashed_tokens: int = HASHED_TOKENS


_Objects: TypeAlias = "list[tuple[int, dict[str, object]]]"


def of_json(text: str) -> Rows:
    """Read the rows of a trace, or of a result with each request in it.

    Formats are told apart by a field that only one of them has. What is no JSON, or
    lacks what its format has, is a ValueError.
    """
    objects = _objects(text)
    first = objects[0][1]
    if "requests" in first:
        return _of_conversations(objects)
    if "input_lens" in first:
        return _of_results(objects)
    if first.get("schema") == AGENTIC:
        return _of_plays(objects)
    if "chat_id" in first:
        named = [
            (at, {"seconds": row.pop("timestamp", None), **row}) for at, row in objects
        ]
        return Rows([*named[0][1]], named, BAILIAN_TOKENS)
    for at, row in objects:
        if any(name in row for name in WAITING) and "timestamp" not in row:
            raise ValueError(f"line {at}: {HOW_TURNS_ARE_ASKED}")
    return Rows([*first], objects)


def _objects(text: str) -> _Objects:
    lines = [*enumerate(text.splitlines(), 1)]
    try:
        read = [(at, json.loads(line)) for at, line in lines if line.strip()]
    except ValueError:
        read = [(1, json.loads(text))]
    return [(at, row if isinstance(row, dict) else {}) for at, row in read]


_Of = TypeVar("_Of")


def _told(of: type[_Of], at: int, row: dict[str, object]) -> _Of:
    """Read an object of a published format; its other fields say nothing here."""
    try:
        return msgspec.convert(row, of)
    except msgspec.ValidationError as error:
        raise ValueError(f"line {at}: {error}") from error


class _Entry(msgspec.Struct):
    """A request of a conversation, or a sub-agent with requests of its own."""

    t: float  # Seconds
    prompt: int = field(name="in", default=0)
    output: int = field(name="out", default=0)
    hash_ids: list[int] = field(default_factory=list)
    requests: list[_Entry] | None = None


class _Conversation(msgspec.Struct):
    """A conversation as kv-cache-tester (Weka) and SemiAnalysis publish them."""

    block_size: int
    requests: list[_Entry]
    hash_id_scope: str = "local"


def _of_conversations(objects: _Objects) -> Rows:
    """Read conversations, of which each is timed from its own beginning.

    Requests of a sub-agent, in all of a file alike, may be timed from the sub-agent's.
    """
    told = [(at, _told(_Conversation, at, row)) for at, row in objects]
    asked = [
        (at, each_of.hash_id_scope, entry.t if each is not entry else 0.0, each)
        for at, each_of in told
        for entry in each_of.requests
        for each in entry.requests or [entry]
    ]
    from_own = any(each.t < began for *_, began, each in asked)
    rows = (
        (
            *(at, None if scope == "global" else at),
            _row(each.t + from_own * began, each.prompt, each.output, each.hash_ids),
        )
        for at, scope, began, each in asked
    )
    return _in_time(rows, {each_of.block_size for _, each_of in told})


class _Header(msgspec.Struct):
    """What stands above the requests of an agentic trace."""

    block_size: int


class _Turn(msgspec.Struct):
    """A request of a play."""

    play_id: str
    not_before_ms: float
    input_length: int
    output_length: int
    hash_ids: list[int] = field(default_factory=list)


def _of_plays(objects: _Objects) -> Rows:
    """Read Dynamo's agentic traces, at the times that were recorded."""
    header, *rows = objects
    turns = ((at, _told(_Turn, at, row)) for at, row in rows)
    asked = (
        (
            *(at, turn.play_id),
            _row(
                turn.not_before_ms / 1e3,
                *(turn.input_length, turn.output_length, turn.hash_ids),
            ),
        )
        for at, turn in turns
    )
    return _in_time(asked, {_told(_Header, *header).block_size})


def _row(
    seconds: float, prompt: int, output: int, pieces: list[int]
) -> dict[str, object]:
    return {"seconds": seconds, "prompt": prompt, "output": output, HASHES: pieces}


def _in_time(
    asked: Iterable[tuple[int, str | int | None, dict[str, Any]]], sizes: set[int]
) -> Rows:
    """Bring requests into the order of their times; hashes are told apart by whose."""
    if len(sizes) != 1 or min(sizes) < 1:
        raise ValueError(f"`block_size` is {', '.join(map(str, sorted(sizes)))}")
    known: dict[tuple[str | int | None, int], int] = {}
    rows = sorted(asked, key=lambda each: each[2]["seconds"])
    for _, scope, row in rows:
        row[HASHES] = [
            known.setdefault((scope, piece), len(known)) for piece in row[HASHES]
        ]
    names = [*_row(0, 0, 0, [])]
    return Rows(names, [(at, row) for at, _, row in rows], sizes.pop())


class _Result(msgspec.Struct):
    """What `vllm bench serve --save-detailed` and SGLang's with details write."""

    input_lens: list[int]
    output_lens: list[int]
    start_times: list[float] = field(default_factory=list)


def _of_results(objects: _Objects) -> Rows:
    """Read results of benchmarks; requests without an answer are left out."""
    rows: list[tuple[int, dict[str, float]]] = []
    for at, row in objects:
        result = _told(_Result, at, row)
        if len({*map(len, (result.input_lens, result.output_lens))}) > 1:
            raise ValueError(f"line {at}: not as many `input_lens` as `output_lens`")
        sizes = zip(result.input_lens, result.output_lens, strict=True)
        told: list[dict[str, float]] = [
            {"prompt": prompt, "output": output} for prompt, output in sizes
        ]
        if len(result.start_times) == len(told):
            for each, seconds in zip(told, result.start_times, strict=True):
                each["seconds"] = seconds
            told.sort(key=lambda each: each["seconds"])
        rows += [(at, each) for each in told if each["output"]]
    return Rows(["prompt", "output", "seconds"], rows)
