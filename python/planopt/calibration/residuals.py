"""Errors of rows that no fit had seen, as quantiles by class: what intervals are of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["write_residuals"]

_LOW, _HIGH = 0.1, 0.9


def write_residuals(
    path: Path, errors: Iterable[tuple[str, tuple[str, ...], float]], arguments: Any
) -> None:
    """Write quantiles of measured over predicted by metric and class, and print them.

    Parameters
    ----------
    path : Path
        Where to.
    errors : iterable
        Metric, classes that it counts in, and measured over predicted.
    arguments : Namespace
        Of the fit: its seed is cited.
    """
    classes: dict[tuple[str, str], list[float]] = {}
    for metric, names, ratio in errors:
        for name in names:
            classes.setdefault((metric, name), []).append(ratio)
    lines = [
        "# Measured over predicted, of serving figures that the fit had not seen (five "
        f"grouped folds, seed {arguments.seed}).",
        "# An interval at 0.8 is the prediction times `low` to `high`: the tenth and "
        "the ninetieth percentile.",
    ]
    for (metric, name), ratios in sorted(classes.items()):
        ordered = np.sort(ratios)
        spread = np.abs(1 / ordered - 1)
        low, high = np.quantile(ordered, (_LOW, _HIGH))
        lines += [
            "",
            "[[residual]]",
            f'metric = "{metric}"',
            f'of = "{name}"',
            f"rows = {len(ratios)}",
            f"low = {low:.4f}",
            f"high = {high:.4f}",
            f"median_ape = {np.median(spread):.4f}",
            f"mape = {np.mean(spread):.4f}",
        ]
        print(
            f"{metric:10} {name:36} n {len(ratios):5} median {np.median(spread):6.1%} "
            f"MAPE {np.mean(spread):6.1%}",
            flush=True,
        )
    path.write_text("\n".join((*lines, "")), encoding="utf-8")
