"""What is left of a purchase when what stands together fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from planopt_reference.mismatch import Mismatch, compared

Document = Mapping[str, Any]


class Standing(NamedTuple):
    """Units that are alike, and what each of their replicas gives."""

    each: float
    units: int
    replicas: int
    """Of one unit."""
    hosts: int
    """Of one unit."""
    switched: bool

    @classmethod
    def of(cls, table: Document, each: float) -> Standing:
        """Read what a deployment of a plan says."""
        hardware, units = table["hardware"], table["units"]
        switched = hardware.get("switch") is not None
        replicas = table["replicas"] // units
        return cls(each, units, replicas, hardware["hosts"], switched)

    def together(self, part: str) -> int:
        """Return the replicas that are lost with one part."""
        return {
            # A replica of many devices is lost with any of them.
            "device": 1,
            "host": max(1, self.replicas // self.hosts),
            "switch": self.replicas if self.switched else 0,
            # No two units stand in one rack.
            "rack": self.replicas,
        }[part]


def failures(request: Document) -> Mapping[str, int]:
    """Return how many of each part may fail; a number alone is of hosts."""
    asked = request.get("redundancy") or {}
    parts = asked if isinstance(asked, Mapping) else {"host": asked}
    return {part: losses for part, losses in parts.items() if part != "loss"}


def left_of(
    standing: Sequence[Standing], request: Document, demand: float | None
) -> float:
    """Return what all replicas give after the worst of the failures asked for.

    Where one may take no more than a share of the demand, no part is given more of it.
    """
    asked = failures(request)
    left = min((_left(standing, *one) for one in asked.items()), default=_all(standing))
    redundancy = request.get("redundancy")
    loss = redundancy.get("loss") if isinstance(redundancy, Mapping) else None
    if not loss or not demand:
        return left
    of_any = (_spread(standing, part, loss * demand) for part in asked or ("host",))
    return min(left, *of_any)


def _spread(standing: Sequence[Standing], part: str, most: float) -> float:
    """Give each part as much as it may take away."""
    carried = 0.0
    for one in standing:
        together = one.together(part)
        replicas = one.units * one.replicas
        if together:
            carried += min(one.each * together, most) * (replicas // together)
        else:
            carried += one.each * replicas
    return carried


def failure_mismatches(plan: Document, request: Document) -> Iterator[Mismatch]:
    """Count again what is left after each failure."""
    deployments = plan["deployments"]
    standing = [Standing.of(table, 1) for table in deployments]
    expected = [
        {
            "domain": part,
            "losses": losses,
            "replicas_left": _left(standing, part, losses),
        }
        for part, losses in failures(request).items()
    ]
    reason = "replicas that stand together are lost together"
    yield from compared("failures", plan.get("failures", []), expected, reason)
    for one in expected:
        if not one["replicas_left"]:
            place = f"request.redundancy.{one['domain']}"
            yield Mismatch(place, one["losses"], "fewer", "no replica is left")


def _all(standing: Sequence[Standing]) -> float:
    return sum(one.each * one.units * one.replicas for one in standing)


def _left(standing: Sequence[Standing], part: str, losses: int) -> float:
    """Lose the largest first."""
    left = _all(standing)
    lost = [(one.each * one.together(part), one) for one in standing]
    for size, one in sorted(lost, key=lambda each: each[0], reverse=True):
        if size:
            failed = min(losses, one.units * one.replicas // one.together(part))
            left -= size * failed
            losses -= failed
    return left
