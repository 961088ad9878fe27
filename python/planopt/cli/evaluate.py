"""``planopt evaluate``: what one configuration does, whether or not it fits."""

from typing import Any

import typer

from planopt.cli.exits import OK
from planopt.cli.options import (
    ASSUMPTIONS,
    CATALOGS,
    DRAFTING,
    ENGINE,
    JSON,
    LAYOUT,
    LENGTHS,
    LOAD,
    MODEL,
    MODEL_NAME,
    PREFILL_POOL,
    PRICES,
    RECIPE,
    SPARE_HOSTS,
    count,
    several,
    switch,
    takes,
    text,
)
from planopt.cli.output import show

app = typer.Typer(
    help="Evaluate one configuration.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("serving")
@takes(
    *MODEL,
    text("accelerator", "NAME", "Accelerator of the catalog"),
    text("host", "NAME", "Host that holds the accelerators"),
    text("link", "NAME", "Link between accelerators of a host"),
    text("network", "NAME", "Network between the hosts of a replica"),
    count("nics_per_host", "NICs of a host [default: 1]"),
    count("hosts", "Hosts of one replica"),
    count("tp", "Tensor-parallel degree"),
    count("pp", "Pipeline stages"),
    count("cp", "Context-parallel degree: ranks that divide prompts and caches"),
    count("dp", "Attention data parallel: groups of TP ranks in a stage"),
    count("ep", "Expert-parallel degree: of the TP x DP ranks of a stage"),
    count("replicas", "Copies of the model"),
    *LAYOUT,
    text("offload", "N|auto", "Layers of each stage whose weights rest in the host"),
    text("offload_to", "host|disk", "Its memory or its disks [default: host]"),
    count("lora_adapters", "LoRA adapters that accelerators hold"),
    count("lora_rank", "Their rank"),
    count("image_tokens", "Tokens that images add to a prompt"),
    text("encoder_parameters", "0.6B", "Parameters of what encodes images"),
    count("patches_per_token", "Patches that make a token of an image [default: 4]"),
    *LENGTHS,
    *DRAFTING,
    *LOAD,
    text("arrival_cv", "2", "How bursty requests are: 1 at random, more is burstier"),
    text("prefix_hit_rate", "40%", "Share of a prompt that is found in the cache"),
    *ENGINE,
    *PREFILL_POOL,
    *PRICES,
    switch("explain", "Show how each figure was worked out"),
    *ASSUMPTIONS,
)
def serving(*, json: JSON = False, **options: Any) -> int:
    """Evaluate one way of serving a model: memory, speed, cost, power.

    planopt evaluate serving --accelerator rtx-4090 --tp 4 --pp 2 --batch 8
    """
    from planopt.planning.evaluate import evaluate_serving
    from planopt.report.evaluation import render_evaluation

    evaluation = evaluate_serving(**options)
    show(evaluation, render_evaluation, json=json)
    return OK


@app.command("training")
@takes(
    MODEL_NAME,
    text("accelerator", "NAME", "Accelerator of the catalog"),
    text("accelerators", "ID:N,ID:N", "Accelerators of several kinds in one run"),
    text("host", "NAME", "Host that holds the accelerators"),
    count("accelerators_per_host", "Accelerators of a host [default: its slots]"),
    text("link", "NAME", "Link between accelerators of a host"),
    text("network", "NAME", "Network between hosts"),
    count("nics_per_host", "NICs of a host [default: all it has room for]"),
    count("tp", "Tensor-parallel degree"),
    switch("sequence_parallel", "Divide activations between products by sequence"),
    count("pp", "Pipeline stages"),
    count("vpp", "Chunks of layers of one stage"),
    text("schedule", "gpipe|1f1b|interleaved", "Order of micro-batches"),
    count("dp", "Data-parallel degree"),
    count("cp", "Context-parallel degree"),
    text("context_parallel", "ring|all-to-all", "How parts of a sequence meet"),
    count("ep", "Expert-parallel degree"),
    count("micro_batch", "Sequences of a micro-batch"),
    text(
        "recompute",
        "none|selective|full|block:K|layers:K",
        "What forward does again instead of keeping it",
    ),
    text("shard", "none|zero1|zero2|zero3", "What data-parallel ranks divide"),
    count("shard_group", "Ranks that divide it among each other [default: all]"),
    several("offload", "PART", "Keep in the host: optimizer, activations"),
    count("lora_rank", "Rank of adapters on a frozen model"),
    text("frozen_weights", "FORMAT", "Format of the frozen weights"),
    count("expert_tp", "Tensor-parallel degree of experts: that of all, or 1"),
    text("framework", "NAME", "Framework that trains [default: megatron]"),
    count("loss_chunks", "Pieces in which the loss goes through a micro-batch"),
    text("master_weights", "yes|no", "Weights are kept in 32 bits too"),
    text("flash_attention", "yes|no", "Attention that keeps no probabilities"),
    text("causal", "yes|no", "Tokens look back only"),
    switch("dropout", "Train with dropout"),
    *RECIPE,
    SPARE_HOSTS,
    text("model_flops", "full|causal|6nd", "Which arithmetic counts for MFU"),
    text("nominal_parameters", "N", "Parameters of 6nd, as published figures round"),
    text("mfu", "43%", "Model FLOPs utilisation in place of the computed one"),
    count("kv_heads", "Key/value heads, in place of the model's own"),
    *PRICES,
    switch("explain", "Show how each figure was worked out"),
    *CATALOGS,
)
def training(*, json: JSON = False, **options: Any) -> int:
    """Evaluate one way of training a model: memory, step time, days, cost.

    planopt evaluate training --accelerator a100-sxm-80 --network infiniband-200g
    --tp 8 --pp 4 --dp 64 --sequence-parallel --shard zero1 --tokens 2T
    """
    from planopt.report.evaluation import render_evaluation
    from planopt.training.evaluate import evaluate_training

    evaluation = evaluate_training(**options)
    show(evaluation, render_evaluation, json=json)
    return OK
