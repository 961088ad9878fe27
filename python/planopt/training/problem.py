"""The question of what to buy for a training run: read from options."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from planopt.acquisition import BUYING, Acquisition, read_way
from planopt.documents.parts import Assumed
from planopt.documents.plan import Request
from planopt.market import Market, read_market
from planopt.serving.served import read_model
from planopt.shared_options import architecture_of

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.options import Asked

__all__ = ["TrainingProblem", "read_training_problem"]

DEFAULT_SEQUENCE = 4096
TOKENS_PER_STEP = 4 * 2**20
"""Tokens of a step where no batch is given: 1,024 sequences of 4,096, as LLaMA-2 was
trained with (arXiv 2307.09288, section 2.2)."""
DEFAULT_MAX_ACCELERATORS = 16_384

PURCHASE_LIMITS = ("host", "network", "max_power", "max_racks", "stock")
"""Limits that make no sense for what is rented."""

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


def read_training_problem(asked: Asked, catalog: Catalog) -> TrainingProblem:
    """Read a question; names are looked up in the catalog."""
    assumed: list[Assumed] = []
    name = read_model(asked, assumed)
    length, batch = _sequences(asked, catalog, name, assumed)
    asked.require("tokens", accepted="a number of tokens, such as `2T`")
    acquisition = read_way(asked, catalog)
    if acquisition.way == "rent":
        asked.out_of_place(
            ("redundancy", *PURCHASE_LIMITS),
            "is about what is bought, and this question rents",
            accepted="--provider, --region, --budget and --max-accelerators",
        )
    kinds = _read_kinds(asked)
    market = read_market(asked, catalog) | ({"stock": kinds} if kinds else {})
    goal = asked.choice("objective", GOALS)
    if asked.given.keys().isdisjoint(("deadline", "budget")):
        asked.problem(
            "E005",
            "by when, or for how much? nothing bounds the cluster",
            option="deadline",
            accepted="--deadline, such as `30d`, or --budget, such as `$20M`",
        )
    most = asked.count("max_accelerators") or DEFAULT_MAX_ACCELERATORS
    if "max_accelerators" not in asked.given:
        assumed.append(Assumed(name="cluster", value=f"{most:,} accelerators at most"))
    problem = TrainingProblem(
        **market,
        model=name,
        tokens=asked.quantity("tokens") or 0.0,
        seq_len=length,
        global_batch=batch,
        deadline_seconds=asked.quantity("deadline"),
        objective=goal or ("cheapest" if "deadline" in asked.given else "throughput"),
        precision=asked.word("precision"),
        gradients=asked.word("gradients"),
        optimizer=asked.word("optimizer"),
        mtp_modules=asked.count("mtp_modules"),
        kv_heads=asked.count("kv_heads"),
        budget_usd=_read_sum(asked),
        max_accelerators=most,
        redundancy=asked.count("redundancy"),
        kinds=kinds,
        acquisition=acquisition,
        assumed=tuple(assumed),
    )
    asked.finish()
    return replace(problem, architecture=architecture_of(catalog, name))


def _read_kinds(asked: Asked) -> dict[str, int]:
    """Read accelerators with their numbers, which are then all that there are."""
    if not any(":" in name for name in asked.names("accelerators")):
        return {}
    kinds = {name: number or 0 for name, number in asked.shares("accelerators")}
    if "stock" in asked.given:
        asked.problem(
            "E004",
            "how many there are is said twice",
            option="stock",
            value=asked.given["stock"],
            accepted="--accelerators ID:N,ID:N or --stock, not both",
        )
    asked.given["accelerators"] = tuple(kinds)
    return kinds


def _read_sum(asked: Asked) -> float | None:
    """Read a sum: of a purchase, or of the whole of a rented run."""
    usd, hourly = asked.money("budget") or (None, False)
    if hourly:
        asked.problem(
            "E004",
            "a run ends: its budget is a sum, not money per time",
            option="budget",
            value=asked.given["budget"],
            accepted="a sum, such as $2M",
        )
    return usd


def _sequences(
    asked: Asked, catalog: Catalog, model: str, assumed: list[Assumed]
) -> tuple[int, int]:
    """Read tokens of a sequence and sequences of a step, or take the usual ones."""
    length = asked.count("seq_len")
    if length is None:
        heads = asked.count("kv_heads")
        known = catalog.model(model, heads)
        length = min(DEFAULT_SEQUENCE, known["max_context"])
        assumed.append(Assumed(name="sequence length", value=f"{length} tokens"))
    batch = asked.count("global_batch")
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
