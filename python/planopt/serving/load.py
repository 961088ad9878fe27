"""A load on a configuration: what arrives, what is promised, and what comes of it."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt.documents.evaluation import Percentiles, UnderLoad
from planopt.serving.question_types import PERCENTILES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.catalog.open import Catalog
    from planopt.documents.evaluation import Deployment
    from planopt.options import Asked
    from planopt.serving.question_types import Problem

LARGEST_COUNT = 2**31
LARGEST_QUANTITY = 1e12
"""Beyond any number of tokens, and any time of a trace."""
MOST_DIGITS = 20
"""Of a number of tokens: those of any 64-bit integer."""

REQUESTS = 2000
"""Requests that are measured: the 95th percentile stands on a hundred of them."""
MEASURED_TO_WARM_UP = 5
"""Requests that are measured for each that is served before."""
ONE_SIDED = 1.645
"""Standard errors above which a normal variable is in 5 % of cases."""
ROUNDS_OF_USERS = 10
"""Questions of each user that are measured, if that is more."""


@dataclass(frozen=True)
class Latencies:
    """What came of a load."""

    ttft_seconds: Percentiles
    tpot_seconds: Percentiles
    tokens_per_second: float
    requests_per_second: float
    users: int | None = None
    """Who each wait for their answer; none where requests come of their own accord."""
    goodput: float | None = None
    late_ttft: float | None = None
    late_tpot: float | None = None
    overloaded: bool = False
    simulated: bool = True

    @property
    def under_load(self) -> UnderLoad:
        """What it puts out meanwhile."""
        return UnderLoad(
            users=self.users,
            requests_per_second=self.requests_per_second,
            tokens_per_second=self.tokens_per_second,
            goodput=self.goodput,
            late_ttft=self.late_ttft,
            late_tpot=self.late_tpot,
            overloaded=self.overloaded,
            by="simulation" if self.simulated else "estimate",
        )


def read_traffic(asked: Asked) -> dict[str, Any] | None:
    """Read one's own traffic: a CSV with the columns ``prompt`` and ``output``.

    A column ``seconds`` says when each request arrived, in growing order.
    """
    if "traffic" not in asked.given:
        return None
    path = str(asked.given["traffic"])
    accepted = (
        "a CSV with the columns prompt and output, in tokens up to "
        f"{LARGEST_COUNT}, and seconds, in growing order up to {LARGEST_QUANTITY:g}"
    )
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            rows = _requests(csv.DictReader(file))
    except (OSError, ValueError, csv.Error) as error:
        asked.problem(
            "E002",
            f"cannot be read as traffic: {error}",
            option="traffic",
            value=path,
            accepted=accepted,
        )
        return None
    if not rows:
        asked.problem(
            "E002", "no requests in it", option="traffic", value=path, accepted=accepted
        )
        return None
    prompt, output = ([row[place] for row in rows] for place in (0, 1))
    seconds = [row[2] for row in rows if row[2] is not None]
    sizes = {"kind": "pairs", "prompt": prompt, "output": output}
    if len(seconds) < len(rows):
        return {"sizes": sizes}
    start = seconds[0]
    arrivals = {"kind": "trace", "seconds": [each - start for each in seconds]}
    return {"sizes": sizes, "arrivals": arrivals}


def _requests(table: csv.DictReader[str]) -> list[tuple[int, int, float | None]]:
    """Read prompt, output and, where it is said, time of each request."""
    if missing := {"prompt", "output"} - set(table.fieldnames or ()):
        message = f"no column {' and no column '.join(sorted(missing))}"
        raise ValueError(message)
    rows: list[tuple[int, int, float | None]] = []
    latest = -LARGEST_QUANTITY
    try:
        for row in table:
            seconds = _seconds(row.get("seconds"), latest)
            latest = latest if seconds is None else seconds
            rows.append((_tokens(row["prompt"]), _tokens(row["output"]), seconds))
    except ValueError as error:
        message = f"line {table.line_num}: {error}"
        raise ValueError(message) from error
    return rows


def _seconds(cell: str | None, latest: float) -> float | None:
    """Read when a request arrives, not before the latest of those above it."""
    if not cell:
        return None
    seconds = float(cell)
    if not latest <= seconds <= LARGEST_QUANTITY:
        message = f"{seconds:g} seconds after {latest:g}"
        raise ValueError(message)
    return seconds


def _tokens(cell: str | None) -> int:
    """Read a number of tokens; where it is 0 there is one all the same."""
    if cell is None or not cell.strip().isdecimal() or len(cell) > MOST_DIGITS:
        message = f"`{(cell or '')[:MOST_DIGITS]}` is no number of tokens"
        raise ValueError(message)
    tokens = int(cell)
    if tokens > LARGEST_COUNT:
        message = f"{tokens} tokens are more than {LARGEST_COUNT}"
        raise ValueError(message)
    return max(1, tokens)


def load_of(
    sizes: Mapping[str, Any],
    *,
    users: int | None = None,
    requests_per_second: float | None = None,
    arrival_cv: float | None = None,
    prefix_hit_rate: float = 0.0,
    traffic: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Put a load as the core takes it: requests at random, or users who wait.

    Times between requests vary by `arrival_cv`, their standard deviation over their
    mean; where it is not given they are independent of each other.
    """
    if requests_per_second is not None:
        arrivals: dict[str, Any] = {
            "kind": "poisson",
            "per_second": requests_per_second,
        }
        if arrival_cv is not None:
            arrivals |= {"kind": "gamma", "cv": arrival_cv}
    else:
        arrivals = {"kind": "closed", "users": users or 1}
    load: dict[str, Any] = {
        "arrivals": arrivals,
        "sizes": sizes,
        "prefix_hit_rate": prefix_hit_rate,
    }
    if traffic is None:
        return load
    if users is not None or requests_per_second is not None:
        return {**load, "sizes": traffic["sizes"]}
    return {**load, **traffic}


def simulated(
    catalog: Catalog,
    configuration: Mapping[str, Any],
    load: Mapping[str, Any],
    *,
    engine: Mapping[str, Any],
    requests: int = REQUESTS,
    seed: int = 0,
    promised: Mapping[str, float | None] | None = None,
) -> Latencies | None:
    """Simulate a load on a configuration; none if the configuration does not work."""
    promised = promised or {}
    run = {**run_of(load, requests), **promised, "seed": seed}
    request = {**configuration, "load": load, "run": run, "scheduler": engine}
    report = catalog.ask("simulate_serving", request)["report"]
    found = latencies_of(report, load["arrivals"].get("users"))
    if found is None or not any(promised.values()):
        return found
    late = report["late"]
    return replace(
        found,
        goodput=report["goodput_share"],
        late_ttft=late["ttft"]["mean"] + ONE_SIDED * late["ttft"]["error"],
        late_tpot=late["tpot"]["mean"] + ONE_SIDED * late["tpot"]["error"],
    )


def run_of(load: Mapping[str, Any], requests: int = REQUESTS) -> dict[str, Any]:
    """Say how long a load is simulated: a trace as it is, others until steady."""
    arrivals = load["arrivals"]
    if arrivals["kind"] == "trace":
        return {"requests": len(arrivals["seconds"]), "doors_close": True}
    users = arrivals.get("users", 0)
    return {
        "requests": max(requests, ROUNDS_OF_USERS * users),
        "warm_up": max(requests // MEASURED_TO_WARM_UP, 2 * users),
    }


def estimated(
    catalog: Catalog,
    configuration: Mapping[str, Any],
    load: Mapping[str, Any],
    *,
    engine: Mapping[str, Any],
) -> Latencies | None:
    """Estimate the same by the closed form; none if it cannot keep up either."""
    run = {"requests": 1}
    request = {**configuration, "load": load, "run": run, "scheduler": engine}
    answer = catalog.ask("estimate_serving", request)
    known = answer if answer["ttft_seconds"] is not None else None
    return latencies_of(known, load["arrivals"].get("users"))


def latencies_of(
    report: Mapping[str, Any] | None, users: int | None
) -> Latencies | None:
    """Read a report of the core."""
    if report is None:
        return None

    def percentiles(of: Mapping[str, float]) -> Percentiles:
        return Percentiles(mean=of["mean"], p50=of["p50"], p95=of["p95"], p99=of["p99"])

    return Latencies(
        ttft_seconds=percentiles(report["ttft_seconds"]),
        tpot_seconds=percentiles(report["tpot_seconds"]),
        tokens_per_second=report["tokens_per_second"],
        requests_per_second=report["requests_per_second"],
        users=users,
        overloaded=report["overloaded"],
        simulated="late" in report,
    )


def promised(problem: Problem) -> dict[str, Any]:
    """Say what users are promised: under a load, where latencies are judged there."""
    ttft, target = problem.predicted_ttft_seconds, problem.predicted_target
    promises = {
        "users": problem.users,
        "tokens_per_second": problem.throughput,
        "tokens_per_second_per_user": target,
        "prefill_seconds": ttft,
        "redundancy": problem.redundancy,
    }
    if problem.percentile is None:
        return {"promises": promises}
    promises |= {
        "percentile": PERCENTILES[problem.percentile],
        "ttft_seconds": None if ttft is None else ttft * problem.ttft_margin,
        "tpot_seconds": problem.tpot_margin / target if target else None,
        "bound": problem.bound,
    }
    load = load_of(
        problem.sizes, users=1, requests_per_second=problem.requests_per_second
    )
    scheduler = problem.asked["scheduler"]
    return {"promises": promises, "load": load, "scheduler": scheduler}


def configuration_of(problem: Problem, deployment: Deployment) -> dict[str, Any]:
    """Put a deployment of a plan as the core evaluates it."""
    candidate, hardware = deployment.candidate, deployment.hardware
    degrees = ("tp", "cp", "dp", "ep", "pp", "batch", "in_flight")
    formats = {"weights": candidate.weights, "kv": candidate.kv}
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
        "layout": {
            **{name: getattr(candidate, name) for name in degrees},
            "replicas": deployment.replicas,
        },
    }


def simulated_deployment(
    catalog: Catalog,
    problem: Problem,
    deployment: Deployment,
    share: float,
    *,
    prefix_hit_rate: float = 0.0,
    requests: int = REQUESTS,
    seed: int = 0,
) -> Latencies | None:
    """Simulate a deployment that gets its share of a question's load.

    Where as much as possible is asked for, or so many tokens per second, that is all
    the users whom it has room for.
    """
    rate = problem.requests_per_second
    users = max(1, round(problem.users * share))
    if problem.objective in ("throughput", "cost-per-token") or problem.throughput:
        users = deployment.users
    load = load_of(
        problem.sizes,
        users=users,
        requests_per_second=None if rate is None else rate * share,
        prefix_hit_rate=prefix_hit_rate,
    )
    configuration = configuration_of(problem, deployment)
    promised = {
        "ttft_seconds": problem.ttft_seconds,
        "tpot_seconds": 1 / problem.target if problem.target else None,
    }
    return simulated(
        catalog,
        configuration,
        load,
        engine=problem.asked["scheduler"],
        requests=requests,
        seed=seed,
        promised=promised,
    )
