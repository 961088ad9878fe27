"""Clusters that are bought, with the run on each, as the core lays them out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct

from planopt._native import lay_out as native_lay_out
from planopt.documents.parts import BomLine
from planopt.documents.training import TrainingDeployment, TrainingEvaluation
from planopt.procurement.problem import Broken, Found, Limits

MICRO_USD_DIGITS = 6
"""Prices are whole micro-dollars."""


class TrainingBuild(Struct, frozen=True, kw_only=True):
    """A cluster, laid out."""

    deployment: TrainingDeployment
    summary: str
    """The cluster in a line: accelerators, hosts, network, layout."""
    broken: tuple[Broken, ...] = ()
    """Limits that it breaks."""
    networks_beside: tuple[tuple[str, ...], ...]
    """Networks one step slower and one step faster than its own."""

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


_BUILDS: Final = msgspec.json.Decoder(tuple[TrainingBuild, ...])


def lay_clusters_out(
    found: Found, limits: Limits, rows: Iterable[int]
) -> tuple[TrainingBuild, ...]:
    """Lay a run out on each of some clusters."""
    asked = {
        "purchases": [{"counts": {row: 1}} for row in rows],
        "limits": limits,
    }
    (response,) = native_lay_out([(found.native, msgspec.json.encode(asked))])
    return _BUILDS.decode(response)
