"""SkyPilot's catalogs: one CSV file per cloud, schema v8.

What its columns leave unclear is left out, and said: machines without an accelerator
(among them GCP's a2 and a3, whose price is that of the machine without its cards), and
accelerators without a machine (cards of GCP, slices of TPUs, some at a price of 700.0
that stands for none).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planopt.catalog.offers import Imported, Offer, accelerator_of, write_offers
from planopt.catalog.rows import Row, provider_of, read_rows
from planopt.errors import Diagnostic, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

REQUIRED = (
    "InstanceType",
    "AcceleratorName",
    "AcceleratorCount",
    "vCPUs",
    "MemoryGiB",
    "Price",
    "Region",
)
OPTIONAL = ("SpotPrice", "GpuInfo", "AvailabilityZone", "Arch", "UpstreamCloudId")
CITE = "skypilot-org/skypilot-catalog, {name}"


def import_skypilot(
    files: Sequence[str | Path],
    out: str | Path,
    *,
    provider: str | None = None,
    date: str | None = None,
    force: bool = False,
) -> Imported:
    """Write the offers of SkyPilot's catalogs as an overlay."""
    problems: list[Diagnostic] = []
    imported = Imported()
    for file in map(Path, files):
        whose = provider_of(file, _provider(file), provider, problems)
        for row in read_rows(file, REQUIRED, OPTIONAL, problems):
            offer = _offer(row, whose, imported)
            if offer is not None:
                imported.offers.append(offer)
    if problems:
        raise InputError(problems)
    names = ", ".join(Path(file).name for file in files)
    cite = CITE.format(name=names)
    write_offers(imported, Path(out), cite=cite, date=date, force=force)
    return imported


def _provider(file: Path) -> str:
    """Tell a provider from ``aws/vms.csv`` or ``aws-vms.csv``."""
    stem = file.stem.removesuffix(".excerpt")
    return (file.resolve().parent.name if stem == "vms" else stem).removesuffix("-vms")


def _offer(row: Row, provider: str, imported: Imported) -> Offer | None:
    name, instance = row.text("AcceleratorName"), row.text("InstanceType")
    count, price = row.count("AcceleratorCount"), row.number("Price")
    spot = row.number("SpotPrice")
    vcpus, memory = row.number("vCPUs"), row.number("MemoryGiB")
    if not name:
        imported.skip("no accelerator, so that the price is of a bare machine")
        return None
    if not instance:
        imported.skip("an accelerator or a slice without its machine")
        return None
    accelerator = accelerator_of(name, imported)
    if accelerator is None:
        imported.skip(f"accelerator `{name}` is not in planopt's catalogs")
        return None
    if spot is not None and price is not None and spot >= price:
        # A copy of the price, which says that there is no spot market.
        spot = None
    if not count or not (price or spot):
        imported.skip("no price or no number of accelerators")
        return None
    return Offer(
        provider=provider,
        instance=instance,
        region=row.text("Region") or "any",
        accelerator=accelerator,
        count=count,
        vcpus=int(vcpus) if vcpus else None,
        memory_gib=memory,
        price=price or None,
        spot=spot or None,
    )
