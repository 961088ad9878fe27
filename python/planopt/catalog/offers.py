"""Offers on their way into an overlay: merged, written as files, and read once more."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from planopt.catalog.open import Catalog
from planopt.catalog.overlay import toml_document, write_overlay
from planopt.errors import Diagnostic, InputError
from planopt.toml import read_table

UNDATED = "undated"
SPOT = ("interrupted_every", "restart")
"""What is assumed of instances on spot terms."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """An instance of a provider in a region, with its prices of an hour."""

    provider: str
    instance: str
    region: str
    accelerator: str
    count: int
    vcpus: int | None = None
    memory_gib: float | None = None
    price: float | None = None
    spot: float | None = None

    def merged(self, other: Offer) -> Offer:
        """Return the same instance at the lower of two prices: zones differ."""
        prices, spots = (self.price, other.price), (self.spot, other.spot)
        return replace(
            self,
            price=min(filter(None, prices), default=None),
            spot=min(filter(None, spots), default=None),
        )


@dataclass
class Imported:
    """What an import found, and what it left out and why."""

    offers: list[Offer] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    """Rows left out, by reason."""
    notes: dict[str, str] = field(default_factory=dict)
    """What a name that is not clear was taken for."""
    files: list[str] = field(default_factory=list)
    """Files written."""

    def skip(self, reason: str) -> None:
        """Leave a row out: there is no offer in it."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def take(self, offers: Iterable[Offer | None]) -> None:
        """Take the offers that rows are."""
        self.offers += [offer for offer in offers if offer is not None]

    def counts(self) -> dict[str, object]:
        """Put the import in numbers, as the command line tells it."""
        return {
            "offers": len(self.offers),
            "providers": Counter(offer.provider for offer in self.offers),
            "skipped": self.skipped,
            "taken_for": self.notes,
            "files": self.files,
        }


@cache
def _names() -> Mapping[str, Any]:
    return read_table(Path(__file__).with_name("names.toml"), dict[str, Any])


def accelerator_of(name: str, imported: Imported) -> str | None:
    """Find what another catalog calls an accelerator; note where that is not clear."""
    names = _names()
    id_: str | None = names["accelerators"].get(name)
    if id_ is None:
        imported.skip(f"accelerator `{name}` is not in planopt's catalogs")
        return None
    if name in names["ambiguous"]:
        imported.notes[name] = f"{id_}: {names['ambiguous'][name]}"
    return id_


def write_offers(
    imported: Imported,
    problems: Sequence[Diagnostic],
    out: str | Path,
    *,
    cite: str,
    date: str | None,
    force: bool,
) -> Imported:
    """Write offers as an overlay, once it is known to be readable as a whole."""
    if problems:
        raise InputError(problems)
    merged: dict[tuple[str, str, str], Offer] = {}
    for offer in imported.offers:
        key = offer.provider, offer.instance, offer.region
        merged[key] = merged[key].merged(offer) if key in merged else offer
    imported.offers = [merged[key] for key in sorted(merged)]
    if not imported.offers:
        raise InputError.of(
            "E112",
            "no row is an instance with an accelerator that planopt knows",
            accepted="rows with an accelerator and a price",
            help="; ".join(f"{n} rows: {why}" for why, n in imported.skipped.items()),
        )
    by_provider = groupby(imported.offers, key=lambda offer: offer.provider)
    files = {
        f"offers/{provider}.toml": _file(provider, [*offers], cite, date or UNDATED)
        for provider, offers in by_provider
    }
    with tempfile.TemporaryDirectory() as trial:
        write_overlay(Path(trial), files)
        Catalog((trial,), "calibrated").list("offers")
    imported.files = write_overlay(Path(out), files, force=force)
    return imported


def _file(provider: str, offers: Sequence[Offer], cite: str, date: str) -> str:
    names = _names()
    sources = {"list": {"cite": cite, "date": date, "status": "stored"}}
    table: dict[str, object] = {
        "id": provider,
        "name": provider,
        "class": names["classes"].get(provider, "cloud"),
    }
    if any(offer.spot is not None for offer in offers):
        cite, *rates = (names["spot"][key] for key in ("cite", *SPOT))
        sources["spot"] = {"cite": cite, "date": date, "status": "assumed"}
        pairs = zip(SPOT, rates, strict=True)
        table["spot"] = {key: {"value": of, "source": "spot"} for key, of in pairs}
    table |= {"offer": [dict(_figures(each)) for each in offers], "sources": sources}
    return toml_document(table)


def _figures(offer: Offer) -> Iterator[tuple[str, object]]:
    for name in ("instance", "accelerator", "count", "region"):
        yield name, getattr(offer, name)
    if offer.vcpus:
        yield "vcpus", offer.vcpus
    if offer.memory_gib:
        yield "memory", f"{offer.memory_gib:g} GiB"
    for name, price in (("price", offer.price), ("spot", offer.spot)):
        if price is not None:
            yield name, {"value": f"${price:g}/h", "source": "list"}
