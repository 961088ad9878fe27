"""Fleets against exhaustive search and against HiGHS, on small random questions."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from fleet_instances import regional
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from planopt.fleets.cover import (
    Cover,
    Master,
    Prices,
    cheapest,
    covers_of,
    every,
    generate,
    single_covers,
)
from planopt.fleets.periods import settle_periods
from planopt.fleets.problem import (
    Container,
    Fleet,
    Kit,
    Purchase,
    Step,
    Stream,
    Template,
    cost_cents,
    shortfalls,
    undominated,
)
from planopt.fleets.programme import Mix, Selection
from planopt.fleets.stages import solve
from planopt.procurement.solver import REPRODUCIBLY, Effort, Outcome, Solver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.fleets.problem import Way
    from planopt.procurement.model import Model

TIME_LIMIT = 30.0
MOST_CASES = 30_000
NOTHING_KNOWN = 2**60
WAYS: tuple[Way, ...] = ("buy", "buy", "own", "rent")

few = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def solvers() -> Iterator[list[Solver]]:
    with Solver() as one, Solver() as other:
        yield [one, other]


@st.composite
def fleets(draw: st.DrawFn) -> Fleet:
    """Few streams, kits and templates with small figures: ties are common."""
    periods = draw(st.integers(1, 2))
    streams = []
    for name in "ab"[: draw(st.integers(1, 2))]:
        curves = []
        for _ in range(periods):
            demands = draw(st.lists(st.integers(1, 6), max_size=2, unique=True))
            curve = sorted(demands, reverse=True)
            curves.append(tuple(Step(demand, Fraction(7, 2)) for demand in curve))
        streams.append(Stream(name, tuple(curves), draw(st.integers(0, 1))))
    kits = []
    for place in range(draw(st.integers(1, 3))):
        way = draw(st.sampled_from(WAYS))
        pool = draw(st.sampled_from("xy"))
        uses = {"room": draw(st.integers(0, 3)), pool: draw(st.integers(0, 2))}
        charges = tuple(draw(st.integers(0, 20)) for _ in range(periods))
        rate = draw(st.integers(0, 10)) * 5_000
        if way == "rent":
            charges = (0,) * periods
        kits.append(Kit(f"kit-{place}", way, pool, charges, rate, uses))
    templates = []
    for _ in range(draw(st.integers(1, 4))):
        supply = draw(st.integers(1, 4))
        templates.append(
            Template(
                stream=draw(st.integers(0, len(streams) - 1)),
                kit=draw(st.integers(0, len(kits) - 1)),
                supply=supply,
                loss=draw(st.integers(1, 2 * supply)),
                uses={"power": draw(st.integers(0, 3))},
            )
        )
    names = draw(st.sets(st.sampled_from(["room", "power", "x", "y"])))
    limits = {name: draw(st.integers(0, 12)) for name in sorted(names)}
    containers: tuple[Container, ...] = ()
    if "room" in limits and draw(st.booleans()):
        gives = {"room": draw(st.integers(1, 4))}
        containers = (Container("rack", gives, draw(st.integers(0, 6)), 2),)
    return Fleet(tuple(streams), tuple(kits), tuple(templates), limits, containers)


def least_cost(fleet: Fleet) -> int | None:
    """Try everything: every number of copies in every period and step."""
    variables: list[tuple[tuple[object, ...], int]] = []
    for place, template in enumerate(fleet.templates):
        stream = fleet.streams[template.stream]
        rented = fleet.kits[template.kit].way == "rent"
        for period, steps in enumerate(stream.periods):
            for step, asked in enumerate(steps if rented else steps[:1]):
                needed = asked.demand + stream.losses * template.loss
                most = math.ceil(needed / template.supply)
                variables.append((("at work", place, period, step), most))
    for place, container in enumerate(fleet.containers):
        variables.append((("container", place), container.most))
    assume(math.prod(most + 1 for _, most in variables) <= MOST_CASES)
    costs = []
    for counts in itertools.product(*(range(most + 1) for _, most in variables)):
        keys = [key for key, _ in variables]
        cost = _cost(fleet, dict(zip(keys, counts, strict=True)))
        if cost is not None:
            costs.append(cost)
    return min(costs, default=None)


def _cost(fleet: Fleet, counts: dict[tuple[object, ...], int]) -> int | None:
    """Least cost with these copies at work, or none if that is not possible."""
    periods = range(len(fleet.streams[0].periods))
    rents = [kit.way == "rent" for kit in fleet.kits]
    for number, stream in enumerate(fleet.streams):
        for period, steps in enumerate(stream.periods):
            for step, asked in enumerate(steps):
                there = {
                    place: counts.get(
                        ("at work", place, period, step if rents[each.kit] else 0), 0
                    )
                    for place, each in enumerate(fleet.templates)
                    if each.stream == number
                }
                supply = sum(fleet.templates[t].supply * n for t, n in there.items())
                losses = [fleet.templates[t].loss for t, n in there.items() if n]
                lost = stream.losses * max(losses, default=0)
                if supply - lost < asked.demand:
                    return None
    cost = Fraction(0)
    needed = [[0] * len(periods) for _ in fleet.kits]
    for place, template in enumerate(fleet.templates):
        stream = fleet.streams[template.stream]
        for period in periods:
            hours = [step.hours for step in stream.periods[period]]
            of_steps = [
                counts.get(("at work", place, period, step), 0)
                for step in range(len(hours))
            ]
            needed[template.kit][period] += max(of_steps, default=0)
            if rents[template.kit]:
                rate = Fraction(fleet.kits[template.kit].micro_usd_per_hour, 10**4)
                for count, rented in zip(of_steps, hours, strict=True):
                    cost += count * math.ceil(rate * rented)
    ways = [
        _acquisitions(needed[place], len(periods)) if not rents[place] else [None]
        for place in range(len(fleet.kits))
    ]
    racks = [counts.get(("container", p), 0) for p in range(len(fleet.containers))]
    for number, container in zip(racks, fleet.containers, strict=True):
        cost += number * container.charge_cents
    best = None
    for way in itertools.product(*ways):
        total = cost
        held = [list(row) for row in needed]
        for place, bought in enumerate(way):
            if bought is not None:
                held[place] = list(itertools.accumulate(bought))
                charges = fleet.kits[place].charge_cents
                total += sum(n * c for n, c in zip(bought, charges, strict=True))
        if _within(fleet, counts, held, racks) and (best is None or total < best):
            best = total
    return None if best is None else int(best)


def _acquisitions(needed: list[int], periods: int) -> list[tuple[int, ...]]:
    """Ways of acquiring at least what is needed, in time; never more than the most."""
    most = max(needed)
    return [
        bought
        for bought in itertools.product(range(most + 1), repeat=periods)
        if sum(bought) <= most
        and all(
            have >= need
            for have, need in zip(itertools.accumulate(bought), needed, strict=True)
        )
    ]


def _within(
    fleet: Fleet,
    counts: dict[tuple[object, ...], int],
    held: list[list[int]],
    racks: list[int],
) -> bool:
    for name, limit in fleet.limits.items():
        room = limit + sum(
            number * container.gives.get(name, 0)
            for number, container in zip(racks, fleet.containers, strict=True)
        )
        for period in range(len(fleet.streams[0].periods)):
            used = sum(
                kit.uses.get(name, 0) * held[place][period]
                for place, kit in enumerate(fleet.kits)
            )
            for place, template in enumerate(fleet.templates):
                steps = range(len(fleet.streams[template.stream].periods[period]))
                at_work = (counts.get(("at work", place, period, s), 0) for s in steps)
                used += template.uses.get(name, 0) * max(at_work, default=0)
            if used > room:
                return False
    return True


def highs(model: Model) -> int | None:
    """Optimum by HiGHS, through MathOpt; none if there is none."""
    # OR-Tools ships no types for this front.
    from ortools.math_opt.python import mathopt  # type: ignore[import-untyped]

    stated = mathopt.Model()
    variables = [stated.add_integer_variable(lb=0, ub=upper) for upper in model.uppers]
    for row in model.rows:
        assert row.variables is not None
        terms = zip(row.variables, row.coefficients, strict=True)
        activity = sum(factor * variables[place] for place, factor in terms)
        lower = -math.inf if row.lower is None else row.lower
        upper = math.inf if row.upper is None else row.upper
        stated.add_linear_constraint(lb=lower, expr=activity, ub=upper)
    stated.minimize(
        sum(
            c * variable for c, variable in zip(model.objective, variables, strict=True)
        )
    )
    exactly = mathopt.SolveParameters(
        relative_gap_tolerance=0.0, absolute_gap_tolerance=0.0
    )
    result = mathopt.solve(stated, mathopt.SolverType.HIGHS, params=exactly)
    if result.termination.reason == mathopt.TerminationReason.OPTIMAL:
        optimum: float = result.objective_value()
        return round(optimum)
    assert result.termination.reason in (
        mathopt.TerminationReason.INFEASIBLE,
        mathopt.TerminationReason.INFEASIBLE_OR_UNBOUNDED,
    )
    return None


@few
@given(fleets())
def test_the_free_mix_is_best_by_cp_sat_by_highs_and_by_trying_everything(
    solvers: list[Solver], fleet: Fleet
) -> None:
    expected = least_cost(fleet)
    free = Mix(fleet)
    outcome = solvers[0].solve(free.model, TIME_LIMIT)
    assert outcome.objective == expected
    assert highs(free.model) == expected
    if expected is not None:
        purchase = free.purchase(outcome.values)
        assert not shortfalls(fleet, purchase)
        assert cost_cents(fleet, purchase) == expected


@few
@given(fleets(), st.sampled_from([1, 4]))
def test_selections_are_best_by_both_and_are_answers_of_the_whole(
    solvers: list[Solver], fleet: Fleet, parts: int
) -> None:
    chosen = Selection(fleet, parts)
    outcome = solvers[0].solve(chosen.model, TIME_LIMIT)
    assert outcome.objective == highs(chosen.model)
    if len(chosen.model.uppers) <= 12:
        assert outcome.objective == _least_of_all_values(chosen.model)
    if not outcome.values:
        return
    purchase = chosen.purchase(outcome.values)
    assert not shortfalls(fleet, purchase)
    assert cost_cents(fleet, purchase) == outcome.objective
    hint = Mix(fleet).values(purchase)
    free = Mix(fleet).purchase(hint)
    assert not shortfalls(fleet, free)
    assert cost_cents(fleet, free) <= cost_cents(fleet, purchase)


def _least_of_all_values(model: Model) -> int | None:
    costs = []
    for values in itertools.product(*(range(upper + 1) for upper in model.uppers)):
        for row in model.rows:
            assert row.variables is not None
            terms = zip(row.variables, row.coefficients, strict=True)
            activity = sum(factor * values[place] for place, factor in terms)
            if row.lower is not None and activity < row.lower:
                break
            if row.upper is not None and activity > row.upper:
                break
        else:
            costs.append(sum(map(int.__mul__, model.objective, values)))
    return min(costs, default=None)


@few
@given(fleets())
def test_the_stages_end_at_the_best_whatever_the_workers(
    solvers: list[Solver], fleet: Fleet
) -> None:
    one = solve(fleet, solvers[:1], TIME_LIMIT)
    two = solve(fleet, solvers, TIME_LIMIT)
    expected = least_cost(fleet)
    assert one.cost_cents == two.cost_cents == expected
    assert one.purchase == two.purchase
    assert one.status == ("infeasible" if expected is None else "optimal")


@few
@given(fleets())
def test_dominated_templates_are_not_missed(
    solvers: list[Solver], fleet: Fleet
) -> None:
    kept = fleet.only(undominated(fleet))
    costs = [
        solvers[0].solve(Mix(each).model, TIME_LIMIT).objective
        for each in (fleet, kept)
    ]
    assert costs[0] == costs[1]


@few
@given(fleets(), st.data())
def test_the_cheapest_cover_is_what_the_free_mix_of_one_demand_costs(
    solvers: list[Solver], fleet: Fleet, data: st.DataObject
) -> None:
    stream = data.draw(st.integers(0, len(fleet.streams) - 1))
    asked = fleet.streams[stream]
    assume(asked.active)
    period = data.draw(st.sampled_from(asked.active))
    # Prices of hardware alone, and limits that no two copies share.
    prices = {
        (kit, period): data.draw(st.integers(0, 20)) for kit in range(len(fleet.kits))
    }
    kits = tuple(
        replace(
            kit,
            charge_cents=(0 if kit.way == "rent" else prices[place, period],),
            uses={},
        )
        for place, kit in enumerate(fleet.kits)
    )
    templates = tuple(
        replace(each, stream=0, uses={})
        for each in fleet.templates
        if each.stream == stream
    )
    alone = Fleet((replace(asked, periods=(asked.periods[period],)),), kits, templates)
    expected = solvers[0].solve(Mix(alone).model, TIME_LIMIT).objective
    paid = Prices({(kit, 0): price for (kit, _), price in prices.items()}, {})
    bound, cover = cheapest(alone, 0, 0, paid, NOTHING_KNOWN)
    assert (None if cover is None else bound) == expected
    if cover is not None:
        assert cover.price_cents(alone, paid) == bound
        # And nothing is cheaper than that.
        assert cheapest(alone, 0, 0, paid, bound) == (bound, None)


@few
@given(fleets(), st.booleans())
def test_generated_covers_are_answers_and_their_prices_bound_all_answers(
    solvers: list[Solver], fleet: Fleet, singles: bool
) -> None:
    best = solvers[0].solve(Mix(fleet).model, TIME_LIMIT)
    assume(best.objective is not None)
    start = Selection(fleet, 4)
    outcome = solvers[0].solve(start.model, TIME_LIMIT)
    assume(outcome.values)
    known = start.purchase(outcome.values)
    deadline = time.monotonic() + TIME_LIMIT
    begun = [*covers_of(fleet, known), *(single_covers(fleet) if singles else ())]
    generated = generate(fleet, solvers[0], begun, deadline)
    assert best.objective is not None
    assert generated.bound_cents <= best.objective
    chosen = solvers[0].solve(generated.master.model, TIME_LIMIT)
    purchase = generated.master.purchase(chosen.values)
    assert not shortfalls(fleet, purchase)
    assert best.objective <= cost_cents(fleet, purchase) <= cost_cents(fleet, known)


@few
@given(fleets(), st.booleans())
def test_periods_by_themselves_bound_all_answers_and_one_alone_is_proven(
    solvers: list[Solver], fleet: Fleet, late: bool
) -> None:
    best = solvers[0].solve(Mix(fleet).model, TIME_LIMIT)
    assume(best.objective is not None)
    known = [*covers_of(fleet, Mix(fleet).purchase(best.values))]
    if late:  # Begin with what is dear.
        start = Selection(fleet, 4)
        outcome = solvers[0].solve(start.model, TIME_LIMIT)
        assume(outcome.values)
        known = [*covers_of(fleet, start.purchase(outcome.values))]
    deadline = time.monotonic() + TIME_LIMIT
    effort = Effort(relaxing=True)
    bound, found = settle_periods(fleet, solvers[0], known, deadline, effort)
    assert best.objective is not None
    assert bound <= best.objective
    master = Master(fleet, tuple(dict.fromkeys([*known, *found])))
    chosen = solvers[0].solve(master.model, TIME_LIMIT)
    assert not shortfalls(fleet, master.purchase(chosen.values))
    if len(fleet.periods) == 1 and not any(each.way == "rent" for each in fleet.kits):
        assert bound == chosen.objective == best.objective


def test_what_is_rented_off_the_peak_may_be_what_a_limit_leaves(
    solvers: list[Solver],
) -> None:
    """Large at the peak and small after it is cheapest, but there is one machine."""
    curve = (Step(2, Fraction(1)), Step(1, Fraction(1)))
    kits = (
        Kit("bought", "buy", "x", (10,), 0, {}),
        Kit("large", "rent", "y", (0,), 30_000, {"quota": 1}),
        Kit("small", "rent", "z", (0,), 20_000, {"quota": 1}),
    )
    templates = (Template(0, 0, 2, 2), Template(0, 1, 2, 2), Template(0, 2, 1, 1))
    fleet = Fleet((Stream("a", (curve,), 0),), kits, templates, {"quota": 1})
    best = solvers[0].solve(Mix(fleet).model, TIME_LIMIT)
    assert best.objective == 6
    known = covers_of(fleet, Purchase({(0, 0): 1}, {(0, 0): 1}))
    deadline = time.monotonic() + TIME_LIMIT
    bound, _ = settle_periods(fleet, solvers[0], known, deadline, REPRODUCIBLY)
    assert bound == 5


@few
@given(fleets(), st.data())
def test_every_cover_is_there_or_one_that_takes_no_more(
    fleet: Fleet, data: st.DataObject
) -> None:
    stream = data.draw(st.integers(0, len(fleet.streams) - 1))
    asked = fleet.streams[stream]
    assume(asked.active)
    period = data.draw(st.sampled_from(asked.active))
    steps = asked.periods[period]
    places = fleet.of_stream[stream]
    price = {
        (kit, period): data.draw(st.integers(0, 20)) for kit in range(len(fleet.kits))
    }
    prices = Prices(price, {})
    below = data.draw(st.integers(1, 80))
    found = every(fleet, stream, period, prices, below)
    assert found is not None

    def takes(cover: Cover) -> list[int]:
        """Copies at the peak by kit and way to get them, and rent."""
        there = cover.at_peak
        kits = [0] * (2 * len(fleet.kits))
        for (place, _), copies in there.deployed.items():
            kits[fleet.templates[place].kit] += copies
        for (place, _, _), copies in there.rented.items():
            kits[len(fleet.kits) + fleet.templates[place].kit] += copies
        return [*kits, cost_cents(fleet, cover.purchase)]

    known = [takes(each) for each in found]
    for each in found:
        assert each.price_cents(fleet, prices) < below
    keys = [
        (place, period, step) if fleet.rents(place) else (place, period)
        for place in places
        for step in (range(len(steps)) if fleet.rents(place) else [0])
    ]
    most = [
        min((n, *fleet.allowed(fleet.uses[key[0]])))
        for key in keys
        for n in [fleet.copies(key[0], steps[0].demand)]
    ]
    assume(math.prod(n + 1 for n in most) <= 3_000)
    for counts in itertools.product(*(range(n + 1) for n in most)):
        pairs = [pair for pair in zip(keys, counts, strict=True) if pair[1]]
        cover = Cover(
            stream,
            period,
            Purchase(
                deployed={key: n for key, n in pairs if len(key) == 2},
                rented={key: n for key, n in pairs if len(key) == 3},
            ),
        )
        if cover.price_cents(fleet, prices) >= below:
            continue
        alone = fleet.asking({stream})
        alone = replace(
            alone,
            streams=tuple(
                replace(
                    s,
                    periods=tuple(
                        p if i == period else () for i, p in enumerate(s.periods)
                    ),
                )
                for s in alone.streams
            ),
            limits={},
        )
        held = Counter({(fleet.templates[key[0]].kit, 0): 0 for key, _ in pairs})
        for key, n in pairs:
            if len(key) == 2:
                held[fleet.templates[key[0]].kit, 0] += n
        if shortfalls(alone, replace(cover.purchase, acquired=held)):
            continue
        mine = takes(cover)
        assert any(all(map(int.__le__, other, mine)) for other in known)


def test_a_limit_that_racks_add_to_bounds_no_copies() -> None:
    racks = (Container("rack", {"room": 4}, 5, 2),)
    fleet = Fleet((), (), (), {"room": 6, "power": 9}, racks)
    assert fleet.allowed({"room": 2, "power": 3, "budget": 1}) == [3]


def test_many_models_in_many_regions_of_one_period_have_a_bound(
    solvers: list[Solver],
) -> None:
    """Fifty models in ten regions had none; these 36 demands take the same way."""
    fleet = regional("amber", models=12, regions=3, scarce=True)
    answer = solve(fleet, solvers[:1], 10.0)
    assert answer.purchase is not None
    assert not shortfalls(fleet, answer.purchase)
    assert answer.gap is not None
    assert answer.gap < 0.02


class Idle(Solver):
    """Finds and proves nothing, and counts the work that it was given."""

    def __init__(self) -> None:
        self.work = 0.0

    def solve(
        self,
        model: Model,  # noqa: ARG002
        time_limit: float,  # noqa: ARG002
        hint: Sequence[int] | None = None,  # noqa: ARG002
        effort: Effort = REPRODUCIBLY,
    ) -> Outcome:
        self.work += effort.work or 0.0
        return Outcome("unknown")


@pytest.mark.parametrize("workers", [1, 2])
def test_work_goes_on_for_as_long_as_the_time_limit_is_good_for(workers: int) -> None:
    """A limit of 300 s was left after 96 s, however far the plan was from its bound."""
    idle = [Idle() for _ in range(workers)]
    answer = solve(regional("amber", models=1, regions=1), idle, 300.0)
    assert sum(each.work for each in idle) == pytest.approx(300.0)
    assert not answer.by_the_clock
