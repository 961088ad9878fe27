"""A deployment of a plan as it is computed again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.certainty import kind, share
from planopt_reference.layout import Table, configuration, hardware_and_ranks
from planopt_reference.limits import Deployment
from planopt_reference.mismatch import Mismatch, compared
from planopt_reference.neighbours import bought_chain
from planopt_reference.pools import unit_of
from planopt_reference.promises import cards_of, sessions_of, supplied
from planopt_reference.purchase import Unit, unit
from planopt_reference.rent import is_offer
from planopt_reference.serving import evaluate_serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt_reference.cluster import Cluster
    from planopt_reference.facts import Facts

_CATALOG: Final = "recomputed from the catalogs"


def _model(table: Table, request: Table) -> str | Mapping[str, Any]:
    """Return the model's id, or the architecture that the plan embeds in its place."""
    embedded = request.get("architecture")
    return embedded if isinstance(embedded, Mapping) else str(table["model"])


def _overlap(candidate: Table, request: Table) -> str:
    return str(candidate.get("overlap") or request.get("overlap") or "none")


def recomputed(
    table: Table, request: Table, facts: Facts, together: Cluster | None
) -> Deployment:
    """Evaluate a deployment again, and put together what it is of.

    Raises
    ------
    ValueError
        If its candidate is rejected, or its replicas are in no whole units.
    """
    if table.get("chain"):
        return _chained(table, request, facts)
    candidate, hardware = table["candidate"], table["hardware"]
    units, replicas = table["units"], table["replicas"]
    if units < 1 or replicas < 1 or replicas % units:
        message = f"{replicas} replicas are not spread evenly over {units} units"
        raise ValueError(message)
    evaluation = evaluate_serving(
        facts,
        model=_model(table, request),
        **configuration(candidate, hardware),
        context=request["context_tokens"],
        prompt=request["prompt_tokens"],
        overlap=_overlap(candidate, request),
        kv_heads=request.get("kv_heads"),
        draft=candidate.get("draft"),
        draft_tokens=candidate.get("draft_tokens") or 0,
        acceptance=candidate.get("acceptance") or 0.0,
    )
    if not evaluation["feasible"]:
        reasons = "; ".join(one["message"] for one in evaluation["rejections"])
        message = f"the candidate is rejected: {reasons}"
        raise ValueError(message)
    role = table.get("role", "colocated")
    if together is None:
        bought = unit(
            facts,
            **hardware_and_ranks(candidate, hardware),
            switch=hardware.get("switch"),
            replicas=replicas // units,
            terms=hardware.get("terms"),
            owned=hardware.get("owned"),
        )
    else:
        card = facts.accelerator(candidate["accelerator"]).model_id
        bought = unit_of(role, replicas, together, card)
    return Deployment(
        evaluation=evaluation,
        role=role,
        unit=bought,
        units=units,
        replicas=replicas,
        in_flight=candidate["in_flight"],
        batch=candidate["batch"],
        overlap=_overlap(candidate, request),
        slower=kind(facts, request, candidate["accelerator"]).slower(
            share(request.get("confidence"))
        ),
        sessions=sessions_of(table),
        supplied=supplied(table),
    )


def _chained(table: Table, request: Table, facts: Facts) -> Deployment:
    """Evaluate a chain of cards that are not alike again: all of them are one unit."""
    chain, replicas = bought_chain(table, request, facts), table["replicas"]
    if table["units"] != 1 or replicas < 1:
        message = "chains of unlike cards are bought as one unit"
        raise ValueError(message)
    all_of_it = chain.cluster
    return Deployment(
        evaluation=chain.evaluation,
        role="colocated",
        unit=Unit(
            lines=all_of_it.lines,
            replicas=replicas,
            hosts=all_of_it.hosts,
            accelerators=all_of_it.accelerators,
            switch=None,
            power_watts=all_of_it.power_watts,
            rack_units=all_of_it.rack_units,
        ),
        units=1,
        replicas=replicas,
        in_flight=table["candidate"]["in_flight"],
        batch=table["candidate"]["batch"],
        overlap="none",
        slower=1.0,
        sessions=0,
        supplied=supplied(table),
    )


def chain_mismatches(
    field: str, table: Table, deployment: Deployment
) -> Iterator[Mismatch]:
    """Compare what is said of a chain as a whole with its parts."""
    hardware, parts, bought = table["hardware"], table["chain"], deployment.unit
    hosts = "+".join(sorted({each["host"] for each in parts}))
    switches = [line for line in bought.lines if line.kind == "switch"]
    expected = {
        "host": hosts,
        "hosts": bought.hosts,
        "rack_units": bought.rack_units,
        "nics_per_host": int(bought.hosts > 1),
        "switch": switches[0].id if switches else None,
        "switch_count": sum(line.quantity for line in switches),
        "switch_port_blocks": 0,
        "link": None,
        "terms": None,
        "goodput": None,
        "owned": None,
    }
    for name, value in expected.items():
        place = f"{field}.hardware.{name}"
        yield from compared(place, hardware.get(name), value, _CATALOG)
    place = f"{field}.evaluation.time_parts"
    told = list(table["evaluation"].get("time_parts") or ())
    yield from compared(place, told, [], "nobody divides its stages' time")
    card = table["candidate"]["accelerator"]
    named = "+".join(sorted(cards_of(table)))
    place = f"{field}.candidate.accelerator"
    yield from compared(place, card, named, "the kinds of its chain")


def hardware_mismatches(
    field: str, table: Table, deployment: Deployment, facts: Facts
) -> Iterator[Mismatch]:
    """Compare the hardware of a deployment with that of its unit."""
    hardware, bought = table["hardware"], deployment.unit
    hosts = hardware.get("hosts")
    yield from compared(f"{field}.hosts", hosts, bought.hosts, "hosts of a unit")
    height = hardware.get("rack_units")
    yield from compared(f"{field}.rack_units", height, bought.rack_units, _CATALOG)
    yield from _connection_mismatches(field, hardware, bought)
    yield from _rent_mismatches(field, hardware, bought)
    yield from link_mismatches(field, table, facts)


def link_mismatches(field: str, table: Table, facts: Facts) -> Iterator[Mismatch]:
    """Check that the link inside a host is one that it has."""
    hardware = table["hardware"]
    host = facts.host(hardware["host"])
    card = facts.accelerator(table["candidate"]["accelerator"])
    links = {None, host.link, card.pcie_link, card.scale_up_name}
    if hardware.get("link") not in links:
        known = ", ".join(sorted(link for link in links if link))
        yield Mismatch(
            f"{field}.link", hardware.get("link"), known, "links of the host"
        )


def _rent_mismatches(field: str, hardware: Table, bought: Unit) -> Iterator[Mismatch]:
    """Compare the terms of an instance with whether it is one."""
    if is_offer(hardware["host"]) != (bought.rent is not None):
        reason = "instances have terms, and nothing else has"
        yield Mismatch(f"{field}.terms", hardware.get("terms"), "terms", reason)
    expected = None if bought.rent is None else bought.goodput
    stated = hardware.get("goodput")
    yield from compared(f"{field}.goodput", stated, expected, _CATALOG)


def _connection_mismatches(
    field: str, hardware: Table, bought: Unit
) -> Iterator[Mismatch]:
    """Compare what connects hosts: nothing where there is one, no switch for two."""
    if bought.hosts == 1:
        for key in ("network", "nics_per_host"):
            if hardware.get(key):
                reason = "one host is not connected"
                yield Mismatch(f"{field}.{key}", hardware[key], None, reason)
    share = bought.switch
    if share is None and hardware.get("switch"):
        reason = "these hosts need no switch"
        yield Mismatch(f"{field}.switch", hardware["switch"], None, reason)
    in_blocks = share is not None and share.port_block is not None
    blocks = share.blocks if share is not None and in_blocks else 0
    stated_blocks = hardware.get("switch_port_blocks") or 0
    yield from compared(
        f"{field}.switch_port_blocks",
        stated_blocks,
        blocks,
        "blocks of ports of a unit",
    )
    switches = {None, 0} if share is None else {1, None, 0} if in_blocks else {1}
    if hardware.get("switch_count") not in switches:
        stated = hardware.get("switch_count")
        reason = "switches of a unit"
        yield Mismatch(f"{field}.switch_count", stated, int(share is not None), reason)
