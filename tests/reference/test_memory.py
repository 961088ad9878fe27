"""Stages and what they hold, computed by hand on a model of three layers."""

from dataclasses import replace

import pytest

from planopt_reference import Facts, evaluate_serving
from planopt_reference.architecture import model_from_table
from planopt_reference.memory import (
    activations_bytes,
    capacity_bytes,
    fullest_stage_memory,
    kv_cache_bytes,
    overhead_bytes,
    weights_bytes,
)
from planopt_reference.operations import Model
from planopt_reference.rank import Rank
from planopt_reference.stage import layers_per_stage, stages

# One layer: 32 x 48 and 32 x 32 of attention, 32 x 128 and 64 x 32 of the MLP, and
# two normalisations of 32.
LAYER = 1536 + 1024 + 4096 + 2048 + 64
EMBEDDING = 100 * 32
FINAL_NORM = 32


def small(facts: Facts) -> Model:
    return model_from_table(facts.model_table("small"))


def rank(facts: Facts, t: int, weights: str = "bf16") -> Rank:
    return Rank(facts.accelerator("card"), facts.assumptions, weights, None, t)


@pytest.mark.parametrize(
    ("layers", "p", "assigned"),
    [
        (8, 4, [2, 2, 2, 2]),
        (9, 4, [2, 2, 3, 2]),
        (11, 4, [3, 3, 3, 2]),
        (80, 7, [11, 11, 11, 12, 12, 12, 11]),
    ],
)
def test_layers_left_over_spare_the_last_stage(
    layers: int, p: int, assigned: list[int]
) -> None:
    assert layers_per_stage(layers, p) == assigned


def test_weights_of_one_accelerator(engine: Facts) -> None:
    (only,) = stages(small(engine), 1)
    parameters = EMBEDDING + 3 * LAYER + FINAL_NORM
    assert weights_bytes(only, small(engine), rank(engine, 1)) == 2 * parameters


def test_weights_divided_by_four(engine: Facts) -> None:
    # Of 48 columns of query_key_value a rank has 16, a third, as there are but two
    # key/value heads; normalisations are on every rank; the rest is divided by 4.
    layer = 1536 / 3 + (1024 + 4096 + 2048) / 4 + 64
    (only,) = stages(small(engine), 1)
    found = weights_bytes(only, small(engine), rank(engine, 4))
    assert found == pytest.approx(2 * (EMBEDDING / 4 + 3 * layer + FINAL_NORM))


def test_only_products_of_layers_are_quantised(engine: Facts) -> None:
    # int8: a byte for the 8704 elements of a layer's matrices, two for the rest.
    (only,) = stages(small(engine), 1)
    found = weights_bytes(only, small(engine), rank(engine, 1, "int8"))
    assert found == 3 * 8704 + 2 * (EMBEDDING + 3 * 64 + FINAL_NORM)


def test_a_tied_head_on_another_stage_is_held_again(engine: Facts) -> None:
    # Layers 2 and 1. The first stage embeds; the last has the matrix once more.
    first, last = stages(small(engine), 2)
    model, one = small(engine), rank(engine, 1)
    assert weights_bytes(first, model, one) == 2 * (EMBEDDING + 2 * LAYER)
    assert weights_bytes(last, model, one) == 2 * (LAYER + FINAL_NORM + EMBEDDING)


def test_cache_is_kept_in_pages(engine: Facts) -> None:
    # 17 tokens take two pages of 16. A token of a layer: 2 * 2 heads * 4 * 2 B = 32 B.
    (only,) = stages(small(engine), 1)
    found = kv_cache_bytes(only, rank(engine, 1), sequences=5, context=17)
    assert found == 5 * 3 * 32 * 32


def test_cache_of_replicated_heads(engine: Facts) -> None:
    # Two key/value heads on 4 ranks: one each, as on 2 ranks.
    (only,) = stages(small(engine), 1)
    on_two = kv_cache_bytes(only, rank(engine, 2), sequences=1, context=16)
    on_four = kv_cache_bytes(only, rank(engine, 4), sequences=1, context=16)
    assert on_two == on_four == 3 * 16 * 16


def test_cache_stops_growing_at_the_window(engine: Facts) -> None:
    table = dict(engine.model_table("small"))
    full = table["block"][0]
    windowed = {**full, "attention": {**full["attention"], "window": 16}}
    table["block"] = [windowed, full]
    table["pattern"] = [0, 1]
    # Layers 0 and 2 keep 16 tokens, layer 1 keeps 100 in 7 pages: 112.
    (only,) = stages(model_from_table(table), 1)
    found = kv_cache_bytes(only, rank(engine, 1), sequences=1, context=100)
    assert found == 32 * (16 + 112 + 16)


def test_latent_cache_is_not_divided(engine: Facts) -> None:
    table = dict(engine.model_table("small"))
    attention = {
        "kind": "latent",
        "heads": 8,
        "query_rank": 16,
        "latent": 8,
        "rope": 4,
        "nope": 4,
        "value": 4,
    }
    table["block"] = [{**table["block"][0], "attention": attention}]
    model = model_from_table(table)
    (only,) = stages(model, 1)
    # 16 tokens of 12 elements of 2 bytes in 3 layers, on each of 4 ranks.
    assert kv_cache_bytes(only, rank(engine, 4), sequences=1, context=16) == 1152
    # 32 x 16, 16 x 64, 32 x 12, 8 x 64, 32 x 32, norms of 16 and 8, the MLP, 2 norms.
    layer = 512 + 1024 + 384 + 512 + 1024 + 24 + 6144 + 64
    assert model.parameters == EMBEDDING + 3 * layer + FINAL_NORM


def test_workspace_and_logits(engine: Facts) -> None:
    # The widest product is gate_up: 32 + 128 elements, 10 tokens, 2 bytes: 3200 B.
    # The last stage adds 7 rows of 100 logits of 4 bytes.
    first, last = stages(small(engine), 2)
    model, one = small(engine), rank(engine, 1)
    assert activations_bytes(first, model, one, batch=7) == 3200
    assert activations_bytes(last, model, one, batch=7) == 3200 + 2800
    # Over 2 ranks: 32 + 64 elements, and half of the logits.
    two = rank(engine, 2)
    assert activations_bytes(last, model, two, batch=7) == 1920 + 1400


def test_overhead_and_capacity(engine: Facts) -> None:
    # Half of 24 GB; 1 GB alone and 2 GB in a group.
    one = rank(engine, 1)
    assert capacity_bytes(one) == 12e9
    # A quarter where the processor shares it.
    unified = replace(one, accelerator=replace(one.accelerator, unified_memory=True))
    assert capacity_bytes(unified) == 6e9
    assert overhead_bytes(rank(engine, 1), 1) == 1e9
    assert overhead_bytes(rank(engine, 1), 2) == 2e9


def test_the_fullest_stage_is_shown(engine: Facts) -> None:
    # Of layers 2 and 1 the first stage has more in weights and in cache.
    memory = fullest_stage_memory(
        small(engine), rank(engine, 1), p=2, batch=1, sequences=4, context=16
    )
    assert memory.weights == 2 * (EMBEDDING + 2 * LAYER)
    assert memory.kv_cache == 4 * 2 * 16 * 32
    # 10 000 sequences' logits (4 MB) make the last stage the fullest.
    memory = fullest_stage_memory(
        small(engine), rank(engine, 1), p=2, batch=10_000, sequences=4, context=16
    )
    assert memory.kv_cache == 4 * 1 * 16 * 32


def test_the_head_of_a_prompt_sees_one_token(engine: Facts) -> None:
    # Twice the vocabulary: a prompt's time grows by one row of the head only.
    table = dict(engine.model_table("small"))

    def seconds(vocabulary: int, prompt: int) -> float:
        evaluation = evaluate_serving(
            engine,
            model={**table, "vocabulary": vocabulary},
            accelerator="card",
            host="desktop",
            network=None,
            nics_per_host=0,
            tp=1,
            pp=1,
            in_flight=1,
            batch=1,
            context=16,
            prompt=prompt,
        )
        return float(evaluation["prefill"]["seconds"])

    growth_of_one = seconds(200_000, 1) - seconds(100_000, 1)
    growth_of_many = seconds(200_000, 1000) - seconds(100_000, 1000)
    assert growth_of_one > 0
    assert growth_of_many == pytest.approx(growth_of_one)
