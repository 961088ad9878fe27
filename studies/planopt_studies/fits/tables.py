"""Measured kernels: the Parquet tables of aiconfigurator-core, `systems/data`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NUMBERS: Final = re.compile(r"\d+")

__all__ = ["SYSTEMS", "Kernels", "System"]


@dataclass(frozen=True)
class System:
    """A machine of the tables: our accelerator, and the link it tells of."""

    folder: str
    accelerator: str
    link: str | None = None


SYSTEMS: Final = (
    System("a100_sxm", "a100-sxm-80", "NVLink 3"),
    System("h100_sxm", "h100-sxm", "NVLink 4"),
    System("h200_sxm", "h200-sxm", "NVLink 4"),
    System("b200_sxm", "b200", "NVLink 5"),
    System("b300_sxm", "b300", "NVLink 5"),
    System("gb200", "gb200"),
    System("gb300", "gb300"),
    System("l40s", "l40s"),
    System("rtx_pro_6000_server", "rtx-pro-6000-blackwell-server"),
)


@dataclass(frozen=True)
class Kernels:
    """The folder of tables, and how many rows of each are looked at."""

    folder: Path
    seed: int = 0
    rows: int = 5000

    def read(self, system: System, kind: str) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the tables of a kind of kernel, the latest of each engine."""
        pattern = f"*/*/*/{kind}_perf.parquet"
        latest: dict[str, Path] = {}
        for path in (self.folder / system.folder).glob(pattern):
            engine = path.parts[-3]
            if engine not in latest or _version(path) > _version(latest[engine]):
                latest[engine] = path
        for engine, path in sorted(latest.items()):
            table = pd.read_parquet(path)
            yield engine, table.assign(seconds=table["latency"] / 1e3)

    def sample(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return some of the rows, the same ones every time."""
        if len(table) <= self.rows:
            return table
        chosen = np.random.default_rng(self.seed).choice(
            len(table), self.rows, replace=False
        )
        return table.iloc[np.sort(chosen)]


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in _NUMBERS.findall(path.parts[-2]))
