"""Where a plan states something else than what it must."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from planopt_reference.units import MICRO_USD_PER_USD

# The two implementations must agree this closely (model.md, first paragraph).
RELATIVE_TOLERANCE: Final = 1e-9


@dataclass(frozen=True)
class Mismatch:
    """A field of a plan that does not hold.

    Attributes
    ----------
    field : str
        Path in the document, as in `deployments[0].evaluation.decode.step_seconds`.
    stated : object
        What the plan says.
    expected : object
        What follows from the catalogs and the request, or the limit that is broken.
    reason : str
        Why it must be so.
    """

    field: str
    stated: object
    expected: object
    reason: str

    def __str__(self) -> str:
        """Return the mismatch as one sentence."""
        return (
            f"{self.field}: {self.reason}: the plan says {self.stated!r}, "
            f"expected {self.expected!r}"
        )


def is_number(value: object) -> bool:
    """Return whether a JSON value is a finite number."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


def agree(stated: Any, expected: Any) -> bool:
    """Return whether two leaves agree: numbers closely, everything else exactly."""
    if is_number(stated) and is_number(expected):
        return math.isclose(stated, expected, rel_tol=RELATIVE_TOLERANCE)
    return type(stated) is type(expected) and bool(stated == expected)


def compared(
    field: str, stated: object, expected: object, reason: str
) -> Iterator[Mismatch]:
    """Compare a part of a plan with what was recomputed.

    Parameters
    ----------
    field : str
        Path of the part.
    stated, expected : object
        Leaves, or tables of which every expected leaf is compared.
    reason : str
        Where the expected value comes from.

    Yields
    ------
    Mismatch
        One for each leaf that differs or is missing.
    """
    if not isinstance(expected, Mapping):
        if not agree(stated, expected):
            yield Mismatch(field, stated, expected, reason)
        return
    if not isinstance(stated, Mapping):
        yield Mismatch(field, stated, dict(expected), reason)
        return
    for key, value in expected.items():
        yield from compared(f"{field}.{key}", stated.get(key), value, reason)


def micro_usd(stated: object) -> int | None:
    """Return stated dollars in micro-dollars, or none if they are no number."""
    if isinstance(stated, int | float) and is_number(stated):
        return round(stated * MICRO_USD_PER_USD)
    return None


def compared_money(
    field: str, stated: object, expected: int, reason: str
) -> Iterator[Mismatch]:
    """Compare stated dollars with micro-dollars, exactly."""
    if micro_usd(stated) != expected:
        yield Mismatch(field, stated, expected / MICRO_USD_PER_USD, reason)
