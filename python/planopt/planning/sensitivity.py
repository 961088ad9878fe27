"""What the answer becomes when one thing is different: the question is asked again.

Over what prices the choice stays the best is asked again too, not read off duals.
Everything else being as it is, a purchase that has n of a part costs n dollars more
for each dollar that the part is dearer. So what the best purchase costs is, over the
price of one part, the lower envelope of straight lines, and the choice is on it over an
interval. Its end is found exactly: ask at the end of the band; where another purchase
is better there, ask where both cost the same; as long as a third one is better there,
go on with it. The other assumptions are moved within the band one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from msgspec import Struct, convert, structs

from planopt.documents.evaluation import Deployment, ServingEvaluation
from planopt.documents.explanations import (
    Alternative,
    Flip,
    PriceRange,
    Sensitivity,
    Step,
    Uncertainty,
)
from planopt.documents.parts import BomLine
from planopt.money import AROUND, of_a_dollar
from planopt.options import Edit
from planopt.planning.alternatives import is_within, span
from planopt.planning.question import (
    AnyBuild,
    AnyQuestion,
    ServingQuestion,
    TrainingQuestion,
)
from planopt.planning.warnings import LOW_MARGIN, PCIE_CHANGE
from planopt.price_sources import dollars, price
from planopt.serving.build import Build
from planopt.serving.load import configuration_of
from planopt.serving.question_types import Problem
from planopt.training.build import TrainingBuild
from planopt.units import MICRO_USD, SECONDS_PER_DAY

PCIE_CLASSES = ("slow", "good")
NONE_FOUND = "no plan was found"
DEADLINES = (0.8, 1.5)  # Shares of the deadline that the question is asked again with
OTHER_NETWORK = 1.5  # How much dearer a cluster on another network is looked for first
ROUNDING_USD = 1.0  # What a price may be off by where it was added up in another order
TIMES = 2  # By which sessions are longer, more, faster growing or sooner back
FOUND = 0.9
"""What is found where prompts do not begin as they did: a time of day, tools in another
order, thoughts that are left out."""
TIERS = (
    ("extra-memory", "memory_bytes", "2TB", 2e12),
    ("cache-disks", "disks", "4", 4),
)
"""What each host may be bought with besides."""
SHARE = 0.1
"""A step of what is measured: money, power, speed. Of what is counted it is one."""


class _Mean(Struct):
    mean: float | None = None
    tokens: int | None = None


class _Think(Struct):
    share: float
    mean_seconds: float


class _Sessions(Struct):
    """Of a load of sessions, what is asked about otherwise."""

    turns: _Mean
    grow: _Mean
    think: list[_Think]


# --- Of serving -----------------------------------------------------------------------


_Asked: TypeAlias = "dict[str, ServingQuestion]"
"""Questions by how their change is typed."""


def nearby(question: ServingQuestion, chosen: Build) -> tuple[_Asked, _Asked]:
    """Ask what may flip the choice, where that does not take as long again.

    First over networks one step slower and faster: what these buy is to be held.
    """
    if question.is_wide:
        return {}, {}
    networks = dict(_other_networks(question, chosen.facts.networks_beside))
    edits = {
        **_higher_target(question.problem, chosen),
        **_pcie_classes(question),
        **_other_sessions(question.problem),
    }
    asked = question.edited_each([*networks.values(), *edits.values()])
    others = (each.near(chosen) for each in asked[len(networks) :])
    over = zip(networks, asked, strict=False)
    return dict(over), dict(zip(edits, others, strict=True))


def sensitivities(
    question: ServingQuestion, chosen: Build, best: Mapping[str, Build | None]
) -> tuple[Sensitivity, ...]:
    """Tell what changes of the question would buy, and what a full pipeline does."""
    told = (
        _told(change, chosen, other)
        for change, other in best.items()
        if other or question.seconds_left
    )
    return (
        *(
            each
            for each in told
            if each.choice_changes or not each.change.startswith(PCIE_CHANGE)
        ),
        *_full_pipeline(question, chosen),
    )


def _told(change: str, chosen: AnyBuild, other: AnyBuild | None) -> Sensitivity:
    if other is None:
        return Sensitivity(change=change, result=NONE_FOUND, choice_changes=True)
    same = other.bill_of_materials == chosen.bill_of_materials
    paid = price(other.price_usd, other.bill_of_materials)
    if isinstance(other, TrainingBuild):
        found = f"{other.summary}: {paid}, {span(other.days)}"
    else:
        speed = f"{other.tokens_per_second_per_user:.1f} tok/s per user"
        paid = f"{dollars(other.usd_per_hour)}/h" if other.rented else paid
        found = f"{other.summary}: {paid}, {speed}"
        found = f"the same parts: {speed}" if same else found
    return Sensitivity(
        change=change, result=found, choice_changes=not same, price_usd=other.price_usd
    )


def _higher_target(problem: Problem, chosen: Build) -> dict[str, Edit]:
    """Ask for the next plan that clears the target, where this one barely does."""
    higher = problem.target * (1 + LOW_MARGIN)
    if problem.target and chosen.tokens_per_second_per_user < higher:
        return {f"--target {higher:g}tok/s": Edit({"target": higher})}
    return {}


def _other_sessions(problem: Problem) -> dict[str, Edit]:
    """Ask for sessions that grow more or pause less, and for more room."""
    if problem.session_load is None:
        return {}
    load = convert(problem.session_load, _Sessions)
    think = sum(each.share * each.mean_seconds for each in load.think)
    turns, grow = (
        round(TIMES * (each.mean or each.tokens or 1.0))
        for each in (load.turns, load.grow)
    )
    sessions = TIMES * problem.concurrency
    return {
        f"--sessions {sessions}": Edit({"sessions": sessions}),
        f"--turns {turns}": Edit({"turns": turns}),
        f"--grow {grow}": Edit({"grow": grow}),
        f"--think {think / TIMES:.3g}s": Edit({"think": think / TIMES}),
        **({} if problem.prefix_hit_rate else _room(problem)),
    }


def _room(problem: Problem) -> dict[str, Edit]:
    """Ask what less that is found costs, and more memory or disks for it save."""
    return {
        f"--prefix-hit-rate {FOUND:.0%}": Edit({"prefix_hit_rate": FOUND}),
        **{
            f"--{name} {said}": Edit({name.replace("-", "_"): figure})
            for name, key, said, figure in TIERS
            if key not in problem.cost
        },
    }


def _pcie_classes(question: ServingQuestion) -> dict[str, Edit]:
    """Ask whether slower or faster all-reduce over PCIe changes what is bought."""
    problem = question.problem
    if problem.pcie_all_reduce is not None or problem.objective != "cheapest":
        return {}
    if not question.found.summary.reduces_over_pcie:
        return {}
    return {
        f"{PCIE_CHANGE} of class `{name}`": Edit({"pcie_all_reduce": name})
        for name in PCIE_CLASSES
    }


def _full_pipeline(question: ServingQuestion, chosen: Build) -> Iterator[Sensitivity]:
    """Say what a full pipeline would do, where the question keeps it from filling."""
    for deployment in chosen.deployments:
        candidate = deployment.candidate
        if question.problem.in_flight is None or candidate.in_flight >= candidate.pp:
            continue
        stages = candidate.pp
        for batch in (candidate.batch, -(-candidate.batch // stages)):
            yield Sensitivity(
                change=f"in-flight = p = {stages}, batch {batch}",
                result=_with_in_flight(question, deployment, batch, stages),
            )


def _with_in_flight(
    question: ServingQuestion, deployment: Deployment, batch: int, in_flight: int
) -> str:
    filled = structs.replace(deployment.candidate, batch=batch, in_flight=in_flight)
    one = structs.replace(deployment, candidate=filled, replicas=1)
    evaluation = question.catalog.ask(
        "evaluate_serving", configuration_of(question.problem, one), ServingEvaluation
    )
    users = batch * in_flight
    if not evaluation.feasible:
        return f"{users} users: {evaluation.rejections[0].message}"
    decode = evaluation.decode
    return (
        f"{users} users at {decode.tokens_per_second_per_user:.1f} tok/s each, "
        f"{decode.tokens_per_second:,.0f} tok/s in all"
    )


# --- Of training ----------------------------------------------------------------------


def run_sensitivities(
    question: TrainingQuestion, chosen: TrainingBuild
) -> tuple[Sensitivity, ...]:
    """Ask again with less time and with more, and on slower and faster networks."""
    networks = _other_networks(question, chosen.networks_beside)
    changes = (
        *_other_deadlines(question.problem.deadline_seconds),
        *((change, edit, OTHER_NETWORK) for change, edit in networks),
    )
    best = (
        (change, _best_near(question.edited(edit), chosen, dearer))
        for change, edit, dearer in changes
        if question.seconds_left
    )
    # What was not found in time may be there.
    return tuple(
        _told(change, chosen, other)
        for change, other in best
        if other or question.seconds_left
    )


_Change: TypeAlias = "tuple[str, Edit, float]"
"""A change, what it is typed as, and how much dearer a cluster may be for it."""


def _other_deadlines(deadline: float | None) -> Iterator[_Change]:
    """Ask for less time and for more.

    Twice as many accelerators in half of the time, and as much again for what they
    lose on the way; with more time none that is dearer is better.
    """
    for share in DEADLINES if deadline else ():
        seconds = share * (deadline or 0.0)
        change = f"--deadline {span(seconds / SECONDS_PER_DAY)}"
        yield change, Edit({"deadline": seconds}), max(1.0, 1.0 / share**2)


# --- Of either ------------------------------------------------------------------------


def _other_networks(
    question: AnyQuestion, beside: Iterable[Sequence[str]]
) -> Iterator[tuple[str, Edit]]:
    """Ask for networks one step slower and faster: what the network is worth."""
    if question.problem.networks or not (question.had_time and question.seconds_left):
        return
    for names in beside:
        if names:
            typed = ",".join(names)
            yield f"--network {typed}", Edit({"network": typed})


def _best_near(
    question: TrainingQuestion, chosen: TrainingBuild, dearer: float
) -> TrainingBuild | None:
    """Find the best cluster, first among those that are not much dearer than `chosen`.

    Whatever is found within a price is the cheapest of all; the whole search is for
    where nothing is.
    """
    near = chosen.price_usd * dearer + ROUNDING_USD
    cheapest = question.problem.objective == "cheapest"
    found = question.up_to(near).best() if cheapest else None
    return question.best() if found is None else found


# --- Steps of limits ------------------------------------------------------------------


def steps(question: ServingQuestion, chosen: Build) -> tuple[Step, ...]:
    """Ask again with each limit a step wider, where that was asked for.

    A limit is binding if a step of it changes what is best; what the step is worth is
    the difference, exactly.
    """
    if not question.problem.steps:
        return ()
    return tuple(
        _worth(question, chosen, name, edit) for name, edit in _wider(question.problem)
    )


def _wider(problem: Problem) -> Iterator[tuple[str, Edit]]:
    """List each limit that is set, with a step of it."""
    if (usd := problem.budget_usd) is not None:
        yield "budget", Edit({"budget": usd * (1 + SHARE)}, f"+${usd * SHARE:,.0f}")
    if (usd := problem.budget_usd_per_hour) is not None:
        wider = Edit({"budget": f"{usd * (1 + SHARE)!r}/h"}, f"+${usd * SHARE:,.3g}/h")
        yield "budget per hour", wider
    if (watts := problem.max_power_watts) is not None:
        wider = Edit({"max_power": watts * (1 + SHARE)}, f"+{watts * SHARE:,.0f} W")
        yield "power", wider
    if (racks := problem.max_racks) is not None:
        yield "racks", Edit({"max_racks": racks + 1}, "+1 rack")
    if (most := problem.max_accelerators) is not None:
        yield "accelerators", Edit({"max_accelerators": most + 1}, "+1")
    for part, number in sorted(problem.stock.items()):
        stock = {**problem.stock, part: number + 1}
        yield f"stock:{part}", Edit({"stock": stock}, "+1")
    for part, number in sorted(problem.own.items()):
        yield f"own:{part}", Edit({"own": {**problem.own, part: number + 1}}, "+1")
    if problem.concurrency > 1:
        yield "concurrency", Edit({"concurrency": problem.concurrency - 1}, "-1")
    for part, losses in sorted(problem.redundancy.items()):
        if part == "loss":
            continue
        fewer = {**problem.redundancy, part: losses - 1}
        yield f"redundancy:{part}", Edit({"redundancy": fewer}, "-1")
    if target := problem.target:
        slower = Edit({"target": target * (1 - SHARE)}, f"-{target * SHARE:g} tok/s")
        yield "target", slower


def _worth(question: ServingQuestion, chosen: Build, name: str, edit: Edit) -> Step:
    said = edit.note or ""
    other = question.edited(edit).best()
    if other is None:  # Not in time: a wider limit has every plan of the narrower.
        return Step(limit=name, step=said)
    of = "usd_per_hour" if question.problem.hourly else "price_usd"
    return Step(
        limit=name,
        step=said,
        binding=other.bill_of_materials != chosen.bill_of_materials,
        saves_usd=getattr(chosen, of) - getattr(other, of),
        gains_tokens_per_second=other.tokens_per_second - chosen.tokens_per_second,
        choice=other.summary,
    )


# --- A band of prices -----------------------------------------------------------------


OF_AN_HOUR = {
    "electricity_usd_per_kwh": "electricity",
    "duty": "duty",
    "years": "years",
    "pue": "pue",
}
"""Assumptions that dollars per hour depend on, and their options; a purchase price
does not."""

BISECTIONS = 5  # The limit is known to the band divided by 2 to the power of this

JUST_MORE = 1 + 1e-9


def flips(question: ServingQuestion, chosen: Build, band: float) -> Iterator[Flip]:
    """Find how far each assumption may move before another choice is better."""
    cost = question.catalog.cost
    for name, option in OF_AN_HOUR.items() if question.problem.hourly else ():
        ask = partial(_best_with, question, option)
        most = 1.0 if name == "duty" else math.inf
        yield _flip(name, getattr(cost, name), ask, chosen, band, most)

    def longer(value: float) -> Build | None:
        return _best_with(question, "max_model_len", round(value))

    context = question.problem.context_tokens
    yield _flip("context_tokens", context, longer, chosen, band)
    yield _of_speed(question, chosen, band)


def _best_with(question: ServingQuestion, option: str, value: float) -> Build | None:
    return question.edited(Edit({option: value})).best()


def _of_speed(question: ServingQuestion, chosen: Build, band: float) -> Flip:
    """Say how much slower than predicted it may be, and what would be bought then."""
    problem = question.problem
    speed = chosen.tokens_per_second_per_user
    slowest = problem.target / speed if speed else 1.0
    if not problem.target or slowest < 1 - band:
        return Flip(name="predicted_speed", value=1.0)
    other = _best_with(question, "target", speed * JUST_MORE)
    return Flip(
        name="predicted_speed", value=1.0, low=slowest, low_choice=_choice(other)
    )


def _choice(build: Build | None) -> str:
    return "no plan" if build is None else build.summary


def _flip(
    name: str,
    value: float,
    ask: Callable[[float], Build | None],
    chosen: Build,
    band: float,
    most: float = math.inf,
) -> Flip:
    low, low_choice = _end(value, value * (1 - band), ask, chosen)
    high, high_choice = _end(value, min(most, value * (1 + band)), ask, chosen)
    return Flip(
        name=name,
        value=value,
        low=low,
        high=high,
        low_choice=low_choice,
        high_choice=high_choice,
    )


def _end(
    inside: float, outside: float, ask: Callable[[float], Build | None], chosen: Build
) -> tuple[float | None, str | None]:
    """Bisect for where the choice changes; none if it is the same at the end."""
    if inside == outside:
        return None, None
    other = ask(outside)
    if _same(other, chosen):
        return None, None
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        found = ask(middle)
        if _same(found, chosen):
            inside = middle
        else:
            outside, other = middle, found
    return outside, _choice(other)


def _same(build: Build | None, chosen: Build) -> bool:
    return build is not None and build.bill_of_materials == chosen.bill_of_materials


CENT = 0.01
MOST_STEPS = 12  # Each step finds another purchase on the way: more have not been seen


def uncertainty(
    question: ServingQuestion, chosen: Build, others: Sequence[Alternative]
) -> Uncertainty | None:
    """Ask how far prices may move, where a band of them was given."""
    band = question.problem.price_band
    if band is None or question.problem.objective != "cheapest":
        return None
    ranges = tuple(
        _range(question, chosen, line, band)
        for line in chosen.bill_of_materials
        if not line.owned and line.kind not in AROUND
    )
    next_best = next(filter(is_within, others), None)
    return Uncertainty(
        price_band=band,
        prices=ranges,
        # Under a load each would be judged as the plan was, and take as long.
        flips=()
        if question.problem.percentile
        else tuple(flips(question, chosen, band)),
        worst_regret_usd=max((each.regret_usd for each in ranges), default=0.0),
        runner_up=None if next_best is None else next_best.summary,
        runner_up_regret_usd=None
        if next_best is None
        else _paid(question, next_best) - _paid(question, chosen),
    )


def _paid(question: ServingQuestion, build: Build | Alternative) -> float:
    """Return what a build costs, in the money that was asked about."""
    usd = build.usd_per_hour if question.problem.hourly else build.price_usd
    return usd or 0.0


@dataclass(frozen=True)
class _Part:
    """One part, at other prices."""

    question: ServingQuestion
    line: BomLine

    @property
    def price(self) -> float:
        return self.line.unit_price_usd or self.line.unit_usd_per_hour or 0.0

    def ask(self, usd: float) -> Build | None:
        """Answer the question with another price of the part."""
        other = self.question.about()
        other.catalog = other.catalog.at_price(self.line.id, usd, self._terms)
        return other.best()

    @property
    def _terms(self) -> str | None:
        """Terms of an instance, which its name ends with."""
        instance = self.line.kind == "instance"
        return self.line.name.rpartition(", ")[2] if instance else None

    def slope(self, build: Build) -> float:
        """Dollars more that a build costs for each dollar that the part is dearer.

        In racks also what freight and spares are a share of.
        """
        cost = self.question.catalog.cost
        dearer = 1.0 + cost.freight + cost.spares
        bills = [
            (line.quantity * (dearer if height else 1.0), height)
            for each in build.deployments
            for height in (each.hardware.rack_units,)
            for line in each.bill_of_materials
            if (line.kind, line.id, line.name, line.owned)
            == (self.line.kind, self.line.id, self.line.name, False)
        ]
        number = sum(quantity for quantity, _ in bills)
        if not self.question.problem.hourly:
            return number
        if self.line.kind == "instance":
            reserved = (self._terms or "").startswith("reserved")
            return number * (1.0 if reserved else cost.paid_on_demand)
        return sum(quantity * of_a_dollar(cost, height) for quantity, height in bills)


def _range(
    question: ServingQuestion, chosen: Build, line: BomLine, band: float
) -> PriceRange:
    part = _Part(question, line)
    low, low_choice, low_regret = _limit(question, chosen, part, -band)
    high, high_choice, high_regret = _limit(question, chosen, part, band)
    return PriceRange(
        kind=line.kind,
        id=line.id,
        name=line.name,
        price_usd=part.price,
        low_usd=low,
        high_usd=high,
        low_choice=low_choice,
        high_choice=high_choice,
        regret_usd=max(low_regret, high_regret),
    )


def _limit(
    question: ServingQuestion, chosen: Build, part: _Part, share: float
) -> tuple[float | None, str | None, float]:
    """Find the price at which another build takes over, which, and the regret."""
    own, slope = _paid(question, chosen), part.slope(chosen)

    def cost_of_chosen(usd: float) -> float:
        return own + slope * (usd - part.price)

    tolerance = 1 / MICRO_USD if question.problem.hourly else CENT
    usd = part.price * (1 + share)
    end = part.ask(usd)
    if end is None or _paid(question, end) >= cost_of_chosen(usd) - tolerance:
        return None, None, 0.0
    regret = cost_of_chosen(usd) - _paid(question, end)
    other = end
    for _ in range(MOST_STEPS):
        steeper = slope - part.slope(other)
        if not steeper:
            break
        # Where the line of the other build meets that of the choice.
        usd -= (cost_of_chosen(usd) - _paid(question, other)) / steeper
        third = part.ask(usd)
        if third is None or _paid(question, third) >= cost_of_chosen(usd) - tolerance:
            break
        other = third
    return usd, other.summary, regret
