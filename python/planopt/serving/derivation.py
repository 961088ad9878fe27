"""The derivation of a served configuration's figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt.catalog import bundled_folder
from planopt.derivation import derive, known_host
from planopt.shared_options import architecture_of

if TYPE_CHECKING:
    from planopt.catalog import Catalog
    from planopt.documents.derivation import Derivation
    from planopt.documents.evaluation import EvaluationDocument

__all__ = ["derivation_of"]


def derivation_of(
    evaluation: EvaluationDocument,
    catalog: Catalog,
    *,
    prompt: int,
    kv_heads: int | None,
    pcie_all_reduce: str | None,
    hosts: int | None = None,
    engine: str | None = None,
) -> tuple[Derivation, ...]:
    """Work an evaluation out by the reference, and record how.

    Parameters
    ----------
    evaluation : EvaluationDocument
        What is to be explained.
    catalog : Catalog
        The catalogs it was evaluated with.
    prompt : int
        Tokens of a prompt.
    kv_heads : int, optional
        Key/value heads in place of the model's own.
    pcie_all_reduce : str, optional
        Class of hosts in place of that of the assumptions.
    hosts : int, optional
        Hosts of a replica, where they were asked for.
    engine : str, optional
        Serving engine that runs the kernels.
    """
    from planopt.verify import Facts, evaluate_serving

    candidate, hardware = evaluation.candidate, evaluation.hardware
    if candidate is None or hardware is None or evaluation.context_tokens is None:
        return ()
    model = str(evaluation.model)
    facts = Facts(
        bundled_folder(),
        [Path(folder) for folder in catalog.overlays],
        assumptions=catalog.assumptions,
        pcie_all_reduce=pcie_all_reduce,
        engine=engine,
        **catalog.bought,
    )
    given: dict[str, Any] = {
        "model": architecture_of(catalog, model) or model,
        "accelerator": candidate.accelerator,
        "host": known_host(hardware.host),
        "accelerators_per_host": candidate.accelerators // hosts if hosts else None,
        "network": hardware.network,
        "nics_per_host": hardware.nics_per_host or 0,
        "tp": candidate.tp,
        "cp": candidate.cp,
        "dp": candidate.dp,
        "ep": candidate.ep,
        "pp": candidate.pp,
        "in_flight": candidate.in_flight,
        "batch": candidate.batch,
        "context": evaluation.context_tokens,
        "prompt": prompt,
        "weights": candidate.weights,
        "kv": candidate.kv,
        "overlap": candidate.overlap,
        "kv_heads": kv_heads,
        "draft": candidate.draft,
        "draft_tokens": candidate.draft_tokens or 0,
        "acceptance": candidate.acceptance or 0.0,
        "offload": candidate.offload,
        "offload_to": candidate.offload_to or "host",
        "lora_adapters": candidate.lora_adapters or 0,
        "lora_rank": candidate.lora_rank or 0,
        "encoder_parameters": candidate.encoder_parameters or 0.0,
        "image_patches": candidate.image_patches or 0.0,
    }
    entities = {
        kind: given[kind] for kind in ("accelerator", "host", "network") if given[kind]
    }
    return derive(lambda: evaluate_serving(facts, **given), catalog, entities)
