"""Sessions that somebody served, who said how much of their prompts was found.

Nothing is fitted to them: agents are those of the catalog, steps those of the model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from planopt import toml
from planopt.catalog.open import open_catalog

# Forty thousand turns of each number of sessions take seconds on a busy machine.
pytestmark = pytest.mark.timeout(300)

WORKLOADS: Final = Path(__file__).parents[2] / "catalogs" / "workloads"
GLM_5_2: Final[dict[str, Any]] = {
    "architectures": ["GlmMoeDsaForCausalLM"],
    "model_type": "glm_moe_dsa",
    "hidden_size": 6144,
    "intermediate_size": 12288,
    "num_hidden_layers": 78,
    "first_k_dense_replace": 3,
    "num_attention_heads": 64,
    "q_lora_rank": 2048,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 192,
    "qk_rope_head_dim": 64,
    "v_head_dim": 256,
    "index_topk": 2048,
    "index_n_heads": 32,
    "index_head_dim": 128,
    "index_topk_freq": 4,
    "index_skip_topk_offset": 3,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 2048,
    "num_nextn_predict_layers": 1,
    "vocab_size": 154_880,
    "max_position_embeddings": 1_048_576,
}
"""Its config.json, as far as it is read."""
ROOM = 3_300_000
"""Tokens that its servers held, without a memory behind."""
FOUND = {1: 0.98, 2: 0.98, 4: 0.98, 8: 0.97}
"""GLM-5.2 NVFP4 on 8x B300, TP8, SGLang, agents to a million tokens whose pauses end
after five minutes: what was found with so many sessions (InferenceX, pull request 2268,
2026-07-18). With 16 it was 39 %."""


def agents() -> dict[str, Any]:
    """Return the sessions of the catalog, of contexts and pauses as they were there."""
    text = (WORKLOADS / "agentic-coding.toml").read_text("utf-8")
    told: Any = toml.loads(text)
    figures = {
        key: figure["value"]
        for key, figure in told["sessions"].items()
        if key != "think"
    }

    def lognormal(of: str) -> dict[str, Any]:
        return {"kind": "lognormal", "mean": figures[of], "cv": figures[f"{of}_cv"]}

    think = [
        {
            "share": each["share"]["value"],
            "mean_seconds": float(each["mean"]["value"].removesuffix("s")),
            "cv": each["cv"]["value"],
        }
        for each in told["sessions"]["think"]
    ]
    output = {"mean": told["output"]["value"], "cv": told["output_cv"]["value"]}
    return {
        "shared": figures["shared"],
        **{name: lognormal(name) for name in ("first", "grow", "turns")},
        "output": {"kind": "lognormal", **output},
        "think": think,
        "longest_think_seconds": 300,
        "max_context": 1_000_000,
    }


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("glm-5.2") / "config.json"
    file.write_text(json.dumps(GLM_5_2), "utf-8")
    return str(file)


def hit_rate(config: str, alive: int) -> float:
    fixed = {"kind": "fixed", "tokens": 1000}
    request = {
        "model": {"name": config, "weights": "nvfp4", "kv": "fp8"},
        "workload": {"prompt": 100_000, "context": 100_500},
        "hardware": {"accelerator": "b300", "host": "hgx-8"},
        "layout": {"tp": 8, "ep": 8},
        "engine": {"name": "sglang"},
        "scheduler": {"kv_tokens": ROOM},
        "load": {
            "arrivals": {"kind": "closed", "users": alive},
            "sizes": {"kind": "independent", "prompt": fixed, "output": fixed},
            "sessions": agents(),
        },
        "run": {"requests": 40_000, "warm_up": 8_000},
    }
    catalog = open_catalog((), "calibrated")
    answer = catalog.ask("simulate_serving", request, dict[str, Any])
    rate: float = answer["report"]["hit_rate"]
    return rate


@pytest.mark.parametrize("alive", FOUND)
def test_as_much_is_found_as_was_published(config: str, alive: int) -> None:
    assert hit_rate(config, alive) == pytest.approx(FOUND[alive], abs=0.03)


def test_the_cliff_is_where_it_was_published(config: str) -> None:
    assert hit_rate(config, 8) > 0.95
    assert hit_rate(config, 16) < 0.7
