"""The question of what to buy for a training run: read from options."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from planopt.acquisition import BUYING, Acquisition, read_way
from planopt.catalog.open import DEFAULT_ASSUMPTIONS
from planopt.documents.parts import Assumed
from planopt.documents.plan import Request
from planopt.market import Market, read_market
from planopt.options import OptionReader
from planopt.serving.question_types import DEFAULT_MODEL
from planopt.shared_options import architecture_of
from planopt.training.evaluate import read_mtp_modules, read_tokens
from planopt.training.mixed import read_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from planopt.catalog.open import Catalog
    from planopt.market import MarketOptions
    from planopt.options import TextOrNumber

__all__ = ["LARGEST_CLUSTER", "TrainingProblem", "read_training_problem"]

DEFAULT_SEQUENCE = 4096
TOKENS_PER_STEP = 4 * 2**20
"""Tokens of a step where no batch is given: 1,024 sequences of 4,096, as LLaMA-2 was
trained with (arXiv 2307.09288, section 2.2)."""
DEFAULT_MAX_ACCELERATORS = 16_384

PURCHASE_LIMITS = ("host", "network", "max_power", "max_racks", "stock")
"""Limits that make no sense for what is rented."""

LARGEST_CLUSTER = 2**20
"""Accelerators that are searched for, at most: beyond any cluster ever built."""

TrainingGoal = Literal["cheapest", "throughput"]
GOALS: tuple[TrainingGoal, ...] = ("cheapest", "throughput")


@dataclass(frozen=True, kw_only=True)
class TrainingProblem(Market):
    """A question of what to buy for a training run."""

    model: str
    tokens: float
    seq_len: int
    global_batch: int
    """Sequences of a step."""
    deadline_seconds: float | None = None
    objective: TrainingGoal = "cheapest"
    precision: str | None = None
    gradients: str | None = None
    optimizer: str | None = None
    mtp_modules: int | None = None
    """Modules of multi-token prediction; as published where it is left open."""
    kv_heads: int | None = None
    architecture: dict[str, Any] | None = None
    """The model itself, where it is a file that a plan must stand without."""
    max_accelerators: int = DEFAULT_MAX_ACCELERATORS
    redundancy: int | None = None
    """Spare hosts; as many as the assumptions ask for where it is left open."""
    kinds: dict[str, int] = field(default_factory=dict)
    """Accelerators that there are, by id, where each is given with its number: they may
    share a run."""
    acquisition: Acquisition = BUYING
    """Whether it is bought, rented for the run, or bought with rented runs beside."""

    def run(self) -> dict[str, Any]:
        """Name what is trained, and how, by options of the core: without hardware."""
        run = {
            "model": self.model,
            "tokens": self.tokens,
            "seq_len": self.seq_len,
            "global_batch": self.global_batch,
            "precision": self.precision,
            "gradients": self.gradients,
            "optimizer": self.optimizer,
            "mtp_modules": self.mtp_modules,
            "redundancy": self.redundancy,
            "kv_heads": self.kv_heads,
        }
        return {name: value for name, value in run.items() if value is not None}

    def native(self, catalog: Catalog) -> dict[str, Any]:
        """Name what is searched for by options of the core.

        A budget limits the search only where the fastest run is sought; otherwise the
        cheapest cluster is found first, and the purchase sees whether it is within.
        """
        fastest = self.objective == "throughput"
        return {
            **self.run(),
            "aim": "fastest" if fastest else "cheapest",
            "deadline_seconds": self.deadline_seconds,
            "max_accelerators": self.max_accelerators,
            "price_usd": self.budget_usd if fastest else None,
            "power_watts": self.max_power_watts,
            "rack_units": self.rack_units(catalog),
            "stock": self.stock,
            **self.hardware(),
            "rent": self.acquisition.rent_request() if self.rented else None,
        }

    @property
    def rented(self) -> bool:
        """Whether the run is on rented instances: its price is then that of the run."""
        return self.acquisition.way == "rent"

    def request(self) -> Request:
        """Put the question as a plan records it."""
        return Request(
            **self.recorded(),
            model=self.model,
            architecture=self.architecture,
            kv_heads=self.kv_heads,
            objective=self.objective,
            tokens=self.tokens,
            deadline_seconds=self.deadline_seconds,
            seq_len=self.seq_len,
            global_batch=self.global_batch,
            precision=self.precision,
            gradients=self.gradients,
            optimizer=self.optimizer,
            mtp_modules=self.mtp_modules,
            acquire=self.acquisition.way,
            terms=self.acquisition.terms if self.acquisition.rents else (),
            providers=self.acquisition.providers,
            regions=self.acquisition.regions,
            max_accelerators=self.max_accelerators,
            redundancy=self.redundancy,
        )


def read_training_problem(
    catalog: Catalog,
    *,
    model: str | None = None,
    kv_heads: TextOrNumber | None = None,
    tokens: TextOrNumber | None = None,
    deadline: TextOrNumber | None = None,
    seq_len: TextOrNumber | None = None,
    global_batch: TextOrNumber | None = None,
    precision: str | None = None,
    gradients: str | None = None,
    optimizer: str | None = None,
    mtp_modules: TextOrNumber | None = None,
    budget: TextOrNumber | None = None,
    objective: str | None = None,
    acquire: str | None = None,
    provider: str | Sequence[str] | None = None,
    region: str | Sequence[str] | None = None,
    max_accelerators: TextOrNumber | None = None,
    redundancy: TextOrNumber | None = None,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    typed: dict[str, str] | None = None,
    **market: Unpack[MarketOptions],
) -> TrainingProblem:
    """Read a question."""
    reader = OptionReader()
    assumed: list[Assumed] = []
    name = DEFAULT_MODEL if model is None else model
    if model is None:
        assumed.append(Assumed(name="model", value=DEFAULT_MODEL))
    length, batch = _sequences(
        reader, catalog, name, seq_len, global_batch, kv_heads, assumed
    )
    all_tokens = read_tokens(reader, tokens)
    if tokens is None:
        reader.problem(
            "E005",
            "how many tokens is the model trained on?",
            option="tokens",
            accepted="a number of tokens, such as `2T`",
        )
    seconds = reader.quantity("deadline", deadline, "seconds")
    acquisition = read_way(
        reader, catalog, acquire=acquire, provider=provider, region=region
    )
    if acquisition.way == "rent":
        limits = {option: market.get(option) for option in PURCHASE_LIMITS}
        reader.out_of_place(
            {"redundancy": redundancy, **limits},
            "is about what is bought, and this question rents",
            accepted="--provider, --region, --budget and --max-accelerators",
        )
    kinds = _read_kinds(reader, market)
    money = _read_sum(reader, budget)
    goal = reader.choice("objective", objective, GOALS)
    if deadline is None and budget is None:
        reader.problem(
            "E005",
            "by when, or for how much? nothing bounds the cluster",
            option="deadline",
            accepted="--deadline, such as `30d`, or --budget, such as `$20M`",
        )
    most = reader.count("max_accelerators", max_accelerators)
    if most is not None and most > LARGEST_CLUSTER:
        reader.problem(
            "E003",
            f"--max-accelerators must be at most {LARGEST_CLUSTER}",
            option="max_accelerators",
            value=max_accelerators,
            accepted=f"1, 2, 3 ... {LARGEST_CLUSTER}",
        )
    if most is None:
        number = f"{DEFAULT_MAX_ACCELERATORS:,} accelerators at most"
        assumed.append(Assumed(name="cluster", value=number))
    problem = TrainingProblem(
        **read_market(reader, catalog, market),
        model=name,
        tokens=all_tokens or 0.0,
        seq_len=length,
        global_batch=batch,
        deadline_seconds=seconds,
        objective=goal or ("throughput" if deadline is None else "cheapest"),
        precision=precision,
        gradients=gradients,
        optimizer=optimizer,
        mtp_modules=read_mtp_modules(reader, mtp_modules),
        kv_heads=reader.count("kv_heads", kv_heads),
        budget_usd=money,
        max_accelerators=most or DEFAULT_MAX_ACCELERATORS,
        redundancy=reader.count("redundancy", redundancy, minimum=0),
        kinds=kinds,
        acquisition=acquisition,
        assumptions=assumptions,
        assumed=tuple(assumed),
        typed=typed or {},
    )
    reader.finish()
    return replace(problem, architecture=architecture_of(catalog, name))


def _read_kinds(reader: OptionReader, market: MarketOptions) -> dict[str, int]:
    """Read accelerators with their numbers, which are then all that there are."""
    named = reader.names("accelerators", market.get("accelerators"))
    if not any(":" in name for name in named):
        return {}
    shares = read_shares(reader, named)
    kinds: dict[str, int] = {}
    for share in shares:
        kinds[share["accelerator"]] = share["accelerators"] or 0
    if market.get("stock") is not None:
        reader.problem(
            "E004",
            "how many there are is said twice",
            option="stock",
            value=str(market["stock"]),
            accepted="--accelerators ID:N,ID:N or --stock, not both",
        )
    market["accelerators"], market["stock"] = tuple(kinds), kinds
    return kinds


def _read_sum(reader: OptionReader, budget: TextOrNumber | None) -> float | None:
    """Read a sum: of a purchase, or of the whole of a rented run."""
    if budget is None:
        return None
    usd, per_hour = reader.money("budget", budget)
    if per_hour:
        reader.problem(
            "E004",
            "a run ends: its budget is a sum, not money per time",
            option="budget",
            value=budget,
            accepted="a sum, such as $2M",
        )
    return usd


def _sequences(
    reader: OptionReader,
    catalog: Catalog,
    model: str,
    seq_len: TextOrNumber | None,
    global_batch: TextOrNumber | None,
    kv_heads: TextOrNumber | None,
    assumed: list[Assumed],
) -> tuple[int, int]:
    """Read tokens of a sequence and sequences of a step, or take the usual ones."""
    length = reader.count("seq_len", seq_len)
    if length is None:
        heads = reader.count("kv_heads", kv_heads)
        known = catalog.model(model, heads)
        length = min(DEFAULT_SEQUENCE, known["max_context"])
        assumed.append(Assumed(name="sequence length", value=f"{length} tokens"))
    batch = reader.count("global_batch", global_batch)
    if batch is None:
        batch = max(TOKENS_PER_STEP // length, 1)
        assumed.append(
            Assumed(
                name="global batch",
                value=f"{batch} sequences, {batch * length / 1e6:.1f}M tokens",
                why="say --global-batch N",
            )
        )
    return length, batch
