"""What a plan says of a run of training, as terms that tools have words for."""

from collections.abc import Mapping

from planopt.documents.plan import TrainingPlan
from planopt.documents.training import TrainingCandidate
from planopt.exchange.terms import Role, fact_of
from planopt.exchange.tool import Terms

SAME = (
    *("tp", "pp", "vpp", "dp", "cp", "ep", "global_batch", "seq_len", "precision"),
    *("optimizer", "mtp_modules", "lora_rank", "accelerators"),
)
"""Terms that are fields of a candidate by the same names."""
EVEN = ("1f1b", "interleaved")
SIXTEEN = ("bf16", "fp16")
HELD = ("weights", "gradients", "optimizer", "activations", "overhead")


def training_role(plan: TrainingPlan) -> Role:
    """Return the run that a plan buys a cluster for."""
    (deployment,) = plan.deployments
    of, memory = deployment.candidate, deployment.evaluation.memory
    hosts = deployment.evaluation.hosts or deployment.hardware.hosts
    table = fact_of(plan, "models", deployment.model).table
    shape = shape_of(table)
    layers, chunks = int(str(table.get("layers", 0))), of.pp * of.vpp
    left = layers % chunks or not layers
    gradients = plan.request.gradients
    step = (of.global_batch or 0) * (of.seq_len or 0)
    terms: Terms = {
        **shape,
        **_sharded(of),
        **_recomputed(of.recompute),
        "id": deployment.model,
        "shape": "of no one kind of layer" if not shape else "one",
        **{name: getattr(of, name) for name in SAME},
        "sequence_parallel": "yes" if of.sequence_parallel else None,
        "no_sequence_parallel": None if of.tp == 1 or of.sequence_parallel else "yes",
        "pipeline": "yes" if of.pp > 1 else None,
        "even_stages": 0,
        "uneven": f"{layers} layers in {chunks} parts" if left and layers else None,
        "layers_of_chunk": None if left else layers // chunks,
        "schedule": of.schedule or "1f1b",
        "odd_schedule": None if of.schedule in (None, *EVEN) else of.schedule,
        "context_parallel": of.context_parallel if of.cp > 1 else None,
        "expert_tp_said": of.expert_tp if of.expert_tp != of.tp else None,
        "micro_batch": of.batch,
        "local_batch": (of.global_batch or 0) // of.dp if of.pp > 1 else of.batch,
        "steps": int((plan.request.tokens or 0) / step) or None if step else None,
        "sixteen": of.precision if of.precision in SIXTEEN else "bf16",
        "eight": "fp8" if of.precision == "fp8" else None,
        "four": "nvfp4" if of.precision == "nvfp4" else None,
        "gradients": None if gradients == "fp32" else gradients,
        "offload": "+".join(of.offload) or None,
        "offload_optimizer": "optimizer" if of.offload == ("optimizer",) else None,
        "hosts": hosts,
        "accelerators_of_host": of.accelerators // hosts,
    }
    return Role(
        name="train",
        model=deployment.model,
        terms=terms,
        copies=1,
        units=deployment.units,
        accelerator=of.accelerator,
        vendor=None,
        layout=of.layout,
        memory={}
        if memory is None
        else {name: getattr(memory, f"{name}_bytes") for name in HELD},
    )


def _sharded(of: TrainingCandidate) -> Terms:
    zero = of.shard.removeprefix("zero") if of.shard != "none" else "0"
    everywhere = of.dp * of.cp
    group = of.shard_group or everywhere
    shards = max(group // of.cp, 1) if zero in ("2", "3") else 1
    return {
        "zero": zero,
        "sharded": None if zero == "0" else zero,
        "reshard": None if zero == "0" else zero,
        "fsdp": "yes" if zero in ("2", "3") else None,
        "shard_group": None if group == everywhere else group,
        "copies_of_shards": None if group == everywhere else everywhere // group,
        "dp_shard": shards,
        "dp_replicate": of.dp // shards,
    }


def _recomputed(said: str) -> Terms:
    """Say what Megatron-Core calls it."""
    kind, _, number = said.partition(":")
    if kind in ("none", "selective"):
        return {
            "recompute": said,
            "recompute_granularity": "selective" if kind == "selective" else None,
        }
    if kind in ("full", "block", "layers"):
        return {
            "recompute": said,
            "recompute_granularity": "full",
            # Its blocks are single layers, and its uniform is what blocks are here.
            "recompute_method": "block" if kind == "layers" else "uniform",
            "recompute_layers": int(number or 1),
        }
    return {
        "recompute": said,
        "recompute_granularity": "selective",
        "recompute_modules": said.replace("+", " "),
    }


def shape_of(table: Mapping[str, object]) -> Terms:
    """Return a model of one kind of layer as its sizes; nothing of any other."""
    blocks = table.get("block")
    if not isinstance(blocks, (list, tuple)) or len(blocks) != 1:
        return {}
    attention, mlp = blocks[0].get("attention") or {}, blocks[0].get("mlp") or {}
    kinds = attention.get("kind"), mlp.get("kind")
    if kinds not in (("grouped", "dense"), ("grouped", "experts")):
        return {}
    experts, layers = mlp if mlp["kind"] == "experts" else {}, table.get("layers")
    grouped = attention.get("kv_heads") != attention.get("heads")
    return {
        "shape_layers": layers if isinstance(layers, int) else None,
        "shape_hidden": _size(table.get("hidden")),
        "shape_width": _size(mlp.get("width")),
        "shape_heads": _size(attention.get("heads")),
        "shape_grouped": "yes" if grouped else None,
        "shape_kv_heads": _size(attention.get("kv_heads")) if grouped else None,
        "shape_head_dim": _size(attention.get("head_dim")),
        "shape_vocabulary": _size(table.get("vocabulary")),
        "shape_experts": _size(experts.get("experts")),
        "shape_active": _size(experts.get("active")),
        "shape_expert_width": _size(experts.get("width")),
        "shape_shared_width": _size(experts.get("shared_width")),
        "shape_gated": "yes" if mlp.get("gated") else None,
        "shape_norm": str(table.get("norm")),
        "shape_untied": None if table.get("tied") else "yes",
        "shape_unbiased": None if mlp.get("bias") else "yes",
    }


def _size(value: object) -> int | None:
    return value if isinstance(value, int) and value else None
