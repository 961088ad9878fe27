"""Prompts taken as cold: what it would change if a part of each were in a cache.

Long prompts are mostly those of sessions and agents, which begin with what was read
before. How much of that a cache still holds is not known here, so nothing is counted
on; this says what is at stake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace as with_changes

from planopt.documents.evaluation import answering
from planopt.documents.parts import PlanWarning
from planopt.loads import Arrivals, Length, Load, Sizes
from planopt.planning.settle import simulated_build
from planopt.serving.load import configuration_of, estimated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planopt.documents.evaluation import Percentiles, UnderLoad
    from planopt.loads import Latencies
    from planopt.planning.question import ServingQuestion
    from planopt.serving.build import Build

COLD_PROMPT_TOKENS = 8192
"""Prompts up to it are taken to be cold without a word."""
HIT_RATES = (0.5, 0.95)
"""Shares of a prompt that are looked at: a beginning in common, a session's history."""

REQUESTS = 500
"""Requests of a plan that are simulated for each: what is told beside an answer may not
take as long as to find it."""


def cold_load(
    load: Load,
    cold: Latencies | None,
    under: Callable[[Load], Latencies | None],
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
        chosen = simulated_build(
            question, chosen, prefix_hit_rate=hits, requests=REQUESTS
        )
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
    problem = question.problem
    load = problem.whole_load
    if load is None:
        return 0.0
    load = with_changes(load, prefix_hit_rate=hits)
    each_full = (
        estimated(
            question.catalog,
            configuration_of(question.problem, each),
            load.of_users(each.users),
            engine=problem.asked["scheduler"],
        )
        for each in chosen.deployments
    )
    return sum(full.requests_per_second for full in each_full if full is not None)


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
    found = [
        estimated(
            question.catalog,
            configuration_of(question.problem, each),
            alone,
            engine=problem.asked["scheduler"],
        )
        for each in chosen.deployments
    ]
    waits = [each.ttft_seconds.mean or 0.0 for each in found if each is not None]
    return f"TTFT of a single user {_three(max(waits))} s" if waits else None
