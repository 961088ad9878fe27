"""Formats, rates and times of single operations, computed by hand."""

import pytest

from planopt_reference import Facts
from planopt_reference.architecture import model_from_table
from planopt_reference.compute import (
    attention_work,
    distinct_matrices,
    latent_attention_work,
    matmul_time,
    mean_attended_tokens,
    operation_times,
)
from planopt_reference.formats import FormatError, base_rate, quantised_rate
from planopt_reference.operations import Attention, Elementwise, LatentAttention, MatMul
from planopt_reference.rank import Rank, Step


def rank(
    facts: Facts, t: int = 1, weights: str = "bf16", kv: str | None = None
) -> Rank:
    return Rank(facts.accelerator("board"), facts.assumptions, weights, kv, t)


def test_experts_are_met_at_random() -> None:
    # Of 8 experts a token meets 2: one token meets 2, two meet 8 (1 - (3/4)^2) = 3.5.
    assert distinct_matrices(8, 2, 1) == pytest.approx(2)
    assert distinct_matrices(8, 2, 2) == pytest.approx(3.5)
    assert distinct_matrices(1, 1, 7) == 1


def test_time_of_a_product(engine: Facts) -> None:
    # 16 tokens by 1024 x 2048 in columns over 2 ranks: 1024 x 1024 on each.
    # FLOP 2 * 16 * 1024 * 1024 = 33 554 432 at 989e12 * 0.5 (its own efficiency)
    # * 16/32 * 1024/1152 * 1024/1088.
    # Bytes 1024 * 1024 * 2 + 16 * (1024 + 1024) * 2 = 2 162 688 over 3.35e12.
    product = MatMul("p", 1024, 2048, "columns", parameters=1024 * 2048)
    time = matmul_time(product, Step(decoding=16), rank(engine, t=2))
    efficiency = 0.5 * (16 / 32) * (1024 / 1152) * (1024 / 1088)
    assert time.arithmetic == pytest.approx(33554432 / (989e12 * efficiency))
    assert time.traffic == pytest.approx(2162688 / 3.35e12)
    assert time.seconds == pytest.approx(2162688 / 3.35e12 + 2e-6)


def test_time_of_experts(engine: Facts) -> None:
    # 2 tokens, 2 of 8 experts each, 64 x 32: 3.5 matrices of 2048 elements, with
    # 4/3.5 rows each. FLOP 2 * 4 * 2048 = 16 384. Bytes 3.5 * 2048 * 1 (fp8) and
    # 4 rows of 96 elements of 2 bytes.
    experts = MatMul(
        "e", 64, 32, "columns", parameters=8 * 64 * 32, experts=8, active=2
    )
    time = matmul_time(experts, Step(decoding=2), rank(engine, weights="fp8"))
    rows = 4 / 3.5
    efficiency = 0.5 * rows / (rows + 16) * 32 / (32 + 128) * 64 / (64 + 64)
    assert time.arithmetic == pytest.approx(16384 / (1978e12 * efficiency))
    assert time.traffic == pytest.approx((3.5 * 2048 + 4 * 96 * 2) / 3.35e12)


def test_key_value_heads_are_replicated_beyond_their_number() -> None:
    # 8 query heads and 2 key/value heads of 4: 32 + 16 columns. Of 4 ranks each has
    # 32/4 = 8 query columns and, there being two heads, 16/2 = 8 key/value columns.
    product = MatMul(
        "qkv", 32, 48, "heads", 32 * 48, query=32, key_value=16, kv_heads=2
    )
    assert product.divided(2) == (32, 24)
    assert product.divided(4) == (32, 16)
    assert product.fraction(4) == pytest.approx(1 / 3)


def test_attention_of_a_decoding_step(engine: Facts) -> None:
    # 3 sequences of 100 tokens, 8 heads of 4 over 4 ranks: FLOP 3 * 4 * 2 * 4 * 100.
    # Bytes 3 * 100 * 2 * 1 head * 4 * 2 B: one of two heads on each of 4 ranks.
    attention = Attention(heads=8, kv_heads=2, head_dim=4, value_dim=4, window=None)
    step = Step(decoding=3, context=100)
    _, work = attention_work(attention, step, rank(engine, t=4))
    assert work == (9600, 4800)
    # A window of 10 tokens leaves a tenth of both; fp8 halves the bytes.
    windowed = Attention(heads=8, kv_heads=2, head_dim=4, value_dim=4, window=10)
    assert attention_work(windowed, step, rank(engine, t=4, kv="fp8"))[1] == (
        960,
        240,
    )


def test_tokens_that_a_prompt_looks_at() -> None:
    # Causal: 1, 2, 3, 4 -> 2.5 on average; with a window of 2: 1, 2, 2, 2 -> 1.75.
    assert mean_attended_tokens(4, None) == 2.5
    assert mean_attended_tokens(4, 4) == 2.5
    assert mean_attended_tokens(4, 2) == 1.75


@pytest.mark.parametrize("window", [None, 1, 5, 9, 12, 40])
def test_a_chunk_looks_back_on_what_is_cached_before_it(window: int | None) -> None:
    cached, chunk = 7, 4
    seen = [min(cached + i, window or cached + i) for i in range(1, chunk + 1)]

    mean = mean_attended_tokens(chunk, window, cached)

    assert mean == sum(seen) / chunk


def test_attention_of_a_prompt(engine: Facts) -> None:
    # 4 tokens look at 2.5: FLOP 4 * 4 * 32 * 2.5 = 1280; the cache of each token is
    # written once: 4 * 2 * 2 * 4 * 2 B = 128.
    attention = Attention(heads=8, kv_heads=2, head_dim=4, value_dim=4, window=None)
    chunk, decoding = attention_work(attention, Step(chunk=4), rank(engine))
    assert chunk == (1280, 128)
    assert decoding is None


def test_attention_to_selected_tokens_reads_no_others(engine: Facts) -> None:
    # One sequence at 100 tokens, 10 of them selected: FLOP 2 * 8 * (4 + 6) * 10 = 1600,
    # bytes 10 * 2 * (4 + 6) * 2 = 400. The indexer looks at all of them with 3 heads:
    # 2 * 3 * 4 * 100 = 2400 and 100 * 4 * 2 = 800, on each of two ranks.
    step = Step(decoding=1, context=100)
    chosen = Attention(
        heads=8, kv_heads=2, head_dim=4, value_dim=6, window=None, selected=10
    )
    assert attention_work(chosen, step, rank(engine))[1] == (1600, 400)
    index = Attention(3, 1, 4, 0, window=None, indexes=True)
    assert attention_work(index, step, rank(engine, t=2))[1] == (2400, 800)


def test_latent_attention(engine: Facts) -> None:
    # 16 heads over 2 ranks, latent 8, rope 4, nope 6, value 5.
    # Decode, 3 sequences of 10: FLOP 3 * 2 * 8 * 10 * (16 + 4) = 9600;
    # bytes 3 * 10 * 12 * 2 = 720 on every rank.
    latent = LatentAttention(heads=16, latent=8, rope=4, nope=6, value=5)
    decoding = Step(decoding=3, context=10)
    assert latent_attention_work(latent, decoding, rank(engine, t=2))[1] == (9600, 720)
    # Prompt of 4: FLOP 4 * 2 * 8 * (6 + 4 + 5) * 2.5 = 2400; bytes 4 * 12 * 2 = 96.
    prompt = Step(chunk=4)
    assert latent_attention_work(latent, prompt, rank(engine, t=2))[0] == (2400, 96)


def test_elementwise_reads_and_writes(engine: Facts, article: Facts) -> None:
    # 3 tokens of 1000 elements of 2 bytes, twice: 12 000 B over 3.35 TB/s, and 2 us.
    norm = Elementwise("norm", 1000, 1000)
    [time] = operation_times(norm, Step(decoding=3), rank(engine))
    seconds = time.seconds
    assert seconds == pytest.approx(12000 / 3.35e12 + 2e-6)
    [time] = operation_times(norm, Step(decoding=3), rank(article))
    assert time.seconds == 0


def test_rates_of_arithmetic(article: Facts, engine: Facts) -> None:
    card, board = article.accelerator("card"), article.accelerator("board")
    accumulate, plain = article.assumptions, engine.assumptions
    assert base_rate(card, accumulate, "fp16") == 330e12
    assert base_rate(card, plain, "bf16") == 165e12
    assert base_rate(board, plain, "fp16") == 989e12
    assert base_rate(board, plain, "fp32") == 60e12
    assert quantised_rate(board, plain, "fp8") == 1978e12
    assert quantised_rate(board, plain, "int8") == 989e12
    assert quantised_rate(card, plain, "int8") == 660e12
    assert quantised_rate(card, accumulate, "int4") == 330e12
    for missing in ("fp8", "nvfp4"):
        with pytest.raises(FormatError, match=missing):
            quantised_rate(card, plain, missing)
    with pytest.raises(FormatError, match="tf32"):
        base_rate(card, plain, "fp32")


def test_parameters_of_a_published_model() -> None:
    # LLaMA-2 70B: 68 976 648 192 parameters, as its checkpoint counts.
    table = {
        "id": "llama-2-70b",
        "hidden": 8192,
        "vocabulary": 32000,
        "weights": "fp16",
        "tied": False,
        "norm": "rms",
        "layers": 80,
        "block": [
            {
                "norms": 2,
                "attention": {
                    "kind": "grouped",
                    "heads": 64,
                    "kv_heads": 8,
                    "head_dim": 128,
                },
                "mlp": {"kind": "dense", "width": 28672, "gated": True},
            }
        ],
    }
    assert model_from_table(table).parameters == 68_976_648_192


def test_only_experts_are_quantised_where_a_model_says_so() -> None:
    table = {
        "id": "experts",
        "hidden": 32,
        "vocabulary": 100,
        "weights": "mxfp4",
        "tied": False,
        "only_experts_quantised": True,
        "norm": "rms",
        "layers": 1,
        "block": [
            {
                "norms": 2,
                "attention": {
                    "kind": "grouped",
                    "heads": 8,
                    "kv_heads": 2,
                    "head_dim": 4,
                    "sinks": True,
                },
                "mlp": {
                    "kind": "experts",
                    "experts": 8,
                    "active": 2,
                    "width": 64,
                    "gated": True,
                    "bias": True,
                    "router_bias": True,
                    "shared_width": 16,
                    "shared_gate": True,
                },
            }
        ],
    }
    operations = list(model_from_table(table).operations())
    quantised = [
        one.name for one in operations if isinstance(one, MatMul) and one.quantised
    ]
    assert quantised == ["experts_gate_up", "experts_down"]
    # Experts: 8 * (32 * 128 + 128 + 64 * 32 + 32); shared, with biases as well:
    # 32 * 32 + 32 + 16 * 32 + 32; router 32 * 8 + 8; gate 32; attention 32 * 48 and
    # 32 * 32, 8 sinks; norms 3 * 32; embedding and head 2 * 3200.
    expected = 8 * 6304 + 1600 + 264 + 32 + 2560 + 8 + 96 + 6400
    assert sum(one.parameters for one in operations) == expected


def test_parallel_blocks_reduce_once(engine: Facts) -> None:
    table = dict(engine.model_table("small"))
    reductions = _all_reduces(table)
    assert reductions == 1 + 2 * 3
    table["block"] = [{**table["block"][0], "parallel": True}]
    assert _all_reduces(table) == 1 + 3


def _all_reduces(table: dict[str, object]) -> int:
    operations = model_from_table(table).operations()
    return sum(type(operation).__name__ == "AllReduce" for operation in operations)
