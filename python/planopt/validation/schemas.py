"""The kinds of file that can be validated, each in a module of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.validation.inference import INFERENCE
from planopt.validation.microbench import MICROBENCH
from planopt.validation.silicon import SILICON
from planopt.validation.training import TRAINING

if TYPE_CHECKING:
    from planopt.validation.measurement import Schema

__all__ = ["SCHEMAS"]

SCHEMAS: tuple[Schema, ...] = (TRAINING, SILICON, INFERENCE, MICROBENCH)
