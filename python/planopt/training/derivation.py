"""The derivation of a training run's figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt.catalog import bundled_folder
from planopt.derivation import derive, known_host
from planopt.shared_options import architecture_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.catalog import Catalog
    from planopt.documents.derivation import Derivation
    from planopt.documents.parts import Hardware

__all__ = ["derivation_of"]


def derivation_of(
    request: Mapping[str, Any], hardware: Hardware, catalog: Catalog
) -> tuple[Derivation, ...]:
    """Work a run out by the reference, and record how.

    Parameters
    ----------
    request : mapping
        What was asked of the core.
    hardware : Hardware
        Where it was evaluated.
    catalog : Catalog
        The catalogs it was evaluated with.
    """
    from planopt.verify import Facts
    from planopt.verify.training import evaluate_training

    facts = Facts(
        bundled_folder(),
        [Path(folder) for folder in catalog.overlays],
        assumptions=catalog.assumptions,
        **catalog.bought,
    )
    model = str(request["model"])
    given = {
        **request,
        "model": architecture_of(catalog, model) or model,
        "host": known_host(hardware.host),
    }
    entities = {
        kind: given[kind]
        for kind in ("accelerator", "host", "network")
        if given.get(kind)
    }
    return derive(lambda: evaluate_training(facts, **given), catalog, entities)
