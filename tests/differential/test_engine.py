"""The compiled simulator against the slow one of the reference: 60 random engines."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import pytest

from planopt.catalog.open import open_catalog
from planopt_reference.engine import Engine, Limits, Work

REQUESTS = 80
PAGE = 16


@dataclass(frozen=True)
class Step:
    """A step that grows linearly in everything."""

    fixed: float
    per_prefill_token: float
    per_prefill_token_context: float
    per_sequence: float
    per_cached_token: float
    stages: float

    def __call__(self, work: Work) -> tuple[float, float]:
        attended = sum(
            tokens * (cached + (tokens + 1) / 2) for tokens, cached in work.chunks
        )
        latency = (
            self.fixed
            + self.per_prefill_token * sum(tokens for tokens, _ in work.chunks)
            + self.per_prefill_token_context * attended
            + self.per_sequence * len(work.contexts)
            + self.per_cached_token * sum(work.contexts)
        )
        return latency, latency / self.stages


def nearest_rank(values: list[float], share: float) -> float:
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


@pytest.mark.parametrize("number", range(60))
def test_both_simulators_say_the_same(number: int) -> None:
    dice = random.Random(number)
    micro_batches = dice.choice([1, 1, 1, 2, 4])
    step = Step(
        dice.uniform(1e-3, 2e-2),
        dice.uniform(1e-5, 2e-4),
        dice.uniform(0, 1e-8),
        dice.uniform(0, 2e-4),
        dice.uniform(0, 2e-7),
        float(micro_batches),
    )
    prompts = [dice.randint(1, 900) for _ in range(REQUESTS)]
    outputs = [dice.randint(1, 60) for _ in range(REQUESTS)]
    gap = dice.uniform(0.01, 0.3)
    seconds = [0.0]
    for _ in range(REQUESTS - 1):
        seconds.append(seconds[-1] + dice.expovariate(1 / gap))
    limits = Limits(
        token_budget=dice.choice([64, 256, 1024]),
        max_sequences=dice.choice([2, 8, 64]),
        kv_tokens=PAGE * dice.choice([70, 150, 1000]),
        page_tokens=PAGE,
        decode_first=dice.random() < 0.5,
        reserve=dice.random() < 0.3,
        micro_batches=micro_batches,
    )
    slow = Engine(limits, step).run(list(zip(seconds, prompts, outputs, strict=True)))
    report = simulated(limits, step, seconds, prompts, outputs)
    assert report["refused"] == 0
    ttft = [each.first - each.arrival for each in slow]
    tpot = [
        (each.end - each.first) / (each.output - 1) for each in slow if each.output > 1
    ]
    for name, values in (("ttft_seconds", ttft), ("tpot_seconds", tpot)):
        mean = sum(values) / len(values)
        assert report[name]["mean"] == pytest.approx(mean, rel=1e-9)
        for key, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
            exact = nearest_rank(values, share)
            assert report[name][key] == pytest.approx(exact, rel=1e-9)
    preempted = any(each.to_read > each.prompt for each in slow)
    assert (report["preemptions"] > 0) == preempted


def simulated(
    limits: Limits,
    step: Step,
    seconds: list[float],
    prompts: list[int],
    outputs: list[int],
) -> Any:
    request: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "accelerator": "h100-sxm",
        "context": 1024,
        "prompt": 512,
        "tp": 1,
        "pp": 1,
        "replicas": 1,
        "batch": 1,
        "in_flight": limits.micro_batches,
        "load": {
            "arrivals": {"kind": "trace", "seconds": seconds},
            "sizes": {"kind": "pairs", "prompt": prompts, "output": outputs},
        },
        "run": {"requests": REQUESTS, "doors_close": True},
        "scheduler": {
            "token_budget": limits.token_budget,
            "max_sequences": limits.max_sequences,
            "kv_tokens": limits.kv_tokens,
            "policy": "decode-first" if limits.decode_first else "prefill-first",
            "kv_policy": "reserve" if limits.reserve else "preempt",
        },
        "step": vars(step),
    }
    catalog = open_catalog((), "calibrated")
    answer = catalog.ask("simulate_serving", request, dict[str, Any])
    return answer["report"]
