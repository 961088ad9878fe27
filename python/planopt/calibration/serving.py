"""``python -m planopt.calibration.serving FILE ...``: engines and cards, from rows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planopt.calibration.cards import SOURCE, fit_cards
from planopt.calibration.engines import ENGINES, fit_engine, rows_of_engine
from planopt.calibration.write import (
    ENGINES_BEGIN,
    ENGINES_END,
    replace_fitted,
    sourced,
)
from planopt.catalog import DEFAULT_ASSUMPTIONS, bundled_folder
from planopt.validation.measurement import Comparison, read_table
from planopt.validation.run import compare_rows
from planopt.validation.schemas import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.calibration.write import Section
    from planopt.validation.measurement import Row

# Kernels of one row keep no more under way than this, whatever the memory: by the rows
# of A100 and H100 under llama.cpp, which are half as fast as their kernels.
_BANDWIDTH_LIMITS: Final = {"llama-cpp": '"1300 GB/s"'}


def main() -> None:
    """Fit engines and cards to measured figures and write the assumptions."""
    parser = argparse.ArgumentParser(prog="planopt.calibration.serving")
    parser.add_argument("files", type=Path, nargs="+", help="measurements")
    parser.add_argument("--date", required=True, help="of the fit, cited")
    parser.add_argument("--seed", type=int, default=0, help="of the samples")
    arguments = parser.parse_args()
    base = bundled_folder() / "assumptions" / f"{DEFAULT_ASSUMPTIONS}.toml"
    sections = list(_sections(arguments.files, base, arguments.date, arguments.seed))
    replace_fitted(base, sections, begin=ENGINES_BEGIN, end=ENGINES_END)


def _sections(files: list[Path], base: Path, date: str, seed: int) -> Iterator[Section]:
    tables: list[tuple[str, tuple[Row, ...]]] = []
    compared: list[Comparison] = []
    for file in files:
        table = read_table(file)
        names = (each.name for each in SCHEMAS if each.columns <= set(table.columns))
        tables.append((next(names), table.rows))
        outcomes = compare_rows(file, DEFAULT_ASSUMPTIONS)
        compared += [each for each in outcomes if isinstance(each, Comparison)]
    closing = f'date = "{date}"\nstatus = "derived"'
    for engine in ENGINES:
        rows = rows_of_engine(tables, compared, engine, each=2, seed=seed)
        if not any(rows.values()):
            continue
        found = fit_engine(engine, rows, base)
        figures = {name: f"{value:.4g}" for name, value in found.values.items()}
        seconds = found.values["step_overhead"]
        figures["step_overhead"] = f'"{seconds * 1e6:.4g} us"'
        if engine in _BANDWIDTH_LIMITS:
            figures["bandwidth_limit"] = _BANDWIDTH_LIMITS[engine]
        cite = (
            f'cite = "inference.csv and serving_silicon.csv: {found.rows} rows, '
            f'median error {found.median_error:.1%}, mean {found.mean_error:.1%}"'
        )
        source = f"engine-{engine}"
        yield sourced(f"engines.{engine}", figures, source, f"{cite}\n{closing}")
    rows_of_cards = [row for _, rows in tables for row in rows if "metric" in row]
    for card, fitted in fit_cards(rows_of_cards, base).items():
        figures = {
            name: f'"{value} us"' if name.endswith("overhead") else f"{value}"
            for name, value in fitted.figures.items()
        }
        cite = (
            f'cite = "{SOURCE}/GPU-Benchmarks-on-LLM-Inference, llama.cpp, batch 1: '
            f"{fitted.rows} rows of decoding, mean error {fitted.decode_error:.1%}, "
            f'and prompts, {fitted.prompt_error:.0%}"'
        )
        source = f"card-{card}"
        yield sourced(f"accelerators.{card}", figures, source, f"{cite}\n{closing}")


if __name__ == "__main__":
    main()
