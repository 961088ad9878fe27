"""A hundred threads of one process, and many questions: nothing is left behind.

Prints what memory was held after a tenth of the questions and after all of them,
whether threads were told what one alone was told, and how many a second were answered.
"""

from __future__ import annotations

import argparse
import gc
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import psutil
from msgspec import json, structs

import planopt

if TYPE_CHECKING:
    from collections.abc import Callable

THREADS: Final = 100
ASKED_AT_ONCE: Final = 500
"""Answers are not kept longer: what grows is not what was asked for."""
LAYOUTS: Final = tuple(
    {
        "model": model,
        "accelerator": accelerator,
        "tp": tp,
        "pp": pp,
        "batch": batch,
        "prompt": prompt,
    }
    for model in ("llama-3.1-8b", "qwen3-30b-a3b")
    for accelerator in ("rtx-4090", "h100-sxm")
    for tp in (1, 2, 4)
    for pp in (1, 2)
    for batch in (1, 8)
    for prompt in (512, 2048)
)
QUESTIONS: Final = tuple(
    {
        "model": "llama-3.1-8b",
        "accelerators": accelerators,
        "target": f"{speed}tok/s",
        "concurrency": users,
        "load": "steady",
        "max_accelerators": 8,
        # So that no clock decides where a hundred are asked at once.
        "time_limit": "10min",
    }
    for accelerators in ("rtx-4090", "l40s", "h100-sxm")
    for speed in (10, 20)
    for users in (1, 8)
)


def evaluated(place: int) -> bytes:
    """Answer one evaluation, as bytes that can be compared."""
    asked: dict[str, Any] = LAYOUTS[place % len(LAYOUTS)]
    return json.encode(planopt.evaluate_serving(**asked))


def solved(place: int) -> bytes:
    """Answer one question; the clock is no part of an answer."""
    asked: dict[str, Any] = QUESTIONS[place % len(QUESTIONS)]
    plan = planopt.solve(**asked)
    timeless = structs.replace(plan.search, seconds=0.0)
    return json.encode(structs.replace(plan, search=timeless))


def soak(what: str, answer: Callable[[int], bytes], number: int, kinds: int) -> bool:
    """Ask so often, on all threads; tell whether each was told the same."""
    alone = [answer(place) for place in range(kinds)]
    process, early, wrong = psutil.Process(), 0, 0
    started = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        for first in range(0, number, ASKED_AT_ONCE):
            places = range(first, min(first + ASKED_AT_ONCE, number))
            told = pool.map(answer, places)
            wrong += sum(
                one != alone[place % kinds]
                for place, one in zip(places, told, strict=True)
            )
            if not early and first >= number // 10:
                gc.collect()
                early = process.memory_info().rss
    seconds = time.monotonic() - started
    gc.collect()
    late = process.memory_info().rss
    print(
        f"{what}: {number:,} on {THREADS} threads, {number / seconds:,.0f} a second,"
        f" {wrong} told otherwise than alone;"
        f" {early / 2**20:,.0f} MiB after a tenth, {late / 2**20:,.0f} MiB after all",
        flush=True,
    )
    return not wrong


def main() -> None:
    """Ask, and say what is held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=1_000_000)
    parser.add_argument("--solves", type=int, default=10_000)
    asked = parser.parse_args()
    is_right = [
        soak("evaluations", evaluated, asked.evaluations, len(LAYOUTS)),
        soak("solves", solved, asked.solves, len(QUESTIONS)),
    ]
    if not all(is_right):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
