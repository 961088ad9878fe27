"""What encodes the images of a prompt (serving.md, section 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_reference.derivation import formula

if TYPE_CHECKING:
    from planopt_reference.rank import Rank, Step


# Section 12, bytes.
@formula("P / t x B_a", section="12", page="serving.md", unit="bytes")
def encoder_bytes(rank: Rank) -> float:
    """Return the bytes of an encoder on one rank of the first stage."""
    if rank.encoder is None:
        return 0.0
    return rank.encoder.parameters / rank.t * rank.activation_bytes


# Section 12, seconds.
@formula(
    "2 P / t x patches x chunk / prompt / (rate e)",
    section="12",
    page="serving.md",
    unit="s",
    reads=("compute.efficiency",),
)
def encoder_seconds(rank: Rank, step: Step) -> float:
    """Return the seconds of encoding the images that a chunk of a prompt brings."""
    if rank.encoder is None:
        return 0.0
    patches = rank.encoder.patches * step.queries / rank.encoder.prompt
    reached = rank.compute.products(None, experts=False)
    flops = 2 * rank.encoder.parameters / rank.t * patches
    return flops / (rank.base_rate * reached.efficiency)
