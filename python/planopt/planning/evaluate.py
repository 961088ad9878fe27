"""One configuration: what it does, whether or not it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as with_changes

from planopt.bill import bom_line, hardware_of
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.parts import Assumed, Candidate
from planopt.errors import InputError
from planopt.options import SMALLEST_QUANTITY, OptionReader
from planopt.planning.cold import cold_load
from planopt.price_sources import sourced
from planopt.prices import PriceOptions, read_prices
from planopt.serving.build import evaluation_of
from planopt.serving.images import ImageOptions, read_images
from planopt.serving.load import estimated, load_of, read_traffic, simulated
from planopt.serving.prefill_pool import PoolOptions, read_prefill_pool, simulated_with
from planopt.serving.served import ServedOptions, read_served
from planopt.serving.sure import with_intervals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Unpack

    from planopt.documents.evaluation import ServingEvaluation
    from planopt.documents.parts import PlanWarning
    from planopt.options import TextOrNumber
    from planopt.serving.load import Latencies
    from planopt.serving.question_types import Lengths

__all__ = ["evaluate_serving"]


STORES = ("host", "disk")
"""Where weights can rest: in the host's memory, or on its disks."""


MOST_AT_ONCE = 4096
"""Sequences that a replica answers at the same time: more than any engine takes."""
EVENEST, MOST_BURSTY = 0.01, 100.0
"""Times between requests that hardly differ, and bursts of ten thousand requests."""
MOST_HITS = 0.999
"""Something of every prompt is read."""


class EvaluateOptions(
    ServedOptions, ImageOptions, PoolOptions, PriceOptions, total=False
):
    """Options of what is served, of images, of a pool that reads, and of prices."""


def evaluate_serving(
    *,
    accelerator: str | None = None,
    host: str | None = None,
    link: str | None = None,
    network: str | None = None,
    hosts: TextOrNumber | None = None,
    nics_per_host: TextOrNumber | None = None,
    tp: TextOrNumber | None = None,
    pp: TextOrNumber | None = None,
    cp: TextOrNumber | None = None,
    dp: TextOrNumber | None = None,
    ep: TextOrNumber | None = None,
    replicas: TextOrNumber | None = None,
    batch: TextOrNumber | None = None,
    in_flight: TextOrNumber | None = None,
    offload: TextOrNumber | None = None,
    offload_to: str | None = None,
    lora_adapters: TextOrNumber | None = None,
    lora_rank: TextOrNumber | None = None,
    requests: TextOrNumber | None = None,
    users: TextOrNumber | None = None,
    traffic: str | None = None,
    arrival_cv: TextOrNumber | None = None,
    prefix_hit_rate: TextOrNumber | None = None,
    software_latency: TextOrNumber | None = None,
    pcie_all_reduce: str | None = None,
    explain: bool = False,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
    **options: Unpack[EvaluateOptions],
) -> EvaluationDocument:
    """Evaluate one way of serving a model.

    Parameters
    ----------
    model, accelerator, host, link, network : str
        Catalog ids; the model may be a path of a config.json. The host is the smallest
        that fits unless it is given; `link` is inside a host, `network` across hosts.
    hosts, nics_per_host : int
        Hosts of one replica, and NICs of each.
    tp, pp, cp, dp, ep, replicas : int
        Degrees; 1 unless given. `cp` ranks divide prompts and contexts, each with the
        same weights. `dp` is attention data parallel: so many groups of `tp` ranks in a
        stage, each with sequences of its own. The experts are dealt to `ep` parts of
        these `tp * dp` ranks.
    batch, in_flight : int
        Sequences per micro-batch, and micro-batches in flight (default: one per stage).
    offload : int or str
        Layers of each stage whose weights rest in the host, or ``auto`` for as few as
        make the rest fit; they are read over its link in every step.
    offload_to : {"host", "disk"}
        Where they rest: in its memory (unless said), or on its disks.
    lora_adapters, lora_rank : int
        Adapters of low rank (LoRA) beside the products of every layer that accelerators
        hold, of which each sequence has one, and their rank.
    image_tokens, encoder_parameters, patches_per_token : int, str or float, int
        Tokens that images add to each prompt, parameters of what encodes them, and the
        patches that make one token (4 unless given).
    overlap : {"none", "two-batch"}
        Overlap of computing and communicating.
    workload, prompt, output, context
        Lengths in tokens; speed is judged at full context.
    requests, users : str or float, int
        Load to simulate: requests per second at random times, or users of whom each
        waits for his answer. Without either, as many users as there are sequences are
        estimated, where `batch` is given.
    traffic : str
        CSV of one's own traffic in place of fixed lengths: columns ``prompt``,
        ``output`` and, where it replaces the arrivals too, ``seconds``.
    arrival_cv, prefix_hit_rate : float, str or float
        How much the times between requests vary (standard deviation over mean; 1 is at
        random, more is bursty), and the share of a prompt that is found in the cache.
    draft, draft_tokens, acceptance : str, int, str or float
        Speculative decoding: ``mtp`` or a smaller model, tokens drafted ahead of a
        check (1 unless given), and the share of them that is accepted.
    policy, token_budget, max_sequences
        The engine under the load: ``decode-first`` or ``prefill-first``, tokens of a
        step, and sequences of a micro-batch.
    prefill_accelerator, prefill_host, prefill_tp, prefill_pp, prefill_cp, \
    prefill_dp, prefill_ep, prefill_replicas
        A pool that reads the prompts: the configuration then answers them alone. The
        cache goes over the link of the host that holds both, or over `network`.
    weights, kv : str
        Number formats, as published unless given.
    kv_heads : int
        Key/value heads in place of the model's own.
    software_latency : str or float
        Latency of every message in place of the assumptions'; seconds.
    pcie_all_reduce : {"default", "slow", "good"}
        Class of all-reduce over PCIe.
    engine : str
        Engine that serves, such as ``vllm``: what it makes of kernels and of a step.
        Without one, kernels as they were measured, in an engine that adds a step's
        overhead.
    condition, prices
        What accelerators are bought as (``new``, ``used``, ``any``), and dollars in
        place of prices of the catalog: ``{"rtx-5090": 4500}``.
    explain : bool
        Whether to tell how each figure was worked out, in ``derivation``.
    assumptions, catalog
        Assumptions by name or file, and overlay folders.

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
    if unknown := options.keys() - EvaluateOptions.__optional_keys__:
        message = f"unknown options: {', '.join(sorted(unknown))}"
        raise TypeError(message)
    opened = open_catalog(catalog, assumptions, accelerator)
    reader = OptionReader()
    assumed: list[Assumed] = []
    if accelerator is None:
        reader.problem(
            "E005",
            "which accelerator?",
            option="accelerator",
            accepted="an id of `planopt catalog list accelerators`",
        )
    images = read_images(reader, assumed, options)
    image_tokens = images.get("image_tokens") or 0
    served = read_served(reader, opened, assumed, options, image_tokens=image_tokens)
    request = {
        **served.native(),
        "accelerator": accelerator,
        "host": host,
        "link": link,
        "network": network,
        "hosts": reader.count("hosts", hosts),
        "nics_per_host": reader.count("nics_per_host", nics_per_host),
        "tp": reader.count("tp", tp) or 1,
        "cp": reader.count("cp", cp) or 1,
        "dp": reader.count("dp", dp) or 1,
        "ep": reader.count("ep", ep) or 1,
        "pp": reader.count("pp", pp) or 1,
        "replicas": reader.count("replicas", replicas) or 1,
        "batch": reader.count("batch", batch) or 1,
        "in_flight": reader.count("in_flight", in_flight),
        "software_latency_seconds": _latency(reader, software_latency),
        "pcie_all_reduce": pcie_all_reduce,
    }
    if (resting := _resting(reader, offload, offload_to)) is not None:
        request["offload"] = resting
    adapters = _adapters(reader, lora_adapters, lora_rank)
    request |= adapters
    # Prompts are longer by their tokens already.
    request |= {name: images[name] for name in images if name != "image_tokens"}
    rate = reader.quantity("requests", requests, "requests_per_second")
    asking = reader.count("users", users)
    if rate is not None and asking is not None:
        reader.problem(
            "E004",
            "--requests and --users both say what arrives",
            option="users",
            value=users,
            accepted="one of the two",
        )
    burst = reader.quantity(
        "arrival_cv", arrival_cv, "number", least=EVENEST, most=MOST_BURSTY
    )
    if burst is not None and rate is None:
        reader.problem(
            "E005",
            "of which requests do the times between vary?",
            option="requests",
            accepted="with --requests 3/s",
        )
    hits = reader.quantity(
        "prefix_hit_rate", prefix_hit_rate, "share", least=0.0, most=MOST_HITS
    )
    own_traffic = read_traffic(reader, traffic)
    if own_traffic is not None and images:
        reader.problem(
            "E004",
            "--traffic says how long prompts are, with all that is in them",
            option="image_tokens",
            value=images["image_tokens"],
            accepted="one of the two",
        )
    reading = read_prefill_pool(reader, request, options)
    paid = read_prices(
        reader,
        opened,
        condition=options.get("condition"),
        prices=options.get("prices"),
    )
    if explain:
        reader.out_of_place(
            {"link": link, "software_latency": software_latency},
            "is not explained",
            accepted="--accelerator, in a host of the catalog with its own links",
        )
    reader.finish()
    opened = opened.priced(**paid)
    answer = opened.ask("evaluate_serving", request)
    if answer["offload"] is not None:
        # What is simulated holds as many layers as what was evaluated.
        request["offload"] = {**request["offload"], "layers": answer["offload"]}
    evaluation = evaluation_of(answer)
    if evaluation.feasible and rate is not None and own_traffic is None:
        alone = _seconds_alone(evaluation, served.lengths, hits or 0.0)
        _check_rate(rate, requests, request["replicas"] / alone)
    latencies, two = None, None
    warnings: tuple[PlanWarning, ...] = ()
    asked = bool(rate or asking or own_traffic)
    if evaluation.feasible and (asked or batch is not None or reading):
        in_batches = request["batch"] * answer["in_flight"] * request["replicas"]
        resident = 2 if served.overlap == "two-batch" else 1
        load = load_of(
            served.lengths,
            users=asking if asked else in_batches * resident,
            requests_per_second=rate,
            arrival_cv=burst,
            prefix_hit_rate=hits or 0.0,
            traffic=own_traffic,
        )
        predicted = simulated if asked else estimated

        def under(load: Mapping[str, Any]) -> Latencies | None:
            if reading is not None:
                return simulated_with(opened, served, reading, request, load).latencies
            return predicted(opened, request, load, engine=served.engine)

        if reading is not None:
            two = simulated_with(opened, served, reading, request, load)
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
        model=served.model,
        accelerator=request["accelerator"],
        batch=request["batch"],
        engine=served.engine_name,
    )
    document = EvaluationDocument(
        **{name: getattr(evaluation, name) for name in evaluation.__struct_fields__},
        model=served.model,
        replicas=answer["replicas"],
        candidate=Candidate(
            accelerator=request["accelerator"],
            tp=request["tp"],
            cp=request["cp"],
            dp=request["dp"],
            ep=request["ep"],
            pp=request["pp"],
            batch=request["batch"],
            in_flight=answer["in_flight"],
            overlap=served.overlap,
            weights=answer["weights"],
            kv=answer["kv"],
            **served.drafted,
            offload=answer["offload"],
            offload_to=request.get("offload", {}).get("to"),
            **adapters,
            **images,
        ),
        hardware=hardware_of(answer),
        bill_of_materials=sourced(opened, map(bom_line, answer["bill_of_materials"])),
        prefill_pool=two.pool if two else None,
        transfer=two.transfer if two else None,
        context_tokens=served.lengths.context,
        assumed=tuple(assumed),
        warnings=warnings,
        engine=served.engine_name,
        assumptions=assumptions,
    )
    if not explain:
        return document
    from planopt.second_opinion import derivation_of_serving

    derivation = derivation_of_serving(
        document,
        opened,
        prompt=served.lengths.prompt,
        kv_heads=served.kv_heads,
        pcie_all_reduce=pcie_all_reduce,
        hosts=request["hosts"],
        engine=served.engine_name,
    )
    return with_changes(document, derivation=derivation)


def _seconds_alone(
    evaluation: ServingEvaluation, lengths: Lengths, hits: float
) -> float:
    """Return how long a replica answers a request when there is no other."""
    prompt, token = evaluation.prefill.seconds, evaluation.decode.step_seconds
    return (prompt or 0.0) * (1.0 - hits) + lengths.output * (token or 0.0)


def _check_rate(rate: float, typed: TextOrNumber | None, one_by_one: float) -> None:
    """Refuse a rate that nothing could answer: all requests that wait are remembered."""
    most = MOST_AT_ONCE * one_by_one
    if rate > most:
        raise InputError.of(
            "E003",
            "no such replicas answer even a fraction of that",
            field="--requests",
            value=typed,
            accepted=f"{SMALLEST_QUANTITY:g} to {most:.3g}/s, {MOST_AT_ONCE} times "
            "what they answer one by one",
        )


def _resting(
    reader: OptionReader, offload: TextOrNumber | None, offload_to: str | None
) -> dict[str, Any] | None:
    """Read which layers rest in the host."""
    to = reader.choice("offload_to", offload_to, STORES)
    if offload is None:
        if to is not None:
            reader.problem(
                "E005",
                "nothing rests there",
                option="offload_to",
                value=to,
                accepted="with --offload N or --offload auto",
            )
        return None
    layers = None if offload == "auto" else reader.count("offload", offload)
    return {"layers": layers, "to": to or "host"}


def _adapters(
    reader: OptionReader,
    lora_adapters: TextOrNumber | None,
    lora_rank: TextOrNumber | None,
) -> dict[str, Any]:
    """Read how many adapters are held, and of which rank; empty if none are."""
    held = reader.count("lora_adapters", lora_adapters, minimum=0)
    rank = reader.count("lora_rank", lora_rank)
    if lora_rank is None and held:
        reader.problem(
            "E005",
            "of which rank are the adapters?",
            option="lora_rank",
            accepted="a whole number, mostly 8 to 64",
        )
    if lora_adapters is None and lora_rank is not None:
        reader.problem(
            "E005",
            "there are no adapters of that rank",
            option="lora_rank",
            value=lora_rank,
            accepted="with --lora-adapters N",
        )
    return {"lora_adapters": held, "lora_rank": rank} if held else {}


def _latency(reader: OptionReader, value: TextOrNumber | None) -> float | None:
    """Latency in seconds; none at all is a latency too."""
    if value in (0, 0.0):
        return 0.0
    return reader.quantity("software_latency", value, "seconds")
