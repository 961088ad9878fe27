"""Which table says what an accelerator reaches, and the smooth roofline, by hand."""

import math

import pytest

from planopt_reference import Facts
from planopt_reference.engines import engine_from_table
from planopt_reference.reached import Compute, Reached

GENERAL = {
    "efficiency": 0.8,
    "half_rows": 16,
    "half_columns": 128,
    "half_depth": 64,
    "bandwidth_efficiency": 0.9,
    "operation_overhead": "2 us",
    "fp16_accumulate": False,
    "attention_efficiency": 0.5,
    "kv_bandwidth_efficiency": 0.8,
    "activation_traffic": True,
    "attention_time": True,
    "step_overhead": "1 ms",
    "experts": {"efficiency": 0.4, "operation_overhead": "20 us"},
    "formats": {"fp8": {"efficiency": 0.7, "experts": {"half_rows": 30}}},
}


def test_products_fall_back_from_format_and_experts_to_the_table_around() -> None:
    compute = Compute(GENERAL)
    assert compute.products("fp8", experts=False).efficiency == 0.7
    assert compute.products("nvfp4", experts=False).efficiency == 0.8
    routed = compute.products("fp8", experts=True)
    # Rows as experts of fp8 have them, the share and the launch as experts do.
    assert (routed.half_rows, routed.efficiency) == (30, 0.4)
    assert routed.operation_overhead == pytest.approx(20e-6)
    assert routed.half_columns == 128


def test_an_accelerator_goes_before_its_family(engine: Facts) -> None:
    board = engine.accelerator("board")
    card = engine.accelerator("card")
    table = {
        "compute": GENERAL,
        "accelerators": {"board": {"formats": {"fp8": {"half_depth": 7}}}},
        "families": {"": {"efficiency": 0.3}},
    }
    reached = Reached(table)
    measured = reached.compute(board).products("fp8", experts=False)
    assert (measured.half_depth, measured.efficiency) == (7, 0.7)
    assert reached.compute(card).products(None, experts=False).efficiency == 0.3


def test_products_of_16_bits_have_figures_of_their_own_in_serving() -> None:
    compute = Compute({**GENERAL, "formats": {"bf16": {"efficiency": 0.6}}})
    for weights in (None, "bf16", "fp16"):
        assert compute.products(weights, experts=False).efficiency == 0.6
    # Training is fitted on the general ones.
    assert compute.products("fp32", experts=False).efficiency == 0.8


def test_an_engine_runs_the_first_family_of_kernels_that_was_measured() -> None:
    measured = {
        "experts": {"efficiency": 0.9},
        "kernels": {"cutlass": {"efficiency": 0.2}, "triton": {"efficiency": 0.3}},
    }
    table = {**GENERAL, "formats": {"fp8": measured}}

    def reached(*families: str) -> float:
        engine = engine_from_table({"experts": {"fp8": list(families)}})
        return Compute(table, engine).products("fp8", experts=True).efficiency

    assert reached("deepgemm", "triton", "cutlass") == 0.3
    assert reached("deepgemm") == 0.9
    # What a family has not of its own is as of experts.
    launch = Compute(table).products("fp8", experts=True).operation_overhead
    assert launch == pytest.approx(20e-6)


def test_a_cache_of_8_bits_is_read_as_it_was_measured() -> None:
    assert Compute(GENERAL).kv_bandwidth_efficiency_8bit == 0.8
    narrow = Compute({**GENERAL, "kv_bandwidth_efficiency_8bit": 0.5})
    assert narrow.kv_bandwidth_efficiency_8bit == 0.5
    assert narrow.kv_bandwidth_efficiency == 0.8


def test_the_roofline_lies_between_the_longer_and_the_sum() -> None:
    half = Compute({**GENERAL, "roofline_overlap": 0.5})
    # (3 + 4 + sqrt(1 + 4 * 0.5 * 12)) / 2 = (7 + 5) / 2.
    assert half.roofline(3, 4) == pytest.approx(6)
    assert Compute({**GENERAL, "roofline_overlap": 0}).roofline(3, 4) == 7
    assert Compute(GENERAL).roofline(3, 4) == 4


def test_prompts_reach_half_at_half_a_prompt() -> None:
    compute = Compute({**GENERAL, "half_prompt": 512})
    assert compute.half_prompt == 512
    assert compute.decode_attention_efficiency == compute.attention_efficiency


def test_links_are_laid_over_communication() -> None:
    table = {
        "communication": {
            "scale_up_efficiency": 0.8,
            "scale_up_latency": "3 us",
            "one_shot_latency": "9 us",
        },
        "links": {"Fast": {"two_shot_latency": "10 us", "scale_up_latency": "1 us"}},
    }
    fast, other = Reached(table).scale_up("Fast"), Reached(table).scale_up("Other")
    assert fast.latency == pytest.approx(1e-6)
    assert other.latency == pytest.approx(3e-6)
    assert fast.two_shot_latency == pytest.approx(10e-6)
    # Without a figure a way is never the fastest.
    assert math.isfinite(other.bulk_latency)
    assert other.bulk_latency > 1e200
