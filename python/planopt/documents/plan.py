"""The plan of serving or training, ``planopt.plan/2``, and the question it answers."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec
from msgspec import Struct

from planopt.catalog.entries import Pricing
from planopt.documents.base import Document, Drawn
from planopt.documents.certificate import Certificate
from planopt.documents.evaluation import Deployment, Disaggregated, Transfer
from planopt.documents.explanations import (
    Alternative,
    Answers,
    Evidence,
    Infeasibility,
    Recourse,
    RentOrBuy,
    Scenarios,
    Sensitivity,
    Step,
    TrainingAlternative,
    Uncertainty,
    WorthMeasuring,
)
from planopt.documents.facts import Facts
from planopt.documents.fleet_request import FleetRequest
from planopt.documents.parts import (
    Accuracy,
    Assumed,
    Bill,
    BillOfMaterials,
    Hardware,
    NotConsidered,
    Objective,
    Outlasted,
    PlanCost,
    PlanWarning,
    Search,
    Sell,
    Status,
)
from planopt.documents.training import Batches, Renting, TrainingDeployment
from planopt.errors import Infeasible
from planopt.files import read, unreadable
from planopt.options import flag

if TYPE_CHECKING:
    from typing_extensions import Self


class Request(Pricing, frozen=True, kw_only=True):
    """The question as it was understood; `typed` has it as it was written."""

    model: str | None = None
    """Id of the catalog, or path of a config.json."""
    architecture: dict[str, Any] | None = None
    """The model itself, in the shape of a model file, where no catalog has it."""
    objective: Objective = "cheapest"
    target_tokens_per_second: float | None = None
    """Decode speed of each user."""
    throughput_tokens_per_second: float | None = None
    requests_per_second: float | None = None
    ttft_seconds: float | None = None
    percentile: str | None = None
    concurrency: int | None = None
    people: int | None = None
    """Seats, whose requests in their busy hour are `requests_per_second`."""
    sessions: int | None = None
    """Sessions that are alive at the same time; they are the users."""
    turns: int | None = None
    """Turns of a session on average, where the workload does not say."""
    grow: int | None = None
    """Tokens of input that a turn adds on average, where the workload does not say."""
    shared: int | None = None
    """Tokens that all prompts begin with, where the workload does not say."""
    think_seconds: float | None = None
    """From an answer to the next prompt, where the workload does not say."""
    num_prompts: int | None = None
    """Requests of a batch: over its deadline they are `requests_per_second`."""
    load: str | None = None
    """What is judged: ``open``, ``closed``, ``benchmark``, or ``steady`` steps."""
    arrival_cv: float | None = None
    """Standard deviation of the times between requests over their mean."""
    prefix_hit_rate: float | None = None
    """Share of every prompt that is found in a cache."""
    image_tokens: int | None = None
    """Tokens of a prompt that come from images; they are part of `prompt_tokens`."""
    image_patches: float | None = None
    encoder_parameters: float | None = None
    workload: str | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    context_tokens: int | None = None
    """Cached per user when speed is judged."""
    batch: int | None = None
    in_flight: int | None = None
    cp: int | None = None
    """Ranks that may divide contexts, at most, where the assumptions do not say."""
    overlap: str | None = None
    draft: str | None = None
    draft_tokens: int | None = None
    acceptance: float | None = None
    """Chance that a drafted token is accepted."""
    engine_name: str | None = None
    """Engine that serves; none leaves kernels as they were measured."""
    engine: dict[str, bool | int | float | str] = msgspec.field(default_factory=dict)
    """Policy and limits of the engine under a load, where they are not assumed."""
    tokens: float | None = None
    """Tokens of a training run; of a range of batches, as many as the best needs."""
    deadline_seconds: float | None = None
    """Time that a training run may take, or a batch of requests."""
    delivery: dict[str, float] = msgspec.field(default_factory=dict)
    """Seconds until a part that is ordered stands, by id: a deadline counts from the
    order, and less of it is left for a run."""
    seq_len: int | None = None
    """Tokens of a sequence that is trained on."""
    global_batch: int | None = None
    """Sequences of a step of training; the best of a range."""
    critical_batch_tokens: float | None = None
    """What a range of batches is judged by, where it was given."""
    mtp_modules: int | None = None
    """Modules of multi-token prediction that are trained."""
    precision: str | None = None
    gradients: str | None = None
    optimizer: str | None = None
    lora_rank: int | None = None
    lora_modules: str | None = None
    frozen_weights: str | None = None
    currency: dict[str, float] = msgspec.field(default_factory=dict)
    """Dollars of one unit of a currency that money was said in."""
    budget_usd: float | None = None
    budget_usd_per_hour: float | None = None
    """Where anything may be rented: rent, and what is bought written off and run."""
    procurement: str = "buy"
    billing: tuple[str, ...] = ()
    """Terms to rent on: ``on-demand``, ``spot``, ``reserved``."""
    providers: tuple[str, ...] = ()
    """Providers to rent from; empty for all."""
    provider_classes: tuple[str, ...] = ()
    """Whose machines: of a ``hyperscaler``, a ``cloud``, a ``marketplace``."""
    regions: tuple[str, ...] = ()
    scenarios: int | None = None
    """Scenarios in which the plan is compared with its alternatives."""
    price_drift: float | None = None
    """Share by which rents fall in a year: of the break-even with owning."""
    recourse: Literal["buy", "rent"] | None = None
    """How what is missing later is come by, where two stages were asked about."""
    price_band: float | None = None
    """Share by which each price may be off."""
    confidence: str | None = None
    """Chance that promises are kept, as far as the errors of predictions are known;
    none judges by the prediction."""
    evidence: str | None = None
    """What must have been measured: ``measured``, ``family`` or ``any``."""
    cost: dict[str, float] = msgspec.field(default_factory=dict)
    """What is counted otherwise than the assumptions do: ``years``, ``duty``, ``pue``,
    ``electricity_usd_per_kwh``."""
    weights: str | None = None
    kv: str | None = None
    kv_heads: int | None = None
    """Key/value heads in place of the model's own."""
    allow_quantization: tuple[str, ...] = ()
    accelerators: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    stock: dict[str, int] = msgspec.field(default_factory=dict)
    own: dict[str, int] = msgspec.field(default_factory=dict)
    """Accelerators and hosts that are there already, by id: they cost nothing to
    buy."""
    sell: dict[str, float] = msgspec.field(default_factory=dict)
    redundancy: dict[str, int | float] | int | None = msgspec.field(
        default_factory=dict
    )
    """How many of each part (``device``, ``host``, ``switch``, ``rack``) may fail with
    every promise still kept, and the share of what is asked that one of them may take
    (``loss``). Of a run its spare hosts; none where the assumptions
    say."""
    datacenter: bool = False
    max_power_watts: float | None = None
    max_racks: float | None = None
    max_accelerators: int | None = None
    top: int | None = None
    time_limit_seconds: float | None = None
    memory_limit_bytes: float | None = None
    exhaustive: bool = False
    allow_odd: bool = False
    assumptions: str | None = None
    pcie_all_reduce: str | None = None
    """Class of PCIe all-reduce in place of that of the assumptions."""
    catalog: tuple[str, ...] = ()
    """Folders laid over the bundled catalogs."""
    typed: dict[str, str] = msgspec.field(default_factory=dict)
    """Options as the user wrote them, by name."""

    def delivered_seconds(self, accelerator: str, of: Hardware | None = None) -> float:
        """Return how long the last of these parts takes to come; rent is there."""
        if self.procurement == "rent":
            return 0.0
        others = () if of is None else (of.host, of.network)
        parts = (accelerator.partition("@")[0], *others)
        return max(self.delivery.get(part or "", 0.0) for part in parts)

    def time_left(self, accelerator: str, of: Hardware | None = None) -> float | None:
        """Return what a run on these parts has of the deadline, if there is one."""
        if self.deadline_seconds is None:
            return None
        return self.deadline_seconds - self.delivered_seconds(accelerator, of)

    @property
    def hourly(self) -> bool:
        """Whether money is dollars per hour, because something may be rented.

        A run of training ends, and is paid as a sum.
        """
        return self.procurement != "buy" and self.tokens is None


PromiseName = Literal[
    "tpot", "ttft", "throughput", "request_rate", "concurrency", "deadline"
]


class Promise(Struct, frozen=True, kw_only=True):
    """What was asked for, and what is predicted of the very deployment."""

    name: PromiseName
    percentile: str | None = None
    """Of latencies under a load; none of a steady step."""
    asked: float
    predicted: float | None = None
    low: float | None = None
    """The ends of the 80 % interval of the prediction."""
    high: float | None = None
    unit: Literal["s", "tok/s", "1/s", ""] = ""
    held: bool


class Totals(Struct, frozen=True, kw_only=True):
    """All deployments together."""

    accelerators: int | None = None
    """Bought, or in what is rented and in machines."""
    hosts: int | None = None
    replicas: int | None = None
    tokens_per_second: float | None = None
    """Under the load, where one is asked for."""
    requests_per_second: float | None = None
    concurrency: int | None = None
    """Sequences at the same time."""
    power_watts: float | None = None
    rack_units: float | None = None
    """Of what is bought, in racks."""
    co2_kg_per_year: float | None = None


class Provenance(Struct, frozen=True, kw_only=True):
    """What made a plan, of what and when."""

    planopt: str
    """Version."""
    command: str
    date: str
    catalog_digest: str
    """Of the digests of all entries that it carries."""
    assumptions_digest: str | None = None


class PlanDocument(Drawn, Document, frozen=True, kw_only=True):
    """What every plan says, whatever the cluster is for."""

    _what = "plan"

    schema: Literal["planopt.plan/2"] = "planopt.plan/2"
    status: Status
    objective: Objective = "cheapest"
    price_usd: float | None = None
    bound_usd: float | None = None
    """No purchase that meets the question is cheaper: the solver's own bound."""
    bound_usd_per_hour: float | None = None
    """The same of an hour, where anything may be rented."""
    gap: float | None = None
    """Share of the price by which it may be above the bound."""
    why: Literal["edge", "time", "space"] | None = None
    """Why a feasible plan is not proven: no cheaper one can be shown to hold, as rates
    are too near their limits to be told from late ones; or the time ended; or better
    ones were not searched through, such as two pools. Where there is none, ``time``
    says that none was found before it ended."""
    request: Request = msgspec.field(default_factory=Request)
    bill_of_materials: Bill = BillOfMaterials()
    oldest_price_date: str | None = None
    """Of the prices that are a hundredth of the sum or more."""
    cost: PlanCost = msgspec.field(default_factory=PlanCost)
    power_watts: float | None = None
    infeasibility: Infeasibility | None = None
    sensitivity: tuple[Sensitivity, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    search: Search = msgspec.field(default_factory=Search)
    assumed: tuple[Assumed, ...] = ()
    not_considered: tuple[NotConsidered, ...] = ()
    assumptions: str | None = None
    """Name or file of the assumptions used."""
    accuracy: Accuracy | None = None
    promises: tuple[Promise, ...] = ()
    confidence: float | None = None
    """Chance with which each kind of hardware is as fast as it was judged."""
    probability: float | None = None
    """Chance that all promises are kept, as far as steps are as they were measured."""
    price_usd_at_confidence_50: float | None = None
    """Price of the cheapest plan that is held with a confidence of 50 %."""
    price_usd_at_confidence_95: float | None = None
    """The same of 95 %."""
    scenarios: Scenarios | None = None
    """How it does beside its alternatives, where `--scenarios` was asked for."""
    worth_measuring: tuple[WorthMeasuring, ...] = ()
    """What to measure first, where `--scenarios` was asked for: the most saved first;
    only what may change the choice."""
    evidence: Evidence | None = None
    """What its predictions are known by: as good as for the worst of its kinds."""
    totals: Totals = msgspec.field(default_factory=Totals)
    capex_usd: float | None = None
    """What is paid once."""
    sell: Sell | None = None
    """What selling its tokens comes to."""
    opex_usd_per_hour: float | None = None
    """Electricity, hosting, support, staff and rent."""
    tco_usd_per_hour: float | None = None
    """Purchase written off, interest, and what runs."""
    usd_per_million_tokens: float | None = None
    """At the load and the duty that were asked for."""
    provenance: Provenance | None = None
    facts: Facts | None = None
    """What it was made from: `planopt verify` computes from that."""

    def __post_init__(self) -> None:
        """Let the lines of the bill be more than a tuple."""
        bill = BillOfMaterials(self.bill_of_materials)
        msgspec.structs.force_setattr(self, "bill_of_materials", bill)

    def raise_if_infeasible(self) -> Self:
        """Return the plan where there is one.

        Raises
        ------
        Infeasible
            There is none; E201, with what is in the way and the nearest changes.
        """
        if self.status != "infeasible":
            return self
        why = self.infeasibility or Infeasibility()
        limits = ", ".join(f"{each.name} {each.value}" for each in why.binding)
        raise Infeasible.of(
            "E201",
            f"no plan meets {limits or 'the question'}"
            + (f": {why.note}" if why.note else ""),
            help="; or ".join(f"{each.typed}: {each.summary}" for each in why.nearest)
            or None,
        )

    @classmethod
    def _help(cls, text: str | bytes) -> str:
        """Say how to come by a plan; by an old one, with the command to run again."""
        try:
            old = msgspec.json.decode(text, type=_Old)
        except msgspec.MsgspecError:
            return (
                "`planopt solve --out plan.json` writes a plan for serving, "
                "`planopt train` one for training"
            )
        return f"it is of another version; run `{old.command} --out plan.json` again"

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a plan from a file.

        Raises
        ------
        InputError
            There is no such file (E006), or it is no plan (E301).
        """
        return cls.from_json(content_of(path), file=str(path))


def content_of(path: str | Path) -> bytes:
    """Read the file of a plan; E006 where it cannot be."""
    accepted = "a file that `planopt solve --out plan.json` has written"
    with unreadable("the plan", accepted, file=path):
        return read(path)


def command(kind: str, request: Request | FleetRequest | _Asked) -> str:
    """Write the command that asks a question."""
    verb = {"training": "train", "fleet": "fleet fleet.toml"}.get(kind, "solve")
    words = [f"planopt {verb}"]
    for name, said in getattr(request, "typed", {}).items():
        words.append(flag(name))
        words += [] if said == "True" else [shlex.quote(_OF_A_LIST.sub("", said))]
    words += [f"--catalog {shlex.quote(folder)}" for folder in request.catalog]
    if request.assumptions not in (None, "calibrated"):
        words.append(f"--assumptions {shlex.quote(str(request.assumptions))}")
    return " ".join(words)


_OF_A_LIST = re.compile(r"[\[\]()'{} ]")
"""What Python writes around the names of a list."""


class _Asked(Struct):
    typed: dict[str, str] = {}
    catalog: tuple[str, ...] = ()
    assumptions: str | None = None


class _Old(Struct):
    """What a plan of any version says of its question."""

    schema: Literal["planopt.plan/1"]
    kind: str = "serving"
    request: _Asked = msgspec.field(default_factory=_Asked)

    @property
    def command(self) -> str:
        """The command that asked."""
        return command(self.kind, self.request)


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
    """Two pools for the same question, where latencies are promised and one pool is
    bought."""
    failures: tuple[Outlasted, ...] = ()
    """What is left after each failure that `--redundancy` names."""
    transfer: Transfer | None = None
    """How the cache of a prompt gets to the pool that answers, where two are bought."""
    pools_bound_usd: float | None = None
    """No two pools that were looked at are below it, at rates that none exceeds."""
    certificate: Certificate | None = None
    """What `planopt verify --proof` holds every column against, where it is optimal."""
    recourse: Recourse | None = None
    """What to buy now, where `--recourse` was asked for."""
    rent_or_buy: RentOrBuy | None = None
    """Both ways side by side, where renting was asked about."""


class TrainingPlan(PlanDocument, frozen=True, kw_only=True):
    """What to buy to train a model, why, and what else was possible."""

    kind: Literal["training"] = "training"
    deployments: tuple[TrainingDeployment, ...] = ()
    alternatives: tuple[TrainingAlternative, ...] = ()
    heterogeneous: tuple[TrainingAlternative, ...] = ()
    """All accelerators that there are in one run, where several kinds are given with
    their numbers: at the pace of the slowest, and with stages balanced by speed."""
    batches: Batches | None = None
    """Where the global batch was asked for as a range."""
    renting: Renting | None = None
    """Runs on rented instances, where `--procurement both` asks for them."""


class Interrupted(KeyboardInterrupt):
    """The user stopped a search.

    Parameters
    ----------
    plan : Plan or TrainingPlan or FleetPlan, optional
        The best plan until then.
    """

    exit_code: ClassVar[int] = 130

    def __init__(self, plan: PlanDocument | None = None) -> None:
        self.plan = plan
        super().__init__(plan)
