"""``planopt catalog``: what is known, where it comes from, and what is imported."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from planopt.catalog import KINDS
from planopt.cli.output import Answer
from planopt.errors import InputError, meant
from planopt.printable import printable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from planopt.catalog.offers import Imported
    from planopt.catalog.open import Catalog


class Opened(TypedDict, total=False):
    """Which catalog is opened."""

    catalog: Sequence[str]
    assumptions: str


class Imports(TypedDict, total=False):
    """How offers of others are imported."""

    provider: str
    date: str
    force: bool


def list_(*, kind: str | None = None, **options: "Unpack[Opened]") -> Answer:
    """List the entries of one kind, or of all.

    planopt catalog list accelerators
    """
    from planopt.catalog.open import open_catalog
    from planopt.report.catalog import render_catalog

    catalog = open_catalog(**options)
    kinds = KINDS if kind is None else (_known(kind),)
    return Answer({each: catalog.list(each) for each in kinds}, render_catalog)


def show_(*, names: list[str], **options: "Unpack[Opened]") -> Answer:
    """Show an entry: every figure with its source.

    planopt catalog show h100-sxm
    """
    from planopt.catalog.open import open_catalog
    from planopt.report.catalog import render_entry

    if len(names) > 2:
        raise InputError.of(
            "E004",
            "one entry is shown at a time",
            value=" ".join(names),
            accepted="`planopt catalog show rtx-4090`, with its kind before it or not",
        )
    catalog = open_catalog(**options)
    *given, name = names
    kind = _known(given[0]) if given else _kind_of(catalog, name)
    return Answer(catalog.show(kind, name), render_entry)


def prices(
    *, condition: str = "new", older: str | None = None, **options: "Unpack[Opened]"
) -> Answer:
    """Show how old the prices are that decide plans, and how well they are known.

    planopt catalog prices
    """
    from planopt.catalog.open import open_catalog
    from planopt.prices import price_list
    from planopt.report.catalog import render_prices

    listed = price_list(open_catalog(**options), condition=condition, older=older)
    return Answer(listed, partial(render_prices, listing=older is not None))


def quotes(
    *,
    files: list[str],
    out: str | None = None,
    force: bool = False,
    **options: "Unpack[Opened]",
) -> Answer:
    """Compare a CSV of price quotes with the catalogs, line by line.

    planopt catalog quotes quotes.csv --out quoted
    """
    from planopt.catalog.open import open_catalog
    from planopt.prices import quotes as read
    from planopt.report.catalog import render_quotes

    found = read(files, open_catalog(**options), out=out, force=force)
    return Answer(found, partial(render_quotes, out=out and printable(out)))


def check(**options: "Unpack[Opened]") -> Answer:
    """Read every file, reporting every problem with its place.

    planopt catalog check --catalog my-catalog
    """
    from planopt.catalog.open import open_catalog
    from planopt.report.catalog import render_counts

    return Answer(open_catalog(**options).check(), render_counts)


def _known(kind: str) -> str:
    """Accept a kind in the singular too."""
    for known in KINDS:
        if kind in (known, known.rstrip("s")):
            return known
    raise InputError.of(
        "E001",
        f"there is no kind of entry called `{kind}`",
        value=kind,
        accepted=", ".join(KINDS),
    )


def _kind_of(catalog: "Catalog", name: str) -> str:
    """Find the kind that an id belongs to; ids are unique over all kinds.

    A provider goes before its offers: ``aws`` is the beginning of ``aws/...``.
    """
    ids: list[str] = []
    for kind in KINDS:
        of_kind = [entry.id for entry in catalog.list(kind)]
        if name in of_kind or any(each.startswith(f"{name}/") for each in of_kind):
            return kind
        ids += of_kind
    raise InputError.of(
        "E001",
        f"the catalogs have no entry `{name}`",
        value=name,
        help=meant(name, ids, most=3) or "`planopt catalog list` lists them",
    )


def import_skypilot(
    *, files: list[str], out: str, **options: "Unpack[Imports]"
) -> Answer:
    """Import offers of SkyPilot's catalogs: aws/vms.csv and the like.

    planopt catalog import-skypilot aws/vms.csv --out offers
    """
    from planopt.catalog.imports import import_skypilot as read

    return _imported(read([*map(Path, files)], Path(out), **options), out)


def import_dstack(
    *, files: Sequence[str] = (), out: str, **options: "Unpack[Imports]"
) -> Answer:
    """Import offers of dstack's gpuhunt: its CSV files, or the package itself.

    planopt catalog import-dstack --out offers
    """
    from planopt.catalog.imports import import_dstack as read

    return _imported(read([*map(Path, files)], Path(out), **options), out)


def import_hf(
    *,
    config: str,
    out: str,
    name: str | None = None,
    force: bool = False,
    online: bool = False,
) -> Answer:
    """Import a model from its Hugging Face config.json.

    planopt catalog import-hf config.json --name my-model --out my-catalog
    """
    from planopt.catalog.imports import import_hf as read
    from planopt.report.catalog import render_model

    file = read(config, Path(out), name=name, force=force, online=online)
    written = {"model": file.stem, "files": [str(file)]}
    return Answer(written, partial(render_model, out=printable(out)))


def _imported(imported: "Imported", out: str) -> Answer:
    from planopt.report.catalog import render_imported

    return Answer(imported.counts(), partial(render_imported, out=printable(out)))
