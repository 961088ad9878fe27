"""Cards of two kinds in one chain, where that is cheaper than replicas of like ones."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from planopt.documents.evaluation import (
    ChainPart,
    Decode,
    Deployment,
    Prefill,
    ServingEvaluation,
)
from planopt.documents.homes import Chains, NeighboursPlan
from planopt.documents.parts import Candidate, Cost, Hardware
from planopt.money import at_load, parts
from planopt.planning.settle import Choice, judged
from planopt.procurement.problem import Purchase
from planopt.serving.build import Build, Facts
from planopt.units import HOURS_PER_YEAR, MICRO_USD, WATTS_PER_KILOWATT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.planning.question import ServingQuestion

LONGEST: Final = 12
"""Cards of a kind in a chain, at most."""
SHARE_OF_TIME: Final = 0.5
"""Of what is left, after which chains that nobody has looked at may be cheaper."""
JUDGED_BY: Final = frozenset(
    (
        *("model", "online", "weights", "kv", "workload", "isl", "osl"),
        *("max_model_len", "target", "tpot", "ttft", "percentile", "load"),
        *("concurrency", "people", "request_rate", "arrival_cv", "engine"),
        *("policy", "token_budget", "max_sequences", "pcie_all_reduce"),
        *("accelerators", "exclude", "vendor", "network", "stock", "budget"),
        *("prices", "condition", "currency", "discount", "vat", "electricity"),
        *("years", "duty", "pue", "wacc", "staff", "cost_line", "carbon"),
        *("top", "time_limit", "memory_limit", "catalog"),
    )
)
"""Options that chains are judged by too: where any other is given, none is bought."""


class _Machines(Struct, frozen=True, kw_only=True):
    """Machines of a kind."""

    id: str
    machines: int
    accelerators: int
    network: str
    in_one_host: bool = False


class _Priced(Struct, frozen=True, kw_only=True):
    """Machines of two kinds, and what they cost with what joins them."""

    machines: tuple[_Machines, ...]
    price_usd: float

    @property
    def mixture(self) -> tuple[tuple[str, int], ...]:
        """How many there are of each."""
        return tuple((kind.id, kind.machines) for kind in self.machines)


def or_chain(
    question: ServingQuestion, purchase: Purchase, like: Choice | None
) -> Choice | None:
    """Return the cheapest chain of two stocked kinds where it is cheaper.

    All cards stand in one host, or each in a machine of its own on one network. Chains
    cheaper than the best of like cards are looked at, the cheapest first: each in the
    cut that puts the most tokens out in the mean, which is then simulated under the
    load. A question remembers whether all of them were.
    """
    there = _stocked(question)
    if len(there) < 2 or question.seconds_left <= 0:
        return like
    held = like is not None and not like.build.missed
    most = question.problem.budget_usd
    below = math.inf if most is None else math.nextafter(most, math.inf)
    if like is not None and held:
        below = min(below, like.build.price_usd)
    chain = _cheapest(question, there, below)
    if chain is None:
        return like
    proven = _proven(chain, purchase, like.purchase if like and held else None)
    return Choice(like.question if like else question, proven, chain)


def _stocked(question: ServingQuestion) -> dict[str, int]:
    """Return what a stock has of the cards that a chain may be made of."""
    problem = question.problem
    if not problem.stock or problem.objective != "cheapest" or not problem.target:
        return {}
    if {name for name, said in question.asked.given.items() if said} - JUDGED_BY:
        return {}
    cards = {each.id for each in question.catalog.list("accelerators")}
    cards -= {*problem.exclude, *problem.left_out}
    cards &= {*(problem.accelerators or cards)}
    stock = {id_: min(n, LONGEST) for id_, n in sorted(problem.stock.items())}
    return {id_: many for id_, many in stock.items() if many and id_ in cards}


def _proven(chain: Build, purchase: Purchase, like: Purchase | None) -> Purchase:
    """Say what is known of a chain: no dearer one was looked at, nor is bought.

    Where no like cards do, that has to be proven; else their bound is the chain's.
    """
    price = round(chain.price_usd * MICRO_USD)
    why = like.why if like else purchase.why
    bound = None if like is None else like.bound_micro_usd
    if like is None and not purchase.counts and purchase.status == "infeasible":
        bound = price
    if bound is None:
        return Purchase(status="feasible", why=why or "edge")
    bound = min(bound, price)
    gap = (price - bound) / price if price else 0.0
    return Purchase(
        status="feasible" if gap else "optimal",
        why=why or "edge" if gap else None,
        bound_micro_usd=bound,
        gap=gap,
    )


def _cheapest(
    question: ServingQuestion, there: dict[str, int], below: float
) -> Build | None:
    """Look at chains until one is held; without one, remember that there is none."""
    ends = time.monotonic() + SHARE_OF_TIME * question.seconds_left
    stocked: dict[str, object] = {"cards": [*there.items()]}
    stocked["networks"] = question.problem.networks
    if math.isfinite(below):
        stocked["below_usd"] = below
    asked = {"chains": stocked}
    priced = question.catalog.ask("price_chains", asked, tuple[_Priced, ...])
    too_small: set[object] = set()
    for each in priced:
        if time.monotonic() > ends:
            return None
        if each.mixture in too_small:
            continue
        plan = _laid(question, each)
        if not plan.lengths:
            # Whether they hold the model does not depend on what joins them.
            too_small.add(each.mixture)
        build = _held(question, plan)
        if build is not None:
            question.asked_chains = True
            return build
    question.asked_chains = True
    return None


def _laid(question: ServingQuestion, priced: _Priced) -> NeighboursPlan:
    """Lay out the best chain of such machines."""
    problem = question.problem
    neighbours = {
        "machines": [asdict(kind) for kind in priced.machines],
        "output": problem.output_tokens,
        "target": problem.target,
    }
    asked = {**problem.judged, "neighbours": neighbours}
    return question.catalog.ask("serve_neighbours", asked, NeighboursPlan)


def _held(question: ServingQuestion, plan: NeighboursPlan) -> Build | None:
    """Build a chain that is at work in whole, where it keeps what is promised."""
    chain, problem = plan.best, question.problem
    if chain is None or plan.price_usd is None or plan.power_watts is None:
        return None
    waiting = problem.arrivals is None or problem.arrivals.kind == "closed"
    if waiting and chain.users < problem.concurrency:
        return None
    late = problem.ttft_seconds and chain.prefill_seconds > problem.ttft_seconds
    if late or any(kind.spares for kind in chain.machines):
        return None
    build = _built(question, plan, chain)
    if problem.percentile is None:
        return build
    choice = judged(Choice(question, Purchase(status="feasible"), build))
    return None if choice.build.missed else choice.build


def _built(question: ServingQuestion, plan: NeighboursPlan, chain: Chains) -> Build:
    """Put a chain as a purchase of one unit."""
    problem, money = question.problem, question.catalog.cost
    price, watts = plan.price_usd or 0.0, plan.power_watts or 0.0
    height = plan.rack_units or 0.0
    hourly = sum(parts(money, price, watts, height).values())
    tokens = chain.output_tokens_per_second
    cost = Cost(price_usd=price, usd_per_hour=hourly)
    cost = at_load(cost, tokens, money.duty)
    deployment = _deployed(problem.model, plan, chain)
    evaluation = replace(deployment.evaluation, cost=cost, power_watts=watts)
    carbon = money.carbon_kg_per_kwh
    kwh = watts / WATTS_PER_KILOWATT * HOURS_PER_YEAR * money.duty
    kwh *= money.pue if height else 1.0
    model = question.catalog.model(problem.model, problem.kv_heads)
    return Build(
        deployments=(replace(deployment, evaluation=evaluation),),
        bill_of_materials=plan.bill_of_materials,
        cost=cost,
        power_watts=watts,
        kg_co2e_per_year=None if carbon is None else kwh * carbon,
        users=deployment.users,
        tokens_per_second=tokens,
        tokens_per_second_per_user=chain.tokens_per_second_per_user_served,
        summary=f"one chain of {' + '.join(_counted(chain))}",
        tokens_per_second_left=tokens,
        facts=Facts(max_context=model.max_context, published=model.weights),
    )


def _counted(chain: Chains) -> Iterator[str]:
    return (f"{kind.machines}x {kind.id}" for kind in chain.machines)


def _deployed(model: str, plan: NeighboursPlan, chain: Chains) -> Deployment:
    """Say of a chain what is said of replicas of like cards."""
    kinds, stages = chain.machines, len(chain.stages)
    bill = plan.bill_of_materials
    hosts = sum(line.quantity for line in bill if line.kind == "host")
    switches = [each for each in bill if each.kind == "switch"]
    served = chain.tokens_per_second_per_user_served
    fullest = max((each.memory for each in chain.stages), key=lambda m: m.total_bytes)
    return Deployment(
        model=model,
        candidate=Candidate(
            accelerator="+".join(sorted(kind.id for kind in kinds)),
            pp=stages,
            batch=chain.batch,
            in_flight=chain.in_flight,
            weights=plan.weights,
            kv=plan.kv,
        ),
        hardware=Hardware(
            host="+".join(sorted({kind.host for kind in kinds})),
            hosts=hosts,
            network=kinds[0].network if hosts > 1 else None,
            nics_per_host=int(hosts > 1),
            switch=switches[0].id if switches else None,
            switch_count=sum(each.quantity for each in switches),
            rack_units=plan.rack_units or 0.0,
        ),
        evaluation=ServingEvaluation(
            feasible=True,
            memory=fullest,
            decode=Decode(
                step_seconds=chain.step_seconds,
                waiting_seconds=chain.step_seconds - chain.turn_seconds,
                tpot_seconds=1.0 / served,
                tokens_per_second_per_user=served,
                tokens_per_second=chain.output_tokens_per_second / chain.chains,
            ),
            prefill=Prefill(seconds=chain.prefill_seconds),
            hosts=stages if hosts > 1 else 1,
            accelerators=stages,
        ),
        replicas=chain.chains,
        bill_of_materials=plan.bill_of_materials,
        chain=tuple(
            ChainPart(
                accelerator=kinds[each.kind].id,
                host=kinds[each.kind].host,
                layers=each.layers,
            )
            for each in chain.stages
        ),
    )
