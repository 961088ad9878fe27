"""A run of training that somebody has, as a question for ``evaluate training``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Literal

from msgspec.structs import replace

from planopt.catalog.open import Catalog
from planopt.documents.exchange import BETTER, Better, ImportDocument
from planopt.documents.training import TrainingCandidate, TrainingDocument
from planopt.errors import Diagnostic, InputError
from planopt.exchange.hear import Hearing
from planopt.exchange.run_terms import shape_of
from planopt.exchange.tool import Options, Terms, count_of
from planopt.options import Asked, only
from planopt.planning.pipeline import Training, answered
from planopt.training.evaluate import evaluated

PASSED_ON = ("expert_tp", "mtp_modules", "context_parallel", "seq_len", "global_batch")
"""Terms that are options by the same name."""
PRECISIONS = ("eight", "four", "sixteen", "precision")
"""Terms that say the precision, the first that is said."""
LAYOUT = (
    *("tp", "sequence_parallel", "pp", "vpp", "schedule", "dp", "cp", "ep"),
    *("context_parallel", "expert_tp", "recompute", "shard_group", "offload"),
)
"""What a plan decides of a run, besides its ZeRO stage and its micro-batch."""
RUN_STEPS = 1000
"""Of a run whose length nobody said: speed does not hang on it."""
ANY_SUM = 1e12
"""Dollars: what is bought is there already."""
ELSEWHERE = ("accelerators", "hosts")
"""Options beside a command that are none of `evaluate training`."""


def read_training(hearing: Hearing, beside: Options, catalog: Catalog) -> Run:
    """Read a run as options of `evaluate training`."""
    terms = hearing.terms
    given, number = terms.get, partial(count_of, terms)
    tp, pp, cp = number("tp"), number("pp"), number("cp")
    micro = number("micro_batch")
    if "local_batch" in terms and "micro_batch" not in terms:
        micro = number("local_batch") if pp == 1 else 1
    each = number(
        "accelerators_of_host", int(str(beside.get("accelerators_per_host", 0)))
    )
    world = each * number("hosts", int(str(beside.get("hosts", 1))))
    world = world or int(hearing.environment.get("WORLD_SIZE", "0"))
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
    degrees = {"tp": tp, "pp": pp, "cp": cp, "dp": dp, "ep": number("ep")}
    options: Options = {
        "model": model,
        **degrees,
        "vpp": _chunks(terms, pp, catalog.model(str(model)).layers),
        "micro_batch": micro,
        "sequence_parallel": (tp > 1 and given("sequence_parallel") == "yes") or None,
        "expert_tp": given("expert_tp_said"),
        "schedule": given("schedule") if pp > 1 else None,
        "precision": next(filter(None, map(given, PRECISIONS)), None),
        **{name: given(name) for name in ("gradients", "optimizer")},
        "offload": given("offload_optimizer"),
        "recompute": _recompute(terms),
        "framework": hearing.tool.framework,
        "accelerators_per_host": each or None,
        **_shards(terms, dp, cp),
        **{name: given(name) for name in PASSED_ON if given(name) is not None},
        **{name: one for name, one in beside.items() if name not in ELSEWHERE},
    }
    if given("steps") and "tokens" not in beside:
        options["tokens"] = number("steps") * number("global_batch") * number("seq_len")
    return Run({name: one for name, one in options.items() if one is not None})


class Run:
    """A run without its accelerators."""

    kind: Literal["training"] = "training"
    remarks: tuple[str, ...] = ()

    def __init__(self, options: Options) -> None:
        self.options = options
        self.model = str(options["model"])

    def here(self, found: ImportDocument, accelerator: str) -> ImportDocument:
        """Evaluate it where it runs, and look for a faster layout there."""
        document, _ = self.on(accelerator)
        return replace(found, training=document, better=self.better(document))

    def better(self, found: TrainingDocument) -> Better | None:
        """Find a layout of the same accelerators that trains faster, by its trainer."""
        of, speed = found.candidate, found.tokens_per_second
        if not found.feasible or not speed or of.lora_rank:
            return None
        steps = {"tokens": (of.global_batch or 1) * (of.seq_len or 1) * RUN_STEPS}
        asked = {
            **steps,
            **only("train", self.options),
            "accelerators": of.accelerator,
            "max_accelerators": of.accelerators,
            "objective": "throughput",
            "budget": ANY_SUM,
            "procurement": "both",
        }
        try:
            plan = answered(Training(), Asked("train", asked), None)
            layout = _layout(plan.deployments[0].candidate)
            whole = {**self.options, **layout}.items()
            run = Run({name: one for name, one in whole if one or name not in layout})
            other, _ = run.on(of.accelerator)
        except (InputError, IndexError):
            return None
        if (other.tokens_per_second or 0) < BETTER * speed:
            return None
        return Better(
            layout=other.candidate.layout,
            batch=other.candidate.batch,
            replicas=1,
            tokens_per_second=other.tokens_per_second,
        )

    def on(self, accelerator: str) -> tuple[TrainingDocument, None]:
        """Evaluate it; no sequences wait for it."""
        given = only("evaluate training", {**self.options, "accelerator": accelerator})
        return evaluated(Asked.by_user("evaluate training", given)), None


def _layout(of: TrainingCandidate) -> Options:
    """Say a layout as options; none of what is 0 or none of it."""
    said = {name: getattr(of, name) for name in LAYOUT}
    zero = of.shard.removeprefix("zero").replace("none", "0")
    return {**said, "zero": zero, "micro_batch": of.batch}


def _chunks(terms: Terms, pp: int, layers: int) -> int | None:
    """Return the chunks of a stage, by their number or by layers of one."""
    of_one = terms.get("layers_of_virtual") or terms.get("layers_of_chunk")
    if isinstance(of_one, int):
        return layers // (pp * of_one)
    chunks = terms.get("vpp")
    return chunks if isinstance(chunks, int) else None


def _shards(terms: Terms, dp: int, cp: int) -> Options:
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
