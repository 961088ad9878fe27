"""Re-checking a saved plan without the optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.bill import bill_mismatches
from planopt_reference.carried import carried_tables, fact_mismatches
from planopt_reference.certainty import (
    certainty_mismatches,
    held_to_of_steps,
    kind,
)
from planopt_reference.certificate import certificate_mismatches, column_mismatches
from planopt_reference.choices import choice_mismatches
from planopt_reference.communication import PlacementError
from planopt_reference.cost import (
    HOURS_PER_YEAR,
    cost_table,
    electricity_kwh,
    housed,
    rent_usd_per_hour,
)
from planopt_reference.deployment import (
    chain_mismatches,
    hardware_mismatches,
    link_mismatches,
    recomputed,
)
from planopt_reference.facts import FactError, Facts
from planopt_reference.fleet import fleet_mismatches
from planopt_reference.limits import (
    Deployment,
    left,
    limit_mismatches,
    outcome_mismatches,
)
from planopt_reference.mismatch import Mismatch, compared, compared_money
from planopt_reference.others import other_mismatches
from planopt_reference.outlays import (
    nothing_itemised,
    outlay_mismatches,
    time_mismatches,
)
from planopt_reference.pools import (
    bought_together,
    is_of_pools,
    pool_mismatches,
    way_mismatches,
)
from planopt_reference.promises import cards_of, promise_mismatches
from planopt_reference.purchase import PurchaseError, merged
from planopt_reference.question import (
    latency_mismatches,
    nothing_mismatches,
    question_mismatches,
    rate_mismatches,
)
from planopt_reference.redundancy import failure_mismatches
from planopt_reference.remarks import serving_remarks, told_mismatches
from planopt_reference.rent import RentError
from planopt_reference.scenarios import scenario_mismatches
from planopt_reference.training.plan import training_plan_mismatches
from planopt_reference.units import MICRO_USD_PER_USD

if TYPE_CHECKING:
    from planopt_reference.cluster import Cluster

SCHEMA: Final = "planopt.plan/2"

Document = Mapping[str, Any]

# What wrong values in a document lead to while figures are recomputed from them.
_NOT_RECOMPUTABLE: Final = (
    ArithmeticError,
    AttributeError,
    FactError,
    KeyError,
    IndexError,
    PlacementError,
    PurchaseError,
    RentError,
    TypeError,
    ValueError,
)
_MODEL: Final = "recomputed from the model page"
_CATALOG: Final = "recomputed from the catalogs"
_EVALUATION_PARTS: Final = (
    "feasible",
    "rejections",
    "memory",
    "decode",
    "prefill",
    "mixed",
    "kv_capacity_tokens",
    "messages",
    "hosts",
    "accelerators",
)


def verify_plan(
    plan: Document, catalog_root: Path, overlays: Sequence[Path] | None = None
) -> list[Mismatch]:
    """Recompute every verified field of a plan, and check the others for consistency.

    Parameters
    ----------
    plan : mapping
        A plan document of schema `planopt.plan/2`.
    catalog_root : Path
        Folder of the bundled catalog.
    overlays : sequence of Path, optional
        Folders laid over it; by default those that the plan's request names.

    Returns
    -------
    list of Mismatch
        Everything that does not hold; empty for a plan that is right.
    """
    if plan.get("schema") != SCHEMA:
        return [Mismatch("schema", plan.get("schema"), SCHEMA, "not a plan")]
    request = plan.get("request")
    if not isinstance(request, Mapping):
        return [Mismatch("request", request, "a table", "a plan has its question")]
    try:
        asked = list(question_mismatches(plan, request))
    except _NOT_RECOMPUTABLE as error:
        return [Mismatch("request", "a question", "readable", _told(error))]
    if plan.get("status") == "infeasible":
        return [*asked, *_infeasible_mismatches(plan), *nothing_mismatches(plan)]
    if asked:
        return asked
    try:
        facts = _facts(request, catalog_root, overlays, carried_tables(plan))
    except _NOT_RECOMPUTABLE as error:
        stated = request.get("assumptions")
        return [Mismatch("request.assumptions", stated, "known", _told(error))]
    try:
        found = list(fact_mismatches(plan, facts.assumptions.cost))
        found += promise_mismatches(plan)
        found += told_mismatches(plan, request)
    except _NOT_RECOMPUTABLE as error:
        return [Mismatch("promises", "facts and promises", "readable", _told(error))]
    return [*found, *_of_its_kind(plan, request, facts)]


def columns_mismatches(
    request: Document, columns: Iterable[Document], catalog_root: Path
) -> list[Mismatch]:
    """Recompute columns of the purchase that answers a question.

    Parameters
    ----------
    request : mapping
        The question of a plan.
    columns : iterable of mapping
        Units with their figures, as the core tells them.
    catalog_root : Path
        Folder of the bundled catalog.

    Returns
    -------
    list of Mismatch
        Every figure that is another.
    """
    facts = _facts(request, catalog_root)
    return [
        mismatch
        for place, column in enumerate(columns)
        for mismatch in _of_column(column, place, request, facts)
    ]


def _of_column(
    column: Document, place: int, request: Document, facts: Facts
) -> list[Mismatch]:
    try:
        return list(column_mismatches(column, place, request, facts))
    except _NOT_RECOMPUTABLE as error:
        return [Mismatch(f"columns[{place}]", "a unit", "one", _told(error))]


def _facts(
    request: Document,
    catalog_root: Path,
    overlays: Sequence[Path] | None = None,
    carried: Mapping[str, Document] | None = None,
) -> Facts:
    """Read catalogs and assumptions as a question has them."""
    named = [Path(folder) for folder in request.get("catalog") or ()]
    return Facts(
        catalog_root,
        named if overlays is None else overlays,
        assumptions=request["assumptions"],
        pcie_all_reduce=request.get("pcie_all_reduce"),
        cost=request.get("cost"),
        engine=request.get("engine_name"),
        step_tokens=(request.get("engine") or {}).get("token_budget"),
        pricing=request,
        carried=carried,
    )


def _of_its_kind(plan: Document, request: Document, facts: Facts) -> list[Mismatch]:
    if plan.get("kind") == "fleet":
        try:
            itemised = nothing_itemised(plan)
            return [*itemised, *fleet_mismatches(plan, request, facts)]
        except _NOT_RECOMPUTABLE as error:
            return [Mismatch("deployments", "a fleet", "recomputable", _told(error))]
    if plan.get("kind") == "serving":
        return list(_mismatches(plan, request, facts))
    if plan.get("kind") != "training":
        kinds = "serving, training or fleet"
        return [Mismatch("kind", plan.get("kind"), kinds, "not a plan")]
    try:
        return list(training_plan_mismatches(plan, request, facts))
    except _NOT_RECOMPUTABLE as error:
        return [Mismatch("deployments", "a run", "recomputable", _told(error))]


def _told(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return str(error) or type(error).__name__


def _infeasible_mismatches(plan: Document) -> Iterator[Mismatch]:
    reason = "an infeasible plan buys nothing"
    yield from nothing_itemised(plan)
    if plan.get("price_usd") is not None:
        yield Mismatch("price_usd", plan["price_usd"], None, reason)
    for part in ("bill_of_materials", "deployments"):
        if plan.get(part):
            yield Mismatch(part, plan[part], [], reason)


def _mismatches(plan: Document, request: Document, facts: Facts) -> Iterator[Mismatch]:
    stated = plan.get("deployments")
    if not isinstance(stated, list) or not stated:
        yield Mismatch(
            "deployments", stated, "at least one", "a plan deploys something"
        )
        return
    deployments: list[Deployment] = []
    together: Cluster | None = None
    for index, table in enumerate(stated):
        field = f"deployments[{index}]"
        try:
            if together is None and is_of_pools(stated):
                together = bought_together(stated, facts)
            deployment = recomputed(table, request, facts, together)
            found = list(
                _deployment_mismatches(
                    field, table, request, deployment, facts, together
                )
            )
            found += latency_mismatches(
                f"{field}.evaluation", table["evaluation"], deployment.evaluation
            )
            if not table.get("chain"):
                at = request.get("percentile")
                told = table["evaluation"]
                found += time_mismatches(f"{field}.evaluation", told, at)
        except _NOT_RECOMPUTABLE as error:
            yield Mismatch(field, "a deployment", "recomputable", _told(error))
            continue
        deployments.append(deployment)
        yield from found
    if len(deployments) < len(stated):
        return
    try:
        yield from _total_mismatches(plan, deployments, facts)
        yield from limit_mismatches(request, deployments, facts.assumptions.cost)
        for index, table in enumerate(stated):
            yield from choice_mismatches(f"deployments[{index}]", table, request, facts)
        yield from failure_mismatches(plan, request)
        yield from rate_mismatches(plan, request)
        yield from way_mismatches(plan)
        yield from certificate_mismatches(plan, request)
        yield from _certainty_mismatches(plan, request, deployments, facts)
        yield from scenario_mismatches(plan, request, facts)
        yield from serving_remarks(plan, request, facts)
        yield from other_mismatches(plan, request, facts)
        yield from _outcome_mismatches(plan, request, deployments, facts)
    except _NOT_RECOMPUTABLE as error:
        yield Mismatch("request", "limits", "comparable", _told(error))


def _certainty_mismatches(
    plan: Document,
    request: Document,
    deployments: Sequence[Deployment],
    facts: Facts,
) -> Iterator[Mismatch]:
    """Check how sure the plan says it is; of a load that was simulated."""
    cards = [cards_of(table) for table in plan["deployments"]]
    on = {
        name: [one for one, its in zip(deployments, cards, strict=True) if name in its]
        for names in cards
        for name in names
    }
    asked = request.get("throughput_tokens_per_second")
    each = attrgetter("tokens_per_second_per_replica")
    tokens = left(request, deployments, each, asked)
    limits = {
        name: limit
        for name, own in on.items()
        if (limit := held_to_of_steps(request, own, tokens)) is not None
    }
    kinds = {name: kind(facts, request, name) for name in on}
    steady = request.get("percentile") is None
    yield from certainty_mismatches(plan, request, kinds, limits if steady else None)


def _outcome_mismatches(
    plan: Document,
    request: Document,
    deployments: Sequence[Deployment],
    facts: Facts,
) -> Iterator[Mismatch]:
    """Check bound, gap and status in the money that the question is about."""
    if request.get("procurement", "buy") == "buy":
        price = sum(one.price for one in deployments) / MICRO_USD_PER_USD
        yield from outcome_mismatches(plan, price)
    else:
        cost = facts.assumptions.cost
        hourly = sum(one.usd_per_hour(cost) for one in deployments)
        yield from outcome_mismatches(plan, hourly, "bound_usd_per_hour")


def _deployment_mismatches(
    field: str,
    table: Document,
    request: Document,
    deployment: Deployment,
    facts: Facts,
    together: Cluster | None,
) -> Iterator[Mismatch]:
    model = request.get("model")
    yield from compared(f"{field}.model", table["model"], model, "the request's")
    evaluation = table["evaluation"]
    for part in _EVALUATION_PARTS:
        stated, expected = evaluation.get(part), deployment.evaluation[part]
        yield from compared(f"{field}.evaluation.{part}", stated, expected, _MODEL)
    for latency in ("ttft_seconds", "tpot_seconds"):
        yield from _order_mismatches(
            f"{field}.evaluation.{latency}", evaluation.get(latency)
        )
    yield from _unit_cost_mismatches(
        f"{field}.evaluation", evaluation, deployment, facts
    )
    if table.get("chain"):
        yield from chain_mismatches(field, table, deployment)
    elif together is None:
        yield from hardware_mismatches(f"{field}.hardware", table, deployment, facts)
    else:
        yield from pool_mismatches(field, table, together)
        yield from link_mismatches(f"{field}.hardware", table, facts)
    yield from bill_mismatches(
        f"{field}.bill_of_materials",
        table.get("bill_of_materials"),
        merged([(deployment.units, deployment.unit.lines)]),
    )


def _order_mismatches(field: str, latency: Document | None) -> Iterator[Mismatch]:
    """Check simulated percentiles: the higher ones are not below the others."""
    parts = ("p50", "p90", "p95", "p99")
    known = [float(value) for p in parts if (value := (latency or {}).get(p))]
    if known != sorted(known) or (known and known[0] < 0):
        yield Mismatch(field, known, sorted(known), "percentiles in growing order")


def _unit_cost_mismatches(
    field: str, evaluation: Document, deployment: Deployment, facts: Facts
) -> Iterator[Mismatch]:
    """Compare the power and the cost of one unit."""
    bought = deployment.unit
    cost = facts.assumptions.cost
    if deployment.role == "prefill":
        reason = "the pool that answers brings what is bought"
        yield from compared(
            f"{field}.power_watts", evaluation.get("power_watts"), None, reason
        )
        priced = (evaluation.get("cost") or {}).get("price_usd")
        yield from compared(f"{field}.cost.price_usd", priced, None, reason)
        return
    stated = evaluation.get("power_watts")
    expected = None if bought.rent else bought.power_watts
    yield from compared(f"{field}.power_watts", stated, expected, _CATALOG)
    expected_cost = cost_table(
        [(bought.price, bought.power_watts, bought.rack_units)],
        bought.replicas * deployment.tokens_per_second_per_replica,
        cost,
        rent_usd_per_hour([(bought.rent_per_hour, bought.rent)], cost),
    )
    yield from compared(
        f"{field}.cost", evaluation.get("cost"), expected_cost, _CATALOG
    )


def _total_mismatches(
    plan: Document, deployments: Sequence[Deployment], facts: Facts
) -> Iterator[Mismatch]:
    lines = merged((one.units, one.unit.lines) for one in deployments)
    yield from bill_mismatches(
        "bill_of_materials", plan.get("bill_of_materials"), lines
    )
    price = sum(one.price for one in deployments)
    yield from compared_money("price_usd", plan.get("price_usd"), price, _CATALOG)
    power = sum(one.power_watts for one in deployments)
    owned = any(one.unit.rent is None for one in deployments)
    expected_power = power if owned else None
    yield from compared(
        "power_watts", plan.get("power_watts"), expected_power, _CATALOG
    )
    money = facts.assumptions.cost
    carbon = money.carbon_kg_per_kwh
    emitted = None
    if owned and carbon is not None:
        drawn = [
            electricity_kwh(
                one.power_watts, HOURS_PER_YEAR, housed(money, one.rack_units)
            )
            for one in deployments
        ]
        emitted = sum(drawn) * carbon
    stated = plan.get("kg_co2e_per_year")
    yield from compared("kg_co2e_per_year", stated, emitted, _CATALOG)
    bought = [(one.price, one.power_watts, one.rack_units) for one in deployments]
    steady = sum(one.tokens_per_second for one in deployments)
    tokens = _tokens_under_load(plan) or steady
    rents = [(one.rent_per_hour, one.unit.rent) for one in deployments]
    rent = rent_usd_per_hour(rents, money)
    expected = cost_table(bought, tokens, money, rent)
    yield from compared("cost", plan.get("cost"), expected, _CATALOG)
    yield from outlay_mismatches(
        plan,
        bought,
        tokens,
        money,
        rents,
    )


# Section 7, usd_per_million_tokens: of a plan that is judged under a load.
def _tokens_under_load(plan: Document) -> float:
    """Return the tokens that its simulation states, less what interruptions cost."""
    total = 0.0
    for each in plan.get("deployments") or ():
        load = each["evaluation"].get("under_load") or {}
        kept = each["hardware"].get("goodput")
        total += (load.get("tokens_per_second") or 0.0) * (
            1.0 if kept is None else kept
        )
    return total
