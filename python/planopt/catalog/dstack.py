"""dstack's catalogs: the package gpuhunt, or the CSV files that it publishes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt.catalog.offers import Imported, Offer, accelerator_of, write_offers
from planopt.catalog.rows import provider_of, read_rows
from planopt.errors import Diagnostic, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.catalog.rows import Row

REQUIRED = ("instance_name", "location", "price", "gpu_count", "gpu_name", "spot")
OPTIONAL = (
    "cpu",
    "memory",
    "gpu_memory",
    "gpu_vendor",
    "disk_size",
    "cpu_arch",
    "flags",
    "provider",
    "provider_data",
)
BYTES_PER_GB = 10**9
BYTES_PER_GIB = 2**30
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
    imported = Imported()
    problems: list[Diagnostic] = []
    items = [
        *(_of_files(files, provider, problems) if files else _of_package(provider))
    ]
    if problems:
        raise InputError(problems)
    for item in items:
        offer = _offer(item, imported)
        if offer is not None:
            imported.offers.append(offer)
    what = ", ".join(Path(file).name for file in files) or "the package"
    cite = f"dstackai/gpuhunt, {what}"
    write_offers(imported, Path(out), cite=cite, date=date, force=force)
    return imported


def _of_files(
    files: Sequence[str | Path], provider: str | None, problems: list[Diagnostic]
) -> Iterator[dict[str, Any]]:
    for file in map(Path, files):
        for row in read_rows(file, REQUIRED, OPTIONAL, problems):
            told = "" if provider else row.id("provider")
            whose = told or provider_of(file, file.stem, provider, problems)
            yield _item(row, whose)


def _item(row: Row, provider: str) -> dict[str, Any]:
    """Read a row as the item of the package that it was written from."""
    return {
        "provider": provider,
        "instance_name": row.text("instance_name"),
        "location": row.text("location"),
        "price": row.number("price"),
        "cpu": row.number("cpu"),
        "memory": row.number("memory"),
        "gpu_count": row.count("gpu_count"),
        "gpu_name": row.text("gpu_name"),
        "gpu_memory": row.number("gpu_memory"),
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
    for item in gpuhunt.query(min_gpu_count=1, **wanted):
        yield vars(item)


def _offer(item: dict[str, Any], imported: Imported) -> Offer | None:
    name, count, price = item["gpu_name"], item["gpu_count"], item["price"]
    if not name or not count:
        imported.skip("no accelerator")
        return None
    memory_of_card = round(item.get("gpu_memory") or 0)
    known = MEMORIES_IN_NAMES.get((name, memory_of_card), name)
    accelerator = accelerator_of(known, imported)
    if accelerator is None:
        imported.skip(f"accelerator `{name}` is not in planopt's catalogs")
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
