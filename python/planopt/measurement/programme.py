"""What is measured, for how long, and the few figures that the times come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from planopt._native import parse_quantity
from planopt.catalog.entries import Entity
from planopt.documents.calibration import Efficiencies, Rates, Sample
from planopt.errors import InputError
from planopt.measurement.device import Device, Work

_CUBES = (512, 1024, 2048, 4096, 8192)
"""Sides of square products, the rate of which is the peak that is reached."""

_ONE_ROW = ((4096, 14336), (8192, 8192))
"""Depth and columns of products of one row, as decoding has them: they read weights."""

_COPY_BYTES = (256 << 20, 1 << 30)
"""Larger than any cache."""

_PROMPTS = (512, 2048, 8192)
"""Tokens of prompts that are attended to."""

_HEADS, _HEAD_WIDTH = 32, 128

_ALL_REDUCE_BYTES = (32 << 10, 1 << 20, 32 << 20, 256 << 20)

_LEAST_REPEATS = 3

_GROWTH = 8
"""By how much the next size of a kind takes longer: a cube of twice the side."""


_ELEMENT_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}


@dataclass(frozen=True)
class _Step:
    """A measurement to be taken."""

    kind: str
    number_format: str
    size: tuple[int, ...]
    prepare: Callable[[], Work]
    needs_bytes: float
    flop: float = 0.0
    moved_bytes: float = 0.0


def measure(
    device: Device, seconds: float, on_progress: Callable[[Sample], None]
) -> list[Sample]:
    """Take the measurements that the device has the memory and the time for."""
    steps = [
        step for step in _steps(device) if step.needs_bytes * 2 < device.memory_bytes
    ]
    share = seconds / (len(steps) + len(_ALL_REDUCE_BYTES))
    samples = []
    slower_than_share: set[tuple[str, str]] = set()
    for step in steps:
        # Sizes grow: once the next would be too long, so are all after it.
        if (step.kind, step.number_format) in slower_than_share:
            continue
        work = step.prepare()
        first = device.seconds(work, 1)
        if first * _GROWTH > share:
            slower_than_share.add((step.kind, step.number_format))
        sample = Sample(
            kind=step.kind,
            number_format=step.number_format,
            size=step.size,
            seconds=_best(device, work, first, share),
            flop=step.flop,
            moved_bytes=step.moved_bytes,
        )
        samples.append(sample)
        on_progress(sample)
    for sample in _all_reduces(device):
        samples.append(sample)
        on_progress(sample)
    return samples


def _best(device: Device, work: Work, first: float, share: float) -> float:
    """Least time of a run, over groups of runs that together take the share of time."""
    if first > share:
        return first
    repeats = max(1, int(share / first / _LEAST_REPEATS))
    return min(device.seconds(work, repeats) for _ in range(_LEAST_REPEATS))


def _steps(device: Device) -> Iterator[_Step]:
    yield _Step("launch", "", (), device.launch, 0.0)
    for size in _COPY_BYTES:
        moved = 2.0 * size
        copied = partial(device.copy, size)
        yield _Step("copy", "", (size,), copied, moved, moved_bytes=moved)
    for number_format in device.formats:
        for depth, columns in _ONE_ROW:
            yield _product(device, "one-row", 1, columns, depth, number_format)
        for side in _CUBES:
            yield _product(device, "matmul", side, side, side, number_format)
    for tokens in _PROMPTS:
        # Half of all pairs are looked at; two products of 2 x width FLOP each.
        flop = 4.0 * _HEADS * _HEAD_WIDTH * tokens * (tokens + 1) / 2
        yield _Step(
            "attention",
            device.formats[0],
            (tokens, _HEADS, _HEAD_WIDTH),
            partial(device.attention, tokens, _HEADS, _HEAD_WIDTH),
            8.0 * _HEADS * tokens * (tokens + 4 * _HEAD_WIDTH),
            flop=flop,
        )


def _product(
    device: Device, kind: str, rows: int, columns: int, depth: int, number_format: str
) -> _Step:
    elements = rows * depth + depth * columns + rows * columns
    moved = float(elements * _ELEMENT_BYTES[number_format])
    return _Step(
        kind,
        number_format,
        (rows, columns, depth),
        partial(device.matmul, rows, columns, depth, number_format),
        moved,
        flop=2.0 * rows * columns * depth,
        moved_bytes=moved,
    )


def _all_reduces(device: Device) -> Iterator[Sample]:
    for size in _ALL_REDUCE_BYTES:
        seconds = device.all_reduce_seconds(size, _LEAST_REPEATS)
        if seconds is None:
            return
        yield Sample(
            kind="all-reduce",
            number_format="",
            size=(size, device.count),
            seconds=seconds,
            # What every device sends and receives in a ring (nccl-tests: busbw).
            moved_bytes=2.0 * size * (device.count - 1) / device.count,
        )


_PLAUSIBLE = 1.1
"""A clock above its nominal rate explains so much more than the peak, and no more."""


def rates_of(samples: Sequence[Sample]) -> Rates:
    """Take the best of each kind."""

    def best(kind: str, work: str) -> float:
        of_it = (each for each in samples if each.kind == kind)
        return max((getattr(each, work) / each.seconds for each in of_it), default=0.0)

    by_format: dict[str, float] = {}
    for sample in (each for each in samples if each.kind == "matmul"):
        name, rate = sample.number_format, sample.flop / sample.seconds
        by_format[name] = max(rate, by_format.get(name, 0.0))
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
