"""What a device was measured to reach, and what follows for predictions."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What the device reached.

    Parameters
    ----------
    flop_per_second : dict of str to float
        Best product, by format.
    copy_bytes_per_second : float
        Best copy, bytes read and written.
    read_bytes_per_second : float
        Best product of one row.
    launch_seconds : float
        Smallest operation.
    attention_flop_per_second : float
        Best prompt.
    all_reduce_bytes_per_second : float or None
        Best all-reduce, as nccl-tests' busbw; None for a single device.
    """

    flop_per_second: dict[str, float]
    copy_bytes_per_second: float
    read_bytes_per_second: float
    launch_seconds: float
    attention_flop_per_second: float
    all_reduce_bytes_per_second: float | None

    @property
    def memory_bytes_per_second(self) -> float:
        """The best that the memory gave, whatever was done."""
        return max(self.copy_bytes_per_second, self.read_bytes_per_second)


@dataclass(frozen=True, kw_only=True)
class Efficiencies:
    """Shares of an accelerator's peaks, as the assumptions have them.

    Parameters
    ----------
    efficiency : float
        Of its arithmetic, reached by a large product.
    bandwidth_efficiency : float
        Of its memory bandwidth, reached by a product of one row.
    """

    efficiency: float
    bandwidth_efficiency: float


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One measurement.

    Parameters
    ----------
    kind : {"matmul", "one-row", "copy", "attention", "launch", "all-reduce"}
    number_format : str
        Of the operands; empty for copies and launches.
    size : tuple of int
        Rows, columns and depth; bytes; tokens, heads and their width; or nothing.
    seconds : float
        Of one run: the least of several groups of runs.
    flop : float
        Floating-point operations of a run.
    moved_bytes : float
        Bytes read and written.
    """

    kind: str
    number_format: str
    size: tuple[int, ...]
    seconds: float
    flop: float = 0.0
    moved_bytes: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Change:
    """One figure, as it was and as it is now.

    Parameters
    ----------
    figure, unit : str
        What it is.
    before : float or None
        As bundled; None where the catalogs had nothing.
    after : float
        As measured.
    """

    figure: str
    before: float | None
    after: float
    unit: str


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What was measured, and what it changes.

    Parameters
    ----------
    accelerator : str
        Id that the figures are filed under.
    device, software, date : str
        What was measured, with what, when.
    known : bool
        Whether the catalogs had this accelerator already.
    rates : Rates
        Best of each kind of work.
    efficiencies : Efficiencies
        Shares of the peaks.
    samples : tuple of Sample
        Every measurement.
    busy : float or None
        Work that waited for each core when the measurements began (load average over
        cores): much above 0, and the figures are too low.
    changes : tuple of Change
        Figures before and after, predictions with them.
    overlay : str
        Folder that was written.
    assumptions : str
        Id of the assumptions in it.
    """

    accelerator: str
    device: str
    software: str
    date: str
    known: bool
    rates: Rates
    efficiencies: Efficiencies
    samples: tuple[Sample, ...]
    busy: float | None
    changes: tuple[Change, ...]
    overlay: str
    assumptions: str = "measured"

    def to_json(self) -> str:
        """Write it as one JSON document."""
        return json.dumps({"schema": "planopt.calibration/1", **asdict(self)}, indent=2)
