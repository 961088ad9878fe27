"""One configuration: what it does, whether or not it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace as with_changes

from planopt.bill import bill_of
from planopt.catalog.open import open_for
from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.parts import Assumed, Candidate, Hardware
from planopt.options import Asked
from planopt.planning.cold import cold_load
from planopt.price_sources import sourced
from planopt.serving.build import evaluation_of
from planopt.serving.load import estimated, load_of, read_traffic, simulated
from planopt.serving.prefill_pool import simulated_with
from planopt.serving.question_types import drafted
from planopt.serving.sure import with_intervals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Unpack

    from planopt.documents.parts import PlanWarning
    from planopt.option_types import ServingOptions
    from planopt.serving.load import Latencies


ADDED = ("lora_adapters", "lora_rank", "image_patches", "encoder_parameters")
"""What a model may have beside itself."""


class Configuration(Struct, frozen=True, kw_only=True):
    """One way of serving a model, as the core has read it."""

    asked: dict[str, Any]
    """As the core evaluates it."""
    prefill: dict[str, Any] | None
    """The pool that reads prompts, where it is not the one that answers them."""
    scheduler: dict[str, Any]
    sizes: dict[str, Any]
    """Of prompts and outputs, as a load has them."""
    image_tokens: int | None = None
    requests_per_second: float | None = None
    users: int | None = None
    arrival_cv: float | None = None
    prefix_hit_rate: float | None = None
    condition: str
    prices: dict[str, float]
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
    asked = Asked("evaluate serving", options)
    opened = open_for(asked)
    own_traffic = read_traffic(asked)
    read = asked.question(opened.native, Configuration)
    request, reading, scheduler = read.asked, read.prefill, read.scheduler
    model, layout = request["model"], request["layout"]
    accelerator: str = request["hardware"]["accelerator"]
    opened = opened.priced(read.condition, read.prices)
    answer = opened.ask("evaluate_serving", request)
    if answer["offload"] is not None:
        # What is simulated holds as many layers as what was evaluated.
        request["offload"] = {**request["offload"], "layers": answer["offload"]}
    evaluation = evaluation_of(answer)
    rate, hits = read.requests_per_second, read.prefix_hit_rate
    latencies, two = None, None
    warnings: tuple[PlanWarning, ...] = ()
    loaded = bool(rate or read.users or own_traffic)
    if evaluation.feasible and (loaded or "batch" in asked.given or reading):
        in_batches = layout["batch"] * answer["in_flight"] * layout["replicas"]
        resident = 2 if model["overlap"] == "two-batch" else 1
        load = load_of(
            read.sizes,
            users=read.users if loaded else in_batches * resident,
            requests_per_second=rate,
            arrival_cv=read.arrival_cv,
            prefix_hit_rate=hits or 0.0,
            traffic=own_traffic,
        )
        predicted = simulated if loaded else estimated

        def under(load: Mapping[str, Any]) -> Latencies | None:
            if reading is not None:
                return simulated_with(
                    opened, scheduler, reading, request, load
                ).latencies
            return predicted(opened, request, load, engine=scheduler)

        if reading is not None:
            two = simulated_with(opened, scheduler, reading, request, load)
        latencies = two.latencies if two is not None else under(load)
        warnings = () if hits is not None else tuple(cold_load(load, latencies, under))
    if latencies is not None:
        evaluation = with_changes(
            evaluation,
            ttft_seconds=latencies.ttft_seconds,
            tpot_seconds=latencies.tpot_seconds,
            under_load=latencies.under_load,
        )
    evaluation = with_intervals(
        opened,
        evaluation,
        model=model["name"],
        accelerator=accelerator,
        batch=layout["batch"],
        engine=request["engine"]["name"],
    )
    document = EvaluationDocument(
        **{name: getattr(evaluation, name) for name in evaluation.__struct_fields__},
        model=model["name"],
        replicas=answer["replicas"],
        candidate=Candidate(
            accelerator=accelerator,
            **{name: layout[name] for name in ("tp", "cp", "dp", "ep", "pp")},
            batch=layout["batch"],
            in_flight=answer["in_flight"],
            overlap=model["overlap"],
            weights=answer["weights"],
            kv=answer["kv"],
            **drafted(request),
            offload=answer["offload"],
            offload_to=request["offload"] and request["offload"]["to"],
            **{name: model[name] for name in ADDED},
            image_tokens=read.image_tokens,
        ),
        hardware=msgspec.convert(answer["hardware"], Hardware),
        bill_of_materials=sourced(opened, bill_of(answer)),
        prefill_pool=two.pool if two else None,
        transfer=two.transfer if two else None,
        context_tokens=request["workload"]["context"],
        assumed=read.assumed,
        warnings=warnings,
        engine=request["engine"]["name"],
        assumptions=read.assumptions,
    )
    if not asked.given.get("explain"):
        return document
    from planopt.second_opinion import derivation_of_serving

    derivation = derivation_of_serving(
        document,
        opened,
        prompt=request["workload"]["prompt"],
        kv_heads=model["kv_heads"],
        pcie_all_reduce=request["engine"]["pcie_all_reduce"],
        hosts=request["hardware"]["hosts"],
        engine=request["engine"]["name"],
        step_tokens=scheduler["token_budget"],
    )
    return with_changes(document, derivation=derivation)
