"""No plan: the smallest set of limits that cannot hold together, and what would."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from planopt.catalog.entries import Model
from planopt.catalog.open import LIMITED_TO
from planopt.catalog.quality import cost_in_quality
from planopt.documents.explanations import Change, Infeasibility, Limit
from planopt.documents.parts import failing
from planopt.errors import InputError
from planopt.market import CLASSES, Market
from planopt.options import Edit, taken_by
from planopt.planning.alternatives import held_back, span
from planopt.planning.question import (
    LEAST_SECONDS,
    AnyBuild,
    AnyQuestion,
    ServingQuestion,
    TrainingQuestion,
)
from planopt.planning.settle import held
from planopt.price_sources import is_rough
from planopt.procurement.problem import Purchase
from planopt.procurement.purchase import minimal_conflict, satisfiable
from planopt.serving.build import Build
from planopt.serving.question_types import Problem
from planopt.training.build import TrainingBuild
from planopt.training.problem import TrainingProblem
from planopt.units import SECONDS_PER_DAY

NARROWER_FORMATS = ("fp8", "int4")
"""Formats that many models are served in. They change the quality, so they are named
and never taken without being asked for."""
BUDGET_STEP_USD = 10  # Budgets are proposed in whole tens of dollars, upwards
RUN_BUDGET_STEP_USD = 1000  # The same of runs, in whole thousands
SPEED_STEP = 0.1  # Targets are proposed in tenths of a token per second, downwards
SLOWEST_WORTH_NAMING = 0.5
"""Tokens per second of a user below which nobody would want the plan."""
CUT_SHORT = "the time limit was reached: other changes may help as well"
SAME = Edit({}, "keeps every other limit")
UNCAPPED = {"budget": ""}  # Without a budget the search sees units beyond it
ANYWHERE = {"provider": "", "region": "", "provider_class": "any"}
AS_ASSUMED = "as many spare hosts as the assumptions ask for"
WITHOUT = "without this limit"
LIFTS = {
    "power": Edit({"max_power": ""}, WITHOUT),
    "racks": Edit({"max_racks": ""}, WITHOUT),
    "max-accelerators": Edit({"max_accelerators": ""}, WITHOUT),
    "stock": Edit({"stock": ""}, WITHOUT),
    "redundancy": Edit({"redundancy": "0"}, "with nothing that may fail"),
    "ttft": Edit({"ttft": ""}, WITHOUT),
    "confidence": Edit({"confidence": ""}, "held as it is predicted, and no surer"),
    "hosts": Edit({"host": ""}, "any other"),
    "networks": Edit({"network": ""}, "any other"),
    "accelerators": Edit(
        {"accelerators": "", "exclude": "", "vendor": ""}, "any other"
    ),
    "evidence": Edit({"evidence": ""}, "what nobody has measured, too"),
    "datacenter": Edit({"datacenter": ""}, "parts for no data center, too"),
    "places": Edit(ANYWHERE, "from anybody, anywhere"),
}
"""What lifts a limit: first those that leave the parts as they are."""
LESS = {
    "concurrency": ("concurrency", ""),
    "people": ("people", ""),
    "sessions": ("sessions", ""),
    "num_prompts": ("num_prompts", ""),
    "request_rate": ("requests_per_second", "/s"),
    "throughput": ("throughput_tokens_per_second", "tok/s"),
}
"""Demands of which less is proposed, with where a problem has them, and their unit."""
FEWER = "for fewer at the same time"
PARTS_OF_LESS = 64  # Less is proposed in parts of what is asked for
SAID = {
    "target": ">= {0.target:g} tok/s per user",
    "ttft": "<= {0.ttft_seconds:g} s to the first token at {0.percentile}",
    "concurrency": "{0.concurrency} with {0.context_tokens:,} tokens of context each",
    "throughput": ">= {0.throughput:g} tok/s in all",
    "budget": "<= ${0.budget_usd:,.0f}",
    "budget per hour": "<= ${0.budget_usd_per_hour:,.3g}/h",
    "purchase": "<= ${0.budget_usd:,.0f} to buy with",
    "power": "<= {0.max_power_watts:,.0f} W",
    "racks": "<= {0.max_racks:g} racks",
    "accelerators": "<= {0.max_accelerators} accelerators",
    "max-accelerators": "<= {0.max_accelerators:,}",
    "redundancy": "{0.redundancy} spare hosts",
}
"""How limits are said that a figure of the problem sets."""


# --- Of serving -----------------------------------------------------------------------


def why_no_purchase(question: ServingQuestion, purchase: Purchase) -> Infeasibility:
    """Say why nothing that can be bought serves it, and what is nearest."""
    binding = tuple(_conflict(question))
    nearest, cut = _in_time(question, [_nearest_changes(question)])
    note = "; ".join(filter(None, (cut, unproven(purchase), _closest(question))))
    return Infeasibility(binding=binding, nearest=nearest, note=note or None)


def _closest(question: ServingQuestion) -> str | None:
    """Say how close the rejected candidates came."""
    nearest = question.found.summary.nearest
    if question.found:
        return None
    if question.problem.percentile is not None:
        return _slo_violation(question)
    if nearest.tokens_per_second_per_user is not None:
        speed = nearest.tokens_per_second_per_user
        return f"the fastest that fits reaches {speed:.2f} tok/s"
    if nearest.memory_ratio is not None:
        return f"the closest needs {nearest.memory_ratio:.2f} times the memory there is"
    return None


def _slo_violation(question: ServingQuestion) -> str | None:
    """Say which percentile is too long wherever the model fits, and by how much."""
    problem, nearest = question.problem, question.found.summary.nearest
    ttft, speed = _out_of_reach(question)
    apart = ttft is None and speed is None
    if apart:
        # Each is met, and not both: how close one comes where the other is.
        ttft, speed = nearest.prefill_seconds, nearest.tokens_per_second_per_user
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


def _out_of_reach(question: ServingQuestion) -> tuple[float | None, float | None]:
    """Give the shortest wait and the highest speed, each if even that is too slow."""
    wait, speed = None, None
    if question.problem.ttft_seconds is not None:
        found = question.without_target.found
        wait = None if found else found.summary.nearest.prefill_seconds
    if question.problem.target:
        found = question.without_ttft.found
        speed = None if found else found.summary.nearest.tokens_per_second_per_user
    return wait, speed


def _conflict(question: ServingQuestion) -> Iterator[Limit]:
    """Find the limits without any one of which there would be a plan.

    Those that there is no time to leave out stay: all of them are in conflict.
    """
    problem = question.problem
    # The search knows of speeds, and the purchase of all else.
    unhurried: dict[str, dict[str, object]] = {
        "target": {"target": ""},
        "ttft": question.after_any_wait,
    }
    demanded = {"target": problem.target, "ttft": problem.ttft_seconds}
    groups = (*filter(demanded.get, demanded), *question.limits.groups)
    questions: dict[frozenset[str], ServingQuestion] = {}

    def feasible(kept: tuple[str, ...]) -> bool:
        return is_there(kept) or not question.seconds_left

    def is_there(kept: tuple[str, ...]) -> bool:
        speeds = frozenset(kept) & frozenset(unhurried)
        if speeds not in questions:
            # Nor does it look at what is beyond the accelerators that there may be.
            dropped: dict[str, object] = {**UNCAPPED, "max_accelerators": ""}
            for name, edit in unhurried.items():
                dropped |= {} if name in speeds else edit
            questions[speeds] = question.edited(Edit(dropped))
        asked = questions[speeds]
        limits = asked.limits_of(problem).only(kept)
        if "concurrency" not in kept and "throughput" not in kept:
            # Whatever is dropped, somebody is to be served.
            limits = replace(limits, users=1)
        seconds = max(LEAST_SECONDS, asked.seconds_left)
        return satisfiable(asked.found.rows, limits, asked.solver, seconds)

    if not feasible(()):
        nothing = "fits no hardware that can be bought"
        yield _model_limit(question, "; ".join([nothing, *_not_sold(question)]))
        return
    for name in minimal_conflict(groups, feasible):
        yield _limit(problem, name)
    yield _model_limit(question, None)


def _not_sold(question: ServingQuestion) -> Iterator[str]:
    """Say which accelerators that were named have no price, and why."""
    problem = question.problem
    if problem.procurement == "rent":
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


def _model(question: AnyQuestion) -> Model:
    problem = question.problem
    return question.catalog.model(problem.model, problem.kv_heads)


def _model_limit(question: ServingQuestion, detail: str | None) -> Limit:
    problem, model = question.problem, _model(question)
    weights, billions = problem.weights or model.weights, model.parameters / 1e9
    value = f"{problem.model} in {weights}: {billions:.1f}B parameters"
    return Limit(name="model", value=value, detail=detail)


def _limit(problem: Problem, name: str) -> Limit:
    if name.startswith("stock:"):
        part = name.removeprefix("stock:")
        return Limit(name=name, value=f"{problem.stock[part]} of {part}")
    hourly = name == "budget" and problem.hourly
    said = SAID["budget per hour" if hourly else name].format(problem)
    if name == "target" and problem.percentile:
        said += f" at {problem.percentile}"
    if name == "concurrency" and problem.redundancy:
        asked = {**problem.redundancy}
        share = asked.pop("loss", None)
        down = " and ".join(failing(part, int(many)) for part, many in asked.items())
        said += f", with {down} down" if down else ""
        said += "" if share is None else f", {share:.0%} of it lost at most"
    return Limit(name=name, value=said)


def _nearest_changes(question: ServingQuestion) -> Iterator[Change]:
    """Propose changes of one thing, or where none helps limits lifted two at a time."""
    found = False
    for change in _single_changes(question):
        found = True
        yield change
    if not found:
        yield from _two_lifted(question)


def _two_lifted(question: ServingQuestion) -> Iterator[Change]:
    """Lift two limits together: the first pair with which there is a plan."""
    budget = {"budget": Edit(UNCAPPED, WITHOUT)}
    drops = _drops(question)
    drops |= budget if question.limits.budget_micro_usd is not None else {}
    for one, other in itertools.combinations(drops.values(), 2):
        if not question.seconds_left:
            return
        both = Edit({**one.options, **other.options}, "without these limits")
        found = [*_asked(question, both)]
        if found:
            yield from found
            return


def _single_changes(question: ServingQuestion) -> Iterator[Change]:
    """Propose changes, each asked again with its limits and found to have a plan."""
    problem = question.problem
    yield from _what_is_reached(question)
    yield from _used(question)
    yield from _more_money(question, SAME)
    yield from _lifted(question)
    asked = problem.weights or _model(question).weights
    for weights in NARROWER_FORMATS:
        if weights in (asked, *problem.allow_quantization):
            continue
        told = cost_in_quality(weights, _model(question).parameters)
        note = f"changes the numerics of the model: {told}"
        edit = Edit({"weights": weights}, note)
        yield from list(_asked(question, edit)) or _more_money(question, edit)
    yield from _slower(question)
    yield from _less(question)
    yield from _rented(question)


def _used(question: ServingQuestion) -> Iterator[Change]:
    """Ask with used accelerators, where only new ones were looked at."""
    problem = question.problem
    if problem.condition != "new" or problem.procurement == "rent":
        return
    note = "used accelerators too, with whatever is left of their warranty"
    edit = Edit({"condition": "any"}, note)
    found = list(_asked(question, edit))
    if not found and not question.found.search.candidates_covered:
        found = list(_more_money(question, edit))
    yield from found


def _rented(question: ServingQuestion) -> Iterator[Change]:
    """Ask for offers, or for all of them, where nothing that was named can be had."""
    problem = question.problem
    if question.found.search.candidates_covered:
        return
    if not problem.rents:
        edit = Edit({"procurement": "rent"}, "rented, not bought", without=("budget",))
        yield from _asked(question, edit)
    elif len(problem.provider_classes) < len(CLASSES):
        note = "from marketplaces too, where nobody answers for a machine"
        yield from _asked(question, Edit({"provider_class": "any"}, note))


def _slower(question: ServingQuestion) -> Iterator[Change]:
    """Find the fastest speed that the other limits allow, and ask again with it.

    Where no speed at all is within the budget, find what a slower one saves.
    """
    problem = question.problem
    if not problem.target:
        return
    slowest = {"target": SLOWEST_WORTH_NAMING}
    fastest = question.edited(Edit({**slowest, "objective": "latency"})).best()
    if fastest is not None:
        target = _proposed_target(fastest)
        if SLOWEST_WORTH_NAMING <= target < problem.target:
            edit = Edit({"target": f"{target:g}tok/s"}, "slower for every user")
            yield from _asked(question, edit)
        return
    if problem.money is None:
        return
    cheap = Edit({**UNCAPPED, **slowest, "objective": "cheapest"})
    cheapest = question.edited(cheap).best()
    target = math.inf if cheapest is None else _proposed_target(cheapest)
    if target < problem.target:
        note = "slower for every user, on fewer or cheaper parts"
        yield from _more_money(question, Edit({"target": f"{target:g}tok/s"}, note))


SLACK = (1.05, 1.25, 1.6, 2.5, 4.0, 6.5)
"""What is best has one user with an average prompt: it is given so much more until
somebody is served, and the long prompts with him."""


def _what_is_reached(question: ServingQuestion) -> Iterator[Change]:
    """Ask for what can be reached, of what is promised to a share of all requests."""
    problem = question.problem
    if problem.percentile is None or question.found:
        return
    shortest, fastest = _out_of_reach(question)
    if shortest is None and fastest is None:
        # Each is met, and not both: the wait gives way.
        shortest = question.found.summary.nearest.prefill_seconds
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


def _proposed_target(build: Build) -> float:
    """Speed of a build, rounded down to what one would type."""
    steps = math.floor(build.tokens_per_second_per_user / SPEED_STEP)
    return round(steps * SPEED_STEP, 1)


def _less(question: ServingQuestion) -> Iterator[Change]:
    """Find how much of what is asked for the other limits allow, by halving."""
    problem, given = question.problem, question.asked.given
    # What nothing serves in time serves less no better.
    if problem.batch is not None or not question.found:
        return
    for name, (field, unit) in LESS.items():
        asked = getattr(problem, field)
        if not asked or (name not in given and name != "concurrency"):
            continue
        parts = PARTS_OF_LESS if unit else min(asked, PARTS_OF_LESS)
        less = [asked * part / parts for part in range(parts)]
        rates = (f"{float(f'{each:.3g}'):.9g}{unit}" for each in less)
        edits = [
            Edit({name: rate if unit else int(each)}, FEWER)
            for each, rate in zip(less, rates, strict=True)
        ]
        low, high = 0, parts
        while high - low > 1 and question.seconds_left:
            middle = (low + high) // 2
            serves = question.edited(edits[middle]).best() is not None
            low, high = (middle, high) if serves else (low, middle)
        if low:
            yield from _asked(question, edits[low])


def _lifted(question: ServingQuestion) -> Iterator[Change]:
    """Lift each limit that is in the way alone; of a number, as far as is needed."""
    for name, edit in _drops(question).items():
        if not question.seconds_left:
            return
        lifted = Edit(question.after_any_wait, WITHOUT) if name == "ttft" else edit
        other = question.edited(lifted)
        if other.problem.objective == "throughput" and not other.problem.limited:
            continue
        if name not in ("max-accelerators", "power"):
            if (build := held(other)) is not None:
                yield _change(edit, build)
        elif (build := other.best()) is None:
            continue
        elif name == "max-accelerators":
            ran = build.deployments
            taken = sum(each.candidate.accelerators * each.replicas for each in ran)
            most = _least(other, "accelerators", taken)
            yield from _asked(question, Edit({"max_accelerators": most}))
        else:
            most = _least(other, "power_watts", math.ceil(build.power_watts))
            yield from _asked(question, Edit({"max_power": f"{most}W"}))


def _least(question: ServingQuestion, name: str, enough: int) -> int:
    """Find the least of a limit with which there is a purchase, by halving."""
    low = 0
    while enough - low > 1 and (seconds := question.seconds_left):
        middle = (low + enough) // 2
        limits = replace(question.limits, power_watts=middle)
        if name == "accelerators":
            limits = replace(question.limits, accelerators=middle)
        if satisfiable(question.found.rows, limits, question.solver, seconds):
            enough = middle
        else:
            low = middle
    return enough


def _drops(question: AnyQuestion, **otherwise: Edit) -> dict[str, Edit]:
    """List the limits of a question that somebody set, with what lifts each."""
    given, set_ = question.asked.given, {}
    for name, edit in {**LIFTS, **otherwise}.items():
        said = [given.get(option) for option in edit.options]
        # So is none: no spare hosts.
        if any(value or str(value) == "0" for value in said):
            own = {
                option: value
                for option, value in edit.options.items()
                if value or option in given
            }
            set_[name] = Edit(own, edit.note)
    if question.problem.rents and _places(question.problem):
        set_["places"] = LIFTS["places"]
    return set_


# --- Of training ----------------------------------------------------------------------


def why_no_cluster(question: TrainingQuestion, purchase: Purchase) -> Infeasibility:
    """Say why no cluster trains it within the limits, and what is nearest."""
    batches, fastest = question.problem.batches, held_back(question)
    binding = tuple(_conflict_of_run(question))
    nearest, cut = _in_time(question, _changes_of_run(question, fastest.build))
    notes = [cut, unproven(purchase), fastest.sentence]
    if batches is not None:
        notes.append(f"each of {len(batches.tried)} batches of the range was tried")
    note = "; ".join(filter(None, notes))
    return Infeasibility(binding=binding, nearest=nearest, note=note)


def _drops_of_run(question: TrainingQuestion) -> dict[str, Edit]:
    """List the limits that are set, with what leaves each of them out."""
    problem, largest = question.problem, _largest_cluster()
    # Without a deadline the aim would be another one.
    no_deadline = Edit({"deadline": "", "objective": problem.objective})
    drops = {
        "deadline": (problem.deadline_seconds, no_deadline),
        "budget": (problem.budget_usd, Edit(UNCAPPED)),
    }
    said = {
        **{name: edit for name, (limit, edit) in drops.items() if limit is not None},
        **_drops(question, redundancy=Edit({"redundancy": ""}, AS_ASSUMED)),
    }
    # What nobody has said is left out before what somebody has.
    most = {"max-accelerators": Edit({"max_accelerators": largest})}
    return {**said, **most} if "max-accelerators" in said else {**most, **said}


def _places(problem: Market) -> tuple[str, ...]:
    """Name from whom a run is rented and where, if not from anybody, anywhere."""
    classes = problem.provider_classes
    named = classes if len(classes) < len(CLASSES) else ()
    return *problem.providers, *problem.regions, *named


def _conflict_of_run(question: TrainingQuestion) -> Iterator[Limit]:
    """Find the limits without any one of which there would be a plan.

    Those that there is no time to leave out stay: all of them are in conflict.
    """
    problem = question.problem
    drops = _drops_of_run(question)

    def feasible(kept: tuple[str, ...]) -> bool:
        if not question.seconds_left:
            return True
        dropped: dict[str, object] = {}
        for name, drop in drops.items():
            if name not in kept:
                dropped |= drop.options
        return question.edited(Edit(dropped)).best() is not None

    if feasible(()):
        for name in minimal_conflict(tuple(drops), feasible):
            yield Limit(name=name, value=_limit_of_run(problem, name))
    billions = _model(question).parameters / 1e9
    value = (
        f"{problem.model}, {billions:.1f}B parameters, {problem.tokens / 1e9:,.3g}B "
        f"tokens, {problem.global_batch} sequences of {problem.seq_len} a step"
    )
    yield Limit(name="model", value=value)


def _limit_of_run(problem: TrainingProblem, name: str) -> str:
    if name == "deadline":
        return f"<= {span((problem.deadline_seconds or 0.0) / SECONDS_PER_DAY)}"
    named: dict[str, Iterable[str]] = {
        "stock": (f"{count} of {part}" for part, count in problem.stock.items()),
        "accelerators": problem.accelerators
        or (f"not {each}" for each in problem.exclude),
        "hosts": problem.hosts,
        "networks": problem.networks,
        "places": _places(problem),
        "confidence": (f"held with {problem.confidence}",),
        "evidence": (f"{problem.evidence}",),
        "datacenter": ("parts for a data center",),
    }
    return ", ".join(named[name]) if name in named else SAID[name].format(problem)


def _changes_of_run(
    question: TrainingQuestion, fastest: TrainingBuild | None
) -> Iterator[Iterator[Change]]:
    """Propose changes, each asked again and found to have a plan."""
    problem, drops = question.problem, _drops_of_run(question)

    def without(*names: str) -> Iterator[Iterator[Change]]:
        return (_asked(question, drops[name]) for name in names if name in drops)

    if problem.deadline_seconds is not None:
        yield _later(question, fastest)
    yield _more_money(question, SAME)
    yield from without("power", "racks", "stock", "redundancy", "confidence", "places")
    if problem.rented:
        note = "a cluster that is still there after the run"
        yield _asked(question, Edit({"procurement": "buy"}, note, (*ANYWHERE,)))
    yield _more_accelerators(question)
    if problem.accelerators:
        yield _other_accelerators(question)
    yield from without("hosts", "networks", "evidence", "datacenter")
    if problem.precision is None:
        note = "changes the numerics of training: check its quality"
        yield _asked(question, Edit({"precision": "fp8"}, note))
    yield _larger_batch(question)


def _larger_batch(question: TrainingQuestion) -> Iterator[Change]:
    """Ask with a larger batch, and the tokens that it needs to the same loss."""
    problem = question.problem
    larger = 4 * problem.global_batch
    both = question.edited(Edit({"global_batch": f"{problem.global_batch}..{larger}"}))
    batches = both.problem.batches
    if problem.batches is not None or batches is None:
        return
    grown = batches.tried[-1].tokens / batches.tried[0].tokens
    tokens = f"{_two_digits(problem.tokens * grown) / 1e9:g}B"
    note = "a larger batch lets more replicas work, and needs more tokens"
    yield from _asked(question, Edit({"global_batch": larger, "tokens": tokens}, note))


def _later(
    question: TrainingQuestion, fastest: TrainingBuild | None
) -> Iterator[Change]:
    """Ask again with the earliest deadline that the other limits allow."""
    if fastest is None:
        return
    of = fastest.deployment
    wait = question.problem.delivered_seconds(of.candidate.accelerator, of.hardware)
    days = math.ceil(fastest.days + wait / SECONDS_PER_DAY)
    note = "the earliest that the other limits allow"
    yield from _asked(question, Edit({"deadline": f"{days}d"}, note))


def _more_accelerators(question: TrainingQuestion) -> Iterator[Change]:
    """Find how many accelerators are needed, and ask again with them."""
    more = question.edited(Edit({"max_accelerators": _largest_cluster()})).best()
    if more is None:
        return
    bought = sum(
        line.quantity for line in more.bill_of_materials if line.kind == "accelerator"
    )
    evaluation, hosts = more.evaluation, more.deployment.hardware.hosts
    # Spare hosts come beside those that are asked for.
    spare = bought * (evaluation.failures.spare_hosts or 0) // hosts
    needed = max(bought - spare, evaluation.accelerators or 0)
    yield from _asked(question, Edit({"max_accelerators": needed}, SAME.note))


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


def _in_time(
    question: AnyQuestion, proposals: Iterable[Iterator[Change]]
) -> tuple[tuple[Change, ...], str]:
    """Take changes while there is time, and say so where that was over first.

    Of proposals that no change came of only the first is asked without time.
    """
    taken = []
    for proposal in proposals:
        for change in proposal:
            taken.append(change)
            if not question.seconds_left:
                break
        if not question.seconds_left:
            break
    return tuple(taken), "" if question.seconds_left else CUT_SHORT


def unproven(purchase: Purchase) -> str:
    """Say that there may be a plan, where the time was too short to tell."""
    unknown = purchase.status == "unknown"
    return "the time limit was reached: this is not proven" if unknown else ""


def _more_money(question: AnyQuestion, edit: Edit) -> Iterator[Change]:
    """Find the budget that is needed for an edit, and ask again with it."""
    if question.limits.budget_micro_usd is None:
        return
    free = Edit({**edit.options, **UNCAPPED, "objective": "cheapest"})
    cheapest = question.edited(free).best()
    if cheapest is None:
        return
    if isinstance(cheapest, TrainingBuild):
        budget = _rounded_up(cheapest.price_usd, RUN_BUDGET_STEP_USD)
    elif question.problem.hourly:
        budget = f"{math.ceil(cheapest.usd_per_hour * 100) / 100:.2f}/h"
    else:
        budget = _rounded_up(cheapest.price_usd, BUDGET_STEP_USD)
    yield from _asked(question, Edit({**edit.options, "budget": budget}, edit.note))


def _rounded_up(usd: float, step: int) -> str:
    return f"{math.ceil(usd / step) * step}"


def _asked(question: AnyQuestion, edit: Edit) -> Iterator[Change]:
    """Ask in other words; a change only if there is a plan then that holds."""
    try:
        other = question.edited(edit)
        if isinstance(other, ServingQuestion):
            build: AnyBuild | None = held(other)
        else:
            build = other.best()
    except InputError:
        return  # what cannot be typed is not proposed
    if build is not None:
        yield _change(edit, build)


def _change(edit: Edit, build: AnyBuild) -> Change:
    """Word what was asked, and what came of it."""
    reached: dict[str, float] = {}
    for name in ("usd_per_hour", "tokens_per_second_per_user", "days"):
        if (figure := getattr(build, name, None)) is not None:
            reached[name] = figure
    return Change(
        options=edit.told,
        summary=build.summary,
        price_usd=build.price_usd,
        price_is_rough=is_rough(build.bill_of_materials),
        note=edit.note,
        **reached,
    )
