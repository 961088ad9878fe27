"""No plan: the smallest set of limits that cannot hold together, and what would."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as with_changes

from planopt.acquisition import Acquisition
from planopt.catalog.open import LIMITED_TO
from planopt.documents.explanations import Change, Infeasibility, Limit
from planopt.documents.parts import Accuracy
from planopt.documents.plan import Plan
from planopt.price_sources import dollars, is_rough
from planopt.procurement import minimal_conflict, satisfiable
from planopt.serving.late import fastest_speed, late, shortest_wait
from planopt.serving.pools import disaggregated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planopt.procurement.problem import Purchase
    from planopt.serving.build import Build
    from planopt.serving.question import Question
    from planopt.serving.question_types import Problem

__all__ = ["infeasible_plan"]

GB = 1e9
MICRO_USD = 10**6
NARROWER_FORMATS = ("fp8", "int4")
"""Formats that many models are served in. They change the quality, so they are named
and never taken without being asked for."""
BUDGET_STEP_USD = 10
"""Budgets are proposed in whole tens of dollars, upwards."""
SPEED_STEP = 0.1
"""Targets are proposed in tenths of a token per second, downwards."""
SLOWEST_WORTH_NAMING = 0.5
"""Tokens per second of a user below which nobody would want the plan."""

Demand = str
SPEED: tuple[Demand, ...] = ("target", "ttft")
"""Demands that the search knows of and the purchase does not."""


def infeasible_plan(question: Question, purchase: Purchase, started: float) -> Plan:
    """Say why there is no plan, and what is nearest to one.

    Parameters
    ----------
    question : Question
        What was asked.
    purchase : Purchase
        What came of it.
    started : float
        When it was asked, on the monotonic clock.
    """
    deadline = started + question.problem.time_limit_seconds
    binding = tuple(_conflict(question))
    nearest, cut = _until(deadline, _nearest_changes(question))
    notes = []
    if cut:
        notes.append("the time limit was reached: other changes may help as well")
    if purchase.status == "unknown":
        notes.append("the time limit was reached: this is not proven")
    closest = _closest(question)
    if closest:
        notes.append(closest)
    two = disaggregated(question.as_asked, None)
    if two is not None and two.in_time:
        rough = is_rough(two.bill_of_materials)
        price = dollars(two.price_usd or 0.0, rough=rough, whole=True)
        notes.append(
            "two pools do it, one that reads prompts and one that answers: "
            f"{two.layout}, {price}"
        )
    return Plan(
        status="infeasible",
        objective=question.problem.objective,
        request=question.problem.request(),
        infeasibility=Infeasibility(
            binding=binding, nearest=nearest, note="; ".join(notes) or None
        ),
        disaggregated=two,
        search=with_changes(question.found.search, seconds=time.monotonic() - started),
        assumed=question.problem.assumed,
        assumptions=question.problem.assumptions,
        accuracy=Accuracy(statement="no plan: nothing was predicted"),
    )


def _until(
    deadline: float, changes: Iterator[Change]
) -> tuple[tuple[Change, ...], bool]:
    """Take changes until a time on the monotonic clock; whether it came first."""
    taken = []
    for change in changes:
        taken.append(change)
        if time.monotonic() > deadline:
            return tuple(taken), True
    return tuple(taken), False


def _closest(question: Question) -> str | None:
    """Say how close the rejected candidates came."""
    nearest = question.found.nearest
    speed, ratio = (
        nearest.get("tokens_per_second_per_user"),
        nearest.get("memory_ratio"),
    )
    if question.problem.percentile is not None and not question.found.units:
        return late(question)
    if speed is not None and not question.found.units:
        return f"the fastest that fits reaches {speed:.2f} tok/s"
    if ratio is not None and not question.found.units:
        return f"the closest needs {ratio:.2f} times the memory there is"
    return None


# --- The conflict ---------------------------------------------------------------------


def _conflict(question: Question) -> Iterator[Limit]:
    """Find the limits without any one of which there would be a plan."""
    problem = question.problem
    demands = [name for name in SPEED if _demanded(problem, name)]
    groups = (*demands, *question.limits.groups)
    questions: dict[frozenset[Demand], Question] = {}

    def feasible(kept: tuple[str, ...]) -> bool:
        speeds = frozenset(kept) & frozenset(SPEED)
        if speeds not in questions:
            questions[speeds] = question.about(
                _without_speeds(_uncapped(problem), speeds)
            )
        asked = questions[speeds]
        limits = asked.limits_of(problem).only(kept)
        if "users" not in kept and "throughput" not in kept:
            # Whatever is dropped, somebody is to be served.
            limits = replace(limits, users=1)
        return satisfiable(
            asked.found.units, limits, asked.solver, problem.time_limit_seconds
        )

    if not feasible(()):
        nothing = "fits no hardware that can be bought"
        yield _model_limit(question, "; ".join([nothing, *_not_sold(question)]))
        return
    for name in minimal_conflict(groups, feasible):
        yield _limit(question, name)
    yield _model_limit(question, None)


def _not_sold(question: Question) -> Iterator[str]:
    """Say which accelerators that were named have no price, and why."""
    problem = question.problem
    if problem.acquisition.way == "rent":
        return
    for name in problem.accelerators:
        bought = ("accelerator", name.partition(LIMITED_TO)[0])
        tags = question.catalog.price_tags.get(bought, [])
        if any(tag["decides"] for tag in tags):
            continue
        if any(tag["on_sale"] is False for tag in tags):
            yield f"{name} is no longer sold new"
        elif tags:
            yield f"{name} has no price {problem.condition}"
        else:
            yield f"{name} has no price"


def _demanded(problem: Problem, name: Demand) -> bool:
    return {"target": problem.target > 0, "ttft": problem.ttft_seconds is not None}[
        name
    ]


def _uncapped(problem: Problem) -> Problem:
    """Ask without a budget, so that the search sees units beyond it."""
    return replace(problem, budget_usd=None, budget_usd_per_hour=None)


def _without_speeds(problem: Problem, kept: frozenset[Demand]) -> Problem:
    return replace(
        problem,
        target=problem.target if "target" in kept else 0.0,
        ttft_seconds=problem.ttft_seconds if "ttft" in kept else None,
    )


def _model(question: Question) -> dict[str, Any]:
    served = question.problem.served
    request = {"model": served.model, "kv_heads": served.kv_heads}
    model: dict[str, Any] = question.catalog.native.model(request)
    return model


def _model_limit(question: Question, detail: str | None) -> Limit:
    served = question.problem.served
    model = _model(question)
    weights = served.weights or model["weights"]
    billions = model["parameters"] / 1e9
    return Limit(
        name="model",
        value=f"{served.model} in {weights}: {billions:.1f}e9 parameters",
        detail=detail,
    )


def _limit(question: Question, name: str) -> Limit:
    problem = question.problem
    if name.startswith("stock:"):
        part = name.removeprefix("stock:")
        return Limit(name=name, value=f"{problem.stock[part]} of {part}")
    values: dict[str, Callable[[], str]] = {
        "target": lambda: (
            f">= {problem.target:g} tok/s per user"
            + (f" at {problem.percentile}" if problem.percentile else "")
        ),
        "ttft": lambda: (
            f"<= {problem.ttft_seconds:g} s to the first token at {problem.percentile}"
        ),
        "users": lambda: (
            f"{problem.users} with "
            f"{problem.served.lengths.context:,} tokens of context each"
            + (
                f", {problem.redundancy} replicas to spare"
                if problem.redundancy
                else ""
            )
        ),
        "throughput": lambda: f">= {problem.throughput:g} tok/s in all",
        "budget": lambda: (
            f"<= ${problem.budget_usd_per_hour:,.3g}/h"
            if problem.acquisition.hourly
            else f"<= ${problem.budget_usd:,.0f}"
        ),
        "purchase": lambda: f"<= ${problem.budget_usd:,.0f} to buy with",
        "power": lambda: f"<= {problem.max_power_watts:,.0f} W",
        "racks": lambda: f"<= {problem.max_racks:g} racks",
        "accelerators": lambda: f"<= {problem.accelerators_in_all} accelerators",
    }
    return Limit(name=name, value=values[name]())


# --- The nearest changes --------------------------------------------------------------


def _nearest_changes(question: Question) -> Iterator[Change]:
    """Propose changes, each asked again with its limits and found to have a plan."""
    problem = question.problem
    yield from _what_is_reached(question)
    yield from _used(question)
    yield from _more_money(question, problem, {}, "keeps every other limit")
    asked = problem.served.weights or _model(question)["weights"]
    for weights in NARROWER_FORMATS:
        if weights in (asked, *problem.allow_quantization):
            continue
        narrower = problem.with_model(weights=weights)
        options = {"weights": weights}
        note = "changes the numerics of the model: check the quality"
        same_budget = list(_asked(question, narrower, options, note))
        yield from same_budget or _more_money(question, narrower, options, note)
    yield from _slower(question)
    yield from _fewer_users(question)
    yield from _more_room(question)
    yield from _rented(question)


def _used(question: Question) -> Iterator[Change]:
    """Ask with used accelerators, where only new ones were looked at."""
    problem = question.problem
    if problem.condition != "new" or problem.acquisition.way == "rent":
        return
    other = question.about(replace(problem, condition="any"))
    other.catalog = question.catalog.priced("any", problem.prices)
    options = {"condition": "any"}
    note = "used accelerators too, with whatever is left of their warranty"
    build = other.best()
    if build is not None:
        yield _change(options, build, note)
    elif not question.found.search.candidates_covered:
        yield from _more_money(other, other.problem, options, note)


def _rented(question: Question) -> Iterator[Change]:
    """Ask for offers, where nothing that was named can be bought at all."""
    problem = question.problem
    if problem.acquisition.rents or question.found.search.candidates_covered:
        return
    rented = replace(problem, acquisition=Acquisition(way="rent"), budget_usd=None)
    yield from _asked(question, rented, {"acquire": "rent"}, "rented, not bought")


def _asked(
    question: Question, problem: Problem, options: dict[str, str], note: str | None
) -> Iterator[Change]:
    """Ask with other options; a change only if there is a plan then."""
    build = question.about(problem).best()
    if build is not None:
        yield _change(options, build, note)


def _change(options: dict[str, str], build: Build, note: str | None) -> Change:
    return Change(
        options=options,
        summary=build.summary,
        price_usd=build.price_usd,
        price_is_rough=is_rough(build.bill_of_materials),
        usd_per_hour=build.usd_per_hour,
        tokens_per_second_per_user=build.tokens_per_second_per_user,
        note=note,
    )


def _more_money(
    question: Question, problem: Problem, options: dict[str, str], note: str
) -> Iterator[Change]:
    """Find the budget that is needed, and ask again with it."""
    if problem.money is None:
        return
    cheapest = question.about(replace(_uncapped(problem), objective="cheapest")).best()
    if cheapest is None:
        return
    if problem.acquisition.hourly:
        cents = math.ceil(cheapest.usd_per_hour * 100)
        enough = replace(_uncapped(problem), budget_usd_per_hour=cents / 100)
        said = {**options, "budget": f"{cents / 100:.2f}/h"}
        yield from _asked(question, enough, said, note)
        return
    budget = math.ceil(cheapest.price_usd / BUDGET_STEP_USD) * BUDGET_STEP_USD
    with_budget = {**options, "budget": f"{budget}"}
    enough = replace(problem, budget_usd=float(budget))
    yield from _asked(question, enough, with_budget, note)


def _slower(question: Question) -> Iterator[Change]:
    """Find the fastest speed that the other limits allow, and ask again with it."""
    problem = question.problem
    if not problem.target:
        return
    slow = replace(problem, target=SLOWEST_WORTH_NAMING, objective="latency")
    fastest = question.about(slow).best()
    if fastest is None:
        yield from _slower_for_more(question)
        return
    target = _proposed_target(fastest)
    if SLOWEST_WORTH_NAMING <= target < problem.target:
        yield from _asked(
            question,
            replace(problem, target=target),
            {"target": f"{target:g}tok/s"},
            "slower for every user",
        )


SLACK = (1.05, 1.25, 1.6, 2.5)
"""What is best has one user: it is given so much more until somebody is served."""


def _what_is_reached(question: Question) -> Iterator[Change]:
    """Ask for what can be reached, of what is promised to a share of all requests."""
    problem = question.problem
    if problem.percentile is None or question.found.units:
        return
    shortest, fastest = shortest_wait(question), fastest_speed(question)
    if shortest is None and fastest is None:
        # Each is met, and not both: the wait gives way.
        shortest = question.found.nearest.get("prefill_seconds")
    for more in SLACK:
        options, changed = {}, problem
        if shortest is not None and problem.ttft_seconds is not None:
            wait = max(_two_digits(shortest * more), problem.ttft_seconds)
            options["ttft"] = f"{wait:g}s"
            changed = replace(changed, ttft_seconds=wait)
        if fastest is not None:
            speed = round(math.floor(fastest / more / SPEED_STEP) * SPEED_STEP, 1)
            options["target"] = f"{speed:g}tok/s"
            changed = replace(changed, target=speed)
        changes = list(_asked(question, changed, options, "what can be reached"))
        if changes or not options:
            yield from changes
            return


def _two_digits(value: float) -> float:
    """Round up to two digits."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.ceil(value / step) * step, 12)


def _slower_for_more(question: Question) -> Iterator[Change]:
    """Find what a slower target saves, where no speed at all is within the budget."""
    problem = question.problem
    if problem.money is None:
        return
    anyhow = replace(
        _uncapped(problem), target=SLOWEST_WORTH_NAMING, objective="cheapest"
    )
    cheapest = question.about(anyhow).best()
    if cheapest is None:
        return
    target = _proposed_target(cheapest)
    if target < problem.target:
        yield from _more_money(
            question,
            replace(problem, target=target),
            {"target": f"{target:g}tok/s"},
            "slower for every user, on fewer or cheaper parts",
        )


def _proposed_target(build: Build) -> float:
    """Speed of a build, rounded down to what one would type."""
    steps = math.floor(build.tokens_per_second_per_user / SPEED_STEP)
    return round(steps * SPEED_STEP, 1)


def _fewer_users(question: Question) -> Iterator[Change]:
    """Find how many users the other limits allow, by halving."""
    problem = question.problem
    # What nothing serves in time serves fewer no better.
    if problem.users <= 1 or problem.batch is not None or not question.found.units:
        return

    def serves(users: int) -> bool:
        return question.about(replace(problem, users=users)).best() is not None

    low, high = 0, problem.users
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if serves(middle) else (low, middle)
    if low:
        yield from _asked(
            question,
            replace(problem, users=low),
            {"users": f"{low}"},
            "for fewer at the same time",
        )


def _more_room(question: Question) -> Iterator[Change]:
    """Lift each limit of power, space, number and stock that is in the way alone."""
    problem = question.problem
    lifted: list[tuple[dict[str, str], Problem]] = []
    if problem.max_power_watts is not None:
        lifted.append(({"max_power": ""}, replace(problem, max_power_watts=None)))
    if problem.max_racks is not None:
        lifted.append(({"max_racks": ""}, replace(problem, max_racks=None)))
    if problem.accelerators_in_all is not None:
        lifted.append(
            ({"max_accelerators": ""}, replace(problem, accelerators_in_all=None))
        )
    if problem.stock:
        lifted.append(({"stock": ""}, replace(problem, stock={})))
    if problem.redundancy:
        lifted.append(({"redundancy": "0"}, replace(problem, redundancy=0)))
    if problem.ttft_seconds is not None:
        lifted.append(({"ttft": ""}, replace(problem, ttft_seconds=None)))
    for options, changed in lifted:
        if changed.objective == "throughput" and not changed.limited:
            continue
        build = question.about(changed).best()
        if build is None:
            continue
        name = next(iter(options))
        needed = {
            "max_power": f"{build.power_watts:.0f}W",
            "max_accelerators": f"{_accelerators(build)}",
        }.get(name)
        said = {name: needed} if needed else options
        note = None if needed or options[name] else "without this limit"
        yield _change(said, build, note)


def _accelerators(build: Build) -> int:
    return sum(d.candidate.accelerators * d.replicas for d in build.deployments)
