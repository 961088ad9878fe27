"""From times to the few figures that the model has for an accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt._native import parse_quantity
from planopt.documents.calibration import Efficiencies, Rates
from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.catalog.entries import Entity
    from planopt.documents.calibration import Sample

_PLAUSIBLE = 1.1
"""A clock above its nominal rate explains so much more than the peak, and no more."""


def rates_of(samples: Sequence[Sample]) -> Rates:
    """Take the best of each kind."""

    def best(kind: str, work: str) -> float:
        of_it = (each for each in samples if each.kind == kind)
        return max((getattr(each, work) / each.seconds for each in of_it), default=0.0)

    products = [sample for sample in samples if sample.kind == "matmul"]
    by_format: dict[str, float] = {}
    for sample in products:
        rate = sample.flop / sample.seconds
        by_format[sample.number_format] = max(
            rate, by_format.get(sample.number_format, 0.0)
        )
    launches = [each.seconds for each in samples if each.kind == "launch"]
    return Rates(
        flop_per_second=by_format,
        copy_bytes_per_second=best("copy", "moved_bytes"),
        read_bytes_per_second=best("one-row", "moved_bytes"),
        launch_seconds=min(launches, default=0.0),
        attention_flop_per_second=best("attention", "flop"),
        all_reduce_bytes_per_second=best("all-reduce", "moved_bytes") or None,
    )


def efficiencies_of(rates: Rates, accelerator: Entity) -> Efficiencies:
    """Compare with an accelerator of the catalog."""
    figures = {each.field: each.text for each in accelerator.figures}
    peaks = {
        field.removeprefix("peak."): parse_quantity(text, "flops_per_second")
        for field, text in figures.items()
        if field.startswith("peak.")
    }
    bandwidth = parse_quantity(figures["memory_bandwidth"], "bytes_per_second")
    shares = {
        number_format: rate / peaks[number_format]
        for number_format, rate in rates.flop_per_second.items()
        if number_format in peaks
    }
    arithmetic = max(shares.values(), default=0.0)
    reading = rates.read_bytes_per_second / bandwidth
    if not 0.0 < arithmetic <= _PLAUSIBLE or not 0.0 < reading <= _PLAUSIBLE:
        raise InputError.of(
            "E004",
            f"this device is no {accelerator.name}: it reaches {arithmetic:.0%} of"
            f" that one's arithmetic and {reading:.0%} of its memory bandwidth",
            field="--accelerator",
            value=accelerator.id,
            accepted="the accelerator that is measured, or a new name for it",
        )
    return Efficiencies(
        efficiency=min(arithmetic, 1.0), bandwidth_efficiency=min(reading, 1.0)
    )
