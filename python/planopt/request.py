"""The question of a plan as it was understood, and what it left open.

Every figure has its unit in its name.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

__all__ = ["Assumed", "Objective", "Request"]

Objective = Literal["cheapest", "throughput", "cost-per-token", "latency"]


class Assumed(Struct, frozen=True, kw_only=True):
    """Something the question left open."""

    name: str
    value: str
    why: str | None = None


class Request(Struct, frozen=True, kw_only=True):
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
    users: int | None = None
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
    """What drafts tokens that the model checks: ``mtp``, or a smaller model."""
    draft_tokens: int | None = None
    acceptance: float | None = None
    """Chance that a drafted token is accepted."""
    engine_name: str | None = None
    """Engine that serves; none leaves kernels as they were measured."""
    engine: dict[str, int | str] = {}
    """Policy and limits of the engine under a load, where they are not assumed."""
    tokens: float | None = None
    """Tokens of a training run."""
    deadline_seconds: float | None = None
    """Time that a training run may take."""
    seq_len: int | None = None
    """Tokens of a sequence that is trained on."""
    global_batch: int | None = None
    """Sequences of a step of training."""
    mtp_modules: int | None = None
    """Modules of multi-token prediction that are trained."""
    precision: str | None = None
    gradients: str | None = None
    optimizer: str | None = None
    budget_usd: float | None = None
    budget_usd_per_hour: float | None = None
    """Where anything may be rented: rent, and what is bought written off and run."""
    acquire: str = "buy"
    terms: tuple[str, ...] = ()
    """Terms to rent on: ``on-demand``, ``spot``, ``reserved``."""
    providers: tuple[str, ...] = ()
    """Providers to rent from; empty for all."""
    regions: tuple[str, ...] = ()
    price_band: float | None = None
    """Share by which each price may be off."""
    robust: bool = False
    """Whether targets are met at the pessimistic end of the model's error."""
    cost: dict[str, float] = {}
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
    stock: dict[str, int] = {}
    condition: str = "new"
    """What accelerators are bought as: ``new``, ``used`` or ``any``."""
    prices: dict[str, float] = {}
    """Dollars in place of prices of the catalog, by part; of an hour, by offer."""
    redundancy: int | None = 0
    """Replicas to spare, or hosts of a run; none where the assumptions say."""
    datacenter: bool = False
    max_power_watts: float | None = None
    max_racks: float | None = None
    max_accelerators: int | None = None
    top: int | None = None
    time_limit_seconds: float | None = None
    memory_limit_bytes: float | None = None
    exhaustive: bool = False
    assumptions: str | None = None
    pcie_all_reduce: str | None = None
    """Class of PCIe all-reduce in place of that of the assumptions."""
    catalog: tuple[str, ...] = ()
    """Folders laid over the bundled catalogs."""
    typed: dict[str, str] = {}
    """Options as the user wrote them, by name."""

    @property
    def hourly(self) -> bool:
        """Whether money is dollars per hour, because something may be rented.

        A run of training ends, and is paid as a sum.
        """
        return self.acquire != "buy" and self.tokens is None
