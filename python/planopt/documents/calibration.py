"""What a device was measured to reach, and what follows for predictions."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What the device reached."""

    flop_per_second: dict[str, float]
    """Best product, by format."""
    copy_bytes_per_second: float
    """Best copy, bytes read and written."""
    read_bytes_per_second: float
    """Best product of one row."""
    launch_seconds: float
    """Smallest operation."""
    attention_flop_per_second: float
    """Best prompt."""
    all_reduce_bytes_per_second: float | None
    """Best all-reduce, as nccl-tests' busbw; None for a single device."""

    @property
    def memory_bytes_per_second(self) -> float:
        """The best that the memory gave, whatever was done."""
        return max(self.copy_bytes_per_second, self.read_bytes_per_second)


@dataclass(frozen=True, kw_only=True)
class Efficiencies:
    """Shares of an accelerator's peaks, as the assumptions have them."""

    efficiency: float
    """Of its arithmetic, reached by a large product."""
    bandwidth_efficiency: float
    """Of its memory bandwidth, reached by a product of one row."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One measurement."""

    kind: str
    number_format: str
    """Of the operands; empty for copies and launches."""
    size: tuple[int, ...]
    """Rows, columns and depth; bytes; tokens, heads and their width; or nothing."""
    seconds: float
    """Of one run: the least of several groups of runs."""
    flop: float = 0.0
    """Floating-point operations of a run."""
    moved_bytes: float = 0.0
    """Bytes read and written."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One figure, as it was and as it is now."""

    figure: str
    """What it is."""
    before: float | None
    """As bundled; None where the catalogs had nothing."""
    after: float
    """As measured."""
    unit: str


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What was measured, and what it changes."""

    accelerator: str
    """Id that the figures are filed under."""
    device: str
    """What was measured, with what, when."""
    software: str
    date: str
    known: bool
    """Whether the catalogs had this accelerator already."""
    rates: Rates
    """Best of each kind of work."""
    efficiencies: Efficiencies
    """Shares of the peaks."""
    samples: tuple[Sample, ...]
    """Every measurement."""
    busy: float | None
    """Work that waited for each core when the measurements began (load average over
    cores): much above 0, and the figures are too low."""
    changes: tuple[Change, ...]
    """Figures before and after, predictions with them."""
    overlay: str
    """Folder that was written."""
    assumptions: str = "measured"
    """Id of the assumptions in it."""

    def to_json(self) -> str:
        """Write it as one JSON document."""
        return json.dumps({"schema": "planopt.calibration/1", **asdict(self)}, indent=2)
