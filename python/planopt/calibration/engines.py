"""What each engine makes of kernels: one set of factors, whatever the model.

Fitted to measured serving figures: rows of `inference.csv` and `serving_silicon.csv`,
of every group of source, accelerator and model so many, the same ones every time.
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.optimize import minimize

from planopt.validation.measurement import Comparison
from planopt.validation.schemas import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planopt.validation.measurement import Row

__all__ = ["ENGINES", "EngineFit", "fit_engine", "rows_of_engine"]

ENGINES: Final = (
    "vllm",
    "sglang",
    "trtllm",
    "lmdeploy",
    "llama-cpp",
    "gpt-fast",
    "exllama",
    "exllamav2",
)
# Factors start at what kernels reach; a millisecond of a step at scheduling.
_STARTS: Final = {"arithmetic": 1.0, "bandwidth": 1.0, "overhead": 1.0}
_STEP_OVERHEAD: Final = "step_overhead"
_STEP_START, _STEP_LEAST = 5e-4, 1e-5
_BETWEEN: Final = (0.1, 2.0)
_OUTLIER: Final = 0.15
# Waiting is what happens before a step, and says little of how long one takes.
_FITTED: Final = ("decode", "prefill", "tpot", "throughput")
_EVALUATIONS: Final = 45


@dataclass(frozen=True)
class EngineFit:
    """Factors of an engine, the error they leave, and the rows behind them."""

    values: Mapping[str, float]
    median_error: float
    mean_error: float
    rows: int


def rows_of_engine(
    tables: Iterable[tuple[str, Sequence[Row]]],
    compared: Iterable[Comparison],
    engine: str,
    *,
    each: int = 4,
    seed: int = 0,
) -> dict[str, list[Row]]:
    """Return so many rows of each group that an engine was measured in, by schema."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for one in compared:
        if one.engine == engine and one.metric in _FITTED and one.standing == "counted":
            key = (one.metric, one.accelerator, one.model, one.precision)
            groups.setdefault(key, []).append(one.row)
    chooser = random.Random(seed)
    chosen = {
        row
        for members in groups.values()
        for row in chooser.sample(sorted(set(members)), min(each, len(set(members))))
    }
    return {name: [row for row in rows if row["id"] in chosen] for name, rows in tables}


def fit_engine(engine: str, rows: Mapping[str, Sequence[Row]], base: Path) -> EngineFit:
    """Fit the factors of an engine over the kernels of some assumptions."""
    names = [*_STARTS, _STEP_OVERHEAD]
    start = np.array([0.0, 0.0, 0.0, np.log(_STEP_START)])
    text = base.read_text(encoding="utf-8")

    def values(point: np.ndarray) -> dict[str, float]:
        least, most = np.log(_BETWEEN)
        factors = np.exp(np.clip(point[:3], least, most)).tolist()
        step = float(np.exp(max(point[3], np.log(_STEP_LEAST))))
        return dict(zip(names, [*factors, step], strict=True))

    def errors(point: np.ndarray) -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / base.name
            path.write_text(text + _table(engine, values(point)), encoding="utf-8")
            found = [
                outcome
                for schema in SCHEMAS
                if rows.get(schema.name)
                for outcome in schema.predict(rows[schema.name], str(path))
            ]
        return np.log(
            [
                each.predicted / each.measured
                for each in found
                if isinstance(each, Comparison) and each.metric in _FITTED
            ]
        )

    def loss(point: np.ndarray) -> float:
        scaled = errors(point) / _OUTLIER
        return float(np.mean(np.sqrt(1 + scaled**2) - 1)) + 0.02 * float(
            np.sum(point[:3] ** 2)
        )

    simplex = np.vstack([start, start + 0.3 * np.eye(4) * [-1, -1, -1, 2]])
    found = minimize(
        loss,
        start,
        method="Nelder-Mead",
        options={"maxfev": _EVALUATIONS, "initial_simplex": simplex, "xatol": 0.01},
    )
    off = np.abs(np.expm1(errors(found.x)))
    return EngineFit(
        values(found.x), float(np.median(off)), float(np.mean(off)), len(off)
    )


def _table(engine: str, values: Mapping[str, float]) -> str:
    lines = [f"\n[engines.{engine}]"]
    for name, value in values.items():
        text = f'"{value * 1e6:.4g} us"' if name == _STEP_OVERHEAD else f"{value:.4g}"
        lines.append(f"{name} = {text}")
    return "\n".join(lines) + "\n"
