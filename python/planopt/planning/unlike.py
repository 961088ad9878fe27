"""Unlike cards in one chain, where no replicas of one kind of card will do."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Final

from planopt.documents.explanations import Change
from planopt.documents.homes import Chains, NeighboursPlan
from planopt.price_sources import is_rough

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt.planning.question import ServingQuestion

LONGEST: Final = 12
"""Cards of a kind in a chain, at most."""
KEPT: Final = "every limit: a card a machine, all of them bought, layers: {layers}"
IN_THE_MEAN: Final = "; in the mean, no load is simulated on a chain"


def unlike(question: ServingQuestion) -> Change | None:
    """Find the cheapest chain of two kinds of card of which the stock has so many.

    Each card stands in a machine of its own, all of them on one network. Of steps, and
    of users who wait for their answers, in the mean: nothing simulates a chain.
    """
    problem = question.problem
    cards = {each.id for each in question.catalog.list("accelerators")}
    cards -= {*problem.exclude, *problem.left_out}
    cards &= {*(problem.accelerators or cards)}
    there = {id_: min(n, LONGEST) for id_, n in problem.stock.items() if id_ in cards}
    if len(there) < 2 or not problem.target or _asks_more(question):
        return None
    best: tuple[float, NeighboursPlan, Chains] | None = None
    for bound, mixture, network in sorted(
        _candidates(question, there), key=lambda each: each[0]
    ):
        most = problem.budget_usd if best is None else best[0]
        if question.seconds_left <= 0 or (most is not None and bound > most):
            break
        plan = _chains(question, mixture, network)
        found, price = plan.best, plan.price_usd
        if found is None or price is None or found.users < problem.concurrency:
            continue
        if most is None or price < most:
            best = price, plan, found
    if best is None:
        return None
    return _change(*best, how="" if problem.percentile is None else IN_THE_MEAN)


def _asks_more(question: ServingQuestion) -> bool:
    """Whether anything is asked for that nobody looks at in a chain."""
    problem = question.problem
    waits = problem.arrivals is None or problem.arrivals.kind == "closed"
    loads = not waits, problem.ttft_seconds, problem.finds, problem.throughput
    ways = problem.redundancy, problem.rents
    places = problem.hosts, problem.own, problem.datacenter, problem.within_host
    limits = problem.max_power_watts, problem.max_racks, problem.max_accelerators
    return any([*loads, *ways, *places, *limits])


def _candidates(
    question: ServingQuestion, there: Mapping[str, int]
) -> Iterator[tuple[float, dict[str, int], str]]:
    """Yield what holds the model, on each network, and less than it costs.

    Whether it is held does not depend on the network.
    """
    allowed = question.problem.networks
    prices: dict[str, dict[str, float]] = {}
    for network in (each.id for each in question.catalog.list("networks")):
        if allowed and network not in allowed:
            continue
        of_two = {id_: _chains(question, {id_: 2}, network).price_usd for id_ in there}
        known = {id_: price / 2 for id_, price in of_two.items() if price is not None}
        if len(known) > 1:
            prices[network] = known
    for one, other in combinations(sorted(there), 2):
        fewest = there[other]
        for many in range(1, there[one] + 1):
            while fewest and _holds(question, {one: many, other: fewest}, *prices):
                fewest -= 1
            for few in range(fewest + 1, there[other] + 1):
                for network, each in prices.items():
                    if one in each and other in each:
                        bound = many * each[one] + few * each[other]
                        yield bound, {one: many, other: few}, network


def _holds(
    question: ServingQuestion, mixture: Mapping[str, int], *networks: str
) -> bool:
    return any(_chains(question, mixture, each).lengths for each in networks[:1])


def _chains(
    question: ServingQuestion, mixture: Mapping[str, int], network: str
) -> NeighboursPlan:
    """Lay out the best chain of such cards."""
    problem = question.problem
    machines = [
        {"id": id_, "machines": many, "accelerators": 1, "network": network}
        for id_, many in mixture.items()
    ]
    neighbours = {
        "machines": machines,
        "output": problem.output_tokens,
        "target": problem.target,
    }
    asked = {**problem.judged, "neighbours": neighbours}
    return question.catalog.ask("serve_neighbours", asked, NeighboursPlan)


def _change(price: float, plan: NeighboursPlan, chain: Chains, how: str) -> Change:
    kinds = chain.machines
    named = [f"{kind.machines}x{kind.id}" for kind in kinds]
    layers: Counter[str] = Counter()
    for stage in chain.stages:
        layers[kinds[stage.kind].id] += stage.layers
    shared = ", ".join(f"{many} on {id_}" for id_, many in layers.items())
    network = kinds[0].network
    return Change(
        options={"own": ",".join([*named, network])},
        summary=f"one chain of {' + '.join(named)} over {network}",
        price_usd=price,
        price_is_rough=is_rough(plan.bill_of_materials),
        tokens_per_second_per_user=chain.tokens_per_second_per_user_served,
        note=KEPT.format(layers=shared) + how,
    )
