"""Utilisation and the whole run (training.md, sections 8 and 9)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, expm1, lgamma, log, prod, sqrt
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.cost import SECONDS_PER_HOUR, WATTS_PER_KILOWATT
from planopt_reference.derivation import formula
from planopt_reference.operations import Attention, LatentAttention, MatMul, StateSpace
from planopt_reference.training.attention import attended_tokens, heads_of
from planopt_reference.training.parameters import checkpoint_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt_reference.assumptions import Training
    from planopt_reference.training.rank import Rank
    from planopt_reference.training.stages import Stage

HOURS_PER_DAY: Final = 24
# Section 9: the square root of the spacing of 64-bit numbers at 1.
_SHORTEST_SHARE: Final = 2.0**-26
# Section 9: what sums of probabilities are rounded by.
_ROUNDING: Final = 1e-9


# Section 8, Model FLOPs of a token.
@formula(
    "3 (sum of 2 k n active + sum of 2 a (u + w) min(s, window))",
    section="8",
    unit="FLOP",
)
def model_flops(rank: Rank) -> float:
    """Return the FLOPs of a token by the convention asked for."""
    candidate, model = rank.candidate, rank.model
    passes = 3 if candidate.lora_rank is None else 2
    if candidate.model_flops == "6nd":
        counted = candidate.nominal_parameters or _active_parameters(rank)
        return 2 * passes * counted
    executed = [
        *model.operations(),
        *(one for _ in range(candidate.mtp_modules) for one in model.mtp_operations()),
    ]
    products = sum(
        2 * one.inputs * one.outputs * one.active
        for one in executed
        if isinstance(one, MatMul)
    )
    attention = 0.0
    for one in executed:
        if isinstance(one, Attention | LatentAttention):
            heads = heads_of(one, 1)
            seen = attended_tokens(
                candidate.seq_len,
                heads.window,
                causal=candidate.causal and candidate.model_flops == "causal",
            )
            attention += 2 * heads.query * heads.widths * seen
    scans = sum(
        (8 if one.corrects else 7) * one.inner * one.state
        for one in executed
        if isinstance(one, StateSpace)
    )
    return passes * products + 3 * (attention + scans)


def _active_parameters(rank: Rank) -> float:
    return sum(
        one.parameters * one.active / one.experts
        if isinstance(one, MatMul)
        else one.parameters
        for one in rank.model.operations()
    )


# Section 8, hfu.
def recomputed_share(stages: Sequence[Stage]) -> float:
    """Return the FLOP recomputed over those of forward and backward."""
    candidate = stages[0].rank.candidate
    forward = sum(stage.whole.flops for stage in stages)
    recomputed = sum(
        stage.of_modules.flops + stage.recompute_fraction * stage.body.flops
        for stage in stages
    )
    passes = 3 if candidate.lora_rank is None else 2
    return recomputed / (passes * forward)


# Section 9, tau.
@formula(
    "sqrt(2 delta M) (1 + y/3 + y^2/9) - delta, y = sqrt(delta / (2 M))",
    section="9",
    unit="s",
)
def checkpoint_interval(written: float, interval: float) -> float:
    """Return the seconds of work between two checkpoints."""
    work = interval
    if written < 2 * interval:
        y = sqrt(written / (2 * interval))
        work = sqrt(2 * written * interval) * (1 + y / 3 + y**2 / 9) - written
    return max(work, interval * _SHORTEST_SHARE)


@dataclass(frozen=True)
class AtWork:
    """Accelerators of one kind, and their hosts."""

    accelerators: int
    hosts: int

    # Section 9, M.
    def failures_per_second(self, training: Training) -> float:
        """Return how often something fails."""
        return (
            self.accelerators / training.accelerator_mtbf
            + self.hosts / training.host_mtbf
        )

    # Section 9, A.
    def spares(self, training: Training, asked: int | None) -> tuple[int, float]:
        """Return the spare hosts, and the share of the time in which they suffice."""
        away = self.failures_per_second(training) * training.repair
        if not away:
            return asked or 0, 1.0
        enough, spares = exp(-away), 0
        wanted = min(training.spare_availability, 1 - _ROUNDING)
        while spares < asked if asked is not None else enough < wanted:
            spares += 1
            enough += exp(spares * log(away) - lgamma(spares + 1) - away)
        return spares, min(enough, 1.0)


# Section 9.
@formula(
    "M = 1 / (N / accelerator_mtbf + H / host_mtbf); goodput = A tau / (M "
    "exp(restart/M) (exp((tau + delta)/M) - 1))",
    section="9",
    reads=(
        "training.accelerator_mtbf",
        "training.host_mtbf",
        "training.restart",
        "training.repair",
        "training.storage_bandwidth",
        "training.storage_limit",
    ),
)
def failures_of(rank: Rank, kinds: Sequence[AtWork]) -> dict[str, float]:
    """Return failures and checkpoints of the run, and its goodput."""
    training, candidate = rank.machine.training, rank.candidate
    hosts = sum(kind.hosts for kind in kinds)
    rate = sum(kind.failures_per_second(training) for kind in kinds)
    interval = 1 / rate
    spares = [kind.spares(training, candidate.redundancy) for kind in kinds]
    availability = prod(enough for _, enough in spares)
    size = checkpoint_bytes(rank)
    written = size / min(training.storage_bandwidth * hosts, training.storage_limit)
    work = checkpoint_interval(written, interval)
    try:
        lost = exp(training.restart / interval) * expm1((work + written) / interval)
    except OverflowError:
        lost = float("inf")
    return {
        "interval_seconds": interval,
        "checkpoint_bytes": size,
        "checkpoint_seconds": written,
        "checkpoint_interval_seconds": work,
        "restart_seconds": training.restart,
        "hosts_away": rate * training.repair,
        "spare_hosts": sum(many for many, _ in spares),
        "availability": availability,
        "goodput": work / (interval * lost) * availability,
    }


# Section 9, "`accelerator_hours` =".
@formula(
    "tokens / tokens per second / 3600 N / goodput",
    section="9",
)
def run_of(
    rank: Rank, *, tokens: float, tokens_per_second: float, goodput: float
) -> dict[str, Any]:
    """Return the whole run: steps and hours."""
    candidate = rank.candidate
    productive = tokens / tokens_per_second / SECONDS_PER_HOUR * candidate.accelerators
    return {
        "tokens": tokens,
        "steps": ceil(tokens / (candidate.global_batch * candidate.seq_len)),
        "accelerator_hours": productive / goodput,
        "productive_accelerator_hours": productive,
    }


# Section 9, energy and carbon.
def energy_of(
    power_watts: float, hours: float, *, pue: float, carbon_kg_per_kwh: float
) -> dict[str, float]:
    """Return the energy and the carbon dioxide of so many hours of the cluster."""
    kwh = power_watts / WATTS_PER_KILOWATT * hours * pue
    return {"energy_kwh": kwh, "kg_co2e": kwh * carbon_kg_per_kwh}
