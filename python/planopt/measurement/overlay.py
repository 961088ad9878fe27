"""What was measured, as a catalog folder to be laid over the bundled one."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass

from planopt.catalog.overlay import toml_document
from planopt.documents.calibration import Efficiencies, Rates, Sample
from planopt.measurement.device import Device
from planopt.toml import tomllib

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

    @property
    def sources(self) -> dict[str, object]:
        """The table of sources that has it."""
        cite = f"planopt calibrate on {self.device} with {self.software}"
        return {SOURCE: {"cite": cite, "date": self.date, "status": "stored"}}


def accelerator_file(id_: str, device: Device, rates: Rates, origin: Origin) -> str:
    """Describe a new device by the best that was measured: its efficiency is 1."""
    return toml_document(
        {
            "id": id_,
            "name": device.name,
            "vendor": "measured",
            "family": "cpu" if device.is_processor else "measured",
            "year": int(origin.date[:4]),
            "form_factor": "cpu" if device.is_processor else "pcie",
            "datacenter_licence": True,
            "peer_to_peer": "no",
            "unified_memory": device.is_processor,
            "memory": _figure(device.memory_bytes, "GiB", 2.0**30),
            "memory_bandwidth": _figure(rates.memory_bytes_per_second, "GB/s", 1e9),
            "peak": {
                number_format: _figure(rate, "TFLOPS", 1e12)
                for number_format, rate in rates.flop_per_second.items()
            },
            "sources": origin.sources,
        }
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
    return f"{toml_document(document)}\n{toml_document({'sources': origin.sources})}"


def samples_file(samples: Sequence[Sample]) -> str:
    """Write every measurement as a row, so that others can fit them too."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("kind", "format", "size", "seconds", "flop", "moved_bytes"))
    for sample in samples:
        kind, number_format, size, *figures = astuple(sample)
        rows.writerow((kind, number_format, "x".join(map(str, size)), *figures))
    return text.getvalue()


def _figure(value: float, unit: str, size: float) -> dict[str, str]:
    return {"value": f"{value / size:.4g} {unit}", "source": SOURCE}
