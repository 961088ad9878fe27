"""Errors of rows that no fit had seen, as a file: what intervals are made of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import structs

from planopt.files import write
from planopt_studies.documents import LEAST_GROUPS, LEAST_ROWS
from planopt_studies.intervals import by_class, groups_of, widened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from planopt.accuracy.serving_rows import ServingRow
    from planopt_studies.documents import Judgement
    from planopt_studies.intervals import Unseen

__all__ = ["residual_table", "write_residuals"]

_RELEASE: Final = re.compile(r"^v?(\d+(?:\.\d+)+)")
"""Of an engine's version, without what marks candidates and builds."""
_OF_MONTH: Final = len("2026-11")


def write_residuals(
    path: Path,
    errors: Iterable[Unseen],
    rows: Mapping[str, ServingRow],
    judgements: Mapping[str, Judgement],
    arguments: Any,
) -> None:
    """Write quantiles of measured over predicted by metric and class, and print them.

    Parameters
    ----------
    path : Path
        Where to.
    errors : iterable
        Figures that no fit had seen.
    rows : mapping
        Measured rows by id.
    judgements : mapping
        How they lie in intervals of the other folds, by metric.
    arguments : Namespace
        Of the fit: its seed is cited.
    """
    lines = [
        "# Measured over predicted, of serving figures that the fit had not seen (five "
        f"grouped folds, seed {arguments.seed}).",
        "# An interval at 0.8 is the prediction times `low` to `high`: quantiles so "
        "far out that a group lies as often within those of the others.",
        "# Classes of fewer rows, or groups of rows that err alike, say nothing of "
        "their own.",
        f"least_rows = {LEAST_ROWS}",
        f"least_groups = {LEAST_GROUPS}",
        "# How the figures of a fold lie in intervals of the other ones:",
    ]
    for judgement in judgements.values():
        lines += ["", "[[judged]]", *_toml(judgement)]
        print("in intervals of the other folds:", judgement, flush=True)
    for (metric, name), own in sorted(by_class(errors).items()):
        ratios = [each.ratio for each in own]
        lines += residual_table(metric, name, ratios, within=widened(own))
        lines.append(f"groups = {groups_of(own)}")
        lines.append(f'data = "{_data(rows[each.row] for each in own)}"')
        off = np.abs(1 / np.asarray(ratios) - 1)
        print(
            f"{metric:10} {name:36} n {len(ratios):5} median {np.median(off):6.1%} "
            f"MAPE {np.mean(off):6.1%}",
            flush=True,
        )
    write(path, "\n".join((*lines, "")))


def _data(rows: Iterable[ServingRow]) -> str:
    """Say of which releases rows are, and of when: from the first to the last."""
    releases: dict[str, set[str]] = {}
    dates = set()
    for row in rows:
        releases.setdefault(row.engine, set()).update(
            _RELEASE.findall(row.engine_version)
        )
        dates |= {row.date[:_OF_MONTH]} - {""}
    told = [
        f"{engine} {_span(own, key=_order)}".rstrip()
        for engine, own in releases.items()
    ]
    when = _span(dates, key=str)
    return "; ".join(filter(None, (", ".join(sorted(told)), when)))


def _span(found: Iterable[str], *, key: Callable[[str], Any]) -> str:
    ordered = sorted(found, key=key)
    return " to ".join(dict.fromkeys((*ordered[:1], *ordered[-1:])))


def _order(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def _toml(judgement: Judgement) -> Iterator[str]:
    for name, value in structs.asdict(judgement).items():
        shown = f'"{value}"' if isinstance(value, str) else value
        yield f"{name} = {list(shown) if isinstance(shown, tuple) else shown}"


def residual_table(
    metric: str,
    name: str,
    ratios: Sequence[float],
    *,
    within: tuple[float, float],
) -> list[str]:
    """Return the lines of one class: quantiles of measured over predicted, and errors.

    Parameters
    ----------
    metric, name : str
        What was predicted, and of which class.
    ratios : sequence of float
        Measured over predicted.
    within : tuple of float
        The interval.
    """
    off = np.abs(1 / np.asarray(ratios) - 1)
    low, high = within
    return [
        "",
        "[[residual]]",
        f'metric = "{metric}"',
        f'of = "{name}"',
        f"rows = {len(ratios)}",
        f"low = {low:.4f}",
        f"high = {high:.4f}",
        f"median_ape = {np.median(off):.4f}",
        f"mape = {np.mean(off):.4f}",
    ]
