"""The derivation of an evaluation's figures: formula, inputs with their source, result.

The tree is recorded while the reference (:mod:`planopt.verify`) works the configuration
out once more; it agrees with the core to 1e-9, and says so where it does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt.documents.derivation import Derivation, Fact, Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from planopt.catalog import Catalog
    from planopt.verify.derivation import Node

__all__ = ["derive", "known_host"]

UNKNOWN_HOST = "unknown"
"""What the core calls a host of which nothing is known but what it holds."""


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
