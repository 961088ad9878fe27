"""From measured times to figures of a catalog."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from planopt.catalog.open import Catalog, open_catalog
from planopt.documents.calibration import Efficiencies, Sample
from planopt.errors import InputError
from planopt.measurement import run
from planopt.measurement.overlay import Origin, assumptions_file
from planopt.measurement.programme import efficiencies_of, measure, rates_of

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.measurement.device import Work

PEAK_FLOP = 165.2e12
BANDWIDTH = 1008e9
"""Of an RTX 4090, as its catalog entry has them."""


class MadeUpDevice:
    """An RTX 4090 that reaches 90 % of its arithmetic and 80 % of its bandwidth."""

    name = "NVIDIA GeForce RTX 4090"
    software = "made up"
    is_processor = False
    memory_bytes = 24 * 2**30
    formats: tuple[str, ...] = ("bf16",)
    count = 2

    def __init__(self) -> None:
        self.last = 0.0

    def _work(self, seconds: float) -> Work:
        def work() -> None:
            self.last = seconds

        return work

    def matmul(self, rows: int, columns: int, depth: int, number_format: str) -> Work:
        assert number_format == "bf16"
        flop = 2.0 * rows * columns * depth
        moved = 2.0 * (rows * depth + depth * columns + rows * columns)
        return self._work(max(flop / (0.9 * PEAK_FLOP), moved / (0.8 * BANDWIDTH)))

    def copy(self, size_bytes: int) -> Work:
        return self._work(2.0 * size_bytes / (0.85 * BANDWIDTH))

    def attention(self, tokens: int, heads: int, width: int) -> Work:
        return self._work(2.0 * heads * width * tokens * (tokens + 1) / 50e12)

    def launch(self) -> Work:
        return self._work(2e-6)

    def all_reduce_seconds(self, size_bytes: int, repeats: int) -> float | None:
        assert repeats > 0
        return size_bytes / 10e9

    def seconds(self, work: Work, repeats: int) -> float:
        assert repeats > 0
        work()
        return self.last


def samples() -> list[Sample]:
    return measure(MadeUpDevice(), 60.0, lambda _: None)


def test_rates_are_the_best_of_each_kind() -> None:
    rates = rates_of(samples())

    assert rates.flop_per_second == {"bf16": pytest.approx(0.9 * PEAK_FLOP)}
    assert rates.read_bytes_per_second == pytest.approx(0.8 * BANDWIDTH)
    assert rates.copy_bytes_per_second == pytest.approx(0.85 * BANDWIDTH)
    assert rates.attention_flop_per_second == pytest.approx(50e12)
    assert rates.launch_seconds == 2e-6
    # Of two devices each sends and receives the whole once: 2 S (n - 1)/n.
    assert rates.all_reduce_bytes_per_second == pytest.approx(10e9)


def test_efficiencies_are_shares_of_the_catalogs_peaks() -> None:
    known = open_catalog().show("accelerators", "rtx-4090")

    efficiencies = efficiencies_of(rates_of(samples()), known)

    assert efficiencies.efficiency == pytest.approx(0.9)
    assert efficiencies.bandwidth_efficiency == pytest.approx(0.8)


def test_a_device_faster_than_its_name_is_refused() -> None:
    slower = open_catalog().show("accelerators", "l4")

    with pytest.raises(InputError) as refused:
        efficiencies_of(rates_of(samples()), slower)

    (problem,) = refused.value.diagnostics
    assert problem.code == "E004"
    assert problem.field == "--accelerator"
    assert "%" in problem.message


def test_products_that_would_take_too_long_are_left_out() -> None:
    everything = {sample.size for sample in samples() if sample.kind == "matmul"}
    hurried = measure(MadeUpDevice(), 0.02, lambda _: None)
    some = {sample.size for sample in hurried if sample.kind == "matmul"}

    assert (8192, 8192, 8192) in everything
    assert some < everything


def test_a_known_accelerator_gets_its_own_efficiencies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "open_device", lambda _: MadeUpDevice())

    calibration = run.calibrate(out=str(tmp_path))

    assert calibration.accelerator == "rtx-4090"
    assert calibration.known
    assert not (tmp_path / "accelerators").exists()
    measured = Catalog((str(tmp_path),), "measured").show("assumptions", "measured")
    figures = {figure.field: figure for figure in measured.figures}
    efficiency = figures["accelerators.rtx-4090.bandwidth_efficiency"]
    assert float(efficiency.text) == pytest.approx(0.8)
    assert "made up" in str(efficiency.cite)
    speed = calibration.changes[-1]
    assert speed.before is not None
    assert speed.after != speed.before


def test_calibrating_again_replaces_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "open_device", lambda _: MadeUpDevice())
    once, twice = tmp_path / "once", tmp_path / "twice"

    run.calibrate(out=str(once))
    again = run.calibrate(out=str(twice), catalog=[str(once)], assumptions="measured")

    assert [change.before for change in again.changes] == pytest.approx(
        [change.after for change in again.changes]
    )
    text = (twice / "assumptions" / "measured.toml").read_text(encoding="utf-8")
    assert text.count("[accelerators.rtx-4090]") == 1


def test_what_else_is_known_of_the_accelerator_is_kept() -> None:
    origin = Origin(device="it", software="made up", date="2026-11-21")
    base = (
        'id = "base"\ndescription = "d"\n'
        "[accelerators.rtx-4090]\nefficiency = 0.5\nhalf_rows = 7.0\n"
        "[accelerators.rtx-4090.formats.fp8]\nefficiency = 0.6\n"
    )
    efficiencies = Efficiencies(efficiency=0.9, bandwidth_efficiency=0.8)

    text = assumptions_file(base, "rtx-4090", efficiencies, origin)

    table = loads(text)
    own = table["accelerators"]["rtx-4090"]
    assert own["efficiency"]["value"] == 0.9
    assert own["bandwidth_efficiency"]["value"] == 0.8
    assert own["half_rows"] == 7.0
    assert own["formats"]["fp8"]["efficiency"] == 0.6


def test_an_id_with_a_dot_is_one_key() -> None:
    origin = Origin(device='a "2.5"\x7f', software="made up", date="2026-11-21")
    efficiencies = Efficiencies(efficiency=0.9, bandwidth_efficiency=0.8)

    text = assumptions_file('id = "base"\n', "gpu-2.5", efficiencies, origin)

    table = loads(text)
    assert table["accelerators"]["gpu-2.5"]["efficiency"]["value"] == 0.9
    assert 'a "2.5"\x7f' in table["sources"]["measured"]["cite"]
