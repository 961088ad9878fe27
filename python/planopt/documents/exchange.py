"""Of others' tools: commands read, benchmarks held and fitted, cards found."""

from typing import Literal

import msgspec
from msgspec import Struct

from planopt.documents.base import Document
from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.training import TrainingDocument

BETTER = 1.02
"""What counts as better: predictions are no finer."""


class Heard(Struct, frozen=True, kw_only=True):
    """A flag that was given."""

    flag: str | None
    """None is the argument without a flag."""
    value: str | None = None
    term: str | None = None
    """What it says; none changes neither memory nor layout."""


class Elsewhere(Struct, frozen=True, kw_only=True):
    """The same on another accelerator."""

    accelerator: str
    fits: bool
    sequences: int | None = None
    """That it holds at full context."""
    tokens_per_second: float | None = None
    why_not: str | None = None


class Better(Struct, frozen=True, kw_only=True):
    """Another layout on the same accelerators."""

    layout: str
    batch: int
    replicas: int
    tokens_per_second: float | None


class ImportDocument(Document, frozen=True, kw_only=True):
    """What somebody runs: understood, and evaluated where its hardware is named."""

    _what = "import"

    schema: Literal["planopt.import/1"] = "planopt.import/1"
    tool: str
    version: str
    """Whose flags it was read by."""
    kind: Literal["serving", "training"]
    model: str
    flags: tuple[Heard, ...]
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    options: dict[str, str]
    """As options of `planopt evaluate`."""
    remarks: tuple[str, ...] = ()
    sequences: int | None = None
    """That fit at full context, of those that may run."""
    serving: EvaluationDocument | None = None
    training: TrainingDocument | None = None
    elsewhere: tuple[Elsewhere, ...] = ()
    better: Better | None = None
    """On the same accelerators, if anything is."""

    @property
    def fits(self) -> bool | None:
        """Whether it fits where it runs; none where that is not said."""
        found = self.serving or self.training
        return None if found is None else found.feasible


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


class FittedFactor(Struct, frozen=True, kw_only=True):
    """What figures of a card or an engine are multiplied by."""

    name: str
    what: str
    factor: float
    uncertainty: float
    """Share that it may be off by where figures vary by 5 % from run to run."""
    at_limit: bool = False
    """Whether more than is physically possible would fit better."""


class Unchanged(Struct, frozen=True, kw_only=True):
    """A factor that stays as it was: the results do not tell it, or need it not."""

    name: str
    what: str
    why: str


class FittedFigure(Struct, frozen=True, kw_only=True):
    """A measured time beside what is predicted of it."""

    result: str
    figure: Literal["tpot", "ttft"]
    load: str
    """What it was measured under, as options of `evaluate serving`."""
    measured_seconds: float
    before_seconds: float
    after_seconds: float


class Fit(Document, frozen=True, kw_only=True):
    """Factors of one's own machines, in an overlay catalog."""

    _what = "fit"

    schema: Literal["planopt.fit/1"] = "planopt.fit/1"
    accelerator: str
    engine: str | None = None
    factors: tuple[FittedFactor, ...]
    unchanged: tuple[Unchanged, ...] = ()
    figures: tuple[FittedFigure, ...]
    error_before: float
    """Median of how far predictions are off, as a share of what was measured."""
    error_after: float
    remarks: tuple[str, ...] = ()
    overlay: str
    """Folder that was written."""
    assumptions: str = "measured"
    """Id of the assumptions in it."""


class Found(Struct, frozen=True, kw_only=True):
    """Accelerators of one name."""

    name: str
    count: int
    id: str | None = None
    """In the catalog; none where it has no such accelerator."""
    link: str | None = None
    """Between it and the host, at most."""
    nearest: str | None = None


class Detection(Document, frozen=True, kw_only=True):
    """The accelerators, links and memory of a machine, as options say them."""

    _what = "detect"

    schema: Literal["planopt.detect/1"] = "planopt.detect/1"
    processor: str
    memory_bytes: float | None = None
    found: tuple[Found, ...]
    own: str
    """What `--own` takes; empty where nothing of it is known."""
    overlay: str | None = None
    """Folder that was written, for `--catalog`."""
    remarks: tuple[str, ...] = ()
