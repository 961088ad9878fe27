//! `assumptions/ID.toml`.

mod compute;

use self::compute::{FORMATS, KERNELS, compute, compute_over};
use super::assumptions::{
    AllReduceAlgorithm, Assumptions, CacheDisks, CommunicationAssumptions, CostAssumptions,
    EngineAssumptions, EngineKernels, EngineShares, ExpertAssumptions, ExpertKernel,
    FrameworkAssumptions, HardwareAssumptions, HardwareChanges, HopPayload, HostCache, HostTerms,
    IslandAssumptions, KernelRates, MemoryAssumptions, OwnKernels, Policy, RequestOverhead,
    ScaleUpAssumptions, Scheduling, Spares, StepDefaults, StepLimits, SwitchSale,
    TrainingAssumptions,
};
use super::entities::RackLines;
use super::fields::{Fields, factor, number, part, share};
use super::host::ALL_REDUCE_CLASSES;
use crate::format::Format;
use crate::quantity::{Bytes, Dimension, Seconds};
use std::collections::BTreeMap;

/// Folders of a catalog that stand for all of its hardware; "" is the catalog itself.
const HARDWARE: &[&str] = &["", "article"];

pub(super) fn read(fields: &mut Fields<'_>) -> Assumptions {
    let (compute, table) = fields.section("compute", compute);
    let over_general = |own: &mut Fields<'_>| compute_over(own, &compute, &table);
    let accelerators = fields.named_sections("accelerators", over_general);
    let families = fields.named_sections("families", over_general);
    let step_overhead = compute.host.step_overhead;
    let held = fields.section("memory", |own| memory(own, None));
    let engines = fields.named_sections("engines", |own| engine_shares(own, step_overhead, held));
    let communication = fields.section("communication", communication);
    let links = fields.named_sections("links", |link| scale_up(link, Some(communication.scale_up)));
    let training = fields.optional_section("training", training);
    let frameworks = training.map_or_else(Vec::new, |general| {
        fields.named_sections("frameworks", |own| framework(own, &general))
    });
    let trainers = training.map_or_else(Vec::new, |_| fields.named_sections("trainers", hardware));
    let general_trainer = training.map_or(PLAIN_HARDWARE, |general| HardwareAssumptions {
        attention_forward: general.attention_efficiency,
        attention_backward: general.attention_efficiency,
        ..PLAIN_HARDWARE
    });
    Assumptions {
        id: fields.id(),
        description: fields.text("description"),
        hardware: fields.word("hardware", HARDWARE),
        pcie_all_reduce: fields.word("pcie_all_reduce", ALL_REDUCE_CLASSES),
        memory: held,
        engine: fields.optional_section("engine", engine),
        compute,
        accelerators,
        families,
        dependent_launches: fields.or("dependent_launches", Vec::new(), Fields::texts),
        scheduling: Scheduling::default(),
        engines,
        kernels: None,
        communication,
        links,
        experts: fields
            .optional_section("experts", experts)
            .unwrap_or_default(),
        slower: BTreeMap::new(),
        cost: fields.section("cost", cost),
        training,
        frameworks,
        general_trainer,
        trainers,
        connectors: fields.named_sections("connectors", host_cache),
        islands: fields.optional_section("islands", islands),
        switch_sale: switch_sale(fields),
        power_limit_exponent: fields.optional("power_limit_exponent", factor),
        host_limits: fields.or("host_limits", false, Fields::flag),
    }
}

/// Islands, and homes that come and go.
fn islands(fields: &mut Fields<'_>) -> IslandAssumptions {
    IslandAssumptions {
        exchange_bits: factor(fields, "exchange_bits"),
        exchange_overlap: part(fields, "exchange_overlap"),
        connections: factor(fields, "connections"),
        loss_rate: part(fields, "loss_rate"),
        loss_rate_high: part(fields, "loss_rate_high"),
        loss_floor: factor(fields, "loss_floor"),
        parameter_scale: factor(fields, "parameter_scale"),
        parameter_exponent: factor(fields, "parameter_exponent"),
        token_scale: factor(fields, "token_scale"),
        token_exponent: factor(fields, "token_exponent"),
        lifetime: fields.positive("lifetime"),
        away: fields.positive("away"),
        notice: fields.quantity("notice"),
        disk: fields.positive("disk"),
    }
}

/// Memory that is not weights or KV cache; what the table of an engine lacks is as of `general`.
fn memory(fields: &mut Fields<'_>, general: Option<MemoryAssumptions>) -> MemoryAssumptions {
    let plain = MemoryAssumptions {
        flash_attention: true,
        ..MemoryAssumptions::default()
    };
    let known = general.unwrap_or(plain);
    let usable = general.map(|own| own.usable_fraction);
    let unified = general.map(|own| own.unified_usable_fraction);
    let alone = general.map(|own| own.overhead);
    let group = general.map(|own| own.overhead_group);
    let page = general.map(|own| own.page_tokens);
    let step = general.map(|own| own.workspace_tokens);
    MemoryAssumptions {
        usable_fraction: fields.laid_over("usable_fraction", usable, share),
        unified_usable_fraction: fields.laid_over("unified_usable_fraction", unified, share),
        overhead: fields.laid_over("overhead", alone, Fields::quantity),
        overhead_group: fields.laid_over("overhead_group", group, Fields::quantity),
        page_tokens: fields.laid_over("page_tokens", page, Fields::positive),
        workspace_tokens: fields.laid_over("workspace_tokens", step, Fields::quantity),
        step_logits: fields.or("step_logits", known.step_logits, Fields::flag),
        flash_attention: fields.or("flash_attention", known.flash_attention, Fields::flag),
        input_copies: fields.or("input_copies", known.input_copies, Fields::positive),
        cache_disk: fields.or("cache_disk", known.cache_disk, Fields::positive),
        cache_disk_bandwidth: fields.or(
            "cache_disk_bandwidth",
            known.cache_disk_bandwidth,
            Fields::positive,
        ),
        front_end_bandwidth: fields.or(
            "front_end_bandwidth",
            known.front_end_bandwidth,
            Fields::positive,
        ),
    }
}

/// Tokens of a prompt that `request_per_1k` is of.
const TOKENS_OF_1K: f64 = 1024.0;

const POLICIES: &[(&str, Policy)] = &[
    ("decode-first", Policy::DecodeFirst),
    ("prefill-first", Policy::PrefillFirst),
];

/// What an engine makes of kernels; nothing where it says nothing.
fn engine_shares(
    fields: &mut Fields<'_>,
    step_overhead: Seconds,
    held: MemoryAssumptions,
) -> EngineShares {
    EngineShares {
        experts: fields
            .optional_section("experts", expert_kernels)
            .unwrap_or_default(),
        arithmetic: fields.or("arithmetic", 1.0, factor),
        attention: fields.or("attention", 1.0, factor),
        cache: fields.or("cache", 1.0, factor),
        bandwidth: fields.or("bandwidth", 1.0, factor),
        overhead: fields.or("overhead", 1.0, factor),
        quantised: fields.or("quantised", 1.0, factor),
        kernels: fields.optional_section("kernels", engine_kernels),
        prompt_chunk: fields.optional("prompt_chunk", Fields::positive),
        half_rows: fields.optional("half_rows", factor),
        hop_overhead: fields.or("hop_overhead", Seconds::ZERO, Fields::quantity),
        host: HostTerms {
            step_overhead: fields.or("step_overhead", step_overhead, Fields::quantity),
            layer_overhead: fields.optional("layer_overhead", Fields::quantity),
            dependent_launch: fields.or("dependent_launch", Seconds::ZERO, Fields::quantity),
            per_sequence: fields.or("per_sequence", Seconds::ZERO, Fields::quantity),
            prompt_launch: fields.or("prompt_launch", Seconds::ZERO, Fields::quantity),
            prefill_factor: fields.or("prefill_factor", 1.0, factor),
        },
        request: fields.optional("request_overhead", request_overhead),
        memory: fields
            .optional_section("memory", |own| memory(own, Some(held)))
            .unwrap_or(held),
        scheduling: Scheduling {
            steps: fields
                .named_sections("steps", step_defaults)
                .into_iter()
                .map(|(_, step)| step)
                .collect(),
            policy: fields.or("policy", Policy::default(), |fields, key| {
                fields.choice(key, POLICIES)
            }),
            host_cache: fields
                .optional_section("host_cache", host_cache)
                .unwrap_or_default(),
        },
    }
}

/// What is taken into a step on accelerators of so much memory and more; of any where none is said.
fn step_defaults(fields: &mut Fields<'_>) -> StepDefaults {
    StepDefaults {
        memory: fields.or("memory", Bytes::ZERO, Fields::quantity),
        except: fields.or("except", Vec::new(), Fields::texts),
        limits: StepLimits {
            token_budget: fields.optional("token_budget", Fields::positive),
            max_sequences: fields.optional("max_sequences", Fields::positive),
            graph_tokens: fields.optional("graph_tokens", Fields::positive),
        },
    }
}

const CACHE_DISKS: &[(&str, CacheDisks)] = &[
    ("none", CacheDisks::None),
    ("own", CacheDisks::Own),
    ("shared", CacheDisks::Shared),
];

/// What is done with caches that accelerators give up.
fn host_cache(fields: &mut Fields<'_>) -> HostCache {
    HostCache {
        layerwise: fields.choice("fetch", &[("layerwise", true), ("waits", false)]),
        on_eviction: fields.choice("write", &[("on-eviction", true), ("through", false)]),
        disks: fields.choice("disks", CACHE_DISKS),
    }
}

/// Kernels that an engine brings along.
fn engine_kernels(fields: &mut Fields<'_>) -> EngineKernels {
    let any = own_kernels(fields, None);
    let families = fields.named_sections("families", |own| own_kernels(own, Some(any)));
    EngineKernels { any, families }
}

/// The same of one family; what its table lacks is as of `any`.
fn own_kernels(fields: &mut Fields<'_>, any: Option<OwnKernels>) -> OwnKernels {
    let rates = |own: &mut Fields<'_>| KernelRates {
        bandwidth: share(own, "bandwidth"),
        bits_per_clock: factor(own, "bits_per_clock"),
        efficiency: share(own, "efficiency"),
        flops_per_clock: own.or("flops_per_clock", f64::INFINITY, factor),
    };
    let section = |own: &mut Fields<'_>, key| own.section(key, rates);
    let layer = any.map(|own| own.layer);
    let prompt_layer = any.map(|own| own.prompt_layer);
    OwnKernels {
        wide: fields.laid_over("wide", any.map(|own| own.wide), section),
        packed: fields.laid_over("packed", any.map(|own| own.packed), section),
        cache: fields.laid_over("cache", any.map(|own| own.cache), share),
        attention: fields.laid_over("attention", any.map(|own| own.attention), share),
        layer: fields.laid_over("layer", layer, Fields::quantity),
        prompt_layer: fields.laid_over("prompt_layer", prompt_layer, Fields::quantity),
        pipelining: fields.laid_over("pipelining", any.map(|own| own.pipelining), share),
        host: fields.laid_over("host", any.map(|own| own.host), share),
        copied_from: fields.laid_over("copied_from", any.map(|own| own.copied_from), factor),
    }
}

/// Families of kernels of experts by format, in the order in which an engine takes them.
fn expert_kernels(table: &mut Fields<'_>) -> Vec<(Format, Vec<ExpertKernel>)> {
    let names = KERNELS.map(|(name, _)| name);
    let mut given = Vec::new();
    for (name, format) in FORMATS {
        let words = table.optional(name, |table, name| table.words(name, &names));
        let of = |word: &String| KERNELS.iter().find(|(name, _)| name == word);
        given.extend(words.map(|words| {
            let kernels = words.iter().filter_map(of).map(|(_, kernel)| *kernel);
            (format, kernels.collect())
        }));
    }
    given
}

fn engine(fields: &mut Fields<'_>) -> EngineAssumptions {
    EngineAssumptions {
        max_sequences: fields.positive("max_sequences"),
        context_rank_tokens: fields.optional("context_rank_tokens", Fields::positive),
        request: request_overhead(fields, "request_overhead"),
    }
}

/// A time for every request, and one for 1024 tokens of its prompt where that is known.
fn request_overhead(fields: &mut Fields<'_>, key: &'static str) -> RequestOverhead {
    let per_1k = fields.or("request_per_1k", Seconds::ZERO, Fields::quantity);
    RequestOverhead {
        fixed: fields.quantity(key),
        per_token: per_1k * (1.0 / TOKENS_OF_1K),
    }
}

fn communication(fields: &mut Fields<'_>) -> CommunicationAssumptions {
    const ALL_REDUCE: &[(&str, AllReduceAlgorithm)] = &[
        ("ring", AllReduceAlgorithm::Ring),
        ("transfer", AllReduceAlgorithm::Transfer),
    ];
    const HOP_PAYLOAD: &[(&str, HopPayload)] = &[
        ("full", HopPayload::Full),
        ("scattered", HopPayload::Scattered),
    ];
    CommunicationAssumptions {
        all_reduce: fields.choice("all_reduce", ALL_REDUCE),
        scale_up: scale_up(fields, None),
        pcie_overhead: fields.or("pcie_overhead", Seconds::ZERO, Fields::quantity),
        pcie_efficiency: share(fields, "pcie_efficiency"),
        pcie_latency: fields.quantity("pcie_latency"),
        pcie_host_latency: fields.quantity("pcie_host_latency"),
        tcp_efficiency: share(fields, "tcp_efficiency"),
        tcp_latency: fields.quantity("tcp_latency"),
        rdma_efficiency: share(fields, "rdma_efficiency"),
        rdma_latency: fields.quantity("rdma_latency"),
        hop_payload: fields.choice("hop_payload", HOP_PAYLOAD),
        return_hop: fields.flag("return_hop"),
        hop_overhead: Seconds::ZERO,
    }
}

/// Collectives over scale-up links; what a table lacks is as of `general`.
fn scale_up(fields: &mut Fields<'_>, general: Option<ScaleUpAssumptions>) -> ScaleUpAssumptions {
    let none = ScaleUpAssumptions {
        efficiency: 1.0,
        direct_efficiency: None,
        latency: Seconds::ZERO,
        overhead: Seconds::ZERO,
        one_shot_latency: Seconds::ZERO,
        two_shot_latency: None,
        direct_limit: None,
        bulk: None,
    };
    let known = general.unwrap_or(none);
    let efficiency = general.map(|own| own.efficiency);
    let latency = general.map(|own| own.latency);
    let one_shot = general.map(|own| own.one_shot_latency);
    let bulk_latency = fields.optional("bulk_latency", Fields::quantity);
    let bulk_efficiency = fields.optional("bulk_efficiency", share);
    ScaleUpAssumptions {
        efficiency: fields.laid_over("scale_up_efficiency", efficiency, share),
        direct_efficiency: fields
            .optional("direct_efficiency", share)
            .or(known.direct_efficiency),
        latency: fields.laid_over("scale_up_latency", latency, Fields::quantity),
        overhead: fields.or("collective_overhead", known.overhead, Fields::quantity),
        one_shot_latency: fields.laid_over("one_shot_latency", one_shot, Fields::quantity),
        two_shot_latency: fields
            .optional("two_shot_latency", Fields::quantity)
            .or(known.two_shot_latency),
        direct_limit: fields
            .optional("direct_limit", Fields::positive)
            .or(known.direct_limit),
        bulk: bulk_latency.zip(bulk_efficiency).or(known.bulk),
    }
}

fn experts(fields: &mut Fields<'_>) -> ExpertAssumptions {
    ExpertAssumptions {
        imbalance: factor(fields, "imbalance"),
    }
}

/// A line of the cost of owning that a set may leave out.
fn line(fields: &mut Fields<'_>, key: &'static str, dimension: Dimension) -> f64 {
    fields.or(key, 0.0, |fields, key| fields.number(key, dimension))
}

fn cost(fields: &mut Fields<'_>) -> CostAssumptions {
    CostAssumptions {
        years: factor(fields, "years"),
        residual: part(fields, "residual"),
        electricity_usd_per_kwh: fields.number("electricity", Dimension::UsdPerKwh),
        duty: share(fields, "duty"),
        regained: line(fields, "regained", Dimension::Share),
        pue: factor(fields, "pue"),
        rack_usd_per_month: fields.number("rack", Dimension::UsdPerMonth),
        rack_units: factor(fields, "rack_units"),
        colocation_usd_per_kw_month: line(fields, "colocation", Dimension::UsdPerMonth),
        support_per_year: line(fields, "support", Dimension::Share),
        staff_usd_per_rack_year: line(fields, "staff", Dimension::Usd),
        wacc: line(fields, "wacc", Dimension::Share),
        lines: RackLines {
            front_end_usd_per_accelerator: line(fields, "front_end", Dimension::Usd),
            management_usd_per_host: line(fields, "management", Dimension::Usd),
            storage_usd_per_accelerator: line(fields, "storage", Dimension::Usd),
            racks_usd_per_rack: line(fields, "racks", Dimension::Usd),
            rack_kilowatts: line(fields, "rack_kilowatts", Dimension::Number),
            freight: line(fields, "freight", Dimension::Share),
            spares: line(fields, "spares", Dimension::Share),
            memory_usd_per_host: 0.0,
            disks_usd_per_host: 0.0,
        },
        memory_usd_per_tb: line(fields, "memory", Dimension::Usd),
        cache_disk_usd: line(fields, "disks", Dimension::Usd),
        load_fraction: part(fields, "load_fraction"),
        hosted_usd_per_million_tokens: fields.optional("hosted_million_tokens", |fields, key| {
            fields.number(key, Dimension::Usd)
        }),
        carbon_kg_per_kwh: fields.optional("carbon_kg_per_kwh", number),
    }
}

fn training(fields: &mut Fields<'_>) -> TrainingAssumptions {
    let general = TrainingAssumptions {
        usable_fraction: share(fields, "usable_fraction"),
        overhead: fields.quantity("overhead"),
        overhead_group: fields.or("overhead_group", Bytes::ZERO, Fields::quantity),
        attention_efficiency: share(fields, "attention_efficiency"),
        half_outputs: number(fields, "half_outputs"),
        tensor_overlap: part(fields, "tensor_overlap"),
        tensor_contention: part(fields, "tensor_contention"),
        context_overlap: part(fields, "context_overlap"),
        pipeline_overlap: part(fields, "pipeline_overlap"),
        data_overlap: part(fields, "data_overlap"),
        offload_overlap: part(fields, "offload_overlap"),
        contention: part(fields, "contention"),
        straggler_spread: part(fields, "straggler_spread"),
        expert_imbalance: factor(fields, "expert_imbalance"),
        host_memory_bandwidth: fields.positive("host_memory_bandwidth"),
        accelerator_mtbf: fields.positive("accelerator_mtbf"),
        host_mtbf: fields.positive("host_mtbf"),
        storage_bandwidth: fields.positive("storage_bandwidth"),
        storage_limit: fields.positive("storage_limit"),
        restart: fields.quantity("restart"),
        repair: fields.or("repair", Seconds::ZERO, Fields::quantity),
        spares: Spares::For(fields.or("spare_availability", 0.0, part)),
        carbon_kg_per_kwh: number(fields, "carbon_kg_per_kwh"),
        unaligned: fields.or("unaligned", 1.0, share),
        dequantisation: fields.or("dequantisation", 1.0, share),
        framework: PLAIN_FRAMEWORK,
    };
    TrainingAssumptions {
        framework: FrameworkAssumptions {
            tensor_overlap: general.tensor_overlap,
            pipeline_overlap: general.pipeline_overlap,
            data_overlap: general.data_overlap,
            data_contention: general.contention,
            ..PLAIN_FRAMEWORK
        },
        ..general
    }
}

/// A framework that adds nothing.
const PLAIN_FRAMEWORK: FrameworkAssumptions = FrameworkAssumptions {
    host_launch: Seconds::ZERO,
    elementwise: 1.0,
    loss: 1.0,
    scan: 1.0,
    casts: 0.0,
    casts_4bit: 1.0,
    routing: 1.0,
    expert_launch: Seconds::ZERO,
    send_once: false,
    expert_overlap: 0.0,
    tensor_overlap: 0.0,
    gradient_overlap: 1.0,
    pipeline_overlap: 0.0,
    hop_overhead: Seconds::ZERO,
    gradients_everywhere: false,
    broadcasts: false,
    eight_bit_weights: false,
    weight_copies: 2.0,
    eight_bit_activations: false,
    expert_hosts: f64::INFINITY,
    loss_in_place: false,
    data_overlap: 0.0,
    data_contention: 0.0,
    bucket: Bytes(f64::INFINITY),
    portable_attention: false,
    gradient_copy: 0.0,
    memory_reserve: 1.0,
    step_overhead: Seconds::ZERO,
};

/// An accelerator that never slows down.
const PLAIN_HARDWARE: HardwareAssumptions = HardwareAssumptions {
    sustained: 1.0,
    sustained_8bit: 1.0,
    sustained_4bit: 1.0,
    gathered_8bit: 1.0,
    grouped: 1.0,
    grouped_8bit: 1.0,
    attention_forward: 1.0,
    attention_backward: 1.0,
    portable_attention: 1.0,
    attention_half_length: 0.0,
    attention_half_head: 0.0,
    clock: 1.0,
    host: 1.0,
};

fn framework(own: &mut Fields<'_>, general: &TrainingAssumptions) -> FrameworkAssumptions {
    let general = &general.framework;
    FrameworkAssumptions {
        host_launch: own.or("host_launch", general.host_launch, Fields::quantity),
        elementwise: own.or("elementwise", general.elementwise, number),
        loss: own.or("loss", general.loss, number),
        scan: own.or("scan", general.scan, number),
        casts: own.or("casts", general.casts, number),
        casts_4bit: own.or("casts_4bit", general.casts_4bit, number),
        routing: own.or("routing", general.routing, number),
        expert_launch: own.or("expert_launch", general.expert_launch, Fields::quantity),
        send_once: own.or("send_once", false, Fields::flag),
        expert_overlap: own.or("expert_overlap", general.expert_overlap, part),
        tensor_overlap: own.or("tensor_overlap", general.tensor_overlap, part),
        pipeline_overlap: own.or("pipeline_overlap", general.pipeline_overlap, part),
        hop_overhead: own.or("hop_overhead", general.hop_overhead, Fields::quantity),
        gradient_overlap: own.or("gradient_overlap", general.gradient_overlap, part),
        gradients_everywhere: own.or("gradients_everywhere", false, Fields::flag),
        broadcasts: own.or("broadcasts", false, Fields::flag),
        eight_bit_weights: own.or("eight_bit_weights", false, Fields::flag),
        weight_copies: own.or("weight_copies", general.weight_copies, number),
        eight_bit_activations: own.or("eight_bit_activations", false, Fields::flag),
        expert_hosts: own.or("expert_hosts", general.expert_hosts, number),
        loss_in_place: own.or("loss_in_place", false, Fields::flag),
        data_overlap: own.or("data_overlap", general.data_overlap, part),
        data_contention: own.or("data_contention", general.data_contention, number),
        bucket: own.or("bucket", general.bucket, Fields::positive),
        portable_attention: own.or("portable_attention", false, Fields::flag),
        gradient_copy: own.or("gradient_copy", general.gradient_copy, number),
        memory_reserve: own.or("memory_reserve", general.memory_reserve, number),
        step_overhead: own.or("step_overhead", general.step_overhead, Fields::quantity),
    }
}

/// A key and the value it stands for.
type HardwareKey = (&'static str, fn(&mut HardwareAssumptions) -> &mut f64);

/// Keys of an accelerator, or of a family, at training.
const HARDWARE_KEYS: [HardwareKey; 13] = [
    ("sustained", |own| &mut own.sustained),
    ("sustained_8bit", |own| &mut own.sustained_8bit),
    ("sustained_4bit", |own| &mut own.sustained_4bit),
    ("gathered_8bit", |own| &mut own.gathered_8bit),
    ("grouped", |own| &mut own.grouped),
    ("grouped_8bit", |own| &mut own.grouped_8bit),
    ("attention_forward", |own| &mut own.attention_forward),
    ("attention_backward", |own| &mut own.attention_backward),
    ("portable_attention", |own| &mut own.portable_attention),
    ("attention_half_length", |own| {
        &mut own.attention_half_length
    }),
    ("attention_half_head", |own| &mut own.attention_half_head),
    ("clock", |own| &mut own.clock),
    ("host", |own| &mut own.host),
];

fn hardware(own: &mut Fields<'_>) -> HardwareChanges {
    HARDWARE_KEYS
        .into_iter()
        .filter_map(|(key, place)| {
            let value = own.optional(key, factor)?;
            Some((place, value))
        })
        .collect()
}

/// `"whole"` or `{ port_blocks = 8 }`.
fn switch_sale(fields: &mut Fields<'_>) -> SwitchSale {
    if fields.is_table("switch_sale") {
        SwitchSale::PortBlocks(fields.section("switch_sale", |sale| sale.positive("port_blocks")))
    } else {
        fields.choice("switch_sale", &[("whole", SwitchSale::Whole)])
    }
}
