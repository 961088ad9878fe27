"""What lies beside an answer: evidence, others, limits, sensitivities, prices."""

from typing import Literal

from msgspec import Struct

from planopt.documents.parts import BomLine, Candidate, Hardware, Status
from planopt.documents.training import TrainingCandidate

Grade = Literal["measured", "family", "none"]


class Kind(Struct, frozen=True, kw_only=True):
    """An accelerator with the question's kind of model: measured over predicted."""

    accelerator: str
    """Its id."""
    grade: Grade = "none"
    """Whether the kind itself was measured, another of its family, or neither."""
    of: str | None = None
    """Class of what was measured; of a kind that nobody measured, the slowest."""
    metric: str | None = None
    """What was measured of a step: `tpot`, `decode` or `step_time`."""
    rows: int = 0
    """Measured rows of the class."""
    groups: int | None = None
    """Groups of rows that err alike, where they were counted."""
    data: str | None = None
    """Releases of the engines that they were measured under, and when that was."""
    low: float
    """A tenth of its steps are shorter, as a multiple of what is predicted."""
    high: float
    """A tenth of its steps are longer."""
    slower: float = 1.0
    """Multiple of the predicted steps that it was judged at."""
    held_to: float | None = None
    """Largest multiple at which all promises are still held; none if none depends on
    it."""


class Evidence(Struct, frozen=True, kw_only=True):
    """Of all kinds of a plan, as good as the worst of them."""

    grade: Grade
    """Of the worst kind."""
    groups: int | None = None
    """Of the worst kind."""
    rows: int = 0
    """Of the worst kind."""
    kinds: tuple[Kind, ...] = ()
    """What is known of each accelerator."""


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


class _Other(Struct, frozen=True, kw_only=True):
    """What was not chosen, and why."""

    summary: str
    why_not: str
    price_usd: float | None = None


class Alternative(_Other, frozen=True, kw_only=True):
    """Another build, and why it was not chosen."""

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
    usd_per_hour: float | None = None
    tokens_per_second_per_user: float | None = None
    days: float | None = None
    """Of a training run."""
    note: str | None = None
    """What it keeps or gives up."""

    @property
    def typed(self) -> str:
        """The options as they are typed, and those that are left out."""
        flags = {
            f"--{name.lstrip('-').replace('_', '-')}": value
            for name, value in self.options.items()
        }
        said = [f"{flag} {value}" for flag, value in flags.items() if value]
        left_out = [flag for flag, value in flags.items() if not value]
        return " ".join([*said, *(["without", *left_out] if left_out else [])])


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
    rents_fall_a_year: float | None = None
    """Share by which rents fall in a year until then, as `--price-drift` says."""
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


class Risk(Struct, frozen=True, kw_only=True):
    """What a plan comes to over many scenarios.

    It costs its price there, and what is bought later where it does not hold.
    """

    p_best: float
    """Share of the scenarios in which it is the cheapest that holds."""
    p_holds: float
    """Share of the scenarios in which it keeps its promises."""
    price_usd_p50: float
    """Half of the scenarios cost no more."""
    price_usd_p80: float
    """80 % of them cost no more."""
    price_usd_p95: float
    """95 % of them cost no more."""
    cvar95_usd: float
    """Mean of the worst twentieth."""


class RiskOfPlan(Risk, frozen=True, kw_only=True):
    """The plan, or an alternative, beside the best of each scenario."""

    summary: str
    """As `alternatives` have it, or `the plan`."""
    accelerator: str
    """Of its first deployment."""
    regret_usd_p50: float
    """What it costs more than the least of the scenario: in half of them no more."""
    regret_usd_p80: float
    """The same in 80 %."""
    regret_usd_p95: float
    """The same in 95 %."""


class Scenarios(Risk, frozen=True, kw_only=True):
    """The plan and its alternatives in the same scenarios."""

    drawn: int
    """Scenarios that were drawn."""
    seed: int
    """What they were drawn from."""
    demand_spread: float
    """Standard deviation of the logarithm of demand; assumed."""
    common_price_spread: float
    """The same of what memory and wafers do to prices of accelerators and hosts;
    assumed."""
    own_price_spread: float
    """The same of the price of each part; assumed."""
    later_price_ratio: float
    """Price of what is bought later over today's; assumed."""
    p_none_holds: float
    """Share of the scenarios in which none of them holds."""
    regret: tuple[RiskOfPlan, ...]
    """The plan first, then its alternatives within all limits."""


class Stage(Struct, frozen=True, kw_only=True):
    """What is bought now, and what it comes to with what is missing later."""

    demand: float
    """Demand that it is bought for, over the one that was asked for."""
    summary: str
    price_usd: float
    """At today's prices."""
    expected_usd: float
    """Mean over the scenarios, with what is bought or rented later."""
    cvar95_usd: float
    """The same of the worst twentieth."""
    p_later: float
    """Share of the scenarios in which something is missing."""


class Recourse(Struct, frozen=True, kw_only=True):
    """Buying for the demand now, or for more of it, where the rest can follow."""

    way: Literal["buy", "rent"]
    """How what is missing is come by."""
    rent_usd: float | None = None
    """Rent of all that was asked for over the years of the assumptions, less what
    running it oneself would cost."""
    best: float
    """Demand of the stage of the least expected cost."""
    stages: tuple[Stage, ...]
    """The plan first."""


class WorthMeasuring(Struct, frozen=True, kw_only=True):
    """What it is worth to measure a kind of hardware before anything is bought.

    At today's prices and the demand that was asked for; what is measured is how much
    longer its steps take than predicted, and nothing else is learnt.
    """

    accelerator: str
    configuration: str
    """What to measure, as the plan or an alternative has it."""
    accelerators: int
    """How many it takes."""
    changes_choice: float
    """Share of the results after which another plan than `without` has the least
    expected cost."""
    saves_usd: float
    """Least expected cost without a result, less the mean of the least with each."""
    without: str
    """What has the least expected cost without a result: `the plan`, or an alternative
    that is dearer and surer."""
    instead: str
    """What has it most often where the choice changes."""
    offer: str | None = None
    """The cheapest offer on demand that is large enough."""
    rent_usd: float | None = None
    """Its price for the twenty minutes that a measurement takes."""


class TrainingAlternative(_Other, frozen=True, kw_only=True):
    """Another cluster, and why it was not chosen."""

    days: float | None = None
    mfu: float | None = None
    goodput: float | None = None
    run_usd: float | None = None
    """Hours of the run at the hourly cost of the cluster."""
    accelerators: int | None = None
    power_watts: float | None = None
    candidate: TrainingCandidate | None = None
    hardware: Hardware | None = None
    bill_of_materials: tuple[BomLine, ...] = ()
