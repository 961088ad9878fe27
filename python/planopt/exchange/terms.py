"""What a plan says of what it buys, as terms that tools have words for."""

from __future__ import annotations

from operator import itemgetter

from msgspec import Struct

from planopt._native import parse_quantity
from planopt.catalog.overlay import bare
from planopt.documents.evaluation import Deployment, Pool, ServingEvaluation
from planopt.documents.facts import Fact
from planopt.documents.parts import Candidate
from planopt.documents.plan import Plan, PlanDocument
from planopt.errors import InputError
from planopt.exchange.tool import Terms

LISTEN = "0.0.0.0"
"""Other machines are to reach a server."""
SIXTEEN_BITS = ("bf16", "fp16", "fp32")
DENSE = ("dense", "none")
SAME = ("tp", "pp", "cp", "dp", "ep", "overlap", "accelerators")
"""Terms that are fields of a candidate by the same names."""


class Role(Struct, frozen=True, kw_only=True):
    """Copies of the same work in the same layout."""

    name: str
    model: str
    terms: Terms
    copies: int
    units: int
    """What is bought of: a unit holds its share of the copies."""
    accelerator: str
    vendor: str | None
    layout: str
    memory: dict[str, float]
    """Bytes of each accelerator, by what they are for."""


class Shape(Struct, frozen=True, kw_only=True):
    """What a plan carries of its model."""

    repository: str
    """Where its weights are: its first alias with a slash, or its id."""
    layers: int | None
    weights: str | None
    experts: bool
    longest: int | None

    @classmethod
    def of(cls, plan: PlanDocument, model: str) -> Shape:
        """Read the facts of a plan."""
        table = fact_of(plan, "models", model).table
        aliases = [str(each) for each in table.get("aliases", ()) if "/" in str(each)]
        kinds = [block.get("mlp", {}).get("kind") for block in table.get("block", ())]
        repository = aliases[0] if aliases else model
        return cls(
            # No name is taken for a flag.
            repository=f"./{repository}" if repository[:1] == "-" else repository,
            layers=table.get("layers"),
            weights=table.get("weights"),
            experts=any(kind not in (None, *DENSE) for kind in kinds),
            longest=table.get("max_context"),
        )


def fact_of(plan: PlanDocument, kind: str, name: str) -> Fact:
    """Return an entry of the catalogs as the plan carries it, if it does."""
    entries = {} if plan.facts is None else plan.facts.entries
    return entries.get(f"{kind}/{name}") or Fact.of({})


def serving_roles(plan: Plan) -> list[Role]:
    """List what the plan buys replicas of."""
    roles = []
    for number, each in enumerate(plan.deployments, 1):
        serve = f"serve-{number}" if len(plan.deployments) > 1 else "serve"
        name = serve if each.role == "colocated" else each.role
        roles.append(_role(plan, name, each, each.evaluation, each.units))
    return roles


def pool_roles(plan: Plan) -> list[Role]:
    """List the two pools that a plan has beside what it buys."""
    pools = plan.disaggregated
    if pools is None:
        return []
    return [
        _role(plan, name, pool, pool.evaluation)
        for name, pool in (("prefill", pools.prefill), ("decode", pools.decode))
        if pool.evaluation is not None
    ]


def _role(
    plan: Plan,
    name: str,
    copies: Deployment | Pool,
    evaluation: ServingEvaluation,
    units: int = 1,
) -> Role:
    of, memory = copies.candidate, evaluation.memory
    if memory is None:
        raise InputError.of("E301", "the plan does not say what memory holds")
    model = plan.deployments[0].model if plan.deployments else plan.request.model or ""
    shape = Shape.of(plan, model)
    room = memory.capacity_bytes - (memory.total_bytes - memory.kv_cache_bytes)
    terms = {
        **_layout(of, evaluation.hosts or 1),
        **_formats(of, shape),
        **_batches(plan, of, evaluation, shape),
        **_draft(of),
        "model": shape.repository,
        "stem": shape.repository.rsplit("/", 1)[-1],
        "listen": LISTEN,
        "role": name if name in ("prefill", "decode") else "colocated",
        "experts": "yes" if shape.experts else "no",
        "kv_bytes": int(room),
    }
    return Role(
        name=name,
        model=model,
        terms=terms,
        copies=copies.replicas,
        units=units,
        accelerator=of.accelerator,
        vendor=fact_of(plan, "accelerators", of.accelerator).table.get("vendor"),
        layout=of.layout,
        memory={
            "weights": memory.weights_bytes,
            "KV cache": room,
            "activations": memory.activations_bytes,
            "overhead": memory.overhead_bytes,
        },
    )


def _layout(of: Candidate, hosts: int) -> Terms:
    ranks = of.tp * of.dp
    split = {(False, False): "none", (True, False): "row", (False, True): "layer"}
    groups = hosts > 1 and of.dp > 1 and of.dp % hosts == 0
    return {
        **{name: getattr(of, name) for name in SAME},
        "ranks": ranks,
        "expert_tp": ranks // of.ep if of.ep > 1 else None,
        "pipeline": "yes" if of.pp > 1 else "no",
        "in_flight": None if of.in_flight == of.pp else of.in_flight,
        "hosts": hosts,
        "group_hosts": hosts if of.dp == 1 else None,
        "groups_of_host": of.dp // hosts if groups else None,
        "accelerators_of_host": -(-of.accelerators // hosts),
        "accelerators_of_hosts": of.accelerators // hosts if hosts > 1 else None,
        "split": split.get((of.tp > 1, of.pp > 1), "rows and layers"),
        "even_split": ",".join("1" * of.accelerators) if of.accelerators > 1 else None,
    }


def _formats(of: Candidate, shape: Shape) -> Terms:
    sixteen = of.weights in SIXTEEN_BITS
    away = (of.offload or 0) * of.pp
    on = (shape.layers or 0) - away
    return {
        "kv": of.kv,
        "dtype": of.weights if sixteen else None,
        "weights": None if sixteen or of.weights == shape.weights else of.weights,
        "weights_file": of.weights,
        "lora_adapters": of.lora_adapters or None,
        "lora_rank": of.lora_rank if of.lora_adapters else None,
        "offload": of.offload or None,
        "offload_experts": away if away and shape.experts else None,
        "layers_on_accelerators": on if away and not shape.experts else "all",
    }


def _batches(
    plan: Plan, of: Candidate, evaluation: ServingEvaluation, shape: Shape
) -> Terms:
    slots = of.batch * of.in_flight * (2 if of.overlap == "two-batch" else 1)
    most = max(_may_hold(plan, of.accelerator), of.batch)
    sequences = max(slots, most * of.in_flight)
    capacity = evaluation.kv_capacity_tokens
    tokens = None if capacity is None else int(capacity / of.dp)
    asked = plan.request
    context = asked.context_tokens
    if asked.percentile is not None and "max_model_len" not in asked.typed:
        # Lengths are spread: a server that took the mean would turn half of them away.
        fits = [each for each in (shape.longest, tokens) if each is not None]
        context = min(fits, default=context)
    budget = asked.engine.get("token_budget")
    cached = None if context is None else context * slots
    if cached is not None and tokens is not None:
        cached = min(cached, max(tokens * of.dp, slots))
    return {
        "sequences": sequences,
        "slots": slots,
        "sequences_of_group": -(-sequences // of.dp),
        "micro_batch_of_group": -(-most // of.dp),
        "context": context,
        "context_of_slots": cached,
        "kv_tokens_of_group": tokens,
        "token_budget": budget if isinstance(budget, int) else None,
    }


def _may_hold(plan: Plan, accelerator: str) -> int:
    """Tell how many sequences of a micro-batch the engine of a load was simulated with.

    So many are there in the mean (`batch`), and more when many come at once.
    """
    if plan.request.percentile is None:
        return 0
    given = plan.request.engine.get("max_sequences")
    if isinstance(given, int) or plan.facts is None:
        return given if isinstance(given, int) else 0
    fits = plan.facts.fits.get("assumptions")
    table = {} if fits is None else fits.table
    engine = table.get("engines", {}).get(plan.request.engine_name, {})
    memory = _bytes(
        fact_of(plan, "accelerators", accelerator).table.get("memory", "0 GB")
    )
    reached = [
        (_bytes(each.get("memory", "0 GiB")), each)
        for each in engine.get("steps", {}).values()
        if accelerator not in each.get("except", ())
    ]
    # The limits of most memory that the accelerator has, else those of any engine.
    fits_in = [each for each in reached if each[0] <= memory]
    own = max(fits_in, key=itemgetter(0), default=None)
    said = (table.get("engine", {}) if own is None else own[1]).get("max_sequences", 0)
    return int(str(bare(said)))


def _bytes(figure: object) -> float:
    return parse_quantity(str(bare(figure)), "bytes")


def _draft(of: Candidate) -> Terms:
    if of.draft is None:
        return {}
    tokens = of.draft_tokens or 1
    own = of.draft == "mtp"
    return {
        "draft_method": "mtp" if own else "model",
        "draft_model": None if own else of.draft,
        "draft_tokens": tokens,
        "draft_branches": 1,
        "draft_checked": tokens + 1,
    }
