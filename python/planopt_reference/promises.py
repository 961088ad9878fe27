"""What a plan promises and comes to, from its deployments and its question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from planopt_reference.mismatch import Mismatch, compared
from planopt_reference.pools import answering, is_of_pools

Document = Mapping[str, Any]

_SECONDS_PER_DAY: Final = 86_400.0
# Both sides have been divided once or twice.
_ROUNDING: Final = 1e-9
_CAPITAL: Final = ("purchase", "financing")
_WHY: Final = "what its deployments do, beside what was asked for"


def promise_mismatches(plan: Document) -> Iterator[Mismatch]:
    """Compute promises and totals again; a plan that says none makes none."""
    if "promises" not in plan:
        return
    # What a fleet must supply stands by its streams.
    is_fleet = plan.get("kind") == "fleet"
    deployments = [] if is_fleet else plan.get("deployments") or []
    request = plan["request"]
    training = plan.get("kind") == "training"
    promised = _of_training if training else _of_serving
    expected = list(promised(request, deployments)) if deployments else []
    yield from compared("promises", plan["promises"], expected, _WHY)
    if plan.get("status") == "optimal" and not all(one["held"] for one in expected):
        missed = ", ".join(one["name"] for one in expected if not one["held"])
        yield Mismatch("status", "optimal", "infeasible", f"{missed} is not held")
    totals = _totals(plan, deployments, training=training)
    told = plan["totals"]
    for name in sorted({*told, *totals} - {"rack_units"}):  # see outlays.py
        yield from compared(f"totals.{name}", told.get(name), totals.get(name), _WHY)
    cost = plan.get("cost") or {}
    parts = cost.get("parts") or []
    running = [one["usd_per_hour"] for one in parts if one["name"] not in _CAPITAL]
    for name, figure in (
        ("capex_usd", plan.get("price_usd")),
        ("opex_usd_per_hour", _sum(running)),
        ("tco_usd_per_hour", cost.get("usd_per_hour")),
        ("usd_per_million_tokens", cost.get("usd_per_million_tokens")),
    ):
        yield from compared(name, plan.get(name), figure, "as the cost says")


def _promise(name: str, asked: float, predicted: float | None, **more: Any) -> Document:
    plain = {"percentile": None, "low": None, "high": None, "unit": "s"}
    return {**plain, "name": name, "asked": asked, "predicted": predicted, **more}


def _of_training(request: Document, deployments: Sequence[Document]) -> Iterator[Any]:
    asked = request.get("deadline_seconds")
    for one in deployments:
        days = one["evaluation"].get("days")
        if asked and days is not None:
            seconds = delivered(request, one) + days * _SECONDS_PER_DAY
            held = seconds <= asked * (1 + _ROUNDING)
            yield _promise("deadline", asked, seconds, held=held)


# Section 9 of training.md, "A deadline counts from the order".
def delivered(request: Document, one: Document) -> float:
    """Return the seconds until the last part of a cluster stands; rent is there."""
    if request.get("procurement") == "rent":
        return 0.0
    card = one["candidate"]["accelerator"].partition("@")[0]
    parts = (card, one["hardware"].get("host"), one["hardware"].get("network"))
    waits = request.get("delivery") or {}
    return max(float(waits.get(part, 0.0)) for part in parts)


def cards_of(one: Document) -> list[str]:
    """Return the accelerators of a deployment, by kind."""
    parts = one.get("chain") or [one["candidate"]]
    return list(dict.fromkeys(each["accelerator"] for each in parts))


def judged_tpot(percentile: str | None, evaluation: Document) -> float:
    """Return the time per output token that a plan promises."""
    at = (evaluation.get("tpot_seconds") or {}).get(percentile) if percentile else None
    return float(at or evaluation["decode"]["tpot_seconds"] or 0.0)


def _of_serving(request: Document, deployments: Sequence[Document]) -> Iterator[Any]:
    which = request.get("percentile")
    deployments = answering(deployments)
    evaluations = [one["evaluation"] for one in deployments]

    token = partial(judged_tpot, which)
    slowest = max(evaluations, key=token)
    speed = request.get("target_tokens_per_second")
    if speed:
        ends = (slowest.get("intervals") or {}).get("tpot_seconds") or {}
        times = token(slowest) / (slowest["decode"]["tpot_seconds"] or 1.0)
        yield _promise(
            "tpot",
            1 / speed,
            token(slowest),
            percentile=which,
            low=times * ends["low"] if ends else None,
            high=times * ends["high"] if ends else None,
            held=token(slowest) * speed <= 1 + _ROUNDING,
        )
    wait = request.get("ttft_seconds")
    if wait and which:
        longest = max((each["ttft_seconds"].get(which) or 0.0) for each in evaluations)
        held = longest <= wait * (1 + _ROUNDING)
        yield _promise("ttft", wait, longest, percentile=which, held=held)
    arriving, users = request.get("requests_per_second"), request.get("concurrency")
    rate = request.get("throughput_tokens_per_second")
    if arriving and which:
        loads = [each.get("under_load") for each in evaluations]
        held = all(load and not load["overloaded"] for load in loads)
        carried = _sum(load and load["requests_per_second"] for load in loads)
        yield _promise("request_rate", arriving, carried, unit="1/s", held=held)
    elif rate:
        all_ = sum(map(supplied, deployments))
        held = all_ >= rate * (1 - _ROUNDING)
        yield _promise("throughput", rate, all_, unit="tok/s", held=held)
    if users and not arriving:
        known = sum(map(sequences, deployments))
        yield _promise("concurrency", users, known, unit="", held=known >= users)


def supplied(one: Document) -> float:
    """Return the tokens per second of a deployment, over the time it is there."""
    kept = one["hardware"].get("goodput")
    return _put_out(one) * (1.0 if kept is None else float(kept))


def _put_out(one: Document) -> float:
    """Return the same of its run, or of its steps."""
    load = one["evaluation"].get("under_load")
    return float(load["tokens_per_second"]) if load else _decoded(one)


def _decoded(one: Document) -> float:
    each = one["evaluation"]["decode"]["tokens_per_second"] or 0.0
    return float(each * one["replicas"])


def sessions_of(one: Document) -> int:
    """Return the sessions that the replicas of a deployment had in the run."""
    load = one["evaluation"].get("under_load") or {}
    if one.get("role") == "decode":
        # Who waits for a first token is in the other pool.
        return int(load.get("users") or 0)
    return int((load.get("sessions") or {}).get("alive", 0))


def sequences(one: Document) -> int:
    """Return the sequences of a deployment that are decoded at the same time."""
    candidate = one["candidate"]
    if one.get("role") == "prefill":
        return 0
    if alive := sessions_of(one):
        return alive
    at_once = candidate["batch"] * candidate["in_flight"] * one["replicas"]
    return int(at_once * (2 if candidate.get("overlap") == "two-batch" else 1))


def _totals(
    plan: Document, deployments: Sequence[Document], *, training: bool
) -> dict[str, Any]:
    if not deployments:
        return {}
    totals: dict[str, Any] = {
        "accelerators": _accelerators(deployments),
        "hosts": sum(one["hardware"]["hosts"] * one["units"] for one in deployments),
        "replicas": sum(one["replicas"] for one in deployments),
        "power_watts": plan.get("power_watts"),
    }
    if training:
        rates = [one["evaluation"].get("tokens_per_second") for one in deployments]
        return {**totals, "tokens_per_second": _sum(rates)}
    loads = [one["evaluation"].get("under_load") for one in deployments]
    return {
        **totals,
        "tokens_per_second": _sum(map(_put_out, answering(deployments))),
        "requests_per_second": _sum(
            load["requests_per_second"] for load in loads if load
        ),
        "concurrency": sum(map(sequences, deployments)),
        "co2_kg_per_year": plan.get("kg_co2e_per_year"),
    }


def _accelerators(deployments: Sequence[Document]) -> int:
    counts = []
    for one in deployments:
        bill = one.get("bill_of_materials") or ()
        bought = sum(line["quantity"] for line in bill if line["kind"] == "accelerator")
        counts.append(
            (bought, (one["evaluation"]["accelerators"] or 0) * one["replicas"])
        )
    if is_of_pools(deployments):
        # One of two pools brings what is bought for both.
        return max(map(sum, zip(*counts, strict=True)))
    return sum(bought or used for bought, used in counts)


def _sum(figures: Any) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None
