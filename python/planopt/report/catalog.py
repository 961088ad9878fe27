"""Catalogs on the screen: entries by kind, an entry with the source of each figure."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from planopt.catalog.entries import Entity, Entry, Figure
from planopt.catalog.offers import UNDATED
from planopt.price_sources import STATUSES
from planopt.prices import AGES, COLUMNS, Basis, Listing, PriceList, Quoted, Quotes
from planopt.report.money import money, money_per_hour
from planopt.report.numbers import count, share
from planopt.report.style import UNKNOWN, head
from planopt.report.table import Report, Section, Sentence, Table, listed

_OF_THIS_YEAR = "this year's: at most a year old, and neither from memory nor assumed"
_KINDS = {
    "accelerator": "accelerators",
    "host": "hosts",
    "nic": "NICs",
    "switch": "switches",
    "cable": "cables",
    "instance": "offers",
}


def render_catalog(entries: Mapping[str, Sequence[Entry]]) -> Report:
    """List entries by kind."""
    sections = []
    for kind, of_kind in entries.items():
        table = Table(("id", "name"), [(each.id, each.name) for each in of_kind])
        sections.append(Section("", head(f"{kind} ({len(of_kind)})"), table))
    return Report(*sections)


def render_entry(entry: Entity) -> Report:
    """Show an entry: its figures, each with its source and how far to trust it."""
    rows = [
        (of.field, _value(of), ", ".join(filter(None, (of.status, of.date, of.cite))))
        for of in entry.figures
    ]
    return Report(
        f"{head(entry.name)}   {entry.kind} `{entry.id}`",
        Table(("=field", "value", "source"), rows),
        f"  = file: {entry.file or UNKNOWN}",
    )


def render_prices(prices: PriceList, *, listing: bool = False) -> Report:
    """Count the deciding prices by age and status, and list them where asked."""
    ages = (f"<={age}" if age in AGES else age for age in COLUMNS)
    by_age = [
        (
            _KINDS[each.kind],
            count(each.parts),
            *(count(each.by_age[age]) for age in COLUMNS),
            f"{each.of_this_year:.0%}",
        )
        for each in prices.summaries
    ]
    by_status = []
    for each in prices.summaries:
        counted = (count(each.by_status.get(status, 0)) for status in STATUSES)
        by_status.append((_KINDS[each.kind], *counted))
    on_sale = (f"{number} {answer}" for answer, number in prices.on_sale.items())
    return Report(
        head(f"Deciding prices, {prices.condition}"),
        Table(("", *(f">{age}" for age in ("priced", *ages, "this year's"))), by_age),
        Sentence(_OF_THIS_YEAR),
        "",
        Table(("", *(f">{status}" for status in STATUSES)), by_status),
        "",
        head("Accelerators by what their price is"),
        *listed(_of_basis(prices, each) for each in get_args(Basis)),
        "",
        Sentence(f"Accelerators to be bought new today: {', '.join(on_sale)}", ""),
        *([_each(prices.prices)] if listing else []),
    )


def _of_basis(prices: PriceList, basis: Basis) -> str:
    of_it = [id_ for id_, each in prices.basis_of.items() if each == basis]
    return f"{basis} ({len(of_it)}): {', '.join(of_it) or UNKNOWN}"


def _each(prices: Sequence[Listing]) -> Section:
    rows = [
        (
            each.id,
            each.kind,
            _paid(each, each.usd),
            each.date or UNDATED,
            each.status or UNKNOWN,
            each.condition + (f", system / {each.per}" if each.per > 1 else ""),
        )
        for each in prices
    ]
    return Section("", Table(("id", "kind", ">price", "of", "status", ""), rows))


def render_quotes(quotes: Quotes, *, out: str | None = None) -> Report:
    """Lay quotes out beside the prices that they stand for."""
    rows = [
        (
            each.id,
            each.condition,
            _paid(each, each.usd),
            UNKNOWN if each.age_days is None else f"{each.age_days} d",
            _paid(each, each.catalog_usd),
            each.catalog_date or UNDATED,
            share(each.off),
            _in_range(each),
        )
        for each in quotes.lines
    ]
    titles = ("part", "", ">quote", ">age", ">catalog", "of", ">off", "seen")
    written = f"{len(quotes.files)} files are in {out}. Use them with --catalog {out}."
    return Report(
        Table(titles, rows),
        *(["", written] if quotes.files else []),
        *(["", "Use them with", *quotes.options] if quotes.options else []),
    )


def _paid(for_: Quoted | Listing, usd: float | None) -> str:
    return money_per_hour(usd) if for_.kind == "instance" else money(usd)


def _in_range(quote: Quoted) -> str:
    """Say where a quote is in the range that prices were seen in."""
    low, high = quote.low_usd, quote.high_usd
    if low is None or high is None:
        return "no range"
    if quote.usd < low:
        return "below the range"
    return "above the range" if quote.usd > high else "in the range"


def render_counts(counts: Mapping[str, int]) -> Report:
    """Say that every file could be read."""
    said = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    return Report(Sentence(f"Every file of the catalogs is in order: {said}.", ""))


def render_model(written: Mapping[str, Any], *, out: str) -> Report:
    """Say where a model is that was imported."""
    (file,) = written["files"]
    return Report(
        f"Model `{written['model']}` is in {file}. Use it with --catalog {out}."
    )


def render_imported(counts: Mapping[str, Any], *, out: str) -> Report:
    """Say where offers are that were imported, and what was left out."""
    return Report(
        f"{counts['offers']} offers of {', '.join(counts['providers'])} are in "
        f"{out}. Use them with --catalog {out}.",
        *(f"  {n} rows left out: {why}" for why, n in counts["skipped"].items()),
        *(f"  `{name}` taken for {what}" for name, what in counts["taken_for"].items()),
    )


def _value(figure: Figure) -> str:
    """Give a value as it is written; a price with how many it is for, and its range."""
    per = f" per {figure.per}" if figure.per else ""
    ends = [end for end in (figure.low_usd, figure.high_usd) if end]
    seen = f", one at {' to '.join(map(money, ends))}" if ends else ""
    return f"{figure.text}{per}{seen}"
