"""Islands that meet over the Internet (islands.md), again from the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, comb, exp, expm1, inf, log, log2, sqrt
from typing import TYPE_CHECKING, Any

from planopt_reference.architecture import model_from_table
from planopt_reference.communication import Fabric, fabric
from planopt_reference.cost import owning
from planopt_reference.facts import Facts
from planopt_reference.mismatch import Mismatch, compared
from planopt_reference.purchase import unit
from planopt_reference.rent import is_offer
from planopt_reference.training.plan import recomputed_run
from planopt_reference.units import MICRO_USD_PER_USD, seconds, unwrapped

if TYPE_CHECKING:
    from planopt_reference.operations import Model

Table = Mapping[str, Any]

_AGAIN = "recomputed from the page and the catalogs at hand"
_HOUR = 3600
_DAY = 24 * _HOUR
_SEGMENT = 1460
_LONGEST_RING = 32


@dataclass(frozen=True)
class Uplink:
    """Bytes/s of each direction as reached, seconds one way."""

    up: float
    down: float
    latency: float


# Section 2, a lossy line.
def most_of_tcp(latency: float, loss: float, connections: float) -> float:
    """Return the bytes/s that the windows of some connections allow."""
    return connections * _SEGMENT / (2 * latency) * sqrt(3 / 2) / sqrt(loss)


# Section 2, the three ways to meet.
def exchange_seconds(line: Uplink, payload: float, islands: int) -> dict[str, float]:
    """Return the seconds of an all-reduce by each topology."""
    if islands == 1:
        return {"ring": 0.0, "tree": 0.0, "hub": 0.0}
    slower = min(line.up, line.down)
    steps = min(islands, _LONGEST_RING) - 1 + log2(max(1, islands / _LONGEST_RING))
    ring = 2 * steps * line.latency + 2 * (islands - 1) / islands * payload / slower
    tree = 2 * ceil(log2(islands)) * (line.latency + payload / slower)
    others = islands - 1
    hub = others * payload * (1 / line.down + 1 / line.up) + 2 * line.latency
    return {"ring": ring, "tree": tree, "hub": hub}


# Section 3, tokens that make up for a loss.
def tokens_factor(
    table: dict[str, float], parameters: float, tokens: float, increase: float
) -> float | None:
    """Return times as many tokens, found by halving."""

    def loss(tokens: float) -> float:
        of_size = table["parameter_scale"] / exp(
            table["parameter_exponent"] * log(parameters)
        )
        of_data = table["token_scale"] / exp(table["token_exponent"] * log(tokens))
        return table["loss_floor"] + of_size + of_data

    low, high = 1.0, 1e12
    if loss(tokens * high) * (1 + increase) > loss(tokens):
        return None
    for _ in range(200):
        middle = sqrt(low * high)
        if loss(tokens * middle) * (1 + increase) > loss(tokens):
            low = middle
        else:
            high = middle
    return high


def loss_increase(rate: float, inner_steps: int, islands: int) -> float:
    """Return the share by which the loss is higher."""
    return rate * log(inner_steps) * log(islands) / log(2)


# Section 4, machines that come and go.
def running(presence: float, machines: int, each: int, islands: int) -> float:
    """Return the share of the islands that run, in the mean."""
    return sum(
        comb(machines, there)
        * presence**there
        * (1 - presence) ** (machines - there)
        * min(islands, there // each)
        / islands
        for there in range(machines + 1)
    )


def goodput(between: float, writing: float, restart: float) -> float:
    """Return the share of time that counts, at Daly's interval (training.md, 9)."""
    y = sqrt(writing / (2 * between))
    work = between
    if writing < 2 * between:
        work = sqrt(2 * writing * between) * (1 + y / 3 + y**2 / 9) - writing
    wall = between * exp(restart / between) * expm1((work + writing) / between)
    return work / wall


# Section 2, a line as TCP reaches it.
def uplink_of(facts: Facts, links: Fabric) -> Uplink:
    """Return the line of a machine to the others."""
    if links.network is None:
        message = "machines without a network are no neighbours"
        raise ValueError(message)
    link = facts.link(links.network.link)
    up, latency = links.network_bandwidth, links.message_latency
    down = up if link.downlink is None else up * link.downlink / links.nic_rate
    if link.loss:
        table = facts.assumptions.reached.table["islands"]
        connections = float(str(unwrapped(table["connections"])))
        most = most_of_tcp(latency, link.loss, connections)
        up, down = min(up, most), min(down, most)
    return Uplink(up=up, down=down, latency=latency)


# Section 4, p.
def presence_of(
    asked: Table, facts: Facts, *, stays: bool = False
) -> tuple[float, float]:
    """Return how long a machine stays, and the share of the time that it is there."""
    if stays and asked.get("lifetime_seconds") is None:
        return inf, 1.0
    table = facts.assumptions.reached.table["islands"]
    times = {}
    for name in ("lifetime", "away"):
        said = asked.get(f"{name}_seconds")
        times[name] = seconds(table[name]) if said is None else said
    lifetime = times["lifetime"]
    return lifetime, lifetime / (lifetime + times["away"])


@dataclass(frozen=True)
class MachineCost:
    """What a machine is worth, draws and costs in an hour."""

    price_usd: float | None
    power_watts: float | None
    usd_per_hour: float
    energy_usd_per_hour: float


# Section 5.
def machine_cost(facts: Facts, kind: Table, cards: int, asked: Table) -> MachineCost:
    """Return what a machine is worth, draws and costs in an hour."""
    # What has no price costs its electricity.
    known = kind.get("price_usd", 0.0) is not None
    there = None if known else {"accelerators": cards, "hosts": 1}
    bought = unit(
        facts,
        accelerator=kind["id"],
        host=kind["host"],
        network=None,
        nics_per_host=0,
        switch=None,
        tp=1,
        pp=1,
        replicas=cards,
        owned=there,
    )
    lines = owning(
        bought.price, bought.power_watts, bought.rack_units, facts.assumptions.cost
    )
    electricity = lines["electricity"]
    return MachineCost(
        price_usd=bought.price / MICRO_USD_PER_USD if known else None,
        power_watts=bought.power_watts,
        usd_per_hour=electricity if asked.get("marginal") else sum(lines.values()),
        energy_usd_per_hour=electricity,
    )


def facts_of(question: Table, catalog: Any) -> Facts:
    """Return the catalogs that a plan over the Internet was made from."""
    return Facts(
        catalog,
        question["catalog"],
        assumptions=question["assumptions"],
        cost=question["cost"],
        engine=(question["asked"].get("engine") or {}).get("name"),
        pricing=question["pricing"],
    )


def model_of(plan: Table, facts: Facts) -> Model:
    """Return the model of a plan: a file is in the plan, any other is looked up."""
    named = plan["question"]["asked"]["model"]
    embedded = plan["question"]["architecture"]
    table = embedded or facts.model_table(named["name"])
    return model_from_table(table, kv_heads=named.get("kv_heads"))


def leaves(name: str, value: object) -> Iterator[tuple[str, object]]:
    """Name every figure of a table, as a place in a document."""
    if isinstance(value, Mapping):
        for key, inside in value.items():
            yield from leaves(f"{name}.{key}", inside)
    elif isinstance(value, list):
        for index, inside in enumerate(value):
            yield from leaves(f"{name}[{index}]", inside)
    else:
        yield name, value


def stated_at(plan: Any, field: str) -> object:
    """Return what a document says at a place."""
    for part in field.replace("[", ".").replace("]", "").split("."):
        plan = plan[int(part)] if part.isdigit() else plan[part]
    return plan


def again(
    plan: Table, catalog: Any, others: str, computed: Any
) -> tuple[list[Mismatch], int]:
    """Compute all of a plan again; return what differs, and figures in all."""
    facts = facts_of(plan["question"], catalog)
    told = [(name, plan[name]) for name in ("best", "nearest") if plan[name]]
    told += [(f"{others}[{at}]", one) for at, one in enumerate(plan[others])]
    found: list[Mismatch] = []
    figures = 0
    for name, one in told:
        for field, value in leaves(name, computed(plan, one, facts)):
            figures += 1
            stated = stated_at(plan, field)
            found += compared(field, stated, value, _AGAIN)
    return found, figures


def islands_mismatches(plan: Table, catalog: Any) -> tuple[list[Mismatch], int]:
    """Compute the runs of a plan over islands again."""
    found, figures = again(plan, catalog, "cadences", _run)
    best, runs = plan["best"], plan["cadences"]
    if best is not None and plan["deadline_seconds"] is None:
        days = min((run["days"] for run in runs), default=best["days"])
        asked = plan["question"]["asked"]["islands"].get("inner_steps")
        if asked is None and best["days"] > days * (1 + 1e-9):
            found.append(Mismatch("best.days", best["days"], days, "of all cadences"))
    return found, figures


@dataclass(frozen=True)
class _Island:
    """An island of a run: what each does, and its machines come to."""

    own: Table
    speed: float
    step: float
    sequences: float
    uplink: Uplink
    there: float
    counts: float
    cost: MachineCost


def _island(plan: Table, own: Table, islands: int, facts: Facts) -> _Island:
    asked = plan["question"]["asked"]
    said, rented = asked["islands"], is_offer(own["id"])
    hardware = {"host": own["host"], "network": own["network"], "nics_per_host": 1}
    recipe = asked["recipe"]
    request = {
        "tokens": plan["tokens"],
        "gradients": recipe.get("gradients"),
        "kv_heads": asked["model"].get("kv_heads"),
        "architecture": plan["question"]["architecture"],
        "redundancy": None,
    }
    table = {
        "candidate": own["candidate"],
        "hardware": hardware,
        "model": plan["model"],
    }
    evaluation = recomputed_run(table, request, facts)
    step = evaluation["step_seconds"]
    alone = step - (evaluation["step"]["straggler_seconds"] if islands > 1 else 0.0)
    sequences = own["candidate"]["global_batch"]
    card = facts.accelerator(own["candidate"]["accelerator"])
    cards = own["accelerators"] // own["machines"]
    host = facts.host_for(own["host"], card.id, cards)
    between = facts.network(own["network"])
    links = fabric(facts, card, host, between, nics_per_host=1, t=1, p=2 * host.slots)
    uplink = uplink_of(facts, links)
    lifetime, presence = (1.0, 1.0) if rented else presence_of(said, facts)
    machines = own["islands"] * own["machines"] + own["spares"]
    held = evaluation["memory"]["weights_bytes"]
    held += evaluation["memory"]["optimizer_bytes"]
    counts = evaluation["goodput"]
    if own["machines"] > 1:
        between_losses = lifetime / own["machines"]
        counts *= goodput(between_losses, held / uplink.up, held / uplink.down)
    cost = MachineCost(None, None, own["usd_per_hour"], 0.0)
    if not rented:
        cost = machine_cost(facts, own, cards, said)
    return _Island(
        own=own,
        speed=sequences * own["candidate"]["seq_len"] / alone,
        step=step,
        sequences=sequences,
        uplink=uplink,
        there=running(presence, machines, own["machines"], own["islands"]),
        counts=counts,
        cost=cost,
    )


# Sections 2 to 5, a run.
def _run(plan: Table, run: Table, facts: Facts) -> dict[str, Any]:
    table = facts.assumptions.reached.table["islands"]
    known = {name: unwrapped(value) for name, value in table.items()}
    number = {n: v for n, v in known.items() if isinstance(v, int | float)}
    islands = sum(own["islands"] for own in run["islands"])
    kinds = [_island(plan, own, islands, facts) for own in run["islands"]]
    model = model_of(plan, facts)
    parameters = sum(each.parameters for each in model.operations())
    many = [own.own["islands"] for own in kinds]
    speed = sum(n * own.speed for n, own in zip(many, kinds, strict=True))
    length = kinds[0].own["candidate"]["seq_len"]
    sequences = sum(n * own.sequences for n, own in zip(many, kinds, strict=True))
    inner = run["inner_steps"] * sequences * length / speed
    ways = []
    for own in kinds:
        payload = parameters * number["exchange_bits"] / 8 / own.own["machines"]
        each = exchange_seconds(own.uplink, payload, islands)
        way = min(each, key=lambda name: each[name])
        exposed = max(0.0, each[way] - number["exchange_overlap"] * inner)
        ways.append((inner + exposed, each[way], way, payload))
    total, exchange, way, payload = max(ways)
    hosts = sum(n * own.own["machines"] for n, own in zip(many, kinds, strict=True))
    training = facts.assumptions.training
    lag = 0.0 if training is None else training.straggler_spread
    longer = 1 + lag * sqrt(2 * log(hosts)) if islands > 1 else 1.0
    rates = (0.0, number["loss_rate_high"], number["loss_rate"])
    low, high, factor = (
        tokens_factor(
            number,
            parameters,
            plan["tokens"],
            loss_increase(rate, run["inner_steps"], islands),
        )
        for rate in rates
    )
    if factor is None:
        message = "no tokens make up for meeting so seldom"
        raise ValueError(message)
    share = [n * own.speed / speed for n, own in zip(many, kinds, strict=True)]
    useful = sum(
        part * speed * own.there * own.counts
        for part, own in zip(share, kinds, strict=True)
    )
    useful *= inner / total
    days = plan["tokens"] * factor / useful / _DAY
    paid = [
        n * own.own["machines"] * own.there for n, own in zip(many, kinds, strict=True)
    ]
    costs = [own.cost for own in kinds]
    hourly = sum(n * own.usd_per_hour for n, own in zip(paid, costs, strict=True))
    power = sum(n * own.energy_usd_per_hour for n, own in zip(paid, costs, strict=True))
    return {
        "islands": [
            {
                "step_seconds": own.step,
                "tokens_per_second": own.speed,
                "power_watts": own.cost.power_watts,
                "usd_per_hour": own.cost.usd_per_hour,
                "energy_usd_per_hour": own.cost.energy_usd_per_hour,
            }
            for own in kinds
        ],
        "inner_seconds": inner * longer,
        "exchange_seconds": exchange * longer,
        "round_seconds": total * longer,
        "exchange_bytes": payload if islands > 1 else 0.0,
        "compute_utilisation": inner / total,
        "loss_increase": loss_increase(rates[2], run["inner_steps"], islands),
        "tokens_factor": factor,
        "tokens_factor_range": [low, high],
        "availability": sum(
            part * own.there for part, own in zip(share, kinds, strict=True)
        ),
        "goodput": sum(
            part * own.counts for part, own in zip(share, kinds, strict=True)
        ),
        "tokens_per_second": useful,
        "days": days,
        "usd": hourly * days * 24,
        "energy_usd": power * days * 24,
        **({"topology": way} if islands > 1 else {}),
    }
