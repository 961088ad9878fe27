"""The question of what to buy for a training run, as the core has read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from planopt.acquisition import BUYING, Acquisition
from planopt.documents.plan import Request
from planopt.market import Market

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog

TrainingGoal = Literal["cheapest", "throughput"]


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
    max_accelerators: int
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
