"""Random catalogs: whether another search finds a better purchase than `solve`.

Each overlay draws prices, memory, bandwidth and power of a few cards anew, and a small
question of steady steps. The other search knows nothing of fronts, bounds or
OR-Tools: every layout of every host is evaluated at every batch, and all purchases of
what they give are covered by a dynamic programme over users.

``--relaxed`` asks of the catalog as it is, against a programme that allows more:
replicas of other layouts and of other cards in one host, and switches for nothing.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import tempfile
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from planopt._native import parse_quantity
from planopt.catalog.open import bundled_folder, open_catalog
from planopt.documents.evaluation import EvaluationDocument
from planopt.errors import InputError
from planopt.planning.pipeline import Serving
from planopt.procurement.solver import Solver
from planopt_studies.sixty import spoken

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.catalog.open import Catalog
    from planopt.serving.question_types import Problem

OVERLAYS: Final = 1000
LATENCY: Final = 0.3
"""Share of the questions that ask for the most speed within a budget."""
CARDS: Final = ("rtx-4090", "rtx-5090", "l40s", "rtx-6000-ada", "r9700", "rtx-a6000")
HOSTS: Final = {"desktop": 1, "desktop-2gpu": 2, "pcie-4gpu": 4}
"""With their slots."""
MODELS: Final = ("llama-3.1-8b", "llama-2-13b", "qwen2.5-7b", "qwen3-32b")
NETWORK: Final = "ethernet-10g"
DEGREES: Final = (1, 2, 4)
DRAWN: Final = {
    "accelerators": ("memory", "memory_bandwidth", "power", "price"),
    "hosts": ("power", "price"),
}
"""Figures that an overlay draws anew, between half and twice what they are."""
RANGE: Final = re.compile(r', (low|high) = "[^"]*"')
ROUNDING_USD: Final = 1.0
NEAR_USD: Final = 2 * ROUNDING_USD
ALIKE: Final = 1e-9
NEAR: Final = 1e-6
WITHIN: Final = 0.005
"""Of what a relaxed programme finds."""


class Column(NamedTuple):
    """A host with replicas: its price, its users, and the speed of each."""

    price: float
    users: int
    speed: float
    hardware: tuple[str, str] = ("", "")
    """Card and host."""
    cards: int = 0
    """Of each replica."""
    copies: int = 0
    switches: float = 0.0
    """What of the price is for switches; 0 within a host."""
    joined: bool = False


def drawn(seed: int, folder: Path, *, anew: bool = True) -> str:
    """Write an overlay, and draw a question of it; or of the catalog as it is."""
    draw = random.Random(seed)
    cards = sorted(draw.sample(CARDS, draw.randint(2, 3)))
    hosts = sorted(draw.sample(sorted(HOSTS), draw.randint(1, 2)))
    for kind, names in (("accelerators", cards), ("hosts", hosts)):
        for name in names:
            _redrawn(draw, kind, name, folder)
    users = draw.choice((1, 2, 4, 8, 12, 16) if anew else (8, 16, 24, 32, 48))
    asked = (
        f"solve --model {draw.choice(MODELS)} --accelerators {','.join(cards)} "
        f"--host {','.join(hosts)} --network {NETWORK} --concurrency {users} "
        "--load steady --time-limit 60s"
    )
    if anew:
        asked += f" --catalog {folder}"
    if anew and draw.random() < LATENCY:
        budget = draw.choice((4_000, 8_000, 15_000, 30_000, 60_000))
        return f"{asked} --objective latency --budget {budget}"
    return f"{asked} --target {draw.choice((3, 5, 10, 20, 30, 50))}tok/s"


def _redrawn(draw: random.Random, kind: str, name: str, folder: Path) -> None:
    text = (bundled_folder() / kind / f"{name}.toml").read_text(encoding="utf-8")
    for field in DRAWN[kind]:
        times = math.exp(draw.uniform(-math.log(2), math.log(2)))
        before, figure, behind = re.split(
            rf'(?<=^{field} = {{ value = ")(\$?[\d.]+)', text, maxsplit=1, flags=re.M
        )
        money = "$" if figure.startswith("$") else ""
        drawn_anew = f"{money}{float(figure.removeprefix('$')) * times:.2f}"
        text = f"{before}{drawn_anew}{behind}"
    text = RANGE.sub("", text)
    path = folder / kind / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def columns(problem: Problem, catalog: Catalog) -> Iterator[Column]:
    """Evaluate every layout in every host, and in several, at every batch."""
    users = problem.concurrency
    places = product(problem.accelerators, problem.hosts, DEGREES, DEGREES)
    for card, host, tp, pp in places:
        slots = _held(catalog, card, host)
        joined = tp * pp > slots
        if not slots or tp > slots or (joined and pp % (tp * pp // slots)):
            continue
        hardware = {"accelerator": card, "host": host}
        if joined:
            hardware["network"] = NETWORK
        for copies in range(1, 2 if joined else slots // (tp * pp) + 1):
            for batch in range(1, -(-users // pp) + 1):
                asked = {
                    **problem.judged,
                    "model": {**problem.asked["model"], "weights": problem.weights},
                    "hardware": hardware,
                    "layout": {
                        "tp": tp,
                        "pp": pp,
                        "in_flight": pp,
                        "batch": batch,
                        "replicas": copies,
                    },
                }
                try:
                    found = catalog.ask("evaluate_serving", asked, EvaluationDocument)
                except InputError:
                    break
                if not found.feasible or found.cost.price_usd is None:
                    break
                speed = found.decode.tokens_per_second_per_user or 0.0
                bill = found.bill_of_materials
                switches = sum(
                    part.price_usd or 0 for part in bill if "switch" in part.kind
                )
                yield Column(
                    found.cost.price_usd,
                    batch * pp * copies,
                    speed,
                    (card, host),
                    tp * pp,
                    copies,
                    switches,
                    joined,
                )


def _held(catalog: Catalog, card: str, host: str) -> int:
    """Count the cards that a host has slots and power for."""

    def figure(kind: str, name: str, field: str, unit: str) -> float:
        text = catalog.text(kind, name, field)
        return math.inf if text is None else parse_quantity(text, unit)

    room = figure("hosts", host, "card_slots", "count")
    by_width = room / figure("accelerators", card, "slots", "count")
    supply = figure("hosts", host, "power_supply", "watts")
    left = supply - figure("hosts", host, "power", "watts")
    by_power = left / figure("accelerators", card, "power", "watts")
    return int(min(HOSTS[host], by_width, by_power))


def cheapest(of: Sequence[Column], users: int) -> float:
    """Price the cheapest counts of columns that have so many users."""
    best = [0.0, *[math.inf] * users]
    for have in range(1, users + 1):
        for each in of:
            rest = best[max(0, have - each.users)]
            best[have] = min(best[have], each.price + rest)
    return best[users]


def relaxed(every: Sequence[Column], users: int) -> float:
    """Price users where hosts hold any replicas of any cards, and switches are free."""
    hosts = {each.hardware[1] for each in every}
    whole = [
        each._replace(price=each.price - each.switches) for each in every if each.joined
    ]
    for host in hosts:
        alone = [e for e in every if e.hardware[1] == host and not e.joined]
        by_cards: dict[str, dict[int, float]] = {}
        for each in alone:
            used = by_cards.setdefault(each.hardware[0], {})
            used[each.cards * each.copies] = each.price
        if HOSTS[host] == 1 or any(len(used) < 2 for used in by_cards.values()):
            whole += alone
            continue
        items = []
        least = math.inf
        for card, used in by_cards.items():
            (few, low), *_, (many, high) = sorted(used.items())
            each_card = (high - low) / (many - few)
            least = min(least, low - few * each_card)
            items += [
                (e.cards, e.users // e.copies, e.cards * each_card)
                for e in alone
                if e.hardware[0] == card
            ]
        # best[slots][users]: the cheapest cards in so many slots.
        best = [[0.0, *[math.inf] * users] for _ in range(HOSTS[host] + 1)]
        for slots, have in product(range(1, HOSTS[host] + 1), range(1, users + 1)):
            best[slots][have] = min(
                [best[slots - 1][have]]
                + [
                    price + best[slots - cards][max(0, have - more)]
                    for cards, more, price in items
                    if cards <= slots
                ]
            )
        whole += [
            Column(least + best[-1][have], have, math.inf)
            for have in range(1, users + 1)
            if math.isfinite(best[-1][have])
        ]
    return cheapest(whole, users)


def better(problem: Problem, every: Sequence[Column], answer: float | None) -> bool:
    """Say whether a purchase is better than the answer: cheaper, or faster."""
    users = problem.concurrency
    if problem.objective != "latency":
        fast = [each for each in every if each.speed >= problem.target]
        found = cheapest(fast, users)
        return found < (math.inf if answer is None else answer - ROUNDING_USD)
    budget = problem.budget_usd or math.inf
    least = 0.0 if answer is None else answer * (1 + ALIKE)
    faster = [each for each in every if each.speed > least]
    return cheapest(faster, users) <= budget


def gap(seed: int) -> tuple[float, str]:
    """Say how much dearer an answer is than what a relaxed programme finds."""
    with tempfile.TemporaryDirectory() as folder, Solver() as solver:
        command = drawn(seed, Path(folder), anew=False)
        subject, opened = Serving(), open_catalog()
        question = subject.read(spoken(command), opened, solver)
        settled = subject.settled(question, question.buy())
        problem = question.problem
        every = [
            each
            for each in columns(problem, problem.counted(opened))
            if each.speed >= problem.target
        ]
    bound = relaxed(every, problem.concurrency)
    price = math.inf if settled is None else settled[2].price_usd
    return (0.0 if price == bound else price / bound - 1), command


def judged(seed: int) -> tuple[str, str, float | None, str]:
    """Answer a question of an overlay twice: verdict, status, answer and command."""
    with tempfile.TemporaryDirectory() as folder, Solver() as solver:
        command = drawn(seed, Path(folder))
        subject, opened = Serving(), open_catalog([folder])
        question = subject.read(spoken(command), opened, solver)
        purchase = question.buy()
        settled = subject.settled(question, purchase)
        problem = question.problem
        answer, fastest = None, problem.objective == "latency"
        if settled is not None:
            build = settled[2]
            answer = build.tokens_per_second_per_user if fastest else build.price_usd
        every = list(columns(problem, problem.counted(opened)))
        found = better(problem, every, answer)
        # What is a little worse than the answer is found by the other search as well.
        worse = (
            answer and answer * (1 - NEAR) if fastest else answer and answer + NEAR_USD
        )
        same = worse is not None and better(problem, every, worse)
    if found:
        verdict = "WORSE" if answer is not None else "FALSE"
    else:
        verdict = "equal" if same else "ok"
    return verdict, purchase.status, answer, command


def main() -> None:
    """Print what was beaten, and how many were not."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--overlays", type=int, default=OVERLAYS)
    read.add_argument("--first", type=int, default=0)
    read.add_argument("--relaxed", action="store_true")
    told = read.parse_args()
    if told.relaxed:
        gaps = [gap(told.first + seed) for seed in range(told.overlays)]
        for seed, (more, command) in enumerate(gaps, told.first):
            print(f"{seed:4} {more:8.3%} {command}")
        near = sum(more <= WITHIN for more, _ in gaps)
        print(f"{near} of {len(gaps)} within {WITHIN:.1%}")
        return
    counts: dict[str, int] = {}
    fastest = 0
    for seed in range(told.first, told.first + told.overlays):
        verdict, status, answer, command = judged(seed)
        fastest += "latency" in command
        for each in (verdict, status):
            counts[each] = counts.get(each, 0) + 1
        if verdict in ("WORSE", "FALSE"):
            print(seed, verdict, status, answer, command, flush=True)
    print(f"{told.overlays} overlays, {fastest} of them for speed: {counts}")


if __name__ == "__main__":
    main()
