"""Files and words changed at random, which no reader may fall over.

As a program (`make readers`) it tries many and keeps those that a reader fell over. A
change is known by its number: what failed once is made again by it.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tempfile
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import benchmarks
from configs import CONFIG
from msgspec import Struct, structs

import planopt
from planopt._native import parse_quantity
from planopt.accuracy.columns import read_rows
from planopt.accuracy.validate import KINDS
from planopt.catalog.open import Catalog, open_catalog
from planopt.errors import InputError
from planopt.exchange.hear import Hearing
from planopt.exchange.results import read_result
from planopt.exchange.tool import tool
from planopt.exchange.words import content, settings, shell_words
from planopt.options import Asked
from planopt.second_opinion import verify_content
from planopt.sweeps.study import read_study
from planopt.traffic import read_traffic

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
ODD = (
    *("-1", "0", "1e309", "-0.0", "nan", "inf", "9223372036854775808", "1e-320"),
    *('""', "null", "true", "[]", "{}", '"x"', "'", '"', "\\", "=1+1", "\x1b[31m"),
    *("٣", "\u202e", "\x00", "\ufeff", "9" * 400, "a" * 5000, "[" * 300, "\n", ","),
)
"""What readers have fallen over, here or elsewhere."""
_WORD = re.compile(rb"[\w.+-]+")


def changed(seeds: tuple[bytes, ...], random: Random) -> bytes:
    """Change one of some texts in a few places."""
    text = random.choice(seeds)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        text = _once(text, random.choice(seeds), random)
    return text


def _once(text: bytes, other: bytes, random: Random) -> bytes:
    at, end = sorted(random.randrange(len(text) + 1) for _ in range(2))
    odd = random.choice(ODD).encode()
    match random.randrange(8):
        case 0:
            return text[:at] + odd + text[at:]
        case 1:
            return text[:at] + text[min(end, at + 40) :]
        case 2:
            return text[:end] + text[at:end][:400] + text[end:]
        case 3:
            return text[:at] + bytes([random.randrange(256)]) + text[at + 1 :]
        case 4:
            return text[:at] + other[random.randrange(len(other) + 1) :]
        case 5:
            lines = text.split(b"\n")
            random.shuffle(lines)
            return b"\n".join(lines)
        case _ if old := _WORD.search(text, at):
            # What stands there is another: a number, a name, an odd one.
            new = (_WORD.search(text, end) or old)[0]
            put = random.choice((odd, new, b"-" + old[0], old[0] + b"e9"))
            return text[: old.start()] + put + text[old.end() :]
        case _:
            return text[:at] + odd


@dataclass(frozen=True)
class Reader:
    """What reads a text, and texts that it can read."""

    read: Callable[[bytes, Path], object]
    seeds: Callable[[], tuple[bytes, ...]]


def _result(file: str) -> object:
    """Read a result; above all buckets a percentile has no end."""
    read = read_result(file)
    known = {key: each for key, each in read.counts.items() if key != "offered"}
    return known, [each.mean for each in read.times.values()]


def _file(name: str, read: Callable[[str], object]) -> Callable[[bytes, Path], object]:
    def written(text: bytes, folder: Path) -> object:
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text)
        return read(str(file))

    return written


def _texts(*patterns: str, least: int = 0) -> Callable[[], tuple[bytes, ...]]:
    """Read files of the checkout; of tables only so many lines."""

    def read() -> tuple[bytes, ...]:
        files = [file for each in patterns for file in sorted(ROOT.glob(each))]
        texts = [file.read_bytes() for file in files]
        return tuple(b"\n".join(each.split(b"\n")[: least or None]) for each in texts)

    return read


def _said(*words: str) -> Callable[[], tuple[bytes, ...]]:
    return lambda: tuple(word.encode() for word in words)


def _option(text: bytes, _: Path) -> object:
    name, value = text.decode("utf-8", "replace").partition("=")[::2]
    return Asked("solve", {name: value} if name in _NAMES else {"model": name}).values()


_OPTIONS = (
    *("target=20tok/s", "budget=$20k", "ttft=500ms", "concurrency=64", "stock=h100=8"),
    *(
        "price=h100-sxm=$25000",
        "discount=nvidia=12%",
        "vat=19%",
        "electricity=$0.1/kWh",
    ),
    *("max_power=40kW", "request_rate=3/s", "sell=in=$0.30,out=$0.90/Mtok", "top=3"),
    *("own=2x3090,desktop", "cost_line=support=off", "percentile=p95", "kv=fp8"),
    *("accelerators=h100-sxm,l40s", "time_limit=5s", "prefix_hit_rate=50%"),
)
_NAMES = {each.partition("=")[0] for each in _OPTIONS}


_DIMENSIONS = (
    *("bytes", "bytes_per_second", "flops_per_second", "seconds", "watts", "usd"),
    *("usd_per_hour", "tokens_per_second", "tokens", "count", "share", "number"),
)


def _quantity(text: bytes, _: Path) -> object:
    words, told = text.decode("utf-8", "replace"), []
    for dimension in _DIMENSIONS:
        with suppress(ValueError):  # it has a code, what is wrong and what is accepted
            told.append(parse_quantity(words, dimension))
    return told


def _traffic(file: str) -> object:
    asked = Asked("solve", {"traffic": file})
    read = read_traffic(asked)
    asked.finish()
    return read


def _command(text: bytes, _: Path) -> object:
    words = text.decode("utf-8", "replace")
    first = words.partition(" ")[0]
    name = {"python": "sglang", "trtllm-serve": "trtllm"}.get(first, "vllm")
    hearing = Hearing(tool("llama-cpp" if first == "llama-server" else name))
    hearing.words(shell_words(words)[0])
    if hearing.problems:
        raise InputError(hearing.problems)
    return None


def _config(file: str) -> object:
    _, document = content(file)
    if document is not None:
        hearing = Hearing(tool("vllm"))
        hearing.settings(settings(document))
    return _catalog().model(file)


def _overlay(file: str) -> object:
    return open_catalog([str(Path(file).parents[1])])


@cache
def _catalog() -> Catalog:
    return open_catalog(())


def _results() -> tuple[bytes, ...]:
    of = ("vllm", "sglang", "guidellm", "aiperf", "mlperf", "prometheus")
    rows = [{"avg_ts": 40.5, "n_gen": 128}, {"avg_ts": 900.0, "n_prompt": 512}]
    told = [getattr(benchmarks, name)(0.9, 1.0) for name in of]
    return tuple(each.encode() for each in (*told, json.dumps(rows)))


@cache
def _plans() -> tuple[bytes, ...]:
    run = planopt.train(
        "llama-3.1-8b", tokens="1B", budget="$1M", accelerators="h100-sxm"
    )
    serves = planopt.solve(
        "llama-3.1-8b", target="20tok/s", load="steady", accelerators="l40s"
    )
    return serves.to_json().encode(), run.to_json().encode()


READERS = {
    "quantity": Reader(_quantity, _said("24 GiB", "3.35 TB/s", "989 TFLOP/s", "700 W")),
    "option": Reader(_option, _said(*_OPTIONS)),
    "config": Reader(
        _file("config.json", _config), lambda: (json.dumps(CONFIG, indent=1).encode(),)
    ),
    "catalog": Reader(
        _file("accelerators/l40s.toml", _overlay),
        _texts("catalogs/accelerators/l40s.toml"),
    ),
    "study": Reader(
        _file("study.toml", read_study), _texts("benchmarks/spaces/*.toml")
    ),
    "fleet": Reader(
        _file("fleet.toml", lambda file: _catalog().native.fleet(file)),
        _texts("tests/cli/*.toml", "docs/how-to/fleet.toml"),
    ),
    "traffic": Reader(
        _file("traffic.csv", _traffic),
        _said(
            "seconds,prompt,output\n0,100,20\n1.5,3000,400\n2.25,12,1\n",
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9,4808,10\n",
        ),
    ),
    "measurements": Reader(
        _file("rows.csv", lambda file: read_rows(Path(file), KINDS)),
        _texts("catalogs/measurements/*.csv", least=6),
    ),
    "result": Reader(_file("results.json", _result), _results),
    "command": Reader(
        _command,
        _said(
            "vllm serve meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 2 "
            "--max-model-len 8192 --gpu-memory-utilization 0.9 --kv-cache-dtype fp8",
            "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 4 --dp 2 "
            "--mem-fraction-static 0.85 --json-model-override-args '{\"a\": 1}'",
            "trtllm-serve meta-llama/Llama-3.1-8B --tp_size 2 --max_batch_size 64",
            "llama-server -m model.gguf -ngl 99 -c 8k -np 4 --cache-type-k q8_0",
        ),
    ),
    "plan": Reader(lambda text, _: verify_content(text, "plan.json"), _plans),
}


def _finite(value: Any) -> None:
    """Ask that what was read has no number that is none."""
    if isinstance(value, float) and not math.isfinite(value):
        message = f"{value} was taken for a number"
        raise ArithmeticError(message)
    if is_dataclass(value):
        value = [getattr(value, each.name) for each in fields(value)]
    elif isinstance(value, Struct):
        value = structs.astuple(value)
    elif isinstance(value, dict):
        value = value.values()
    if isinstance(value, (list, tuple, type({}.values()))):
        for each in value:
            _finite(each)


@cache
def _seeds(name: str) -> tuple[bytes, ...]:
    return READERS[name].seeds()


@cache
def _near(name: str, known: tuple[str, ...], most: int) -> list[str]:
    return get_close_matches(name, known, most)


def tried(name: str, number: int, folder: Path) -> tuple[bytes, str | None]:
    """Try a change by its number: the text, and where its reader fell over."""
    reader = READERS[name]
    text = changed(_seeds(name), Random(f"{name} {number}"))
    try:
        _finite(reader.read(text, folder))
    except InputError as error:
        # A rejection says what is wrong, and where.
        nowhere = [one for one in error.diagnostics if not (one.code and one.message)]
        return text, f"no code: {nowhere[0]}" if nowhere else None
    except Exception:
        return text, traceback.format_exc()
    return text, None


def main() -> None:
    """Try so many changes of each reader, and say which it fell over."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("readers", nargs="*", default=[*READERS])
    asked.add_argument("--number", type=int, default=100_000)
    asked.add_argument("--start", type=int, default=0)
    asked.add_argument("--seconds", type=float, default=math.inf)
    asked.add_argument("--keep", type=Path, default=Path("target/readers"))
    given = asked.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    # Most changes have the same unknown names, and what is near them takes long.
    near = patch(
        "planopt.errors.get_close_matches",
        lambda name, known, n: _near(name, tuple(known), n),
    )
    with tempfile.TemporaryDirectory() as folder, near:
        for name in given.readers:
            before, faults, many = time.monotonic(), dict[str, int](), 0
            while many < given.number and time.monotonic() < before + given.seconds:
                number = given.start + many
                many += 1
                text, fault = tried(name, number, Path(folder))
                if fault is None:
                    continue
                where = fault.strip().splitlines()[-1].partition(":")[0]
                if where not in faults:
                    print(f"{name} {number}: {fault[-1000:]}", flush=True)
                    (given.keep / f"{name}-{number}").write_bytes(text)
                faults[where] = faults.get(where, 0) + 1
            took = time.monotonic() - before
            fell = f"{sum(faults.values())} faults of {len(faults)} kinds"
            print(f"{name}: {many} texts, {fell}, {took:.0f} s", flush=True)


if __name__ == "__main__":
    main()
