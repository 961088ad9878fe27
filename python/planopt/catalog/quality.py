"""What a format of weights costs in quality: ``catalogs/quality.toml``."""

from __future__ import annotations

import math
from functools import cache
from typing import Literal

from msgspec import Struct

from planopt.catalog.open import bundled_folder
from planopt.toml import read_table


class Quality(Struct, frozen=True, kw_only=True):
    """What formats cost on one model, and who says so."""

    model: str
    """That was tried."""
    parameters: float
    figure: Literal["perplexity", "score"]
    """What was compared: perplexity gets higher, the mean of tasks lower."""
    cite: str
    date: str
    status: str
    """How well it is known, as of every figure of the catalogs."""
    loss: dict[str, float]
    """By format, as a share of what the published weights have."""

    def told(self, weights: str) -> str:
        """Say what a format costs: ``perplexity +2.8 % on Llama-3-8B``."""
        sign = 1 if self.figure == "perplexity" else -1
        return f"{self.figure} {sign * self.loss[weights]:+.1%} on {self.model}"


def quality_of(weights: str, parameters: float) -> Quality | None:
    """Return what was measured of a format on the model nearest in size, if any."""
    known = [each for each in _known() if weights in each.loss]
    if not known:
        return None
    return min(known, key=lambda each: abs(math.log(each.parameters / parameters)))


def cost_in_quality(weights: str, parameters: float) -> str:
    """Say in words what a format costs, or that nobody has said."""
    known = quality_of(weights, parameters)
    if known is None:
        return f"what {weights} costs in quality is not known: check it"
    return f"{known.told(weights)} ({known.date}): check your own tasks"


class _Measured(Struct, frozen=True):
    measured: tuple[Quality, ...]


@cache
def _known() -> tuple[Quality, ...]:
    return read_table(bundled_folder() / "quality.toml", _Measured).measured
