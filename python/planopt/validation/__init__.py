"""Predictions beside published measurements: how far planopt is off, and where."""

from planopt.validation.run import validate

__all__ = ["validate"]
