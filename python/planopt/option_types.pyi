# Keywords of the API, by the functions that take them: made by `make options` of
# rust/planopt-core/src/request/options.toml.

from collections.abc import Mapping, Sequence
from typing import TypedDict

from typing_extensions import Required

class SolveOptions(TypedDict, total=False):
    # Model
    model: str | None
    weights: str | None
    kv: str | None
    kv_heads: float | str | None
    draft: str | None
    draft_tokens: float | str | None
    acceptance: float | str | None
    allow_quantization: str | Sequence[str] | None
    # Workload
    workload: str | None
    prompt: float | str | None
    output: float | str | None
    context: float | str | None
    requests: float | str | None
    users: float | str | None
    # Promises
    target: float | str | None
    ttft: float | str | None
    percentile: str | None
    throughput: float | str | None
    robust: bool
    redundancy: float | str | None
    # Hardware
    accelerators: str | Sequence[str] | None
    exclude: str | Sequence[str] | None
    host: str | Sequence[str] | None
    network: str | Sequence[str] | None
    datacenter: bool
    max_accelerators: float | str | None
    max_power: float | str | None
    max_racks: float | str | None
    stock: Mapping[str, float | str] | Sequence[str] | str | None
    # Layout
    cp: float | str | None
    batch: float | str | None
    in_flight: float | str | None
    overlap: str | None
    # Engine
    engine: str | None
    policy: str | None
    token_budget: float | str | None
    max_sequences: float | str | None
    pcie_all_reduce: str | None
    # Money
    budget: float | str | None
    objective: str | None
    acquire: str | None
    terms: str | Sequence[str] | None
    provider: str | Sequence[str] | None
    region: str | Sequence[str] | None
    condition: str | None
    prices: Mapping[str, float | str] | Sequence[str] | str | None
    years: float | str | None
    duty: float | str | None
    electricity: float | str | None
    pue: float | str | None
    carbon: float | str | None
    # Search
    assumptions: str | None
    catalog: Sequence[str]
    top: float | str | None
    price_band: float | str | None
    steps: bool
    exhaustive: bool
    time_limit: float | str | None
    memory_limit: float | str | None

class TrainOptions(TypedDict, total=False):
    # Model
    model: str | None
    kv_heads: float | str | None
    # Promises
    deadline: float | str | None
    redundancy: float | str | None
    # Recipe
    tokens: float | str | None
    seq_len: float | str | None
    global_batch: float | str | None
    precision: str | None
    gradients: str | None
    optimizer: str | None
    mtp_modules: float | str | None
    # Hardware
    accelerators: str | Sequence[str] | None
    exclude: str | Sequence[str] | None
    host: str | Sequence[str] | None
    network: str | Sequence[str] | None
    datacenter: bool
    max_accelerators: float | str | None
    max_power: float | str | None
    max_racks: float | str | None
    stock: Mapping[str, float | str] | Sequence[str] | str | None
    # Money
    budget: float | str | None
    objective: str | None
    acquire: str | None
    provider: str | Sequence[str] | None
    region: str | Sequence[str] | None
    condition: str | None
    prices: Mapping[str, float | str] | Sequence[str] | str | None
    # Search
    assumptions: str | None
    catalog: Sequence[str]
    top: float | str | None
    time_limit: float | str | None

class FleetOptions(TypedDict, total=False):
    # Money
    condition: str | None
    prices: Mapping[str, float | str] | Sequence[str] | str | None
    # Search
    assumptions: str | None
    catalog: Sequence[str]
    time_limit: float | str | None
    workers: float | str | None
    compare: bool

class ServingOptions(TypedDict, total=False):
    # Model
    model: str | None
    weights: str | None
    kv: str | None
    kv_heads: float | str | None
    draft: str | None
    draft_tokens: float | str | None
    acceptance: float | str | None
    lora_adapters: float | str | None
    lora_rank: float | str | None
    encoder_parameters: float | str | None
    # Workload
    workload: str | None
    prompt: float | str | None
    output: float | str | None
    context: float | str | None
    requests: float | str | None
    users: float | str | None
    traffic: str | None
    arrival_cv: float | str | None
    prefix_hit_rate: float | str | None
    image_tokens: float | str | None
    patches_per_token: float | str | None
    # Hardware
    accelerator: str | None
    host: str | Sequence[str] | None
    link: str | None
    network: str | Sequence[str] | None
    hosts: float | str | None
    nics_per_host: float | str | None
    prefill_accelerator: str | None
    prefill_host: str | None
    # Layout
    tp: float | str | None
    pp: float | str | None
    cp: float | str | None
    dp: float | str | None
    ep: float | str | None
    replicas: float | str | None
    batch: float | str | None
    in_flight: float | str | None
    overlap: str | None
    offload: float | str | None
    offload_to: str | None
    prefill_replicas: float | str | None
    prefill_tp: float | str | None
    prefill_pp: float | str | None
    prefill_cp: float | str | None
    prefill_dp: float | str | None
    prefill_ep: float | str | None
    # Engine
    engine: str | None
    policy: str | None
    token_budget: float | str | None
    max_sequences: float | str | None
    pcie_all_reduce: str | None
    software_latency: float | str | None
    # Money
    condition: str | None
    prices: Mapping[str, float | str] | Sequence[str] | str | None
    # Search
    assumptions: str | None
    catalog: Sequence[str]
    explain: bool

class TrainingOptions(TypedDict, total=False):
    # Model
    model: str | None
    kv_heads: float | str | None
    lora_rank: float | str | None
    frozen_weights: str | None
    # Promises
    redundancy: float | str | None
    # Recipe
    tokens: float | str | None
    seq_len: float | str | None
    global_batch: float | str | None
    precision: str | None
    gradients: str | None
    optimizer: str | None
    mtp_modules: float | str | None
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
    # Hardware
    accelerators: str | Sequence[str] | None
    accelerator: str | None
    host: str | None
    link: str | None
    network: str | None
    accelerators_per_host: float | str | None
    nics_per_host: float | str | None
    # Layout
    tp: float | str | None
    pp: float | str | None
    cp: float | str | None
    dp: float | str | None
    ep: float | str | None
    offload: str | Sequence[str] | None
    micro_batch: float | str | None
    vpp: float | str | None
    schedule: str | None
    sequence_parallel: bool
    context_parallel: str | None
    expert_tp: float | str | None
    shard: str | None
    shard_group: float | str | None
    # Money
    condition: str | None
    prices: Mapping[str, float | str] | Sequence[str] | str | None
    # Search
    assumptions: str | None
    catalog: Sequence[str]
    explain: bool

class CompareOptions(TypedDict, total=False):
    # Model
    model: str | None
    weights: str | None
    kv: str | None
    kv_heads: float | str | None
    draft: str | None
    draft_tokens: float | str | None
    acceptance: float | str | None
    allow_quantization: str | Sequence[str] | None
    # Workload
    workload: str | None
    prompt: float | str | None
    output: float | str | None
    context: float | str | None
    requests: float | str | None
    users: float | str | None
    # Promises
    target: float | str | None
    ttft: float | str | None
    percentile: str | None
    throughput: float | str | None
    robust: bool
    redundancy: float | str | None
    # Hardware
    accelerators: str | Sequence[str] | None
    exclude: str | Sequence[str] | None
    host: str | Sequence[str] | None
    network: str | Sequence[str] | None
    datacenter: bool
    max_accelerators: float | str | None
    max_power: float | str | None
    max_racks: float | str | None
    stock: Mapping[str, float | str] | Sequence[str] | str | None
    # Layout
    cp: float | str | None
    batch: float | str | None
    in_flight: float | str | None
    overlap: str | None
    # Engine
    engine: str | None
    policy: str | None
    token_budget: float | str | None
    max_sequences: float | str | None
    pcie_all_reduce: str | None
    # Money
    budget: float | str | None
    objective: str | None
    acquire: str | None
    terms: str | Sequence[str] | None
    provider: str | Sequence[str] | None
    region: str | Sequence[str] | None
    condition: str | None
    prices: Mapping[str, float | str] | Sequence[str] | str | None
    years: float | str | None
    duty: float | str | None
    electricity: float | str | None
    pue: float | str | None
    carbon: float | str | None
    # Search
    assumptions: str | None
    catalog: Sequence[str]
    top: float | str | None
    price_band: float | str | None
    steps: bool
    exhaustive: bool
    time_limit: float | str | None
    memory_limit: float | str | None

class CompareTrainingOptions(TypedDict, total=False):
    # Model
    model: str | None
    kv_heads: float | str | None
    # Promises
    deadline: float | str | None
    redundancy: float | str | None
    # Recipe
    tokens: Required[float | str]
    seq_len: float | str | None
    global_batch: float | str | None
    precision: str | None
    gradients: str | None
    optimizer: str | None
    mtp_modules: float | str | None
    # Hardware
    accelerators: str | Sequence[str] | None
    exclude: str | Sequence[str] | None
    host: str | Sequence[str] | None
    network: str | Sequence[str] | None
    datacenter: bool
    max_accelerators: float | str | None
    max_power: float | str | None
    max_racks: float | str | None
    stock: Mapping[str, float | str] | Sequence[str] | str | None
    # Money
    budget: float | str | None
    objective: str | None
    acquire: str | None
    provider: str | Sequence[str] | None
    region: str | Sequence[str] | None
    condition: str | None
    prices: Mapping[str, float | str] | Sequence[str] | str | None
    # Search
    assumptions: str | None
    catalog: Sequence[str]
    top: float | str | None
    time_limit: float | str | None

class FrontierOptions(TypedDict, total=False):
    # Model
    model: str | None
    weights: str | None
    kv: str | None
    kv_heads: float | str | None
    draft: str | None
    draft_tokens: float | str | None
    acceptance: float | str | None
    allow_quantization: str | Sequence[str] | None
    # Workload
    workload: str | None
    prompt: float | str | None
    output: float | str | None
    context: float | str | None
    requests: float | str | None
    users: float | str | None
    # Promises
    target: float | str | None
    ttft: float | str | None
    percentile: str | None
    throughput: float | str | None
    robust: bool
    redundancy: float | str | None
    # Hardware
    accelerators: str | Sequence[str] | None
    exclude: str | Sequence[str] | None
    host: str | Sequence[str] | None
    network: str | Sequence[str] | None
    datacenter: bool
    max_accelerators: float | str | None
    # Layout
    cp: float | str | None
    batch: float | str | None
    in_flight: float | str | None
    overlap: str | None
    # Engine
    engine: str | None
    policy: str | None
    token_budget: float | str | None
    max_sequences: float | str | None
    pcie_all_reduce: str | None
    # Money
    acquire: str | None
    terms: str | Sequence[str] | None
    provider: str | Sequence[str] | None
    region: str | Sequence[str] | None
    condition: str | None
    prices: Mapping[str, float | str] | Sequence[str] | str | None
    years: float | str | None
    duty: float | str | None
    electricity: float | str | None
    pue: float | str | None
    carbon: float | str | None
    # Search
    assumptions: str | None
    catalog: Sequence[str]
    exhaustive: bool

class PerDollarOptions(TypedDict, total=False):
    # Model
    model: str | None
    weights: str | None
    kv: str | None
    kv_heads: float | str | None
    draft: str | None
    draft_tokens: float | str | None
    acceptance: float | str | None
    allow_quantization: str | Sequence[str] | None
    # Workload
    workload: str | None
    prompt: float | str | None
    output: float | str | None
    context: float | str | None
    requests: float | str | None
    users: float | str | None
    # Promises
    target: float | str | None
    ttft: float | str | None
    percentile: str | None
    throughput: float | str | None
    robust: bool
    redundancy: float | str | None
    # Hardware
    accelerators: str | Sequence[str] | None
    exclude: str | Sequence[str] | None
    host: str | Sequence[str] | None
    network: str | Sequence[str] | None
    datacenter: bool
    max_accelerators: float | str | None
    # Layout
    cp: float | str | None
    batch: float | str | None
    in_flight: float | str | None
    overlap: str | None
    # Engine
    engine: str | None
    policy: str | None
    token_budget: float | str | None
    max_sequences: float | str | None
    pcie_all_reduce: str | None
    # Money
    acquire: str | None
    terms: str | Sequence[str] | None
    provider: str | Sequence[str] | None
    region: str | Sequence[str] | None
    prices: Mapping[str, float | str] | Sequence[str] | str | None
    years: float | str | None
    duty: float | str | None
    electricity: float | str | None
    pue: float | str | None
    carbon: float | str | None
    # Search
    assumptions: str | None
    catalog: Sequence[str]
    all: bool
    exhaustive: bool
