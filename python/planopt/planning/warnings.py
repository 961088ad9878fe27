"""What to know before acting on a plan, and on a configuration.

Long prompts are mostly those of sessions and agents, which begin with what was read
before. How much of that a cache still holds is not known here, so nothing is counted
on: a warning says what is at stake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace as with_changes

from planopt.catalog.open import Catalog
from planopt.catalog.quality import cost_in_quality, quality_of
from planopt.documents.evaluation import (
    Deployment,
    Memory,
    Percentiles,
    UnderLoad,
    answering,
)
from planopt.documents.explanations import Sensitivity
from planopt.documents.parts import BomLine, PlanWarning
from planopt.documents.training import TrainingMemory
from planopt.loads import Arrivals, Latencies, Length, Load, Sizes
from planopt.planning.alternatives import span
from planopt.planning.question import ServingQuestion, TrainingQuestion
from planopt.planning.settle import simulated_build
from planopt.price_sources import GIVEN, OLD_PRICE_DAYS, age_days
from planopt.serving.build import Build
from planopt.serving.load import Trial, configuration_of, estimated
from planopt.summary import tpot
from planopt.training.build import TrainingBuild
from planopt.units import SECONDS_PER_DAY

PCIE_CHANGE = "all-reduce over PCIe"
"""How `sensitivity` calls a change of the class of a host's all-reduce."""
LOW_MARGIN = 0.2  # Share of the target by which a speed must clear it to be believed
FULL_MEMORY = 0.97
"""Share of the usable memory above which a fit has a low margin: the overheads
assumed differ by more from engine to engine."""
LESS_MEMORY = "an accelerator more, less --max-model-len or --concurrency"
LESS_MEMORY_OF_A_RUN = "more sharding, more stages or recomputation lowers it"
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
                *_full_memory(each.evaluation.memory, LESS_MEMORY),
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
    problem, most = question.problem, chosen.facts.max_context
    context = problem.context_tokens
    if any(each.name == "context" for each in problem.assumed):
        yield PlanWarning(
            code="W005",
            message=f"context is assumed: {context} tokens per user",
            help="say --max-model-len N; memory and speed depend on it",
        )
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
    for weights in sorted({str(d.candidate.weights) for d in chosen.deployments}):
        if weights != own and not (weights in _WIDE and own in _WIDE):
            model = question.catalog.model(problem.model, problem.kv_heads)
            parameters = model.parameters
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
        *_full_memory(chosen.evaluation.memory, LESS_MEMORY_OF_A_RUN),
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
    of, problem = chosen.deployment, question.problem
    left = problem.time_left(of.candidate.accelerator, of.hardware)
    if left is None or problem.deadline_seconds is None:
        return
    asked = left / SECONDS_PER_DAY
    wait = problem.deadline_seconds / SECONDS_PER_DAY - asked
    spare = asked / chosen.days - 1
    days = chosen.evaluation.intervals.get("days")
    if days is not None and days.high > asked:
        yield PlanWarning(
            code="W001",
            message=(
                f"the {days.level:.0%} interval of the run, {span(days.low)} to "
                f"{span(days.high)}, straddles the deadline of {span(asked)}"
            ),
            help=f"`--deadline {wait + asked * chosen.days / days.high:.3g}d` asks for "
            "a plan whose interval clears it",
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


# --- Of prompts that are taken as cold ------------------------------------------------


COLD_PROMPT_TOKENS = 8192  # Prompts up to it are taken to be cold without a word
HIT_RATES = (0.5, 0.95)
"""Shares of a prompt that are looked at: a beginning in common, a session's history."""

REQUESTS = 500
"""Requests of a plan that are simulated for each: what is told beside an answer may not
take as long as to find it."""


def cold_load(
    load: Load, cold: Latencies | None, under: Callable[[Load], Latencies | None]
) -> Iterator[PlanWarning]:
    """Warn of a load of long prompts on a configuration."""

    def outcome(hits: float) -> str | None:
        found = under(with_changes(load, prefix_hit_rate=hits)) if hits else cold
        if found is None:
            return None
        carried = f"{_three(found.tokens_per_second)} tok/s"
        if found.users is None:
            carried = f"{_three(found.requests_per_second)} requests/s"
        return _wait_and("p95", found.ttft_seconds, carried)

    help_ = "--prefix-hit-rate 50% counts on it"
    yield from _warning(load.mean_prompt, outcome, help_)


def displaced(load: UnderLoad | None) -> Iterator[PlanWarning]:
    """Warn of prompts that push each other out of the cache."""
    cache = None if load is None else load.sessions or load.prefix_cache
    if cache is None or not cache.thrashes:
        return
    yield PlanWarning(
        code="W013",
        message=f"thrash: {cache.hit_rate:.1%} of prompts found, of "
        f"{cache.all_hit_rate:.1%} that could be: KV for "
        f"{cache.kv_tokens / 1e6:.3g}M tokens a replica, {cache.whose} "
        f"{cache.needed_kv_tokens / 1e6:.3g}M",
        help="more replicas, --kv fp8, --host-cache, or fewer sessions: what is read "
        "again takes the room of what would be found",
    )


def cold_plan(question: ServingQuestion, chosen: Build) -> Iterator[PlanWarning]:
    """Warn of a plan whose prompts are long."""
    problem = question.problem
    if problem.prefix_hit_rate is not None or problem.finds:
        return
    judged = problem.percentile is not None

    def outcome(hits: float) -> str | None:
        if judged:
            return _under_its_load(question, chosen, hits)
        return _single_user(question, chosen, hits)

    help_ = (
        "--prefix-hit-rate 50% counts on it: fewer machines may do for prompts that "
        "are found"
    )
    prompt = question.problem.prompt_tokens
    on = {each.candidate.accelerator for each in chosen.deployments}
    yield from _warning(prompt, outcome, help_, where=f"on {', '.join(sorted(on))}, ")


def _warning(
    prompt_tokens: float,
    outcome: Callable[[float], str | None],
    help_: str,
    *,
    where: str = "",
) -> Iterator[PlanWarning]:
    if prompt_tokens <= COLD_PROMPT_TOKENS:
        return
    said = [(hits, outcome(hits)) for hits in (0.0, *HIT_RATES)]
    cases = "; ".join(f"{hits:.0%} found: {what}" for hits, what in said if what)
    yield PlanWarning(
        code="W012",
        message=f"prompts taken as cold: all {prompt_tokens:,.0f} tokens of each are "
        "read, as if nothing of it were in a cache"
        + (f" ({where}{cases})" if cases else ""),
        help=help_,
    )


def _wait_and(name: str, ttft: Percentiles, carried: str) -> str:
    return f"{name} TTFT {_three(getattr(ttft, name))} s, {carried}"


def _three(number: float) -> str:
    """Give a number to three digits, and to the whole from a hundred on."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _under_its_load(
    question: ServingQuestion, chosen: Build, hits: float
) -> str | None:
    """Say how long the promised share of requests waits, and what is carried."""
    if hits:
        trial = Trial(REQUESTS, prefix_hit_rate=hits)
        chosen = simulated_build(question, chosen, trial)
    evaluations = [each.evaluation for each in answering(chosen.deployments)]
    if any(each.under_load is None for each in evaluations):
        return None
    at = question.problem.percentile or "p95"
    slowest = max(
        (each.ttft_seconds for each in evaluations),
        key=lambda ttft: getattr(ttft, at) or 0.0,
    )
    loads = [each.under_load for each in evaluations if each.under_load is not None]
    tokens = sum(load.tokens_per_second or 0.0 for load in loads)
    carried = f"{_three(tokens)} tok/s"
    if question.problem.requests_per_second is not None and chosen.transfer is None:
        carried = f"at most {_three(_most_requests(question, chosen, hits))} requests/s"
    return _wait_and(at, slowest, carried)


def _most_requests(question: ServingQuestion, chosen: Build, hits: float) -> float:
    """Give the requests per second with every place taken, by the closed form."""
    load = question.problem.whole_load
    if load is None:
        return 0.0
    whole = with_changes(load, prefix_hit_rate=hits)
    full = _estimates(question, chosen, lambda each: whole.of_users(each.users))
    return sum(each.requests_per_second for each in full)


def _single_user(question: ServingQuestion, chosen: Build, hits: float) -> str | None:
    """Say how long a single user waits, by the closed form, at the slowest."""
    problem = question.problem
    alone = Load(
        arrivals=Arrivals(kind="closed", users=1),
        sizes=Sizes(
            kind="independent",
            prompt=Length.about(problem.prompt_tokens, None),
            output=Length.about(problem.output_tokens, None),
        ),
        prefix_hit_rate=hits,
    )
    found = _estimates(question, chosen, lambda _: alone)
    waits = [each.ttft_seconds.mean or 0.0 for each in found]
    return f"TTFT of a single user {_three(max(waits))} s" if waits else None


def _estimates(
    question: ServingQuestion, chosen: Build, load: Callable[[Deployment], Load]
) -> Iterator[Latencies]:
    """Estimate each deployment under a load of its own, where that can be done."""
    problem = question.problem
    for each in chosen.deployments:
        scheduler = {"scheduler": problem.asked["scheduler"]}
        asked = {**configuration_of(problem, each), **scheduler}
        found = estimated(question.catalog, asked, load(each))
        if found is not None:
            yield found
