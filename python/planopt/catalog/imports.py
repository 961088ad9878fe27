"""What other people publish, written as an overlay: models and offers.

A model is a ``config.json`` of Hugging Face; SkyPilot's offers are one CSV file per
cloud, schema v8; dstack's the package gpuhunt, or the CSV files that it publishes. What
is left out of them stands in docs/reference/catalogs.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from planopt.catalog.offers import Imported, Offer, accelerator_of, write_offers
from planopt.catalog.open import open_catalog
from planopt.catalog.overlay import IDS, id_of, toml_document, write_overlay
from planopt.catalog.rows import Row, provider_of, read_rows
from planopt.errors import Diagnostic, InputError

BYTES_PER_GB = 10**9
BYTES_PER_GIB = 2**30


# --- Hugging Face ---------------------------------------------------------------------


def import_hf(
    config: str | Path,
    out: str | Path,
    *,
    name: str | None = None,
    force: bool = False,
    online: bool = False,
) -> Path:
    """Write a model of a Hugging Face ``config.json`` as an overlay.

    ``online`` takes a repository of the Hub in place of a file.
    """
    catalog = open_catalog()
    config, asked = Path(catalog.found(str(config)) if online else config), config
    model = catalog.architecture(str(config))
    named = config.resolve().parent.name if config.stem == "config" else config.stem
    if config.is_dir():
        named = Path(asked).name
    id_ = id_of(named if name is None else name)
    if not id_:
        raise InputError.of(
            "E114",
            "the name of the model leaves no id",
            field="--name",
            value=named if name is None else name,
            accepted=IDS,
            help="name the model with `--name`",
        )
    model.update(id=id_, name=name or id_)
    files = {f"models/{id_}.toml": toml_document(model)}
    (file,) = write_overlay(Path(out), files, force=force)
    return Path(file)


# --- SkyPilot -------------------------------------------------------------------------

OF_SKYPILOT = (
    *("InstanceType", "AcceleratorName", "AcceleratorCount"),
    *("vCPUs", "MemoryGiB", "Price", "Region"),
)
MORE_OF_SKYPILOT = (
    *("SpotPrice", "GpuInfo", "AvailabilityZone", "Arch", "UpstreamCloudId"),
)


def import_skypilot(
    files: Sequence[str | Path],
    out: str | Path,
    *,
    provider: str | None = None,
    date: str | None = None,
    force: bool = False,
) -> Imported:
    """Write the offers of SkyPilot's catalogs as an overlay."""
    imported, problems = Imported(), list[Diagnostic]()
    for file in map(Path, files):
        whose = provider_of(file, _provider(file), provider, problems)
        rows = read_rows(file, OF_SKYPILOT, MORE_OF_SKYPILOT, problems)
        imported.take(_of_skypilot(row, whose, imported) for row in rows)
    cite = f"skypilot-org/skypilot-catalog, {_named(files)}"
    return write_offers(imported, problems, out, cite=cite, date=date, force=force)


def _named(files: Sequence[str | Path]) -> str:
    return ", ".join(Path(file).name for file in files)


def _provider(file: Path) -> str:
    """Tell a provider from ``aws/vms.csv`` or ``aws-vms.csv``."""
    stem = file.stem.removesuffix(".excerpt")
    return (file.resolve().parent.name if stem == "vms" else stem).removesuffix("-vms")


def _of_skypilot(row: Row, provider: str, imported: Imported) -> Offer | None:
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


# --- dstack ---------------------------------------------------------------------------

OF_DSTACK = ("instance_name", "location", "price", "gpu_count", "gpu_name", "spot")
MORE_OF_DSTACK = (
    *("cpu", "memory", "gpu_memory", "gpu_vendor", "disk_size", "cpu_arch", "flags"),
    *("provider", "provider_data"),
)
TEXTS_OF_DSTACK = ("instance_name", "location", "gpu_name")
FIGURES_OF_DSTACK = ("price", "cpu", "memory", "gpu_memory")
MEMORIES_IN_NAMES = {("A100", 40): "A100-40GB", ("A100", 80): "A100-80GB"}
"""Cards that dstack tells apart by their memory alone."""


def import_dstack(
    files: Sequence[str | Path],
    out: str | Path,
    *,
    provider: str | None = None,
    date: str | None = None,
    force: bool = False,
) -> Imported:
    """Write offers of dstack's gpuhunt as an overlay."""
    imported, problems = Imported(), list[Diagnostic]()
    items = _of_files(files, provider, problems) if files else _of_package(provider)
    imported.take(_of_dstack(item, imported) for item in items)
    cite = f"dstackai/gpuhunt, {_named(files) or 'the package'}"
    return write_offers(imported, problems, out, cite=cite, date=date, force=force)


def _of_files(
    files: Sequence[str | Path], provider: str | None, problems: list[Diagnostic]
) -> Iterator[dict[str, Any]]:
    """Read each row as the item of the package that it was written from."""
    for file in map(Path, files):
        for row in read_rows(file, OF_DSTACK, MORE_OF_DSTACK, problems):
            told = "" if provider else row.id("provider")
            yield {
                "provider": told or provider_of(file, file.stem, provider, problems),
                **{name: row.text(name) for name in TEXTS_OF_DSTACK},
                **{name: row.number(name) for name in FIGURES_OF_DSTACK},
                "gpu_count": row.count("gpu_count"),
                "spot": row.text("spot").lower() == "true",
            }


def _of_package(provider: str | None) -> Iterator[dict[str, Any]]:
    try:
        import gpuhunt
    except ImportError as error:
        raise InputError.of(
            "E005",
            "the package gpuhunt is not installed",
            accepted="files of its catalog, or the package",
            help="install `planopt[offers]`",
        ) from error
    wanted = {"provider": [provider]} if provider else {}
    yield from map(vars, gpuhunt.query(min_gpu_count=1, **wanted))


def _of_dstack(item: dict[str, Any], imported: Imported) -> Offer | None:
    name, count, price = item["gpu_name"], item["gpu_count"], item["price"]
    if not name or not count:
        imported.skip("no accelerator")
        return None
    memory_of_card = round(item.get("gpu_memory") or 0)
    known = MEMORIES_IN_NAMES.get((name, memory_of_card), name)
    accelerator = accelerator_of(known, imported)
    if accelerator is None:
        return None
    if not price or not item["instance_name"]:
        imported.skip("no price or no name")
        return None
    memory = item.get("memory")
    return Offer(
        provider=item["provider"],
        instance=item["instance_name"],
        region=item["location"] or "any",
        accelerator=accelerator,
        count=count,
        vcpus=int(item["cpu"]) if item.get("cpu") else None,
        memory_gib=memory * BYTES_PER_GB / BYTES_PER_GIB if memory else None,
        price=None if item["spot"] else price,
        spot=price if item["spot"] else None,
    )
