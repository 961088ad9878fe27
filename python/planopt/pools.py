"""Two pools of replicas: one reads prompts, the other answers them."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from planopt.evaluation import BomLine, Candidate, Cost, Percentiles, ServingEvaluation

__all__ = ["Disaggregated", "Pool", "Transfer"]


class Transfer(Struct, frozen=True, kw_only=True):
    """How the KV cache of a prompt gets from one pool to the other."""

    network: str | None = None
    """Network between hosts; none inside of one."""
    bytes: float | None = None
    """KV cache of a prompt."""
    seconds: float | None = None
    """Until it has arrived, behind no other."""
    latency_seconds: float | None = None
    seconds_per_token: float | None = None


class Pool(Struct, frozen=True, kw_only=True):
    """Replicas that do one part of the work."""

    candidate: Candidate
    host: str
    hosts: int = 1
    """Hosts of one replica."""
    replicas: int = 1
    requests_per_second: float | None = None
    """What all of them carry in time, by the closed form."""
    evaluation: ServingEvaluation | None = None
    """Of one replica, alone with its part."""


class Disaggregated(Struct, frozen=True, kw_only=True):
    """Two pools that do what was asked, with what is bought for them.

    The best of the pairs that were asked about, simulated; not proven to be the best of
    all.
    """

    prefill: Pool
    decode: Pool
    transfer: Transfer
    nics_per_host: int = 0
    hosts: int = 1
    accelerators: int = 0
    switch: str | None = None
    switch_count: int = 0
    users: int = 0
    """Users that it was simulated with, each waiting for his answer; 0 at a rate."""
    requests_per_second: float | None = None
    """Simulated, as what follows."""
    tokens_per_second: float | None = None
    ttft_seconds: Percentiles = msgspec.field(default_factory=Percentiles)
    tpot_seconds: Percentiles = msgspec.field(default_factory=Percentiles)
    in_time: bool = True
    """Whether the simulation keeps what was promised."""
    price_usd: float | None = None
    cost: Cost = msgspec.field(default_factory=Cost)
    power_watts: float | None = None
    bill_of_materials: tuple[BomLine, ...] = ()

    @property
    def layout(self) -> str:
        """Both pools in short, such as ``2x TP2 read, 1x TP4 answers``."""
        reading, answering = self.prefill, self.decode
        return (
            f"{reading.replicas}P{answering.replicas}D: "
            f"{reading.replicas}x {reading.candidate.layout} reads, "
            f"{answering.replicas}x {answering.candidate.layout} answers"
        )
