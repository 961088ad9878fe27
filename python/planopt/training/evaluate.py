"""One configuration of a training run: what it does, whether or not it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from planopt.accuracy.residuals import interval, model_classes
from planopt.bill import bom_line, hardware_of
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.documents.parts import Assumed, Interval
from planopt.documents.training import (
    TrainingCandidate,
    TrainingDocument,
    TrainingEvaluation,
)
from planopt.options import OptionReader
from planopt.price_sources import sourced
from planopt.prices import read_prices
from planopt.serving.question_types import DEFAULT_MODEL
from planopt.training.mixed import better_of, mixed_of, read_shares

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planopt.catalog.open import Catalog
    from planopt.options import TextOrNumber

__all__ = [
    "candidate_of",
    "evaluate_training",
    "evaluation_of",
    "read_tokens",
    "with_intervals",
]

LARGEST_TOKENS = 1e18
"""Tokens of a run, at most: far more than mankind has written."""
YES_NO = ("yes", "no")


def evaluate_training(
    *,
    model: str | None = None,
    accelerator: str | None = None,
    accelerators: str | Sequence[str] | None = None,
    host: str | None = None,
    accelerators_per_host: TextOrNumber | None = None,
    link: str | None = None,
    network: str | None = None,
    nics_per_host: TextOrNumber | None = None,
    tp: TextOrNumber | None = None,
    sequence_parallel: bool = False,
    pp: TextOrNumber | None = None,
    schedule: str | None = None,
    vpp: TextOrNumber | None = None,
    dp: TextOrNumber | None = None,
    cp: TextOrNumber | None = None,
    context_parallel: str | None = None,
    ep: TextOrNumber | None = None,
    expert_tp: TextOrNumber | None = None,
    micro_batch: TextOrNumber | None = None,
    global_batch: TextOrNumber | None = None,
    seq_len: TextOrNumber | None = None,
    mtp_modules: TextOrNumber | None = None,
    recompute: str | None = None,
    shard: str | None = None,
    shard_group: TextOrNumber | None = None,
    precision: str | None = None,
    gradients: str | None = None,
    optimizer: str | None = None,
    offload: str | Sequence[str] | None = None,
    framework: str | None = None,
    loss_chunks: TextOrNumber | None = None,
    master_weights: bool | str = True,
    lora_rank: TextOrNumber | None = None,
    frozen_weights: str | None = None,
    flash_attention: bool | str = True,
    dropout: bool = False,
    causal: bool | str = True,
    redundancy: TextOrNumber | None = None,
    tokens: TextOrNumber | None = None,
    model_flops: str | None = None,
    nominal_parameters: TextOrNumber | None = None,
    mfu: TextOrNumber | None = None,
    kv_heads: TextOrNumber | None = None,
    condition: str | None = None,
    prices: Mapping[str, TextOrNumber] | Sequence[str] | str | None = None,
    explain: bool = False,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
) -> TrainingDocument:
    """Evaluate one way of training a model.

    Parameters
    ----------
    model, accelerator, host, link, network : str
        Catalog ids; the model may be a path of a config.json. The host is the smallest
        that fits unless it is given; `link` is inside a host, `network` across hosts.
    accelerators : str or sequence of str
        Several kinds of accelerator with their numbers, in place of `accelerator`, such
        as ``a100-sxm-80:32,h100-sxm:32``. Of two ways the better one is evaluated:
        layers dealt evenly, so that every step waits for the slowest kind, or by the
        speed of what each stage runs on.
    accelerators_per_host, nics_per_host : int
        Accelerators and NICs of a host; as many as it has room for unless given.
    tp, pp, vpp, dp, cp, ep : int
        Degrees of tensor, pipeline (and chunks of a stage), data, context and expert
        parallelism; 1 unless given.
    expert_tp : int
        Tensor-parallel degree of experts: as `tp`, or 1.
    sequence_parallel : bool
        Activations between tensor-parallel products are divided by sequence.
    schedule : {"1f1b", "gpipe", "interleaved"}
        Order in which a pipeline works through its micro-batches.
    context_parallel : {"ring", "all-to-all"}
        How tokens of one sequence on several ranks meet in attention.
    micro_batch, global_batch : int
        Sequences of a micro-batch (1) and of a step (4M tokens).
    seq_len : int
        Tokens of a sequence; 4096, or the model's longest context if that is shorter.
    mtp_modules : int
        Modules of multi-token prediction; as many as the model is published with.
    recompute : {"none", "selective", "full", "block:K", "layers:K"}
        What forward does again instead of keeping it.
    shard : {"none", "zero1", "zero2", "zero3"}
        What data-parallel ranks divide; zero3 is FSDP.
    shard_group : int
        Ranks that shard among each other, the groups being replicas.
    precision : {"bf16", "fp16", "fp8", "nvfp4", "fp32"}
        Arithmetic of the products.
    gradients : {"fp32", "bf16", "fp16"}
        Format that gradients are summed in.
    optimizer : {"adam", "adam8bit", "sgd", "adafactor", "muon"}
        Optimizer.
    offload : str or sequence of str
        What rests in the memory of the host: ``optimizer``, ``activations``.
    framework : str
        Framework that trains, by the name that the assumptions have for it.
    loss_chunks : int
        Pieces in which head and loss go through the tokens of a micro-batch.
    master_weights : bool or {"yes", "no"}
        Weights are kept in 32 bits too.
    lora_rank : int
        Rank of low-rank adapters; the model itself is then frozen.
    frozen_weights : str
        Format of the frozen weights.
    flash_attention, causal : bool or {"yes", "no"}
        Attention that never stores its probabilities; tokens that look back only.
    dropout : bool
        Dropout, as GPT-3 was trained with.
    redundancy : int
        Spare hosts of each kind; as many as the assumptions ask for.
    tokens : str or float
        Tokens of the whole run; without them there are no days and dollars of a run.
    model_flops : {"full", "causal", "6nd"}
        Which arithmetic counts as the model's.
    nominal_parameters : float
        N of ``6nd``, as published figures round it.
    mfu : float
        Model FLOPs utilisation in place of the computed one.
    kv_heads : int
        Key/value heads in place of the model's own.
    condition, prices
        What accelerators are bought as (``new``, ``used``, ``any``), and dollars in
        place of prices of the catalog: ``{"rtx-5090": 4500}``.
    explain : bool
        Show how each figure was worked out, and where its inputs come from.
    assumptions, catalog
        Assumptions by name or file, and overlay folders.

    Returns
    -------
    TrainingDocument

    Raises
    ------
    InputError
        With a diagnostic for each option that cannot be used.

    Examples
    --------
    >>> import planopt
    >>> evaluation = planopt.evaluate_training(
    ...     accelerator="a100-sxm-80", network="infiniband-200g", tokens="2T",
    ...     tp=8, pp=4, dp=64, sequence_parallel=True, shard="zero1",
    ... )
    >>> evaluation.feasible
    True
    """
    opened = open_catalog(catalog, assumptions, accelerator or accelerators)
    reader = OptionReader()
    assumed: list[Assumed] = []
    if model is None:
        assumed.append(Assumed(name="model", value=DEFAULT_MODEL))
    shares = read_shares(reader, accelerators)
    if accelerator is None and accelerators is None:
        reader.problem(
            "E005",
            "which accelerator?",
            option="accelerator",
            accepted="an id of `planopt catalog list accelerators`",
        )
    if accelerator is not None and accelerators is not None:
        reader.problem(
            "E004",
            "one kind of accelerator, or several?",
            option="accelerators",
            value=",".join(reader.names("accelerators", accelerators)),
            accepted="--accelerator or --accelerators, not both",
        )
    counts = {
        "tp": tp,
        "pp": pp,
        "vpp": vpp,
        "dp": dp,
        "cp": cp,
        "ep": ep,
        "micro_batch": micro_batch,
        "global_batch": global_batch,
        "seq_len": seq_len,
        "shard_group": shard_group,
        "accelerators_per_host": accelerators_per_host,
        "nics_per_host": nics_per_host,
        "lora_rank": lora_rank,
        "expert_tp": expert_tp,
        "loss_chunks": loss_chunks,
        "kv_heads": kv_heads,
    }
    names = {
        "accelerator": accelerator,
        "host": host,
        "link": link,
        "network": network,
        "schedule": schedule,
        "context_parallel": context_parallel,
        "recompute": recompute,
        "framework": framework,
        "shard": shard,
        "precision": precision,
        "gradients": gradients,
        "optimizer": optimizer,
        "frozen_weights": frozen_weights,
        "model_flops": model_flops,
    }
    asked: dict[str, Any] = {
        **{name: reader.count(name, value) for name, value in counts.items()},
        **names,
        "mtp_modules": read_mtp_modules(reader, mtp_modules),
        "redundancy": reader.count("redundancy", redundancy, minimum=0),
        "nominal_parameters": reader.quantity(
            "nominal_parameters",
            nominal_parameters,
            "count",
            least=1,
            most=LARGEST_TOKENS,
        ),
        "tokens": read_tokens(reader, tokens),
        "mfu": reader.quantity("mfu", mfu, "share", most=1.0),
        "offload": list(reader.names("offload", offload)),
        "sequence_parallel": sequence_parallel,
        "master_weights": _yes(reader, "master_weights", master_weights),
        "flash_attention": _yes(reader, "flash_attention", flash_attention),
        "dropout": dropout,
        "causal": _yes(reader, "causal", causal),
    }
    if explain:
        reader.out_of_place(
            {"accelerators": accelerators, "link": link},
            "is not explained",
            accepted="--accelerator, in a host of the catalog with its own links",
        )
    paid = read_prices(reader, opened, condition=condition, prices=prices)
    reader.finish()
    opened = opened.priced(**paid)
    request = {
        "model": DEFAULT_MODEL if model is None else model,
        **{name: value for name, value in asked.items() if value is not None},
    }
    mixed = None
    if shares:
        both = opened.ask("evaluate_mixed", {**request, "shares": shares})
        answer, way = better_of(both)
        other = both["balanced" if way == "slowest" else "slowest"]
        mixed = mixed_of(both, way, evaluation_of(other))
        kinds = " + ".join(dict.fromkeys(share["accelerator"] for share in shares))
        request["accelerator"] = kinds
    else:
        answer = opened.ask("evaluate_training", request)
    assumed += _filled_in(request, answer)
    evaluation = evaluation_of(answer)
    if not shares and "mfu" not in request:
        evaluation = with_intervals(opened, evaluation, request)
    document = TrainingDocument(
        **{name: getattr(evaluation, name) for name in evaluation.__struct_fields__},
        model=request["model"],
        candidate=candidate_of(request, answer),
        hardware=hardware_of(answer),
        bill_of_materials=sourced(opened, map(bom_line, answer["bill_of_materials"])),
        mixed=mixed,
        assumed=tuple(assumed),
        assumptions=assumptions,
    )
    if not explain:
        return document
    from planopt.second_opinion import derivation_of_training

    derivation = derivation_of_training(request, document.hardware, opened)
    return msgspec.structs.replace(document, derivation=derivation)


def with_intervals(
    catalog: Catalog, evaluation: TrainingEvaluation, request: Mapping[str, Any]
) -> TrainingEvaluation:
    """Add what the figures are expected to lie in."""
    classes = model_classes(catalog, request["accelerator"], request["model"])
    step, memory = evaluation.step_seconds, evaluation.memory
    found: dict[str, Interval | None] = {}
    if memory is not None:
        found["memory_bytes"] = interval("memory", memory.total_bytes, classes)
    if step is not None:
        seconds = interval("step_time", step, classes)
        found["step_seconds"] = seconds
        if seconds is not None:
            for name, value in (
                ("tokens_per_second", evaluation.tokens_per_second),
                ("days", evaluation.days),
            ):
                found[name] = _as_the_step(name, value, step, seconds)
    known = {name: each for name, each in found.items() if each is not None}
    return msgspec.structs.replace(evaluation, intervals=known)


def _as_the_step(
    name: str, value: float | None, step: float, seconds: Interval
) -> Interval | None:
    """Give a figure that follows from the step the interval that follows, too."""
    if value is None:
        return None
    slow, fast = seconds.high / step, seconds.low / step
    low, high = (fast, slow) if name == "days" else (1 / slow, 1 / fast)
    return Interval(
        low=value * low, high=value * high, extrapolated=seconds.extrapolated
    )


def _filled_in(
    request: Mapping[str, Any], answer: Mapping[str, Any]
) -> Iterator[Assumed]:
    """Say what the core has filled in."""
    if "global_batch" not in request:
        yield Assumed(
            name="global batch",
            value=f"{answer['global_batch']} sequences",
            why="4M tokens, in whole micro-batches. Say --global-batch N",
        )
    if "seq_len" not in request:
        yield Assumed(name="sequence length", value=f"{answer['seq_len']} tokens")
    if "mtp_modules" not in request:
        yield from assumed_mtp(answer["mtp_modules"])


def assumed_mtp(modules: int) -> Iterator[Assumed]:
    """Say what is trained beside the model, where that was not asked for."""
    if modules:
        yield Assumed(
            name="multi-token prediction",
            value=f"{modules} module{'s' if modules > 1 else ''}",
            why="as published. Say --mtp-modules N, 0 for none",
        )


def read_tokens(reader: OptionReader, tokens: TextOrNumber | None) -> float | None:
    """Read the tokens of a run, such as ``2T``."""
    return reader.quantity("tokens", tokens, "tokens", least=1, most=LARGEST_TOKENS)


def read_mtp_modules(
    reader: OptionReader, mtp_modules: TextOrNumber | None
) -> int | None:
    """Read how many modules of multi-token prediction are trained; 0 is none."""
    return reader.count("mtp_modules", mtp_modules, minimum=0)


def evaluation_of(answer: Mapping[str, Any]) -> TrainingEvaluation:
    """Read the core's answer; what it leaves out is not known."""
    known = {
        name: value
        for name, value in answer.items()
        if name in TrainingEvaluation.__struct_fields__ and value is not None
    }
    return msgspec.convert(known, TrainingEvaluation)


def candidate_of(
    request: Mapping[str, Any], answer: Mapping[str, Any]
) -> TrainingCandidate:
    """Put together what was asked for and what the core filled in."""
    both = {
        **request,
        "batch": request.get("micro_batch", 1),
        "schedule": _schedule(request),
        **{
            name: answer[name]
            for name in (
                "expert_data_parallel",
                "micro_batches",
                "global_batch",
                "seq_len",
                "mtp_modules",
            )
        },
    }
    known = {
        name: value
        for name, value in both.items()
        if name in TrainingCandidate.__struct_fields__ and value is not None
    }
    return msgspec.convert(known, TrainingCandidate)


def _schedule(request: Mapping[str, Any]) -> str | None:
    """Schedule of a pipeline, as the core takes it where it is not given."""
    if request.get("pp", 1) == 1:
        return None
    usual = "interleaved" if request.get("vpp", 1) > 1 else "1f1b"
    return str(request.get("schedule", usual))


def _yes(reader: OptionReader, option: str, value: bool | str) -> bool:  # noqa: FBT001 - an option that is a word or a truth value
    """Read yes or no."""
    if isinstance(value, bool):
        return value
    return reader.choice(option, value, YES_NO) != "no"
