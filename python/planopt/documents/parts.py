"""What several documents share: layout, hardware, lines of a bill, costs, intervals.

Every figure has its unit in its name. ``None`` says that a figure is not known or not
modelled; it is never 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, structs

if TYPE_CHECKING:
    import pyarrow


class Rejection(Struct, frozen=True, kw_only=True):
    """Why a configuration cannot be used."""

    code: str
    """Short name that rejections are counted by, such as ``memory``."""
    message: str
    """The sentence, with the numbers in it."""
    numbers: dict[str, float | int | str] = {}
    """The same numbers by name, such as ``needed_bytes``."""


class Cost(Struct, frozen=True, kw_only=True):
    """Money: the purchase, and what an hour and a token come to with it."""

    price_usd: float | None = None
    usd_per_hour: float | None = None
    usd_per_million_tokens: float | None = None
    tokens_per_usd: float | None = None


Domain = Literal["device", "host", "switch", "rack"]
"""What fails as a whole."""


class Outlasted(Struct, frozen=True, kw_only=True):
    """What is left of a purchase whichever parts of a kind fail."""

    domain: Domain
    """Which parts: accelerators, hosts with all that is in them, and so on."""
    losses: int
    """Parts that fail at the same time."""
    replicas_left: int
    """The fewest replicas that are left."""


def failing(domain: str, losses: int) -> str:
    """Say what fails: ``any host``, ``any 2 hosts``."""
    plural = {"switch": "switches"}.get(domain, f"{domain}s")
    return f"any {domain}" if losses == 1 else f"any {losses} {plural}"


class CostPart(Struct, frozen=True, kw_only=True):
    """A part of what an hour costs."""

    name: Literal[
        "purchase",
        "financing",
        "electricity",
        "rack_space",
        "colocation",
        "support",
        "staff",
        "rent",
    ]
    usd_per_hour: float


class Move(Struct, frozen=True, kw_only=True):
    """What a million tokens cost where one assumption is another."""

    name: str
    """Of the assumptions of cost, or ``accelerator_price``, ``other_prices`` or
    ``speed``: these as shares of what is predicted or paid."""
    low: float
    high: float
    at_low_usd_per_million_tokens: float
    """Cost of a million tokens at its lower end."""
    at_high_usd_per_million_tokens: float
    """The same at its upper end."""


class AtDuty(Struct, frozen=True, kw_only=True):
    """What a million tokens cost where so many of the hours are busy."""

    duty: float
    """Share of the hours that are busy."""
    usd_per_million_tokens: float


class Sell(Struct, frozen=True, kw_only=True):
    """What tokens are sold for, and what that leaves, at the load and the duty.

    Of a fleet, which is as large as its peaks, in the mean of all its hours.
    """

    revenue_usd_per_hour: float
    """Of answers, and of the prompts that they are to."""
    margin_usd_per_hour: float
    """Revenue less the TCO."""
    break_even_utilisation: float | None = None
    """Share of busy hours, or of a fleet's demand, from which on revenue is above the
    TCO; none where not even all are enough."""
    payback_days: float | None = None
    """After which the purchase is earned, less what runs; none where it never is."""


class PlanCost(Cost, frozen=True, kw_only=True):
    """Money of a plan, with what it consists of and what moves it."""

    parts: tuple[CostPart, ...] = ()
    """Sum to ``usd_per_hour``."""
    left_out: tuple[str, ...] = ()
    """What it costs besides, which is not counted."""
    moves: tuple[Move, ...] = ()
    """With one assumption moved."""
    at_duty: tuple[AtDuty, ...] = ()
    """With other shares of busy hours."""

    @classmethod
    def of(cls, cost: Cost) -> PlanCost:
        """Take what a cost comes to."""
        return cls(**{name: getattr(cost, name) for name in Cost.__struct_fields__})


class Part(Struct, frozen=True, kw_only=True):
    """A part of a time."""

    name: str
    seconds: float


class PeakPart(Struct, frozen=True, kw_only=True):
    """What becomes of a part of what accelerators could compute at their peak."""

    name: Literal["model", "kernels", "bubble", "communication", "host"]
    share: float
    """Of the peak; all sum to 1."""


class Candidate(Struct, frozen=True, kw_only=True):
    """One way to spread a model over accelerators."""

    accelerator: str
    tp: int = 1
    pp: int = 1
    cp: int = 1
    """Ranks that divide prompts and contexts, each with the same weights."""
    dp: int = 1
    """Groups of ``tp`` ranks in a stage, each with sequences of its own."""
    ep: int = 1
    """Parts that the experts are assigned to, of the ``tp * dp`` ranks of a stage."""
    batch: int = 1
    """Sequences per micro-batch."""
    in_flight: int = 1
    """Micro-batches that circulate in the pipeline."""
    overlap: str = "none"
    weights: str | None = None
    """Number format of the weights."""
    kv: str | None = None
    """Number format of the KV cache."""
    draft: str | None = None
    draft_tokens: int | None = None
    """Tokens drafted ahead of a check."""
    acceptance: float | None = None
    """Chance that one of them is accepted."""
    offload: int | None = None
    """Layers of each stage whose weights rest in the host."""
    offload_to: str | None = None
    """``host`` for its memory, or ``disk``."""
    lora_adapters: int | None = None
    """Adapters of low rank that accelerators hold, of which each sequence has one."""
    lora_rank: int | None = None
    image_tokens: int | None = None
    """Tokens of a prompt that come from images."""
    image_patches: float | None = None
    encoder_parameters: float | None = None

    @property
    def accelerators(self) -> int:
        """Accelerators of one replica."""
        return self.tp * self.cp * self.dp * self.pp

    @property
    def layout(self) -> str:
        """Its degrees, such as ``TP4 x PP2``; those that are 1 only if all are."""
        return degrees(TP=self.tp, PP=self.pp, EP=self.ep, DP=self.dp, CP=self.cp)


def degrees(**each: int) -> str:
    """Name degrees, such as ``TP4 x PP2``; those that are 1 only if all are."""
    named = [f"{name}{degree}" for name, degree in each.items() if degree > 1]
    return " x ".join(named) or "one accelerator"


class OwnedParts(Struct, frozen=True, kw_only=True):
    """Parts that are there already: they are not bought."""

    accelerators: int = 0
    hosts: int = 0


class Hardware(Struct, frozen=True, kw_only=True):
    """Where one replica runs."""

    host: str | None = None
    hosts: int = 1
    link: str | None = None
    network: str | None = None
    nics_per_host: int = 0
    switch: str | None = None
    switch_count: int = 0
    switch_port_blocks: int = 0
    rack_units: float = 0.0
    """Of a unit; none of what stands in no rack, or is rented."""
    terms: str | None = None
    """Terms of an instance that is rented: ``on-demand``, ``spot``, ``reserved-12``."""
    goodput: float | None = None
    """Share of the time that an instance which is rented is at work."""
    owned: OwnedParts | None = None
    """What of a unit is there already."""


class BomLine(Struct, frozen=True, kw_only=True):
    """One line of a bill of materials."""

    kind: str
    id: str
    name: str
    quantity: int
    unit_price_usd: float | None = None
    price_usd: float | None = None
    unit_usd_per_hour: float | None = None
    """Rent of one, where it is rented: it has no price then."""
    usd_per_hour: float | None = None
    source: str | None = None
    """Where the unit price comes from."""
    price_date: str | None = None
    """When it was published or read; may lack its day or month."""
    price_status: str | None = None
    """How well it is known: ``stored``, ``derived``, ``from-memory``, ``assumed``, or
    ``given`` by whoever asks."""
    used: bool = False
    """Whether it is bought used."""
    owned: bool = False
    """Whether it is there already: then it costs nothing."""
    unit_price_low_usd: float | None = None
    """What one is seen at."""
    unit_price_high_usd: float | None = None


class BillOfMaterials(tuple[BomLine, ...]):
    """Lines of a bill, which are a table too."""

    __slots__ = ()

    def to_arrow(self) -> pyarrow.Table:
        """Table of pyarrow, a column for each field of a line.

        Units are in the names (dollars); the extra ``planopt[arrow]`` brings pyarrow.
        """
        import pyarrow

        return pyarrow.Table.from_pylist([structs.asdict(line) for line in self])


if TYPE_CHECKING:
    Bill: TypeAlias = BillOfMaterials
else:
    Bill = tuple[BomLine, ...]
    """As documents are read: `PlanDocument` makes a `BillOfMaterials` of it."""

LEVEL = 0.8
"""Share of measurements that an interval is to cover."""


class Interval(Struct, frozen=True, kw_only=True):
    """What a figure is expected to lie in."""

    low: float
    high: float
    level: float = LEVEL
    extrapolated: bool = False
    """No measurement is of this hardware and this kind of model."""


Status = Literal["optimal", "feasible", "infeasible"]


class PlanWarning(Struct, frozen=True, kw_only=True):
    """What to know before acting on an answer."""

    code: str
    message: str
    help: str | None = None


class Restriction(Struct, frozen=True, kw_only=True):
    """Something that a search does not try by itself."""

    what: str
    """What is not tried."""
    loss: float | None = None
    """Share of the price that trying it took off at worst, where that was measured."""


class Space(Struct, frozen=True, kw_only=True):
    """Which space was searched: what is called the cheapest is so within it."""

    text: str
    """What of, where and how, in a buyer's words."""
    accelerators: int
    """Kinds that something could be built of."""
    restrictions: tuple[Restriction, ...] = ()
    """What it leaves out."""


class Search(Struct, frozen=True, kw_only=True):
    """What was looked at."""

    space: Space | None = None
    """What `status` is a claim about."""
    candidates_covered: int = 0
    candidates_evaluated: int = 0
    candidates_pruned: int = 0
    rejected: dict[str, int] = {}
    """Candidates by the reason they were rejected for."""
    simulations: int = 0
    """Loads that were simulated for the proof."""
    requests: int = 0
    """Requests of them."""
    seconds: float | None = None


class Accuracy(Struct, frozen=True, kw_only=True):
    """How far predictions of this kind have been from measurements."""

    statement: str
    median_error: float | None = None
    """Share of the measured value."""
    source: str | None = None


Objective = Literal["cheapest", "throughput", "cost-per-token", "latency"]


class NotConsidered(Struct, frozen=True, kw_only=True):
    """Something that could not be part of any answer."""

    what: str
    count: int
    names: tuple[str, ...]
    why: str
    help: str
    """What would bring them in."""


class Assumed(Struct, frozen=True, kw_only=True):
    """Something the question left open."""

    name: str
    value: str
    why: str | None = None


class Asking(Struct, frozen=True, kw_only=True):
    """What a plan over the Internet is computed again from."""

    asked: dict[str, object]
    """As the core takes it."""
    architecture: dict[str, object] | None
    """The model itself, where it is a file."""
    pricing: dict[str, object]
    """How parts are paid for."""
    cost: dict[str, float]
    """Figures of cost in place of those of the assumptions."""
    assumptions: str
    catalog: tuple[str, ...]
    """Folders laid over the bundled catalog."""
