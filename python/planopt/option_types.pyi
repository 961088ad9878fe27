# Keywords of the API, by the functions that take them: made by `make options` of
# rust/planopt-core/src/options/options.toml.

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TypedDict

from typing_extensions import Required

class OfAll(TypedDict, total=False):
    currency: Mapping[str, float | str] | Sequence[str] | str | None
    prices: Mapping[str, float | str] | Sequence[str] | str | None
    discount: Mapping[str, float | str] | Sequence[str] | str | None
    vat: float | str | None
    assumptions: str | None
    catalog: str | PathLike[str] | Sequence[str]

class OfModels(TypedDict, total=False):
    model: str | None
    online: bool
    kv_heads: float | str | None

class OfServing(TypedDict, total=False):
    draft: str | None
    draft_tokens: float | str | None
    acceptance: float | str | None
    encoder_parameters: float | str | None
    request_rate: float | str | None
    concurrency: float | str | None
    people: float | str | None
    load: str | None
    arrival_cv: float | str | None
    prefix_hit_rate: float | str | None
    image_tokens: float | str | None
    images: float | str | None
    image_size: str | None
    patches_per_token: float | str | None
    batch: float | str | None
    in_flight: float | str | None
    overlap: str | None
    policy: str | None
    token_budget: float | str | None
    max_sequences: float | str | None
    pcie_all_reduce: str | None

class OfUnits(TypedDict, total=False):
    allow_quantization: str | Sequence[str] | None
    ttft: float | str | None
    percentile: str | None
    throughput: float | str | None
    billing: str | Sequence[str] | None
    regained: float | str | None
    carbon: float | str | None
    exhaustive: bool

class OfTraining(TypedDict, total=False):
    seq_len: float | str | None
    global_batch: float | str | None
    precision: str | None
    gradients: str | None
    optimizer: str | None
    mtp_modules: float | str | None

class OfPurchases(TypedDict, total=False):
    max_power: float | str | None
    max_racks: float | str | None
    stock: Mapping[str, float | str] | Sequence[str] | str | None
    own: Mapping[str, float | str] | Sequence[str] | str | None
    budget: float | str | None
    objective: str | None
    top: float | str | None

class OfChoices(TypedDict, total=False):
    exclude: str | Sequence[str] | None
    vendor: str | Sequence[str] | None
    host: str | Sequence[str] | None
    network: str | Sequence[str] | None
    datacenter: bool
    max_accelerators: float | str | None
    procurement: str | None
    provider: str | Sequence[str] | None
    provider_class: str | Sequence[str] | None
    region: str | Sequence[str] | None
    wacc: float | str | None
    staff: float | str | None
    cost_line: Mapping[str, float | str] | Sequence[str] | str | None
    allow_odd: bool

class OfCandidates(TypedDict, total=False):
    accelerators: str | Sequence[str] | None

class OfConfigurations(TypedDict, total=False):
    accelerator: str | None
    host: str | None
    link: str | None
    network: str | None
    nics_per_host: float | str | None
    tp: float | str | None
    pp: float | str | None
    ep: float | str | None
    explain: bool

class SolveOptions(
    OfAll,
    OfModels,
    OfServing,
    OfUnits,
    OfPurchases,
    OfChoices,
    OfCandidates,
    total=False,
):
    weights: str | None
    kv: str | None
    workload: str | None
    isl: float | str | None
    osl: float | str | None
    max_model_len: float | str | None
    sessions: float | str | None
    turns: float | str | None
    grow: float | str | None
    shared: float | str | None
    think: float | str | None
    num_prompts: float | str | None
    traffic: str | None
    target: float | str | None
    tpot: float | str | None
    deadline: float | str | None
    confidence: str | None
    evidence: str | None
    redundancy: float | Mapping[str, float | str] | Sequence[str] | str | None
    neighbours: str | Sequence[str] | None
    repeat: float | str | None
    lifetime: float | str | None
    away: float | str | None
    marginal: bool
    cp: float | str | None
    engine: str | None
    host_cache: float | str | None
    extra_memory: float | str | None
    cache_disks: float | str | None
    shared_store: bool
    kv_connector: str | None
    router: str | None
    router_load_weight: float | str | None
    condition: str | None
    sell: Mapping[str, float | str] | Sequence[str] | str | None
    years: float | str | None
    duty: float | str | None
    price_drift: float | str | None
    electricity: float | str | None
    pue: float | str | None
    price_band: float | str | None
    scenarios: float | str | None
    recourse: str | None
    steps: bool
    time_limit: float | str | None
    memory_limit: float | str | None

class TrainOptions(
    OfAll, OfModels, OfTraining, OfPurchases, OfChoices, OfCandidates, total=False
):
    lora_rank: float | str | None
    lora_modules: str | None
    frozen_weights: str | None
    deadline: float | str | None
    delivery: Mapping[str, float | str] | Sequence[str] | str | None
    confidence: str | None
    evidence: str | None
    redundancy: float | str | None
    tokens: float | str | None
    critical_batch: float | str | None
    islands: str | Sequence[str] | None
    inner_steps: float | str | None
    lifetime: float | str | None
    away: float | str | None
    marginal: bool
    condition: str | None
    years: float | str | None
    scenarios: float | str | None
    time_limit: float | str | None

class FleetOptions(OfAll, total=False):
    confidence: str | None
    condition: str | None
    sell: Mapping[str, float | str] | Sequence[str] | str | None
    time_limit: float | str | None
    workers: float | str | None
    compare: bool

class ServingOptions(OfAll, OfModels, OfServing, OfConfigurations, total=False):
    weights: str | None
    kv: str | None
    lora_adapters: float | str | None
    lora_rank: float | str | None
    workload: str | None
    isl: float | str | None
    osl: float | str | None
    max_model_len: float | str | None
    sessions: float | str | None
    turns: float | str | None
    grow: float | str | None
    shared: float | str | None
    think: float | str | None
    traffic: str | None
    hosts: float | str | None
    prefill_accelerator: str | None
    prefill_host: str | None
    cp: float | str | None
    dp_attention: float | str | None
    replicas: float | str | None
    offload: float | str | None
    offload_to: str | None
    prefill_replicas: float | str | None
    prefill_tp: float | str | None
    prefill_pp: float | str | None
    prefill_cp: float | str | None
    prefill_dp: float | str | None
    prefill_ep: float | str | None
    engine: str | None
    host_cache: float | str | None
    extra_memory: float | str | None
    cache_disks: float | str | None
    shared_store: bool
    kv_connector: str | None
    router: str | None
    router_load_weight: float | str | None
    software_latency: float | str | None
    condition: str | None

class TrainingOptions(
    OfAll, OfModels, OfTraining, OfCandidates, OfConfigurations, total=False
):
    lora_rank: float | str | None
    lora_modules: str | None
    frozen_weights: str | None
    redundancy: float | str | None
    tokens: float | str | None
    framework: str | None
    recompute: str | None
    master_weights: bool | str
    flash_attention: bool | str
    causal: bool | str
    dropout: bool
    loss_chunks: float | str | None
    model_flops: str | None
    nominal_parameters: float | str | None
    mfu: float | str | None
    accelerators_per_host: float | str | None
    cp: float | str | None
    dp: float | str | None
    offload: str | Sequence[str] | None
    micro_batch: float | str | None
    vpp: float | str | None
    schedule: str | None
    sequence_parallel: bool
    context_parallel: str | None
    expert_tp: float | str | None
    zero: int | str | None
    shard_group: float | str | None
    condition: str | None

class CompareTrainingOptions(
    OfAll, OfModels, OfTraining, OfPurchases, OfChoices, OfCandidates, total=False
):
    deadline: float | str | None
    confidence: str | None
    evidence: str | None
    redundancy: float | Mapping[str, float | str] | Sequence[str] | str | None
    tokens: Required[float | str]
    critical_batch: float | str | None
    condition: str | None
    years: float | str | None
    time_limit: float | str | None

class FrontierOptions(
    OfAll, OfModels, OfServing, OfUnits, OfChoices, OfCandidates, total=False
):
    weights: str | None
    kv: str | None
    workload: str | None
    isl: float | str | None
    osl: float | str | None
    max_model_len: float | str | None
    target: float | str | None
    tpot: float | str | None
    redundancy: float | Mapping[str, float | str] | Sequence[str] | str | None
    cp: float | str | None
    engine: str | None
    condition: str | None
    years: float | str | None
    duty: float | str | None
    electricity: float | str | None
    pue: float | str | None

class PerDollarOptions(
    OfAll, OfModels, OfServing, OfUnits, OfChoices, OfCandidates, total=False
):
    weights: str | None
    kv: str | None
    workload: str | None
    isl: float | str | None
    osl: float | str | None
    max_model_len: float | str | None
    target: float | str | None
    tpot: float | str | None
    confidence: str | None
    evidence: str | None
    redundancy: float | Mapping[str, float | str] | Sequence[str] | str | None
    cp: float | str | None
    engine: str | None
    years: float | str | None
    duty: float | str | None
    electricity: float | str | None
    pue: float | str | None
    all: bool

class TrainIslandsOptions(OfAll, OfModels, OfTraining, total=False):
    deadline: float | str | None
    tokens: float | str | None
    islands: str | Sequence[str] | None
    inner_steps: float | str | None
    lifetime: float | str | None
    away: float | str | None
    marginal: bool

class NeighboursOptions(OfAll, OfModels, total=False):
    weights: str | None
    kv: str | None
    workload: str | None
    isl: float | str | None
    osl: float | str | None
    max_model_len: float | str | None
    target: float | str | None
    tpot: float | str | None
    neighbours: str | Sequence[str] | None
    repeat: float | str | None
    lifetime: float | str | None
    away: float | str | None
    marginal: bool
    engine: str | None
    condition: str | None
    sell: Mapping[str, float | str] | Sequence[str] | str | None
    years: float | str | None
    duty: float | str | None
    electricity: float | str | None
    pue: float | str | None

class CompareOptions(SolveOptions, total=False): ...
