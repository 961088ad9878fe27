"""Small catalogs enumerated: every layout is run, every purchase of them is tried.

One host, one or two accelerators. Each layout of a replica gets two rates by
simulation, the largest that is decided good and the smallest that is decided late; all
purchases at either are priced, and two pools within a host are run as a whole. What
`solve` buys must cost no more than the cheapest purchase at the former, and no less
than at the latter.
"""

from __future__ import annotations

import argparse
import math
import random
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from msgspec.structs import replace

from planopt.catalog.open import open_catalog
from planopt.documents.evaluation import EvaluationDocument
from planopt.loads import Arrivals
from planopt.planning.pipeline import Serving, answered
from planopt.procurement.solver import Solver
from planopt.serving.load import Trial, Tried
from planopt_studies.sixty import spoken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planopt.catalog.open import Catalog
    from planopt.serving.question_types import Problem

CATALOGS: Final = 200
HOST, SLOTS = "pcie-4gpu", 4
CARDS: Final = ("l40s", "rtx-4090", "rtx-5090", "r9700", "rx-7900-xtx", "rtx-6000-ada")
MODELS: Final = ("llama-3.1-8b", "qwen2.5-7b", "llama-2-7b")
LOOKS: Final = ((8_000, 41), (16_000, 42))
"""Requests and seed of each look at a rate; both must agree."""
NARROW: Final = 1.03
SIGMA: Final = 2.0
ONE_SIDED: Final = 1.645
ROUNDING: Final = 1e-3
ROUNDING_USD: Final = 1.0


class Column(NamedTuple):
    """Replicas in a host: what they cost, and what they carry at least and at most."""

    price: float
    good: float
    late: float


class Bounds(NamedTuple):
    """What the cheapest purchases cost."""

    at_late: float
    at_good: float


def question(seed: int) -> str:
    """Draw a question that has few answers."""
    draw = random.Random(seed)
    cards = ",".join(sorted(draw.sample(CARDS, draw.randint(1, 2))))
    lengths = f"--isl {draw.choice((200, 800, 2000))} --osl {draw.choice((100, 300))}"
    return (
        f"solve --model {draw.choice(MODELS)} --accelerators {cards} --host {HOST} "
        f"--request-rate {draw.choice((1, 3, 8))}/s {lengths} "
        f"--ttft {draw.choice(('500ms', '1s', '3s'))} "
        f"--target {draw.choice((10, 20, 30))}tok/s --time-limit 120s"
    )


class Enumeration:
    """All purchases for a question."""

    def __init__(self, command: str) -> None:
        with Solver() as solver:
            catalog = open_catalog()
            read = Serving().read(spoken(command), catalog, solver)
        self.problem: Problem = read.problem
        self.catalog: Catalog = self.problem.counted(catalog)
        self.rate = self.problem.requests_per_second or 0.0
        self.late = 1 - float((self.problem.percentile or "p95")[1:]) / 100

    def bounds(self) -> Bounds:
        """Price every purchase, at the rates that are late and those that are good."""
        columns = [
            column
            for card in self.problem.accelerators
            for layout in _layouts()
            for column in self._columns(card, layout)
        ]
        two = [*self._two_pools()]
        at_late = cheapest([(each.price, each.late) for each in columns], self.rate)
        at_good = cheapest([(each.price, each.good) for each in columns], self.rate)
        held = [price for price, verdict in two if verdict == "good"]
        open_ = [price for price, verdict in two if verdict == "open"]
        return Bounds(min([at_late, *held, *open_]), min([at_good, *held]))

    def _columns(self, card: str, layout: Mapping[str, int]) -> Iterator[Column]:
        size = layout["tp"] * layout["pp"]
        alone = self._evaluated(card, layout, 1)
        if not alone.feasible:
            return
        good, late = self._rates(self._configured(card, layout, 1))
        for replicas in range(1, SLOTS // size + 1):
            price = self._evaluated(card, layout, replicas).cost.price_usd
            if price is not None:
                yield Column(price, good * replicas, late * replicas)

    def _configured(
        self, card: str, layout: Mapping[str, int], replicas: int
    ) -> dict[str, object]:
        served = self.problem.judged
        return {
            **served,
            "model": {**self.problem.asked["model"], "weights": self.problem.weights},
            "hardware": {"accelerator": card, "host": HOST},
            "layout": {**layout, "in_flight": layout["pp"], "replicas": replicas},
        }

    def _evaluated(
        self, card: str, layout: Mapping[str, int], replicas: int
    ) -> EvaluationDocument:
        asked = self._configured(card, layout, replicas)
        return self.catalog.ask("evaluate_serving", asked, EvaluationDocument)

    def _rates(self, configuration: Mapping[str, object]) -> tuple[float, float]:
        """Return the largest rate that is good, and the smallest that is late."""
        good, late, rate = 0.0, math.inf, self.rate
        while late > NARROW * good and rate > self.rate / 64:
            verdict = self._judged(configuration, rate)
            if verdict == "open":
                # Nothing near it is told either: the bracket stays as wide as it is.
                late = min(late, self._next_late(configuration, rate))
                break
            good, late = (rate, late) if verdict == "good" else (good, rate)
            if good >= self.rate:
                break
            rate = math.sqrt(good * late) if good else late / 2
            rate = min(rate, self.rate)
        return good, late

    def _next_late(self, configuration: Mapping[str, object], rate: float) -> float:
        while rate < 2 * self.rate:
            rate *= NARROW
            if self._judged(configuration, rate) == "late":
                return rate
        return math.inf

    def _judged(self, configuration: Mapping[str, object], rate: float) -> str:
        said = set()
        for requests, seed in LOOKS:
            said.add(self._look(configuration, rate, requests, seed))
        return said.pop() if len(said) == 1 else "open"

    def _look(
        self, configuration: Mapping[str, object], rate: float, requests: int, seed: int
    ) -> str:
        load = self.problem.whole_load
        assert load is not None
        # So many get requests in turn: they reach each more evenly than they come.
        copies = max(1, int(self.rate / rate + ROUNDING))
        came = Arrivals(kind="poisson", per_second=rate * copies)
        layout = cast("dict[str, int]", configuration["layout"])
        many = {**layout, "replicas": layout["replicas"] * copies}
        own = {"layout": many, "scheduler": self.problem.asked["scheduler"]}
        tried = Tried({**configuration, **own}, replace(load, arrivals=came))
        report = Trial(requests, seed).of(self.catalog, self.problem, tried)
        if report is None or report.overloaded or report.slo_violation is None:
            return "late"
        found = "good"
        for share in (report.slo_violation.ttft, report.slo_violation.tpot):
            error = (share.at_most - share.mean) / ONE_SIDED
            if share.mean - SIGMA * error > self.late:
                return "late"
            if share.mean + SIGMA * error > self.late:
                found = "open"
        return found

    def _two_pools(self) -> Iterator[tuple[float, str]]:
        """Price two pools within a host, and judge whether they carry the load."""
        for card, one, other in product(
            self.problem.accelerators, _layouts(), _layouts()
        ):
            sizes = [each["tp"] * each["pp"] for each in (one, other)]
            for reads in range(1, SLOTS // sizes[0] + 1):
                most = (SLOTS - reads * sizes[0]) // sizes[1]
                for answers in range(1, most + 1):
                    used = reads * sizes[0] + answers * sizes[1]
                    alone = {"tp": 1, "pp": 1}
                    price = self._evaluated(card, alone, used).cost.price_usd
                    if price is None or not self._evaluated(card, one, 1).feasible:
                        continue
                    both = {
                        **self._configured(card, one, reads),
                        "decode": {
                            **self._configured(card, other, answers),
                            "scheduler": self.problem.asked["scheduler"],
                        },
                    }
                    yield price, self._judged(both, self.rate)


def _layouts() -> list[dict[str, int]]:
    degrees = (1, 2, 4)
    return [
        {"tp": tp, "pp": pp} for tp in degrees for pp in degrees if tp * pp <= SLOTS
    ]


def cheapest(columns: Sequence[tuple[float, float]], demand: float) -> float:
    """Price the cheapest counts of columns whose rates come to the demand."""
    if not columns:
        return math.inf
    (price, rate), others = columns[0], columns[1:]
    best = cheapest(others, demand) if demand > 0 else 0.0
    copies = 1
    while rate > 0 and copies * price < best:
        left = demand - copies * rate
        rest = cheapest(others, left) if left > demand * 1e-9 else 0.0
        best = min(best, copies * price + rest)
        if left <= 0:
            break
        copies += 1
    return best


def main() -> None:
    """Enumerate catalogs, and print a line for each."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--catalogs", type=int, default=CATALOGS)
    read.add_argument("--first", type=int, default=0)
    told = read.parse_args()
    within = equal = 0
    for seed in range(told.first, told.first + told.catalogs):
        command = question(seed)
        plan = answered(Serving(), spoken(command))
        bounds = Enumeration(command).bounds()
        price = math.inf if plan.price_usd is None else plan.price_usd
        holds = bounds.at_late - ROUNDING_USD <= price <= bounds.at_good + ROUNDING_USD
        holds |= price == bounds.at_late == math.inf
        within += holds
        equal += abs(price - bounds.at_good) <= ROUNDING_USD
        print(
            f"{seed:3} {'ok ' if holds else 'OFF'} {plan.status:10} {price:12,.0f} "
            f"{bounds.at_late:12,.0f} {bounds.at_good:12,.0f}  {command}",
            flush=True,
        )
    print(f"{within} of {told.catalogs} within both, {equal} equal to the latter")


if __name__ == "__main__":
    main()
