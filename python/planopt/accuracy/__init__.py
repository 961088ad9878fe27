"""Predictions beside published measurements: how far planopt is off, and where."""
