"""No plan: the smallest set of limits that cannot hold together, and what would."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt.catalog.open import LIMITED_TO
from planopt.documents.explanations import Change, Infeasibility, Limit
from planopt.errors import InputError
from planopt.options import Edit, taken_by
from planopt.planning.held_back import held_back, span
from planopt.price_sources import is_rough
from planopt.procurement import minimal_conflict, satisfiable
from planopt.serving.build import Build
from planopt.units import SECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planopt.catalog.entries import Model
    from planopt.planning.question import ServingQuestion, TrainingQuestion
    from planopt.procurement.problem import Purchase
    from planopt.serving.question_types import Problem
    from planopt.training.build import TrainingBuild
    from planopt.training.problem import TrainingProblem

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
RUN_BUDGET_STEP_USD = 1000
"""The same of runs, in whole thousands."""
AS_ASSUMED = "as many spare hosts as the assumptions ask for"
UNCAPPED = {"budget": ""}
"""Without a budget the search sees units beyond it."""
ANYWHERE = {"provider": "", "region": ""}


# --- Of serving -----------------------------------------------------------------------


def why_no_purchase(
    question: ServingQuestion, purchase: Purchase, deadline: float
) -> Infeasibility:
    """Say why nothing that can be bought serves it, and what is nearest.

    The search for changes ends at the deadline, a time on the monotonic clock.
    """
    binding = tuple(_conflict(question))
    nearest, cut = _until(deadline, _nearest_changes(question))
    cut_short = "the time limit was reached: other changes may help as well"
    notes = (cut_short if cut else "", _unproven(purchase), _closest(question) or "")
    note = "; ".join(filter(None, notes)) or None
    return Infeasibility(binding=binding, nearest=nearest, note=note)


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


def _closest(question: ServingQuestion) -> str | None:
    """Say how close the rejected candidates came."""
    nearest = question.found.nearest
    speed, ratio = (
        nearest.tokens_per_second_per_user,
        nearest.memory_ratio,
    )
    if question.problem.percentile is not None and not question.found:
        return _late(question)
    if speed is not None and not question.found:
        return f"the fastest that fits reaches {speed:.2f} tok/s"
    if ratio is not None and not question.found:
        return f"the closest needs {ratio:.2f} times the memory there is"
    return None


def _late(question: ServingQuestion) -> str | None:
    """Say which percentile is too long wherever the model fits, and by how much."""
    problem, nearest = question.problem, question.found.nearest
    ttft = _shortest_wait(question)
    speed = _fastest_speed(question)
    apart = ttft is None and speed is None
    if apart:
        # Each is met, and not both: how close one comes where the other is.
        ttft, speed = (
            nearest.prefill_seconds,
            nearest.tokens_per_second_per_user,
        )
    said = []
    if ttft is not None and problem.ttft_seconds is not None:
        over = ttft / problem.ttft_seconds - 1
        said.append(
            f"{problem.percentile} TTFT fails: {ttft:.3g} s at best, "
            f"{over:.0%} over {problem.ttft_seconds:g} s"
        )
    if speed is not None and problem.target:
        over = problem.target / speed - 1
        said.append(
            f"{problem.percentile} TPOT fails: {1e3 / speed:.3g} ms at best, "
            f"{over:.0%} over {1e3 / problem.target:.3g} ms"
        )
    return (" where the other is met; " if apart else "; ").join(said) or None


def _shortest_wait(question: ServingQuestion) -> float | None:
    """Give the shortest time to the first token, if even that is too long."""
    if question.problem.ttft_seconds is None or question.without_target.found:
        return None
    return question.without_target.found.nearest.prefill_seconds


def _fastest_speed(question: ServingQuestion) -> float | None:
    """Give the most tokens per second of a user, if even that is too few."""
    if not question.problem.target or question.without_ttft.found:
        return None
    return question.without_ttft.found.nearest.tokens_per_second_per_user


def _conflict(question: ServingQuestion) -> Iterator[Limit]:
    """Find the limits without any one of which there would be a plan."""
    problem = question.problem
    demands = [name for name in SPEED if _demanded(problem, name)]
    groups = (*demands, *question.limits.groups)
    questions: dict[frozenset[Demand], ServingQuestion] = {}

    def feasible(kept: tuple[str, ...]) -> bool:
        speeds = frozenset(kept) & frozenset(SPEED)
        if speeds not in questions:
            dropped = _without_speeds(question, speeds)
            questions[speeds] = question.edited(Edit({**UNCAPPED, **dropped}))
        asked = questions[speeds]
        limits = asked.limits_of(problem).only(kept)
        if "users" not in kept and "throughput" not in kept:
            # Whatever is dropped, somebody is to be served.
            limits = replace(limits, users=1)
        return satisfiable(
            asked.found.rows, limits, asked.solver, problem.time_limit_seconds
        )

    if not feasible(()):
        nothing = "fits no hardware that can be bought"
        yield _model_limit(question, "; ".join([nothing, *_not_sold(question)]))
        return
    for name in minimal_conflict(groups, feasible):
        yield _limit(question, name)
    yield _model_limit(question, None)


def _not_sold(question: ServingQuestion) -> Iterator[str]:
    """Say which accelerators that were named have no price, and why."""
    problem = question.problem
    if problem.acquisition.way == "rent":
        return
    known = question.catalog.price_tags()
    for name in problem.accelerators:
        bought = ("accelerator", name.partition(LIMITED_TO)[0])
        tags = [each for each in known if (each.kind, each.id) == bought]
        if any(tag.decides for tag in tags):
            continue
        if any(tag.on_sale is False for tag in tags):
            yield f"{name} is no longer sold new"
        elif tags:
            yield f"{name} has no price {problem.condition}"
        else:
            yield f"{name} has no price"


def _demanded(problem: Problem, name: Demand) -> bool:
    return {"target": problem.target > 0, "ttft": problem.ttft_seconds is not None}[
        name
    ]


def _without_speeds(
    question: ServingQuestion, kept: frozenset[Demand]
) -> dict[str, object]:
    return {
        **({} if "target" in kept else {"target": ""}),
        **({} if "ttft" in kept else question.after_any_wait),
    }


def _model(question: ServingQuestion) -> Model:
    served = question.problem.served
    return question.catalog.model(served.model, served.kv_heads)


def _model_limit(question: ServingQuestion, detail: str | None) -> Limit:
    served = question.problem.served
    model = _model(question)
    weights = served.weights or model.weights
    billions = model.parameters / 1e9
    return Limit(
        name="model",
        value=f"{served.model} in {weights}: {billions:.1f}e9 parameters",
        detail=detail,
    )


def _limit(question: ServingQuestion, name: str) -> Limit:
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


def _nearest_changes(question: ServingQuestion) -> Iterator[Change]:
    """Propose changes, each asked again with its limits and found to have a plan."""
    problem = question.problem
    yield from _what_is_reached(question)
    yield from _used(question)
    yield from _more_money(question, Edit({}, "keeps every other limit"))
    asked = problem.served.weights or _model(question).weights
    for weights in NARROWER_FORMATS:
        if weights in (asked, *problem.allow_quantization):
            continue
        note = "changes the numerics of the model: check the quality"
        edit = Edit({"weights": weights}, note)
        yield from list(_asked(question, edit)) or _more_money(question, edit)
    yield from _slower(question)
    yield from _fewer_users(question)
    yield from _more_room(question)
    yield from _rented(question)


def _used(question: ServingQuestion) -> Iterator[Change]:
    """Ask with used accelerators, where only new ones were looked at."""
    problem = question.problem
    if problem.condition != "new" or problem.acquisition.way == "rent":
        return
    note = "used accelerators too, with whatever is left of their warranty"
    edit = Edit({"condition": "any"}, note)
    build = question.edited(edit).best()
    if build is not None:
        yield _change(edit, build)
    elif not question.found.search.candidates_covered:
        yield from _more_money(question, edit)


def _rented(question: ServingQuestion) -> Iterator[Change]:
    """Ask for offers, where nothing that was named can be bought at all."""
    problem = question.problem
    if problem.acquisition.rents or question.found.search.candidates_covered:
        return
    edit = Edit({"acquire": "rent"}, "rented, not bought", without=("budget",))
    yield from _asked(question, edit)


def _more_money(question: ServingQuestion, edit: Edit) -> Iterator[Change]:
    """Find the budget that is needed for an edit, and ask again with it."""
    problem = question.problem
    if problem.money is None:
        return
    free = Edit({**edit.options, **UNCAPPED, "objective": "cheapest"})
    cheapest = question.edited(free).best()
    if cheapest is None:
        return
    if problem.acquisition.hourly:
        budget = f"{math.ceil(cheapest.usd_per_hour * 100) / 100:.2f}/h"
    else:
        steps = math.ceil(cheapest.price_usd / BUDGET_STEP_USD)
        budget = f"{steps * BUDGET_STEP_USD}"
    yield from _asked(question, Edit({**edit.options, "budget": budget}, edit.note))


def _slower(question: ServingQuestion) -> Iterator[Change]:
    """Find the fastest speed that the other limits allow, and ask again with it."""
    problem = question.problem
    if not problem.target:
        return
    slowest = {"target": SLOWEST_WORTH_NAMING, "objective": "latency"}
    fastest = question.edited(Edit(slowest)).best()
    if fastest is None:
        yield from _slower_for_more(question)
        return
    target = _proposed_target(fastest)
    if SLOWEST_WORTH_NAMING <= target < problem.target:
        edit = Edit({"target": f"{target:g}tok/s"}, "slower for every user")
        yield from _asked(question, edit)


SLACK = (1.05, 1.25, 1.6, 2.5)
"""What is best has one user: it is given so much more until somebody is served."""


def _what_is_reached(question: ServingQuestion) -> Iterator[Change]:
    """Ask for what can be reached, of what is promised to a share of all requests."""
    problem = question.problem
    if problem.percentile is None or question.found:
        return
    shortest, fastest = _shortest_wait(question), _fastest_speed(question)
    if shortest is None and fastest is None:
        # Each is met, and not both: the wait gives way.
        shortest = question.found.nearest.prefill_seconds
    for more in SLACK:
        options = {}
        if shortest is not None and problem.ttft_seconds is not None:
            wait = max(_two_digits(shortest * more), problem.ttft_seconds)
            options["ttft"] = f"{wait:g}s"
        if fastest is not None:
            speed = round(math.floor(fastest / more / SPEED_STEP) * SPEED_STEP, 1)
            options["target"] = f"{speed:g}tok/s"
        found = list(_asked(question, Edit(options, "what can be reached")))
        if found or not options:
            yield from found
            return


def _two_digits(value: float) -> float:
    """Round up to two digits."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.ceil(value / step) * step, 12)


def _slower_for_more(question: ServingQuestion) -> Iterator[Change]:
    """Find what a slower target saves, where no speed at all is within the budget."""
    problem = question.problem
    if problem.money is None:
        return
    slowest = {"target": SLOWEST_WORTH_NAMING, "objective": "cheapest"}
    cheapest = question.edited(Edit({**UNCAPPED, **slowest})).best()
    if cheapest is None:
        return
    target = _proposed_target(cheapest)
    if target < problem.target:
        note = "slower for every user, on fewer or cheaper parts"
        yield from _more_money(question, Edit({"target": f"{target:g}tok/s"}, note))


def _proposed_target(build: Build) -> float:
    """Speed of a build, rounded down to what one would type."""
    steps = math.floor(build.tokens_per_second_per_user / SPEED_STEP)
    return round(steps * SPEED_STEP, 1)


def _fewer_users(question: ServingQuestion) -> Iterator[Change]:
    """Find how many users the other limits allow, by halving."""
    problem = question.problem
    # What nothing serves in time serves fewer no better.
    if problem.users <= 1 or problem.batch is not None or not question.found:
        return

    def serves(users: int) -> bool:
        return question.edited(Edit({"users": users})).best() is not None

    low, high = 0, problem.users
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if serves(middle) else (low, middle)
    if low:
        yield from _asked(question, Edit({"users": low}, "for fewer at the same time"))


def _more_room(question: ServingQuestion) -> Iterator[Change]:
    """Lift each limit of power, space, number and stock that is in the way alone."""
    problem = question.problem
    lifted = {
        "max_power": problem.max_power_watts,
        "max_racks": problem.max_racks,
        "max_accelerators": problem.accelerators_in_all,
        "stock": problem.stock,
        "redundancy": problem.redundancy,
        "ttft": problem.ttft_seconds,
    }
    for name, limit in lifted.items():
        if not limit:
            continue
        dropped = question.after_any_wait if name == "ttft" else {name: ""}
        other = question.edited(Edit(dropped))
        if other.problem.objective == "throughput" and not other.problem.limited:
            continue
        build = other.best()
        if build is None:
            continue
        needed = {
            "max_power": f"{build.power_watts:.0f}W",
            "max_accelerators": f"{_accelerators(build)}",
            "redundancy": "0",
        }.get(name)
        note = None if needed else "without this limit"
        yield _change(Edit({name: needed or ""}, note), build)


def _accelerators(build: Build) -> int:
    return sum(d.candidate.accelerators * d.replicas for d in build.deployments)


# --- Of training ----------------------------------------------------------------------


def why_no_cluster(question: TrainingQuestion, purchase: Purchase) -> Infeasibility:
    """Say why no cluster trains it within the limits, and what is nearest."""
    notes = (_unproven(purchase), held_back(question).sentence)
    return Infeasibility(
        binding=tuple(_conflict_of_run(question)),
        nearest=tuple(_changes_of_run(question)),
        note="; ".join(filter(None, notes)),
    )


def _drops(problem: TrainingProblem) -> dict[str, dict[str, object]]:
    """List the limits that are set, with what leaves each of them out."""
    largest = _largest_cluster()
    acquisition = problem.acquisition
    # Without a deadline the aim would be another one.
    no_deadline: dict[str, object] = {"deadline": "", "objective": problem.objective}
    drops: dict[str, tuple[object, dict[str, object]]] = {
        "deadline": (problem.deadline_seconds, no_deadline),
        "budget": (problem.budget_usd, {"budget": ""}),
        "power": (problem.max_power_watts, {"max_power": ""}),
        "racks": (problem.max_racks, {"max_racks": ""}),
        "stock": (problem.stock or None, {"stock": ""}),
        "accelerators": (
            problem.accelerators or problem.exclude or None,
            {"accelerators": "", "exclude": ""},
        ),
        "hosts": (problem.hosts or None, {"host": ""}),
        "networks": (problem.networks or None, {"network": ""}),
        "max-accelerators": (largest, {"max_accelerators": largest}),
        "redundancy": (problem.redundancy, {"redundancy": ""}),
        "places": (acquisition.providers or acquisition.regions or None, {**ANYWHERE}),
    }
    return {name: edit for name, (limit, edit) in drops.items() if limit is not None}


def _conflict_of_run(question: TrainingQuestion) -> Iterator[Limit]:
    """Find the limits without any one of which there would be a plan."""
    problem = question.problem
    drops = _drops(problem)

    def feasible(kept: tuple[str, ...]) -> bool:
        dropped: dict[str, object] = {}
        for name, drop in drops.items():
            if name not in kept:
                dropped |= drop
        return question.edited(Edit(dropped)).best() is not None

    if feasible(()):
        for name in minimal_conflict(tuple(drops), feasible):
            yield Limit(name=name, value=_limit_of_run(problem, name))
    known = question.catalog.model(problem.model, problem.kv_heads)
    billions = known.parameters / 1e9
    yield Limit(
        name="model",
        value=(
            f"{problem.model}, {billions:.1f}e9 parameters, {problem.tokens:.3g} "
            f"tokens, {problem.global_batch} sequences of {problem.seq_len} a step"
        ),
    )


def _limit_of_run(problem: TrainingProblem, name: str) -> str:
    if name == "stock":
        return ", ".join(f"{count} of {part}" for part, count in problem.stock.items())
    if name == "accelerators":
        without = ", ".join(f"not {each}" for each in problem.exclude)
        return ", ".join(problem.accelerators) or without
    limits = {
        "deadline": span((problem.deadline_seconds or 0.0) / SECONDS_PER_DAY),
        "budget": problem.budget_usd,
        "power": problem.max_power_watts,
        "racks": problem.max_racks,
        "hosts": ", ".join(problem.hosts),
        "networks": ", ".join(problem.networks),
        "max-accelerators": problem.max_accelerators,
        "redundancy": problem.redundancy,
        "places": ", ".join(
            (*problem.acquisition.providers, *problem.acquisition.regions)
        ),
    }
    forms = {
        "deadline": "<= {}",
        "budget": "<= ${:,.0f}",
        "power": "<= {:,.0f} W",
        "racks": "<= {:g} racks",
        "max-accelerators": "<= {:,}",
        "redundancy": "{} spare hosts",
    }
    return forms.get(name, "{}").format(limits[name])


def _changes_of_run(question: TrainingQuestion) -> Iterator[Change]:
    """Propose changes, each asked again and found to have a plan."""
    problem = question.problem
    if problem.deadline_seconds is not None:
        yield from _later(question)
    if problem.budget_usd is not None:
        yield from _dearer(question)
    acquisition = problem.acquisition
    for edit, limit in (
        (Edit({"max_power": ""}, "without it"), problem.max_power_watts),
        (Edit({"max_racks": ""}, "without it"), problem.max_racks),
        (Edit({"stock": ""}, "without this limit"), problem.stock or None),
        (Edit({"redundancy": ""}, AS_ASSUMED), problem.redundancy),
        (
            Edit(ANYWHERE, "from anybody, anywhere"),
            acquisition.providers or acquisition.regions or None,
        ),
    ):
        if limit is not None:
            yield from _asked(question, edit)
    if problem.rented:
        note = "a cluster that is still there after the run"
        yield from _asked(question, Edit({"acquire": "buy"}, note, (*ANYWHERE,)))
    yield from _more_accelerators(question)
    if problem.accelerators:
        yield from _other_accelerators(question)
    for option, names in (("host", problem.hosts), ("network", problem.networks)):
        if names:
            yield from _asked(question, Edit({option: ""}, "any other"))
    if problem.precision is None:
        note = "changes the numerics of training: check its quality"
        yield from _asked(question, Edit({"precision": "fp8"}, note))
    larger = 4 * problem.global_batch
    note = "a larger batch lets more replicas work; check that training converges"
    yield from _asked(question, Edit({"global_batch": larger}, note))


def _later(question: TrainingQuestion) -> Iterator[Change]:
    """Find the earliest deadline that the other limits allow, and ask again with it."""
    fastest = held_back(question).build
    if fastest is None:
        return
    days = math.ceil(fastest.days)
    note = "the earliest that the other limits allow"
    yield from _asked(question, Edit({"deadline": f"{days}d"}, note))


def _dearer(question: TrainingQuestion) -> Iterator[Change]:
    """Find the budget that is needed, and ask again with it."""
    free = Edit({**UNCAPPED, "objective": "cheapest"})
    cheapest = question.edited(free).best()
    if cheapest is None:
        return
    budget = math.ceil(cheapest.price_usd / RUN_BUDGET_STEP_USD) * RUN_BUDGET_STEP_USD
    edit = Edit({"budget": f"{budget}"}, "keeps every other limit")
    yield from _asked(question, edit)


def _more_accelerators(question: TrainingQuestion) -> Iterator[Change]:
    """Find how many accelerators are needed, and ask again with them."""
    more = question.edited(Edit({"max_accelerators": _largest_cluster()})).best()
    if more is None:
        return
    needed = sum(
        line.quantity for line in more.bill_of_materials if line.kind == "accelerator"
    )
    needed = max(needed, more.evaluation.accelerators or 0)
    edit = Edit({"max_accelerators": needed}, "keeps every other limit")
    yield from _asked(question, edit)


def _largest_cluster() -> int:
    """Return how many accelerators a question may have at most."""
    return int(taken_by("train")["max_accelerators"].most or 0)


def _other_accelerators(question: TrainingQuestion) -> Iterator[Change]:
    """Ask for any accelerator, and propose the one that is best."""
    other = question.edited(Edit({"accelerators": ""})).best()
    if other is not None:
        name = other.deployment.candidate.accelerator
        edit = Edit({"accelerators": name}, f"in {span(other.days)}")
        yield _change(edit, other)


# --- Of either ------------------------------------------------------------------------


def _unproven(purchase: Purchase) -> str:
    """Say that there may be a plan, where the time was too short to tell."""
    unknown = purchase.status == "unknown"
    return "the time limit was reached: this is not proven" if unknown else ""


def _asked(
    question: ServingQuestion | TrainingQuestion, edit: Edit
) -> Iterator[Change]:
    """Ask in other words; a change only if there is a plan then."""
    try:
        build = question.edited(edit).best()
    except InputError:
        return  # what cannot be typed is not proposed
    if build is not None:
        yield _change(edit, build)


def _change(edit: Edit, build: Build | TrainingBuild) -> Change:
    """Word what was asked, and what came of it."""
    reached: dict[str, float] = {}
    if isinstance(build, Build):
        reached["usd_per_hour"] = build.usd_per_hour
        reached["tokens_per_second_per_user"] = build.tokens_per_second_per_user
    else:
        reached["days"] = build.days
    return Change(
        options=edit.told,
        summary=build.summary,
        price_usd=build.price_usd,
        price_is_rough=is_rough(build.bill_of_materials),
        note=edit.note,
        **reached,
    )
