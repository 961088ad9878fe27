"""What was measured, as a catalog folder to be laid over the bundled one."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import asdict, astuple, dataclass
from typing import TYPE_CHECKING

from planopt.catalog.overlay import source_section, toml_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt.documents.calibration import Efficiencies, Rates, Sample
    from planopt.measurement.device import Device

ASSUMPTIONS = "measured"
"""Id of the assumptions that a calibration writes."""

SOURCE = "measured"
"""Id of the source that all its figures name."""


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
    kept = re.sub(r'(?m)^id = ".*"$', f'id = "{ASSUMPTIONS}"', base, count=1)
    kept = re.sub(
        r'(?m)^description = "(.*)"$',
        r'description = "\1; measured here"',
        kept,
        count=1,
    )
    kept = _without(f"sources.{SOURCE}", kept)
    figures = {
        key: _figure(f"{value:.4g}", bare=True)
        for key, value in asdict(efficiencies).items()
    }
    key = toml_value(accelerator) if "." in accelerator else accelerator
    section = f"accelerators.{key}"
    # Products of 16 bits as others measured them stand no more.
    kept = _without(f"{section}.formats.bf16", kept)
    return f"{_with(section, figures, kept).rstrip()}\n\n{origin.section()}"


def samples_file(samples: Sequence[Sample]) -> str:
    """Write every measurement as a row, so that others can fit them too."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("kind", "format", "size", "seconds", "flop", "moved_bytes"))
    for sample in samples:
        kind, number_format, size, *figures = astuple(sample)
        rows.writerow((kind, number_format, "x".join(map(str, size)), *figures))
    return text.getvalue()


def _without(section: str, text: str) -> str:
    """Leave out a section, up to the next one."""
    return re.sub(rf"(?ms)^\[{re.escape(section)}\]\n.*?(?=^\[|\Z)", "", text)


def _with(section: str, figures: Mapping[str, str], text: str) -> str:
    """Put figures into a section: in the place of those of their names, or new."""
    lines = "".join(f"{key} = {figure}\n" for key, figure in figures.items())
    head = f"[{section}]\n"
    before, found, after = text.partition(head)
    if not found:
        return f"{text.rstrip()}\n\n{head}{lines}"
    next_section = re.compile(r"^\[", re.MULTILINE).search(after)
    end = next_section.start() if next_section else len(after)
    own, rest = after[:end], after[end:]
    for key in figures:
        own = re.sub(rf"(?m)^{key} = .*\n", "", own)
    return f"{before}{head}{lines}{own}{rest}"


def _in_units(value: float, unit: str, size: float) -> str:
    return f"{value / size:.4g} {unit}"


def _figure(value: str, *, bare: bool = False) -> str:
    written = value if bare else toml_value(value)
    return f'{{ value = {written}, source = "{SOURCE}" }}'
