"""Pieces that several answers show: what is bought, its layout, its speed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from msgspec.structs import asdict

from planopt.documents.evaluation import (
    Deployment,
    Memory,
    ServingEvaluation,
    TimeParts,
    UnderLoad,
)
from planopt.documents.parts import (
    Assumed,
    BomLine,
    Candidate,
    NotConsidered,
    PlanCost,
    PlanWarning,
    Space,
)
from planopt.documents.training import Step, TrainingMemory
from planopt.price_sources import is_rough
from planopt.report.money import money, money_per_hour
from planopt.report.numbers import count, duration, many, percent, rate, tonnes
from planopt.report.screen import Parts, some
from planopt.report.style import warn
from planopt.report.table import Block, Section, Sentence, Table, listed

GB = 1e9
_BEHIND = {"host": "memory", "disk": "disks"}
UNEVEN = 1.2  # times the mean work beyond which the busiest replica is told
NAMES = 3
"""First names of what was not considered that are shown."""


class _Priced(Protocol):
    @property
    def price_usd(self) -> float | None: ...
    @property
    def bill_of_materials(self) -> Iterable[BomLine]: ...


def price(of: _Priced, *, whole: bool = False) -> str:
    """Say what a purchase costs, as exactly as its prices are known."""
    rough = is_rough(of.bill_of_materials)
    return money(of.price_usd, rough=rough, whole=whole)


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
        adapters = count(candidate.lora_adapters)
        parts.append(f"{adapters} x LoRA of rank {candidate.lora_rank}")
    if candidate.image_tokens:
        parts.append(f"{count(candidate.image_tokens)} tokens of images in a prompt")
    if candidate.overlap != "none":
        parts.append(f"{candidate.overlap} overlap")
    return ", ".join(parts)


def purchase(lines: Iterable[BomLine]) -> str:
    """Describe what is bought in one line, the accelerators and their hosts first."""
    order = {"accelerator": 0, "machine": 1, "host": 2, "instance": 3}
    shown = sorted(
        (line for line in lines if line.quantity > 0),
        key=lambda line: order.get(line.kind, len(order)),
    )
    return " + ".join(f"{line.quantity}x {line.name}" for line in shown)


def deployment_line(deployment: Deployment, engine: str | None) -> str:
    """Describe a deployment: model, engine if one is named, layout, copies."""
    under = f" under {engine}" if engine else ""
    if deployment.role != "colocated":
        under += f", {deployment.role}"
    copies = f", {deployment.replicas} replicas" if deployment.replicas > 1 else ""
    return f"{deployment.model}{under}, {layout(deployment.candidate)}{copies}"


def chained(of: Deployment) -> list[str]:
    """Say which cards hold how many layers, where they are not alike."""
    held: dict[str, list[str]] = {}
    for each in of.chain:
        held.setdefault(each.accelerator, []).append(str(each.layers))
    said = [f"{'+'.join(layers)} layers on {card}" for card, layers in held.items()]
    where = "in one host" if of.hardware.hosts == 1 else "each in a machine of its own"
    return [*said, where] if said else []


# --- Where time and memory go ---------------------------------------------------------


_HELD = {
    "weights_bytes": "weights",
    "kv_cache_bytes": "KV cache",
    "gradients_bytes": "gradients",
    "optimizer_bytes": "optimizer",
    "activations_bytes": "activations",
    "overhead_bytes": "overhead",
    "host_bytes": "in the host",
}


def memory_line(memory: Memory | TrainingMemory | None) -> Parts:
    """Say what an accelerator's memory holds, the largest first."""
    if memory is None:
        return Parts("Memory", [])
    of = f"{rate(memory.total_bytes / GB)} of {rate(memory.capacity_bytes / GB)} GB"
    parts = sorted(asdict(memory).items(), key=lambda part: -(part[1] or 0.0))
    said = [
        f"{_HELD[name]} {rate(taken / GB)}"
        for name, taken in parts
        if name in _HELD and taken
    ]
    return Parts("Memory", [f"{of} each: {said[0]}", *said[1:]] if said else [of])


def time_line(
    label: str, whole: float | None, parts: Mapping[str, float | None]
) -> Parts:
    """Say what a time consists of, the longest first, all in one unit."""
    if whole is None:
        return Parts(label, [])
    of = sorted((-seconds, name) for name, seconds in parts.items() if seconds)
    scale, unit = (1.0, "s") if whole >= 1 else (1e3, "ms")
    said = [f"{name} {rate(-seconds * scale)}" for seconds, name in of]
    all_of_it = f"{rate(whole * scale)} {unit}"
    return Parts(label, [f"{all_of_it}: {said[0]}", *said[1:]] if said else [all_of_it])


def time_and_memory(evaluation: ServingEvaluation) -> list[Parts]:
    """Say in two lines where a token's time and an accelerator's memory go."""
    token = evaluation.decode.tpot_seconds
    decode = time_line("Decode", token, _of_a_token(evaluation))
    return [decode, memory_line(evaluation.memory)]


def prompt_line(evaluation: ServingEvaluation) -> Parts:
    """Say in a line what reading a prompt alone takes, and a step beside its last."""
    of, mixed = evaluation.prefill, evaluation.mixed
    alone = time_line("Prefill", of.seconds, causes(of))
    if mixed is None or not mixed.chunk_tokens:
        return alone
    beside = f"{duration(mixed.step_seconds)} a step beside tokens"
    return replace(alone, parts=[*alone.parts, beside])


def _of_a_token(evaluation: ServingEvaluation) -> dict[str, float | None]:
    decode = evaluation.decode
    # Steps of a token: two where batches take turns, a part of one where it is drafted.
    steps = (decode.tpot_seconds or 0.0) / (decode.step_seconds or 1.0)
    every = causes(decode) | {"waiting": decode.waiting_seconds}
    return {name: seconds and seconds * steps for name, seconds in every.items()}


_CALLED = {
    "memory": "memory traffic",
    "recompute": "recomputation",
    "tensor": "tensor parallel",
    "context": "context parallel",
    "expert": "experts",
    "pipeline": "stages",
    "data": "data parallel",
    "straggler": "stragglers",
}
"""What people call the parts of a time that are not called as their fields are."""


def causes(of: TimeParts | Step) -> dict[str, float | None]:
    """Name what a time consists of."""
    fields = (Step if isinstance(of, Step) else TimeParts).__struct_fields__
    names = {field: field.removesuffix("_seconds") for field in fields}
    return {
        _CALLED.get(name, name): getattr(of, field) for field, name in names.items()
    }


def under_load(evaluation: ServingEvaluation, *, at_once: bool = False) -> list[Block]:
    """Show latencies under a load, what comes out, and what prompts find."""
    load = evaluation.under_load
    if load is None:
        return []
    told = [carried(load), f"by {load.by}"]
    if at_once and not load.users and load.concurrency is not None:
        told.append(f"{load.concurrency:.3g} at the same time on average")
    latencies = [] if load.overloaded else [_latencies(evaluation, load)]
    return [*latencies, Parts("Load", told), *some("Cache", found(load))]


def _latencies(evaluation: ServingEvaluation, load: UnderLoad) -> Table:
    who = f"{count(load.users)} USERS" if load.users else "THIS LOAD"
    who = f"{count(load.sessions.alive)} SESSIONS" if load.sessions else who
    names = ("mean", "p50", "p95", "p99")
    of = {"TTFT": evaluation.ttft_seconds, "TPOT": evaluation.tpot_seconds}
    rows = [
        (what, *(duration(getattr(each, name)) for name in names))
        for what, each in of.items()
    ]
    speeds = (getattr(of["TPOT"], name) for name in names)
    rows.append(("tok/s per user", *(rate(each and 1 / each) for each in speeds)))
    titles = (f"UNDER {who}", *(f">{name.upper()}" for name in names))
    return Table(titles, rows, wraps=False)


def found(load: UnderLoad | None) -> list[str]:
    """Say what of prompts is found, and what they need; nothing of other prompts."""
    cache = load and (load.sessions or load.prefix_cache)
    if not cache:
        return []
    most, kept = percent(cache.all_hit_rate), cache.needed_kv_tokens
    uneven = cache.imbalance > UNEVEN
    return [
        f"{percent(cache.hit_rate)} of prompts found, of {most} that could be",
        f"KV for {many(cache.kv_tokens)} tokens a replica, {cache.whose} {many(kept)}",
        *(
            f"{percent(tier.hit_rate)} from the host's {_BEHIND[tier.name]}: "
            f"{many(tier.kv_tokens)} tokens"
            for tier in cache.tiers
        ),
        *([f"the busiest replica reads {cache.imbalance:.2g}x"] if uneven else []),
    ]


def carried(load: UnderLoad) -> str:
    """Say what is served under a load, or could be of a larger one."""
    most = "at most " if load.overloaded else ""
    said = f"{most}{rate(load.requests_per_second)} requests/s, "
    said += f"{rate(load.tokens_per_second)} tok/s in all"
    if load.goodput is None:
        return said
    return f"{said}, {percent(load.goodput)} keep every promise"


# --- Money ----------------------------------------------------------------------------


def bill(lines: Sequence[BomLine]) -> Table:
    """Show the bill of materials with its sum, which is the price."""
    rows = [
        (line.name, count(line.quantity), *_prices(line), _where_from(line))
        for line in lines
    ]
    rented = [line for line in lines if line.kind == "instance"]
    owned = [line for line in lines if line.kind != "instance"]
    if owned:
        priced = all(line.price_usd is not None for line in owned)
        total = sum(line.price_usd or 0.0 for line in owned) if priced else None
        rows.append(("purchase", "", "", money(total, rough=is_rough(owned)), ""))
    if rented:
        rent = sum(line.usd_per_hour or 0.0 for line in rented)
        rows.append(("rent", "", "", money_per_hour(rent), ""))
    return Table(("Bill of materials", ">qty", ">each", ">total", "?source"), rows)


def _prices(line: BomLine) -> tuple[str, str]:
    if line.kind == "instance":
        return money_per_hour(line.unit_usd_per_hour), money_per_hour(line.usd_per_hour)
    return money(line.unit_price_usd), money(line.price_usd)


def _where_from(line: BomLine) -> str:
    """Say how old the price of a part is, how well it is known, and its range."""
    low, high = line.unit_price_low_usd, line.unit_price_high_usd
    ends = [money(usd) for usd in (low, high) if usd is not None]
    range_ = " to ".join(ends)
    if len(ends) == 1:
        range_ = f"{'from' if high is None else 'up to'} {range_}"
    return ", ".join(part for part in (line.source, range_) if part)


def cost(of: PlanCost, kg_co2e_per_year: float | None) -> list[Block]:
    """Say what an hour consists of, and what the electricity of a year emits."""
    each = [
        f"{part.name.replace('_', ' ')} {money_per_hour(part.usd_per_hour)}"
        for part in of.parts
    ]
    emitted = [] if kg_co2e_per_year is None else [f"{tonnes(kg_co2e_per_year)} a year"]
    lines = Parts("Hourly", each), Parts("Carbon", emitted)
    return [line.whole() for line in lines if line.parts]


# --- What to know besides -------------------------------------------------------------


def assumed(every: Iterable[Assumed]) -> Section:
    """List what the question left open."""
    rows = (
        f"{each.name} = {each.value}" + (f" ({each.why})" if each.why else "")
        for each in every
    )
    return Section("Assumed", *listed(rows))


def searched(space: Space | None) -> Section:
    """Say what was searched, and what that left out, with what it cost at worst."""
    return Section("Space searched", *listed([] if space is None else limits(space)))


def limits(space: Space) -> list[str]:
    """List a space and what it leaves out."""
    worst = {None: "not measured", 0.0: "lost nothing where it was tried"}
    left_out = (
        f"not {each.what} "
        f"({worst.get(each.loss) or f'lost {percent(each.loss)} at worst'})"
        for each in space.restrictions
    )
    return [space.text, *left_out]


def not_considered(every: Iterable[NotConsidered]) -> Section:
    """Say what could not be part of the answer: a line for each reason."""
    rows = (
        f"{count(each.count)} {each.what.removesuffix('' if each.count > 1 else 's')}, "
        f"{each.why}: "
        f"{', '.join(each.names[:NAMES])}{' ...' if each.count > NAMES else ''} "
        f"({each.help})"
        for each in every
    )
    return Section("Not considered", *listed(rows))


def warnings(every: Iterable[PlanWarning]) -> Section:
    """List the warnings as diagnostics are shown."""
    blocks: list[Block] = []
    for each in every:
        text = f"warning[{each.code}]: {each.message}"
        blocks.append(Sentence(text, "", "    ", first=warn))
        if each.help:
            blocks += listed([f"= help: {each.help}"])
    return Section("", *blocks)
