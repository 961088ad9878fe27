"""A serving run as it was measured: the columns of the schema of serving."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from msgspec import Struct

from planopt.accuracy.columns import Count, Figure, Format, Name, Share, Tokens
from planopt.accuracy.serving import MeasuredReplica, UnpredictableError, known_models
from planopt.documents.validation import Comparison, Missing, Outcome
from planopt.loads import Arrivals, Latencies, Length, Load, Sizes

_GB: Final = 1e9
_MILLI: Final = 1e3
# Rounds of a run at saturation: its ends, at which fewer are served, hardly count.
_ROUNDS: Final = 5
# Users of a run at saturation, as a multiple of what the cache has room for.
_SATURATED: Final = 2
_MOST_REQUESTS: Final = 4096
# Caches of a disaggregated run go over the scale-up network or InfiniBand: 400 Gbit/s.
# Routers and the hand-over of a cache add about a tenth of a second: the least by which
# such runs of few users are late.
_TRANSFER_BYTES_PER_SECOND: Final = 50e9
_TRANSFER_LATENCY: Final = 0.1
# A cache's bytes of a token are those of so many over their number.
_CACHED_TOKENS: Final = 4096


_DEGREES: Final = {"tp": "tp", "pp": "pp", "dp": "dp_attention", "ep": "ep"}
_STARTED_WITH: Final = (
    *("max_sequences", "token_budget", "receive_interval"),
    *("batch_wait_steps", "batch_wait_share", "kv_policy"),
)
FIGURES: Final = {
    "decode_tokens_per_second": ("decode", "tok/s"),
    "prefill_tokens_per_second": ("prefill", "tok/s"),
    "output_tokens_per_second": ("throughput", "tok/s"),
    "total_tokens_per_second": ("throughput", "tok/s"),
    "requests_per_second": ("throughput", "req/s"),
    "ttft_ms": ("ttft", "ms"),
    "tpot_ms": ("tpot", "ms"),
    "memory_gb": ("memory", "GB"),
}
"""Columns of what is measured: metric and unit."""


class ServingRow(Struct, frozen=True, kw_only=True):
    """A run: what was served, by what, under which load, and what came out."""

    id: Name
    """Of the row, in its source."""
    source: Name
    """Where it was published, in short."""
    date: str = ""
    """When it was published, or the engine built."""
    engine: Name
    """As the assumptions call it; another is predicted without an engine."""
    engine_version: str = ""
    """Not used by predictions yet."""
    model: Name
    """Id in the catalog."""
    weight_format: Format | Literal["published"]
    """`published` is what the model's own checkpoint has."""
    weight_bits: Figure | None = None
    """Bits of a quantised weight, where they are not those of the format."""
    head_bits: Figure | None = None
    """Bits of a weight of the head, where it is quantised."""
    kv_format: Format | Literal["activations"]
    """Of the KV cache; `activations` is 16 bits, as they are."""
    accelerator: Name
    """Id in the catalog."""
    tp: Count
    """Of a replica; of a decoding one, where prompts have their own."""
    pp: Count
    dp_attention: Count
    """Ranks that attend each for themselves."""
    ep: Count
    replicas: Count
    network: str = ""
    """Between hosts; empty inside of one."""
    usable_memory_share: Share | None = None
    """Of the memory that the engine was told to plan with; empty for its own."""
    prefill_tp: Count | None = None
    """Of a replica that reads prompts alone; empty where one does both."""
    prefill_pp: Count | None = None
    prefill_dp_attention: Count | None = None
    prefill_ep: Count | None = None
    prefill_replicas: Count | None = None
    prefill_network: str = ""
    prefill_usable_memory_share: Share | None = None
    load: Literal["steady", "static", "closed", "open", "benchmark"]
    """`steady`: sequences decode side by side, or a prompt is read alone; `static`: all
    at once; `closed`: each user asks again; `open`: as they come; `benchmark`: as many
    as the engine takes."""
    users: Count | None = None
    """Of a steady or a closed load."""
    requests: Count | None = None
    """In all, of every other load."""
    requests_offered_per_second: Figure | None = None
    """Of an open load."""
    prompt_tokens: Tokens
    output_tokens: Tokens
    lengths: Literal["fixed", "uniform", "lognormal"]
    """Around the tokens of prompt and output, which are means of `lognormal`."""
    prompt_tokens_least: Count | None = None
    prompt_tokens_most: Count | None = None
    output_tokens_least: Count | None = None
    output_tokens_most: Count | None = None
    prefix_hit_rate: Share = 0.0
    """Of a prompt, what is cached when it arrives."""
    max_sequences: Count | None = None
    """That the engine serves at a time; empty for its own limit."""
    token_budget: Count | None = None
    """Tokens of a step; empty for the engine's own."""
    kv_policy: Literal["", "reserve"] = ""
    """Whether room for the whole answer is kept before a prompt is read."""
    receive_interval: Count | None = None
    """Steps between looks at the queue."""
    batch_wait_steps: Count | None = None
    """Steps that prompts wait at most while others decode, to be read together."""
    batch_wait_share: Share | None = None
    """Of the tokens of a step, that ends the wait."""
    graph_tokens: Count | None = None
    """Tokens of the largest step with prompts that a graph was captured for, 1 of none;
    empty for the engine's own."""
    kernel_family: str = ""
    """Of the experts' products, where told; not used by predictions yet."""
    decode_tokens_per_second: Figure | None = None
    """Of one user."""
    prefill_tokens_per_second: Figure | None = None
    output_tokens_per_second: Figure | None = None
    """Of all users."""
    total_tokens_per_second: Figure | None = None
    """Prompts and answers of all users."""
    requests_per_second: Figure | None = None
    ttft_ms: Figure | None = None
    tpot_ms: Figure | None = None
    latency_statistic: Literal["", "median"] = ""
    """Of both latencies over requests; empty for the mean."""
    memory_gb: Figure | None = None
    not_judged: Literal["", "ttft", "all"] = ""
    """Figures that nothing should be judged by."""
    group: str = ""
    """Alike for rows that differ in versions and repetition alone."""

    @property
    def figures(self) -> dict[str, tuple[str, float, str]]:
        """What was measured, by column: metric, figure and unit."""
        return {
            column: (metric, figure, unit)
            for column, (metric, unit) in FIGURES.items()
            if (figure := getattr(self, column)) is not None
        }

    @property
    def has_two_pools(self) -> bool:
        """Whether prompts are read by replicas of their own."""
        return self.prefill_tp is not None

    @property
    def sizes(self) -> Sizes:
        """Lengths of its prompts and answers."""
        prompt, output = self.prompt_tokens, self.output_tokens
        if self.lengths == "lognormal":
            # As widely as what people ask and are told.
            prompts, outputs = Length.about(prompt, 1.0), Length.about(output, 1.0)
        else:
            least, most = self.prompt_tokens_least, self.prompt_tokens_most
            prompts = Length.between(least or prompt, most or prompt)
            least, most = self.output_tokens_least, self.output_tokens_most
            outputs = Length.between(least or output, most or output)
        return Sizes(kind="independent", prompt=prompts, output=outputs)

    @property
    def scheduler(self) -> dict[str, object]:
        """Options that the engine was started with."""
        options = ((name, getattr(self, name)) for name in _STARTED_WITH)
        return {name: value for name, value in options if value not in (None, "")}

    def replica(self, assumptions: str, *, prefill: bool = False) -> MeasuredReplica:
        """Return what was measured; or, of two pools, the one of prompts."""
        if self.model not in known_models(assumptions):
            message = f"no model of the catalog is like {self.model}"
            raise UnpredictableError(message)
        published = self.weight_format == "published"
        pool = "prefill_" if prefill else ""
        asked = {
            "model": self.model,
            "accelerator": self.accelerator,
            "engine": self.engine,
            "weights": None if published else self.weight_format,
            "weight_bits": self.weight_bits,
            "head_bits": self.head_bits,
            "kv": None if self.kv_format == "activations" else self.kv_format,
            **{name: getattr(self, pool + of) or 1 for name, of in _DEGREES.items()},
            "network": getattr(self, f"{pool}network") or None,
            "usable_fraction": getattr(self, f"{pool}usable_memory_share"),
            "graph_tokens": self.graph_tokens,
        }
        return MeasuredReplica(assumptions, asked)


def predict_serving(rows: Iterable[ServingRow], assumptions: str) -> Iterator[Outcome]:
    """Predict the figures of every row, or say why not."""
    for row in rows:
        yield from _outcomes(row, assumptions)


def _outcomes(row: ServingRow, assumptions: str) -> list[Outcome]:
    try:
        return list(_compared(row, assumptions))
    except UnpredictableError as error:
        judged = {metric for metric, _, _ in row.figures.values()}
        judged -= judged if row.not_judged == "all" else {row.not_judged}
        return [Missing(row=row.id, reason=str(error), metrics=tuple(sorted(judged)))]


def _compared(row: ServingRow, assumptions: str) -> Iterator[Comparison]:
    replica = row.replica(assumptions)
    report: Latencies | None = None
    for column, (metric, measured, unit) in row.figures.items():
        predicted = _steady(row, column, replica)
        if predicted is None:
            report = report or _loaded(row, replica)
            predicted = _of_report(row, column, report)
        yield Comparison(
            row=row.id,
            source=row.source,
            metric=metric,
            measured=measured,
            predicted=predicted,
            unit=unit,
            accelerator=row.accelerator,
            model=row.model,
            engine=row.engine,
            standing="outside" if row.not_judged in (metric, "all") else "counted",
            precision=str(replica.asked["weights"] or ""),
            layout=replica.layout,
            why={
                "isl": float(row.prompt_tokens),
                "osl": float(row.output_tokens),
                "users": float(row.users or 0),
                "pools": 2.0 if row.has_two_pools else 1.0,
            },
            group_of_alike=row.group,
        )


def _steady(row: ServingRow, column: str, replica: MeasuredReplica) -> float | None:
    """Return a figure that needs no simulated load."""
    prompt, output, users = row.prompt_tokens, row.output_tokens, row.users or 1
    if column == "memory_gb":
        _, memory = replica.evaluated(batch=users, context=prompt + output)
        return memory.total_bytes / _GB
    if column == "prefill_tokens_per_second":
        return prompt / replica.prompt_seconds(prompt=prompt)
    if column == "decode_tokens_per_second" or row.load == "steady":
        # Half of the answer is cached on average while it grows.
        answer, _ = replica.evaluated(batch=users, context=prompt + output // 2)
        seconds = answer.decode.step_seconds or 0.0
        return 1 / seconds if column != "tpot_ms" else seconds * _MILLI
    return None


def _loaded(row: ServingRow, replica: MeasuredReplica) -> Latencies:
    prompt, output = lengths = row.prompt_tokens, row.output_tokens
    scheduler = row.scheduler

    def load(arrivals: Arrivals) -> Load:
        hits = row.prefix_hit_rate
        return Load(arrivals=arrivals, sizes=row.sizes, prefix_hit_rate=hits)

    if row.load in ("static", "open"):
        requests = row.requests or 1
        arrivals = Arrivals(kind="trace", seconds=[0.0] * requests)
        if row.load == "open":
            rate = row.requests_offered_per_second
            arrivals = Arrivals(kind="poisson", per_second=rate)
        return replica.simulated(
            load(arrivals), lengths, requests=requests, engine=scheduler
        )
    if row.load == "benchmark":
        tokens = prompt + output
        answer, _ = replica.evaluated(context=tokens)
        room = int(answer.kv_capacity_tokens or 0) // tokens
        users = max(min(_SATURATED * room, row.max_sequences or _MOST_REQUESTS), 1)
        rounds = _ROUNDS * users
        requests = max(min(row.requests or rounds, rounds), users)
    else:
        users = row.users or 1
        requests = max(min(row.requests or users, _MOST_REQUESTS), users)
    closed = load(Arrivals(kind="closed", users=users, start="together"))
    if not row.has_two_pools:
        return replica.simulated(closed, lengths, requests=requests, engine=scheduler)
    _, memory = replica.evaluated(context=_CACHED_TOKENS)
    decode = replica.request(batch=1, prompt=prompt, context=prompt + output) | {
        "replicas": row.replicas,
        "scheduler": scheduler,
        "transfer": {
            "latency_seconds": _TRANSFER_LATENCY,
            "seconds_per_token": memory.kv_cache_bytes
            / _CACHED_TOKENS
            / _TRANSFER_BYTES_PER_SECOND,
        },
    }
    return row.replica(replica.assumptions, prefill=True).simulated(
        closed,
        lengths,
        requests=requests,
        engine=scheduler,
        decode=decode,
        replicas=row.prefill_replicas or 1,
    )


def _of_report(row: ServingRow, column: str, report: Latencies) -> float:
    if column in ("ttft_ms", "tpot_ms"):
        latency = report.ttft_seconds if column == "ttft_ms" else report.tpot_seconds
        is_median = row.latency_statistic == "median"
        return ((latency.p50 if is_median else latency.mean) or 0.0) * _MILLI
    outputs = report.tokens_per_second
    answer = row.output_tokens
    if column == "requests_per_second":
        return outputs / answer
    if column == "total_tokens_per_second":
        return outputs * (row.prompt_tokens + answer) / answer
    return outputs
