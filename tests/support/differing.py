"""Random cases for comparisons of core and reference."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    T = TypeVar("T")

# The gate looks at the change, with the same cases in every run; `make fuzz` at more.
_IN_THE_GATE = 3


def drawn(cases: Sequence[T], dice: random.Random) -> Sequence[T]:
    """Return a third of some cases in the gate, at least one; else all."""
    if not os.environ.get("CI"):
        return cases
    return dice.sample(cases, max(1, len(cases) // _IN_THE_GATE))


def differential(examples: int) -> settings:
    """Return settings of a comparison: the cost of an example is known and small."""
    return settings(
        max_examples=examples // (_IN_THE_GATE if os.environ.get("CI") else 1),
        deadline=None,
        print_blob=True,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.function_scoped_fixture,
        ],
    )
