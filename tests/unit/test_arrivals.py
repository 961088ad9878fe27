"""Bursts make first tokens wait; prompts found in the cache make them come sooner."""

from __future__ import annotations

from typing import Any

import pytest

import planopt
from planopt.errors import InputError

LOAD: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "accelerator": "h100-sxm",
    "prompt": 3000,
    "output": 200,
    "requests": "6/s",
}


def _mean_wait(**changes: Any) -> float:
    return planopt.evaluate(**LOAD, **changes).ttft_seconds.mean or 0.0


def test_bursts_wait_longer_and_known_prompts_shorter() -> None:
    at_random = _mean_wait()
    assert _mean_wait(arrival_cv=3) > 1.1 * at_random
    assert _mean_wait(prefix_hit_rate="50%") < 0.8 * at_random


def test_bursts_are_of_requests_at_a_rate() -> None:
    with pytest.raises(InputError) as refused:
        planopt.evaluate(**{**LOAD, "requests": None}, arrival_cv=3)
    assert [one.field for one in refused.value.diagnostics] == ["--request-rate"]
