"""The plan and the evaluation: documents that are saved, read again, checked and shown.

Every figure has its unit in its name. ``None`` says that a figure is not known or not
modelled; it is never 0. `planopt.schema` publishes the documents as JSON Schema.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import msgspec
from msgspec import Struct

from planopt.derivation import Derivation  # noqa: TC001 - msgspec reads it at run time
from planopt.errors import InputError
from planopt.evaluation import (
    BomLine,
    Candidate,
    Cost,
    Decode,
    Deployment,
    Hardware,
    Memory,
    Percentiles,
    Prefill,
    Rejection,
    ServingEvaluation,
    UnderLoad,
)
from planopt.pools import (  # noqa: TC001 - msgspec reads them at run time
    Disaggregated,
    Pool,
    Transfer,
)
from planopt.request import Assumed, Objective, Request

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "Accuracy",
    "Alternative",
    "Answer",
    "Answers",
    "Assumed",
    "BomLine",
    "Candidate",
    "Change",
    "Cost",
    "Decode",
    "Deployment",
    "Document",
    "EvaluationDocument",
    "Flip",
    "Hardware",
    "Infeasibility",
    "Limit",
    "Memory",
    "Percentiles",
    "Plan",
    "PlanDocument",
    "PlanWarning",
    "Prefill",
    "Rejection",
    "Request",
    "Search",
    "Sensitivity",
    "ServingEvaluation",
    "UnderLoad",
    "to_json",
]

Status = Literal["optimal", "feasible", "infeasible"]


class PlanWarning(Struct, frozen=True, kw_only=True):
    """What to know before acting on an answer."""

    code: str
    message: str
    help: str | None = None


# --- The plan: planopt.plan/1 ---------------------------------------------------------


class Answer(Struct, frozen=True, kw_only=True):
    """The best purchase by one objective, in short."""

    objective: str
    status: Status
    price_usd: float | None = None
    usd_per_hour: float | None = None
    usd_per_million_tokens: float | None = None
    tokens_per_second: float | None = None
    tokens_per_second_per_user: float | None = None
    users: int | None = None
    summary: str = ""
    bill_of_materials: tuple[BomLine, ...] = ()


class Answers(Struct, frozen=True, kw_only=True):
    """The three questions that a purchase raises."""

    cheapest: Answer | None = None
    throughput: Answer | None = None
    cost_per_token: Answer | None = None


class Alternative(Struct, frozen=True, kw_only=True):
    """Another build, and why it was not chosen."""

    summary: str
    why_not: str
    price_usd: float | None = None
    usd_per_hour: float | None = None
    tokens_per_second_per_user: float | None = None
    tokens_per_second: float | None = None
    usd_per_million_tokens: float | None = None
    users: int | None = None
    power_watts: float | None = None
    replicas: int | None = None
    candidate: Candidate | None = None
    hardware: Hardware | None = None
    bill_of_materials: tuple[BomLine, ...] = ()


class Limit(Struct, frozen=True, kw_only=True):
    """A limit that takes part in a conflict."""

    name: str
    value: str
    detail: str | None = None


class Change(Struct, frozen=True, kw_only=True):
    """A change to the question after which a plan exists; it was solved and checked."""

    options: dict[str, str]
    """The options to give instead, by name."""
    summary: str
    """What is then bought."""
    price_usd: float | None = None
    price_is_rough: bool = False
    """Whether a price in it is from memory or older than a year."""
    usd_per_hour: float | None = None
    tokens_per_second_per_user: float | None = None
    days: float | None = None
    """Of a training run."""
    note: str | None = None
    """What it keeps or gives up."""


class Infeasibility(Struct, frozen=True, kw_only=True):
    """Why there is no plan, and what is nearest to one."""

    binding: tuple[Limit, ...] = ()
    """The minimal conflict: without any one of these there is a plan."""
    nearest: tuple[Change, ...] = ()
    note: str | None = None


class Sensitivity(Struct, frozen=True, kw_only=True):
    """What the answer becomes when one thing is different."""

    change: str
    result: str
    choice_changes: bool = False
    price_usd: float | None = None


class Way(Struct, frozen=True, kw_only=True):
    """The cheapest way to rent, or to own, what a question asks for."""

    summary: str
    usd_per_hour: float
    """Averaged over the years that are compared."""
    price_usd: float = 0.0
    """Purchase."""
    price_is_rough: bool = False
    """Whether a price in it is from memory or older than a year."""
    usd_per_million_tokens: float | None = None


class RentOrBuy(Struct, frozen=True, kw_only=True):
    """Renting against owning over the years of the assumptions."""

    years: float
    duty: float
    """Share of the hours that are busy; what is rented goes back when it is idle."""
    rent: Way | None = None
    buy: Way | None = None
    break_even_days: float | None = None
    """Day from which on owning has cost less; none if it never does."""
    break_even_duty: float | None = None
    """Share of busy hours from which on owning costs less over the years."""
    hosted_usd_per_million_tokens: float | None = None
    """Price of the tokens themselves, with the prompts that they answer, from those who
    serve this model; of any model where its own is not known."""
    hosted_low_usd: float | None = None
    """The same from the cheapest of them."""
    hosted_high_usd: float | None = None
    hosted_source: str | None = None
    hosted_date: str | None = None


class Step(Struct, frozen=True, kw_only=True):
    """What one step of a limit is worth: the question was asked again with it."""

    limit: str
    step: str
    binding: bool = False
    """Whether the step changes what is best."""
    saves_usd: float | None = None
    """In the money that was asked about: of the purchase, or of an hour."""
    gains_tokens_per_second: float | None = None
    choice: str | None = None
    """What is best then."""


class PriceRange(Struct, frozen=True, kw_only=True):
    """Prices of one part over which the choice stays the best.

    Found by asking again at other prices, within the band that was asked about: a side
    without a limit holds for all of it.
    """

    kind: str
    id: str
    name: str
    price_usd: float
    """Price of one today; of an instance, that of an hour."""
    low_usd: float | None = None
    """Below it another choice is better."""
    high_usd: float | None = None
    """Above it another choice is better."""
    low_choice: str | None = None
    high_choice: str | None = None
    regret_usd: float = 0.0
    """What the choice costs too much at the worse end of the band."""


class Flip(Struct, frozen=True, kw_only=True):
    """How far an assumption may move before another choice is better.

    Found by asking again within the band: a side without a limit holds for all of it.
    """

    name: str
    """Of the assumptions of cost, ``context_tokens``, or ``predicted_speed``: the share
    of its predicted speed that the choice really has."""
    value: float
    """What is assumed."""
    low: float | None = None
    """Below it another choice is better."""
    high: float | None = None
    low_choice: str | None = None
    high_choice: str | None = None


class Uncertainty(Struct, frozen=True, kw_only=True):
    """How far the choice holds where prices are not what they are said to be."""

    price_band: float
    """Share by which a price may be off, either way."""
    prices: tuple[PriceRange, ...] = ()
    flips: tuple[Flip, ...] = ()
    worst_regret_usd: float = 0.0
    runner_up: str | None = None
    runner_up_regret_usd: float | None = None
    """What the runner-up costs more at the prices said."""


class Search(Struct, frozen=True, kw_only=True):
    """What was looked at."""

    candidates_covered: int = 0
    candidates_evaluated: int = 0
    candidates_pruned: int = 0
    rejected: dict[str, int] = {}
    """Candidates by the reason they were rejected for."""
    seconds: float | None = None


class Accuracy(Struct, frozen=True, kw_only=True):
    """How far predictions of this kind have been from measurements."""

    statement: str
    median_error: float | None = None
    """Share of the measured value."""
    source: str | None = None


class Document(Struct, frozen=True, kw_only=True):
    """A document that stands alone as a JSON file."""

    _what: ClassVar[str] = "document"
    _about: ClassVar[str] = "serving"

    def to_json(self) -> str:
        """Write the document as JSON text."""
        return to_json(self)

    def save(self, path: str | Path) -> None:
        """Write the document to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def from_json(cls, text: str | bytes, *, file: str | None = None) -> Self:
        """Read the document.

        Raises
        ------
        InputError
            The text is no such document; E301, with the place in it.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError.of(
                "E301",
                f"this is no {cls._what}: {error}",
                file=file,
                accepted=f'a JSON document with "schema": "planopt.{cls._what}/1" '
                f'and "kind": "{cls._about}"',
                help="`planopt solve --out plan.json` writes a plan for serving, "
                "`planopt train` one for training",
            ) from error


class EvaluationDocument(ServingEvaluation, Document, frozen=True, kw_only=True):
    """One evaluation, with what was evaluated: the answer of ``evaluate serving``."""

    _what = "evaluation"

    schema: Literal["planopt.evaluation/1"] = "planopt.evaluation/1"
    kind: Literal["serving"] = "serving"
    model: str | None = None
    replicas: int = 1
    candidate: Candidate | None = None
    hardware: Hardware | None = None
    bill_of_materials: tuple[BomLine, ...] = ()
    prefill_pool: Pool | None = None
    """What reads the prompts, where the configuration only answers them."""
    transfer: Transfer | None = None
    """How the cache of a prompt gets from there."""
    context_tokens: int | None = None
    engine: str | None = None
    """Engine whose measured factors and schedule count; none: kernels as measured."""
    assumed: tuple[Assumed, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    assumptions: str | None = None
    derivation: tuple[Derivation, ...] = ()


class PlanDocument(Document, frozen=True, kw_only=True):
    """What every plan says, whatever the cluster is for."""

    _what = "plan"

    schema: Literal["planopt.plan/1"] = "planopt.plan/1"
    status: Status
    objective: Objective = "cheapest"
    price_usd: float | None = None
    bound_usd: float | None = None
    """No purchase that meets the question is cheaper: the solver's own bound."""
    bound_usd_per_hour: float | None = None
    """The same of an hour, where anything may be rented."""
    gap: float | None = None
    """Share of the price by which it may be above the bound."""
    request: Request = msgspec.field(default_factory=Request)
    bill_of_materials: tuple[BomLine, ...] = ()
    oldest_price_date: str | None = None
    """Of the prices that are a hundredth of the sum or more."""
    cost: Cost = msgspec.field(default_factory=Cost)
    power_watts: float | None = None
    infeasibility: Infeasibility | None = None
    sensitivity: tuple[Sensitivity, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    search: Search = msgspec.field(default_factory=Search)
    assumed: tuple[Assumed, ...] = ()
    assumptions: str | None = None
    """Name or file of the assumptions used."""
    accuracy: Accuracy | None = None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a plan from a file.

        Raises
        ------
        InputError
            There is no such file (E006), or it is no plan (E301).
        """
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise InputError.of(
                "E006",
                f"cannot read the plan: {error.strerror or error}",
                file=path,
                accepted="a file that `planopt solve --out plan.json` has written",
            ) from error
        return cls.from_json(content, file=str(path))


class Plan(PlanDocument, frozen=True, kw_only=True):
    """What to buy to serve a model, why, and what else was possible."""

    kind: Literal["serving"] = "serving"
    deployments: tuple[Deployment, ...] = ()
    kg_co2e_per_year: float | None = None
    """Carbon dioxide and its equivalents of the electricity of what is bought."""
    answers: Answers = msgspec.field(default_factory=Answers)
    alternatives: tuple[Alternative, ...] = ()
    steps: tuple[Step, ...] = ()
    """Where `--steps` was asked for."""
    uncertainty: Uncertainty | None = None
    """Where `--price-band` was asked for."""
    disaggregated: Disaggregated | None = None
    """Two pools for the same question, where latencies are promised."""
    rent_or_buy: RentOrBuy | None = None
    """Both ways side by side, where renting was asked about."""

    def __str__(self) -> str:
        """Lay the plan out as the command line shows it."""
        from planopt.report.terminal import render_plan

        return render_plan(self)

    def _repr_html_(self) -> str:
        """Show the plan in a notebook."""
        from planopt.report.html import plan_table

        return plan_table(self)


def to_json(value: object) -> str:
    """Write any answer as JSON text: plans, lists of them, rows."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
