"""Plans the cheapest cluster that serves or trains a large language model.

>>> import planopt
>>> plan = planopt.solve(model="llama-2-70b", target="5tok/s", budget=20_000)
>>> plan.price_usd <= 20_000
True

Names are imported when they are first used: importing planopt costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

_MODULES = {
    "_native": ("__version__",),
    "accuracy.validate": ("validate",),
    "api": ("accelerators", "models", "solve", "sweep", "train"),
    "difference": ("diff",),
    "documents.calibration": ("Calibration",),
    "documents.fleet": ("FleetPlan",),
    "documents.plan": ("Interrupted", "Plan", "TrainingPlan"),
    "documents.training": ("TrainingDocument",),
    "documents.validation": ("Validation",),
    "errors": ("Infeasible", "InputError", "InternalError", "PlanoptError"),
    "fleets.plan": ("fleet",),
    "homes": ("serve_neighbours", "train_islands"),
    "measurement.run": ("calibrate",),
    "planning.compare": ("compare", "frontier", "per_dollar"),
    "planning.evaluate": ("evaluate_serving",),
    "second_opinion": ("verify",),
    "training.evaluate": ("evaluate_training",),
}
"""Where names are; `__init__.pyi` has their types."""
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
_HOMES["evaluate"] = _HOMES["evaluate_serving"]
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
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
