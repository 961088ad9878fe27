"""One run over all accelerators that are there, of several kinds, beside the plan."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from planopt.options import Edit
from planopt.planning.alternatives import training_alternative
from planopt.training.evaluate import Both
from planopt.units import SECONDS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt.documents.explanations import TrainingAlternative
    from planopt.documents.training import TrainingDocument
    from planopt.planning.question import TrainingQuestion
    from planopt.training.problem import TrainingProblem

WAYS: Final = {
    "slowest": "evenly partitioned, at the pace of the slowest",
    "balanced": "stages balanced by speed",
}
LARGEST_TENSOR: Final = 8
MICRO_BATCHES: Final = (1, 2, 4)
RECOMPUTES: Final = ("none", "full")
SHARDINGS: Final = ("zero1", "zero3")


def heterogeneous(question: TrainingQuestion) -> tuple[TrainingAlternative, ...]:
    """Find the fastest layout of each way to share a run among several kinds.

    Asked where every kind is given with its number. All hosts are on the network of the
    fastest cluster of one kind. The hardware is the same whatever the layout: so the
    fastest is the cheapest.
    """
    problem = question.problem
    if len(question.kinds) < 2 or problem.rented:
        return ()
    fastest = Edit({"deadline": "", "objective": "throughput"})
    of_one_kind = question.edited(fastest).best()
    hardware = None if of_one_kind is None else of_one_kind.deployment.hardware
    if hardware is None or hardware.network is None:
        return ()
    shares = [
        {"accelerator": name, "accelerators": number}
        for name, number in question.kinds.items()
    ]
    network = hardware.network
    over = {"hardware": {"network": network}, "shares": shares}
    best: dict[str, tuple[Mapping[str, object], TrainingDocument]] = {}
    for layout in _layouts(question):
        run = {**problem.run, **over, "layout": layout}
        both = question.catalog.ask("evaluate_mixed", run, Both)
        for way, answer in (("slowest", both.slowest), ("balanced", both.balanced)):
            days = best[way][1].days if way in best else None
            if answer.feasible and (days is None or (answer.days or 0.0) < days):
                best[way] = (layout, answer)
    return tuple(
        _alternative(question, way, network, *best[way]) for way in WAYS if way in best
    )


def _layouts(question: TrainingQuestion) -> Iterator[dict[str, object]]:
    """List the layouts of all accelerators together."""
    everything = sum(question.kinds.values())
    degrees = [each for each in range(1, everything + 1) if everything % each == 0]
    tensor = [each for each in degrees if each <= LARGEST_TENSOR]
    for tp, pp, micro_batch in product(tensor, degrees, MICRO_BATCHES):
        dp = everything // (tp * pp)
        if everything % (tp * pp) or question.problem.global_batch % (dp * micro_batch):
            continue
        shardings = SHARDINGS if dp > 1 else ("none",)
        for shard, recompute in product(shardings, RECOMPUTES):
            yield {
                "tp": tp,
                "sequence_parallel": tp > 1,
                "pp": pp,
                "dp": dp,
                "micro_batch": micro_batch,
                "shard": shard,
                "recompute": recompute,
            }


def _alternative(
    question: TrainingQuestion,
    way: str,
    network: str,
    layout: Mapping[str, object],
    evaluation: TrainingDocument,
) -> TrainingAlternative:
    kinds = " + ".join(f"{number:,}x {name}" for name, number in question.kinds.items())
    degrees = "TP{tp} x PP{pp} x DP{dp}, {shard}".format_map(layout)
    price = evaluation.cost.price_usd
    return training_alternative(
        evaluation,
        evaluation,
        f"{kinds} over {network}, {degrees}, {WAYS[way]}",
        _verdict(question.problem, evaluation.days, price),
        price,
    )


def _verdict(problem: TrainingProblem, days: float | None, price: float | None) -> str:
    """Say which of the limits it would keep."""
    said = []
    deadline = problem.deadline_seconds
    if deadline is not None and days is not None:
        in_time = days * SECONDS_PER_DAY <= deadline
        said.append("in time" if in_time else "too late")
    if problem.budget_usd is not None and price is not None:
        said.append("within budget" if price <= problem.budget_usd else "too dear")
    return ", ".join(said)
