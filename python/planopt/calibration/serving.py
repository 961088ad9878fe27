"""``python -m planopt.calibration.serving FILE ...``: engines and cards, from rows.

Cards without measured kernels first, then every engine for itself; whole groups of
source, accelerator and model are then left out in seeded folds, and the errors of what
the fits had not seen are written beside the measurements: intervals are made of them.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from planopt.calibration.cards import SOURCE, fit_cards
from planopt.calibration.engine_fit import (
    ENGINES,
    FITTED,
    EngineRows,
    fit_engine,
    left_out,
)
from planopt.calibration.residuals import write_residuals
from planopt.calibration.write import (
    ENGINES_BEGIN,
    ENGINES_END,
    replace_fitted,
    sourced,
)
from planopt.catalog import DEFAULT_ASSUMPTIONS, Catalog, bundled_folder
from planopt.intervals import ANY_ENGINE, model_classes
from planopt.validation.measurement import Comparison, read_table
from planopt.validation.run import compare_rows
from planopt.validation.schemas import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from planopt.calibration.engine_fit import EngineFit
    from planopt.calibration.write import Section
    from planopt.validation.measurement import Row

# What engines do in a step unless told otherwise, as they document it, and what else is
# known of them and not fitted.
_KNOWN: Final[Mapping[str, Mapping[str, str]]] = {
    # --max-num-batched-tokens of the server on accelerators of 70 GiB and more.
    "vllm": {"token_budget": "8192", "policy": '"decode-first"'},
    # --chunked-prefill-size by memory: 8192 to 16384; prompts and answers take turns.
    "sglang": {"token_budget": "16384", "policy": '"prefill-first"'},
    # max_num_tokens of trtllm-serve.
    "trtllm": {"token_budget": "8192", "policy": '"decode-first"'},
    "trtllm-cpp": {"token_budget": "8192", "policy": '"decode-first"'},
    # Kernels of one row keep no more under way than this, whatever the memory: by the
    # rows of A100 and H100 under llama.cpp, which are half as fast as their kernels.
    "llama-cpp": {"bandwidth_limit": '"1300 GB/s"'},
}
_ENGINE_TABLES: Final = re.compile(r"(?m)^\[engines\.[^\]]+\]\n(?:.+\n)+")
# Its attention picks tokens by an indexer that is in no list of operations.
_UNMODELLED: Final = ("glm-5",)
# Rows of a metric that a fit looks at, and users of a closed loop: more say no more and
# take long to simulate.
_MOST_ROWS: Final = 150
_MOST_USERS: Final = 128


def main() -> None:
    """Fit engines and cards to measured figures and write the assumptions."""
    parser = argparse.ArgumentParser(prog="planopt.calibration.serving")
    parser.add_argument("files", type=Path, nargs="+", help="measurements")
    parser.add_argument("--date", required=True, help="of the fit, cited")
    parser.add_argument("--seed", type=int, default=7, help="of samples and folds")
    parser.add_argument("--rounds", type=int, default=4, help="of each fit")
    parser.add_argument("--cards", action="store_true", help="fit cards again, too")
    arguments = parser.parse_args()
    base = bundled_folder() / "assumptions" / f"{DEFAULT_ASSUMPTIONS}.toml"
    measured = Measured(arguments.files)
    closing = f'date = "{arguments.date}"\nstatus = "derived"'
    cards = list(_cards(measured, base, closing)) if arguments.cards else _kept(base)
    fits: dict[str, EngineFit] = {}
    for engine in ENGINES:
        rows = measured.rows_of(engine, seed=arguments.seed)
        if any(rows.values()):
            found = EngineRows(engine, rows, base)
            fits[engine] = fit_engine(found, rounds=arguments.rounds)
            print(engine, fits[engine].summary, flush=True)
    sections = [_engine(name, fit, closing) for name, fit in fits.items()]
    replace_fitted(base, [*sections, *cards], begin=ENGINES_BEGIN, end=ENGINES_END)
    errors = [each for fit in fits.values() for each in left_out(fit, arguments.seed)]
    errors += _any_engine(arguments.files, base, measured.plain)
    write_residuals(
        bundled_folder() / "measurements" / "serving-residuals.toml", errors, arguments
    )


def _any_engine(
    files: Iterable[Path], base: Path, plain: set[str]
) -> Iterator[tuple[str, tuple[str, ...], float]]:
    """Yield errors of the same figures where no engine is named: nothing is fitted."""
    text = base.read_text(encoding="utf-8")
    catalog = Catalog((), DEFAULT_ASSUMPTIONS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / base.name
        path.write_text(_ENGINE_TABLES.sub("", text), encoding="utf-8")
        for file in files:
            for each in compare_rows(file, str(path)):
                if not isinstance(each, Comparison) or each.metric not in FITTED:
                    continue
                names = model_classes(catalog, each.accelerator, each.model)
                classes = tuple(f"{name}{ANY_ENGINE}" for name in (*names, "all"))
                if each.standing == "counted" and each.row in plain:
                    yield each.metric, classes, each.measured / each.predicted


class Measured:
    """Tables of measurements, and what was measured of each engine."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.tables: list[tuple[str, tuple[Row, ...]]] = []
        self.compared: list[Comparison] = []
        self.plain: set[str] = set()
        """Ids of rows that a fit may look at."""
        for file in files:
            table = read_table(file)
            self.plain.update(row["id"] for row in table.rows if _is_plain(row))
            names = (s.name for s in SCHEMAS if s.columns <= set(table.columns))
            self.tables.append((next(names), table.rows))
            self.compared += [
                each
                for each in compare_rows(file, DEFAULT_ASSUMPTIONS)
                if isinstance(each, Comparison)
                and each.metric in FITTED
                and each.standing == "counted"
            ]

    def rows_of(self, engine: str, *, seed: int) -> dict[str, list[Row]]:
        """Return so many rows of each metric of an engine, by schema."""
        of_metric: dict[str, set[str]] = {}
        for one in self.compared:
            if one.engine == engine and one.model not in _UNMODELLED:
                of_metric.setdefault(one.metric, set()).add(one.row)
        chosen: set[str] = set()
        for members in of_metric.values():
            kept = sorted(members & self.plain)
            chosen.update(random.Random(seed).sample(kept, min(_MOST_ROWS, len(kept))))
        return {
            name: [row for row in rows if row["id"] in chosen]
            for name, rows in self.tables
        }


def _is_plain(row: Row) -> bool:
    """Leave out two pools with a router between, and prompts that may be cached."""
    if "backend" not in row:
        return True
    users = float(row["concurrency"] or 0)
    cached = row["id"].startswith(("nvidia_", "qwen_"))
    return row["mode"] == "agg" and users <= _MOST_USERS and not cached


def _engine(name: str, fit: EngineFit, closing: str) -> Section:
    figures = {**fit.figures, **_KNOWN.get(name, {})}
    errors = np.abs(np.expm1(fit.linear.errors))
    cite = (
        f'cite = "inference.csv and serving_silicon.csv: {len(errors)} figures, '
        f'median error {np.median(errors):.1%}, mean {np.mean(errors):.1%}"'
    )
    return sourced(f"engines.{name}", figures, f"engine-{name}", f"{cite}\n{closing}")


def _cards(measured: Measured, base: Path, closing: str) -> Iterator[Section]:
    rows: Sequence[Row] = [
        row for _, rows in measured.tables for row in rows if "metric" in row
    ]
    for card, fitted in fit_cards(rows, base).items():
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


def _kept(base: Path) -> list[Section]:
    """Return the cards as they stand."""
    text = base.read_text(encoding="utf-8")
    block = text[text.index(ENGINES_BEGIN) : text.index(ENGINES_END)]
    start = block.find("[accelerators.")
    return [[*block[start:].rstrip().splitlines(), ""]] if start >= 0 else []


if __name__ == "__main__":
    main()
