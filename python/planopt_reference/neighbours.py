"""Chains of neighbours (islands.md, sections 6 to 9), again from the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from planopt_reference.bill import bill_mismatches
from planopt_reference.cluster import Cluster, HostSet, joined
from planopt_reference.communication import Fabric, fabric
from planopt_reference.islands import (
    MachineCost,
    Uplink,
    again,
    facts_of,
    machine_cost,
    model_of,
    presence_of,
    uplink_of,
)
from planopt_reference.memory import (
    activations_bytes,
    capacity_bytes,
    kv_cache_bytes,
    overhead_bytes,
    weights_bytes,
)
from planopt_reference.mismatch import Mismatch, compared, compared_money
from planopt_reference.purchase import PurchaseError
from planopt_reference.rank import Rank, Step
from planopt_reference.stage import Stage
from planopt_reference.step import message_bytes, stage_parts, stage_time
from planopt_reference.units import quantity, seconds

if TYPE_CHECKING:
    from planopt_reference.facts import Facts
    from planopt_reference.operations import Model

Table = Mapping[str, Any]

_MILLION = 1e6
_HOUR = 3600


@dataclass(frozen=True)
class Machine:
    """A machine of a kind: what it computes with, and its line to the others."""

    rank: Rank
    links: Fabric
    uplink: Uplink
    disk: float
    hop_overhead: float
    cost: MachineCost


# Section 2, w; section 6, hop.
def _line(one: Machine, other: Machine) -> tuple[float, float]:
    """Return the bytes/s and the seconds of the way between two machines."""
    rate = min(one.uplink.up, other.uplink.down)
    return rate, (one.uplink.latency + other.uplink.latency) / 2


@dataclass(frozen=True)
class Chain:
    """Stages on machines, in their order."""

    model: Model
    machines: Sequence[Machine]
    stages: Sequence[Stage]

    def seconds(self, step: Step) -> list[float]:
        """Return what each stage takes of a step."""
        return [
            stage_parts(
                stage_time(stage, step, machine.rank, machine.links),
                stage,
                "none",
                machine.rank,
                machine.links,
            ).seconds
            for stage, machine in zip(self.stages, self.machines, strict=True)
        ]

    def busy(self, tokens: float) -> list[float]:
        """Return for how long each line to the next stage is busy with tokens."""
        pairs = zip(self.machines, self.machines[1:], strict=False)
        return [
            message_bytes(tokens, self.model.hidden, one.rank) / _line(one, other)[0]
            for one, other in pairs
        ]

    def hops(self, tokens: float) -> list[float]:
        """Return the seconds of each way to the next stage."""
        pairs = zip(self.machines, self.machines[1:], strict=False)
        latencies = [one.hop_overhead + _line(one, other)[1] for one, other in pairs]
        busy = self.busy(tokens)
        return [sum(both) for both in zip(latencies, busy, strict=True)]

    # Section 6, turn.
    def turn(self, step: Step) -> float:
        """Return the seconds of a token's way, or a prompt's, through all stages."""
        own = self.machines[0].rank.compute
        around = own.engine.per_sequence * step.decoding
        ways = self.seconds(step) + self.hops(step.tokens)
        return own.step_overhead + around + math.fsum(ways)


# Section 7, chains that are whole.
def at_least(kinds: Sequence[tuple[int, int]], presence: float, chains: int) -> float:
    """Return the chance that machines of all kinds make so many chains."""
    chance = 1.0
    for machines, each in kinds:
        chance *= math.fsum(
            math.comb(machines, there)
            * presence**there
            * (1 - presence) ** (machines - there)
            for there in range(chains * each, machines + 1)
        )
    return chance


def neighbours_mismatches(plan: Table, catalog: Any) -> tuple[list[Mismatch], int]:
    """Compute the chains of a plan again; return what differs, and figures in all."""
    found, figures = again(plan, catalog, "lengths", _computed)
    found += _best_mismatches(plan)
    found += _bought(plan, facts_of(plan["question"], catalog))
    return found, figures + len(plan["bill_of_materials"])


def _best_mismatches(plan: Table) -> Iterator[Mismatch]:
    """Hold the best against the others and the target; what is said of it as well."""
    best, target = plan["best"], plan["target_tokens_per_second"]
    served = "tokens_per_second_per_user_served"
    if best is not None and target is not None and best[served] < target * (1 - 1e-9):
        yield Mismatch(f"best.{served}", best[served], target, "what was asked for")
    which = served if target is None else "output_tokens_per_second"
    others = [one for one in plan["lengths"] if target is None or one[served] >= target]
    most = max((one[which] for one in others), default=0.0)
    if best is not None and best[which] < most * (1 - 1e-9):
        yield Mismatch(f"best.{which}", best[which], most, "the best of all lengths")
    if best is None and target is not None and others:
        yield Mismatch("best", None, "chains that meet the target", "there are some")


# Section 9, "costs `price_usd` in all".
def _bought(plan: Table, facts: Facts) -> Iterator[Mismatch]:
    """Buy all machines and what joins them again, where that is sold."""
    told = [plan["best"], plan["nearest"], *plan["lengths"]]
    kinds = next((one["machines"] for one in told if one), None)
    if kinds is None:
        return
    try:
        bought = _joined(kinds, facts)
    except PurchaseError as problem:
        yield from compared("price_usd", plan["price_usd"], None, str(problem))
        return
    again = "the parts and what joins them"
    yield from compared_money("price_usd", plan["price_usd"], bought.price, again)
    for name in ("power_watts", "rack_units"):
        yield from compared(name, plan[name], getattr(bought, name), again)
    bill = plan["bill_of_materials"]
    yield from bill_mismatches("bill_of_materials", bill, bought.lines)


def _joined(kinds: Sequence[Table], facts: Facts) -> Cluster:
    network, *others = {kind["network"] for kind in kinds}
    if network is None:
        return _in_one_host(kinds, facts)
    if others:
        message = "several networks join nobody with the others"
        raise PurchaseError(message)
    sets = [
        HostSet(
            card=facts.accelerator(kind["id"]),
            machine=facts.host_for(kind["host"], kind["id"], 1),
            accelerators=kind["machines"],
            hosts=kind["machines"],
        )
        for kind in kinds
    ]
    return joined(facts, sets, network, 1, stores=False)


def _in_one_host(kinds: Sequence[Table], facts: Facts) -> Cluster:
    """Put cards of several kinds into one host, which has to take all of them."""
    host, *others = {kind["host"] for kind in kinds}
    cards = [(facts.accelerator(kind["id"]), kind["machines"]) for kind in kinds]
    whole = facts.host(host)
    many = sum(number for _, number in cards)
    widths = [card.card_slots and card.card_slots * number for card, number in cards]
    drawn = [card.power and card.power * number for card, number in cards]
    room, supply = whole.card_slots, whole.power_supply
    wide = sum(each or 0 for each in widths)
    used = whole.power + sum(each or 0.0 for each in drawn)
    limited = facts.assumptions.host_limits
    if (
        others
        or many > whole.slots
        or (limited and room and None not in widths and wide > room)
        or (limited and supply and None not in drawn and used > supply)
    ):
        message = f"{host} does not take {many} such cards"
        raise PurchaseError(message)
    sets = [
        HostSet(
            card=card,
            machine=facts.host_for(host, card.id),
            accelerators=number,
            hosts=int(place == 0),
        )
        for place, (card, number) in enumerate(cards)
    ]
    return joined(facts, sets, None, 0, stores=False)


def _machine(
    kind: Table, plan: Table, asked: Table, facts: Facts, stages: int
) -> Machine:
    card = facts.accelerator(kind["id"])
    if kind["network"] is None:
        # Cards of one host meet over its slots.
        host = facts.host_for(kind["host"], kind["id"])
        links = fabric(facts, card, host, None, nics_per_host=0, t=1, p=1)
        rate, latency = links.pcie_bandwidth, links.pcie_latency
        uplink = Uplink(up=rate, down=rate, latency=latency)
    else:
        host = facts.host_for(kind["host"], kind["id"], 1)
        network = facts.network(kind["network"])
        links = fabric(facts, card, host, network, nics_per_host=1, t=1, p=stages)
        uplink = uplink_of(facts, links)
    table = facts.assumptions.reached.table["islands"]
    kv = None if plan["kv"] == "fp16" else plan["kv"]
    rank = Rank(card, facts.assumptions, plan["weights"], kv, 1)
    return Machine(
        rank=rank,
        links=links,
        uplink=uplink,
        disk=host.disk_bandwidth or quantity(table["disk"], "bytes/s"),
        hop_overhead=facts.assumptions.reached.engine.hop_overhead,
        cost=machine_cost(facts, kind, 1, asked["neighbours"]),
    )


def _stages(model: Model, chains: Table) -> list[Stage]:
    """Cut the model as the chains say; layers that nobody holds are an error."""
    found, at = [], 0
    for told in chains["stages"]:
        if told["first_layer"] != at or told["layers"] < 1:
            message = f"layer {at} is on no stage"
            raise ValueError(message)
        end = at + told["layers"]
        first, last = at == 0, end == len(model.layers)
        found.append(
            Stage(
                embedding=model.embedding if first else (),
                layers=model.layers[at:end],
                head=model.head if last else (),
                first=first,
                last=last,
            )
        )
        at = end
    if at != len(model.layers):
        message = f"layer {at} is on no stage"
        raise ValueError(message)
    return found


def _memory(
    chain: Chain, index: int, batch: int, in_flight: int, context: int
) -> dict[str, float]:
    stage, rank = chain.stages[index], chain.machines[index].rank
    sequences, p = batch * in_flight, len(chain.stages)
    sized = {"batch": batch, "context": context, "p": p}
    table = {
        "weights_bytes": weights_bytes(stage, chain.model, rank),
        "kv_cache_bytes": kv_cache_bytes(
            stage, rank, sequences=sequences, context=context
        ),
        "activations_bytes": activations_bytes(stage, chain.model, rank, **sized),
        "overhead_bytes": overhead_bytes(rank, p),
    }
    total = math.fsum(table.values())
    capacity = capacity_bytes(rank)
    if total > capacity:
        message = f"stage {index} needs {total:.0f} bytes of {capacity:.0f}"
        raise ValueError(message)
    return {**table, "total_bytes": total, "capacity_bytes": capacity}


# Section 6, step.
def _pace(
    chain: Chain, batch: int, prompt: int, context: int, copied: Sequence[float]
) -> tuple[float, float, float]:
    """Return the seconds of a token's way, of a step, and that a prompt holds up."""
    decode, n = Step(decoding=batch, context=context), len(chain.stages)
    turn, stages = chain.turn(decode), chain.seconds(decode)
    lines = [*chain.busy(batch), 0.0]
    slowest = max(
        max(own, line + copy)
        for own, line, copy in zip(stages, lines, copied, strict=True)
    )
    read, ways = chain.seconds(Step(chunk=prompt)), [*chain.busy(prompt), 0.0]
    reading = max(
        max(own, line + copy * prompt / batch)
        for own, line, copy in zip(read, ways, copied, strict=True)
    )
    return turn, max(turn, n * slowest), reading


@dataclass(frozen=True)
class Bought:
    """A chain of cards that are not alike, and what is bought for it."""

    evaluation: dict[str, Any]
    cluster: Cluster


# Sections 6 and 7, where nobody leaves; section 9, what it costs.
def bought_chain(table: Table, request: Table, facts: Facts) -> Bought:
    """Compute a deployment whose cards are not alike from who holds which layers."""
    parts, hardware, of = table["chain"], table["hardware"], table["candidate"]
    named = [(each["accelerator"], each["host"]) for each in parts]
    kinds = sorted(set(named))
    n, batch, replicas = len(parts), of["batch"], table["replicas"]
    if of["pp"] != n or of["in_flight"] != n:
        message = f"{n} stages have as many micro-batches"
        raise ValueError(message)
    machines = [
        {
            "id": card,
            "host": host,
            "network": hardware.get("network"),
            "machines": replicas * named.count((card, host)),
        }
        for card, host in kinds
    ]
    said = {"name": request["model"], "kv_heads": request.get("kv_heads")}
    asked = {"model": said, "neighbours": {"machines": machines}}
    plan = {
        "weights": of["weights"],
        "kv": of["kv"],
        "question": {"asked": asked, "architecture": request.get("architecture")},
    }
    model = model_of(plan, facts)
    of_kind = [_machine(kind, plan, asked, facts, n) for kind in machines]
    at, cut = 0, []
    for each in parts:
        cut.append({"first_layer": at, "layers": each["layers"]})
        at += each["layers"]
    chain = Chain(
        model=model,
        machines=[of_kind[kinds.index(one)] for one in named],
        stages=_stages(model, {"stages": cut}),
    )
    prompt, context = request["prompt_tokens"], request["context_tokens"]
    memory = [_memory(chain, index, batch, n, context) for index in range(n)]
    turn, step, reading = _pace(chain, batch, prompt, context, [0.0] * n)
    answer = step * request["output_tokens"] / (batch * n)
    served = answer / (answer + reading) / step
    decode = dict.fromkeys(_OF_A_STEP) | {
        "step_seconds": step,
        "waiting_seconds": step - turn,
        "tpot_seconds": 1 / served,
        "tokens_per_second_per_user": served,
        "tokens_per_second": batch * n * served,
    }
    evaluation = {
        "feasible": True,
        "rejections": [],
        "memory": max(memory, key=lambda one: one["total_bytes"]),
        "decode": decode,
        "prefill": {"seconds": chain.turn(Step(chunk=prompt))},
        "mixed": None,
        "kv_capacity_tokens": None,
        "messages": None,
        "hosts": n if hardware.get("network") else 1,
        "accelerators": n,
    }
    return Bought(evaluation, _joined(machines, facts))


_OF_A_STEP = (
    *("compute_seconds", "memory_seconds", "communication_seconds"),
    *("offload_seconds", "host_seconds"),
)


# Section 6, step; section 7; section 8.
def _computed(plan: Table, chains: Table, facts: Facts) -> dict[str, Any]:
    """Return the figures of chains, from what each machine holds and how it stays."""
    asked = plan["question"]["asked"]
    model = model_of(plan, facts)
    n, batch = len(chains["stages"]), chains["batch"]
    kinds = [_machine(kind, plan, asked, facts, n) for kind in chains["machines"]]
    each = [
        sum(told["kind"] == index for told in chains["stages"])
        for index in range(len(kinds))
    ]
    members = [
        (kind["machines"], many)
        for kind, many in zip(chains["machines"], each, strict=True)
    ]
    chain = Chain(
        model=model,
        machines=[kinds[told["kind"]] for told in chains["stages"]],
        stages=_stages(model, chains),
    )
    prompt, context = plan["prompt_tokens"], plan["context_tokens"]
    output = plan["output_tokens"]
    memory = [_memory(chain, at, batch, n, context) for at in range(n)]
    decode = Step(decoding=batch, context=context)
    stages = chain.seconds(decode)
    copies = chains["recovery"] == "copies"
    copied = [
        own["kv_cache_bytes"] / n / context / machine.uplink.up if copies else 0.0
        for own, machine in zip(memory, chain.machines, strict=True)
    ]
    turn, step, reading = _pace(chain, batch, prompt, context, copied)
    cached = prompt + output / 2
    again = chain.seconds(Step(chunk=cached))
    sent = [0.0, *chain.busy(cached)]
    islands = facts.assumptions.reached.table["islands"]
    notice = seconds(islands["notice"])
    takeover = [
        notice + own["weights_bytes"] / machine.disk
        for own, machine in zip(memory, chain.machines, strict=True)
    ]
    replay = [
        0.0 if copies else batch * n * max(own, line)
        for own, line in zip(again, sent, strict=True)
    ]
    said = asked["neighbours"]
    stays = all(
        facts.network(own["network"]).nic.price is not None for own in said["machines"]
    )
    lifetime, presence = presence_of(said, facts, stays=stays)
    serving = math.exp(-math.fsum([*takeover, *replay]) / lifetime)
    many = min(machines // own for machines, own in members if own)
    shares = [at_least(members, presence, number) for number in range(1, many + 1)]
    answer = step * output / (batch * n)
    decoding = answer / (answer + reading)
    repeat = said.get("repeat") or 1
    served = serving * decoding / step
    tokens = math.fsum(shares) * batch * n * served / repeat
    prompts = tokens * prompt / output
    paid = [
        machines * presence * kind.cost.usd_per_hour
        for (machines, _), kind in zip(members, kinds, strict=True)
    ]
    power = [
        machines * presence * kind.cost.energy_usd_per_hour
        for (machines, _), kind in zip(members, kinds, strict=True)
    ]
    millions = tokens * _HOUR / _MILLION
    sold = said.get("sell")
    revenue = (
        None
        if sold is None
        else (prompts * sold[0] + tokens * sold[1]) * _HOUR / _MILLION
    )
    tariff = facts.assumptions.cost.electricity_usd_per_kwh

    def member(index: int) -> dict[str, Any]:
        kind, (machines, own) = kinds[index], members[index]
        layers = sum(t["layers"] for t in chains["stages"] if t["kind"] == index)
        share = layers / len(model.layers) / (machines * presence)
        earned = None if revenue is None else revenue * share
        apart = kind.cost.usd_per_hour - kind.cost.energy_usd_per_hour
        kilowatts = kind.cost.energy_usd_per_hour / tariff
        return {
            "each": own,
            "spares": machines - many * own,
            "presence": presence,
            **asdict(kind.cost),
            "paid_usd_per_hour": earned,
            "earned_usd_per_hour": (
                None if earned is None else earned - kind.cost.usd_per_hour
            ),
            "pays_below_usd_per_kwh": (
                None if earned is None else (earned - apart) / kilowatts
            ),
        }

    return {
        "stages": [
            {
                "memory": memory[at],
                "stage_seconds": stages[at],
                "hop_seconds": [*chain.hops(batch), 0.0][at],
                "takeover_seconds": takeover[at],
                "replay_seconds": replay[at],
            }
            for at in range(n)
        ],
        "machines": [member(index) for index in range(len(kinds))],
        "chains": many,
        "users": batch * n * many / repeat,
        "in_flight": n,
        "turn_seconds": turn,
        "step_seconds": step,
        "tokens_per_second_per_user": 1 / step,
        "tokens_per_second_per_user_served": served,
        "tokens_per_second_alone": 1 / chain.turn(Step(decoding=1, context=context)),
        "prefill_seconds": chain.turn(Step(chunk=prompt)),
        "reading_seconds": reading,
        "availability": shares[0],
        "running": math.fsum(shares) / many,
        "serving": serving,
        "decoding": decoding,
        "at_least": shares,
        "output_tokens_per_second": tokens,
        "prompt_tokens_per_second": prompts,
        "usd_per_hour": math.fsum(paid),
        "energy_usd_per_hour": math.fsum(power),
        "usd_per_million_tokens": math.fsum(paid) / millions,
        "energy_usd_per_million_tokens": math.fsum(power) / millions,
        "revenue_usd_per_hour": revenue,
    }
