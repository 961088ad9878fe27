"""Whether what a plan deploys is among what its request allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from planopt_reference.formats import activation_bytes, bytes_per_element
from planopt_reference.mismatch import Mismatch
from planopt_reference.rent import is_offer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from planopt_reference.facts import Facts


_IMAGES: Final = ("image_tokens", "image_patches", "encoder_parameters")
# What is said of a candidate in one breath, or not at all.
_IN_ONE_BREATH: Final = (
    ("draft", "draft_tokens", "acceptance"),
    ("offload", "offload_to"),
    ("lora_adapters", "lora_rank"),
    _IMAGES,
)
_COUNTS: Final = ("tp", "pp", "dp", "cp", "ep", "batch", "in_flight")
# Of sessions: nothing is said of these without them.
_OF_SESSIONS: Final = ("turns", "grow", "shared", "think_seconds")


def choice_mismatches(
    field: str, table: Mapping[str, Any], request: Mapping[str, Any], facts: Facts
) -> Iterator[Mismatch]:
    """Check the parts, the formats and the batch of a deployment.

    Parameters
    ----------
    field : str
        Path of the deployment.
    table : mapping
        The deployment as the plan states it.
    request : mapping
        The question of the plan.
    facts : Facts
        Catalogs, for licences and for the format of the model.

    Yields
    ------
    Mismatch
        One for each choice that the request does not leave open.
    """
    candidate = table["candidate"]
    chosen = {
        "candidate.batch": (candidate["batch"], only(request.get("batch"))),
        "candidate.in_flight": (
            candidate["in_flight"],
            only(request.get("in_flight")),
        ),
        "candidate.overlap": (
            candidate.get("overlap"),
            only(request.get("overlap") or "none"),
        ),
        **{
            f"candidate.{name}": (candidate.get(name), only(request.get(name)))
            for name in ("draft", "draft_tokens", "acceptance")
        },
        "candidate.weights": (
            candidate.get("weights"),
            _weights(request, facts),
        ),
    }
    yield from part_mismatches(field, table, request, facts)
    yield from not_allowed(field, chosen)
    yield from _whole_mismatches(field, candidate, request)
    yield from _cache_mismatches(f"{field}.candidate.kv", candidate, request)


def _whole_mismatches(
    field: str, candidate: Mapping[str, Any], request: Mapping[str, Any]
) -> Iterator[Mismatch]:
    """Check that degrees count, and that what goes together is said together."""
    for name in _COUNTS:
        if not (candidate.get(name) or 1) >= 1:
            place = f"{field}.candidate.{name}"
            yield Mismatch(place, candidate[name], "1 or more", "it counts")
    for names in _IN_ONE_BREATH:
        said = {name: candidate.get(name) for name in names}
        if None in said.values() and any(said.values()):
            expected = f"all of {', '.join(names)} or none"
            yield Mismatch(f"{field}.candidate.{names[0]}", said, expected, "as one")
    for name in ("cp", "draft", "in_flight"):
        asked = request.get(name)
        if asked is not None and candidate.get(name) != asked:
            place = f"{field}.candidate.{name}"
            yield Mismatch(place, candidate.get(name), asked, "what the request says")
    for name in _IMAGES:
        field_of = f"{field}.candidate.{name}"
        told, asked = candidate.get(name), request.get(name)
        if told != asked:
            yield Mismatch(field_of, told, asked, "what the request says")
    for name in _OF_SESSIONS:
        if request.get(name) is not None and request.get("sessions") is None:
            reason = "there are no sessions"
            yield Mismatch(f"request.{name}", request[name], None, reason)


def part_mismatches(
    field: str, table: Mapping[str, Any], request: Mapping[str, Any], facts: Facts
) -> Iterator[Mismatch]:
    """Check that a deployment is made of parts that its request allows."""
    if table.get("chain"):
        for part in table["chain"]:
            own = {**table["hardware"], "host": part["host"]}
            one = {"candidate": part, "hardware": own}
            yield from part_mismatches(field, one, request, facts)
        return
    hardware, card = table["hardware"], table["candidate"]["accelerator"]
    named = {card, card.partition("@")[0]}
    # A card below its power is allowed by its name, and by what it is without a limit.
    asked = set(request.get("accelerators") or ())
    rented = hardware.get("terms") is not None
    hosts = [each for each in request.get("hosts") or () if is_offer(each) == rented]
    networks = None if rented else request.get("networks")
    parts = {
        "candidate.accelerator": (card, () if named & asked else asked),
        "hardware.host": (hardware["host"], hosts),
        "hardware.network": (hardware.get("network"), networks),
    }
    yield from not_allowed(field, parts)
    yield from _way_mismatches(field, hardware, request, facts)
    if named.intersection(request.get("exclude") or ()):
        reason = "the request excludes it"
        yield Mismatch(f"{field}.candidate.accelerator", card, "another", reason)
    if request.get("datacenter") and not facts.accelerator(card).datacenter_licence:
        reason = "its licence does not allow a data center"
        yield Mismatch(f"{field}.candidate.accelerator", card, "another", reason)


def _way_mismatches(
    field: str, hardware: Mapping[str, Any], request: Mapping[str, Any], facts: Facts
) -> Iterator[Mismatch]:
    """Check that what is rented, and only that, is what may be."""
    terms = hardware.get("terms")
    way = request.get("procurement", "buy")
    if way != "both" and (terms is not None) != (way == "rent"):
        yield _forbidden(f"{field}.hardware.terms", terms, [way])
    if terms is None:
        return
    provider, _, rest = hardware["host"].partition("/")
    asked = {
        "hardware.terms": (_kind_of(terms), request.get("billing")),
        "hardware.host": (provider, request.get("providers")),
        "hardware.region": (rest.rpartition("/")[2], request.get("regions")),
    }
    yield from not_allowed(field, asked)
    classed = facts.offer(hardware["host"]).answered_for_by
    whose = {"hardware.host": (classed, request.get("provider_classes"))}
    yield from not_allowed(field, whose)


def _kind_of(terms: str) -> str:
    """Return the terms without the months of a commitment."""
    return "reserved" if terms.startswith("reserved-") else terms


def not_allowed(
    field: str, chosen: Mapping[str, tuple[object, Collection[object] | None]]
) -> Iterator[Mismatch]:
    """Compare what was chosen with what is allowed: anything, where that is empty."""
    for key, (stated, allowed) in chosen.items():
        if stated is not None and allowed and stated not in allowed:
            yield _forbidden(f"{field}.{key}", stated, allowed)


def only(value: object) -> list[object]:
    """Return the one thing that a request allows, or nothing where it is open."""
    return [] if value is None else [value]


def _forbidden(field: str, stated: object, allowed: Collection[object]) -> Mismatch:
    expected = ", ".join(str(one) for one in allowed)
    return Mismatch(field, stated, expected, "what the request allows")


def _weights(request: Mapping[str, Any], facts: Facts) -> list[object]:
    """Return the format asked for, or else the model's own, and those allowed too."""
    own = request.get("architecture") or facts.model_table(request["model"])
    wanted = request.get("weights") or own["weights"]
    return [wanted, *(request.get("allow_quantization") or ())]


def _cache_mismatches(
    field: str, candidate: Mapping[str, Any], request: Mapping[str, Any]
) -> Iterator[Mismatch]:
    """Check the format of the cache: where none is asked for, that of activations."""
    stated, wanted = candidate.get("kv"), request.get("kv")
    if wanted is not None and stated != wanted:
        yield _forbidden(field, stated, [wanted])
    if wanted is None and stated is not None:
        of_activations = activation_bytes(candidate["weights"])
        if bytes_per_element(stated) != of_activations:
            yield _forbidden(field, stated, [f"{of_activations:.0f} bytes an element"])
