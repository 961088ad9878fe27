"""Where the price of each part comes from, and how old it is."""

from __future__ import annotations

import datetime
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planopt.catalog import Catalog
    from planopt.evaluation import BomLine

__all__ = ["PriceSource", "price_sources", "sourced"]

Part = tuple[str, str]
"""Kind and id of a line of a bill of materials."""

_FOLDERS = {"accelerator": "accelerators", "host": "hosts", "instance": "offers"}
_KINDS = {"nic": ("nic",), "cable": ("cable",), "switch": ("switch", "switch_ports")}
_PART_FIELD = re.compile(r"(nic|cable|switch)(\[\d+\])?\.(id|price)")


@dataclass(frozen=True)
class PriceSource:
    """Where a price comes from.

    Parameters
    ----------
    cite : str
        The material.
    date : str
        When it was published or read; may lack its day or month.
    status : str
        ``stored``, ``from-memory``, ``derived`` or ``assumed``.
    """

    cite: str
    date: str
    status: str

    @property
    def undated(self) -> bool:
        """Whether nothing tells how old it is."""
        return not self.date[:4].isdigit()

    @property
    def short(self) -> str:
        """Date, and how well it is known where that is not plain reading."""
        return self.date if self.status == "stored" else f"{self.date}, {self.status}"

    def age_days(self) -> int:
        """Days since its date; of a month or a year, since its end."""
        parts = [int(part) for part in self.date.split("-") if part.isdigit()]
        if not parts:
            return 0
        year, month, day = (*parts, *(12, 28)[len(parts) - 1 :])[:3]
        return (_today() - datetime.date(year, month, day)).days


def _today() -> datetime.date:
    """Today, or the day that reproducible outputs are made for (SOURCE_DATE_EPOCH)."""
    utc = datetime.timezone.utc
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is not None and epoch.isdigit():
        return datetime.datetime.fromtimestamp(int(epoch), tz=utc).date()
    return datetime.datetime.now(tz=utc).date()


def price_sources(
    catalog: Catalog, bill: Iterable[BomLine], networks: Iterable[str]
) -> dict[Part, PriceSource]:
    """Find the sources of the prices of a bill of materials.

    Parameters
    ----------
    catalog : Catalog
        Where the parts come from.
    bill : iterable of BomLine
        The lines.
    networks : iterable of str
        Networks whose NICs, cables and switches are among them.
    """
    sources: dict[Part, PriceSource] = {}
    for line in bill:
        folder = _FOLDERS.get(line.kind)
        if folder is not None:
            # All prices of an offer are of one list.
            for figure in catalog.show(folder, line.id)["figures"]:
                if figure["field"] in ("price", "spot"):
                    _note(sources, (line.kind, line.id), figure)
    for network in networks:
        _network_prices(sources, catalog.show("networks", network)["figures"])
    return sources


def sourced(
    catalog: Catalog, bill: Iterable[BomLine], networks: Iterable[str]
) -> tuple[BomLine, ...]:
    """Bill of materials with where each price comes from."""
    lines = tuple(bill)
    sources = price_sources(catalog, lines, networks)
    found = ((line, sources.get((line.kind, line.id))) for line in lines)
    return tuple(
        replace(line, source=source.short) if source else line for line, source in found
    )


def _network_prices(
    sources: dict[Part, PriceSource], figures: Iterable[Mapping[str, str | None]]
) -> None:
    ids: dict[str, str] = {}
    for figure in figures:
        match = _PART_FIELD.fullmatch(figure["field"] or "")
        if match is None:
            continue
        part, place, what = match.groups()
        where = part + (place or "")
        if what == "id":
            ids[where] = figure["text"] or ""
        else:
            for kind in _KINDS[part]:
                _note(sources, (kind, ids.get(where, "")), figure)


def _note(
    sources: dict[Part, PriceSource], part: Part, figure: Mapping[str, str | None]
) -> None:
    cite, date, status = figure["cite"], figure["date"], figure["status"]
    if cite and date and status:
        sources[part] = PriceSource(cite, date, status)
