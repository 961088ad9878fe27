"""Rows of serving_silicon.csv: closed-loop runs, mean TTFT and TPOT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from planopt.accuracy.serving_rows import ServingRow
from planopt_studies.prepare import harness
from planopt_studies.prepare.inference import count, serving_formats
from planopt_studies.prepare.rules import kept, repeats
from planopt_studies.prepare.serving_words import engine_of, model_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt_studies.prepare.rules import Ledger, Raw

__all__ = ["COLUMNS", "accelerators_of", "prepare_silicon"]

COLUMNS: Final = frozenset(
    {"backend", "system", "model_path", "isl", "osl", "concurrency"}
    | {"silicon_ttft_ms", "silicon_tpot_ms"}
)
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
_FIGURES: Final = ("silicon_ttft_ms", "silicon_tpot_ms")
_HOST: Final = 8
# Models whose published weights mix formats: they are served as they were published.
_AS_PUBLISHED: Final = ("gpt-oss",)


def prepare_silicon(
    rows: Iterable[Raw], models: frozenset[str], ledger: Ledger
) -> list[ServingRow]:
    """Bring rows into the schema of serving."""
    rules = (
        repeats(_latencies),
        workers_of_the_pools_are_not_stated,
        concurrency_is_not_stated,
    )
    return [_row(row, models, ledger) for row in kept(rows, rules, ledger)]


def _latencies(row: Raw) -> tuple[str, ...]:
    """Return what tells runs apart: some are there again with rounded figures."""
    figures = (f"{float(row[name]):.2f}" for name in _FIGURES)
    return (row["system"], row["isl"], row["osl"], *figures)


def workers_of_the_pools_are_not_stated(row: Raw) -> bool:
    """Whether a run of two pools does not say how many replicas they have."""
    workers = row["prefill_num_workers"] and row["decode_num_workers"]
    return row["mode"] != "agg" and not workers


def concurrency_is_not_stated(row: Raw) -> bool:
    """Whether nobody knows how many users there were."""
    return not row["concurrency"]


def _row(row: Raw, models: frozenset[str], ledger: Ledger) -> ServingRow:
    users = int(float(row["concurrency"]))
    model = model_of(row["model_path"], models) or row["model_path"]
    engine = engine_of(row["backend"])
    weights, formats = serving_formats(
        row["gemm_quant_mode"] or row["precision"],
        None,
        published=model.startswith(_AS_PUBLISHED),
    )
    is_whole = row["mode"] == "agg"
    options = {"max_sequences": users}
    pools: dict[str, Any] = {}
    if is_whole:
        pools = {**_pool(row, "", model), "replicas": 1}
        cards = pools["tp"] * pools["dp_attention"]
        divided = harness.parallel_of(row, model, users, cards)
        if divided is not None:
            ledger.changed["ranks of experts and attention as configured"] += 1
            pools["ep"], pools["dp_attention"] = divided
            pools["tp"] = cards // divided[1]
        attention_ranks = pools["dp_attention"]
        options = harness.engine_options(row, model, users, attention_ranks)
    else:
        prefill, decode = _pool(row, "prefill_", model), _pool(row, "decode_", model)
        divides = harness.divides_in_pools(row)
        if divides is not None:
            ledger.changed["ranks of pools as scripted"] += 1
            prefill, decode = (
                _ranked(each, divides=divides) for each in (prefill, decode)
            )
        pools = {f"prefill_{name}": value for name, value in prefill.items()}
        pools["prefill_replicas"] = count(row["prefill_num_workers"])
        pools |= decode
        pools["replicas"] = count(row["decode_num_workers"])
    not_judged = ""
    if row.get("exclude") == "ttft" or harness.compiles_meanwhile(row["id"]):
        ledger.changed["first tokens are not judged by"] += 1
        not_judged = "ttft"
    if not harness.tells_of_drafts(row["id"]):
        ledger.changed["not judged by: drafts are not told"] += 1
        not_judged = "all"
    if harness.hides_replicas(row, users):
        ledger.changed["not judged by: replicas are not told"] += 1
        not_judged = "all"
    if harness.waits_behind_a_limit(row):
        ledger.changed["not judged by: the limit on sequences is not told"] += 1
        not_judged = "all"
    columns = {
        "id": row["id"],
        "source": harness.source_of(row),
        "date": harness.date_of(row["id"]),
        "engine": engine or row["backend"],
        "engine_version": row["backend_version"],
        "model": model,
        **formats,
        "kv_format": harness.cache_format(row, engine, weights.format, model),
        "accelerator": _ACCELERATORS.get(row["system"], row["system"]),
        **pools,
        "load": "closed",
        "users": users,
        "requests": users * harness.prompts_per_user(row, model),
        **harness.lengths_of(row),
        **options,
        "ttft_ms": float(row["silicon_ttft_ms"]),
        "tpot_ms": float(row["silicon_tpot_ms"]),
        "not_judged": not_judged,
    }
    return msgspec.convert(columns, ServingRow)


def _pool(row: Raw, pool: str, model: str) -> dict[str, Any]:
    """Return the layout of the replicas of a pool."""
    accelerators = accelerators_of(row, pool)
    dp = min(_degree(row, f"{pool}attention_dp_size"), accelerators)
    ep = min(_degree(row, f"{pool}moe_ep_size"), accelerators)
    return {
        "tp": accelerators // dp,
        "pp": _degree(row, f"{pool}pp_size"),
        "dp_attention": dp,
        "ep": ep if accelerators % ep == 0 else 1,
        "network": "infiniband-400g" if accelerators > _HOST else "",
        "usable_memory_share": harness.usable_fraction(row, model, accelerators),
    }


def _ranked(pool: dict[str, Any], *, divides: bool) -> dict[str, Any]:
    """Return a pool's layout with all its ranks together or each for itself."""
    ranks = pool["tp"] * pool["dp_attention"]
    tp, own = (1, ranks) if divides else (ranks, 1)
    return pool | {"tp": tp, "dp_attention": own, "ep": own}


def _degree(row: Raw, column: str) -> int:
    """Return a degree; the table has 0 and nothing for 1."""
    return count(row.get(column, ""))


def accelerators_of(row: Raw, pool: str) -> int:
    """Return the accelerators of a replica.

    Some engines count attention ranks inside of the tensor-parallel group and some
    beside it; and where the table has as many ranks for each expert as there are parts
    of the experts, both are all of them, and their product is no number of anything.
    """
    tp, dp = _degree(row, f"{pool}tp_size"), _degree(row, f"{pool}attention_dp_size")
    experts = _degree(row, f"{pool}moe_tp_size"), _degree(row, f"{pool}moe_ep_size")
    if dp in (1, tp):
        return tp
    if experts[0] == experts[1] and dp == experts[0] * experts[1]:
        return experts[0]
    return tp * dp
