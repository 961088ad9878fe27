"""A server that somebody runs, as a question for ``evaluate serving``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from planopt.catalog.open import Catalog
from planopt.documents.evaluation import EvaluationDocument, Memory
from planopt.documents.exchange import BETTER, Better, ImportDocument
from planopt.documents.parts import Rejection
from planopt.documents.training import TrainingDocument
from planopt.errors import InputError
from planopt.exchange.hear import Hearing
from planopt.exchange.tool import Options, Terms, Tool, count_of
from planopt.options import Asked, only
from planopt.planning.evaluate import evaluated
from planopt.planning.pipeline import Serving, answered

BESIDE = ("accelerators", "online")
"""Options beside a command that are none of what it runs."""
LOADED = ("concurrency", "request_rate", "people", "sessions")
"""What says how many are served, in place of as many as fit."""
LENGTHS = ("isl", "osl", "workload", *LOADED)
"""What says how long requests are, in place of the longest that a server takes."""
MOST_SEQUENCES = 256
"""Where neither a command nor its tool says how many may run."""
SHARED = ("model", "kv", "max_model_len", "catalog", "assumptions", "price")
"""What the question for a better layout says too."""
_BYTES = {"GiB": 2**30, "GB": 10**9, "MiB": 2**20}
_FILE = re.compile(
    r"(?i)(?P<stem>.+?)[-.](?P<word>[A-Z]*Q\d\w*|BF16|F16|F32|MXFP4)(?:-\w+)?\.gguf"
)


def read_serving(hearing: Hearing, beside: Options, catalog: Catalog) -> Server:
    """Read a server as options of `evaluate serving`."""
    terms = hearing.terms
    model, weights = _model(hearing.tool, terms, beside)
    if beside.get("online"):
        model = catalog.found(str(model))
    about = catalog.model(str(model))
    layout, remarks = _layout(hearing, beside, catalog.has_experts(str(model)))
    options = {
        "model": model,
        **layout,
        **_formats(terms, weights, about.layers, layout),
        "token_budget": terms.get("token_budget"),
        "engine": hearing.tool.tool,
        **{name: each for name, each in beside.items() if name not in BESIDE},
    }
    options = {name: each for name, each in options.items() if each is not None}
    sequences, context = _sequences(terms, layout)
    if not any(name in beside for name in (*LENGTHS, "max_model_len")) and context:
        options["max_model_len"] = context
    return Server(about.id, options, sequences, terms, catalog, tuple(remarks))


@dataclass(frozen=True)
class Server:
    """A server without its accelerator."""

    model: str
    options: Options
    sequences: int
    terms: Terms
    catalog: Catalog
    remarks: tuple[str, ...]
    kind: Literal["serving"] = "serving"

    def here(self, found: ImportDocument, accelerator: str) -> ImportDocument:
        """Evaluate it where it runs, and look for a better layout there."""
        document, held = self.on(accelerator)
        better = self.better(document)
        return replace(found, serving=document, sequences=held, better=better)

    def on(self, accelerator: str) -> tuple[EvaluationDocument, int]:
        """Evaluate as many sequences as it may run and hold; say how many these are."""
        dp = int(str(self.options.get("dp_attention", 1)))
        flight = int(str(self.options.get("in_flight", self.options.get("pp", 1))))
        batch = max(self.sequences // flight, dp)
        while True:
            found = self._evaluated(accelerator, batch)
            memory = found.memory
            if memory is None:
                return found, 0
            room = self._room(accelerator, memory, found, batch // dp * flight)
            if memory.kv_cache_bytes <= room:
                return found, batch * flight
            fewer = int(batch * max(room, 0) / memory.kv_cache_bytes) // dp * dp
            if batch == dp:
                return _too_large(found, room), 0
            batch = max(min(fewer, batch - dp), dp)

    def _evaluated(self, accelerator: str, batch: int) -> EvaluationDocument:
        said = {**self.options, "accelerator": accelerator}
        said["max_sequences" if any(map(said.get, LOADED)) else "batch"] = batch
        given = only("evaluate serving", said)
        return evaluated(Asked.by_user("evaluate serving", given))

    def _room(
        self, accelerator: str, memory: Memory, found: EvaluationDocument, held: int
    ) -> float:
        """Bytes that the server keeps for the cache on each accelerator."""
        used = memory.total_bytes - memory.kv_cache_bytes
        text = self.catalog.text("accelerators", accelerator.split("@")[0], "memory")
        number, _, unit = (text or "").partition(" ")
        whole = memory.capacity_bytes
        if unit in _BYTES:
            whole = float(number) * _BYTES[unit]
        rooms = [memory.capacity_bytes - used]
        of = {
            k: each for k, each in self.terms.items() if isinstance(each, int | float)
        }
        if "kv_bytes" in of:
            rooms.append(of["kv_bytes"])
        elif "share_of_memory" in of:
            rooms.append(of["share_of_memory"] * whole - used)
        if "share_static" in of:
            rooms.append(of["share_static"] * whole - memory.weights_bytes)
        if "kv_tokens_of_group" in of:
            cached = held * (found.context_tokens or 1)
            rooms.append(memory.kv_cache_bytes * of["kv_tokens_of_group"] / cached)
        elif "share_of_free" in of:
            rooms.append(of["share_of_free"] * (whole - used))
        return min(rooms)

    def better(self, found: EvaluationDocument) -> Better | None:
        """Find a layout of the same accelerators that serves more, none slower."""
        speed, user = speed_of(found), found.decode.tokens_per_second_per_user
        if not found.feasible or not speed or not user:
            return None
        candidate = found.candidate
        asked: Options = {
            **only("solve", {name: self.options.get(name) for name in SHARED}),
            "weights": candidate.weights,
            "accelerators": candidate.accelerator,
            "max_accelerators": candidate.accelerators * found.replicas,
            "objective": "throughput",
            "target": user,
            "procurement": "both",
        }
        try:
            plan = answered(Serving(), Asked("solve", asked), None)
        except InputError:
            return None
        if len(plan.deployments) != 1:
            return None
        (other,) = plan.deployments
        most = plan.totals.tokens_per_second
        if most is None or most < BETTER * speed:
            return None
        return Better(
            layout=other.candidate.layout,
            batch=other.candidate.batch,
            replicas=other.replicas,
            tokens_per_second=most,
        )


def speed_of(found: EvaluationDocument | TrainingDocument) -> float | None:
    """Tokens per second of all replicas, under the load where there is one."""
    if isinstance(found, TrainingDocument):
        return found.tokens_per_second
    load, decode = found.under_load, found.decode.tokens_per_second
    if load is not None and load.tokens_per_second is not None:
        return load.tokens_per_second
    return None if decode is None else decode * found.replicas


def _too_large(found: EvaluationDocument, room: float) -> EvaluationDocument:
    memory = found.memory
    assert memory is not None
    if not found.feasible:
        return found
    message = (
        f"one sequence takes {memory.kv_cache_bytes / 1e9:.2f} GB of cache, and "
        f"{max(room, 0) / 1e9:.2f} GB are left of what the command gives"
    )
    rejection = Rejection(code="memory", message=message)
    return replace(found, feasible=False, rejections=(rejection,))


def _model(
    of: Tool, terms: Terms, beside: Mapping[str, object]
) -> tuple[object, str | None]:
    """Return the model, and the format that the name of its file says."""
    said = str(terms.get("weights_file") or terms.get("weights_repository") or "")
    if not said:
        named = str(terms.get("model") or "")
        if "model" not in beside and not named:
            raise InputError.of("E304", "the command names no model", field="--model")
        if named.rstrip("/").startswith((".", "/", "$", "~")):
            named = named.rstrip("/").split("/")[-1]
        return beside.get("model") or named, None
    file = said.rsplit("/", 1)[-1].replace(":", "-")
    found = _FILE.fullmatch(file if file.endswith(".gguf") else f"{file}.gguf")
    words = {
        word.lower(): own
        for flag in of.flags
        if flag.term == "weights_file"
        for own, word in reversed(flag.values.items())
    }
    terms["model"] = file
    if found is None or found["word"].lower() not in words:
        if "weights" not in beside:
            raise InputError.of(
                "E304",
                "the name of the file does not say the format of its weights",
                field="-m",
                value=file,
                accepted=", ".join(words),
                help="say --weights beside it",
            )
        return beside.get("model") or file.removesuffix(".gguf"), None
    return beside.get("model") or found["stem"], words[found["word"].lower()]


def _layout(
    hearing: Hearing,
    beside: Options,
    experts: bool,  # noqa: FBT001 - of the model
) -> tuple[Options, list[str]]:
    """Return degrees and replicas."""
    terms, remarks = hearing.terms, list[str]()
    visible = hearing.environment.get("CUDA_VISIBLE_DEVICES", "")
    cards = len(str(terms.get("even_split") or visible or "0").split(","))
    tp, pp, copies = (count_of(terms, name) for name in ("tp", "pp", "copies"))
    ranks = count_of(terms, "ranks", 0)
    dp = ranks if ranks and terms.get("dp") == "ranks" else count_of(terms, "dp")
    if terms.get("copies_share"):
        dp, copies = copies, 1
    if ranks:
        tp = ranks // dp
        if tp * dp != ranks:
            raise InputError.of(
                "E304", "groups of attention do not divide the ranks", value=dp
            )
    if "layers_on_accelerators" in terms or "split" in terms or "even_split" in terms:
        cards = int(str(beside.get("accelerators_per_host", cards)))
        split = terms.get("split", "layer")
        tp, pp = (cards, 1) if split == "row" else (1, cards)
        tp, pp = (1, 1) if split == "none" else (tp, pp)
        if cards == 1 and not visible and "even_split" not in terms:
            remarks.append("one card is assumed; say --accelerators-per-host N")
    if dp > 1 and not experts and not ranks:
        dp, copies = 1, dp * copies
    ep = tp * dp if terms.get("ep") == "ranks" else count_of(terms, "ep")
    layout = {"tp": tp, "pp": pp, "cp": count_of(terms, "cp")}
    layout |= {"ep": ep, "dp_attention": dp}
    said: Options = {name: each for name, each in layout.items() if each > 1}
    if copies > 1:
        said["replicas"] = copies
    if terms.get("overlap"):
        said["overlap"] = terms["overlap"]
    hosts = terms.get("hosts") or terms.get("group_hosts")
    if hosts is not None and int(str(hosts)) > 1:
        said["hosts"] = hosts
    return said, remarks


def _formats(
    terms: Terms, weights: str | None, layers: int, layout: Options
) -> Options:
    on = terms.get("layers_on_accelerators")
    stages = int(str(layout.get("pp", 1)))
    away = max(layers - on, 0) if isinstance(on, int) and on >= 0 else 0
    away = count_of(terms, "offload_experts", 0) or away
    method, adapters = terms.get("draft_method"), terms.get("lora_adapters")
    draft = terms.get("draft_model") if method == "model" else method
    return {
        "weights": weights or terms.get("weights") or terms.get("dtype"),
        "kv": terms.get("kv"),
        "offload": -(-away // stages) or None,
        "draft": draft,
        "draft_tokens": terms.get("draft_tokens") if method else None,
        "lora_adapters": None if adapters == "yes" else adapters,
        "lora_rank": terms.get("lora_rank"),
    }


def _sequences(terms: Terms, layout: Options) -> tuple[int, int | None]:
    """Return how many sequences may run, and how long one may be."""
    dp = int(str(layout.get("dp_attention", 1)))
    sequences = count_of(terms, "sequences", MOST_SEQUENCES)
    if "sequences_of_group" in terms:
        sequences = count_of(terms, "sequences_of_group") * dp
    if "micro_batch_of_group" in terms:
        micro = count_of(terms, "micro_batch_of_group")
        layout["in_flight"] = max(sequences // (micro * dp), 1)
    slots = count_of(terms, "context_of_slots", 0)
    context = slots // max(sequences, 1) if slots else terms.get("context")
    return sequences, context if isinstance(context, int) and context > 0 else None
