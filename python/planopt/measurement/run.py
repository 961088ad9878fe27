"""Measure a device, write an overlay catalog, and say what it changes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from planopt.catalog.devices import accelerator_called
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.catalog.overlay import IDS, bare, check_targets, is_id, write_overlay
from planopt.documents.calibration import Calibration, Change, Efficiencies, Sample
from planopt.errors import InputError
from planopt.measurement.device import Device, NumpyDevice
from planopt.measurement.overlay import (
    ASSUMPTIONS,
    Origin,
    accelerator_file,
    assumptions_file,
    samples_file,
)
from planopt.measurement.programme import efficiencies_of, measure, rates_of
from planopt.options import Asked, TextOrNumber
from planopt.planning.evaluate import evaluate_serving
from planopt.price_sources import today
from planopt.toml import tomllib

JUDGED_BY = "llama-3.2-1b"
"""A model that fits nearly everything: its speed is shown before and after."""


def calibrate(
    *,
    out: str,
    device: str | None = None,
    accelerator: str | None = None,
    seconds: TextOrNumber | None = None,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
    force: bool = False,
    on_progress: Callable[[Sample], None] = lambda _: None,
) -> Calibration:
    """Measure an accelerator or the processor, and write what it reaches as an overlay.

    Parameters
    ----------
    out : str
        Folder to write; laid over the bundled catalog with ``catalog=[out]`` and
        ``assumptions="measured"``.
    device : str, optional
        Device of PyTorch, or ``numpy``; by default the best there is.
    accelerator : str, optional
        Id that it has in the catalogs, or a new one. By default found by its name.
    seconds : float or str, optional
        Time for all measurements; a minute unless given.
    assumptions, catalog
        What the measured figures are put into.
    force : bool
        Replace files of the folder.
    on_progress : callable, optional
        Called with each measurement when it is there.

    Returns
    -------
    Calibration

    Raises
    ------
    InputError
        No such device, one that is faster than the accelerator it is said to be, files
        that are there already (E010), or a folder that cannot be written.

    Examples
    --------
    >>> import planopt
    >>> measured = planopt.calibrate(out="ours", device="numpy", seconds="5s")
    >>> plan = planopt.solve(catalog="ours", assumptions="measured")
    """
    asked = Asked("calibrate", {"seconds": seconds})
    if accelerator is not None and not is_id(accelerator):
        asked.problem(
            "E002", "not an id", option="accelerator", value=accelerator, accepted=IDS
        )
    duration: float = asked.values()["seconds"]
    opened = open_catalog(catalog, assumptions)
    measured_on = open_device(device)
    meant = accelerator_called(opened, measured_on.name, measured_on.memory_bytes)
    made_up = "-".join(re.findall(r"[a-z0-9]+", measured_on.name.lower()))
    id_ = accelerator or meant or made_up or "measured"
    is_known = id_ in {each.id for each in opened.list("accelerators")}
    measurements = f"measurements/{id_}.csv"
    assumed = f"assumptions/{ASSUMPTIONS}.toml"
    described = f"accelerators/{id_}.toml"
    written = (measurements, assumed, *(() if is_known else (described,)))
    check_targets(Path(out), written, force=force)
    busy = _busy()
    samples = measure(measured_on, duration, on_progress)
    rates = rates_of(samples)
    efficiencies = (
        efficiencies_of(rates, opened.show("accelerators", id_))
        if is_known
        else Efficiencies(
            efficiency=1.0,
            bandwidth_efficiency=rates.read_bytes_per_second
            / rates.memory_bytes_per_second,
        )
    )
    origin = Origin(
        device=measured_on.name, software=measured_on.software, date=today().isoformat()
    )
    (in_use,) = opened.list("assumptions")
    base = Path(opened.show("assumptions", in_use.id).file).read_text("utf-8")
    files = {
        measurements: samples_file(samples),
        assumed: assumptions_file(base, id_, efficiencies, origin),
        described: accelerator_file(id_, measured_on, rates, origin),
    }
    write_overlay(Path(out), {name: files[name] for name in written}, force=force)
    speed = Change(
        figure=f"{JUDGED_BY}, one user",
        before=_speed(id_, assumptions, catalog) if is_known else None,
        after=_speed(id_, ASSUMPTIONS, [*catalog, out]),
        unit="tok/s",
    )
    return Calibration(
        accelerator=id_,
        **asdict(origin),
        known=is_known,
        rates=rates,
        efficiencies=efficiencies,
        samples=tuple(samples),
        busy=busy,
        changes=(*_efficiencies(base, id_, efficiencies, is_known=is_known), speed),
        overlay=out,
    )


def _busy() -> float | None:
    """Load average of the last minute over cores, where the system tells it."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except (OSError, AttributeError):
        return None


def _efficiencies(
    base: str, id_: str, efficiencies: Efficiencies, *, is_known: bool
) -> Iterator[Change]:
    bundled = tomllib.loads(base)
    own = bundled.get("accelerators", {}).get(id_, {})
    for figure, after in asdict(efficiencies).items():
        general = bundled["compute"].get(figure)
        before = own.get(figure, general) if is_known else None
        yield Change(figure=figure, before=_value(before), after=after, unit="")


def _value(figure: object) -> float | None:
    """Read a figure of TOML, with its source beside it or without."""
    value = bare(figure)
    return float(value) if isinstance(value, int | float) else None


def _speed(id_: str, assumptions: str, catalog: Sequence[str]) -> float:
    """Tell how fast one user is served by a small model."""
    document = evaluate_serving(
        model=JUDGED_BY, accelerator=id_, assumptions=assumptions, catalog=catalog
    )
    return document.decode.tokens_per_second_per_user or 0.0


def open_device(name: str | None) -> Device:
    """Find what is to be measured."""
    if name == "numpy":
        return NumpyDevice()
    try:
        from planopt.measurement.torch_device import open_torch_device
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            raise
        if name not in (None, "cpu"):
            raise InputError.of(
                "E004",
                "measuring an accelerator needs PyTorch, which is not installed",
                field="--device",
                value=name,
                accepted="cpu, numpy",
                help="pip install 'planopt[calibrate]'",
            ) from None
        return NumpyDevice()
    return open_torch_device(name)
