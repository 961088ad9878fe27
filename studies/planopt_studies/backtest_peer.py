"""What AISimulate predicts of measured runs, for the backtest to choose by.

It is run as it is installed, by its command line (`peers`). A call takes seconds, so
that so many runs are asked as there is time for: all runs of some model, lengths and
users at once, in seeded order, for a choice is among those.
"""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planopt_studies.peers import ONE_POOL, SECONDS, Peer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planopt.accuracy.serving_rows import ServingRow

__all__ = ["asked_of", "groups_of", "latencies_of"]

_MODELS: Final = {
    ("deepseek-v3", "fp8"): "deepseek-ai/DeepSeek-V3",
    ("gpt-oss-120b", "published"): "openai/gpt-oss-120b",
    ("kimi-k2.5", "int4"): "moonshotai/Kimi-K2.5",
    ("llama-3.1-70b", "fp8"): "nvidia/Llama-3.1-70B-Instruct-FP8",
    ("minimax-m2.5", "fp8"): "MiniMaxAI/MiniMax-M2.5",
}
_DENSE: Final = ("llama-3.1-70b",)
_CARDS: Final = {"h100-sxm": "h100_sxm", "h200-sxm": "h200_sxm", "b200": "b200_sxm"}
_REQUESTS: Final = 3
"""Of each user: the first wave and two more."""
_SIDE_BY_SIDE: Final = 2


def asked_of(row: ServingRow) -> dict[str, object] | None:
    """Put a run as they take it; none where they know no such model or card."""
    model = _MODELS.get((row.model, row.weight_format))
    card = _CARDS.get(row.accelerator)
    if model is None or card is None or row.has_two_pools or row.replicas > 1:
        return None
    prompt, output = (
        ((least or whole) + (most or whole)) // 2
        for least, whole, most in (
            (row.prompt_tokens_least, row.prompt_tokens, row.prompt_tokens_most),
            (row.output_tokens_least, row.output_tokens, row.output_tokens_most),
        )
    )
    ranks = row.tp * row.dp_attention
    users = row.users or 1
    parallelism = {
        "replicas": 1,
        "tensor": row.tp,
        "pipeline": row.pp,
        "attention_data": row.dp_attention,
        "moe_tensor": 1 if row.model in _DENSE else ranks // row.ep,
        "moe_expert": row.ep,
    }
    return {
        "traffic": {
            "source": {
                "type": "synthetic",
                "input_tokens": prompt,
                "output_tokens": output,
            },
            "load": {"type": "concurrency", "concurrency": users},
            "stop": {"requests": _REQUESTS * users},
        },
        "engine": {
            "mode": ONE_POOL,
            "model": model,
            "hardware": card,
            "backend": row.engine,
            "context_length": row.prompt_tokens + row.output_tokens,
            "workers": {ONE_POOL: {"parallelism": parallelism}},
        },
    }


def groups_of(rows: Iterable[ServingRow], most: int, seed: int) -> list[ServingRow]:
    """Choose runs that they can be asked of: whole groups, `most` in all."""
    groups: dict[tuple[object, ...], list[ServingRow]] = defaultdict(list)
    for row in rows:
        key = (row.model, row.prompt_tokens, row.output_tokens, row.users or 1)
        groups[key].append(row)
    known = [own for _, own in sorted(groups.items()) if all(map(asked_of, own))]
    random.Random(seed).shuffle(known)
    chosen: list[ServingRow] = []
    for own in known:
        if len(own) > 1 and len(chosen) + len(own) <= most:
            chosen += own
    return chosen


def latencies_of(
    rows: Sequence[ServingRow], tool: str, seconds: float = SECONDS
) -> Mapping[str, tuple[float, float]]:
    """Return milliseconds of a token and of the first one; infinite of refusals."""

    def ask(row: ServingRow) -> tuple[float, float]:
        asked = asked_of(row)
        with tempfile.TemporaryDirectory(prefix="planopt-") as folder:
            came = Peer(tool, Path(folder), seconds).asked("predict", asked or {})
        if isinstance(came, str):
            print(f"{row.id}: {came}", flush=True)
            return inf, inf
        return came["mean_tpot_ms"], came["mean_ttft_ms"]

    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        names = (row.id for row in rows)
        return dict(zip(names, pool.map(ask, rows), strict=True))
