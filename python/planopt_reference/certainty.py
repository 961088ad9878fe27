"""How slow kinds of hardware may be, and how likely promises are (model.md, 9)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from planopt_reference.mismatch import RELATIVE_TOLERANCE, Mismatch, compared

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planopt_reference.facts import Facts

    Document = Mapping[str, Any]

# Assumptions whose errors were measured, and the factor of all others.
_MEASURED: Final = "calibrated"
_OTHERWISE: Final = 1.25
# Behind a class where no engine is named: errors of runs under any.
_ANY_ENGINE: Final = ", any engine"
_TENTH: Final = 0.1
# Standard deviations that nothing is beyond, and halvings to the last bit of a float.
_FAR: Final = 30.0
_HALVINGS: Final = 64
# Percentiles of a short simulation are off by so much.
_NOISE: Final = 0.1


@dataclass(frozen=True)
class Kind:
    """Measured over predicted time of steps: a tenth below, a tenth above."""

    grade: str
    low: float
    high: float
    of: str | None = None
    metric: str | None = None
    rows: int = 0
    groups: int | None = None
    data: str | None = None

    @property
    def median(self) -> float:
        """Return what half of the steps are above."""
        if self.low <= 1 <= self.high:
            return 1.0
        return math.exp((math.log(self.low) + math.log(self.high)) / 2)

    def slower(self, confidence: float | None) -> float:
        """Return the multiple of a prediction that a share of steps is below."""
        if confidence is None:
            return 1.0
        return self.at(_deviations(confidence))

    def at(self, deviations: float) -> float:
        """Return the multiple so many standard deviations from the median."""
        end = math.log((self.high if deviations > 0 else self.low) / self.median)
        of_the_end = abs(deviations) / _deviations(1 - _TENTH)
        return math.exp(math.log(self.median) + end * of_the_end)

    def chance(self, longer: float) -> float:
        """Return the share of steps that are below a multiple of the prediction."""
        least, most = -_FAR, _FAR
        for _ in range(_HALVINGS):
            middle = (least + most) / 2
            if self.at(middle) <= longer:
                least = middle
            else:
                most = middle
        return _below(least)


def _below(deviations: float) -> float:
    return 0.5 * math.erfc(-deviations / math.sqrt(2))


def _deviations(share: float) -> float:
    """Return how far from the median of a normal distribution a share is below."""
    least, most = -_FAR, _FAR
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        if _below(middle) < share:
            least = middle
        else:
            most = middle
    return (least + most) / 2


def share(confidence: object) -> float | None:
    """Return a confidence as a number."""
    return None if confidence is None else int(str(confidence).rstrip("%")) / 100


def kind(facts: Facts, request: Document, accelerator: str) -> Kind:
    """Return what is known of a request's model on an accelerator."""
    if request["assumptions"] != _MEASURED:
        return Kind("none", 1 / _OTHERWISE, _OTHERWISE)
    training = request.get("tokens") is not None
    model = "moe" if has_experts(facts, request) else "dense"
    named = training or request.get("engine_name") is not None
    end = model if named else model + _ANY_ENGINE
    metrics = ("step_time",) if training else ("tpot", "decode")
    rows = {(row["metric"], row["of"]): row for row in facts.residuals()["residual"]}
    for name, grade in (
        (accelerator, "measured"),
        (facts.accelerator(accelerator).family, "family"),
    ):
        for metric in metrics:
            row = rows.get((metric, f"{name} {end}"))
            if row is not None:
                low, high = row["low"], row["high"]
                if metric == "decode":  # measured as a rate
                    low, high = 1 / high, 1 / low
                return _kind(grade, low, high, row)
    everything = "all" if named else f"all{_ANY_ENGINE}"
    other = [
        row
        for (metric, of), row in rows.items()
        if metric == metrics[0] and (of.endswith(f" {end}") or of == everything)
    ]
    if not other:
        return Kind("none", 1 / _OTHERWISE, _OTHERWISE)
    slowest = max(other, key=lambda row: row["high"])
    fastest = min(row["low"] for row in other)
    return _kind("none", fastest, slowest["high"], slowest)


def _kind(grade: str, low: float, high: float, row: Document) -> Kind:
    known = (row.get("groups"), row.get("data"))
    return Kind(grade, low, high, row["of"], row["metric"], row["rows"], *known)


def judged(facts: Facts, request: Document, accelerator: str, of: Document) -> float:
    """Return how slow steps of a part of a fleet are judged as, of its own model."""
    confidence = share(request.get("confidence"))
    if confidence is None:
        return 1.0
    own = {**of, "assumptions": request["assumptions"]}
    return kind(facts, own, accelerator).slower(confidence)


def has_experts(facts: Facts, request: Document) -> bool:
    """Return whether a request's model is a mixture of experts."""
    table = request.get("architecture") or facts.model_table(request["model"])
    kinds = (block.get("mlp", {}).get("kind") for block in table["block"])
    return "experts" in kinds


def certainty_mismatches(
    plan: Document,
    request: Document,
    kinds: Mapping[str, Kind],
    held_to: Mapping[str, float] | None,
) -> Iterator[Mismatch]:
    """Compute again what a plan says of its evidence, its chance and its prices.

    Parameters
    ----------
    plan, request : mapping
        A plan that buys something, and its question.
    kinds : mapping
        What is known of the accelerators that it uses.
    held_to : mapping, optional
        How much longer than predicted steps may be, by accelerator; none where that
        was simulated.
    """
    if "promises" not in plan:
        return
    confidence = share(request.get("confidence"))
    yield from compared("confidence", plan.get("confidence"), confidence, "asked")
    stated = plan.get("evidence") or {}
    told = {each.get("accelerator"): each for each in stated.get("kinds") or ()}
    names, listed = sorted(kinds), [str(each) for each in told]
    if sorted(listed) != names or len(stated["kinds"]) != len(names):
        yield Mismatch("evidence.kinds", listed, names, "of what is deployed, once")
        return
    limits = {
        name: told[name].get("held_to") if held_to is None else held_to.get(name)
        for name in names
    }
    reason = "recomputed from errors of what was measured"
    for name in names:
        expected = {key: getattr(kinds[name], key) for key in _OF_KIND}
        expected |= {"slower": kinds[name].slower(confidence), "held_to": limits[name]}
        yield from compared(f"evidence.{name}", told[name], expected, reason)
    grades = ("measured", "family", "none")
    worst = max(kinds.values(), key=lambda one: (grades.index(one.grade), -one.rows))
    known = worst.grade != "none"
    for key, value in (
        ("grade", worst.grade),
        ("rows", worst.rows if known else 0),
        ("groups", worst.groups if known else None),
    ):
        yield from compared(f"evidence.{key}", stated.get(key), value, reason)
    yield from _chance_mismatches(plan, kinds, limits, confidence)
    if held_to is None:
        yield from _load_mismatches(plan, kinds, limits, confidence)


_OF_KIND: Final = ("grade", "of", "metric", "rows", "groups", "data", "low", "high")


def _chance_mismatches(
    plan: Document,
    kinds: Mapping[str, Kind],
    limits: Mapping[str, float | None],
    confidence: float | None,
) -> Iterator[Mismatch]:
    """Compute the chance again, and hold prices against the plan's own."""
    known = {name: limit for name, limit in limits.items() if limit is not None}
    chance = math.prod(kinds[name].chance(limit) for name, limit in known.items())
    reason = "of all kinds, as far as each may be slow"
    expected = chance if known else None
    yield from compared("probability", plan.get("probability"), expected, reason)
    own = plan.get("price_usd") or 0.0
    prices = []
    for at in (0.5, 0.95):
        field = f"price_usd_at_confidence_{round(100 * at)}"
        price = plan.get(field)
        if price is None:
            continue
        prices.append(price)
        least, most = 0.0, math.inf
        if all(kinds[name].slower(at) <= limit for name, limit in known.items()):
            most = own
        if confidence is not None and at >= confidence:
            least = own
        if at == confidence:
            most = own
        slack = own * RELATIVE_TOLERANCE
        is_owned = bool((plan.get("request") or {}).get("own"))
        is_free = price < 0 or (price == 0 and not is_owned)
        if not least - slack <= price <= most + slack or is_free:
            reason = "what is held at a confidence is held at any below"
            yield Mismatch(field, price, f"{least:.2f} to {most:.2f}", reason)
    if prices != sorted(prices):
        reason = "more confidence costs no less"
        yield Mismatch("price_usd_at_confidence_50", prices[0], prices[-1], reason)


def _load_mismatches(
    plan: Document,
    kinds: Mapping[str, Kind],
    limits: Mapping[str, float | None],
    confidence: float | None,
) -> Iterator[Mismatch]:
    """Ask that a load leaves the time that longer steps are said to have."""
    tokens = (one for one in plan.get("promises") or () if one["name"] == "tpot")
    rooms = [one["asked"] / one["predicted"] for one in tokens if one["predicted"]]
    room = max(1.0, *rooms) if rooms and len(limits) == 1 else math.inf
    # Of fewer users than were predicted for, steps are shorter, by their share at most.
    users = (one for one in plan.get("promises") or () if one["name"] == "concurrency")
    more = [one["predicted"] / one["asked"] for one in users if one["asked"]]
    room *= max([1.0, *more])
    for name, limit in limits.items():
        judged = kinds[name].slower(confidence)
        least = judged * (1 - RELATIVE_TOLERANCE)
        most = judged * room * (1 + _NOISE)
        if limit is not None and not least <= limit <= most:
            reason = "no less than it was judged at, and no step has more time"
            where = f"evidence.kinds[{name}].held_to"
            yield Mismatch(where, limit, f"{least:.3g} to {most:.3g}", reason)


def held_to_of_steps(
    request: Document, deployments: Sequence[Any], left: float
) -> float | None:
    """Return how much longer steps may be where all of them are alike."""
    limits = []
    target, wait = request.get("target_tokens_per_second"), request.get("ttft_seconds")
    for one in deployments:
        if target:
            user = one.evaluation["decode"]["tokens_per_second_per_user"]
            limits.append(float(user) / target)
        prefill = float(one.evaluation["prefill"]["seconds"])
        if wait and prefill:
            limits.append(wait / prefill)
    rate = request.get("throughput_tokens_per_second")
    if rate:
        limits.append(left / rate)
    return min(limits, default=None)
