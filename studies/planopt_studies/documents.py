"""What predictions of rows left out are judged to be worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from planopt.documents.validation import Calibration

if TYPE_CHECKING:
    from planopt.documents.validation import Statistics

LEAST_ROWS = 20
"""Rows below which a class says nothing of its own."""

LEAST_GROUPS = 5
"""Groups, of rows that err alike, below which it says nothing either: one that is left
out lies within four others as often as 80 % of the time, and not within fewer."""


class Residual(Struct, frozen=True, kw_only=True):
    """Errors of a metric of a class."""

    metric: str
    of: str
    """Class: an accelerator or a family, and ``dense`` or ``moe``; or ``all``."""
    rows: int
    low: float
    """Measured over predicted, below which a tenth is."""
    high: float
    median_ape: float
    mape: float
    groups: int | None = None
    """Groups of rows that err alike, where they were counted."""


class Errors(Struct, frozen=True, kw_only=True):
    """Errors of step times of a class, exact repeats counted once."""

    of: str
    n: int
    median_ape: float
    mape: float
    bias: float
    spearman: float | None = None


class Choices(Struct, frozen=True, kw_only=True):
    """Layouts ranked first beside the best ones that were measured."""

    groups: int
    """Groups of measured layouts of the same model on the same hardware."""
    regret: float
    """Mean share of the best step time that the layout ranked first loses."""
    median_regret: float
    best_found: float
    """Share of the groups in which the best layout is ranked first."""


class Judgement(Calibration, frozen=True, kw_only=True):
    """How figures that no fit had seen lie in intervals that none of them made."""

    constant_score: float
    """The score of intervals of one width for each class."""


class Folds(Struct, frozen=True, kw_only=True):
    """How rows that no fit had seen were predicted."""

    rows: int
    counted: int
    """Of them, all but exact repeats."""
    in_folds: tuple[Errors, ...]
    """By class; whole groups of source, accelerator and model left out."""
    without_source: tuple[Errors, ...]
    """By class; whole sources left out, by fits that go four rounds from the priors."""
    choices: Choices
    judged: Judgement
    """How rows lie in intervals of the errors of the other folds."""


class Fitting(Struct, frozen=True, kw_only=True):
    """Runs whose memory is known to have sufficed, or not."""

    ran: int
    """Rows with a full layout that ran."""
    said_not_to_fit: int
    """Of them, those predicted as out of memory."""
    failed: int
    """Rows that ran out of memory."""
    said_to_fail: int
    """Of them, those predicted so."""


class Judged(Struct, frozen=True, kw_only=True):
    """Predictions beside what was measured."""

    folds: Folds
    single_node: Residual | None
    """Of the grid of single hosts, as the fit left it on file."""
    step_time: Statistics
    """Of the rows with a full layout, by the fit to all of them: coverage."""
    memory: Statistics
    fitting: Fitting
    uncovered: dict[str, int]
    """Rows with a full layout and no prediction, by reason."""
    serving: tuple[Residual, ...]
    """Of left-out serving figures by metric and class, as the fit left them on file."""
    serving_judged: dict[str, Judgement]
    """How they lie in intervals of the other folds, by metric."""
