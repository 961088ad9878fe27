"""Rows of serving_silicon.csv: closed-loop runs, mean TTFT and TPOT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from planopt.accuracy.measurements import Comparison, Missing
from planopt.accuracy.serving import (
    MeasuredReplica,
    UnpredictableError,
    Weights,
    known_models,
)
from planopt.accuracy.sources import harness
from planopt.accuracy.sources.serving_words import engine_of, model_of, weights_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planopt.accuracy.measurements import Outcome, Row

__all__ = ["SILICON", "accelerators_of"]

# The system's name in the table and ours.
_ACCELERATORS: Final = {
    "a100_sxm": "a100-sxm-80",
    "h100_sxm": "h100-sxm",
    "h200_sxm": "h200-sxm",
    "b200_sxm": "b200",
    "b300_sxm": "b300",
    "rtx_pro_6000_server": "rtx-pro-6000-blackwell-server",
    "gb200_sxm": "gb200",
    "gb300_sxm": "gb300",
}
_MILLI: Final = 1e3
_HOST: Final = 8
# Models whose published weights mix formats: they are served as they were published.
_AS_PUBLISHED: Final = ("gpt-oss",)
# Caches of a disaggregated run go over the scale-up network or InfiniBand: 400 Gbit/s.
# Routers and the hand-over of a cache add about a tenth of a second: the least by which
# such runs of few users are late.
_TRANSFER_BYTES_PER_SECOND: Final = 50e9
_TRANSFER_LATENCY: Final = 0.1


class _Silicon:
    """The schema of serving_silicon.csv."""

    name = "serving runs"
    columns = frozenset(
        {"backend", "system", "model_path", "isl", "osl", "concurrency"}
        | {"silicon_ttft_ms", "silicon_tpot_ms"}
    )
    needed = frozenset({"isl", "osl", "silicon_ttft_ms", "silicon_tpot_ms"})

    def predict(self, rows: Sequence[Row], assumptions: str) -> Iterator[Outcome]:
        """Predict TTFT and TPOT of every run."""
        seen: set[tuple[str, str]] = set()
        for row in rows:
            repeat = (row["silicon_ttft_ms"], row["silicon_tpot_ms"])
            if repeat in seen:
                yield Missing(row=row["id"], reason="repeats another row")
                continue
            seen.add(repeat)
            yield from _predict(row, assumptions)


SILICON: Final = _Silicon()


def _predict(row: Row, assumptions: str) -> Iterator[Outcome]:
    excluded = row.get("exclude", "")
    without_ttft = excluded == "ttft" or harness.compiles_meanwhile(row["id"])
    metrics = ("tpot",) if without_ttft else ("ttft", "tpot")
    workers = row["prefill_num_workers"] and row["decode_num_workers"]
    if row["mode"] != "agg" and not workers:
        yield Missing(row=row["id"], reason="workers of the pools are not stated")
        return
    if not row["concurrency"]:
        yield Missing(row=row["id"], reason="concurrency is not stated")
        return
    try:
        replica, report = _simulated(row, assumptions)
    except UnpredictableError as error:
        yield Missing(row=row["id"], reason=str(error), metrics=metrics)
        return
    is_told = harness.tells_of_drafts(row["id"])
    measured = {
        "ttft": (float(row["silicon_ttft_ms"]), report["ttft_seconds"]["mean"]),
        "tpot": (float(row["silicon_tpot_ms"]), report["tpot_seconds"]["mean"]),
    }
    for metric, (value, seconds) in measured.items():
        if seconds is None:
            continue
        yield Comparison(
            row=row["id"],
            source=harness.source_of(row),
            metric=metric,
            measured=value,
            predicted=seconds * _MILLI,
            unit="ms",
            accelerator=replica.accelerator,
            model=replica.model,
            engine=replica.engine or row["backend"],
            standing="counted" if metric in metrics and is_told else "outside",
            precision=replica.weights.format or "",
            layout=replica.layout,
            why={
                "isl": float(row["isl"]),
                "osl": float(row["osl"]),
                "concurrency": float(row["concurrency"]),
                "pools": 1.0 if row["mode"] == "agg" else 2.0,
            },
        )


def _simulated(row: Row, assumptions: str) -> tuple[MeasuredReplica, Mapping[str, Any]]:
    users = int(float(row["concurrency"]))
    sizes = harness.sizes_of(row)
    if row["mode"] == "agg":
        replica = _replica(row, "", assumptions)
        engine = harness.engine_options(row, replica.model, users)
        prompts = harness.prompts_per_user(row, replica.model)
        return replica, replica.closed_loop(
            users, sizes=sizes, prompts_per_user=prompts, engine=engine
        )
    prefill = _replica(row, "prefill_", assumptions)
    decode = _replica(row, "decode_", assumptions)
    request = decode.request(batch=1, prompt=sizes.prompt, context=1)
    request["context"] = sizes.prompt + sizes.output
    request["replicas"] = _count(row, "decode_num_workers")
    request["scheduler"] = {"max_sequences": users}
    request["transfer"] = {
        "latency_seconds": _TRANSFER_LATENCY,
        "seconds_per_token": _cached_bytes_per_token(decode)
        / _TRANSFER_BYTES_PER_SECOND,
    }
    workers = _count(row, "prefill_num_workers")
    report = prefill.closed_loop(
        users,
        sizes=sizes,
        prompts_per_user=harness.prompts_per_user(row, decode.model),
        decode=request,
        replicas=workers,
    )
    return decode, report


def _cached_bytes_per_token(replica: MeasuredReplica) -> float:
    """Return the bytes of a token's cache on the fullest accelerator."""
    tokens = 4096
    answer = replica.evaluated(batch=1, prompt=1, context=tokens)
    return float(answer["memory"]["kv_cache_bytes"]) / tokens


def _replica(row: Row, pool: str, assumptions: str) -> MeasuredReplica:
    model = model_of(row["model_path"], known_models(assumptions))
    if model is None:
        message = f"no model of the catalog is like {row['model_path']}"
        raise UnpredictableError(message)
    engine = engine_of(row["backend"])
    weights = weights_of(row["gemm_quant_mode"] or row["precision"])
    if model.startswith(_AS_PUBLISHED):
        weights = Weights()
    accelerators = accelerators_of(row, pool)
    dp = min(_count(row, f"{pool}attention_dp_size"), accelerators)
    ep = min(_count(row, f"{pool}moe_ep_size"), accelerators)
    return MeasuredReplica(
        assumptions=assumptions,
        model=model,
        accelerator=_ACCELERATORS.get(row["system"], row["system"]),
        engine=engine,
        weights=weights,
        kv=harness.cache_format(row, engine, weights.format, model),
        tp=accelerators // dp,
        pp=_count(row, f"{pool}pp_size"),
        dp=dp,
        ep=ep if accelerators % ep == 0 else 1,
        network="infiniband-400g" if accelerators > _HOST else None,
        usable_fraction=harness.usable_fraction(row, model, accelerators),
    )


def _count(row: Row, column: str) -> int:
    """Return a degree; the table has 0 and nothing for 1."""
    text = row.get(column, "")
    return max(int(float(text)), 1) if text else 1


def accelerators_of(row: Row, pool: str) -> int:
    """Return the accelerators of a replica.

    Some engines count attention ranks inside of the tensor-parallel group and some
    beside it; and where the table has as many ranks for each expert as there are parts
    of the experts, both are all of them, and their product is no number of anything.
    """
    tp, dp = _count(row, f"{pool}tp_size"), _count(row, f"{pool}attention_dp_size")
    experts = _count(row, f"{pool}moe_tp_size"), _count(row, f"{pool}moe_ep_size")
    if dp in (1, tp):
        return tp
    if experts[0] == experts[1] and dp == experts[0] * experts[1]:
        return experts[0]
    return tp * dp
