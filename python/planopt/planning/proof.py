"""Proving a plan anew: every column of its question against the certificate.

With y the dual value of the demand D, V the price, and p and r what a column costs and
supplies, a better purchase x has ``sum p x < V`` and ``sum r x >= D``, so that
``sum (p - y r) x < V - y D``. Where no column has a reduced cost ``p - y r`` below 0,
none with more than ``V - y D`` is in a better purchase, nor is one that is dearer than
V. Of the few that are left OR-Tools proves the cheapest purchase. All of it is counted
in whole numbers; limits other than the demand can only make purchases dearer.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from heapq import nsmallest
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from planopt.catalog.open import open_for
from planopt.documents.certificate import Certificate
from planopt.documents.homes import HomesPlan
from planopt.documents.plan import Plan, PlanDocument
from planopt.door import written
from planopt.errors import InputError
from planopt.facts import changed_since
from planopt.files import write
from planopt.options import Asked
from planopt.planning.pipeline import Serving
from planopt.planning.question import ServingQuestion
from planopt.procurement.model import Model, row_sets, scaled
from planopt.procurement.problem import Found, ListedUnits, Offer, offer
from planopt.procurement.purchase import buy
from planopt.procurement.solver import Effort, Solver
from planopt.second_opinion import Mismatch, columns_again
from planopt.serving.search import Aim, parts_of
from planopt.units import MICRO_USD

NEAREST: Final = 200
"""Columns nearest to the bound that the reference computes again."""
AT_RANDOM: Final = 2_000
"""Others, drawn at random."""
SEED: Final = 20261127
SOLVER_SECONDS: Final = 60.0
"""For the cheapest purchase of the columns that are left."""
SUPPLY_UNITS: Final = 10**6
"""Whole numbers that a user, or a token per second, is counted in."""


class Proof(Struct, frozen=True, kw_only=True):
    """What holding every column against a certificate came to."""

    columns: int
    """Units at the most that they supply, whatever beats or replaces them."""
    affordable: int
    """Of them, those that cost no more than the plan and supply anything."""
    left: int
    """Those that neither price nor reduced cost excludes: the solver had these."""
    nearest_usd: float | None
    """By how much the nearest of all others is excluded."""
    refused_again: int
    """Rates that simulations have refused again."""
    recomputed_nearest: int
    recomputed_at_random: int
    gather_seconds: float
    check_seconds: float
    solve_seconds: float
    recompute_seconds: float
    mismatches: tuple[Mismatch, ...]
    """What does not hold."""

    @property
    def seconds(self) -> float:
        """All of it."""
        return (
            self.gather_seconds
            + self.check_seconds
            + self.solve_seconds
            + self.recompute_seconds
        )


class _Held(NamedTuple):
    """Columns by what their price and their reduced cost say."""

    affordable: list[int]
    """Columns that cost no more than the plan, and supply anything."""
    below: int | None
    """The column of the least reduced cost, where that is below 0."""
    left: list[int]
    excess: list[int]
    """Scaled micro-dollars by which each column is excluded; 0 of those left."""


def prove(plan: PlanDocument | HomesPlan, mps: str | None = None) -> Proof:
    """Hold every column of a plan's question against its certificate.

    The programme of those that cost no more than the plan goes to the file `mps`. E306
    says that there is no certificate, or that the question cannot be asked again.
    """
    plan, certificate = _certified(plan)
    with Solver() as solver:
        question = _again(plan, solver)
        started = time.monotonic()
        found, unconfirmed = _columns(question, certificate)
        listed = found.listed()
        gathered = time.monotonic()
        price = _micro(
            plan.bound_usd_per_hour if plan.request.hourly else plan.bound_usd
        )
        # Hours of units are rounded up to a millionth of a dollar each.
        units = sum(each.units for each in plan.deployments)
        most = price + units * plan.request.hourly
        held = _held(listed, question, certificate, most)
        checked = time.monotonic()
        mismatches = [*_unrefused(certificate, unconfirmed)]
        if held.below is not None:
            mismatches.append(_below_dual(certificate, listed, held.below))
        mismatches += _bought(found, listed, question, held, price)
        if mps is not None:
            _write_mps(mps, _offered(found, question, held.affordable), question)
        solved = time.monotonic()
    nearest = nsmallest(NEAREST, range(len(listed.host)), key=held.excess.__getitem__)
    others = sorted({*range(len(listed.host))} - {*nearest})
    drawn = random.Random(SEED).sample(others, min(AT_RANDOM, len(others)))
    mismatches += columns_again(
        plan, (_table(listed, each) for each in [*nearest, *drawn])
    )
    excluded = [excess for excess in held.excess if excess > 0]
    return Proof(
        columns=len(listed.host),
        affordable=len(held.affordable),
        left=len(held.left),
        nearest_usd=min(excluded) / SUPPLY_UNITS / MICRO_USD if excluded else None,
        refused_again=len(certificate.refused) - len(unconfirmed),
        recomputed_nearest=len(nearest),
        recomputed_at_random=len(drawn),
        gather_seconds=gathered - started,
        check_seconds=checked - gathered,
        solve_seconds=solved - checked,
        recompute_seconds=time.monotonic() - solved,
        mismatches=tuple(mismatches),
    )


def _certified(plan: PlanDocument | HomesPlan) -> tuple[Plan, Certificate]:
    """Return a plan with its certificate, or say why it has none."""
    if not isinstance(plan, Plan):
        why = "plans of training, fleets and homes carry no certificate"
    elif plan.certificate is not None:
        return plan, plan.certificate
    elif plan.status != "optimal":
        why = f"it says `{plan.status}`, and only what is optimal is certified"
    elif plan.objective != "cheapest":
        why = f"nothing certifies the best {plan.objective}, the least price alone"
    else:
        why = "nothing certifies two pools, nor what is owned already"
    raise _unprovable(why)


def _unprovable(why: str) -> InputError:
    return InputError.of(
        "E306",
        f"the plan cannot be proven: {why}",
        help="without `--proof` it is verified",
    )


def _again(plan: Plan, solver: Solver) -> ServingQuestion:
    """Ask the question of a plan again, of the catalogs at hand."""
    request = plan.request
    if changed_since(plan):
        raise _unprovable("facts have changed in the catalogs at hand since")
    files = {"assumptions": request.assumptions, "catalog": list(request.catalog)}
    given = {name: value for name, value in files.items() if value}
    asked = Asked("solve", {**request.typed, **given})
    question = Serving().read(asked, open_for(asked), solver)
    if _without_words(question.problem.request()) != _without_words(request):
        raise _unprovable(
            "its question is not what was typed: something else has said a part of it"
        )
    return question


def _without_words(request: object) -> dict[str, object]:
    said: dict[str, object] = msgspec.to_builtins(request)
    return {**said, "typed": None}


def _columns(
    question: ServingQuestion, certificate: Certificate
) -> tuple[Found, Sequence[int]]:
    """Gather every unit, without pruning, dominance or bounds of the price."""
    parts = parts_of(question.problem, Aim(every=True))
    asked = {
        "limits": question.limits,
        "objective": question.problem.objective,
        "refused": certificate.refused,
    }
    found, unconfirmed = question.catalog.native.columns(
        [*map(written, parts)], msgspec.json.encode(asked)
    )
    return Found(*found), unconfirmed


def _micro(usd: float | None) -> int:
    return round((usd or 0.0) * MICRO_USD)


def _held(
    listed: ListedUnits, question: ServingQuestion, certificate: Certificate, price: int
) -> _Held:
    """Count the price and the reduced cost of every column, in whole numbers."""
    limits, dual = question.limits, certificate.dual_micro_usd
    is_users = certificate.demand == "concurrency"
    demand = limits.users if is_users else limits.tokens_per_second
    supplies: Sequence[float] = listed.users if is_users else listed.tokens_per_second
    room = price * SUPPLY_UNITS - dual * math.floor(demand * SUPPLY_UNITS)
    affordable, left, excess = [], [], []
    least, below = 0, None
    for column, (own, supply) in enumerate(
        zip(listed.price_micro_usd, supplies, strict=True)
    ):
        reduced = own * SUPPLY_UNITS - dual * math.ceil(supply * SUPPLY_UNITS)
        over = max((own - price) * SUPPLY_UNITS, reduced - room, 0)
        excess.append(over)
        if own > price or supply <= 0:
            continue
        affordable.append(column)
        if reduced < least:
            least, below = reduced, column
        if not over:
            left.append(column)
    # A dual value that does not hold excludes nothing.
    return _Held(affordable, below, left if below is None else affordable, excess)


def _unrefused(
    certificate: Certificate, unconfirmed: Sequence[int]
) -> Iterator[Mismatch]:
    for place in unconfirmed:
        field = f"certificate.refused[{place}].rate"
        rate = certificate.refused[place].rate
        yield Mismatch(field, rate, "no rate that a run refuses", "simulated again")


def _below_dual(certificate: Certificate, listed: ListedUnits, column: int) -> Mismatch:
    cheaper = f"less, as {_named(listed, column)} has it"
    stated = certificate.dual_micro_usd
    return Mismatch("certificate.dual_micro_usd", stated, cheaper, "held against all")


def _bought(
    found: Found,
    listed: ListedUnits,
    question: ServingQuestion,
    held: _Held,
    price: int,
) -> Iterator[Mismatch]:
    """Find the cheapest purchase of what is left, and hold the bound against it."""
    offered = _offered(found, question, held.left)
    best = buy(offered, question.solver, SOLVER_SECONDS, ties=False)
    found_for, bound = best.price_micro_usd, best.bound_micro_usd
    if found_for is None or bound is None:
        told, why = "no purchase", f"the solver says {best.status}"
    elif found_for < price:
        parts = (f"{n} of {_named(listed, row)}" for row, n in best.counts.items())
        told = f"{found_for / MICRO_USD}, {' and '.join(parts)}"
        why = "a better purchase of the same question"
    elif bound < price:
        told, why = f"{bound / MICRO_USD}", "the solver had no time for more"
    else:
        return
    yield Mismatch("bound_usd", price / MICRO_USD, told, why)


def _offered(found: Found, question: ServingQuestion, columns: list[int]) -> Offer:
    return offer(found.rows, question.limits, "cheapest", columns)


def _named(listed: ListedUnits, column: int) -> str:
    accelerators = listed.accelerators[column]
    return f"{accelerators} {listed.accelerator[column]} in {listed.host[column]}"


def _table(listed: ListedUnits, column: int) -> dict[str, object]:
    """Put a column as the reference is asked about it."""
    return {name: values[column] for name, values in asdict(listed).items()}


def _write_mps(file: str, offered: Offer, question: ServingQuestion) -> None:
    """Write each programme of what is offered: several where parts may fail."""
    goal = scaled([*map(Fraction, offered.price_micro_usd)], offered.uppers)
    unit = 1 / (goal.scale * MICRO_USD)
    head = (
        f"* The objective counts {float(unit)} dollars; variables are units bought.\n"
    )
    for place, rows in enumerate(row_sets(offered), 1):
        path = Path(file)
        if place > 1:
            path = path.with_stem(f"{path.stem}-{place}")
        model = Model(offered.uppers, rows, goal.values)
        text = question.solver.solve(model, SOLVER_SECONDS, effort=Effort(method="mps"))
        write(path, head + text.mps, field="--mps")
