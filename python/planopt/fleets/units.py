"""Units of hardware that meet a demand: what the searches of solve and train find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from planopt.documents.fleet_request import Bought, Owned, Rented, Size, Workload
from planopt.market import read_market
from planopt.options import Asked
from planopt.procurement.problem import Limits
from planopt.serving.build import lay_out_together
from planopt.serving.question_types import Problem
from planopt.serving.search import Aim, find_together
from planopt.training.build import lay_clusters_out
from planopt.training.problem import TrainingProblem, find_clusters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.catalog.open import Catalog
    from planopt.documents.evaluation import Deployment
    from planopt.documents.fleet_request import FleetRequest, Training
    from planopt.documents.training import TrainingDeployment
    from planopt.procurement.found import Listed
    from planopt.serving.build import Build

UTILISATION = 0.8
"""Share of what a replica can do that is asked of it at the peak, unless said: queues
grow without bound as it nears 1."""

Source = Bought | Owned | Rented


@dataclass(frozen=True)
class Unit:
    """Hosts with a model on them, all at work."""

    deployment: Deployment | TrainingDeployment
    """One unit: layout, hardware, evaluation, parts."""
    accelerators: int
    hosts: int
    power_watts: float
    rack_units: float
    price_micro_usd: int
    """To buy it."""
    requests_per_second: float = 0.0
    """What it serves at full load."""
    run_seconds: float = 0.0
    """Time of its run."""

    @classmethod
    def of(
        cls,
        listed: Listed,
        row: int,
        deployment: Deployment | TrainingDeployment,
        **does: float,
    ) -> Unit:
        """Take a row of what a search found, and what the unit does."""
        return cls(
            deployment=deployment,
            accelerators=listed.accelerators[row],
            hosts=listed.hosts[row],
            power_watts=listed.power_watts[row],
            rack_units=listed.rack_units[row],
            price_micro_usd=listed.price_micro_usd[row],
            **does,
        )

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


class Sought(NamedTuple):
    """Requests of a size, and what they may be served with."""

    workload: Workload
    size: Size
    source: Source

    @property
    def same(self) -> tuple[object, ...]:
        """What it shares with those that the same units are found for."""
        source = self.source
        where = [getattr(source, name, None) for name in ("offer", "host", "network")]
        of = self.workload.name, self.size.name, source.accelerator
        return *of, source.accelerators, *where


def serving_units(
    catalog: Catalog, request: FleetRequest, sought: Sequence[Sought]
) -> list[list[Unit]]:
    """Find the units that keep the promise for requests of a size, for each of some."""
    problems = [_serving_problem(catalog, request, each) for each in sought]
    found = find_together(catalog, [(problem, Aim()) for problem in problems])
    listed = [each.listed() for each in found]
    rows = [_whole(*each) for each in zip(sought, listed, strict=True)]
    ones = [[{row: 1} for row in each] for each in rows]
    limits = [Limits(users=0)] * len(found)
    laid = lay_out_together(list(zip(found, problems, limits, ones, strict=True)))
    return [
        list(_served(*each)) for each in zip(problems, listed, rows, laid, strict=True)
    ]


def _serving_problem(
    catalog: Catalog, request: FleetRequest, sought: Sought
) -> Problem:
    """Ask as solve does for the units of a source alone."""
    workload, size, source = sought
    promise = request.promise(workload.promise)
    options: dict[str, Any] = {
        "model": workload.model,
        "weights": workload.weights,
        "target": promise.target,
        "ttft": promise.ttft_seconds,
        "isl": size.prompt,
        "osl": size.output,
        "concurrency": 1,
        # A unit's rate is that of its steps, unless a first token is promised.
        "load": "steady" if promise.ttft_seconds is None else None,
        "throughput": 1.0,  # so that each unit runs the batch that it was found with
        "accelerators": source.accelerator,
        "assumptions": request.assumptions,
        "confidence": request.confidence,
        "top": 1,
    }
    if isinstance(source, Rented):
        provider, _, region = source.offer.split("/")
        where = {"provider": provider, "region": region, "billing": source.terms}
        options |= {"procurement": "rent", "provider_class": "any", **where}
    else:
        options["host"] = source.host
    network = _network(source)
    if network:
        options["network"] = network
    # Networks of one's own are part of what is bought, and of nothing else.
    problem = read_market(Asked("solve", options), catalog, Problem)
    return structs.replace(problem, within_host=network is None)


def _network(source: Source) -> str | None:
    return source.network if isinstance(source, Bought) else None


def _whole(sought: Sought, listed: Listed) -> list[int]:
    """Rows that are of a source, need nothing else, and have all its accelerators."""
    source = sought.source
    hosts, network = listed.hosts, _network(source)
    fitting = [
        row
        for row, host in enumerate(listed.host)
        if (hosts[row] == 1 or (network and listed.network[row] == network))
        and (not isinstance(source, Rented) or host == source.offer)
    ]
    each = source.accelerators or max(
        (listed.accelerators[row] // hosts[row] for row in fitting), default=0
    )
    return [row for row in fitting if listed.accelerators[row] == each * hosts[row]]


def _served(
    problem: Problem, listed: Listed, rows: Sequence[int], builds: Sequence[Build]
) -> Iterator[Unit]:
    """Tell what each unit serves at full load.

    A request keeps a replica from all others while its prompt is read, and takes the
    share ``1 / (batch * in flight)`` of it while its answer is written.
    """
    for row, build in zip(rows, builds, strict=True):
        (deployment,) = build.deployments
        speed = deployment.evaluation.decode.tokens_per_second
        prefill = deployment.evaluation.prefill.seconds
        if not speed or prefill is None:
            continue
        seconds = prefill + problem.output_tokens / speed
        longer = problem.slower.get(deployment.candidate.accelerator, 1.0)
        served = deployment.replicas / (seconds * longer)
        yield Unit.of(listed, row, deployment, requests_per_second=served)


def training_units(
    catalog: Catalog, request: FleetRequest, training: Training, source: Source
) -> Iterator[Unit]:
    """Find the clusters of a source that end a run before its deadline.

    What is owned is used by single hosts: networks between them are not part of it.
    """
    if isinstance(source, Rented):
        return  # the core does not train on instances yet
    options = {
        "model": training.model,
        "tokens": training.tokens,
        "deadline": training.deadline_seconds,
        "seq_len": training.seq_len,
        "global_batch": training.global_batch,
        "accelerators": source.accelerator,
        "host": source.host,
        "network": _network(source),
        "assumptions": request.assumptions,
        "confidence": request.confidence,
    }
    problem = read_market(Asked("train", options), catalog, TrainingProblem)
    clusters = find_clusters(catalog, problem)
    listed = clusters.runs()
    alone = isinstance(source, Owned)
    rows = [row for row, hosts in enumerate(listed.hosts) if hosts == 1 or not alone]
    built = lay_clusters_out(clusters, Limits(users=1), rows)
    for row, build in zip(rows, built, strict=True):
        seconds = listed.run_seconds[row]
        yield Unit.of(listed, row, build.deployment, run_seconds=seconds)
