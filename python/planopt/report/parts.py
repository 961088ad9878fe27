"""Pieces that several answers show: what is bought, its layout, its speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.prices import is_rough
from planopt.report.numbers import (
    UNKNOWN,
    count,
    milliseconds,
    money,
    money_per_hour,
    money_per_million,
    rate,
    size,
    tonnes,
    watts,
)
from planopt.report.table import beside, table, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planopt.documents.evaluation import (
        Deployment,
        Percentiles,
        ServingEvaluation,
        TimeParts,
        UnderLoad,
    )
    from planopt.documents.parts import Assumed, BomLine, Candidate, Cost, PlanWarning
    from planopt.report.style import Style

__all__ = [
    "assumed_lines",
    "bill_lines",
    "cost_line",
    "figure_lines",
    "latency_lines",
    "layout",
    "oldest",
    "purchase",
    "section",
    "warning_lines",
    "where_from",
]

_BAR = 12  # characters of the longest bar


def section(title: str, lines: Sequence[str], style: Style) -> list[str]:
    """Put a heading over lines, or leave both out where there are none."""
    return ["", style.head(f" {title}"), *lines] if lines else []


def layout(candidate: Candidate) -> str:
    """Describe how the model is spread: ``TP4 x PP2, fp16, batch 330``."""
    parts = [candidate.layout]
    if candidate.weights is not None:
        parts.append(candidate.weights)
    if candidate.kv not in (None, candidate.weights):
        parts.append(f"{candidate.kv} KV cache")
    flights = f" x {candidate.in_flight} in flight" if candidate.in_flight > 1 else ""
    parts.append(f"batch {count(candidate.batch)}{flights}")
    if candidate.draft is not None:
        parts.append(
            f"{candidate.draft_tokens} drafted by {candidate.draft}, "
            f"{candidate.acceptance:.0%} accepted"
        )
    if candidate.offload:
        where = "on disk" if candidate.offload_to == "disk" else "in the host"
        parts.append(f"{candidate.offload} layers of each stage {where}")
    if candidate.lora_adapters:
        held = count(candidate.lora_adapters)
        parts.append(f"{held} x LoRA of rank {candidate.lora_rank}")
    if candidate.image_tokens:
        parts.append(f"{count(candidate.image_tokens)} tokens of images in a prompt")
    if candidate.overlap != "none":
        parts.append(f"{candidate.overlap} overlap")
    return ", ".join(parts)


def purchase(bill: Iterable[BomLine]) -> str:
    """Describe what is bought in one line, the accelerators and their hosts first."""
    order = {"accelerator": 0, "machine": 1, "host": 2, "instance": 3}
    shown = sorted(
        (line for line in bill if line.quantity > 0),
        key=lambda line: order.get(line.kind, len(order)),
    )
    return " + ".join(f"{line.quantity}x {line.name}" for line in shown)


def deployment_line(deployment: Deployment, engine: str | None) -> str:
    """Describe a deployment: model, engine if one is named, layout, copies."""
    under = f" under {engine}" if engine else ""
    copies = f", {deployment.replicas} replicas" if deployment.replicas > 1 else ""
    return f"{deployment.model}{under}, {layout(deployment.candidate)}{copies}"


def figure_lines(evaluation: ServingEvaluation) -> list[str]:
    """Show where a token's time and an accelerator's memory go, side by side."""
    return [*beside(_time(evaluation), _memory(evaluation)), *_prompt(evaluation)]


def latency_lines(evaluation: ServingEvaluation) -> list[str]:
    """Show latencies under a load, where one was asked about."""
    return [
        *_percentiles("TTFT", evaluation.ttft_seconds),
        *_percentiles("TPOT", evaluation.tpot_seconds),
        *_load(evaluation.under_load),
    ]


def _load(load: UnderLoad | None) -> list[str]:
    """Say what all replicas put out while latencies are such."""
    if load is None:
        return []
    who = f"{count(load.users)} users" if load.users else "at random"
    return [
        f" Load  {who}: {rate(load.requests_per_second)} requests/s, "
        f"{rate(load.tokens_per_second)} tok/s in all"
    ]


def _percentiles(name: str, of: Percentiles) -> list[str]:
    known = {
        label: value
        for label, value in (
            ("mean", of.mean),
            ("p50", of.p50),
            ("p95", of.p95),
            ("p99", of.p99),
        )
        if value is not None
    }
    said = "   ".join(f"{label} {milliseconds(each)}" for label, each in known.items())
    return [f" {name}  {said}"] if known else []


def _time(evaluation: ServingEvaluation) -> list[str]:
    decode = evaluation.decode
    # Steps of a token: two where batches take turns, a part of one where it is drafted.
    steps = (decode.tpot_seconds or 0.0) / (decode.step_seconds or 1.0)
    causes = _causes(decode) | {"waiting": decode.waiting_seconds}
    longest = max((each for each in causes.values() if each), default=0.0)
    lines = [f" Time per token       {milliseconds(decode.tpot_seconds)}"]
    for cause, seconds in causes.items():
        if seconds:
            bar = "#" * round(_BAR * seconds / longest)
            spent = milliseconds(seconds * steps)
            lines.append(f"  {cause:<15}{spent:>10}  {bar}".rstrip())
    if evaluation.mixed is not None and evaluation.mixed.chunk_tokens:
        seconds = evaluation.mixed.step_seconds
        lines.append(f"  with a prompt  {milliseconds(seconds):>10}")
    return lines


def _causes(parts: TimeParts) -> dict[str, float | None]:
    """Name what a time consists of."""
    return {
        "arithmetic": parts.compute_seconds,
        "memory": parts.memory_seconds,
        "communication": parts.communication_seconds,
        "offload": parts.offload_seconds,
        "host": parts.host_seconds,
    }


def _prompt(evaluation: ServingEvaluation) -> list[str]:
    """Show what reading one prompt alone takes, and of what."""
    prefill = evaluation.prefill
    if prefill.seconds is None:
        return []
    causes = [
        f"{cause} {milliseconds(seconds)}"
        for cause, seconds in _causes(prefill).items()
        if seconds
    ]
    said = "   ".join([f" One prompt  {milliseconds(prefill.seconds)}", *causes])
    return wrapped(said, indent="", hanging="  ")


def _memory(evaluation: ServingEvaluation) -> list[str]:
    memory = evaluation.memory
    if memory is None:
        return []
    total, capacity = memory.total_bytes, memory.capacity_bytes
    return [
        f" Memory per accelerator  {size(total)} of {size(capacity)} usable",
        f"  weights       {size(memory.weights_bytes):>12}",
        f"  KV cache      {size(memory.kv_cache_bytes):>12}",
        f"  activations   {size(memory.activations_bytes):>12}",
        f"  overhead      {size(memory.overhead_bytes):>12}",
    ]


def bill_lines(bill: Sequence[BomLine], style: Style) -> list[str]:
    """Show the bill of materials with its sum, which is the price."""
    if not bill:
        return []
    rows = [
        (
            line.name,
            count(line.quantity),
            *_prices(line),
            where_from(line),
        )
        for line in bill
    ]
    rented = [line for line in bill if line.kind == "instance"]
    bought = [line for line in bill if line.kind != "instance"]
    if bought:
        total = sum(line.price_usd or 0.0 for line in bought)
        priced = all(line.price_usd is not None for line in bought)
        known = total if priced else None
        rows.append(("purchase", "", "", money(known, rough=is_rough(bought)), ""))
    if rented:
        rent = sum(line.usd_per_hour or 0.0 for line in rented)
        rows.append(("rent", "", "", money_per_hour(rent), ""))
    header = ("Bill of materials", "qty", "each", "total", "source")
    if not any(line.source for line in bill):
        return table(header[:-1], [row[:-1] for row in rows], "<>>>", style=style)
    return table(header, rows, "<>>><", style=style)


def where_from(line: BomLine) -> str:
    """Say how old the price of a part is, how well it is known, and its range."""
    low, high = line.unit_price_low_usd, line.unit_price_high_usd
    ends = [money(usd) for usd in (low, high) if usd is not None]
    range_ = " to ".join(ends)
    if len(ends) == 1:
        range_ = f"{'from' if high is None else 'up to'} {range_}"
    return ", ".join(part for part in (line.source, range_) if part)


def oldest(date: str | None) -> str:
    """Say how old the oldest price is that matters."""
    return f"   oldest price {date}" if date else ""


def _prices(line: BomLine) -> tuple[str, str]:
    if line.kind == "instance":
        return money_per_hour(line.unit_usd_per_hour), money_per_hour(line.usd_per_hour)
    return money(line.unit_price_usd), money(line.price_usd)


def cost_line(
    cost: Cost,
    power: float | None,
    *,
    rented: bool = False,
    under_load: float | None = None,
    kg_co2e_per_year: float | None = None,
) -> list[str]:
    """Say what it costs to run; what a token does under a load, where there is one."""
    span = "on average" if rented else "over its life"
    per_million = under_load or cost.usd_per_million_tokens
    parts = [
        f"{money_per_hour(cost.usd_per_hour)} {span}"
        if cost.usd_per_hour is not None
        else "",
        f"{money_per_million(per_million)} per million tokens"
        if per_million is not None
        else "",
        f"{watts(power)} at work" if power is not None else "",
        f"{tonnes(kg_co2e_per_year)} a year" if kg_co2e_per_year is not None else "",
    ]
    said = [part for part in parts if part]
    return ["  " + "   ".join(said)] if said else []


def speed(evaluation: ServingEvaluation, replicas: int) -> str:
    """Say how fast it is, per user and of all replicas."""
    decode = evaluation.decode
    per_user = rate(decode.tokens_per_second_per_user)
    of_one = decode.tokens_per_second
    total = rate(None if of_one is None else of_one * replicas)
    return f"{per_user} tok/s per user   {total} tok/s in total"


def assumed_lines(assumed: Iterable[Assumed]) -> list[str]:
    """List what the question left open."""
    rows = [
        f"{each.name} = {each.value}" + (f" ({each.why})" if each.why else "")
        for each in assumed
    ]
    return [line for row in rows for line in wrapped(row, hanging="    ")]


def warning_lines(warnings: Iterable[PlanWarning], style: Style) -> list[str]:
    """List the warnings as diagnostics are shown."""
    lines: list[str] = []
    for warning in warnings:
        text = f"warning[{warning.code}]: {warning.message}"
        first, *rest = wrapped(text, indent="", hanging="    ")
        lines += [style.warn(first), *rest]
        if warning.help:
            lines += wrapped(f"= help: {warning.help}", hanging="    ")
    return lines


def known(text: str | None) -> str:
    """Return the text, or a dash for what is not known."""
    return UNKNOWN if text is None else text
