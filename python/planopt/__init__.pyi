from planopt._native import __version__
from planopt.accuracy.validate import validate
from planopt.api import accelerators, models, solve, sweep, train
from planopt.difference import diff
from planopt.documents.calibration import Calibration
from planopt.documents.fleet import FleetPlan
from planopt.documents.plan import Interrupted, Plan, TrainingPlan
from planopt.documents.training import TrainingDocument
from planopt.documents.validation import Validation
from planopt.errors import Infeasible, InputError, InternalError, PlanoptError
from planopt.fleets.plan import fleet
from planopt.homes import serve_neighbours, train_islands
from planopt.measurement.run import calibrate
from planopt.planning.compare import compare, frontier, per_dollar
from planopt.planning.evaluate import evaluate_serving
from planopt.planning.evaluate import evaluate_serving as evaluate
from planopt.second_opinion import verify
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
