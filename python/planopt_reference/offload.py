"""Weights that rest in the host (serving.md, section 10)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from planopt_reference.derivation import formula
from planopt_reference.facts import FactError
from planopt_reference.operations import MatMul

if TYPE_CHECKING:
    from planopt_reference.assumptions import Training
    from planopt_reference.communication import Fabric
    from planopt_reference.hardware import Host
    from planopt_reference.operations import Operation
    from planopt_reference.rank import Offload, Rank
    from planopt_reference.stage import Stage

# Section 10: the layer at work and the next one.
_LAYERS_AT_HAND: Final = 2


# Section 10, H.
@formula(
    "min(P, memory bandwidth / accelerators of a host), from disks no more than theirs",
    section="10",
    page="serving.md",
    unit="bytes/s",
    reads=("training.host_memory_bandwidth",),
)
def read_bandwidth(offload: Offload, links: Fabric) -> float:
    """Return the bytes/s at which one accelerator reads what rests in its host."""
    host, training = links.host, _training(links)
    shared = host.memory_bandwidth or training.host_memory_bandwidth
    if offload.to == "disk":
        shared = min(shared, host.disk_bandwidth or 0.0)
    return min(links.pcie_bandwidth, shared / _accelerators_of_a_host(links))


def _accelerators_of_a_host(links: Fabric) -> int:
    return min(links.host.slots, links.stage_ranks * links.p)


# Section 10, W_j.
@formula(
    "W_j = min(n, L_j) / L_j x weights of its layers",
    section="10",
    page="serving.md",
    unit="bytes",
)
def offloaded_bytes(stage: Stage, rank: Rank) -> float:
    """Return the bytes of one rank of a stage that rest in its host."""
    return _share(stage, _offloaded(stage, rank), rank)


# Section 10, freed_j.
def freed_bytes(stage: Stage, rank: Rank) -> float:
    """Return what of them the accelerator need not have room for."""
    at_hand = 0 if rank.compute.own is not None else _LAYERS_AT_HAND
    return _share(stage, max(0, _offloaded(stage, rank) - at_hand), rank)


def offloaded_share(stage: Stage, rank: Rank) -> float:
    """Return the share of a stage's layers that rest in its host."""
    return _offloaded(stage, rank) / len(stage.layers) if stage.layers else 0.0


# Serving, section 16, "computes".
def host_bandwidth(rank: Rank, links: Fabric, share: float) -> float:
    """Return the bytes/s at which a host computes for one of its accelerators."""
    host, training = links.host, _training(links)
    memory = host.memory_bandwidth or training.host_memory_bandwidth
    if rank.offload is not None and rank.offload.to == "disk":
        memory = min(memory, host.disk_bandwidth or 0.0)
    return memory * share / _accelerators_of_a_host(links)


def _offloaded(stage: Stage, rank: Rank) -> int:
    """Return how many layers of a stage rest in the host."""
    return 0 if rank.offload is None else min(rank.offload.layers, len(stage.layers))


# Serving, section 16, "keeps".
def kept(layer: tuple[Operation, ...]) -> list[MatMul]:
    """Return the products of a layer that its host computes: its experts, if any."""
    products = [each for each in layer if isinstance(each, MatMul)]
    return [each for each in products if each.experts > 1] or products


def kept_bytes(operation: MatMul, rank: Rank, *, distinct: float) -> float:
    """Return the bytes of so many matrices of a product on one rank."""
    inputs, outputs = operation.divided(rank.dividing(operation))
    return distinct * inputs * outputs * rank.parameter_bytes(operation)


def _share(stage: Stage, layers: int, rank: Rank) -> float:
    """Return the bytes of so many of a stage's layers, all taken as alike."""
    if not layers:
        return 0.0
    if rank.compute.own is not None:
        held = (
            kept_bytes(
                each, rank, distinct=each.experts / (rank.e if each.experts > 1 else 1)
            )
            for layer in stage.layers
            for each in kept(layer)
        )
        return layers / len(stage.layers) * math.fsum(held)
    return (
        layers
        / len(stage.layers)
        * math.fsum(
            operation.parameters
            * rank.fraction(operation)
            * rank.parameter_bytes(operation)
            for layer in stage.layers
            for operation in layer
        )
    )


# Section 10, exposed_j.
@formula(
    "max(0, W_j / H - offload_overlap x work_j)",
    section="10",
    page="serving.md",
    unit="s",
    reads=("training.offload_overlap",),
)
def exposed_seconds(stage: Stage, work: float, rank: Rank, links: Fabric) -> float:
    """Return the seconds of reading that do not hide behind the work of a stage."""
    if rank.offload is None:
        return 0.0
    moving = offloaded_bytes(stage, rank) / read_bandwidth(rank.offload, links)
    return max(0.0, moving - _training(links).offload_overlap * work)


def _training(links: Fabric) -> Training:
    if links.assumptions.training is None:
        message = "assumptions without [training] say nothing of transfers to a host"
        raise FactError(message)
    return links.assumptions.training


# Section 10, "a host holds".
def host_memory_bytes(stages: list[Stage], rank: Rank, links: Fabric) -> float:
    """Return the bytes of weights in the fullest host."""
    of_rank = max(offloaded_bytes(stage, rank) for stage in stages)
    return of_rank * _accelerators_of_a_host(links)


def usable_host_memory(host: Host, rank: Rank) -> float:
    """Return the bytes of a host's memory that may be planned with."""
    usable = rank.assumptions.memory.unified_usable_fraction
    return (host.memory or 0.0) * usable
