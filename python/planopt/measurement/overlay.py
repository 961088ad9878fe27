"""What was measured, as a catalog folder to be laid over the bundled one."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, astuple, dataclass
from typing import TYPE_CHECKING

from planopt.catalog.overlay import source_section, toml_document, toml_value
from planopt.toml import tomllib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt.documents.calibration import Efficiencies, Rates, Sample
    from planopt.measurement.device import Device

ASSUMPTIONS = "measured"
"""Id of the assumptions that a calibration writes."""

SOURCE = "measured"
"""Id of the source that all its figures name."""

_HERE = "; measured here"


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where and when the figures were measured."""

    # As :class:`planopt.measurement.device.Device` has them; the date is ISO 8601.
    device: str
    software: str
    date: str

    def section(self) -> str:
        """Write it as a source."""
        cite = f"planopt calibrate on {self.device} with {self.software}"
        return source_section(SOURCE, cite, self.date, "stored") + "\n"


def accelerator_file(id_: str, device: Device, rates: Rates, origin: Origin) -> str:
    """Describe a new device by the best that was measured: its efficiency is 1."""
    peaks = "".join(
        f"{number_format} = {_figure(_in_units(rate, 'TFLOPS', 1e12))}\n"
        for number_format, rate in rates.flop_per_second.items()
    )
    memory = _figure(_in_units(device.memory_bytes, "GiB", 2.0**30))
    bandwidth = _figure(_in_units(rates.memory_bytes_per_second, "GB/s", 1e9))
    kind = "cpu" if device.is_processor else "pcie"
    return (
        f'id = "{id_}"\n'
        f"name = {toml_value(device.name)}\n"
        'vendor = "measured"\n'
        f'family = "{"cpu" if device.is_processor else "measured"}"\n'
        f"year = {origin.date[:4]}\n"
        f'form_factor = "{kind}"\n'
        "datacenter_licence = true\n"
        'peer_to_peer = "no"\n'
        f"unified_memory = {'true' if device.is_processor else 'false'}\n"
        f"memory = {memory}\n"
        f"memory_bandwidth = {bandwidth}\n"
        f"\n[peak]\n{peaks}\n{origin.section()}"
    )


def assumptions_file(
    base: str, accelerator: str, efficiencies: Efficiencies, origin: Origin
) -> str:
    """Put an accelerator's efficiencies into a set of assumptions."""
    document = tomllib.loads(base)
    own = document.setdefault("accelerators", {}).setdefault(accelerator, {})
    for key, value in asdict(efficiencies).items():
        own[key] = {"value": float(f"{value:.4g}"), "source": SOURCE}
    # Products of 16 bits as others measured them stand no more.
    own.get("formats", {}).pop("bf16", None)
    return measured_assumptions(document, origin)


def measured_assumptions(document: dict[str, object], origin: Origin) -> str:
    """Write assumptions under the id of what was measured, with its source."""
    described = str(document.get("description", "")).removesuffix(_HERE)
    document |= {"id": ASSUMPTIONS, "description": described + _HERE}
    sources = document.get("sources")
    if isinstance(sources, dict):
        sources.pop(SOURCE, None)
    return f"{toml_document(document)}\n{origin.section()}"


def samples_file(samples: Sequence[Sample]) -> str:
    """Write every measurement as a row, so that others can fit them too."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("kind", "format", "size", "seconds", "flop", "moved_bytes"))
    for sample in samples:
        kind, number_format, size, *figures = astuple(sample)
        rows.writerow((kind, number_format, "x".join(map(str, size)), *figures))
    return text.getvalue()


def _in_units(value: float, unit: str, size: float) -> str:
    return f"{value / size:.4g} {unit}"


def _figure(value: str) -> str:
    return f'{{ value = {toml_value(value)}, source = "{SOURCE}" }}'
