"""Cases that the seed article and published models decide: failures, and an encoder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import planopt

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.documents.training import TrainingDocument

MINUTE = 60.0
BERT: dict[str, Any] = {
    "model": "bert-large",
    "accelerator": "a100-sxm-80",
    "micro_batch": 32,
    "global_batch": 256,
    "dropout": True,
    "causal": False,
}


def cluster_of_4090s(dp: int = 16, **changes: Any) -> TrainingDocument:
    """The article's 2048 cards: 8 a host, 16 stages, 16 pipelines."""
    return planopt.evaluate_training(
        **{
            "model": "article-70b",
            "accelerator": "rtx-4090",
            "host": "pcie-8gpu",
            "network": "roce-200g",
            "precision": "fp16",
            "tp": 8,
            "pp": 16,
            "dp": dp,
            "assumptions": "article",
            **changes,
        }
    )


def flop_of_a_token(**arguments: Any) -> float:
    """Model FLOPs of a token on one accelerator."""
    evaluation = planopt.evaluate_training(**arguments)
    assert evaluation.model_tflops_per_accelerator is not None
    assert evaluation.tokens_per_second is not None
    return evaluation.model_tflops_per_accelerator * 1e12 / evaluation.tokens_per_second


def test_a_failure_every_21_minutes_leaves_half_of_the_cluster() -> None:
    # Each card fails once a month, and each failure costs 10 minutes: in what is left
    # of 21 another may come, and the work since the last checkpoint is done again.
    evaluation = cluster_of_4090s()

    assert evaluation.accelerators == 2048
    assert evaluation.failures.interval_seconds == pytest.approx(
        30 * 24 * 60 / 2048 * MINUTE, rel=1e-4
    )
    assert evaluation.failures.restart_seconds == 10 * MINUTE
    assert evaluation.goodput is not None
    assert 0.45 < evaluation.goodput < 0.65


def test_half_of_the_cards_lose_less() -> None:
    all_cards, half = cluster_of_4090s(dp=16), cluster_of_4090s(dp=8)

    assert half.goodput is not None
    assert all_cards.goodput is not None
    # Checkpoints take no time in the article: what is left is exp(-restart / interval).
    assert half.goodput == pytest.approx(all_cards.goodput**0.5, rel=1e-3)
    assert half.goodput > 0.75


def test_an_encoder_is_trained() -> None:
    evaluation = planopt.evaluate_training(**BERT)

    assert evaluation.feasible
    assert evaluation.candidate.seq_len == 512
    assert evaluation.mfu is not None
    assert 0.1 < evaluation.mfu < 0.7
    # 6 for each weight of a product, and 12 s h of attention in each layer.
    products = 24 * 12 * 1024**2 + 30_522 * 1024
    attention = 24 * 12 * 512 * 1024
    assert flop_of_a_token(**BERT) == pytest.approx(6 * products + attention)
    assert evaluation.model_tflops_per_accelerator is not None
    assert evaluation.tokens_per_second is not None
    flop = evaluation.model_tflops_per_accelerator * 1e12 / evaluation.tokens_per_second
    products = 24 * 12 * 1024**2 + 30_522 * 1024
    assert flop == pytest.approx(6 * products + 24 * 12 * 512 * 1024, rel=1e-9)


def test_tokens_of_an_encoder_look_both_ways() -> None:
    encoder = planopt.evaluate_training(**BERT)
    decoder = planopt.evaluate_training(**{**BERT, "causal": True})

    assert encoder.step_seconds is not None
    assert decoder.step_seconds is not None
    assert encoder.step_seconds > decoder.step_seconds


@pytest.mark.parametrize(
    ("causal", "left_out"), [(False, 0), (True, 12 * 511 * 1024 / 2)]
)
def test_no_arithmetic_of_an_encoder_is_left_out(causal: bool, left_out: float) -> None:
    """A decoder meets (s + 1)/2 tokens in the mean, 12 h FLOP each, in 24 layers."""
    counted, full = (
        flop_of_a_token(**{**BERT, "causal": causal, "model_flops": convention})
        for convention in ("causal", "full")
    )

    assert full - counted == pytest.approx(24 * left_out)


def test_the_configuration_of_an_encoder_is_read(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps(
            {
                "architectures": ["BertForMaskedLM"],
                "model_type": "bert",
                "hidden_size": 1024,
                "intermediate_size": 4096,
                "max_position_embeddings": 512,
                "num_attention_heads": 16,
                "num_hidden_layers": 24,
                "type_vocab_size": 2,
                "vocab_size": 30522,
            }
        ),
        encoding="utf-8",
    )

    ours = planopt.evaluate_training(**BERT)
    read = planopt.evaluate_training(**{**BERT, "model": str(config)})

    assert read.step_seconds == pytest.approx(ours.step_seconds)
    assert read.memory is not None
    assert ours.memory is not None
    assert read.memory.total_bytes == pytest.approx(ours.memory.total_bytes)
