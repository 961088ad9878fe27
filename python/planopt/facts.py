"""Gathers what a plan was made from, and says what has changed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from planopt._native import read_toml
from planopt.catalog.open import (
    DEFAULT_ASSUMPTIONS,
    LIMITED_TO,
    Catalog,
    bundled_folder,
    open_catalog,
)
from planopt.catalog.overlay import bare
from planopt.documents.facts import Changed, Fact, Facts, PricePaid
from planopt.documents.plan import Plan, PlanDocument
from planopt.errors import InputError

Table = dict[str, object]
_NAMES = {
    "accelerator": "accelerators",
    "host": "hosts",
    "network": "networks",
    "offer": "hosts",
    "model": "models",
    "draft": "models",
}
"""Keys of a plan that name an entity, by its kind; an offer is a host."""

_RESIDUALS = {
    "training": ("residuals.toml", ("step_time", "memory")),
    "serving": ("serving-residuals.toml", ("tpot", "decode", "throughput", "prefill")),
}
"""File of errors, and the metrics of intervals, by the kind of a plan."""


def facts_of(plan: PlanDocument, catalog: Catalog) -> Facts:
    """Gather what verifying a plan reads of a catalog."""
    if not plan.bill_of_materials and plan.status == "infeasible":
        return Facts()
    found = _entries(plan, catalog)
    assumptions = found.pop(f"assumptions/{catalog.assumptions}")
    entries = {name: _cited(table) for name, table in found.items()}
    bought = (line for line in plan.bill_of_materials if not line.owned)
    lines = {f"{line.kind}/{line.id}": line for line in bought}
    # What is fitted to hardware that is not there any more is still there.
    carried = plan.facts.entries if plan.facts else {}
    about = {name: fact.table for name, fact in carried.items()} | entries
    return Facts(
        entries={name: Fact.of(table) for name, table in sorted(entries.items())},
        fits={name: Fact.of(table) for name, table in _fits(plan, assumptions, about)},
        prices={
            name: msgspec.convert(line, PricePaid, from_attributes=True)
            for name, line in lines.items()
        },
        rates={
            name: rate
            for name, rate in msgspec.to_builtins(catalog.cost).items()
            if name != "hosted_usd_per_million_tokens"  # a hosted API's price
        },
    )


def changed_since(plan: PlanDocument) -> tuple[Changed, ...]:
    """Compare the facts of a plan with the catalogs at hand."""
    return tuple(_changed(plan))


def _changed(plan: PlanDocument) -> Iterator[Changed]:
    if plan.facts is None:
        return
    folders, there = plan.request.catalog, []
    for folder in folders:
        if Path(folder).is_dir():
            there.append(folder)
        else:
            yield Changed(entry="catalog", field=folder, before="a folder")
    assumptions = plan.request.assumptions or DEFAULT_ASSUMPTIONS
    if assumptions.endswith(".toml") and not Path(assumptions).is_file():
        yield Changed(entry="assumptions", field=assumptions, before="a file")
        assumptions = DEFAULT_ASSUMPTIONS
    try:
        now = facts_of(plan, open_catalog(there, assumptions))
    except InputError as error:
        yield Changed(entry="catalogs", field="", now=error.diagnostics[0].headline)
        return
    at_hand = {**now.entries, **now.fits}
    for name, fact in {**plan.facts.entries, **plan.facts.fits}.items():
        other = at_hand.get(name)
        if other is None:
            yield Changed(entry=name, field="", before="an entry")
        elif other.digest != fact.digest:
            before, after = dict(_leaves(fact.table)), dict(_leaves(other.table))
            for field in sorted({*before, *after}):
                if before.get(field) != after.get(field):
                    yield Changed(
                        entry=name,
                        field=field,
                        before=before.get(field),
                        now=after.get(field),
                    )


def _leaves(value: object, field: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, f"{field}.{key}" if field else str(key))
    else:
        yield field.removesuffix(".value"), str(value)


# --- What is read ---------------------------------------------------------------------


def _entries(plan: PlanDocument, catalog: Catalog) -> dict[str, Table]:
    """Read the entries that a plan names, those that they name, and assumptions."""
    named: dict[str, set[str]] = {kind: set() for kind in _NAMES.values()}
    for kind, id_ in _named(msgspec.to_builtins(plan)):
        named[kind].add(id_.partition(LIMITED_TO)[0])
    offers = {id_ for id_ in named["hosts"] if "/" in id_}
    inside = {catalog.native.host_inside(id_) for id_ in offers}
    hosts = (named["hosts"] - offers) | {id_ for id_ in inside if id_}
    providers = {id_.partition("/")[0] for id_ in offers}
    wanted = {name: named[name] for name in ("accelerators", "networks", "models")}
    read = {"hosts": hosts, "offers": providers, "assumptions": {catalog.assumptions}}
    found = _tables(catalog, wanted | read)
    rented = set()
    for name in [name for name in found if name.startswith("offers/")]:
        mine = {id_ for id_ in offers if f"offers/{id_.partition('/')[0]}" == name}
        found[name] = _offered(found[name], mine)
        of_offers = _list(found[name], "offer")
        rented |= {str(each["accelerator"]) for each in of_offers}
    return found | _tables(catalog, {"accelerators": rented}) if rented else found


def _named(value: object) -> Iterator[tuple[str, str]]:
    """Find what a plan names: not in what lies beside the answer."""
    if isinstance(value, dict):
        for key, each in value.items():
            if isinstance(each, str) and key in _NAMES:
                yield _NAMES[key], each
            elif key not in _BESIDE:
                yield from _named(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _named(each)


_BESIDE = frozenset(
    (
        *("answers", "disaggregated", "infeasibility", "one_type", "rent_or_buy"),
        *("renting", "sensitivity", "steps", "heterogeneous", "uncertainty"),
        *("facts", "typed", "architecture", "certificate"),
    )
)
"""Parts of a plan that nobody computes again, or that name something else."""


def _tables(catalog: Catalog, wanted: Mapping[str, set[str]]) -> dict[str, Table]:
    """Read whole files by kind and id; what the catalog does not have is left out."""
    names = [(kind, id_) for kind, ids in wanted.items() for id_ in sorted(ids)]
    read = catalog.native.tables(names)
    return msgspec.json.decode(read, type=dict[str, Table])


def _fits(
    plan: PlanDocument, assumptions: Table, entries: dict[str, Table]
) -> Iterator[tuple[str, Table]]:
    """Keep of the assumptions what they say about what the plan names."""
    cards = {
        name.partition("/")[2]: str(bare(table.get("family", "")))
        for name, table in entries.items()
        if name.startswith("accelerators/")
    }
    about = {*cards, *cards.values()}
    engine = getattr(plan.request, "engine_name", None)
    kept = dict(assumptions)
    for key in ("accelerators", "families", "trainers"):
        if key in kept:
            kept[key] = _only(kept[key], about)
    if isinstance(plan, Plan):
        kept["engines"] = _only(kept.get("engines", {}), {engine})
        for key in ("trainers", "frameworks"):
            kept.pop(key, None)
    yield "assumptions", _cited(kept)
    if plan.assumptions == DEFAULT_ASSUMPTIONS:
        yield "residuals", {"residual": _errors(plan)}


def _errors(plan: PlanDocument) -> list[Table]:
    """Read what is known of errors, of classes that speak for themselves."""
    told = []
    kind = getattr(plan, "kind", "serving")
    folder = bundled_folder() / "measurements"
    paths = [str(folder / name) for name, _ in _RESIDUALS.values()]
    files = msgspec.json.decode(read_toml(paths))
    for (of, (_, metrics)), read in zip(_RESIDUALS.items(), files, strict=True):
        rows, groups = read["least_rows"], read.get("least_groups", 0)
        told += [
            row
            for row in _list(read, "residual")
            if kind in (of, "fleet")
            and row["metric"] in metrics
            and row["rows"] >= rows
            and row.get("groups", groups) >= groups
        ]
    return told


def _only(table: object, names: set[str] | set[str | None]) -> Table:
    own = table if isinstance(table, dict) else {}
    return {name: each for name, each in own.items() if name in names}


def _cited(table: Table) -> Table:
    """Keep of the sources those that something cites."""
    if "sources" not in table:
        return table
    rest = {key: each for key, each in table.items() if key != "sources"}
    return {**rest, "sources": _only(table["sources"], set(_citations(rest)))}


def _citations(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("source"), str):
            yield value["source"]
        for each in value.values():
            yield from _citations(each)
    elif isinstance(value, list):
        for each in value:
            yield from _citations(each)


def _offered(provider: Table, ids: set[str]) -> Table:
    """Keep of a provider's offers those that are named."""

    def id_of(offer: Table) -> str:
        return f"{provider['id']}/{offer['instance']}/{offer['region']}"

    offers = [each for each in _list(provider, "offer") if id_of(each) in ids]
    return {**provider, "offer": offers}


def _list(table: Table, key: str) -> list[Table]:
    found = table.get(key)
    return found if isinstance(found, list) else []
