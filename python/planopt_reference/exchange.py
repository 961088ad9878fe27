"""Tokens on their way to the ranks of their experts (model.md, section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_reference.derivation import formula

if TYPE_CHECKING:
    from planopt_reference.communication import Fabric
    from planopt_reference.operations import MatMul
    from planopt_reference.rank import Rank


# Section 4, C(n).
@formula(
    "C(n) = n (1 - (1 - 1/min(e, n))^k_E)",
    section="4",
    unit="copies",
)
def copies(places: int, parts: int, active: int) -> float:
    """Return the ranks, or hosts, that have any of a token's experts, on average."""
    missed: float = (1 - 1 / min(parts, places)) ** active
    return places * (1 - missed)


# Section 4, "An all-to-all of `n` neighbours".
def among_neighbours(sent: float, neighbours: int, fabric: Fabric) -> float:
    """Return the seconds in which each neighbour sends `sent` bytes to all of them."""
    if neighbours <= fabric.scale_up_domain:
        latency = fabric.scale_up.one_shot_latency
        bandwidth = fabric.scale_up_bandwidth
    else:
        latency = fabric.pcie_latency
        bandwidth = fabric.pcie_all_reduce_bandwidth(neighbours)
    return latency + sent * (neighbours - 1) / neighbours / bandwidth


# Section 4, Exchange.
@formula(
    "an all-to-all among neighbours, and across hosts what goes through their NICs",
    section="4",
    unit="s",
)
def exchange_seconds(
    operation: MatMul, tokens: float, rank: Rank, fabric: Fabric
) -> float:
    """Return the time of what a product of experts sends before or after it.

    Parameters
    ----------
    operation : MatMul
        By columns: its inputs are sent. By rows: its outputs come back.
    tokens : int
        Of one group.
    rank : Rank
        Degrees and formats.
    fabric : Fabric
        Links.

    Returns
    -------
    float
        Seconds.
    """
    sent = tokens / rank.t
    if operation.division == "columns":
        sent *= operation.inputs * rank.sent_bytes
    else:
        sent *= operation.outputs * rank.activation_bytes
    ranks, slots = fabric.stage_ranks, fabric.host.slots
    to_ranks = sent * copies(ranks, rank.e, operation.active)
    if ranks <= max(slots, fabric.scale_up_domain):
        return among_neighbours(to_ranks, ranks, fabric)
    hosts = ranks // slots
    to_hosts = slots * sent * copies(hosts, rank.e, operation.active)
    across = to_hosts * (hosts - 1) / hosts / fabric.network_bandwidth
    inside = among_neighbours(to_ranks, slots, fabric) if slots > 1 else 0.0
    return max(fabric.message_latency + across, inside)
