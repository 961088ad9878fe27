"""Sessions and their prefix cache: the compiled simulator against the slow one.

They draw numbers of their own, so the two agree as two runs of one do.
"""

from __future__ import annotations

import math
import random
from statistics import fmean
from typing import Any

import pytest

from planopt.catalog.open import open_catalog
from planopt_reference.engine import Limits, Work
from planopt_reference.sessions import Host, Sessions, Turns

TURNS = 1500
WARM_UP = 300
PAGE = 16
KV_BYTES = 32 * 2 * 8 * 128 * 2
"""Of a token of Llama 3.1 8B: layers, keys and values, heads, their width, 16 bits."""
LINK = 51e9
"""Bytes a second of PCIe 5.0 x16, as the catalog has it."""
STEP = {
    "fixed": 0.01,
    "per_prefill_token": 2e-5,
    "per_prefill_token_context": 2e-9,
    "per_sequence": 1e-4,
    "per_cached_token": 1e-8,
}


def seconds(work: Work) -> tuple[float, float]:
    attended = sum(
        tokens * (cached + (tokens + 1) / 2) for tokens, cached in work.chunks
    )
    latency = (
        STEP["fixed"]
        + STEP["per_prefill_token"] * sum(tokens for tokens, _ in work.chunks)
        + STEP["per_prefill_token_context"] * attended
        + STEP["per_sequence"] * len(work.contexts)
        + STEP["per_cached_token"] * sum(work.contexts)
    )
    return latency, latency


@pytest.mark.parametrize(
    ("kv_tokens", "reserve", "host_gb"),
    [
        *((kv, False, 0.0) for kv in (8_000, 16_000, 32_000, 48_000, 160_000)),
        *((kv, True, 0.0) for kv in (8_000, 16_000, 32_000, 48_000, 160_000)),
        *((8_000, False, gb) for gb in (1.5, 3.0, 8.0)),
    ],
)
def test_both_find_as_much_of_prompts(
    kv_tokens: int, reserve: bool, host_gb: float
) -> None:
    dice = random.Random(kv_tokens)
    alive, shared = 12, 500
    limits = Limits(
        token_budget=1024,
        max_sequences=64,
        kv_tokens=kv_tokens,
        page_tokens=PAGE,
        decode_first=True,
        reserve=reserve,
    )
    lives = 10
    slow = Sessions(
        limits,
        seconds,
        Turns(
            shared=shared,
            first=lambda: dice.randint(300, 500),
            grow=lambda: dice.randint(100, 300),
            output=lambda: dice.randint(10, 30),
            turns=lambda: dice.randint(1, 2 * lives - 1),
            think=lambda: dice.lognormvariate(
                math.log(3) - math.log(2) / 2, math.log(2) ** 0.5
            ),
        ),
        alive,
        Host(int(host_gb * 1e9 / KV_BYTES), KV_BYTES / LINK) if host_gb else None,
    )
    served = slow.serve(TURNS + WARM_UP)[WARM_UP:]
    report = simulated(limits, alive, shared, lives, host_gb)
    hits = sum(each.hit for each in served) / sum(each.prompt for each in served)
    assert report["hit_rate"] == pytest.approx(hits, abs=0.025)
    ttft = fmean(each.first - each.arrival for each in served)
    assert report["ttft_seconds"]["mean"] == pytest.approx(ttft, rel=0.15)
    tpot = fmean((each.end - each.first) / (each.output - 1) for each in served)
    assert report["tpot_seconds"]["mean"] == pytest.approx(tpot, rel=0.05)


def simulated(
    limits: Limits, alive: int, shared: int, lives: int, host_gb: float
) -> Any:
    def between(least: int, most: int) -> dict[str, Any]:
        return {"kind": "uniform", "least": least, "most": most}

    request: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "accelerator": "h100-sxm",
        "context": 1024,
        "prompt": 512,
        "tp": 1,
        "load": {
            "arrivals": {"kind": "closed", "users": alive},
            "sizes": {
                "kind": "independent",
                "prompt": between(1, 9000),
                "output": between(10, 30),
            },
            "sessions": {
                "shared": shared,
                "first": between(300, 500),
                "grow": between(100, 300),
                "output": between(10, 30),
                "turns": between(1, 2 * lives - 1),
                "think": [{"share": 1.0, "mean_seconds": 3.0, "cv": 1.0}],
                "longest_think_seconds": 1e6,
                "max_context": 1_000_000,
            },
        },
        "run": {"requests": 20 * TURNS, "warm_up": WARM_UP},
        "scheduler": {
            "token_budget": limits.token_budget,
            "max_sequences": limits.max_sequences,
            "kv_tokens": limits.kv_tokens,
            "policy": "decode-first",
            "host_cache_bytes": host_gb * 1e9 or None,
            "kv_policy": "reserve" if limits.reserve else "preempt",
        },
        "step": STEP,
    }
    catalog = open_catalog((), "calibrated")
    answer = catalog.ask("simulate_serving", request, dict[str, Any])
    return answer["report"]
