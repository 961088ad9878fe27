"""What a plan says of a layout, as the reference is asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Table", "configuration", "hardware_and_ranks"]

Table = Mapping[str, Any]


def hardware_and_ranks(candidate: Table, hardware: Table) -> dict[str, Any]:
    """Return where a replica stands, and the degrees that make its accelerators."""
    return {
        "accelerator": candidate["accelerator"],
        "host": hardware["host"],
        "network": hardware.get("network"),
        "nics_per_host": hardware.get("nics_per_host") or 0,
        "tp": candidate["tp"],
        "cp": candidate.get("cp") or 1,
        "dp": candidate.get("dp") or 1,
        "pp": candidate["pp"],
    }


def configuration(candidate: Table, hardware: Table) -> dict[str, Any]:
    """Return all that the evaluation of a replica depends on but what is served."""
    return hardware_and_ranks(candidate, hardware) | {
        "ep": candidate.get("ep") or 1,
        "in_flight": candidate["in_flight"],
        "batch": candidate["batch"],
        "weights": candidate.get("weights"),
        "kv": candidate.get("kv"),
        "encoder_parameters": candidate.get("encoder_parameters") or 0.0,
        "image_patches": candidate.get("image_patches") or 0.0,
    }
