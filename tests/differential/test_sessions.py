"""Sessions and their prefix cache: the compiled simulator against the slow one.

They draw numbers of their own, so the two agree as two runs of one do.
"""

from __future__ import annotations

import math
import random
from collections import OrderedDict
from statistics import fmean
from typing import Any

import pytest

from planopt.catalog.open import open_catalog
from planopt_reference.engine import Limits, Work
from planopt_reference.sessions import (
    Block,
    Replica,
    Replicas,
    Router,
    Sessions,
    Tier,
    Turn,
    Turns,
    anywhere,
    by_hash,
    cache_aware,
    even,
    in_turn,
    traced,
)

# The reference is slow: its tests may take longer than others on a busy machine.
pytestmark = pytest.mark.timeout(600)

TURNS = 1500
WARM_UP = 300
PAGE = 16
KV_BYTES = 32 * 2 * 8 * 128 * 2
"""Of a token of Llama 3.1 8B: layers, keys and values, heads, their width, 16 bits."""
LINK = 51e9
"""Bytes a second of PCIe 5.0 x16, as the catalog has it."""
DISK, DISK_READS = 30.72e12, 11.25e9
"""Bytes of a disk for caches, and what is read of it in a second."""
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


def limits_of(kv_tokens: int, *, reserve: bool = False) -> Limits:
    return Limits(
        token_budget=1024,
        max_sequences=64,
        kv_tokens=kv_tokens,
        page_tokens=PAGE,
        decode_first=True,
        reserve=reserve,
    )


def turns_of(dice: random.Random, shared: int, lives: int) -> Turns:
    return Turns(
        shared=shared,
        first=lambda: dice.randint(300, 500),
        grow=lambda: dice.randint(100, 300),
        output=lambda: dice.randint(10, 30),
        turns=lambda: dice.randint(1, 2 * lives - 1),
        think=lambda: dice.lognormvariate(
            math.log(3) - math.log(2) / 2, math.log(2) ** 0.5
        ),
    )


def hits_of(served: list[Turn]) -> float:
    return sum(each.hit for each in served) / sum(each.prompt for each in served)


@pytest.mark.parametrize(
    ("kv_tokens", "reserve", "host_gb", "disks"),
    [
        *((kv, False, 0.0, 0) for kv in (8_000, 16_000, 32_000, 48_000, 160_000)),
        *((kv, True, 0.0, 0) for kv in (8_000, 16_000, 32_000, 48_000, 160_000)),
        *((8_000, False, gb, 0) for gb in (1.5, 3.0, 8.0)),
        *((8_000, False, gb, 1) for gb in (0.0, 1.5)),
    ],
)
def test_both_find_as_much_of_prompts(
    kv_tokens: int, reserve: bool, host_gb: float, disks: int
) -> None:
    alive, shared, lives = 12, 500, 10
    limits = limits_of(kv_tokens, reserve=reserve)
    turns = turns_of(random.Random(kv_tokens), shared, lives)
    # A replica of one accelerator has an eighth of its host.
    memory = Tier(int(host_gb * 1e9 / KV_BYTES), KV_BYTES / LINK)
    disk = Tier(int(DISK / 8 / KV_BYTES), KV_BYTES / (DISK_READS / 8))
    tiers = [memory] * bool(host_gb) + [disk] * disks
    slow = Sessions([Replica(limits, seconds, tiers)], turns, alive)
    # Few prompts wait for disks, and these for long: their mean takes more turns.
    asked = 3 * TURNS if disks else TURNS
    served = slow.serve_turns(asked + WARM_UP)[WARM_UP:]
    report = simulated(
        limits, of_sessions(alive, shared, lives), host_gb=host_gb, disks=disks
    )
    assert report["hit_rate"] == pytest.approx(hits_of(served), abs=0.025)
    ttft = fmean(each.first - each.arrival for each in served)
    assert report["ttft_seconds"]["mean"] == pytest.approx(ttft, rel=0.15)
    tpot = fmean((each.end - each.first) / (each.output - 1) for each in served)
    assert report["tpot_seconds"]["mean"] == pytest.approx(tpot, rel=0.05)


@pytest.mark.parametrize("shared", [False, True])
def test_both_read_the_same_store(shared: bool) -> None:
    """Turns go anywhere: disks of a replica have some of them, a store has all."""
    replicas, alive, lives = 4, 24, 10
    limits = limits_of(8_000)
    turns = turns_of(random.Random(5), 500, lives)
    # Eight accelerators of a host have two ports of 400 Gbit/s, its disk is slower.
    disk = Tier(int(DISK / 8 / KV_BYTES), KV_BYTES / (DISK_READS / 8))
    store: OrderedDict[Block, None] | None = OrderedDict() if shared else None
    each = [Replica(limits, seconds, [disk], store) for _ in range(replicas)]
    slow = Sessions(each, turns, alive, anywhere(1))
    served = slow.serve_turns(2 * TURNS + WARM_UP)[WARM_UP:]
    report = simulated(
        limits,
        of_sessions(alive, 500, lives),
        replicas=replicas,
        disks=1,
        shared=shared,
        router="random",
    )
    assert report["hit_rate"] == pytest.approx(hits_of(served), abs=0.025)
    ttft = fmean(each.first - each.arrival for each in served)
    assert report["ttft_seconds"]["mean"] == pytest.approx(ttft, rel=0.2)
    assert (report["hit_rate"] > 0.85) is shared


ROUTERS: dict[str, Router] = {
    "even": even,
    "hash": by_hash(1),
    "random": anywhere(1),
    "round-robin": in_turn(),
    "cache-aware": cache_aware(0.05),
}


@pytest.mark.parametrize("router", ROUTERS)
def test_both_route_alike(router: str) -> None:
    replicas, alive, shared, lives = 4, 24, 500, 10
    limits = limits_of(12_000)
    turns = turns_of(random.Random(7), shared, lives)
    each = [Replica(limits, seconds) for _ in range(replicas)]
    slow = Sessions(each, turns, alive, ROUTERS[router])
    served = slow.serve_turns(2 * TURNS + WARM_UP)[WARM_UP:]
    load = of_sessions(alive, shared, lives)
    report = simulated(limits, load, replicas=replicas, router=router)
    # Where sessions are thrown by their numbers both have had some of their own.
    close = 0.05 if router == "hash" else 0.025
    assert report["hit_rate"] == pytest.approx(hits_of(served), abs=close)
    ttft = fmean(each.first - each.arrival for each in served)
    assert report["ttft_seconds"]["mean"] == pytest.approx(ttft, rel=0.2)
    if router in ("even", "cache-aware"):
        assert report["hit_rate"] > 0.75
    if router in ("random", "round-robin"):
        assert report["hit_rate"] < 0.6


PIECE = 128
"""Tokens of which the trace below has a hash."""


def trace(requests: int) -> list[tuple[float, int, int, list[int]]]:
    """Draw conversations that go on, fork and begin alike."""
    dice = random.Random(11)
    known: list[list[int]] = [[0, 1]]
    now, fresh = 0.0, 2
    rows = []
    for _ in range(requests):
        now += dice.expovariate(4.0)
        begins = dice.choice(known[-40:])
        pieces = begins[: dice.randint(1, len(begins))]
        added = dice.randint(1, 6)
        pieces = [*pieces, *range(fresh, fresh + added)]
        fresh += added
        known.append(pieces if len(pieces) < 30 else [0, 1])
        prompt = PIECE * len(pieces) - dice.randint(0, PIECE - 1)
        rows.append((now, prompt, dice.randint(2, 30), pieces))
    return rows


@pytest.mark.parametrize("kv_tokens", [5_000, 8_000, 12_000, 100_000])
@pytest.mark.parametrize("replicas", [1, 3])
def test_both_find_the_same_of_a_trace(kv_tokens: int, replicas: int) -> None:
    rows = trace(600)
    limits = limits_of(kv_tokens)
    each = [Replica(limits, seconds) for _ in range(replicas)]
    turns = [traced(*row, tokens=PIECE, page=PAGE) for row in rows]
    served = Replicas(each, in_turn()).serve(turns)
    seconds_, prompts, outputs, pieces = (
        list(column) for column in zip(*rows, strict=True)
    )
    load = {
        "arrivals": {"kind": "trace", "seconds": seconds_},
        "sizes": {
            "kind": "pairs",
            "prompt": prompts,
            "output": outputs,
            "hashed": {"tokens": PIECE, "pieces": pieces},
        },
    }
    run = {"requests": len(rows), "doors_close": True}
    report = simulated(limits, load, run=run, replicas=replicas)
    # Nothing is drawn: both find the same blocks.
    assert report["hit_rate"] == pytest.approx(hits_of(served), abs=1e-4)
    ttft = fmean(each.first - each.arrival for each in served)
    assert report["ttft_seconds"]["mean"] == pytest.approx(ttft, rel=1e-3)


def of_sessions(alive: int, shared: int, lives: int) -> dict[str, Any]:
    def between(least: int, most: int) -> dict[str, Any]:
        return {"kind": "uniform", "least": least, "most": most}

    return {
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
    }


def simulated(
    limits: Limits,
    load: dict[str, Any],
    *,
    run: dict[str, Any] | None = None,
    replicas: int = 1,
    host_gb: float = 0.0,
    disks: int = 0,
    shared: bool = False,
    router: str | None = None,
) -> Any:
    request: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "accelerator": "h100-sxm",
        "host": "dgx-h100",
        "context": 1024,
        "prompt": 512,
        "tp": 1,
        "replicas": replicas,
        "load": load,
        "run": run or {"requests": 20 * TURNS, "warm_up": WARM_UP},
        "scheduler": {
            "token_budget": limits.token_budget,
            "max_sequences": limits.max_sequences,
            "kv_tokens": limits.kv_tokens,
            "policy": "decode-first",
            "host_cache_bytes": 8 * host_gb * 1e9 or None,
            "cache_disks": disks or None,
            "shared_store": shared,
            "kv_policy": "reserve" if limits.reserve else "preempt",
            "router": router,
        },
        "step": STEP,
    }
    catalog = open_catalog((), "calibrated")
    answer = catalog.ask("simulate_serving", request, dict[str, Any])
    return answer["report"]
