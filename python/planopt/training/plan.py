"""Documents of training: the plan and the evaluation, saved and read again as JSON."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from planopt.derivation import Derivation  # noqa: TC001 - msgspec reads it at run time
from planopt.plan import (
    Assumed,
    BomLine,
    Document,
    Hardware,
    PlanDocument,
    PlanWarning,
)
from planopt.training.evaluation import (
    Mixed,
    Renting,
    TrainingCandidate,
    TrainingDeployment,
    TrainingEvaluation,
)

__all__ = [
    "TrainingAlternative",
    "TrainingDocument",
    "TrainingPlan",
    "alternative_of",
]


class TrainingAlternative(Struct, frozen=True, kw_only=True):
    """Another cluster, and why it was not chosen."""

    summary: str
    why_not: str
    price_usd: float | None = None
    days: float | None = None
    mfu: float | None = None
    goodput: float | None = None
    run_usd: float | None = None
    """Hours of the run at the hourly cost of the cluster."""
    accelerators: int | None = None
    power_watts: float | None = None
    candidate: TrainingCandidate | None = None
    hardware: Hardware | None = None
    bill_of_materials: tuple[BomLine, ...] = ()


def alternative_of(
    evaluation: TrainingEvaluation, **others: Any
) -> TrainingAlternative:
    """Put an evaluation up as an alternative, with what it does not say itself."""
    return TrainingAlternative(
        days=evaluation.days,
        mfu=evaluation.mfu,
        goodput=evaluation.goodput,
        run_usd=evaluation.run.usd,
        accelerators=evaluation.accelerators,
        power_watts=evaluation.power_watts,
        **others,
    )


class TrainingDocument(TrainingEvaluation, Document, frozen=True, kw_only=True):
    """One evaluation, with what was evaluated: the answer of ``evaluate training``."""

    _what = "evaluation"
    _about = "training"

    schema: Literal["planopt.evaluation/1"] = "planopt.evaluation/1"
    kind: Literal["training"] = "training"
    model: str
    candidate: TrainingCandidate
    hardware: Hardware
    bill_of_materials: tuple[BomLine, ...] = ()
    mixed: Mixed | None = None
    """How the run is shared, where accelerators are of several kinds."""
    assumed: tuple[Assumed, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    assumptions: str | None = None
    derivation: tuple[Derivation, ...] = ()
    """How each figure was worked out, where `explain` asks for it."""

    def __str__(self) -> str:
        """Lay the evaluation out as the command line shows it."""
        from planopt.report.training import render_training

        return render_training(self)


class TrainingPlan(PlanDocument, frozen=True, kw_only=True):
    """What to buy to train a model, why, and what else was possible."""

    _about = "training"

    kind: Literal["training"] = "training"
    deployments: tuple[TrainingDeployment, ...] = ()
    alternatives: tuple[TrainingAlternative, ...] = ()
    together: tuple[TrainingAlternative, ...] = ()
    """All accelerators that there are in one run, where several kinds are given with
    their numbers: at the pace of the slowest, and with stages balanced by speed."""
    renting: Renting | None = None
    """Runs on rented instances, where `--acquire both` asks for them."""

    def __str__(self) -> str:
        """Lay the plan out as the command line shows it."""
        from planopt.report.training_plan import render_training_plan

        return render_training_plan(self)

    def _repr_html_(self) -> str:
        """Show the plan in a notebook."""
        from planopt.report.html import training_plan_table

        return training_plan_table(self)
