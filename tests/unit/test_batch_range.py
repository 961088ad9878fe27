"""A range of batches: larger ones are paid for in tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import planopt
from planopt.errors import InputError
from planopt.report.plan import render_plan

if TYPE_CHECKING:
    from planopt.documents.plan import TrainingPlan

SMALL: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "tokens": "100B",
    "deadline": "20d",
    "accelerators": "h100-sxm",
    "network": "infiniband-400g",
}
LARGE: dict[str, Any] = {
    "model": "llama-2-70b",
    "tokens": "2T",
    "deadline": "30d",
    "accelerators": "a100-sxm-80",
    "network": "infiniband-200g",
    "time_limit": "300s",
}


@pytest.fixture(scope="module")
def large() -> TrainingPlan:
    return planopt.train(**LARGE, global_batch="1024..16384")


def test_a_larger_batch_books_no_saving_that_is_paid_in_tokens(
    large: TrainingPlan,
) -> None:
    """The issue's case: with tokens unchanged the largest batch looks cheaper."""
    plain = planopt.train(**LARGE, global_batch=1024)
    free = planopt.train(**LARGE, global_batch=16384)
    assert plain.price_usd is not None
    assert free.price_usd is not None
    assert free.price_usd < 0.98 * plain.price_usd
    assert large.price_usd == plain.price_usd
    assert (large.request.global_batch, large.request.tokens) == (1024, 2e12)
    assert large.status == "optimal"


def test_a_larger_batch_never_needs_fewer_tokens(large: TrainingPlan) -> None:
    told = large.batches
    assert told is not None
    assert [each.global_batch for each in told.tried] == [1024, 2048, 4096, 8192, 16384]
    tokens = [each.tokens for each in told.tried]
    assert tokens == sorted(tokens)
    assert tokens[0] == told.stated_tokens == 2e12
    # Kaplan's law by hand: 68.5e9 parameters in layers, a loss of 1.72, 15.0M tokens.
    assert told.critical_batch_tokens == pytest.approx(14.99e6, rel=0.001)
    grown = (1 + 16384 * 4096 / 14.99e6) / (1 + 1024 * 4096 / 14.99e6)
    assert tokens[-1] / tokens[0] == pytest.approx(grown, rel=0.001)


def test_a_range_of_one_batch_is_the_plain_question() -> None:
    plain = planopt.train(**SMALL, global_batch=512)
    ranged = planopt.train(**SMALL, global_batch="512..512")
    assert ranged.request.tokens == plain.request.tokens
    assert ranged.deployments == plain.deployments
    assert (ranged.price_usd, ranged.status) == (plain.price_usd, plain.status)
    assert ranged.batches is not None
    assert len(ranged.batches.tried) == 1


def test_the_best_of_a_range_is_that_of_its_batches_asked_alone() -> None:
    """With a large critical batch more replicas pay; each is asked by itself too."""
    ranged = planopt.train(
        **SMALL, global_batch="64..512", critical_batch="50M", time_limit="300s"
    )
    told = ranged.batches
    assert told is not None
    alone = {}
    for each in told.tried:
        asked = {**SMALL, "tokens": each.tokens, "global_batch": each.global_batch}
        plan = planopt.train(**asked)
        alone[each.global_batch] = plan.price_usd
        assert each.price_usd in (None, plan.price_usd)
    priced = {batch: usd for batch, usd in alone.items() if usd is not None}
    assert ranged.price_usd == min(priced.values())
    assert alone[ranged.request.global_batch or 0] == ranged.price_usd
    assert told.stated_batch == 512
    assert told.critical_batch_tokens == 50e6
    assert told.critical_batch_source == "as it was given"


def test_what_a_plan_says_of_its_batches_is_recomputed(large: TrainingPlan) -> None:
    assert planopt.verify(large)
    told = msgspec.to_builtins(large)
    for path, value in {
        ("batches", "critical_batch_tokens"): 9e6,
        ("batches", "stated_batch"): 2048,
        ("batches", "stated_tokens"): 1e12,
        ("batches", "tried", 1, "tokens"): 2.2e12,
        ("batches", "tried", 1, "price_usd"): 1e6,
        ("batches", "tried", 0, "days"): 3.0,
        ("request", "tokens"): 1.5e12,
        ("batches",): None,
    }.items():
        forged = msgspec.json.decode(msgspec.json.encode(told))
        *inside, last = path
        of = forged
        for key in inside:
            of = of[key]
        of[last] = value
        assert not planopt.verify(msgspec.convert(forged, type(large))), path


def test_a_screen_says_what_each_batch_needs(large: TrainingPlan) -> None:
    said = str(render_plan(large, details=True))
    assert (
        "tokens to the same loss grow by 1 + batch / critical batch (15M,"
        in " ".join(said.split())
    )


@pytest.mark.parametrize(
    ("options", "code", "flag"),
    [
        ({"global_batch": "4096..1024"}, "E003", "--global-batch"),
        ({"global_batch": "0..1024"}, "E003", "--global-batch"),
        ({"global_batch": "1..many"}, "E003", "--global-batch"),
        ({"global_batch": 1024, "critical_batch": "15M"}, "E004", "--critical-batch"),
        (
            {"global_batch": "8..64", "lora_rank": 16},
            "E005",
            "--critical-batch",
        ),
    ],
)
def test_what_is_no_range_is_refused(
    options: dict[str, Any], code: str, flag: str
) -> None:
    with pytest.raises(InputError) as refused:
        planopt.train(**{**SMALL, **options})
    assert [(each.code, each.field) for each in refused.value.diagnostics] == [
        (code, flag)
    ]


def test_a_larger_batch_is_proposed_with_its_tokens() -> None:
    asked = {name: value for name, value in LARGE.items() if name != "network"}
    plan = planopt.train(**{**asked, "accelerators": "rtx-4090"})
    assert plan.infeasibility is not None
    changes = [each.options for each in plan.infeasibility.nearest]
    larger = [each for each in changes if "global_batch" in each]
    assert all(each["tokens"] == "3400B" for each in larger), larger
