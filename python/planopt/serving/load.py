"""A load on a configuration: what is promised, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from planopt.catalog.open import Catalog
from planopt.documents.evaluation import (
    Deployment,
    EvaluationDocument,
    Pool,
    ServingEvaluation,
    Transfer,
)
from planopt.documents.parts import Candidate, Cost
from planopt.door import question, written
from planopt.errors import InputError
from planopt.loads import Arrivals, Latencies, Load, Run, outcome, request
from planopt.serving.question_types import Problem

REQUESTS = 2000
"""Requests that are measured: the 95th percentile stands on a hundred of them."""
MEASURED_TO_WARM_UP = 5
"""Requests that are measured for each that is served before."""
ROUNDS_OF_USERS = 10
"""Questions of each user that are measured, if that is more."""
TURNS = 20_000
"""Turns of sessions that are measured: what must be many is ended sessions, whose lives
and pauses have long tails."""
TURNS_OF_EACH = 100
"""The same of each of many sessions."""
AS_MUCH: Final = ("throughput", "cost-per-token")
"""Objectives that fill what is bought, however many ask."""
SIMULATE: Final = "simulate_serving"
ONE_REQUEST: Final = Run(requests=1)
"""The closed form asks for no more."""


def simulated(
    catalog: Catalog, configuration: Mapping[str, object], load: Load
) -> Latencies | None:
    """Simulate a load on a configuration; none if the configuration does not work."""
    return outcome(catalog, SIMULATE, configuration, load, run_of(load)).report


def run_of(load: Load, requests: int = REQUESTS) -> Run:
    """Say how long a load is simulated: a trace as it is, others until steady."""
    if load.arrivals.seconds is not None:
        return Run(requests=len(load.arrivals.seconds), doors_close=True)
    users = load.arrivals.users or 0
    if load.sessions is not None:
        turns = max(TURNS, TURNS_OF_EACH * users)
        return Run(requests=turns, warm_up=turns // MEASURED_TO_WARM_UP)
    return Run(
        requests=max(requests, ROUNDS_OF_USERS * users),
        warm_up=max(requests // MEASURED_TO_WARM_UP, 2 * users),
    )


def estimated(
    catalog: Catalog, configuration: Mapping[str, object], load: Load
) -> Latencies | None:
    """Estimate the same by the closed form; none if it cannot keep up either."""
    door = "estimate_serving"
    return outcome(catalog, door, configuration, load, ONE_REQUEST).report


def promised(problem: Problem) -> dict[str, Any]:
    """Say what users are promised: under a load, where latencies are judged there."""
    ttft, target = problem.ttft_seconds, problem.target
    promises: dict[str, object] = {
        "users": problem.concurrency,
        "tokens_per_second": problem.throughput,
        "tokens_per_second_per_user": target,
        "prefill_seconds": ttft,
        "redundancy": problem.redundancy,
    }
    if problem.percentile is None:
        return {"promises": promises}
    promises |= {
        "percentile": problem.percentile,
        "ttft_seconds": None if ttft is None else ttft * problem.ttft_margin,
        "tpot_seconds": problem.tpot_margin / target if target else None,
    }
    scheduler = problem.asked["scheduler"]
    load = msgspec.to_builtins(problem.whole_load)
    return {"promises": promises, "load": load, "scheduler": scheduler}


def configuration_of(problem: Problem, deployment: Deployment) -> dict[str, object]:
    """Put a deployment of a plan as the core evaluates it."""
    candidate, hardware = deployment.candidate, deployment.hardware
    if deployment.chain:
        return _configuration_of_chain(problem, deployment)
    formats = {"weights": candidate.weights, "kv": candidate.kv}
    layout = {"in_flight": candidate.in_flight, "replicas": deployment.replicas}
    return {
        **problem.served,
        "model": {**problem.asked["model"], **formats},
        "hardware": {
            "accelerator": candidate.accelerator,
            "host": hardware.host,
            "terms": hardware.terms,
            "network": hardware.network,
            "nics_per_host": hardware.nics_per_host or None,
        },
        "layout": {**degrees(candidate), **layout},
    }


def _configuration_of_chain(
    problem: Problem, deployment: Deployment
) -> dict[str, object]:
    """Put a chain of unlike cards so: machines of each kind, and who holds what."""
    candidate, cards = deployment.candidate, deployment.cards
    network, host = deployment.hardware.network, deployment.hardware.host
    stages = [(cards.index(each.accelerator), each.layers) for each in deployment.chain]
    machines = [
        {
            "id": card,
            "machines": deployment.replicas * sum(kind == place for kind, _ in stages),
            "accelerators": 1,
            "network": network or host,
            "in_one_host": network is None,
        }
        for place, card in enumerate(cards)
    ]
    formats = {"weights": candidate.weights, "kv": candidate.kv}
    cut = {"stages": stages, "chains": deployment.replicas}
    return {
        **problem.served,
        "model": {**problem.asked["model"], **formats},
        "hardware": {},
        "chain": {"machines": machines, **cut},
    }


def degrees(candidate: Candidate) -> dict[str, object]:
    """Name the degrees of a candidate, and its batch, as the core takes them."""
    names = ("tp", "cp", "dp", "ep", "pp", "batch")
    return {name: getattr(candidate, name) for name in names}


class Tried(NamedTuple):
    """A configuration with its scheduler, and what of a question's load comes to it."""

    configuration: dict[str, object]
    load: Load


class Trial(NamedTuple):
    """How the load of a question is tried on what is bought for it."""

    requests: int = REQUESTS
    seed: int = 0
    prefix_hit_rate: float | None = None
    """What of prompts is found, where that is not as the question says."""

    def of(
        self, catalog: Catalog, problem: Problem, tried: Tried | None
    ) -> Latencies | None:
        """Simulate it, and tell how many requests kept what is promised.

        None where there is no load, or the configuration does not work.
        """
        if tried is None:
            return None
        configuration, load = tried
        if self.prefix_hit_rate is not None:
            load = replace(load, prefix_hit_rate=self.prefix_hit_rate)
        run = self.run(problem, load)
        return outcome(catalog, SIMULATE, configuration, load, run).report

    def run(self, problem: Problem, load: Load) -> Run:
        """Say how long it is simulated, and what is promised."""
        return replace(
            run_of(load, self.requests),
            seed=self.seed,
            ttft_seconds=problem.ttft_seconds,
            tpot_seconds=1 / problem.target if problem.target else None,
            at=problem.percentile,
        )


USUAL: Final = Trial()


def held_to(
    catalog: Catalog,
    problem: Problem,
    tried: Iterable[Tried],
    accelerator: str,
    slower: Sequence[float],
    seconds: float,
) -> int | None:
    """Count how many times longer steps may be, of some, until a promise is broken.

    None where some seconds do not tell.
    """
    runs = [
        question(SIMULATE, request(*each, USUAL.run(problem, each.load)))
        for each in tried
    ]
    longer = {"accelerator": accelerator, "slower": slower, "seconds": seconds}
    return catalog.native.held_to(written({"runs": runs, **longer}))


def of_deployment(
    problem: Problem, deployment: Deployment, share: float
) -> Tried | None:
    """Put a share of a question's load on a deployment.

    Where as much as possible is asked for, or so many tokens per second, that is all
    the users whom it has room for.
    """
    load = problem.whole_load
    if load is None:
        return None
    as_much = problem.objective in AS_MUCH
    if load.arrivals.users and (as_much or problem.throughput):
        load = load.of_users(deployment.users)
    else:
        load = load.shared(share)
    return Tried(_judged(problem, deployment), load)


def _judged(problem: Problem, deployment: Deployment) -> dict[str, object]:
    """Put a deployment as its load is simulated."""
    return {
        **configuration_of(problem, deployment),
        "engine": problem.judged["engine"],
        "scheduler": problem.asked["scheduler"],
    }


class _Pools(Protocol):
    """Two pools as they are bought, with what both have room for and carry."""

    @property
    def deployments(self) -> tuple[Deployment, ...]: ...
    @property
    def transfer(self) -> Transfer | None: ...
    @property
    def users(self) -> int: ...
    @property
    def requests_per_second(self) -> float | None: ...


def of_pools(problem: Problem, bought: _Pools) -> Tried | None:
    """Put the load of a question on two pools, as a whole.

    As many users as both have room for where as much as possible is asked for; so many
    tokens per second come at the rate that they carry.
    """
    load = problem.whole_load
    if load is None or bought.transfer is None:
        return None
    if load.arrivals.users and problem.throughput:
        per_second = bought.requests_per_second
        load = replace(load, arrivals=Arrivals(kind="poisson", per_second=per_second))
    elif load.arrivals.users and problem.objective in AS_MUCH:
        load = load.of_users(bought.users)
    both = {each.role: _judged(problem, each) for each in bought.deployments}
    transfer = {
        "latency_seconds": bought.transfer.latency_seconds,
        "seconds_per_token": bought.transfer.seconds_per_token,
    }
    decode = {**both["decode"], "transfer": transfer}
    return Tried({**both["prefill"], "decode": decode}, load)


@dataclass(frozen=True)
class Simulated:
    """What came of a load on both pools."""

    pool: Pool
    transfer: Transfer | None
    latencies: Latencies | None


def simulated_with(
    catalog: Catalog,
    scheduler: Mapping[str, object],
    prefill: Mapping[str, object],
    decode: Mapping[str, object],
    load: Load,
) -> Simulated:
    """Simulate a load on a pool that reads prompts and another one that answers."""
    alone = catalog.ask("evaluate_serving", prefill, EvaluationDocument)
    if not alone.feasible:
        why = "; ".join(each.message for each in alone.rejections)
        raise InputError.of(
            "E004",
            f"the pool that reads prompts does not work: {why}",
            field="--prefill-tp",
            accepted="degrees and an accelerator that hold the model",
        )
    own = {"scheduler": scheduler}
    both = {**prefill, **own, "decode": {**decode, **own}}
    found = outcome(catalog, SIMULATE, both, load, run_of(load))
    evaluation = msgspec.convert(alone, ServingEvaluation, from_attributes=True)
    pool = Pool(
        candidate=alone.candidate,
        host=alone.hardware.host or "",
        hosts=alone.hosts or 1,
        replicas=alone.replicas,
        evaluation=msgspec.structs.replace(evaluation, cost=Cost(), power_watts=None),
    )
    return Simulated(pool, found.transfer, found.report)
