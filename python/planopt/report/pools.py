"""One pool beside two, on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import (
    UNKNOWN,
    count,
    milliseconds,
    money,
    money_per_million,
    rate,
    size,
)
from planopt.report.parts import price
from planopt.report.table import Table, listed

if TYPE_CHECKING:
    from planopt.documents.evaluation import Disaggregated, Transfer
    from planopt.documents.plan import Plan
    from planopt.report.table import Block


def pools(plan: Plan) -> list[Block]:
    """Put the plan beside the best two pools for the same question."""
    at, two = plan.request.percentile, plan.disaggregated
    if at is None or two is None:
        way = [] if plan.transfer is None else [_sent(plan.transfer), *_least(plan)]
        return [*listed(way)]
    missed = "simulated, the two pools miss their promises"
    latencies = f">{at} TTFT", f">{at} TPOT"
    titles = ("", ">price", ">accelerators", ">tok/s", *latencies, ">$/Mtok", "layout")
    return [
        Table(titles, [_of_one(plan, at), _of_two(two, at)]),
        *listed([_way(two), *([] if two.in_time else [missed]), *_least(plan)]),
    ]


def _least(plan: Plan) -> list[str]:
    """Say what no two pools are below."""
    least = plan.pools_bound_usd
    if least is None:
        return []
    return [f"at rates that none exceeds two pools cost {money(least, whole=True)}"]


def _sent(way: Transfer) -> str:
    over = f"over {way.network}" if way.network else "inside of the host"
    sent = f"a prompt's cache of {size(way.bytes)}"
    return f"{sent} takes {milliseconds(way.seconds)} {over}"


def _of_one(plan: Plan, at: str) -> tuple[str, ...]:
    if not plan.deployments:
        return ("colocated", *[UNKNOWN] * 6, "no plan")
    layouts = (f"{each.replicas}x {each.candidate.layout}" for each in plan.deployments)
    worst = [
        max(
            getattr(getattr(each.evaluation, name), at) or 0.0
            for each in plan.deployments
        )
        for name in ("ttft_seconds", "tpot_seconds")
    ]
    return (
        "colocated",
        price(plan),
        count(plan.totals.accelerators),
        rate(plan.totals.tokens_per_second),
        *map(milliseconds, worst),
        money_per_million(plan.cost.usd_per_million_tokens),
        ", ".join(layouts),
    )


def _of_two(two: Disaggregated, at: str) -> tuple[str, ...]:
    return (
        "disaggregated",
        price(two),
        count(two.accelerators),
        rate(two.tokens_per_second),
        milliseconds(getattr(two.ttft_seconds, at)),
        milliseconds(getattr(two.tpot_seconds, at)),
        money_per_million(two.cost.usd_per_million_tokens),
        two.layout,
    )


def _way(two: Disaggregated) -> str:
    """Say how the cache gets across, and how evenly matched the pools are."""
    prefill, decode = (pool.candidate.accelerator for pool in (two.prefill, two.decode))
    kinds = "" if prefill == decode else f"; prefill on {prefill}, decode on {decode}"
    return (
        f"{_sent(two.transfer)}; the pools carry "
        f"{rate(two.prefill.requests_per_second)} and "
        f"{rate(two.decode.requests_per_second)} requests/s in time{kinds}"
    )
