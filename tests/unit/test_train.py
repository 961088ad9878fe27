"""Clusters for training: what is bought, why, and what there is where nothing is."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import planopt
from planopt.catalog.open import open_catalog
from planopt.documents.plan import TrainingPlan
from planopt.documents.training import TrainingDocument, TrainingEvaluation
from planopt.errors import InputError
from planopt.market import read_market
from planopt.options import Asked
from planopt.procurement.problem import Limits
from planopt.report.plan import render_plan
from planopt.second_opinion import schema
from planopt.training.build import lay_clusters_out
from planopt.training.problem import TrainingProblem, find_clusters

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAY = 86_400.0
LLAMA: dict[str, Any] = {"model": "llama-2-70b", "tokens": "2T", "deadline": "30d"}
SMALL: dict[str, Any] = {
    "model": "llama-3.2-1b",
    "tokens": 20e9,
    "seq_len": 2048,
    "global_batch": 64,
    "max_accelerators": 32,
    "accelerators": "l40s",
}


@pytest.fixture(scope="module")
def a100() -> TrainingPlan:
    return planopt.train(**LLAMA, accelerators="a100-sxm-80")


@pytest.fixture(scope="module")
def rtx_4090() -> TrainingPlan:
    return planopt.train(**LLAMA, accelerators="rtx-4090")


# --- What is bought -------------------------------------------------------------------


def test_llama_2_70b_takes_as_many_a100_hours_as_published(a100: TrainingPlan) -> None:
    """1.72M hours at 43.5 % MFU were published; other A100 runs reach 51 to 56 %."""
    (deployment,) = a100.deployments
    evaluation = deployment.evaluation

    assert a100.status == "optimal"
    assert 1.25e6 <= (evaluation.run.accelerator_hours or 0) <= 1.98e6
    assert 0.3 < (evaluation.mfu or 0) < 0.7
    assert 0.9 < (evaluation.goodput or 0) < 1.0
    assert (evaluation.days or math.inf) <= 30


def test_price_is_the_sum_of_the_bill(a100: TrainingPlan) -> None:
    total = sum(line.price_usd or 0.0 for line in a100.bill_of_materials)

    assert total == pytest.approx(a100.price_usd, rel=1e-12)
    assert a100.bound_usd is not None
    assert a100.price_usd is not None
    assert a100.bound_usd <= a100.price_usd


def test_layout_uses_the_accelerators_that_it_says(a100: TrainingPlan) -> None:
    (deployment,) = a100.deployments
    candidate = deployment.candidate
    degrees = candidate.tp * candidate.pp * candidate.dp * candidate.cp

    assert deployment.evaluation.accelerators == degrees
    assert candidate.global_batch == (
        candidate.batch * candidate.dp * (candidate.micro_batches or 0)
    )


def test_plan_says_what_a_run_takes(a100: TrainingPlan) -> None:
    shown = str(render_plan(a100, details=True))

    for figure in ("MFU", "goodput", "accelerator-hours", "kWh", "kg CO2e", "cheapest"):
        assert figure in shown


def test_less_time_is_never_cheaper() -> None:
    prices = [
        planopt.train(**{**SMALL, "deadline": f"{days}d"}).price_usd or math.inf
        for days in (30, 20, 10, 5)
    ]

    assert prices == sorted(prices)
    assert prices[0] < math.inf


def test_more_money_is_never_slower() -> None:
    days = []
    for budget in (40_000, 80_000, 160_000):
        plan = planopt.train(**SMALL, budget=budget)
        assert plan.objective == "throughput"
        assert (plan.price_usd or math.inf) <= budget
        days.append(plan.deployments[0].evaluation.days or math.inf)

    assert days == sorted(days, reverse=True)


@pytest.mark.parametrize(
    ("limit", "of"),
    [
        ({"max_power": "20kW"}, lambda plan: plan.power_watts <= 20_000),
        ({"max_accelerators": 12}, lambda plan: _accelerators(plan) <= 12),
        ({"stock": {"l40s": 10}}, lambda plan: _accelerators(plan) <= 10),
    ],
)
def test_limits_hold(limit: dict[str, Any], of: Any) -> None:
    plan = planopt.train(**{**SMALL, "deadline": "60d", **limit})

    assert plan.status == "optimal"
    assert of(plan)


def _accelerators(plan: TrainingPlan) -> int:
    return sum(
        line.quantity for line in plan.bill_of_materials if line.kind == "accelerator"
    )


def test_racks_too_few_are_named() -> None:
    plan = planopt.train(
        **{**SMALL, "deadline": "10d", "max_racks": 0.01},
        host="pcie-4gpu",
    )

    assert plan.infeasibility is not None
    assert "racks" in {limit.name for limit in plan.infeasibility.binding}


def test_datacenter_leaves_out_consumer_cards() -> None:
    question = {**SMALL, "accelerators": "rtx-4090,l40s", "deadline": "10d"}
    anywhere, hosted = (
        planopt.train(**question, datacenter=datacenter) for datacenter in (False, True)
    )

    assert anywhere.deployments[0].candidate.accelerator == "rtx-4090"
    assert hosted.deployments[0].candidate.accelerator == "l40s"
    assert "W003" in {warning.code for warning in anywhere.warnings}
    (desk,), (rack,) = anywhere.deployments, hosted.deployments
    assert (desk.hardware.host, rack.hardware.host) == ("desktop-2gpu", "pcie-2gpu")


def test_what_is_asked_for_and_excluded_is_refused() -> None:
    with pytest.raises(InputError, match="E004"):
        planopt.train(**LLAMA, accelerators="a100-sxm-80", exclude="a100-sxm-80")


def test_alternatives_are_other_hardware_and_say_why_not() -> None:
    plan = planopt.train(
        **{**LLAMA, "accelerators": "a100-sxm-80,h100-sxm,mi300x,rtx-4090"}
    )
    bills = [each.bill_of_materials for each in plan.alternatives]

    assert all(bill != plan.bill_of_materials for bill in bills)
    assert all(each.why_not for each in plan.alternatives)
    without = next(each for each in plan.alternatives if each.summary == "rtx-4090")
    assert "MFU" in without.why_not


@pytest.mark.parametrize("tokens", [2e9, 20e9, 60e9])
@pytest.mark.parametrize("acquire", ["buy", "rent"])
def test_what_flips_a_plan_is_what_a_whole_search_finds(
    tokens: float, acquire: str
) -> None:
    """Only clusters up to a price are looked at first: nothing cheaper is missed."""
    question = {
        **SMALL,
        "accelerators": "l40s,rtx-4090,h100-sxm",
        "tokens": tokens,
        "deadline": "10d",
        "procurement": acquire,
    }
    plan = planopt.train(**question)
    assert plan.price_usd is not None
    network = plan.deployments[0].hardware.network
    asked = [flip.change.split()[0] for flip in plan.sensitivity]
    assert asked.count("--deadline") == 2
    assert ("--network" in asked) is (network is not None)
    for flip in plan.sensitivity:
        option, value = flip.change.removeprefix("--").split()
        whole = planopt.train(**{**question, option: value})
        assert flip.price_usd == whole.price_usd
        same = whole.bill_of_materials == plan.bill_of_materials
        assert flip.choice_changes is not same


NEXT_RATES = {
    "infiniband-200g": {
        "ethernet-100g-cx5,ethernet-100g-e810",
        "ethernet-400g,ethernet-400g-optical,infiniband-400g",
    },
    "infiniband-400g": {"ethernet-200g,infiniband-200g"},
}


@pytest.mark.parametrize("deadline", ["30d", "60d"])
def test_what_a_network_is_worth_is_told_by_one_step_of_its_rate(deadline: str) -> None:
    question = {**LLAMA, "accelerators": "h100-sxm", "deadline": deadline}
    plan = planopt.train(**question)
    network = plan.deployments[0].hardware.network
    told = [each for each in plan.sensitivity if each.change.startswith("--network ")]
    best = plan.price_usd or 0.0
    assert {each.change.removeprefix("--network ") for each in told} == NEXT_RATES[
        str(network)
    ]
    for each in told:  # Neither is better, or it would be the plan.
        assert each.price_usd is None or each.price_usd >= best > 0
    pinned = planopt.train(**question, network=network)
    assert not any("network" in each.change for each in pinned.sensitivity)


def test_all_accelerators_are_searched() -> None:
    """How long it takes is measured by `benchmarks/commands.py`."""
    plan = planopt.train(**LLAMA)

    assert plan.search.candidates_covered > 1e6
    assert {"memory", "deadline", "price"} <= set(plan.search.rejected)


# --- The search -----------------------------------------------------------------------


def _layouts(most: int, batch: int, layers: int) -> Iterator[dict[str, Any]]:
    """Enumerate the space that the search states, in the plainest way."""
    shortest = {-(-layers // pp): pp for pp in range(layers, 0, -1)}
    pipelines = [(pp, 1) for pp in shortest.values()]
    pipelines += [
        (pp, vpp)
        for pp in shortest.values()
        for vpp in range(2, 9)
        if pp > 1 and layers % (pp * vpp) == 0
    ]
    for tp, (pp, vpp), micro_batch, dp in itertools.product(
        (1, 2, 4, 8), pipelines, (1, 2, 4, 8), range(1, most + 1)
    ):
        if batch % (dp * micro_batch) or tp * pp * dp > most:
            continue
        shards: list[tuple[str, int | None]] = [("none", None)]
        if dp > 1:
            shards = [("zero1", None), ("zero2", None), ("zero3", None)]
        if dp > 8 // tp > 1:
            shards.append(("zero3", 8 // tp))
        some = [f"layers:{number}" for number in range(1, -(-layers // pp))]
        for (shard, group), recompute in itertools.product(
            shards, ("none", *some, "full")
        ):
            yield {
                "tp": tp,
                "sequence_parallel": tp > 1,
                "pp": pp,
                "vpp": vpp,
                "dp": dp,
                "micro_batch": micro_batch,
                "shard": shard,
                **({} if group is None else {"shard_group": group}),
                "recompute": recompute,
            }


def _brute_force(network: str, nics: int, deadline_days: float) -> tuple[float, float]:
    """Find the least price, and the least days at it, by evaluating everything."""
    catalog = open_catalog()
    run = {
        "model": SMALL["model"],
        "accelerator": SMALL["accelerators"],
        "host": "pcie-4gpu",
        "tokens": SMALL["tokens"],
        "seq_len": SMALL["seq_len"],
        "global_batch": SMALL["global_batch"],
    }
    connection = {"network": network, "nics_per_host": nics}
    best = (math.inf, math.inf)
    for layout in _layouts(SMALL["max_accelerators"], SMALL["global_batch"], 16):
        accelerators = layout["tp"] * layout["pp"] * layout["dp"]
        over = connection if accelerators > 4 else {}
        asked = {**run, **layout, **over}
        answer = catalog.ask("evaluate_training", asked, TrainingEvaluation)
        price, days = answer.cost.price_usd, answer.days
        if answer.feasible and price and days is not None and days <= deadline_days:
            best = min(best, (price, days))
    return best


@pytest.mark.parametrize(
    ("network", "nics", "deadline_days"),
    [("ethernet-25g", 1, 12.0), ("infiniband-200g", 4, 4.0)],
)
def test_search_finds_what_trying_everything_finds(
    network: str, nics: int, deadline_days: float
) -> None:
    limits = {"deadline": f"{deadline_days}d", "network": network, "host": "pcie-4gpu"}
    asked = Asked("train", SMALL | limits)
    problem = read_market(asked, open_catalog(), TrainingProblem)
    found = find_clusters(open_catalog(), problem)
    runs = found.runs()
    cheapest = min(
        (price / 1e6, seconds / DAY)
        for price, seconds, own in zip(
            runs.price_micro_usd, runs.run_seconds, runs.nics_per_host, strict=True
        )
        if own in (0, nics)
    )

    assert cheapest == pytest.approx(
        _brute_force(network, nics, deadline_days), rel=1e-9
    )


def test_search_does_not_depend_on_the_number_of_threads() -> None:
    code = (
        "from planopt.catalog.open import open_catalog\n"
        "from planopt.market import read_market\n"
        "from planopt.training.problem import TrainingProblem\n"
        "from planopt.training.problem import find_clusters\n"
        "catalog = open_catalog()\n"
        "from planopt.options import Asked\n"
        "asked = Asked('train', {'tokens': '2T', 'deadline': '30d'})\n"
        "problem = read_market(asked, catalog, TrainingProblem)\n"
        "found = find_clusters(catalog, problem)\n"
        "print(found.search, found.runs())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "RAYON_NUM_THREADS": threads},
        ).stdout
        for threads in ("1", "2", "5")
    }

    assert len(said) == 1


def test_what_fills_the_memory_of_the_fastest_run_is_said_with_what_is_in_flight() -> (
    None
):
    plan = planopt.train(**{**SMALL, "deadline": "1h"})
    assert plan.infeasibility is not None
    note = plan.infeasibility.note or ""
    assert "GB of them activations of one micro-batch in flight" in note


def test_search_counts_every_candidate_once() -> None:
    asked = Asked("train", {**SMALL, "deadline": "1d"})
    problem = read_market(asked, open_catalog(), TrainingProblem)
    found = find_clusters(open_catalog(), problem)
    search = found.search

    rejected = sum(search.rejected.values())
    # What is not rejected has won its size: at most one for each of them.
    assert rejected <= search.candidates_covered
    assert search.candidates_evaluated <= search.candidates_covered
    again = find_clusters(open_catalog(), problem)
    assert (again.search, again.runs()) == (search, found.runs())


@pytest.mark.parametrize(
    "question",
    [
        {**LLAMA, "accelerators": "a100-sxm-80"},
        {**LLAMA, "model": "mixtral-8x7b", "accelerators": "h100-sxm"},
        {**LLAMA, "seq_len": 32_768, "global_batch": 128, "accelerators": "h200-sxm"},
        {**LLAMA, "model": "gpt3-175b", "tokens": "300B", "accelerators": "l40s"},
    ],
    ids=["dense", "experts", "long sequences", "no board"],
)
def test_a_cluster_does_what_its_evaluation_says(question: dict[str, Any]) -> None:
    catalog = open_catalog()
    problem = read_market(Asked("train", question), catalog, TrainingProblem)
    found = find_clusters(catalog, problem)

    runs = found.runs()
    builds = lay_clusters_out(found, Limits(users=1), range(len(found)))
    assert len(builds) == len(runs.run_seconds) > 0
    for row, build in enumerate(builds):
        evaluation = build.evaluation
        assert evaluation.feasible
        assert build.days * DAY == pytest.approx(runs.run_seconds[row], rel=1e-12)
        assert build.price_usd == runs.price_micro_usd[row] / 1e6
        assert evaluation.power_watts == pytest.approx(runs.power_watts[row], rel=1e-12)
        assert not build.broken


def test_a_cluster_that_is_laid_out_does_what_evaluate_says() -> None:
    """The handle and the question by names are two ways to one evaluation."""
    plan = planopt.train(**LLAMA, accelerators="h200-sxm")
    (deployment,) = plan.deployments
    candidate, hardware = deployment.candidate, deployment.hardware
    named = ("tp", "pp", "dp", "cp", "ep", "vpp", "sequence_parallel", "shard")
    again = planopt.evaluate_training(
        model=LLAMA["model"],
        tokens=LLAMA["tokens"],
        accelerator=candidate.accelerator,
        host=hardware.host,
        network=hardware.network,
        nics_per_host=hardware.nics_per_host or None,
        recompute=candidate.recompute,
        micro_batch=candidate.batch,
        global_batch=candidate.global_batch,
        **{name: getattr(candidate, name) for name in named},
    )
    of_plans = {"peak_parts"}  # What becomes of the peak is told of what is bought.
    for name in set(deployment.evaluation.__struct_fields__) - of_plans:
        assert getattr(again, name) == getattr(deployment.evaluation, name), name
    assert again.candidate == candidate
    assert again.hardware == hardware
    assert again.bill_of_materials == deployment.bill_of_materials


def _networks_for_sale() -> list[str]:
    """List those whose parts have a price, and any card takes: no lines of homes."""
    catalog = open_catalog()
    figures = {
        entry.id: {each.field for each in catalog.show("networks", entry.id).figures}
        for entry in catalog.list("networks")
    }
    return [
        id_
        for id_, fields in figures.items()
        if "nic.price" in fields
        and "nic.pcie_generation" not in fields
        and ("switch[0].price" in fields or "switch[0].id" not in fields)
    ]


@pytest.mark.parametrize("network", _networks_for_sale())
def test_more_hosts_are_never_cheaper(network: str) -> None:
    """The search looks at clusters from the smallest and stops at the first in time."""
    catalog = open_catalog()
    request = {**SMALL, "accelerator": "l40s", "host": "pcie-4gpu", "network": network}
    for name in ("max_accelerators", "accelerators"):
        del request[name]
    costs = [
        catalog.ask(
            "evaluate_training",
            {**request, "dp": dp, "global_batch": 2 * dp},
            TrainingEvaluation,
        ).cost
        for dp in (8, 16, 32, 64, 128, 200, 256, 300, 1024, 1500, 4096, 10_000, 16_384)
    ]
    prices = [cost.price_usd or math.inf for cost in costs]

    assert prices == sorted(prices)
    assert prices[0] < math.inf


# --- No plan --------------------------------------------------------------------------


def test_no_plan_says_which_limits_and_how_far_they_are(rtx_4090: TrainingPlan) -> None:
    why = rtx_4090.infeasibility

    assert rtx_4090.status == "infeasible"
    assert why is not None
    assert {"deadline", "accelerators"} <= {limit.name for limit in why.binding}
    note = why.note or ""
    for figure in ("takes", "MFU", "of a step", "activations", "fail every", "$"):
        assert figure in note


def test_each_change_has_the_plan_that_it_promises(rtx_4090: TrainingPlan) -> None:
    why = rtx_4090.infeasibility
    assert why is not None
    assert why.nearest

    for change in why.nearest:
        changed = {**LLAMA, "accelerators": "rtx-4090", **change.options}
        plan = planopt.train(**changed)
        assert plan.status == "optimal"
        assert plan.price_usd == pytest.approx(change.price_usd)


def test_a_budget_too_small_is_raised_to_what_is_needed() -> None:
    plan = planopt.train(**{**SMALL, "deadline": "10d", "budget": 1000})
    why = plan.infeasibility

    assert why is not None
    assert "budget" in {limit.name for limit in why.binding}
    raised = next(each for each in why.nearest if "budget" in each.options)
    assert planopt.train(**{**SMALL, "deadline": "10d", **raised.options}).price_usd


# --- Documents ------------------------------------------------------------------------


def test_plan_survives_a_file_and_its_schema(
    a100: TrainingPlan, rtx_4090: TrainingPlan, tmp_path: Path
) -> None:
    validator = jsonschema.Draft202012Validator(schema(TrainingPlan))

    for plan in (a100, rtx_4090):
        plan.save(tmp_path / "plan.json")
        assert TrainingPlan.load(tmp_path / "plan.json") == plan
        validator.validate(json.loads(plan.to_json()))


def test_notebook_shows_the_screen(a100: TrainingPlan, rtx_4090: TrainingPlan) -> None:
    shown = a100._repr_html_()

    assert "8x A100 80GB HGX server" in shown
    assert "MFU" in shown
    assert "infeasible: no plan" in rtx_4090._repr_html_()


def test_a_plan_for_training_is_none_for_serving(a100: TrainingPlan) -> None:
    with pytest.raises(InputError, match="E301"):
        planopt.Plan.from_json(a100.to_json())


PUBLISHED: dict[str, Any] = {
    "accelerator": "a100-sxm-80",
    "network": "infiniband-200g",
    "tp": 8,
    "pp": 4,
    "dp": 64,
    "sequence_parallel": True,
    "shard": "zero1",
    "tokens": "2T",
}
"""A layout like those that runs of 2,048 A100 were published with."""


def test_evaluation_survives_its_schema() -> None:
    evaluation = planopt.evaluate_training(**PUBLISHED)
    document = json.loads(evaluation.to_json())

    jsonschema.Draft202012Validator(schema(TrainingDocument)).validate(document)
    assert TrainingDocument.from_json(evaluation.to_json()) == evaluation
    for name in ("step_seconds", "mfu", "goodput", "days", "tokens_per_second"):
        assert document[name] > 0
    parts = sum(document["step"].values())
    assert parts == pytest.approx(document["step_seconds"], rel=1e-9)
    assert document["memory"]["total_bytes"] <= document["memory"]["capacity_bytes"]


def test_given_utilisation_gives_the_published_hours() -> None:
    evaluation = planopt.evaluate_training(
        **PUBLISHED,
        mfu=0.435,
        model_flops="6nd",
        nominal_parameters=70e9,
        global_batch=1024,
    )

    hours = evaluation.run.productive_accelerator_hours or 0
    assert hours == pytest.approx(1_720_320, rel=0.01)
    assert evaluation.mfu == pytest.approx(0.435)


def test_comparison_asks_for_each_accelerator() -> None:
    plans = planopt.compare(
        tokens="2T", deadline="30d", accelerators=["a100-sxm-80", "rtx-4090"]
    )

    assert [plan.status for plan in plans] == ["optimal", "infeasible"]
    with pytest.raises(InputError, match="--concurrency"):
        planopt.compare(  # type: ignore[call-overload] # the types say so, too
            tokens="2T", deadline="30d", users=8, accelerators="l4"
        )
