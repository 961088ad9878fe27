"""Measured kernels: the Parquet tables of aiconfigurator-core, `systems/data`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
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
    rows: int = 2000

    @cache  # noqa: B019 - one object reads, and each table many times
    def read(self, system: System, kind: str) -> list[tuple[str, pd.DataFrame]]:
        """Return the tables of a kind of kernel, the latest of each engine."""
        return list(self._read(system, kind))

    def _read(self, system: System, kind: str) -> Iterator[tuple[str, pd.DataFrame]]:
        pattern = f"*/*/*/{kind}_perf.parquet"
        of_engine: dict[str, list[Path]] = {}
        for path in (self.folder / system.folder).glob(pattern):
            of_engine.setdefault(path.parts[-3], []).append(path)
        for engine, paths in sorted(of_engine.items()):
            paths.sort(key=_version, reverse=True)
            # A later one of TensorRT-LLM has some of the kernels of experts alone.
            read = paths if (engine, kind) == ("trtllm", "moe") else paths[:1]
            table = _latest_kernels(pd.read_parquet(path) for path in read)
            yield engine, table.assign(seconds=table["latency"] / 1e3)

    def sample(self, table: pd.DataFrame, most: int | None = None) -> pd.DataFrame:
        """Return some of the rows, the same ones every time."""
        most = most or self.rows
        if len(table) <= most:
            return table
        chosen = np.random.default_rng(self.seed).choice(
            len(table), most, replace=False
        )
        return table.iloc[np.sort(chosen)]


def _latest_kernels(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Join tables, latest first: of each kernel and format the first that has it."""
    kept: list[pd.DataFrame] = []
    seen: set[tuple[str, ...]] = set()
    for table in tables:
        if "moe_dtype" not in table:
            return table
        kernels = pd.Series(
            zip(table["moe_dtype"], table["kernel_source"], strict=True)
        )
        kernels.index = table.index
        kept.append(table[~kernels.isin(seen)])
        seen |= set(kernels)
    return pd.concat(kept)


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in _NUMBERS.findall(path.parts[-2]))
