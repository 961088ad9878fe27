"""What hardware can do for each demand: units of the search, with what they serve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from planopt.documents.fleet_request import Rented
from planopt.market import read_market
from planopt.options import Asked
from planopt.procurement import Limits
from planopt.serving.build import lay_out
from planopt.serving.question_types import Problem
from planopt.serving.search import find_units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.catalog.open import Catalog
    from planopt.documents.evaluation import Deployment
    from planopt.documents.fleet_request import (
        Bought,
        FleetRequest,
        Owned,
        Size,
        Workload,
    )
    from planopt.documents.parts import BomLine
    from planopt.procurement.found import Listed


UTILISATION = 0.8
"""Share of what a replica can do that is asked of it at the peak, unless said: queues
grow without bound as it nears 1."""


@dataclass(frozen=True)
class Served:
    """A unit of hardware with a model on it."""

    deployment: Deployment  # One unit: layout, hardware, evaluation, parts
    # Of the unit.
    accelerators: int
    hosts: int
    # Of the unit with all its replicas at work.
    power_watts: float
    rack_units: float
    price_micro_usd: int  # To buy it
    requests_per_second: float  # What it serves at full load

    @property
    def hardware(self) -> tuple[object, ...]:
        """Hardware alone: units that share it can take each other's place."""
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

    @property
    def parts(self) -> tuple[BomLine, ...]:
        """Bill of materials of one unit."""
        return self.deployment.bill_of_materials


def requests_per_second(
    replicas: int, prefill_seconds: float, output: int, tokens_per_second: float
) -> float:
    """Count the requests that replicas finish in a second at full load.

    A request keeps a replica from all others while its prompt is read, and takes the
    share ``1 / (batch * in flight)`` of it while its answer is written.
    """
    return replicas / (prefill_seconds + output / tokens_per_second)


def units_of(
    catalog: Catalog,
    request: FleetRequest,
    workload: Workload,
    size: Size,
    source: Bought | Owned | Rented,
) -> Iterator[Served]:
    """Find the units of a source that keep the promise for requests of a size."""
    promise = request.promise(workload.promise)
    options = {
        "model": workload.model,
        "weights": workload.weights,
        "target": promise.target,
        "ttft": promise.ttft_seconds,
        "prompt": size.prompt,
        "output": size.output,
        "users": 1,
        "throughput": 1.0,  # so that each unit runs the batch that it was found with
        "accelerators": source.accelerator,
        "assumptions": request.assumptions,
        "top": 1,
        **_where(source),
    }
    problem = read_market(Asked("solve", options), catalog, Problem)
    # Networks of one's own are part of what is bought, and of nothing else.
    within_host = getattr(source, "network", None) is None
    found = find_units(catalog, replace(problem, within_host=within_host))
    listed = found.listed()
    fitting = [row for row in range(len(found)) if _fits(source, listed, row)]
    each = getattr(source, "accelerators", None) or max(
        (listed.accelerators[row] // listed.hosts[row] for row in fitting), default=0
    )
    whole = [
        row for row in fitting if listed.accelerators[row] == each * listed.hosts[row]
    ]
    limits = Limits(users=0)
    builds = lay_out(found, problem, limits, [{row: 1} for row in whole])
    for row, build in zip(whole, builds, strict=True):
        (deployment,) = build.deployments
        evaluation = deployment.evaluation
        speed = evaluation.decode.tokens_per_second
        prefill = evaluation.prefill.seconds
        if not speed or prefill is None:
            continue
        lines = deployment.bill_of_materials
        yield Served(
            deployment=deployment,
            accelerators=listed.accelerators[row],
            hosts=listed.hosts[row],
            power_watts=listed.power_watts[row],
            rack_units=listed.rack_units[row],
            price_micro_usd=sum(
                round((line.price_usd or 0.0) * 10**6) for line in lines
            ),
            requests_per_second=requests_per_second(
                deployment.replicas, prefill, size.output, speed
            ),
        )


def _where(source: Bought | Owned | Rented) -> dict[str, Any]:
    """Options of a search that is about this source alone."""
    if not isinstance(source, Rented):
        network = getattr(source, "network", None)
        return {"host": source.host, **({"network": network} if network else {})}
    provider, _, region = source.offer.split("/")
    return {
        "acquire": "rent",
        "provider": provider,
        "region": region,
        "terms": source.terms,
    }


def _fits(source: Bought | Owned | Rented, listed: Listed, row: int) -> bool:
    """Tell whether a row of the search is of this source, and needs nothing else."""
    hosts = listed.hosts[row]
    if isinstance(source, Rented):
        return listed.host[row] == source.offer and hosts == 1
    network = getattr(source, "network", None)
    return hosts == 1 or bool(network and listed.network[row] == network)
