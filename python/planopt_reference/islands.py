"""Islands that meet over the Internet (islands.md), again from the page."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, comb, exp, expm1, log, log2, sqrt

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
