"""What proves the bound of a plan: whole, and its columns recomputed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planopt_reference.carried import digest
from planopt_reference.deployment import recomputed
from planopt_reference.mismatch import Mismatch, compared, compared_money
from planopt_reference.units import MICRO_USD_PER_USD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt_reference.facts import Facts
    from planopt_reference.layout import Table
    from planopt_reference.limits import Deployment

_COLUMN: Final = "a column of the proof, recomputed"
# What a column has of the question alone.
_AS_ASKED: Final = (
    *("draft", "draft_tokens", "acceptance"),
    *("image_tokens", "image_patches", "encoder_parameters"),
)


def certificate_mismatches(plan: Table, request: Table) -> Iterator[Mismatch]:
    """Hold a certificate against its digest, and against whether there must be one."""
    if "certificate" not in plan:
        return  # Of an older version; a plan of today has all its fields.
    certificate = plan["certificate"]
    is_certain = plan["status"] == "optimal" and plan["objective"] == "cheapest"
    # Nothing dual bounds what chains of unlike cards cost: each was asked.
    others = plan.get("transfer") or any(
        one.get("chain") for one in plan["deployments"]
    )
    is_certain = is_certain and not others and not request.get("own")
    if (certificate is not None) != is_certain:
        reason = "what is proven cheapest carries one, and nothing else does"
        yield Mismatch("certificate", certificate, "a certificate", reason)
    if certificate is None:
        return
    told = [
        {**certificate, "digest": ""},
        plan["bound_usd"],
        plan["bound_usd_per_hour"],
    ]
    expected = digest(told)
    yield from compared(
        "certificate.digest", certificate["digest"], expected, "of it and the bound"
    )


def column_mismatches(
    column: Table, place: int, request: Table, facts: Facts
) -> Iterator[Mismatch]:
    """Put a column together again, and evaluate its replicas.

    Parameters
    ----------
    column : mapping
        One unit by its names, with its figures as the core has them.
    place : int
        Place in which it is told.
    request : mapping
        The question of the plan.
    facts : Facts
        Catalogs and assumptions.

    Yields
    ------
    Mismatch
        One for each figure that is another.
    """
    field = f"columns[{place}]"
    again = _again(column, request, facts)
    unit, cost = again.unit, facts.assumptions.cost
    if request.get("procurement", "buy") == "buy":
        stated = column["price_micro_usd"] / MICRO_USD_PER_USD
        yield from compared_money(f"{field}.price_usd", stated, unit.price, _COLUMN)
    else:
        hourly = again.usd_per_hour(cost)
        yield from compared(
            f"{field}.usd_per_hour", column["usd_per_hour"], hourly, _COLUMN
        )
    for name, expected in (
        ("power_watts", unit.power_watts),
        ("rack_units", unit.rack_units),
        ("hosts", unit.hosts),
        ("accelerators", unit.accelerators),
    ):
        yield from compared(f"{field}.{name}", column[name], expected, _COLUMN)
    if request.get("percentile"):
        return
    slower = again.slower
    decode = again.evaluation["decode"]
    speed = decode["tokens_per_second_per_user"] / slower
    tokens = again.tokens_per_second / slower
    users = round(again.users_per_replica * again.replicas)
    for name, figure in (
        ("tokens_per_second_per_user", speed),
        ("tokens_per_second", tokens),
        ("users", users),
    ):
        yield from compared(f"{field}.{name}", column[name], figure, _COLUMN)
    yield from _larger_mismatches(field, column, request, facts)


def _larger_mismatches(
    field: str, column: Table, request: Table, facts: Facts
) -> Iterator[Mismatch]:
    """Check that no replica of it serves one sequence more in time."""
    if request.get("batch"):
        return
    try:
        more = _again({**column, "batch": column["batch"] + 1}, request, facts)
    except ValueError:
        return  # It does not fit.
    speed = more.evaluation["decode"]["tokens_per_second_per_user"] / more.slower
    if speed >= (request.get("target_tokens_per_second") or 0.0):
        yield Mismatch(f"{field}.batch", column["batch"], column["batch"] + 1, _COLUMN)


def _again(column: Table, request: Table, facts: Facts) -> Deployment:
    candidate = {
        **{name: request.get(name) for name in _AS_ASKED},
        **column,
    }
    table = {
        "model": request["model"],
        "candidate": candidate,
        "hardware": column,
        "units": 1,
        "replicas": column["replicas"],
        "evaluation": {"decode": column},
    }
    return recomputed(table, request, facts, None)
