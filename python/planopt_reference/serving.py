"""Evaluation of one serving configuration (model.md, section 6)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planopt_reference.architecture import model_from_table
from planopt_reference.communication import (
    Fabric,
    PlacementError,
    UnconnectedError,
    all_reduce,
    fabric,
    pipeline_hops,
)
from planopt_reference.formats import FormatError, bytes_per_element
from planopt_reference.memory import (
    Memory,
    fullest_stage_memory,
    kv_capacity_tokens,
    resident_sequences,
)
from planopt_reference.offload import host_memory_bytes, usable_host_memory
from planopt_reference.operations import AllReduce, MatMul, Model
from planopt_reference.rank import Encoder, Offload, Rank, Step, is_choice
from planopt_reference.stage import stages
from planopt_reference.step import (
    drafter_of,
    message_bytes,
    mixed_step,
    prefill_time,
    step_time,
    time_per_output_token,
    tokens_per_check,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt_reference.facts import Facts

_NO_PERCENTILES = dict.fromkeys(("mean", "p50", "p90", "p95", "p99"))


Rejection = dict[str, Any]


def _rejection(code: str, message: str, **numbers: float | str) -> Rejection:
    return {"code": code, "message": message, "numbers": numbers}


def _shape_rejection(model: Model, *, t: int, p: int) -> Rejection | None:
    heads, layers = math.gcd(*model.heads), len(model.layers)
    if heads % t:
        message = f"{t} ranks do not divide {heads} heads"
        return _rejection("heads", message, tp=t, heads=heads)
    if p > layers:
        message = f"{p} stages for {layers} layers"
        return _rejection("layers", message, pp=p, layers=layers)
    return None


# Section 1, "`e` must divide `t d` and the experts of every layer".
def _experts_rejection(model: Model, *, ranks: int, e: int) -> Rejection | None:
    choices = [
        operation.experts
        for layer in model.layers
        for operation in layer
        if isinstance(operation, MatMul) and is_choice(operation)
    ]
    experts = math.gcd(*choices) if choices else 1
    if ranks % e or experts % e:
        message = f"{e} parts of {experts} experts on {ranks} ranks"
        return _rejection("experts", message, ep=e, ranks=ranks, experts=experts)
    return None


def _format_rejection(rank: Rank) -> Rejection | None:
    try:
        _ = rank.base_rate, rank.quantised_rate, rank.kv_bytes
        bytes_per_element(rank.weights)
    except FormatError as error:
        return _rejection("format", str(error), weights=rank.weights)
    return None


def _memory_table(memory: Memory) -> dict[str, float]:
    return {
        "weights_bytes": memory.weights,
        "kv_cache_bytes": memory.kv_cache,
        "activations_bytes": memory.activations,
        "overhead_bytes": memory.overhead,
        "total_bytes": memory.total,
        "capacity_bytes": memory.capacity,
    }


def _messages(model: Model, rank: Rank, links: Fabric, batch: int) -> dict[str, float]:
    """Return the messages of a step of one micro-batch; a lone rank sends none."""
    payload = message_bytes(math.ceil(batch / rank.d), model.hidden, rank)
    residual = AllReduce(model.hidden)
    reductions = sum(one == residual for one in model.operations())
    return {
        "payload_bytes": payload,
        "all_reduce_seconds": all_reduce(payload, links),
        "all_reduces": reductions if links.t > 1 else 0,
        "hops_seconds": pipeline_hops(payload, links),
    }


def _evaluation(rejections: list[Rejection], **figures: object) -> dict[str, Any]:
    return {
        "feasible": not rejections,
        "rejections": rejections,
        "memory": None,
        "decode": None,
        "prefill": None,
        "mixed": None,
        "kv_capacity_tokens": None,
        "ttft_seconds": dict(_NO_PERCENTILES),
        "tpot_seconds": dict(_NO_PERCENTILES),
        "messages": None,
        "hosts": None,
        "accelerators": None,
        **figures,
    }


def evaluate_serving(
    facts: Facts,
    *,
    model: str | Mapping[str, Any],
    accelerator: str,
    host: str | None,
    network: str | None,
    nics_per_host: int,
    accelerators_per_host: int | None = None,
    tp: int,
    cp: int = 1,
    dp: int = 1,
    ep: int = 1,
    pp: int,
    in_flight: int,
    batch: int,
    context: int,
    prompt: int,
    weights: str | None = None,
    kv: str | None = None,
    overlap: str = "none",
    kv_heads: int | None = None,
    draft: str | None = None,
    draft_tokens: int = 0,
    acceptance: float = 0.0,
    offload: int | None = None,
    offload_to: str = "host",
    lora_adapters: int = 0,
    lora_rank: int = 0,
    encoder_parameters: float = 0.0,
    image_patches: float = 0.0,
) -> dict[str, Any]:
    """Evaluate one configuration, whether or not it fits.

    Parameters
    ----------
    facts : Facts
        Catalogs and assumptions.
    model : str or mapping
        Id of a model, or a model in the shape of a model file.
    accelerator, host : str
        Ids of what a replica is made of; no host where none of the catalog takes them.
    network : str or None
        Id of the network between hosts, where there are several.
    nics_per_host : int
        NICs of that network in each host.
    accelerators_per_host : int, optional
        Accelerators put into each host; else as many as it takes.
    tp, pp : int
        Tensor-parallel ranks and pipeline stages.
    cp, dp, ep : int
        Ranks that divide contexts, groups of these ranks in a stage, and parts that the
        experts are assigned to.
    in_flight, batch : int
        Micro-batches in the pipeline, and sequences of each.
    context, prompt : int
        Tokens cached of each sequence when decoding, and tokens of a prompt.
    weights, kv : str, optional
        Formats; by default the model's own, and that of activations.
    overlap : str
        `none` or `two-batch`.
    kv_heads : int, optional
        Key/value heads in place of the model's own.
    draft, draft_tokens, acceptance
        What drafts tokens (`mtp`, or the id of a model), how many ahead of a check,
        and the chance that one of them is accepted.
    offload, offload_to
        Layers of each stage whose weights rest in the host's memory (``host``) or on
        its disks (``disk``).
    lora_adapters, lora_rank
        Adapters of low rank that accelerators hold, and their rank.
    encoder_parameters, image_patches
        Parameters of what encodes images, and patches of those of a prompt.

    Returns
    -------
    dict
        A serving evaluation in the shape of `planopt.evaluation/2`, with the `hosts`
        and `accelerators` of one replica. Figures that a rejection leaves undefined
        are none.

    Raises
    ------
    planopt_reference.facts.FactError
        If a catalog lacks one of the ids.
    """
    table = facts.model_table(model) if isinstance(model, str) else model
    transformer = model_from_table(table, kv_heads=kv_heads)
    card = facts.accelerator(accelerator)
    accelerators = tp * cp * dp * pp
    if host is None and accelerators_per_host is None:
        accelerators_per_host = accelerators
    machine = facts.host_for(host, accelerator, accelerators_per_host)
    formats = (weights or transformer.weights, kv)
    rank = Rank(card, facts.assumptions, *formats, tp, dp, ep, cp)
    rank = replace(
        rank, drafter=drafter_of(facts, draft, draft_tokens, transformer, rank)
    )
    if offload is not None:
        rank = replace(rank, offload=Offload(offload, offload_to))
    rank = replace(rank, lora_adapters=lora_adapters, lora_rank=lora_rank)
    if encoder_parameters:
        encoder = Encoder(encoder_parameters, image_patches, prompt)
        rank = replace(rank, encoder=encoder)
    gained = tokens_per_check(draft_tokens if draft else 0, acceptance)
    if rejection := _shape_rejection(transformer, t=tp, p=pp):
        return _evaluation([rejection], accelerators=accelerators)
    if rejection := _experts_rejection(transformer, ranks=tp * dp, e=ep):
        return _evaluation([rejection], accelerators=accelerators)
    try:
        links = fabric(
            facts,
            card,
            machine,
            None if network is None else facts.network(network),
            nics_per_host=nics_per_host,
            t=tp,
            p=pp,
            d=dp,
            c=cp,
        )
    except PlacementError as error:
        misfit = _rejection("placement", str(error), tp=tp, dp=dp, slots=machine.slots)
        return _evaluation([misfit], accelerators=accelerators)
    except UnconnectedError as error:
        apart = _rejection("network", str(error), hosts=error.hosts)
        return _evaluation([apart], accelerators=accelerators)
    if rejection := _format_rejection(rank):
        return _evaluation([rejection], accelerators=accelerators)

    of_group = math.ceil(batch / dp)
    memory = fullest_stage_memory(
        transformer,
        rank,
        p=pp,
        batch=of_group,
        sequences=resident_sequences(of_group, in_flight, overlap),
        context=context,
    )
    rejections = []
    if memory.total > memory.capacity:
        overflow = _rejection(
            "memory",
            f"the fullest stage needs {memory.total:.0f} bytes "
            f"of {memory.capacity:.0f}",
            needed_bytes=memory.total,
            capacity_bytes=memory.capacity,
        )
        rejections.append(overflow)
    offloaded = host_memory_bytes(stages(transformer, pp), rank, links)
    usable = usable_host_memory(machine, rank)
    if offload is not None and offload_to == "host" and offloaded > usable:
        rejections.append(
            _rejection(
                "host-memory",
                f"{offloaded:.0f} bytes of weights in a host of {usable:.0f}",
                needed_bytes=offloaded,
                memory_bytes=usable,
            )
        )
    decode = step_time(
        transformer,
        rank,
        links,
        Step(decoding=batch, context=context),
        in_flight=in_flight,
        overlap=overlap,
    )
    with_chunk = mixed_step(rank, batch=batch, context=context, prompt=prompt)
    mixed = step_time(
        transformer, rank, links, with_chunk, in_flight=in_flight, overlap=overlap
    )
    prefill = prefill_time(transformer, rank, links, prompt)
    tpot = time_per_output_token(decode.step, overlap) / gained
    return _evaluation(
        rejections,
        memory=_memory_table(memory),
        decode={
            "step_seconds": decode.step,
            **decode.turn.table(),
            "waiting_seconds": decode.waiting,
            "tpot_seconds": tpot,
            "tokens_per_second_per_user": 1 / tpot,
            "tokens_per_second": in_flight * batch * gained / decode.step,
        },
        prefill={"seconds": prefill.seconds, **prefill.parts.table()},
        mixed={
            "chunk_tokens": with_chunk.chunk,
            "cached_tokens": with_chunk.cached,
            "step_seconds": mixed.step,
        },
        kv_capacity_tokens=kv_capacity_tokens(
            transformer, rank, p=pp, batch=of_group, context=context
        ),
        messages=_messages(transformer, rank, links, batch),
        hosts=links.hosts,
        accelerators=accelerators,
    )
