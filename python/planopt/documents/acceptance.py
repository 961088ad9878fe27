"""A benchmark held against a plan: ``planopt.accept/1``."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from planopt.documents.base import Document

Outcome = Literal["kept", "broken", "open"]
"""Open is what the result does not tell."""
TermName = Literal["decode", "prefill", "load", "step"]


class Judged(Struct, frozen=True, kw_only=True):
    """A promise, and what was measured of it."""

    name: str
    percentile: str | None = None
    asked: float
    """In seconds, or per second."""
    predicted: float | None = None
    at_least: float | None = None
    """What was measured, as far as the result tells it; failed requests are late."""
    at_most: float | None = None
    outcome: Outcome
    off: float | None = None
    """Share by which it is better (above 0) or worse than asked."""
    why: str | None = None


class Term(Struct, frozen=True, kw_only=True):
    """A part of the prediction beside what was measured of it."""

    name: TermName
    predicted_seconds: float
    measured_seconds: float
    ratio: float
    most_of_it: str | None = None
    """The largest part of what was predicted."""


class Acceptance(Document, frozen=True, kw_only=True):
    """Whether a benchmark kept what a plan promises, and what is off."""

    _what = "accept"

    schema: Literal["planopt.accept/1"] = "planopt.accept/1"
    tool: str
    outcome: Outcome
    promises: tuple[Judged, ...]
    terms: tuple[Term, ...]
    off: str | None = None
    """The term that is the furthest from its prediction."""
    failed: float
    """Share of the requests that nobody answered."""
    remarks: tuple[str, ...] = ()
