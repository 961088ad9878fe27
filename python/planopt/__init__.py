"""Plans the cheapest cluster that serves or trains a large language model.

>>> import planopt
>>> plan = planopt.solve(model="llama-2-70b", target="5tok/s", budget=20_000)
>>> plan.price_usd <= 20_000
True

Names are imported when they are first used: importing planopt costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # To import typing takes longer than all the rest.
if TYPE_CHECKING:
    from typing import Any

    from planopt._native import __version__
    from planopt.accuracy.validate import validate
    from planopt.api import accelerators, fleet, models, solve, sweep, train, verify
    from planopt.difference import diff
    from planopt.documents.calibration import Calibration
    from planopt.documents.fleet import FleetPlan
    from planopt.documents.plan import Interrupted, Plan, TrainingPlan
    from planopt.documents.training import TrainingDocument
    from planopt.documents.validation import Validation
    from planopt.errors import Infeasible, InputError, InternalError, PlanoptError
    from planopt.homes import serve_neighbours, train_islands
    from planopt.measurement.run import calibrate
    from planopt.planning.compare import compare
    from planopt.planning.evaluate import evaluate_serving
    from planopt.planning.evaluate import evaluate_serving as evaluate
    from planopt.planning.frontier import frontier
    from planopt.planning.per_dollar import per_dollar
    from planopt.training.evaluate import evaluate_training

__all__ = [
    "Calibration",
    "FleetPlan",
    "Infeasible",
    "InputError",
    "InternalError",
    "Interrupted",
    "Plan",
    "PlanoptError",
    "TrainingDocument",
    "TrainingPlan",
    "Validation",
    "__version__",
    "accelerators",
    "calibrate",
    "compare",
    "diff",
    "evaluate",
    "evaluate_serving",
    "evaluate_training",
    "fleet",
    "frontier",
    "models",
    "per_dollar",
    "serve_neighbours",
    "solve",
    "sweep",
    "train",
    "train_islands",
    "validate",
    "verify",
]

_MODULES = {
    "_native": ("__version__",),
    "accuracy.validate": ("validate",),
    "api": ("accelerators", "fleet", "models", "solve", "sweep", "train", "verify"),
    "difference": ("diff",),
    "documents.calibration": ("Calibration",),
    "documents.fleet": ("FleetPlan",),
    "documents.plan": ("Interrupted", "Plan", "TrainingPlan"),
    "documents.training": ("TrainingDocument",),
    "documents.validation": ("Validation",),
    "errors": ("Infeasible", "InputError", "InternalError", "PlanoptError"),
    "homes": ("serve_neighbours", "train_islands"),
    "measurement.run": ("calibrate",),
    "planning.compare": ("compare",),
    "planning.evaluate": ("evaluate_serving",),
    "planning.frontier": ("frontier",),
    "planning.per_dollar": ("per_dollar",),
    "training.evaluate": ("evaluate_training",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
_HOMES["evaluate"] = _HOMES["evaluate_serving"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'planopt' has no attribute {name!r}")
    from planopt.documents.base import render_with
    from planopt.report import document

    render_with(document)
    attribute = "evaluate_serving" if name == "evaluate" else name
    value = getattr(import_module(f"planopt.{_HOMES[name]}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
