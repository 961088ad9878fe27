"""One configuration: what it does, whether or not it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import field
from msgspec.structs import replace as with_changes

from planopt.catalog.entries import Pricing
from planopt.catalog.open import Catalog, open_for
from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.parts import Assumed, PlanWarning
from planopt.loads import Arrivals, Latencies, Load, Sizes
from planopt.market import said_by_files
from planopt.money import at_load
from planopt.options import Asked
from planopt.planning.warnings import cold_load, displaced
from planopt.price_sources import sourced
from planopt.serving.load import Simulated, estimated, simulated, simulated_with
from planopt.serving.prediction_interval import intervals
from planopt.traffic import read_traffic

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from planopt.option_types import ServingOptions


class Configuration(Pricing, frozen=True, kw_only=True):
    """One way of serving a model, as the core has read it."""

    asked: dict[str, Any]  # As the core evaluates it
    prefill: dict[str, Any] | None
    """The pool that reads prompts, where it is not the one that answers them."""
    scheduler: dict[str, Any]
    sizes: Sizes  # Of prompts and outputs, as a load has them
    load: str  # What is judged: `steady` is a step, and no load
    arrivals: Arrivals | None = None  # When requests come, where that is said
    prefix_hit_rate: float | None = None
    session_load: dict[str, object] | None = None
    """How the turns of sessions follow each other, where users are these."""
    cost: dict[str, float] = field(default_factory=dict)
    """What of it is assumed otherwise, and what hosts are bought with."""
    assumptions: str
    assumed: tuple[Assumed, ...]


def evaluate_serving(**options: Unpack[ServingOptions]) -> EvaluationDocument:
    """Evaluate one way of serving a model.

    Parameters
    ----------
    **options
        As of ``planopt evaluate serving``, with underscores: text with units, or
        numbers in SI units. docs/reference/options.md has them all.

    Returns
    -------
    EvaluationDocument

    Raises
    ------
    InputError
        With a diagnostic for each option that cannot be used.

    Examples
    --------
    >>> import planopt
    >>> planopt.evaluate(accelerator="rtx-4090", tp=4, pp=2, batch=8).feasible
    True
    """
    return evaluated(Asked.by_user("evaluate serving", options))


def evaluated(asked: Asked, catalog: Catalog | None = None) -> EvaluationDocument:
    """Evaluate what options of `evaluate serving` say, of a catalog that is open."""
    opened = catalog or open_for(asked)
    own_traffic = read_traffic(asked)
    read = asked.question(opened.native, Configuration)
    request, reading, scheduler = read.asked, read.prefill, read.scheduler
    model, workload = request["model"], request["workload"]
    opened = opened.paid(Pricing.of(read)).with_cost(read.cost)
    document = opened.ask("evaluate_serving", request, EvaluationDocument)
    candidate = document.candidate
    if candidate.offload is not None:
        # What is simulated holds as many layers as what was evaluated.
        request["offload"] = {"layers": candidate.offload, "to": candidate.offload_to}
    arrivals, sizes = read.arrivals, read.sizes
    if own_traffic is not None:
        arrivals, sizes = arrivals or own_traffic.arrivals, own_traffic.sizes
    latencies, two = None, None
    warnings: tuple[PlanWarning, ...] = ()
    loaded = arrivals is not None or own_traffic is not None
    known = loaded or "batch" in asked.given or reading is not None
    if document.feasible and read.load != "steady" and known:
        resident = 2 if candidate.overlap == "two-batch" else 1
        in_batches = candidate.batch * candidate.in_flight * resident
        users = in_batches * document.replicas
        load = Load(
            arrivals=arrivals or Arrivals(kind="closed", users=users),
            sizes=sizes,
            prefix_hit_rate=read.prefix_hit_rate or 0.0,
            sessions=read.session_load,
        )
        predicted = simulated if loaded else estimated
        scheduled = {**request, "scheduler": scheduler}

        def under(load: Load) -> tuple[Latencies | None, Simulated | None]:
            if reading is None:
                return predicted(opened, scheduled, load), None
            two = simulated_with(opened, scheduler, reading, request, load)
            return two.latencies, two

        latencies, two = under(load)
        if load.sessions is not None or sizes.hashed is not None:
            came = None if latencies is None else latencies.under_load
            warnings = tuple(displaced(came))
        elif read.prefix_hit_rate is None:
            warnings = tuple(cold_load(load, latencies, lambda load: under(load)[0]))
    if latencies is not None:
        served, cost = latencies.tokens_per_second, document.cost
        document = with_changes(
            document,
            ttft_seconds=latencies.ttft_seconds,
            tpot_seconds=latencies.tpot_seconds,
            under_load=latencies.under_load,
            cost=at_load(cost, served, opened.cost.duty) if loaded else cost,
        )
    document = with_changes(
        document,
        model=model["name"],
        bill_of_materials=sourced(opened, document.bill_of_materials),
        prefill_pool=two.pool if two else None,
        transfer=two.transfer if two else None,
        context_tokens=workload["context"],
        assumed=(*read.assumed, *said_by_files(asked)),
        warnings=warnings,
        engine=request["engine"]["name"],
        assumptions=read.assumptions,
    )
    document = with_changes(document, intervals=intervals(opened, document))
    if not asked.given.get("explain"):
        return document
    from planopt.second_opinion import derivation_of_serving

    derivation = derivation_of_serving(
        document,
        opened,
        prompt=workload["prompt"],
        kv_heads=model["kv_heads"],
        pcie_all_reduce=request["engine"]["pcie_all_reduce"],
        hosts=request["hardware"]["hosts"],
        step_tokens=scheduler["token_budget"],
    )
    return with_changes(document, derivation=derivation)
