"""``python -m planopt_studies.fits.unseen --data FILE``: rows that no fit has seen.

The eight iteration times of arXiv 2205.05198, table 5 (22B, 175B, 530B and 1T, full and
selective recomputation) are among the rows that training is fitted to. Here the fit is
made again, from its starting figures, without them and without every other row that
tells of the same runs, and asked what they take. Nothing is written.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from planopt.catalog.open import bundled_folder
from planopt_studies.fits.training import Fit

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SAME_RUNS", "Unseen", "predict_unseen"]

PREDICTED: Final = "calculon:seqsel-table5"
"""Source of the eight rows."""
SAME_RUNS: Final = frozenset(
    {PREDICTED, "megatron-lm:2022-mfu-table", "seqpar-paper-abstract"}
)
"""Sources that tell of these runs: seconds, or the utilisation that follows."""


@dataclass(frozen=True)
class Unseen:
    """A row beside what a fit says that has not seen it, in seconds of a step."""

    name: str
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted / self.measured - 1


def predict_unseen(paths: Sequence[Path], *, rounds: int) -> list[Unseen]:
    """Fit without the eight rows and the same runs elsewhere, and predict the eight.

    Parameters
    ----------
    paths : sequence of Path
        Tables of training measurements, one of which has the eight.
    rounds : int
        Rounds of the fit.
    """
    target = bundled_folder() / "assumptions" / "calibrated.toml"
    with tempfile.TemporaryDirectory(prefix="planopt-") as name:
        fit = Fit(paths, target, Path(name))
        sources = [row.question.row.source for row in fit.rows]
        seen = [p for p, source in enumerate(sources) if source not in SAME_RUNS]
        asked = [p for p, source in enumerate(sources) if source == PREDICTED]
        predicted = fit.predicted(fit.fit(seen, rounds=rounds), asked)
    return [
        Unseen(_named(fit, place), fit.rows[place].seconds, float(seconds))
        for place, seconds in zip(asked, predicted, strict=True)
    ]


def _named(fit: Fit, place: int) -> str:
    question = fit.rows[place].question
    return f"{question.model}, recomputation {question.row.recompute}"


def main() -> None:
    """Print the eight rows with their errors."""
    parser = argparse.ArgumentParser(prog="planopt_studies.fits.unseen")
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--rounds", type=int, default=25, help="of the fit")
    arguments = parser.parse_args()
    rows = predict_unseen(arguments.data, rounds=arguments.rounds)
    for row in rows:
        print(
            f"{row.name:44} measured {row.measured:7.2f} s "
            f"predicted {row.predicted:7.2f} s {row.error:+7.1%}"
        )
    errors = np.abs([row.error for row in rows])
    print(f"mean {np.mean(errors):.1%}, worst {np.max(errors):.1%} of {len(rows)} rows")


if __name__ == "__main__":
    main()
