"""The price staircase: what a faster promise costs, in steps of half a token a second.

Whoever keeps a faster promise keeps a slower one as well. So no plan of a staircase may
be dearer than another of it that holds at its own speed, by a run with a seed that
nothing was chosen by.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from planopt.planning.pipeline import Serving, answered
from planopt_studies.sixty import late_share, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.documents.plan import Plan

STEP: Final = 0.5
STEPS: Final = 8
SECONDS: Final = 60
"""Of each question, so that no clock decides on a busy machine."""
NOTHING: Final = 1e-6
"""Share of a price that is rounding."""


class Pair(NamedTuple):
    """An accelerator under a rate, and the slowest promise that is asked for."""

    accelerator: str
    model: str
    rate: float
    least: float
    more: str = ""


PAIRS: Final = (
    *(Pair("l40s", "llama-3.1-8b", rate, 18.0) for rate in (2, 6)),
    *(Pair("rtx-4090", "llama-3.1-8b", rate, 24.0) for rate in (1, 4)),
    *(Pair("rtx-5090", "llama-3.1-8b", rate, 30.0) for rate in (2, 8)),
    *(Pair("a100-sxm-80", "qwen3-32b", rate, 12.0) for rate in (2, 8)),
    *(
        Pair("h100-sxm", "llama-3.1-70b", rate, 14.0, "--weights fp8")
        for rate in (2, 6)
    ),
    *(
        Pair("h200-sxm", "llama-3.1-70b", rate, 16.0, "--weights fp8")
        for rate in (3, 12)
    ),
    *(Pair("mi300x", "llama-3.1-70b", rate, 12.0, "--weights fp8") for rate in (3, 9)),
    *(
        Pair("b200", "llama-3.3-70b", rate, 12.0, "--weights fp8 --procurement rent")
        for rate in (3, 6)
    ),
    *(
        Pair("mi355x", "gpt-oss-120b", rate, 30.0, "--procurement rent")
        for rate in (4, 16)
    ),
    *(
        Pair("h100-sxm", "llama-3.1-8b", rate, 40.0, "--procurement rent")
        for rate in (5, 20)
    ),
)


class Step(NamedTuple):
    """A promise, and the plan for it."""

    target: float
    command: str
    plan: Plan

    @property
    def price(self) -> float | None:
        """Money that was asked about."""
        if self.plan.status == "infeasible":
            return None
        bought = self.plan.price_usd
        return self.plan.cost.usd_per_hour if self.plan.request.hourly else bought


def climbed(pair: Pair, steps: int = STEPS) -> Iterator[Step]:
    """Ask for each speed of a staircase."""
    for place in range(steps):
        target = pair.least + STEP * place
        command = (
            f"solve --model {pair.model} --accelerators {pair.accelerator} "
            f"--request-rate {pair.rate}/s --isl 1500 --osl 400 --ttft 2s "
            f"--time-limit {SECONDS}s --target {target}tok/s {pair.more}"
        ).strip()
        yield Step(target, command, answered(Serving(), spoken(command)))


def too_dear(steps: Sequence[Step]) -> Iterator[tuple[Step, Step]]:
    """Yield steps of which another one is cheaper, and holds as well."""
    for step in steps:
        for other in steps:
            if other.price is None:
                continue
            cheaper = step.price is None or other.price < step.price * (1 - NOTHING)
            if not cheaper:
                continue
            holds = other.target >= step.target
            if not holds:
                late = late_share(step.command, other.plan)
                holds = late is not None and late <= 0
            if holds:
                yield step, other


def main() -> None:
    """Climb staircases, and print a line for each plan that is too dear."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--steps", type=int, default=STEPS)
    read.add_argument("--only", type=int, nargs="*", default=[])
    told = read.parse_args()
    found, asked = Counter[str](), 0
    for place, pair in enumerate(PAIRS):
        if told.only and place not in told.only:
            continue
        steps = [*climbed(pair, told.steps)]
        asked += len(steps)
        prices = " ".join(f"{step.price or 0:,.2f}" for step in steps)
        print(f"{place:2} {pair.accelerator:12} {pair.rate:4}/s  {prices}", flush=True)
        for step, other in too_dear(steps):
            # Not every plan claims to be the cheapest: a rate may be too near to tell.
            found[step.plan.why or "proven"] += 1
            held = f"{other.price} at {other.target}"
            print(f"   too dear ({step.plan.why or 'proven'}): {step.command}: {held}")
    by_why = ", ".join(f"{number} {why}" for why, number in sorted(found.items()))
    print(f"{asked} plans, of which another is cheaper and holds: {by_why or 'none'}")


if __name__ == "__main__":
    main()
