"""What all-reduces over scale-up links reach (docs/reference/model.md, section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from planopt_studies.fits.fit import Bounds, Fit, fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from planopt_studies.fits.fit import Array
    from planopt_studies.fits.tables import Kernels, System

__all__ = ["DIRECT_LIMIT", "all_reduces"]

_ELEMENT: Final = 2
_LEAST, _MOST = 2**11, 2**30
_MIB: Final = 2**20
DIRECT_LIMIT: Final = 16
"""MiB that engines register with their peers at most, and above which NCCL does it.

That is SGLang's limit; of the others a fit knows the own one.
"""
# In MiB: `max_size` of the all-reduces of vLLM and SGLang, and where TensorRT-LLM's
# choice of a strategy changes in the tables.
_DIRECT_LIMITS: Final = {"vllm": 8, "sglang": DIRECT_LIMIT, "trtllm": 1}
# Launched one by one by a host that is not faster: not as engines do.
_EAGER: Final = "eager"


def all_reduces(
    kernels: Kernels, systems: Iterable[System], bandwidth: float
) -> Fit | None:
    """Fit rings of NCCL and all-reduces of engines, over one kind of link."""
    tables = []
    for system in systems:
        for engine, table in kernels.read(system, "custom_allreduce"):
            graph = table
            if "backend" in table:
                graph = table[~table["backend"].str.contains(_EAGER)]
            limit = _DIRECT_LIMITS.get(engine, 0) * _MIB
            ring = graph["message_size"] * _ELEMENT >= limit
            tables.append(graph.assign(ring=ring))
        for _, table in kernels.read(system, "nccl"):
            rings = (table["op_name"] == "all_reduce") & (table["nccl_dtype"] == "half")
            tables.append(table[rings].assign(ring=True))
    rows = pd.concat(tables)
    payload = np.asarray(rows["message_size"], dtype=float) * _ELEMENT
    sizes = (payload >= _LEAST) & (payload <= _MOST)
    rows, payload = rows[sizes], payload[sizes]
    ranks = np.asarray(rows["num_gpus"], dtype=float)
    sent = 2 * (ranks - 1) / ranks * payload
    is_ring = np.asarray(rows["ring"], dtype=bool)

    def predict(reached: Mapping[str, float]) -> Array:
        micro = {name: value * 1e-6 for name, value in reached.items()}
        low = bandwidth * reached["scale_up_efficiency"]
        direct_rate = bandwidth * reached["direct_efficiency"]
        steps = 2 * (ranks - 1) * micro["scale_up_latency"]
        bulk = sent / (bandwidth * reached["bulk_efficiency"])
        ring = np.minimum(
            micro["collective_overhead"] + steps + sent / low,
            micro["bulk_latency"] + bulk,
        )
        direct = np.minimum(
            micro["one_shot_latency"] + (ranks - 1) * payload / direct_rate,
            micro["two_shot_latency"] + sent / direct_rate,
        )
        return np.asarray(np.where(is_ring, ring, np.minimum(ring, direct)))

    parameters = {
        "scale_up_efficiency": Bounds(0.5, 0.05, 1.0),
        "direct_efficiency": Bounds(0.6, 0.05, 1.0),
        "scale_up_latency": Bounds(1, 0.1, 10),
        "collective_overhead": Bounds(5, 0.5, 50),
        "one_shot_latency": Bounds(5, 0.5, 50),
        "two_shot_latency": Bounds(10, 0.5, 100),
        "bulk_latency": Bounds(40, 5, 200),
        "bulk_efficiency": Bounds(0.8, 0.1, 1.0),
    }
    return fit(parameters, predict, np.asarray(rows["seconds"], dtype=float))
