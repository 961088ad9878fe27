"""Made-up fleets of the size that planning meets: random, but shaped like hardware.

An instance has 50 kinds of hosts (10 accelerators in 5 hosts and networks), 4 workloads
and 10,000 templates: 50 layouts of each workload on each kind. Prices, speeds and power
hang together as on the market (dearer accelerators are faster, and slower per dollar),
and stock, power, budget, racks and switch ports are scarce. One failure must be borne.
"""

from __future__ import annotations

import random
from fractions import Fraction

from planopt.fleets.problem import Container, Fleet, Kit, Step, Stream, Template

SEEDS = {"amber": 1, "basalt": 2, "cedar": 3, "dune": 4, "ember": 5}
WORKLOADS = 4
ACCELERATORS = 10
HOSTS_OF_EACH = 5
TEMPLATES = 10_000
FABRICS = ("ethernet", "roce", "infiniband")
HOURS = 3 * 8760
CENTS = 100


def instance(name: str, templates: int = TEMPLATES) -> Fleet:
    """Make the instance of a named seed."""
    draw = random.Random(SEEDS[name])
    kits: list[Kit] = []
    gives: list[tuple[float, int]] = []
    for accelerator in range(ACCELERATORS):
        price = 1_500 * 1.42**accelerator * draw.uniform(0.85, 1.15)
        speed = 400 * (price / 1_500) ** 0.85 * draw.uniform(0.8, 1.25)
        watts = 300 + 45 * accelerator
        for _ in range(HOSTS_OF_EACH):
            count = draw.choice((1, 2, 4, 8))
            fabric = draw.choice(FABRICS)
            ports = draw.choice((1, 2))
            host = 1_000 + 900 * count + 700 * FABRICS.index(fabric) * ports
            dollars = round(count * price + host * draw.uniform(0.9, 1.2))
            kits.append(
                Kit(
                    name=f"kit-{len(kits)}",
                    way="buy",
                    pool=f"accelerator-{accelerator}",
                    charge_cents=(dollars * CENTS,),
                    uses={
                        f"stock:{accelerator}": count,
                        "budget": dollars * CENTS,
                        f"ports:{fabric}": ports,
                        "rack units": draw.choice((2, 4)) if count < 8 else 6,
                    },
                )
            )
            gives.append((count * speed, count * watts + 200))
    streams, demands = [], []
    for workload in range(WORKLOADS):
        demand = round(1000 * 10 ** draw.uniform(4.0, 5.2))
        demands.append(demand)
        steps = ((Step(demand, Fraction(HOURS)),),)
        streams.append(Stream(f"workload-{workload}", steps, losses=1))
    offered = []
    for place in range(templates):
        workload, kit = place % WORKLOADS, place // WORKLOADS % len(kits)
        speed, watts = gives[kit]
        supply = round(1000 * speed * draw.uniform(0.3, 1.0) / (1 + workload))
        power = round(watts * draw.uniform(0.6, 1.0))
        replicas = draw.choice((1, 1, 2, 4))
        offered.append(
            Template(
                stream=workload,
                kit=kit,
                supply=supply,
                loss=-(-supply // replicas),
                uses={"power": power},
            )
        )
    limits = _limits(draw, streams, kits, offered)
    return Fleet(tuple(streams), tuple(kits), tuple(offered), limits, _containers())


def regional(
    name: str, models: int = 50, regions: int = 10, *, scarce: bool = False
) -> Fleet:
    """Make a fleet of many small demands in one period: each model in each region.

    A region has hardware of its own, and an accelerator is scarce everywhere together:
    half of what the cheapest of each demand would take, or a fifth where it is scarce.
    """
    draw = random.Random(SEEDS[name])
    kits: list[Kit] = []
    templates: list[Template] = []
    streams: list[Stream] = []
    grades = [
        (1_500 * 1.42**each * draw.uniform(0.85, 1.15), 300 + 45 * each)
        for each in range(ACCELERATORS)
    ]
    for region in range(regions):
        for grade, (price, _) in enumerate(grades):
            dollars = round(8 * price * draw.uniform(0.95, 1.05) + 9_000)
            kits.append(
                Kit(
                    name=f"kit-{grade}-{region}",
                    way="buy",
                    pool=f"accelerator-{grade}-{region}",
                    charge_cents=(dollars * CENTS,),
                    uses={f"stock:{grade}": 8},
                )
            )
    taken = [0] * ACCELERATORS
    for model in range(models):
        size = 10 ** draw.uniform(0.0, 1.2)
        fits = range(min(3, round(size / 4)), ACCELERATORS)
        speeds = {each: draw.uniform(0.7, 1.3) for each in fits}
        for region in range(regions):
            demand = round(1000 * 10 ** draw.uniform(4.0, 5.2) / size)
            place = len(streams)
            steps = ((Step(demand, Fraction(HOURS)),),)
            streams.append(Stream(f"model-{model}-{region}", steps, losses=1))
            ways = []
            for grade, better in speeds.items():
                price, watts = grades[grade]
                supply = round(8000 * 400 * (price / 1_500) ** 0.85 * better / size)
                kit = region * ACCELERATORS + grade
                uses = {f"power:{region}": 8 * watts + 400}
                ways.append(Template(place, kit, supply, supply // 2, uses))
            cheapest = min(ways, key=lambda way: grades[way.kit % 10][0] / way.supply)
            taken[cheapest.kit % ACCELERATORS] += 8 * (demand // cheapest.supply + 1)
            templates += ways
    share = 5 if scarce else 2
    limits = {f"stock:{each}": max(8, of // share) for each, of in enumerate(taken)}
    limits |= {f"stock:{each}": 8 * 500 for each in (8, 9)}
    limits |= {f"power:{region}": 10**9 for region in range(regions)}
    return Fleet(tuple(streams), tuple(kits), tuple(templates), limits)


def _limits(
    draw: random.Random,
    streams: list[Stream],
    kits: list[Kit],
    offered: list[Template],
) -> dict[str, int]:
    """Limits around what the cheapest and the thriftiest way of each demand take."""
    dollars, power = 0, 0
    for place, stream in enumerate(streams):
        ways = [each for each in offered if each.stream == place]
        cost = min(kits[w.kit].charge_cents[0] / w.supply for w in ways)
        thrift = min(w.uses["power"] / w.supply for w in ways)
        dollars += round(stream.peak(0) * cost / CENTS)
        power += round(stream.peak(0) * thrift)
    stock = {
        f"stock:{each}": draw.choice((16, 32, 64, 128, 256)) * 2
        for each in range(ACCELERATORS)
    }
    return {
        "budget": 3 * dollars * CENTS,
        "power": round(2.2 * power),
        "rack units": 0,
        **{f"ports:{fabric}": 0 for fabric in FABRICS},
        **stock,
    }


def _containers() -> tuple[Container, ...]:
    switches = [
        Container(
            name=f"{fabric} switch of {ports} ports",
            gives={f"ports:{fabric}": ports},
            charge_cents=(400 + 250 * grade) * ports * CENTS // 4,
            most=40,
            uses={"rack units": 1, "power": 6 * ports},
        )
        for grade, fabric in enumerate(FABRICS)
        for ports in (32, 64)
    ]
    rack = Container("rack", {"rack units": 42}, 2_500 * CENTS, 60)
    return (*switches, rack)
