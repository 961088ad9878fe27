"""A range of batches: what each costs in tokens, and that the best was taken."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.architecture import model_from_table
from planopt_reference.derivation import formula
from planopt_reference.mismatch import Mismatch, compared
from planopt_reference.operations import MatMul

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt_reference.facts import Facts
    from planopt_reference.operations import Model

    Document = Mapping[str, Any]

_RANGE: Final = r"\s*(\d[\d_]*)\s*\.\.\s*(\d[\d_]*)\s*"
# Tokens of a step that a published run has where nothing else is said.
_USUAL_STEP: Final = 4 << 20
# Kaplan et al. 2020, arXiv 2001.08361, equations 1.1 and 5.3.
_PARAMETER_SCALE: Final = 8.8e13
_PARAMETER_EXPONENT: Final = 0.076
_BATCH_SCALE: Final = 2e8
_BATCH_EXPONENT: Final = 0.21


# Section 15, "B_crit =".
@formula("B* / ((N_c / N)^alpha_N)^(1 / alpha_B)", section="15", unit="tokens")
def critical_batch(model: Model) -> float:
    """Return the batch, in tokens, at which tokens to a loss are twice the fewest."""
    met: float = sum(
        each.parameters / each.experts * each.active
        if isinstance(each, MatMul)
        else each.parameters
        for layer in model.layers
        for each in layer
    )
    exponent: float = _PARAMETER_EXPONENT / _BATCH_EXPONENT
    return _BATCH_SCALE * math.pow(met / _PARAMETER_SCALE, exponent)


# Section 15, "tokens".
@formula("tokens (1 + B / B_crit) / (1 + B_0 / B_crit)", section="15", unit="tokens")
def tokens_needed(tokens: float, *, of: float, batch: float, critical: float) -> float:
    """Return the tokens that one batch needs where another needs `tokens`."""
    return tokens * (1 + batch / critical) / (1 + of / critical)


def tried_batches(least: int, most: int, stated: int) -> list[int]:
    """Return the batches that are tried of a range."""
    doubled = {least << times for times in range(most.bit_length())}
    powers = {1 << times for times in range(most.bit_length())}
    within = {each for each in doubled | powers if least <= each <= most}
    return sorted(within | {stated, most})


def batch_mismatches(
    plan: Document, request: Document, facts: Facts
) -> Iterator[Mismatch]:
    """Compute tokens of each batch again, and hold the plan against the best."""
    typed = str((request.get("typed") or {}).get("global_batch", ""))
    asked, told = re.fullmatch(_RANGE, typed), plan.get("batches")
    if asked is None or told is None:
        if asked is not None or told is not None:
            yield Mismatch("batches", told, typed or None, "as it was typed")
        return
    least, most = (int(end.replace("_", "")) for end in asked.groups())
    length = request["seq_len"]
    stated = min(max(_USUAL_STEP // length, least, 1), most)
    critical = request.get("critical_batch_tokens")
    if critical is None:
        embedded = request.get("architecture")
        table = embedded or facts.model_table(request["model"])
        critical = critical_batch(
            model_from_table(table, kv_heads=request.get("kv_heads"))
        )
    batches = tried_batches(least, most, stated)
    if plan.get("why") == "time":
        batches = batches[: max(1, len(told["tried"]))]
    tokens = [
        tokens_needed(
            told["stated_tokens"],
            of=stated * length,
            batch=each * length,
            critical=critical,
        )
        for each in batches
    ]
    reason = "recomputed from the training page"
    expected = {"critical_batch_tokens": critical, "stated_batch": stated}
    yield from compared("batches", told, expected, reason)
    tried = told["tried"]
    yield from compared("batches.tried", len(tried), len(batches), reason)
    for index, (one, batch, needed) in enumerate(
        zip(tried, batches, tokens, strict=False)
    ):
        field = f"batches.tried[{index}]"
        yield from compared(
            field, one, {"global_batch": batch, "tokens": needed}, reason
        )
    yield from _best_mismatches(plan, request, tried)


def _best_mismatches(
    plan: Document, request: Document, tried: list[Document]
) -> Iterator[Mismatch]:
    """Hold a plan against what is told of its batch, and that against the others."""
    known = {each["global_batch"]: each for each in tried}
    own = known[request["global_batch"]]
    run = plan["deployments"][0]["evaluation"]
    expected = {
        "tokens": request["tokens"],
        "price_usd": plan["price_usd"],
        "days": run["days"],
    }
    yield from compared("batches.tried[of the plan]", own, expected, "as the plan says")
    is_fastest = plan.get("objective") == "throughput"
    by = "days" if is_fastest else "price_usd"
    for index, other in enumerate(tried):
        value = other.get(by)
        if value is not None and value < own[by] and not math.isclose(value, own[by]):
            reason = "the plan has the best batch"
            yield Mismatch(f"batches.tried[{index}].{by}", value, own[by], reason)
