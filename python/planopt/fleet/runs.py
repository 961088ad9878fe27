"""Clusters that train what a fleet trains, each in time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt.market import read_market
from planopt.options import Asked
from planopt.procurement.model import exact
from planopt.procurement.problem import Limits
from planopt.training.build import lay_clusters_out
from planopt.training.problem import TrainingProblem
from planopt.training.search import find_clusters

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from planopt.catalog.open import Catalog
    from planopt.documents.fleet_request import (
        Bought,
        FleetRequest,
        Owned,
        Rented,
        Training,
    )
    from planopt.documents.parts import BomLine
    from planopt.documents.training import TrainingDeployment


SECONDS_PER_HOUR = 3600


@dataclass(frozen=True)
class Run:
    """A cluster that trains a model in time."""

    deployment: TrainingDeployment
    """Layout, hardware, evaluation, parts."""
    accelerators: int
    hosts: int
    power_watts: float
    rack_units: float
    price_micro_usd: int
    run_seconds: float
    hours_of_a_period: Fraction
    """Hours that it is rented for in each period that the run may take."""

    @property
    def parts(self) -> tuple[BomLine, ...]:
        """Bill of materials of the cluster."""
        return self.deployment.bill_of_materials

    @property
    def hardware(self) -> tuple[object, ...]:
        """Hardware alone; it is that of a unit that serves, if that has one host."""
        at = self.deployment.hardware
        return (
            self.deployment.candidate.accelerator,
            self.accelerators,
            at.host,
            self.hosts,
            at.network,
            at.nics_per_host,
            at.switch,
        )


def active_periods(request: FleetRequest, training: Training) -> range:
    """Periods from the start of a run to its deadline."""
    hours = training.deadline_seconds / SECONDS_PER_HOUR
    first = training.start - 1
    last = first + math.ceil(hours / request.period_hours)
    return range(first, min(last, request.periods))


def runs_of(
    catalog: Catalog,
    request: FleetRequest,
    training: Training,
    source: Bought | Owned | Rented,
) -> Iterator[Run]:
    """Find the clusters of a source that end a run before its deadline.

    What is owned or rented is used by single hosts: networks between them are not part
    of it.
    """
    if not hasattr(source, "host"):
        return  # the core does not train on instances yet
    network = getattr(source, "network", None)
    options = {
        "model": training.model,
        "tokens": training.tokens,
        "deadline": training.deadline_seconds,
        "seq_len": training.seq_len,
        "global_batch": training.global_batch,
        "accelerators": source.accelerator,
        "host": source.host,
        "network": network,
        "assumptions": request.assumptions,
    }
    problem = read_market(Asked("train", options), catalog, TrainingProblem)
    clusters = find_clusters(catalog, problem)
    periods = max(1, len(active_periods(request, training)))
    listed = clusters.runs()
    rows = [
        row
        for row, hosts in enumerate(listed.hosts)
        if hosts == 1 or network is not None or hasattr(source, "stock")
    ]
    built = lay_clusters_out(clusters, Limits(users=1), rows)
    for row, build in zip(rows, built, strict=True):
        hours = exact(listed.run_seconds[row]) / SECONDS_PER_HOUR
        yield Run(
            deployment=build.deployment,
            accelerators=listed.accelerators[row],
            hosts=listed.hosts[row],
            power_watts=listed.power_watts[row],
            rack_units=listed.rack_units[row],
            price_micro_usd=listed.price_micro_usd[row],
            run_seconds=listed.run_seconds[row],
            hours_of_a_period=hours / periods,
        )
