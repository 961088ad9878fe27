"""The seed article's serving figures, as its own arithmetic gives them."""

from typing import Any

import pytest

from planopt_reference import Facts, evaluate_serving


def evaluated(facts: Facts, **changes: Any) -> dict[str, Any]:
    question: dict[str, Any] = {
        "model": "nominal",
        "accelerator": "card",
        "host": "server8",
        "network": None,
        "nics_per_host": 0,
        "tp": 8,
        "pp": 1,
        "in_flight": 1,
        "batch": 330,
        "context": 1,
        "prompt": 1,
    }
    return evaluate_serving(facts, **(question | changes))


def test_eight_cards_in_one_server(article: Facts) -> None:
    # Weights: 140e9 B / 8 / 1e12 B/s = 17.5 ms. Products at batch 330:
    # 330 * 2 * 70e9 / 8 / 330e12 = 17.5 ms too, the knee of the roofline: they hide.
    # A message: 330 * 8192 * 2 B = 5 406 720 B, over 32 GB/s 0.16896 ms,
    # 160 of them 27.0336 ms. Together 44.5336 ms, 22.455 tokens per second.
    decode = evaluated(article)["decode"]
    assert decode["memory_seconds"] == pytest.approx(17.5e-3, rel=1e-12)
    assert decode["compute_seconds"] == pytest.approx(0, abs=1e-12)
    assert decode["communication_seconds"] == pytest.approx(27.0336e-3, rel=1e-12)
    assert decode["step_seconds"] == pytest.approx(44.5336e-3, rel=1e-12)
    assert decode["tokens_per_second_per_user"] == pytest.approx(22.455, rel=1e-5)


def test_an_operation_counts_to_what_bounds_it(article: Facts) -> None:
    # Twice the batch of the knee: 35 ms of arithmetic hide the 17.5 ms of reading.
    decode = evaluated(article, batch=660)["decode"]
    assert decode["compute_seconds"] == pytest.approx(35e-3, rel=1e-12)
    assert decode["memory_seconds"] == 0
    assert decode["host_seconds"] == 0


def test_a_single_prompt_pays_the_relay_through_the_host(article: Facts) -> None:
    # 8192 * 2 B over 32 GB/s is 0.5 us, less than the 30 us of software:
    # 160 * 30 us = 4.8 ms. 17.5 + 4.8 = 22.3 ms.
    decode = evaluated(article, batch=1)["decode"]
    assert decode["step_seconds"] == pytest.approx(22.3e-3, rel=1e-12)


def test_a_whole_machine_over_its_scale_up_link(article: Facts) -> None:
    # 140e9 / 8 / 3.35e12 = 5.22388 ms; 295 * 8192 * 2 B / 450e9 B/s = 10.7406 us,
    # 160 of them 1.71850 ms: 6.94238 ms, 144.043 tokens per second.
    evaluation = evaluated(article, accelerator="board", host="machine", batch=295)
    decode = evaluation["decode"]
    assert decode["step_seconds"] == pytest.approx(6.94238e-3, rel=1e-5)
    assert decode["tokens_per_second_per_user"] == pytest.approx(144.043, rel=1e-5)


def test_eight_desktops_in_a_pipeline(article: Facts) -> None:
    # A stage: 17.5 ms. A hop over 10 Gbit/s: 5 406 720 / 1.25e9 + 0.7 ms = 5.025376 ms,
    # eight of them because the last stage returns its token: 40.203008 ms.
    # 8 * 17.5 + 40.203008 = 180.203008 ms. With 8 micro-batches in flight the stages
    # ask for 8 * 17.5 = 140 ms only, so a turn decides.
    evaluation = evaluated(
        article, host="desktop", network="ten", nics_per_host=1, tp=1, pp=8, in_flight=8
    )
    decode = evaluation["decode"]
    assert decode["step_seconds"] == pytest.approx(180.203008e-3, rel=1e-12)
    assert decode["communication_seconds"] == pytest.approx(40.203008e-3, rel=1e-12)
    # 8 * 330 sequences each get a token in a turn.
    assert decode["tokens_per_second"] == pytest.approx(8 * 330 / 180.203008e-3)
    assert evaluation["hosts"] == 8
    assert evaluation["accelerators"] == 8


def test_eight_desktops_as_one_tensor_parallel_group(article: Facts) -> None:
    # 5 406 720 B over 200 Gbit/s = 25 GB/s: 0.2162688 ms, 160 of them 34.603008 ms,
    # and 17.5 ms: 52.103008 ms, 19 tokens per second.
    evaluation = evaluated(
        article, host="desktop", network="two-hundred", nics_per_host=1
    )
    assert evaluation["decode"]["step_seconds"] == pytest.approx(
        52.103008e-3, rel=1e-12
    )


def test_four_cards_share_one_nic(article: Facts) -> None:
    # Two stages of 17.5 ms; 160 messages of 0.16896 ms inside the hosts: 27.0336 ms.
    # Two hops, each of 4 full activations through one 25 Gbit/s NIC:
    # 4 * 5 406 720 / 3.125e9 = 6.9206016 ms, and 0.7 ms + 2 us: 7.6226016 ms.
    # 35 + 27.0336 + 2 * 7.6226016 = 77.2788032 ms: 13 tokens per second.
    evaluation = evaluated(
        article, host="server4", network="direct", nics_per_host=1, tp=4, pp=2
    )
    expected = 77.2788032e-3
    assert evaluation["decode"]["step_seconds"] == pytest.approx(expected, rel=1e-12)
    assert evaluation["hosts"] == 2


def test_stages_limit_a_pipeline_that_is_overfull(article: Facts) -> None:
    # 16 micro-batches queue at stages of 17.5 + 13.5168 ms each: 496.2688 ms, more than
    # the turn of 77.2788032 ms.
    decode = evaluated(
        article,
        host="server4",
        network="direct",
        nics_per_host=1,
        tp=4,
        pp=2,
        in_flight=16,
    )["decode"]
    assert decode["step_seconds"] == pytest.approx(496.2688e-3, rel=1e-12)


def test_two_batches_hide_messages_and_take_turns(article: Facts) -> None:
    # The stage takes max(17.5, 27.0336) ms; each batch has every other step.
    decode = evaluated(article, overlap="two-batch")["decode"]
    assert decode["step_seconds"] == pytest.approx(27.0336e-3, rel=1e-12)
    assert decode["tpot_seconds"] == pytest.approx(54.0672e-3, rel=1e-12)
    # 330 / 27.0336 ms: the article's 12 207 tokens per second.
    assert decode["tokens_per_second"] == pytest.approx(12207, rel=1e-4)


def test_kv_cache_of_the_article_and_of_the_real_model(article: Facts) -> None:
    # 2 * 80 * 64 * 128 * 4096 * 8 * 2 B = 80 GiB, an eighth of it on each card.
    question = {"batch": 8, "context": 4096}
    multi_head = evaluated(article, **question)["memory"]
    assert multi_head["kv_cache_bytes"] == 10 * 2**30
    # With 8 key/value heads an eighth of that.
    grouped = evaluated(article, **question, kv_heads=8)["memory"]
    assert grouped["kv_cache_bytes"] == 1.25 * 2**30


def test_weights_of_the_article_fit_eight_cards(article: Facts) -> None:
    # 140 GB / 8 = 17.5 GB and 10 GiB = 10.74 GB are more than 24 GB; 1.34 GB are not.
    too_much = evaluated(article, batch=8, context=4096)
    assert [one["code"] for one in too_much["rejections"]] == ["memory"]
    assert too_much["memory"]["total_bytes"] == pytest.approx(17.5e9 + 10 * 2**30)
    assert too_much["decode"] is not None
    assert evaluated(article, batch=8, context=4096, kv_heads=8)["feasible"]


def test_every_micro_batch_keeps_its_cache(article: Facts) -> None:
    one = evaluated(article, batch=1, context=100)["memory"]["kv_cache_bytes"]
    three = evaluated(article, batch=1, context=100, in_flight=3)["memory"]
    assert three["kv_cache_bytes"] == 3 * one
    both = evaluated(article, batch=1, context=100, in_flight=3, overlap="two-batch")
    assert both["memory"]["kv_cache_bytes"] == 6 * one


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({"tp": 3}, ["heads"]),
        ({"tp": 16, "host": "server4"}, ["network"]),
        ({"tp": 8, "host": "server4", "network": "ten", "nics_per_host": 1}, []),
        ({"tp": 1, "pp": 81, "host": "server8"}, ["layers"]),
        ({"weights": "fp8"}, ["format"]),
        ({"weights": "fp7"}, ["format"]),
        ({"weights": "int4"}, []),
    ],
)
def test_rejections(article: Facts, changes: dict[str, Any], codes: list[str]) -> None:
    evaluation = evaluated(article, **changes)
    assert [one["code"] for one in evaluation["rejections"]] == codes
    assert evaluation["feasible"] == (not codes)
    assert (evaluation["decode"] is None) == bool(codes)


def test_a_step_with_everything_switched_on(engine: Facts) -> None:
    # A layer on one board: its product reads 875e6 * 2 B and moves 8000 + 109 375
    # elements of 2 B at 3.35 TB/s; its attention reads 100 tokens of 2 * 64 * 128
    # elements of 2 B at 80 % of that; each costs 2 us more, and a step 1 ms. Arithmetic
    # takes less: 1.75e9 FLOP at 989e12 * 0.5 / 17 and more are 61 us of 522 us.
    evaluation = evaluated(
        engine, accelerator="board", host="machine", tp=1, batch=1, context=100
    )
    product = (1.75e9 + 117_375 * 2) / 3.35e12
    attention = 100 * 32_768 / (3.35e12 * 0.8)
    expected = 1e-3 + 80 * (product + attention + 2 * 2e-6)
    decode = evaluation["decode"]
    assert decode["step_seconds"] == pytest.approx(expected, rel=1e-12)
    assert decode["memory_seconds"] == pytest.approx(80 * (product + attention))
    # A prompt of one token: the same product, and a cache of one token.
    attention = 32_768 / (3.35e12 * 0.8)
    expected = 1e-3 + 80 * (product + attention + 2 * 2e-6)
    assert evaluation["prefill"]["seconds"] == pytest.approx(expected, rel=1e-12)
