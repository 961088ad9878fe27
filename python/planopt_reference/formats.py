"""Formats: bytes of an element, and its rate of arithmetic (model.md, section 2)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planopt_reference.derivation import formula

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt_reference.assumptions import Assumptions
    from planopt_reference.hardware import Accelerator

_CATALOGS: Final = Path(__file__).resolve().parent.parent / "planopt" / "catalogs"

# Section 2, "packed": bits of layers alone, or of layers, embedding and head.
_PACKED: Final[dict[str, float | list[float]]] = {
    name: bits
    for family in tomllib.loads((_CATALOGS / "formats.toml").read_text()).values()
    for name, bits in family.get("bits", {}).items()
}

# Section 2, bytes per element.
BYTES_PER_ELEMENT: Final[dict[str, float]] = {
    "fp32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "int4": 0.51953125,
    "mxfp4": 0.53125,
    "nvfp4": 0.5625,
    "w4a8": 0.51953125,
    "fp8-2:4": 0.625,
    **{
        name: (bits[0] if isinstance(bits, list) else bits) / 8
        for name, bits in _PACKED.items()
    },
}

# Section 2, "packed": the embedding, and the head, where they are, too.
ENDS: Final[dict[str, tuple[float, float]]] = {
    name: (bits[1] / 8, bits[2] / 8)
    for name, bits in _PACKED.items()
    if isinstance(bits, list)
}

# Section 2, "weight-only".
WEIGHT_ONLY: Final = ("int4", "mxfp4", *_PACKED)

# Section 2, "fp8-2:4": families whose products leave half of the work out.
SPARSE_FAMILIES: Final = ("ampere", "ada", "hopper", "blackwell")


class FormatError(ValueError):
    """A format that does not exist, or that the accelerator has no rate for."""


def bytes_per_element(name: str) -> float:
    """Return the bytes of an element of a format.

    Raises
    ------
    FormatError
        If there is no such format.
    """
    if name not in BYTES_PER_ELEMENT:
        message = f"no format `{name}`: one of {', '.join(BYTES_PER_ELEMENT)}"
        raise FormatError(message)
    return BYTES_PER_ELEMENT[name]


# Section 2, "Activations ... take B_a".
def activation_bytes(weights: str) -> float:
    """Return the bytes of an activation under a weight format."""
    return BYTES_PER_ELEMENT["fp32" if weights == "fp32" else "bf16"]


def _first_present(peak: dict[str, float], names: Iterable[str], weights: str) -> float:
    for name in names:
        if name in peak:
            return peak[name]
    message = f"no rate of arithmetic for {weights}: none of {', '.join(names)}"
    raise FormatError(message)


# Section 2, "base(weights)".
@formula(
    "the first rate that the accelerator has: of fp16 weights fp16, bf16, fp32; "
    "of others bf16, fp16, fp32",
    section="2",
    unit="FLOP/s",
    reads=(
        "accelerator.peak.bf16",
        "accelerator.peak.fp16",
    ),
)
def base_rate(
    accelerator: Accelerator, assumptions: Assumptions, weights: str
) -> float:
    """Return the FLOP/s of operations that are not quantised.

    Raises
    ------
    FormatError
        If the accelerator has none of the rates that would do.
    """
    peak = dict(accelerator.peak)
    if weights == "fp32":
        return _first_present(peak, ("tf32", "fp32"), weights)
    accumulates = assumptions.compute(accelerator).fp16_accumulate
    if accumulates and "fp16_fp16_accumulate" in peak:
        return peak["fp16_fp16_accumulate"]
    if weights == "fp16":
        return _first_present(peak, ("fp16", "bf16", "fp32"), weights)
    return _first_present(peak, ("bf16", "fp16", "fp32"), weights)


# Section 2, "Quantised operations run at".
@formula(
    "the rate of the format of the weights; the base rate where only weights are "
    "quantised",
    section="2",
    unit="FLOP/s",
    reads=(
        "accelerator.peak.fp8",
        "accelerator.peak.int8",
        "accelerator.peak.fp4",
    ),
)
def quantised_rate(
    accelerator: Accelerator, assumptions: Assumptions, weights: str
) -> float:
    """Return the FLOP/s of operations whose parameters are in the weight format.

    Raises
    ------
    FormatError
        If the format needs a rate that the accelerator lacks.
    """
    peak = dict(accelerator.peak)
    if weights == "fp8":
        accumulate = assumptions.compute(accelerator).fp16_accumulate
        names = ("fp8_fp16_accumulate", "fp8") if accumulate else ("fp8",)
        return _first_present(peak, names, weights)
    if weights == "nvfp4":
        return _first_present(peak, ("fp4",), weights)
    if weights == "w4a8":
        return _first_present(peak, ("int8", "fp8"), weights)
    if weights == "fp8-2:4":
        if accelerator.family not in SPARSE_FAMILIES:
            message = f"{accelerator.family} has no products of 2:4 sparse matrices"
            raise FormatError(message)
        return 2 * _first_present(peak, ("fp8",), weights)
    if weights == "int8" and "int8" in peak:
        return peak["int8"]
    return base_rate(accelerator, assumptions, weights)
