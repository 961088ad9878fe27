"""Kernels that an engine brings along (serving.md, section 16)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planopt_reference import units
from planopt_reference.derivation import formula

if TYPE_CHECKING:
    from planopt_reference.hardware import Accelerator

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Products:
    """What products reach with weights of one kind: shares, bits and FLOP a clock."""

    bandwidth: float
    bits_per_clock: float
    efficiency: float
    flops_per_clock: float | None = None


@dataclass(frozen=True)
class OwnKernels:
    """What kernels of an engine reach on one accelerator: shares and seconds."""

    wide: Products
    packed: Products
    cache: float
    attention: float
    layer: float
    prompt_layer: float
    pipelining: float
    host: float
    copied_from: int


def _products(table: Table) -> Products:
    stated = {key: units.share(figure) for key, figure in table.items()}
    return Products(**stated)


def own_kernels(table: Table | None, family: str) -> OwnKernels | None:
    """Read `[engines.<name>.kernels]`: a family's own figures lie over those of all."""
    if table is None:
        return None
    found = {**table, **table.get("families", {}).get(family, {})}
    return OwnKernels(
        wide=_products(found["wide"]),
        packed=_products(found["packed"]),
        cache=units.share(found["cache"]),
        attention=units.share(found["attention"]),
        layer=units.seconds(found["layer"]),
        prompt_layer=units.seconds(found["prompt_layer"]),
        pipelining=units.share(found["pipelining"]),
        host=units.share(found["host"]),
        copied_from=units.count(found["copied_from"]),
    )


def narrow_rate(accelerator: Accelerator) -> float:
    """Return the FLOP/s with weights of 16 bits and, where there are, such sums."""
    peak = accelerator.peak
    names = ("fp16_fp16_accumulate", "fp16", "bf16", "fp32")
    return next(peak[name] for name in names if name in peak)


def clocks(accelerator: Accelerator) -> float:
    """Return the clocks of all multiprocessors in a second."""
    fp32 = accelerator.peak.get("fp32", narrow_rate(accelerator))
    return fp32 / 2 / accelerator.lanes


# Serving, section 16, a product.
@formula(
    "a = 2 m N (1/(e P) + 1/(R_p clocks)), b = ((N B/(e_b bandwidth))^4 + "
    "(8 N B/(R clocks))^4)^(1/4)",
    section="16",
    page="serving.md",
    unit="s",
    reads=("accelerator.peak.fp32", "accelerator.peak.fp16"),
)
def product_seconds(
    own: OwnKernels,
    accelerator: Accelerator,
    *,
    bytes_each: tuple[float, float],
    weights: float,
    flops: float,
) -> tuple[float, float]:
    """Return the seconds of `flops` of arithmetic, and of reading `weights`."""
    element, activation = bytes_each
    reached = own.packed if element < activation else own.wide
    moved = weights * element
    read = moved / (accelerator.memory_bandwidth * reached.bandwidth)
    unpacked = 8 * moved / (clocks(accelerator) * reached.bits_per_clock)
    per_flop = 1 / (narrow_rate(accelerator) * reached.efficiency)
    if reached.flops_per_clock is not None:
        per_flop += 1 / (clocks(accelerator) * reached.flops_per_clock)
    return flops * per_flop, (read**4 + unpacked**4) ** 0.25
