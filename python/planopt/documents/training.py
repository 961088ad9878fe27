"""One way of training a model: its layout, its hardware, and what it does."""

from typing import Literal

import msgspec
from msgspec import Struct

from planopt.documents.base import Document, Drawn
from planopt.documents.derivation import Derivation
from planopt.documents.parts import (
    Assumed,
    BomLine,
    Cost,
    Hardware,
    Interval,
    PeakPart,
    PlanWarning,
    Rejection,
    degrees,
)


class TrainingMemory(Struct, frozen=True, kw_only=True):
    """Memory of the fullest accelerator."""

    weights_bytes: float
    gradients_bytes: float
    optimizer_bytes: float
    """State of the optimizer, with the master weights."""
    activations_bytes: float
    overhead_bytes: float
    total_bytes: float
    capacity_bytes: float
    activations_per_layer_bytes: float | None = None
    """What one micro-batch keeps of one layer."""
    micro_batches_in_flight: float | None = None
    """Micro-batches whose activations the stage holds at once."""
    host_bytes: float | None = None
    """Memory of the host that one accelerator's offload takes."""


class Step(Struct, frozen=True, kw_only=True):
    """Parts of ``step_seconds``, on the slowest stage."""

    forward_seconds: float | None = None
    backward_seconds: float | None = None
    recompute_seconds: float | None = None
    tensor_seconds: float | None = None
    """Tensor-parallel messages that nothing hides; so for those that follow."""
    context_seconds: float | None = None
    expert_seconds: float | None = None
    pipeline_seconds: float | None = None
    data_seconds: float | None = None
    offload_seconds: float | None = None
    contention_seconds: float | None = None
    """What hidden messages slow arithmetic down by."""
    host_seconds: float | None = None
    """Waiting for the host: for launches slower than kernels, and once a step."""
    bubble_seconds: float | None = None
    """Waiting of a stage for the others."""
    optimizer_seconds: float | None = None
    straggler_seconds: float | None = None
    """Waiting for the slowest host."""


class Failures(Struct, frozen=True, kw_only=True):
    """Failures, and what they cost."""

    interval_seconds: float | None = None
    """Mean time between failures of the whole cluster."""
    expected: float | None = None
    """Failures of the run to be expected."""
    checkpoint_bytes: float | None = None
    checkpoint_seconds: float | None = None
    checkpoint_interval_seconds: float | None = None
    """Work between two checkpoints."""
    restart_seconds: float | None = None
    """Time from a failure until work goes on."""
    hosts_away: float | None = None
    """Hosts that are mended at any time, in the mean."""
    spare_hosts: int | None = None
    """Hosts that wait to take their place; they are bought too."""
    availability: float | None = None
    """Share of the time in which spares make up for all that are away."""


class Run(Struct, frozen=True, kw_only=True):
    """The whole run."""

    tokens: float | None = None
    steps: float | None = None
    accelerator_hours: float | None = None
    """Of all accelerators together, failures included."""
    productive_accelerator_hours: float | None = None
    """The same without failures and checkpoints."""
    energy_kwh: float | None = None
    kg_co2e: float | None = None
    usd: float | None = None
    """Hours of the run at the hourly cost of the cluster."""


class TrainingEvaluation(Struct, frozen=True, kw_only=True):
    """What a configuration does, whether or not it fits."""

    feasible: bool
    rejections: tuple[Rejection, ...] = ()
    memory: TrainingMemory | None = None
    step_seconds: float | None = None
    compute_seconds: float | None = None
    """Of a step: arithmetic and memory traffic, with recomputation and optimizer."""
    bubble_seconds: float | None = None
    """Of a step: waiting for other stages, and for the slowest host."""
    exposed_communication_seconds: float | None = None
    """Of a step: messages that nothing hides, and what hidden ones slow down."""
    host_seconds: float | None = None
    """Of a step: waiting for the host. These four sum to it."""
    step: Step = msgspec.field(default_factory=Step)
    """The same in finer parts."""
    tokens_per_second: float | None = None
    """Of the cluster, while it works."""
    tokens_per_second_per_accelerator: float | None = None
    model_tflops_per_accelerator: float | None = None
    mfu: float | None = None
    """Model FLOPs utilisation."""
    hfu: float | None = None
    """The same with recomputed FLOPs."""
    model_flops: str | None = None
    """Which arithmetic counts as the model's: ``full``, ``causal`` or ``6nd``."""
    goodput: float | None = None
    """Share of the time that goes into steps which count."""
    failures: Failures = msgspec.field(default_factory=Failures)
    days: float | None = None
    """Of the run, failures included."""
    run: Run = msgspec.field(default_factory=Run)
    intervals: dict[str, Interval] = msgspec.field(default_factory=dict)
    """By the name of a figure: ``step_seconds``, ``tokens_per_second``,
    ``memory_bytes``, ``days``."""
    peak_parts: tuple[PeakPart, ...] = ()
    """In a plan, what becomes of the peak."""
    cost: Cost = msgspec.field(default_factory=Cost)
    power_watts: float | None = None
    accelerators: int | None = None
    """Accelerators at work: ``tp * pp * dp * cp``."""
    hosts: int | None = None


class Share(Struct, frozen=True, kw_only=True):
    """Accelerators of one kind, and what they do of the run."""

    accelerator: str
    accelerators: int
    host: str
    hosts: int
    step_seconds: float | None = None
    """A step of the whole run, were all accelerators of this kind."""
    layers: tuple[int, ...] = ()
    """Layers of each of its stages, where stages are balanced."""


class Mixed(Struct, frozen=True, kw_only=True):
    """How a run is shared among several kinds of accelerator."""

    stages: Literal["even", "balanced"]
    """Whether every step goes at the pace of the slowest kind, or stages have layers by
    the speed of what they run on: the better way, which is the one evaluated."""
    shares: tuple[Share, ...]
    other: TrainingEvaluation
    """What the other way comes to."""


class RentedRun(Struct, frozen=True, kw_only=True):
    """A run on rented instances: the smallest number of them that finishes in time."""

    instance: str
    """Provider, instance and region."""
    instances: int
    accelerator: str
    accelerators: int
    tp: int = 1
    pp: int = 1
    dp: int = 1
    cp: int = 1
    ep: int = 1
    shard: str = "none"
    days: float
    usd_per_hour: float
    """Of all instances together, on demand."""
    run_usd: float
    """Hours of the run at that price."""


class Renting(Struct, frozen=True, kw_only=True):
    """Rented runs beside a purchase."""

    runs: tuple[RentedRun, ...] = ()
    """The cheapest of each accelerator, the cheapest first."""
    break_even_runs: float | None = None
    """Such runs after which owning the cluster that is bought has cost less; none if
    it never does."""


class Batch(Struct, frozen=True, kw_only=True):
    """A batch of a range, with the best cluster for it."""

    global_batch: int
    """Sequences of a step."""
    tokens: float
    """To the loss of what was asked for."""
    price_usd: float | None = None
    """None where no cluster keeps the limits, or none of twice the best price."""
    days: float | None = None


class Batches(Struct, frozen=True, kw_only=True):
    """Batches that were tried for a range, and what larger ones cost in tokens."""

    critical_batch_tokens: float
    """Tokens of a step at which tokens to the same loss are twice those of small
    steps: they grow by 1 + batch / critical batch."""
    critical_batch_source: str
    """Where that is from."""
    stated_batch: int
    """Sequences of a step that the tokens asked for are of."""
    stated_tokens: float
    """Tokens as they were asked for."""
    tried: tuple[Batch, ...]
    """The least first."""


class TrainingCandidate(Struct, frozen=True, kw_only=True):
    """One way to spread a training run over accelerators."""

    accelerator: str
    tp: int = 1
    sequence_parallel: bool = False
    pp: int = 1
    vpp: int = 1
    """Chunks of layers of one stage."""
    schedule: str | None = None
    dp: int = 1
    cp: int = 1
    context_parallel: str | None = None
    """How the tokens of a sequence on several ranks meet: ``ring``, ``all-to-all``."""
    ep: int = 1
    expert_data_parallel: int | None = None
    """Data-parallel degree of the experts: ``dp * cp / ep``."""
    batch: int = 1
    """Sequences per micro-batch."""
    micro_batches: int | None = None
    """Micro-batches of a step on each pipeline."""
    global_batch: int | None = None
    """Sequences of a step."""
    seq_len: int | None = None
    """Tokens of a sequence."""
    mtp_modules: int = 0
    """Modules of multi-token prediction."""
    recompute: str = "none"
    shard: str = "none"
    shard_group: int | None = None
    """Ranks that divide it among each other, groups being replicas; none for all."""
    precision: str = "bf16"
    optimizer: str = "adam"
    offload: tuple[str, ...] = ()
    lora_rank: int | None = None
    lora_modules: str | None = None
    frozen_weights: str | None = None
    expert_tp: int | None = None
    framework: str | None = None
    loss_chunks: int = 1
    master_weights: bool = True

    @property
    def accelerators(self) -> int:
        """Accelerators of the run."""
        return self.tp * self.pp * self.dp * self.cp

    @property
    def layout(self) -> str:
        """Its degrees, such as ``TP8 x PP4``; those that are 1 only if all are."""
        return degrees(TP=self.tp, CP=self.cp, PP=self.pp, DP=self.dp, EP=self.ep)


class TrainingDeployment(Struct, frozen=True, kw_only=True):
    """One run on one cluster."""

    model: str
    candidate: TrainingCandidate
    hardware: Hardware
    evaluation: TrainingEvaluation
    units: int = 1
    """Clusters bought."""
    replicas: int = 1
    """Copies of the run: one."""
    bill_of_materials: tuple[BomLine, ...] = ()


class TrainingDocument(TrainingEvaluation, Drawn, Document, frozen=True, kw_only=True):
    """One evaluation, with what was evaluated: the answer of ``evaluate training``."""

    _what = "evaluation"

    schema: Literal["planopt.evaluation/2"] = "planopt.evaluation/2"
    kind: Literal["training"] = "training"
    model: str
    candidate: TrainingCandidate
    hardware: Hardware
    bill_of_materials: tuple[BomLine, ...] = ()
    mixed: Mixed | None = None
    """How the run is shared, where accelerators are of several kinds."""
    assumed: tuple[Assumed, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    assumptions: str | None = None
    derivation: tuple[Derivation, ...] = ()
    """How each figure was worked out, where `explain` asks for it."""
