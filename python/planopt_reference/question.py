"""Whether a plan answers the question that it says was asked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from planopt_reference import units
from planopt_reference.mismatch import Mismatch
from planopt_reference.pools import answering
from planopt_reference.redundancy import Standing, left_of

Document = Mapping[str, Any]

# What was typed under a name is understood under another.
_NAMED: Final = {
    "accelerators": "accelerators",
    "exclude": "exclude",
    "host": "hosts",
    "network": "networks",
    "stock": "stock",
    "own": "own",
    "prices": "prices",
    "provider": "providers",
    "provider_class": "provider_classes",
    "region": "regions",
    "budget": ("budget_usd", "budget_usd_per_hour"),
    "target": "target_tokens_per_second",
    "ttft": "ttft_seconds",
    "deadline": "deadline_seconds",
    "max_power": "max_power_watts",
    "max_racks": "max_racks",
    "max_accelerators": "max_accelerators",
}
# What is asked of runs alone, and of serving alone.
_OF_RUNS: Final = (
    *("tokens", "deadline_seconds", "seq_len", "global_batch", "mtp_modules"),
    *("precision", "gradients", "optimizer"),
)
_OF_SERVING: Final = (
    *("target_tokens_per_second", "ttft_seconds", "percentile", "load", "arrival_cv"),
    *("concurrency", "people", "requests_per_second", "throughput_tokens_per_second"),
    *("sessions", "turns", "grow", "shared", "think_seconds", "prefix_hit_rate"),
    *("workload", "prompt_tokens", "output_tokens", "context_tokens", "batch"),
    *("in_flight", "overlap", "cp", "draft", "draft_tokens", "acceptance", "kv"),
    *("image_tokens", "image_patches", "encoder_parameters"),
    *("weights", "engine_name", "sell", "max_racks", "budget_usd_per_hour"),
)
# A number as it is typed, by where it is understood; a time is one with its unit.
_NUMBER: Final = r"\$?(\d[\d_]*(?:,\d{3})*(?:\.\d+)?)([kMBT]?)"
_SCALES: Final = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_TYPED: Final = {
    "budget": ("budget_usd", _NUMBER),
    "target": ("target_tokens_per_second", rf"{_NUMBER}(?:tok/s)?"),
    "throughput": ("throughput_tokens_per_second", rf"{_NUMBER}(?:tok/s)?"),
    "request_rate": ("requests_per_second", rf"{_NUMBER}(?:/s)?"),
    "concurrency": ("concurrency", _NUMBER),
    "sessions": ("sessions", _NUMBER),
    "tokens": ("tokens", _NUMBER),
    "isl": ("prompt_tokens", _NUMBER),
    "osl": ("output_tokens", _NUMBER),
    "ttft": ("ttft_seconds", None),
    "deadline": ("deadline_seconds", None),
    "time_limit": ("time_limit_seconds", None),
}
# More modules of multi-token prediction than any model has.
_MOST_MODULES: Final = 64
# Of what a user may see, to what is computed of a full batch and of one whole prompt:
# less load and shorter prompts are faster, but not by so much.
_FASTEST: Final = 0.02
# Share of the requests that come, which must be answered where nothing is overloaded.
_CARRIED: Final = 0.9


def question_mismatches(plan: Document, request: Document) -> Iterator[Mismatch]:
    """Compare a plan with its question, and the question with itself."""
    stated, asked = plan.get("objective"), request.get("objective", "cheapest")
    if plan.get("kind") != "fleet" and stated != asked:
        yield Mismatch("objective", stated, asked, "what the request asks for")
    yield from _model_mismatches(request)
    others = {"serving": _OF_RUNS, "training": _OF_SERVING}
    for name in others.get(str(plan.get("kind")), ()):
        is_of_batch = name == "deadline_seconds" and request.get("num_prompts")
        if request.get(name) and not is_of_batch:
            yield Mismatch(f"request.{name}", request[name], None, "asked of others")
    # Larger batches of a range need other tokens than those that were typed.
    stated = (plan.get("batches") or {}).get("stated_tokens")
    as_typed = {**request, "tokens": stated} if stated is not None else request
    yield from _typed_mismatches(as_typed)
    for name, value in request.items():
        if isinstance(value, (int, float)) and value < 0:
            yield Mismatch(f"request.{name}", value, "0 or more", "it is an amount")
    modules = request.get("mtp_modules") or 0
    if modules > _MOST_MODULES:
        most = f"at most {_MOST_MODULES}"
        yield Mismatch("request.mtp_modules", modules, most, "no model has so many")
    typed = request.get("typed") or {}
    if typed and asked != typed.get("objective", "cheapest"):
        said = typed.get("objective", "cheapest")
        yield Mismatch("request.objective", asked, said, "as it was typed")
    for name, known in _NAMED.items():
        fields = (known,) if isinstance(known, str) else known
        understood = any(request.get(field) not in (None, [], {}) for field in fields)
        if name in typed and typed[name] and not understood:
            reason = "what was typed has a meaning"
            yield Mismatch(f"request.{fields[0]}", None, typed[name], reason)


def _typed_mismatches(request: Document) -> Iterator[Mismatch]:
    """Compare numbers with what was typed, where that is a plain number or a time."""
    for name, typed in (request.get("typed") or {}).items():
        field, pattern = _TYPED.get(name, (None, None))
        if field is None:
            continue
        if pattern is None:
            try:
                expected = units.seconds(typed)
            except units.UnitError:
                continue
        elif found := re.fullmatch(pattern, str(typed)):
            expected = float(re.sub("[,_]", "", found[1])) * _SCALES[found[2]]
            if name == "isl":
                expected += request.get("image_tokens") or 0
        else:
            continue
        stated = request.get(field)
        if not isinstance(stated, int | float) or not math.isclose(stated, expected):
            yield Mismatch(f"request.{field}", stated, expected, "as it was typed")


def _model_mismatches(request: Document) -> Iterator[Mismatch]:
    """Only a file is embedded: a model of the catalogs is looked up by its id."""
    model, embedded = request.get("model"), request.get("architecture")
    is_file = str(model).endswith((".json", ".toml"))
    if model is not None and is_file != isinstance(embedded, Mapping):
        reason = "a model that is a file, and no other, is in the plan"
        yield Mismatch("request.model", model, "the file that was read", reason)


def nothing_mismatches(plan: Document) -> Iterator[Mismatch]:
    """Ask of a plan that says there is none why not."""
    why = plan.get("infeasibility") or {}
    stages = plan.get("kind") == "fleet" and plan.get("stages")
    if not (why.get("binding") or why.get("note") or why.get("nearest") or stages):
        reason = "a plan that buys nothing says what is in its way"
        yield Mismatch("infeasibility", plan.get("infeasibility"), "a reason", reason)


def latency_mismatches(
    field: str, evaluation: Document, computed: Document
) -> Iterator[Mismatch]:
    """Hold what was simulated against the step and the prompt that are computed."""
    for name, least in (
        ("tpot_seconds", computed["decode"]["tpot_seconds"]),
        ("ttft_seconds", computed["prefill"]["seconds"]),
    ):
        for which, seconds in (evaluation.get(name) or {}).items():
            if seconds is not None and least and seconds < _FASTEST * least:
                reason = "faster than anything that it computes"
                place = f"{field}.{name}.{which}"
                yield Mismatch(place, seconds, f"about {least:.3g}", reason)


def rate_mismatches(plan: Document, request: Document) -> Iterator[Mismatch]:
    """Ask that the requests that come are answered where nothing is overloaded."""
    rate = request.get("requests_per_second")
    deployments = answering(plan["deployments"])
    loads = [one["evaluation"].get("under_load") for one in deployments]
    if not rate or not all(load and not load.get("overloaded") for load in loads):
        return
    standing = [
        Standing.of(one, (load["requests_per_second"] or 0.0) / one["replicas"])
        for one, load in zip(deployments, loads, strict=True)
    ]
    # Whatever fails, those that are left answer what comes.
    carried = left_of(standing, request, rate)
    if not _CARRIED * rate <= carried:
        place = "deployments[0].evaluation.under_load.requests_per_second"
        yield Mismatch(place, carried, rate, "what comes is answered")
