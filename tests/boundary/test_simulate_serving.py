"""The simulator through the compiled module: a load on a configuration."""

import itertools
import math
from typing import Any

import pytest

from planopt.catalog.open import open_catalog
from planopt.documents.evaluation import ServingEvaluation
from planopt.door import question, written
from planopt.errors import InputError

EIGHT_H100 = {
    "model": "llama-3.1-70b",
    "weights": "fp8",
    "context": 3500,
    "prompt": 3000,
    "accelerator": "h100-sxm",
    "tp": 8,
    "pp": 1,
    "replicas": 1,
    "batch": 1,
}


def simulate(load: dict[str, Any], run: dict[str, Any], **options: Any) -> Any:
    catalog = open_catalog((), "calibrated")
    request = {**EIGHT_H100, "load": load, "run": run, **options}
    return catalog.ask("simulate_serving", request, dict[str, Any])


def closed(users: int) -> dict[str, Any]:
    return {
        "arrivals": {"kind": "closed", "users": users, "start": "together"},
        "sizes": {
            "kind": "independent",
            "prompt": {"kind": "fixed", "tokens": 3000},
            "output": {"kind": "fixed", "tokens": 500},
        },
    }


def test_one_user_waits_for_chunks_of_his_prompt_and_for_single_steps() -> None:
    answer = simulate(closed(1), {"requests": 10, "doors_close": True})
    catalog = open_catalog((), "calibrated")
    evaluated = catalog.ask("evaluate_serving", EIGHT_H100, ServingEvaluation)
    report = answer["report"]
    assert math.isclose(
        report["tpot_seconds"]["mean"],
        evaluated.decode.step_seconds or 0.0,
        rel_tol=0.02,
    )
    # Two chunks of at most 2048 tokens: the weights are read twice.
    alone = evaluated.prefill.seconds or 0.0
    assert alone < report["ttft_seconds"]["mean"] < 1.2 * alone
    assert report["requests"] == 10
    spread = report["ttft_seconds"]["p95"] / report["ttft_seconds"]["p50"] - 1
    assert abs(spread) < 1e-9


@pytest.mark.parametrize(
    ("engine", "accelerator", "tokens", "sequences"),
    [
        ("vllm", "rtx-4090", 2048, 256),
        ("vllm", "a100-sxm-80", 2048, 256),
        ("vllm", "a800-sxm-80", 8192, 1024),
        ("vllm", "h100-sxm", 8192, 1024),
        ("sglang", "rtx-4090", 2048, 2048),
        ("sglang", "l40s", 4096, 2048),
        ("sglang", "h200-sxm", 8192, 2048),
        ("sglang", "b200", 16_384, 2048),
    ],
)
def test_an_engine_takes_into_a_step_what_it_does_on_such_cards(
    engine: str, accelerator: str, tokens: int, sequences: int
) -> None:
    card = {"model": "llama-3.1-8b", "accelerator": accelerator, "tp": 1}
    card["weights"] = "bf16"
    run = {"requests": 10, "doors_close": True}
    (limits,) = simulate(closed(1), run, engine=engine, **card)["engines"]
    assert (limits["token_budget"], limits["max_sequences"]) == (tokens, sequences)
    told = {"token_budget": 512, "max_sequences": 8}
    (limits,) = simulate(closed(1), run, engine=engine, **card, **told)["engines"]
    assert (limits["token_budget"], limits["max_sequences"]) == (512, 8)


def test_prompts_that_a_graph_was_captured_for_are_not_launched_one_by_one() -> None:
    catalog = open_catalog((), "calibrated")

    def seconds(prompt: int, **options: int) -> float:
        asked = {**EIGHT_H100, "prompt": prompt, "engine": "vllm", **options}
        found = catalog.ask("evaluate_serving", asked, ServingEvaluation)
        return found.prefill.seconds or 0.0

    # vLLM captures steps of up to 512 tokens unless it is told.
    assert seconds(512) < 0.7 * seconds(512, graph_tokens=1)
    assert seconds(513) == seconds(513, graph_tokens=1)
    assert seconds(513, graph_tokens=2048) < 0.7 * seconds(513)


def test_experts_of_a_fused_kernel_are_launched_once_a_product() -> None:
    catalog = open_catalog((), "calibrated")
    card = {**EIGHT_H100, "model": "gpt-oss-120b", "weights": "mxfp4", "tp": 1}
    asked = {**card, "prompt": 16, "engine": "vllm", "graph_tokens": 1}

    def seconds(accelerator: str) -> float:
        question = {**asked, "accelerator": accelerator}
        found = catalog.ask("evaluate_serving", question, ServingEvaluation)
        return found.prefill.seconds or 0.0

    # So short a prompt takes what its launches do: of each of 36 layers by Triton's
    # kernels 16, by those of `trtllm-gen` on Blackwell 10, and four besides.
    launches = [36 * layer + 4 for layer in (16, 10)]
    ratio = seconds("h200-sxm") / seconds("b200")
    assert ratio == pytest.approx(launches[0] / launches[1])


def test_more_users_wait_longer_and_get_more_done() -> None:
    reports = [
        simulate(closed(users), {"requests": 10 * users, "doors_close": True})["report"]
        for users in (1, 8, 64)
    ]
    for few, many in itertools.pairwise(reports):
        assert few["tpot_seconds"]["mean"] < many["tpot_seconds"]["mean"]
        assert few["ttft_seconds"]["mean"] < many["ttft_seconds"]["mean"]
        assert few["tokens_per_second"] < many["tokens_per_second"]


def test_a_pool_that_answers_is_spared_the_prompts() -> None:
    run = {"requests": 640, "doors_close": True}
    together = simulate(closed(64), run, replicas=2, tp=4)["report"]
    decode = {
        **EIGHT_H100,
        "tp": 4,
        "transfer": {"latency_seconds": 0.001, "seconds_per_token": 1e-6},
    }
    apart = simulate(closed(64), run, tp=4, decode=decode)
    assert len(apart["engines"]) == 2
    assert apart["report"]["tpot_seconds"]["p99"] < together["tpot_seconds"]["p99"]


def test_what_does_not_fit_is_rejected_with_its_numbers() -> None:
    answer = simulate(closed(8), {"requests": 8}, accelerator="rtx-4090", tp=1)
    assert answer["report"] is None
    assert [each["code"] for each in answer["rejections"]] == ["memory"]


def test_all_that_is_wrong_with_a_load_is_told_at_once() -> None:
    load = {**closed(0), "prefix_hit_rate": 2.0}
    with pytest.raises(InputError) as caught:
        simulate(load, {"requests": 0})
    assert {each.field for each in caught.value.diagnostics} == {
        "--requests",
        "--concurrency",
        "--prefix-hit-rate",
    }


@pytest.mark.parametrize("place", [{"network": "ethernet-10g"}, {"host": "pcie-8gpu"}])
def test_a_chain_of_like_cards_is_a_pipeline(place: dict[str, str]) -> None:
    """Steps, ways and caches are the same, over a network and in one host."""
    in_one_host = "host" in place
    kind = {"id": "rtx-4090", "machines": 4, "accelerators": 1}
    (network,) = place.values()
    chain = {
        "machines": [{**kind, "network": network, "in_one_host": in_one_host}],
        "stages": [(0, 20)] * 4,
        "chains": 1,
    }
    layout = {"accelerator": "rtx-4090", "tp": 1, "pp": 4, "in_flight": 4}
    hosts = {} if in_one_host else {"hosts": 4}
    asked = {"weights": "int4", **layout, **place, **hosts}
    run = {"requests": 100, "warm_up": 10}
    one, other = (
        simulate(closed(16), run, **asked, **more) for more in ({}, {"chain": chain})
    )
    assert one["engines"] == other["engines"]
    for name in ("ttft_seconds", "tpot_seconds"):
        for at, seconds in one["report"][name].items():
            assert math.isclose(seconds, other["report"][name][at], rel_tol=1e-9)
    wrong = {**chain, "stages": [(0, 20), (0, 20), (0, 20), (1, 20)]}
    with pytest.raises(InputError):
        simulate(closed(16), run, **asked, chain=wrong)
    with pytest.raises(InputError):
        simulate(closed(16), run, **asked, chain={**chain, "stages": [(0, 20)] * 3})


@pytest.mark.parametrize("at", ["p95", "mean"])
def test_steps_may_be_as_long_as_the_load_is_held(at: str) -> None:
    load = {
        "arrivals": {"kind": "poisson", "per_second": 1.5},
        "sizes": closed(1)["sizes"],
    }
    longer = [1.0 + step / 5 for step in range(15)]
    most = {"ttft_seconds": 0.6, "tpot_seconds": 0.02}
    run = {"requests": 400, "warm_up": 80, "at": at, **most}

    def is_held(times: float) -> bool:
        found = simulate(load, run, slower={"h100-sxm": times})
        report = found["report"]
        missed = []
        for name in ("ttft", "tpot"):
            share = report[f"{name}_seconds"][at] / most[f"{name}_seconds"]
            late = report["slo_violation"][name]
            # Whatever the latencies are, where the line grows all the time.
            is_late = report["overloaded"] or (
                share > 1
                if at == "mean"
                else late["mean"] + 1.645 * late["error"] > 0.05
            )
            if is_late:
                missed.append([name.upper(), share])
        assert found["missed"] == missed
        return not missed

    held = [is_held(times) for times in longer]
    assert 0 < sum(held) < len(held)
    assert held == sorted(held, reverse=True)
    asked = question("simulate_serving", {**EIGHT_H100, "load": load, "run": run})
    ladder = {"accelerator": "h100-sxm", "slower": longer, "seconds": 600.0}
    native = open_catalog((), "calibrated").native
    assert native.held_to(written({"runs": [asked], **ladder})) == sum(held)
    # Of several runs all must hold.
    late = {**asked, "run": {**run, "ttft_seconds": 0.01}}
    assert native.held_to(written({"runs": [asked, late], **ladder})) == 0
    # Where the time is over nobody knows.
    longer_run = {**asked, "run": {**run, "requests": 1_000_000}}
    over = {"runs": [longer_run], **ladder, "seconds": 0.0}
    assert native.held_to(written(over)) is None
