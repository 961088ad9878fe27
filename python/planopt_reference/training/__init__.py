"""The slow reference of training, written from docs/reference/training.md alone."""

from planopt_reference.training.evaluation import evaluate_training

__all__ = ["evaluate_training"]
