"""What to know before acting on a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.catalog.quality import cost_in_quality, quality_of
from planopt.documents.evaluation import answering
from planopt.documents.parts import PlanWarning
from planopt.planning.cold import cold_plan, displaced
from planopt.planning.held_back import span
from planopt.price_sources import GIVEN, OLD_PRICE_DAYS, age_days
from planopt.summary import tpot
from planopt.units import SECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from planopt.catalog.open import Catalog
    from planopt.documents.evaluation import Memory
    from planopt.documents.explanations import Sensitivity
    from planopt.documents.parts import BomLine
    from planopt.documents.training import TrainingMemory
    from planopt.planning.question import ServingQuestion, TrainingQuestion
    from planopt.serving.build import Build
    from planopt.training.build import TrainingBuild

PCIE_CHANGE = "all-reduce over PCIe"
"""How `sensitivity` calls a change of the class of a host's all-reduce."""
LOW_MARGIN = 0.2
"""Share of the target by which a speed must clear it to be believed."""
FULL_MEMORY = 0.97
"""Share of the usable memory above which a fit has a low margin: the overheads
assumed differ by more from engine to engine."""
SAY_TODAYS = "say today's: --price ID=USD, or an overlay with --catalog DIR"
_WIDE = frozenset({"fp32", "bf16", "fp16"})


# --- Of serving -----------------------------------------------------------------------


def serving_warnings(
    question: ServingQuestion, chosen: Build
) -> tuple[PlanWarning, ...]:
    """Look for what a buyer should hear of."""
    return (
        *_context(question, chosen),
        *_low_margin(question, chosen),
        *cold_plan(question, chosen),
        *(
            warning
            for each in chosen.deployments
            for warning in (
                *displaced(each.evaluation.under_load),
                *_full_memory(
                    each.evaluation.memory,
                    "an accelerator more, less --max-model-len or --concurrency",
                ),
            )
        ),
        *_licence_warnings(
            chosen.facts.without_licence, datacenter=question.problem.datacenter
        ),
        *_quantised(question, chosen),
        *_interruptions(chosen),
        *_price_warnings(chosen.bill_of_materials),
    )


def flipped(flips: Sequence[Sensitivity]) -> tuple[PlanWarning, ...]:
    """Warn of a choice that hangs on how well a host connects its cards."""
    classes = [each for each in flips if each.change.startswith(PCIE_CHANGE)]
    if not any(each.choice_changes for each in classes):
        return ()
    return (
        PlanWarning(
            code="W004",
            message="the choice hangs on how fast cards of a host all-reduce over PCIe",
            help="measure it, then say --pcie-all-reduce slow, default or good",
        ),
    )


def _context(question: ServingQuestion, chosen: Build) -> Iterator[PlanWarning]:
    problem = question.problem
    context = problem.context_tokens
    if any(each.name == "context" for each in question.problem.assumed):
        yield PlanWarning(
            code="W005",
            message=f"context is assumed: {context} tokens per user",
            help="say --max-model-len N; memory and speed depend on it",
        )

    most = chosen.facts.max_context
    if context > most:
        yield PlanWarning(
            code="W007",
            message=f"{problem.model} was made for {most} tokens, not {context}",
            help="quality beyond its own context is not known",
        )


def _low_margin(question: ServingQuestion, chosen: Build) -> Iterator[PlanWarning]:
    target, percentile = question.problem.target, question.problem.percentile
    speed = 1 / max(tpot(each, percentile) for each in answering(chosen.deployments))
    if target and speed < target * (1 + LOW_MARGIN):
        yield PlanWarning(
            code="W001",
            message=(
                f"{speed:.2f} tok/s is only {speed / target - 1:.0%} above the target "
                f"of {target:g}: a low margin"
            ),
            help="see what --target 20 % higher would cost, under sensitivity",
        )


def _quantised(question: ServingQuestion, chosen: Build) -> Iterator[PlanWarning]:
    own, problem = chosen.facts.published, question.problem
    parameters = question.catalog.model(problem.model, problem.kv_heads).parameters
    for weights in sorted({str(d.candidate.weights) for d in chosen.deployments}):
        if weights != own and not (weights in _WIDE and own in _WIDE):
            told = cost_in_quality(weights, parameters)
            known = quality_of(weights, parameters)
            yield PlanWarning(
                code="W008",
                message=f"weights in {weights}, published in {own}: {told}",
                help=None if known is None else known.cite,
            )


def _interruptions(chosen: Build) -> Iterator[PlanWarning]:
    """Warn of instances that may be taken away while users are served."""
    for deployment in chosen.deployments:
        if deployment.hardware.terms == "spot":
            away = 1 - (deployment.hardware.goodput or 1.0)
            yield PlanWarning(
                code="W009",
                message=(
                    f"{deployment.hardware.host} on spot terms is away {away:.1%} of "
                    "the time, and whoever it serves waits meanwhile"
                ),
                help="--redundancy N buys enough to serve on when any N instances go",
            )


# --- Of training ----------------------------------------------------------------------


def run_warnings(
    question: TrainingQuestion, chosen: TrainingBuild
) -> tuple[PlanWarning, ...]:
    """Look for what a buyer should hear of."""
    accelerator = chosen.deployment.candidate.accelerator
    return (
        *_late_run(question, chosen),
        *_full_memory(
            chosen.evaluation.memory,
            "more sharding, more stages or recomputation lowers it",
        ),
        *_licence_warnings(
            _without_licence(question.catalog, accelerator),
            datacenter=question.problem.datacenter,
        ),
        *_price_warnings(chosen.bill_of_materials),
    )


def _without_licence(catalog: Catalog, accelerator: str) -> Iterator[str]:
    """Name an accelerator whose licence forbids data centers."""
    if catalog.text("accelerators", accelerator, "datacenter_licence") == "false":
        yield catalog.show("accelerators", accelerator).name


def _late_run(
    question: TrainingQuestion, chosen: TrainingBuild
) -> Iterator[PlanWarning]:
    deadline = question.problem.deadline_seconds
    if deadline is None:
        return
    asked = deadline / SECONDS_PER_DAY
    spare = asked / chosen.days - 1
    days = chosen.evaluation.intervals.get("days")
    if days is not None and days.high > asked:
        yield PlanWarning(
            code="W001",
            message=(
                f"the {days.level:.0%} interval of the run, {span(days.low)} to "
                f"{span(days.high)}, straddles the deadline of {span(asked)}"
            ),
            help=f"`--deadline {asked / (days.high / chosen.days):.3g}d` asks for a "
            "plan whose interval clears it",
        )
    elif spare < LOW_MARGIN:
        yield PlanWarning(
            code="W001",
            message=(
                f"{span(chosen.days)} are only {spare:.0%} below the deadline of "
                f"{span(asked)}: a low margin"
            ),
            help="see what an earlier --deadline would cost, under sensitivity",
        )


# --- Of either ------------------------------------------------------------------------


def _full_memory(
    memory: Memory | TrainingMemory | None, help: str
) -> Iterator[PlanWarning]:
    """Warn of memory that is nearly full."""
    if memory is None or not memory.capacity_bytes:
        return
    full = memory.total_bytes / memory.capacity_bytes
    if full > FULL_MEMORY:
        yield PlanWarning(
            code="W001",
            message=(
                f"the fullest accelerator is {full:.1%} full of what may be used: "
                "a low margin"
            ),
            help=help,
        )


def _licence_warnings(
    without: Iterable[str], *, datacenter: bool
) -> Iterator[PlanWarning]:
    """Warn of parts that may not be used in data centers, unless they were left out."""
    if datacenter:
        return
    for name in without:
        yield PlanWarning(
            code="W003",
            message=f"the driver licence of {name} forbids data centers",
            help="--datacenter leaves such parts out",
        )


def _price_warnings(bill: Sequence[BomLine]) -> Iterator[PlanWarning]:
    """Warn of prices remembered rather than read, and of prices that are old."""
    remembered, old, undated = [], [], []
    for line in bill:
        if not (line.unit_price_usd or line.unit_usd_per_hour):
            continue
        if line.price_status in (None, GIVEN):
            continue
        age = age_days(line.price_date)
        if age is None:
            undated.append(line.name)
        elif age > OLD_PRICE_DAYS:
            old.append(f"{line.name} ({line.price_date})")
        if line.price_status == "from-memory":
            remembered.append(line.name)
    for code, prices, names, help in (
        ("W002", "prices from memory, to be checked", remembered, None),
        ("W006", "prices of a list without a date", undated, SAY_TODAYS),
        ("W006", "prices older than a year", old, SAY_TODAYS),
    ):
        if names:
            message = f"{prices}: {', '.join(names)}"
            yield PlanWarning(code=code, message=message, help=help)
