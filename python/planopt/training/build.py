"""A cluster that is bought, with the run on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from planopt.bill import bom_line, hardware_of
from planopt.documents.training import TrainingDeployment
from planopt.price_sources import sourced
from planopt.training.evaluate import candidate_of, evaluation_of, with_intervals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.catalog.open import Catalog
    from planopt.documents.parts import BomLine
    from planopt.documents.training import TrainingEvaluation
    from planopt.training.problem import TrainingProblem

__all__ = ["TrainingBuild", "build_cluster"]


MICRO_USD_DIGITS = 6
"""Prices are whole micro-dollars."""


@dataclass(frozen=True)
class TrainingBuild:
    """A cluster, laid out."""

    deployment: TrainingDeployment

    @property
    def evaluation(self) -> TrainingEvaluation:
        """What the run does on it."""
        return self.deployment.evaluation

    @property
    def bill_of_materials(self) -> tuple[BomLine, ...]:
        """Everything that is bought."""
        return self.deployment.bill_of_materials

    @property
    def rented(self) -> bool:
        """Whether it is rented for the run."""
        return self.deployment.hardware.terms is not None

    @property
    def price_usd(self) -> float:
        """Price of everything; of what is rented, for the whole run."""
        evaluation = self.evaluation
        if self.rented:
            return round(evaluation.run.usd or 0.0, MICRO_USD_DIGITS)
        return evaluation.cost.price_usd or 0.0

    @property
    def days(self) -> float:
        """Days of the run, failures included."""
        return self.evaluation.days or 0.0

    @property
    def summary(self) -> str:
        """The cluster in a line: accelerators, hosts, network, layout."""
        candidate, hardware = self.deployment.candidate, self.deployment.hardware
        parts = {line.kind: line for line in self.bill_of_materials}
        cards = parts.get("accelerator")
        hosts = parts["instance" if self.rented else "host"]
        what = f"{hosts.quantity:,}x {hosts.name}"
        if cards is not None:  # A complete machine brings its own.
            what = f"{cards.quantity:,}x {cards.name} in {what}"
        over = ""
        if hardware.network is not None and not self.rented:
            over = f", {hardware.nics_per_host}x {hardware.network}"
        degrees = f"TP{candidate.tp} x PP{candidate.pp} x DP{candidate.dp}"
        return f"{what}{over}, {degrees}, {candidate.shard}"


def build_cluster(
    catalog: Catalog, problem: TrainingProblem, layout: Mapping[str, Any]
) -> TrainingBuild:
    """Evaluate a run on a cluster in full."""
    request = {**problem.run(), **layout}
    answer = catalog.ask("evaluate_training", request)
    hardware = hardware_of(answer)
    if "terms" in layout:
        hardware = replace(hardware, terms=layout["terms"], goodput=1.0)
    return TrainingBuild(
        TrainingDeployment(
            model=problem.model,
            candidate=candidate_of(request, answer),
            hardware=hardware,
            evaluation=with_intervals(catalog, evaluation_of(answer), request),
            bill_of_materials=sourced(
                catalog, map(bom_line, answer["bill_of_materials"])
            ),
        )
    )
