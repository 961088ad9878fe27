"""The derivation of an evaluation's figures: formula, inputs with their source, result.

The tree is recorded while the reference (:mod:`planopt.verify`) works the configuration
out once more; it agrees with the core to 1e-9, and says so where it does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from planopt.catalog import Catalog
    from planopt.verify.derivation import Node

__all__ = ["Derivation", "Fact", "Figure", "derive", "known_host"]

UNKNOWN_HOST = "unknown"
"""What the core calls a host of which nothing is known but what it holds."""


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of a catalog or of the assumptions.

    Parameters
    ----------
    name : str
        ``accelerator.memory_bandwidth``, ``compute.half_rows``.
    text : str
        Value with its unit, as the file has it.
    source : str or None
        Where it comes from, and how sure that is.
    """

    name: str
    text: str
    source: str | None = None


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One result, with its unit; its name where a formula gives several."""

    value: float
    unit: str = ""
    name: str = ""


class Derivation(msgspec.Struct, frozen=True, kw_only=True):
    """One formula, worked out; ``children`` are those it used.

    Parameters
    ----------
    name, formula : str
        What it computes, and how.
    page, section : str
        Where docs/reference says so.
    inputs : dict
        What it was given.
    facts : tuple of Fact
        What it looked up.
    result : tuple of Figure
        What came out.
    times : int
        How often the same came out of the same.
    children : tuple of Derivation
        Formulas used on the way.
    """

    name: str
    formula: str
    page: str
    section: str
    inputs: dict[str, float | int | str | bool]
    facts: tuple[Fact, ...]
    result: tuple[Figure, ...]
    times: int = 1
    children: tuple[Derivation, ...] = ()


def known_host(host: str | None) -> str | None:
    """Return the id of a host; none where no host of the catalog takes them."""
    return None if host == UNKNOWN_HOST else host


def derive(
    work: Callable[[], object], catalog: Catalog, entities: Mapping[str, str]
) -> tuple[Derivation, ...]:
    """Record what the reference does, with the source of each fact.

    Parameters
    ----------
    work : callable
        Works a configuration out by the reference.
    catalog : Catalog
        The catalogs it reads.
    entities : mapping
        Ids of the entities it is about, by kind in the singular: ``accelerator``,
        ``host``, ``network``.
    """
    from planopt.verify.derivation import recording

    with recording() as roots:
        work()
    facts = _facts(catalog, entities)
    return tuple(_derivation(root, facts) for root in roots)


def _derivation(node: Node, facts: Mapping[str, Fact]) -> Derivation:
    return Derivation(
        name=node.name,
        formula=node.formula,
        page=node.page,
        section=node.section,
        inputs=dict(node.inputs),
        facts=tuple(facts[name] for name in node.reads if name in facts),
        result=tuple(
            Figure(name=name, value=value, unit=node.unit)
            for name, value in node.result.items()
        ),
        times=node.times,
        children=tuple(_derivation(child, facts) for child in node.children),
    )


def _facts(catalog: Catalog, entities: Mapping[str, str]) -> dict[str, Fact]:
    """Every figure that a formula may have looked up, by the name it has there."""
    (assumptions,) = catalog.list("assumptions")
    facts = {
        figure["field"]: _fact(figure["field"], figure)
        for figure in catalog.show("assumptions", assumptions["id"])["figures"]
    }
    for kind, id_ in entities.items():
        for figure in catalog.show(f"{kind}s", id_)["figures"]:
            name = f"{kind}.{figure['field']}"
            facts[name] = _fact(name, figure)
    # What an accelerator has of its own stands in place of the general assumption.
    own = f"accelerators.{entities.get('accelerator')}."
    for name in [name for name in facts if name.startswith(own)]:
        facts[f"compute.{name.removeprefix(own)}"] = facts[name]
    return facts


def _fact(name: str, figure: Mapping[str, Any]) -> Fact:
    cite, date, status = (figure[key] for key in ("cite", "date", "status"))
    sure = ", ".join(word for word in (date, status) if word)
    return Fact(
        name=name,
        text=figure["text"],
        source=f"{cite} ({sure})" if cite else None,
    )
