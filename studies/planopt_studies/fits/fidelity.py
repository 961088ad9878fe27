"""``python -m planopt_studies.fits.fidelity --data FILE ...``: fidelity of training.

By class of rows: errors of the assumptions in use, and of fits from the priors that had
not seen the row's group of source, accelerator and model. Five folds are for choosing
what is fitted; three more, of another seed, are looked at once. Each row counts
the same, and beside that each group; the floor is how far rows lie apart that nothing
tells from each other. Nothing is written.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from planopt.accuracy.columns import read_rows
from planopt.accuracy.statistics import spread
from planopt.accuracy.training import TrainingRow, comparisons, predictions
from planopt.catalog.open import DEFAULT_ASSUMPTIONS, bundled_folder
from planopt.documents.validation import Missing
from planopt_studies.fits.training import Fit
from planopt_studies.left_out import SINGLE_NODE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt_studies.fits.training import Row

__all__ = ["classes_of", "lines_of"]

_NVIDIA: Final = frozenset(
    {"volta", "turing", "ampere", "ada", "hopper", "blackwell"},
)
"""Families of accelerators of the maker that most rows are of."""
_CHOOSING: Final = (7, 5)
_ONCE: Final = (23, 3)
"""Seeds of folds, and how many."""


def classes_of(row: Row) -> Iterator[str]:
    """Yield the classes that a row counts in; boards of V100 count in their own."""
    measured = row.question.row
    if measured.source.startswith("vTrain"):
        yield SINGLE_NODE
        return
    if row.family == "volta":
        yield "V100"
        return
    yield "all frameworks"
    if measured.frozen_weights is not None:
        yield "QLoRA"
    elif measured.framework == "deepspeed":
        yield "LoRA by DeepSpeed"
    elif measured.lora_rank is not None:
        yield "LoRA"
    else:
        yield "MoE" if row.has_experts else "dense"
    if measured.source.startswith("mlperf"):
        mine = row.family in _NVIDIA
        yield "MLPerf, NVIDIA" if mine else "MLPerf, others"


def lines_of(rows: Sequence[Row], predicted: Sequence[float]) -> list[str]:
    """Return a table of errors: by row, by group, and the floor."""
    members: dict[str, list[tuple[Row, float]]] = {}
    for row, seconds in zip(rows, predicted, strict=True):
        for name in classes_of(row):
            members.setdefault(name, []).append((row, seconds / row.seconds - 1))
    lines = [
        f"{'class':22} {'rows':>5} {'median':>7} {'MAPE':>7} {'bias':>7} "
        f"{'groups':>6} {'median':>7} {'MAPE':>7} {'floor':>6}"
    ]
    for name, own in sorted(members.items()):
        groups: dict[tuple[str, str, str], list[float]] = {}
        for row, error in own:
            groups.setdefault(row.group, []).append(abs(error))
        sizes = [abs(error) for _, error in own]
        alike = spread((row.question.row.group, row.seconds) for row, _ in own)
        floor = f"{median(alike):6.1%}" if alike else f"{'-':>6}"
        lines.append(
            f"{name:22} {len(own):5} {median(sizes):7.1%} {fmean(sizes):7.1%} "
            f"{fmean(error for _, error in own):+7.1%} {len(groups):6} "
            f"{median(map(median, groups.values())):7.1%} "
            f"{fmean(map(fmean, groups.values())):7.1%} {floor}"
        )
    return lines


def memory_lines(paths: Sequence[Path]) -> list[str]:
    """Return errors of memory by what the source counts."""
    errors: dict[str, list[float]] = {}
    for path in paths:
        for each in predictions(read_rows(path, (TrainingRow,)), DEFAULT_ASSUMPTIONS):
            if isinstance(each, Missing):
                continue
            for pair in comparisons(each):
                if pair.metric == "memory" and pair.standing == "counted":
                    of = f"{each.row.memory_statistic}, {each.row.framework}"
                    errors.setdefault(of, []).append(pair.error)
                    errors.setdefault("all", []).append(pair.error)
    return [
        f"memory: {of:22} {len(own):4} rows, median {median(map(abs, own)):5.1%}, "
        f"MAPE {fmean(map(abs, own)):5.1%}, bias {fmean(own):+5.1%}"
        for of, own in sorted(errors.items())
    ]


def main() -> None:
    """Print what training is predicted with, and what is known of rows left out."""
    parser = argparse.ArgumentParser(prog="planopt_studies.fits.fidelity")
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--rounds", type=int, default=10, help="of the fits")
    parser.add_argument("--once", action="store_true", help="the three folds, too")
    arguments = parser.parse_args()
    target = bundled_folder() / "assumptions" / "calibrated.toml"
    with tempfile.TemporaryDirectory(prefix="planopt-") as name:
        fit = Fit(arguments.data, target, Path(name))
        print("as it stands:", *lines_of(fit.rows, fit.stands()), sep="\n", flush=True)
        print(*memory_lines(arguments.data), sep="\n", flush=True)
        for seed, many in (_CHOOSING, _ONCE)[: 2 if arguments.once else 1]:
            parts = fit.folds(seed, many)
            found = fit.left_out(parts, rounds=arguments.rounds)
            print(f"left out, {many} folds of seed {seed}:")
            print(*lines_of(fit.rows, list(found)), sep="\n", flush=True)


if __name__ == "__main__":
    main()
