"""What all tests share: the shared data folder, and plans made by hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from planopt.documents.base import render_with
from planopt.documents.evaluation import (
    Decode,
    Deployment,
    Memory,
    Prefill,
    ServingEvaluation,
    TimeParts,
)
from planopt.documents.explanations import (
    Alternative,
    Answer,
    Answers,
    Change,
    Infeasibility,
    Limit,
    Sensitivity,
)
from planopt.documents.parts import (
    Accuracy,
    Assumed,
    BillOfMaterials,
    BomLine,
    Candidate,
    Hardware,
    PlanCost,
    PlanWarning,
    Search,
)
from planopt.documents.plan import Plan, Request
from planopt.planning.question import TrainingQuestion
from planopt.report import document

if TYPE_CHECKING:
    from collections.abc import Generator

# Documents of inner modules are laid out as those that planopt gives out.
render_with(document)

REPOSITORY = Path(__file__).resolve().parent.parent


PATIENCE = 12
"""Times that a run's search may take as long as people give it: machines are busy."""


@pytest.fixture(autouse=True, scope="session")
def unhurried() -> Generator[None]:
    """Search for runs by the question and not by what else a machine does."""
    with pytest.MonkeyPatch.context() as patch:
        late = property(
            lambda asked: asked.started + PATIENCE * asked.problem.time_limit_seconds
        )
        patch.setattr(TrainingQuestion, "ends", late, raising=False)
        yield


@pytest.fixture(scope="session")
def repository() -> Path:
    """Root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of the shared data; the test is skipped where there is none."""
    named = os.environ.get("PLANOPT_SHARED")
    folder = Path(named) if named else REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"needs the shared data: PLANOPT_SHARED, not {folder}")
    return folder


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """End the tests with a worker that died: with another in its place they hang."""
    if hasattr(config.option, "maxworkerrestart"):
        config.option.maxworkerrestart = 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that skips although the data it needs was promised."""
    report = yield
    needs_it = "shared" in getattr(item, "fixturenames", ())
    if report.skipped and needs_it and os.environ.get("PLANOPT_SHARED"):
        report.outcome = "failed"
        report.longrepr = f"PLANOPT_SHARED is set, and yet: {report.longreprtext}"
    return report


def _line(
    kind: str, id_: str, name: str, quantity: int, unit_price: float, source: str
) -> BomLine:
    return BomLine(
        kind=kind,
        id=id_,
        name=name,
        quantity=quantity,
        unit_price_usd=unit_price,
        price_usd=quantity * unit_price,
        source=source,
    )


def _parts(*seconds: float) -> dict[str, float]:
    """What a time consists of: arithmetic, memory, messages, offload, host."""
    return dict(zip(TimeParts.__struct_fields__, seconds, strict=True))


@pytest.fixture
def plan() -> Plan:
    """A plan with every part filled in; its figures are made up, but add up."""
    # 8 x 1,600 + 2 x 3,000 + 2 x 150 = 19,100
    bill = (
        _line("accelerator", "rtx-4090", "GeForce RTX 4090", 8, 1600.0, "list, 2022"),
        _line("host", "pcie-4gpu", "4-GPU PCIe server", 2, 3000.0, "article, 2023"),
        _line("nic", "nic-10g", "Intel X710-DA2", 2, 150.0, "article, 2023"),
    )
    evaluation = ServingEvaluation(
        feasible=True,
        memory=Memory(
            weights_bytes=17.24e9,
            kv_cache_bytes=5.41e9,
            activations_bytes=0.35e9,
            overhead_bytes=0.7e9,
            total_bytes=23.7e9,
            capacity_bytes=23.71e9,
        ),
        decode=Decode(
            **_parts(0.0003, 0.0334, 0.0468, 0.0, 0.0008),
            step_seconds=0.0813,
            waiting_seconds=0.0,
            tpot_seconds=0.0813,
            tokens_per_second_per_user=12.3,
            tokens_per_second=4057.0,
        ),
        prefill=Prefill(seconds=0.412, **_parts(0.3, 0.02, 0.09, 0.0, 0.002)),
    )
    cost = PlanCost(
        price_usd=19100.0,
        usd_per_hour=1.2336,
        usd_per_million_tokens=0.0845,
        tokens_per_usd=1 / 0.0845 * 1e6,
    )
    return Plan(
        status="optimal",
        price_usd=19100.0,
        bound_usd=19100.0,
        gap=0.0,
        request=Request(
            model="llama-2-70b",
            target_tokens_per_second=5.0,
            budget_usd=20000.0,
            concurrency=330,
            context_tokens=400,
            typed={"target": "5tok/s", "budget": "20000"},
        ),
        bill_of_materials=BillOfMaterials(bill),
        deployments=(
            Deployment(
                model="llama-2-70b",
                candidate=Candidate(
                    accelerator="rtx-4090",
                    tp=4,
                    pp=2,
                    batch=165,
                    in_flight=2,
                    weights="fp16",
                    kv="fp16",
                ),
                hardware=Hardware(
                    host="pcie-4gpu", hosts=2, network="ethernet-10g", nics_per_host=1
                ),
                evaluation=evaluation,
                bill_of_materials=bill,
            ),
        ),
        answers=Answers(
            cheapest=Answer(
                objective="cheapest",
                status="optimal",
                price_usd=19100.0,
                usd_per_million_tokens=0.0845,
                tokens_per_second=4057.0,
                tokens_per_second_per_user=12.3,
                users=330,
                bill_of_materials=bill,
            ),
            throughput=Answer(
                objective="throughput",
                status="optimal",
                price_usd=19400.0,
                usd_per_million_tokens=0.0791,
                tokens_per_second=4422.0,
                tokens_per_second_per_user=13.4,
                users=330,
                summary="the same with 25 Gbit/s between the servers",
            ),
        ),
        cost=cost,
        power_watts=4220.0,
        alternatives=(
            Alternative(
                summary="8x GeForce RTX 4090 in 2 servers, 25 Gbit/s, TP4 x PP2",
                why_not="$300 more",
                price_usd=19400.0,
                tokens_per_second_per_user=13.4,
                tokens_per_second=4422.0,
            ),
            Alternative(
                summary="8 desktops, 10 Gbit/s and a switch, PP8",
                why_not="over budget by $1,100; its speed falls below the target when "
                "every cache is full",
                price_usd=21100.0,
                tokens_per_second_per_user=5.5,
            ),
        ),
        sensitivity=(
            Sensitivity(
                change="GeForce RTX 4090 at $1,712",
                result="still within the budget",
                price_usd=19996.0,
            ),
        ),
        warnings=(
            PlanWarning(
                code="W003",
                message="the licence of GeForce RTX 4090 forbids data centers",
                help="`--datacenter` leaves such parts out",
            ),
        ),
        search=Search(
            candidates_covered=12345,
            candidates_evaluated=10000,
            candidates_pruned=2345,
            rejected={"memory": 812, "heads": 40},
            seconds=0.25,
        ),
        assumed=(
            Assumed(name="model", value="llama-2-70b"),
            Assumed(
                name="context", value="400 tokens per user", why="say --max-model-len N"
            ),
        ),
        assumptions="calibrated",
        accuracy=Accuracy(statement="Not measured on this hardware yet."),
    )


@pytest.fixture
def no_plan() -> Plan:
    """The answer to a question that nothing meets."""
    return Plan(
        status="infeasible",
        request=Request(
            model="llama-2-70b",
            target_tokens_per_second=5.0,
            budget_usd=15000.0,
            accelerators=("rtx-4090",),
        ),
        infeasibility=Infeasibility(
            binding=(
                Limit(name="budget", value="<= $15,000"),
                Limit(
                    name="weights",
                    value="fp16",
                    detail="137.96 GB need six RTX 4090, whose hosts come to $15,900",
                ),
            ),
            nearest=(
                Change(
                    options={"budget": "19100"},
                    summary="8 accelerators in 2 servers",
                    price_usd=19100.0,
                    tokens_per_second_per_user=12.3,
                    note="keeps every target",
                ),
                Change(
                    options={"weights": "int8", "concurrency": "165"},
                    summary="4 accelerators in one server",
                    price_usd=9400.0,
                    tokens_per_second_per_user=28.3,
                    note="changes the model's numerics: check its quality",
                ),
            ),
            note="users, context and speed play no part in the conflict",
        ),
        search=Search(candidates_covered=51, candidates_evaluated=51),
    )
