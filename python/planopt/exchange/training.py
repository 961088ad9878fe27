"""Runs of training: what a plan says of one, and one that somebody runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from planopt.documents.exchange import Elsewhere, ImportDocument
from planopt.errors import Diagnostic, InputError
from planopt.exchange.terms import Role, fact_of
from planopt.options import Asked, only
from planopt.training.evaluate import evaluated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.catalog.open import Catalog
    from planopt.documents.plan import TrainingPlan
    from planopt.documents.training import TrainingCandidate, TrainingDocument
    from planopt.exchange.hear import Hearing
    from planopt.exchange.tool import Terms, Tool

EVEN = ("1f1b", "interleaved")
SIXTEEN = ("bf16", "fp16")
PASSED_ON = ("expert_tp", "mtp_modules", "context_parallel", "seq_len", "global_batch")
"""Terms that are options by the same name."""
PRECISIONS = ("eight", "four", "sixteen", "precision")
ELSEWHERE = ("accelerators", "hosts")
"""Options beside a command that are none of `evaluate training`."""


def training_role(plan: TrainingPlan) -> Role:
    """Return the run that a plan buys a cluster for."""
    (deployment,) = plan.deployments
    of, memory = deployment.candidate, deployment.evaluation.memory
    hosts = deployment.evaluation.hosts or deployment.hardware.hosts
    table = fact_of(plan, "models", deployment.model).table
    world = of.tp * of.pp * of.dp * of.cp
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
        "tp": of.tp,
        "sequence_parallel": "yes" if of.sequence_parallel else None,
        "no_sequence_parallel": None if of.tp == 1 or of.sequence_parallel else "yes",
        "pp": of.pp,
        "pipeline": "yes" if of.pp > 1 else None,
        "even_stages": 0,
        "vpp": of.vpp,
        "uneven": f"{layers} layers in {chunks} parts" if left and layers else None,
        "layers_of_chunk": None if left else layers // chunks,
        "schedule": of.schedule or "1f1b",
        "odd_schedule": None if of.schedule in (None, *EVEN) else of.schedule,
        "dp": of.dp,
        "cp": of.cp,
        "context_parallel": of.context_parallel if of.cp > 1 else None,
        "ep": of.ep,
        "expert_tp_said": of.expert_tp if of.expert_tp != of.tp else None,
        "micro_batch": of.batch,
        "global_batch": of.global_batch,
        "local_batch": (of.global_batch or 0) // of.dp if of.pp > 1 else of.batch,
        "seq_len": of.seq_len,
        "steps": int((plan.request.tokens or 0) / step) or None if step else None,
        "precision": of.precision,
        "sixteen": of.precision if of.precision in SIXTEEN else "bf16",
        "eight": "fp8" if of.precision == "fp8" else None,
        "four": "nvfp4" if of.precision == "nvfp4" else None,
        "gradients": None if gradients == "fp32" else gradients,
        "optimizer": of.optimizer,
        "offload": "+".join(of.offload) or None,
        "offload_optimizer": "optimizer" if of.offload == ("optimizer",) else None,
        "mtp_modules": of.mtp_modules,
        "lora_rank": of.lora_rank,
        "hosts": hosts,
        "accelerators": world,
        "accelerators_of_host": world // hosts,
    }
    return Role(
        name="train",
        model=deployment.model,
        terms=terms,
        copies=1,
        units=deployment.units,
        accelerator=of.accelerator,
        vendor=None,
        layout=f"TP{of.tp} x PP{of.pp} x DP{of.dp} x CP{of.cp} x EP{of.ep}",
        memory={}
        if memory is None
        else {
            "weights": memory.weights_bytes,
            "gradients": memory.gradients_bytes,
            "optimizer": memory.optimizer_bytes,
            "activations": memory.activations_bytes,
            "overhead": memory.overhead_bytes,
        },
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
    if attention.get("kind") != "grouped" or mlp.get("kind") not in (
        "dense",
        "experts",
    ):
        return {}
    dense, layers = mlp["kind"] == "dense", table.get("layers")
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
        "shape_experts": None if dense else _size(mlp.get("experts")),
        "shape_active": None if dense else _size(mlp.get("active")),
        "shape_expert_width": None if dense else _size(mlp.get("width")),
        "shape_shared_width": None if dense else _size(mlp.get("shared_width")),
        "shape_gated": "yes" if mlp.get("gated") else None,
        "shape_norm": str(table.get("norm")),
        "shape_untied": None if table.get("tied") else "yes",
        "shape_unbiased": None if mlp.get("bias") else "yes",
    }


def _size(value: object) -> int | None:
    return value if isinstance(value, int) and value else None


def read_training(
    of: Tool,
    hearing: Hearing,
    environment: Mapping[str, str],
    beside: dict[str, object],
    catalog: Catalog,
) -> ImportDocument:
    """Evaluate a run on its accelerators, and on others."""
    terms = hearing.terms
    given = terms.get

    def number(name: str, usual: int = 1) -> int:
        value = given(name)
        return usual if value is None else int(str(value))

    tp, pp, cp = number("tp"), number("pp"), number("cp")
    micro = number("micro_batch")
    if "local_batch" in terms and "micro_batch" not in terms:
        micro = number("local_batch") if pp == 1 else 1
    each = number(
        "accelerators_of_host", int(str(beside.get("accelerators_per_host", 0)))
    )
    world = each * number("hosts", int(str(beside.get("hosts", 1))))
    world = world or int(environment.get("WORLD_SIZE", "0"))
    if not world and given("accumulation"):
        world = number("global_batch") // (micro * number("accumulation")) * tp
    if not world and number("dp_shard", -1) > 0:
        world = number("dp_shard") * number("dp_replicate") * tp * pp * cp
    dp, left = divmod(world, tp * pp * cp)
    if left or not dp:
        raise InputError.of(
            "E304",
            "the number of accelerators is no multiple of those of a copy of the model",
            field="--accelerators-per-host",
            value=world or None,
            accepted=f"a multiple of {tp * pp * cp}",
            help="say --accelerators-per-host and --hosts beside it",
        )
    model = _model(terms, beside, catalog)
    options: dict[str, object] = {
        "model": model,
        "tp": tp,
        "pp": pp,
        "cp": cp,
        "dp": dp,
        "ep": number("ep"),
        "vpp": _chunks(terms, pp, catalog.model(str(model)).layers),
        "micro_batch": micro,
        "sequence_parallel": (tp > 1 and given("sequence_parallel") == "yes") or None,
        "expert_tp": given("expert_tp_said"),
        "schedule": given("schedule") if pp > 1 else None,
        "precision": given("eight")
        or given("four")
        or given("sixteen")
        or given("precision"),
        "gradients": given("gradients"),
        "optimizer": given("optimizer"),
        "offload": given("offload_optimizer"),
        "recompute": _recompute(terms),
        "framework": of.framework,
        "accelerators_per_host": each or None,
        **_shards(terms, dp, cp),
        **{name: given(name) for name in PASSED_ON if given(name) is not None},
        **{
            name: one
            for name, one in beside.items()
            if name not in ("accelerators", "hosts")
        },
    }
    if given("steps") and "tokens" not in beside:
        options["tokens"] = number("steps") * number("global_batch") * number("seq_len")
    options = {name: one for name, one in options.items() if one is not None}
    found = ImportDocument(
        tool=of.tool,
        version=of.version,
        kind="training",
        model=str(options["model"]),
        flags=(),
        options={name: str(one) for name, one in options.items()},
    )
    others = beside.get("accelerators")
    if "accelerator" in beside:
        found = replace(found, training=_evaluated(options))
    elif others is None:
        others = [entry.id for entry in catalog.list("accelerators")]
    names = others.split(",") if isinstance(others, str) else others or ()
    assert isinstance(names, (list, tuple))
    elsewhere = [_elsewhere(options, str(name)) for name in names]
    elsewhere.sort(key=lambda one: (not one.fits, -(one.tokens_per_second or 0)))
    return replace(found, elsewhere=tuple(elsewhere))


def _evaluated(options: Mapping[str, object]) -> TrainingDocument:
    return evaluated(
        Asked.by_user("evaluate training", only("evaluate training", options))
    )


def _elsewhere(options: Mapping[str, object], accelerator: str) -> Elsewhere:
    try:
        found = _evaluated({**options, "accelerator": accelerator})
    except InputError as error:
        why = error.diagnostics[0].message
        return Elsewhere(accelerator=accelerator, fits=False, why_not=why)
    return Elsewhere(
        accelerator=accelerator,
        fits=found.feasible,
        tokens_per_second=found.tokens_per_second if found.feasible else None,
        why_not=None if found.feasible else found.rejections[0].message,
    )


def _chunks(terms: Terms, pp: int, layers: int) -> int | None:
    """Return the chunks of a stage, by their number or by layers of one."""
    of_one = terms.get("layers_of_virtual") or terms.get("layers_of_chunk")
    if isinstance(of_one, int):
        return layers // (pp * of_one)
    chunks = terms.get("vpp")
    return chunks if isinstance(chunks, int) else None


def _shards(terms: Terms, dp: int, cp: int) -> dict[str, object]:
    zero = terms.get("zero")
    copies = terms.get("copies_of_shards")
    group = terms.get("shard_group")
    if isinstance(copies, int) and copies > 1:
        group = dp * cp // copies
    if (shard := terms.get("dp_shard")) is not None:
        replicate = int(str(terms.get("dp_replicate", 1)))
        shards = dp // replicate if shard == -1 else int(str(shard))
        zero = "0" if shards * cp == 1 else terms.get("reshard") or "3"
        group = shards * cp if replicate > 1 and shards > 1 else None
    return {"zero": zero, "shard_group": group}


def _recompute(terms: Terms) -> object:
    said = terms.get("recompute_granularity")
    if said == "selective":
        modules = terms.get("recompute_modules")
        return str(modules).replace(" ", "+") if modules else "selective"
    layers = terms.get("recompute_layers", 1)
    if said == "full" and terms.get("recompute_method") == "block":
        return f"layers:{layers}"
    if said == "full" and layers != 1:
        return f"block:{layers}"
    return said or terms.get("recompute")


def _model(terms: Terms, beside: Mapping[str, object], catalog: Catalog) -> object:
    """Return the model that is named, or that has the sizes that are said."""
    sizes = {name: one for name, one in terms.items() if name.startswith("shape_")}
    named = beside.get("model") or terms.get("id")
    names = [str(named)] if named else [each.id for each in catalog.list("models")]
    if not sizes and not named:
        raise InputError.of("E304", "no model is said", field="--model")
    wrong: list[Diagnostic] = []
    for name in names:
        shape = shape_of(catalog.architecture(name))
        differ = {key: one for key, one in sizes.items() if shape.get(key) != one}
        if sizes.keys() - {"shape_vocabulary"} and not differ:
            return name
        wrong = [
            Diagnostic(
                code="E304",
                message=f"{key.removeprefix('shape_')} is another one in {name}",
                field=key,
                value=str(one),
                accepted=str(shape.get(key)),
                help="name the model that is trained: --model",
            )
            for key, one in differ.items()
        ]
    if named and not wrong:
        return named
    if not named:
        raise InputError.of(
            "E304", "no model of the catalog has these sizes", field="--model"
        )
    raise InputError(wrong)
