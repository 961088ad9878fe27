//! `assumptions/ID.toml`.

mod compute;

use self::compute::{FORMATS, KERNELS, compute, compute_over};
use super::assumptions::{
    Assumptions, CommunicationAssumptions, EngineKernels, EngineShares, ExpertAssumptions,
    ExpertKernel, FrameworkAssumptions, HardwareAssumptions, HardwareChanges, HostCache, HostTerms,
    MemoryAssumptions, OwnKernels, POLICIES, Policy, ScaleUpAssumptions, Scheduling, StepDefaults,
    SwitchSale, TrainingAssumptions, request_overhead,
};
use super::declared::{Table, choice, inner};
use super::fields::{Fields, factor};
use super::host::ALL_REDUCE_CLASSES;
use crate::format::Format;
use crate::quantity::Seconds;
use std::collections::BTreeMap;

/// Folders of a catalog that stand for all of its hardware; "" is the catalog itself.
const HARDWARE: &[&str] = &["", "article"];

pub(super) fn read(fields: &mut Fields<'_>) -> Assumptions {
    let (compute, table) = fields.section("compute", compute);
    let over_general = |own: &mut Fields<'_>| compute_over(own, &compute, &table);
    let accelerators = fields.named_sections("accelerators", over_general);
    let families = fields.named_sections("families", over_general);
    let step_overhead = compute.host.step_overhead;
    let held: MemoryAssumptions = inner(fields, "memory");
    let engines = fields.named_sections("engines", |own| engine_shares(own, step_overhead, held));
    let communication: CommunicationAssumptions = inner(fields, "communication");
    let any_link = communication.scale_up;
    let links = fields.named_sections("links", |own| {
        ScaleUpAssumptions::over(own, Some(&any_link))
    });
    let training = fields.optional_section("training", training);
    let frameworks = training.map_or_else(Vec::new, |general| {
        let any = general.framework;
        fields.named_sections("frameworks", |own| {
            FrameworkAssumptions::over(own, Some(&any))
        })
    });
    let trainers = training.map_or_else(Vec::new, |_| fields.named_sections("trainers", hardware));
    let general_trainer = training.map_or(PLAIN_HARDWARE, |general| HardwareAssumptions {
        attention_forward: general.attention_efficiency,
        attention_backward: general.attention_efficiency,
        ..PLAIN_HARDWARE
    });
    Assumptions {
        id: fields.id("id"),
        description: fields.text("description"),
        hardware: fields.word("hardware", HARDWARE),
        pcie_all_reduce: fields.word("pcie_all_reduce", ALL_REDUCE_CLASSES),
        memory: held,
        engine: fields.optional("engine", inner),
        compute,
        accelerators,
        families,
        dependent_launches: fields.or("dependent_launches", Vec::new(), Fields::texts),
        scheduling: Scheduling::default(),
        engines,
        kernels: None,
        communication,
        links,
        experts: fields.or("experts", ExpertAssumptions::default(), inner),
        slower: BTreeMap::new(),
        cost: inner(fields, "cost"),
        training,
        frameworks,
        general_trainer,
        trainers,
        connectors: fields.named_sections("connectors", HostCache::read),
        islands: fields.optional("islands", inner),
        switch_sale: switch_sale(fields),
        power_limit_exponent: fields.optional("power_limit_exponent", factor),
        host_limits: fields.or("host_limits", false, Fields::flag),
    }
}

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
            .optional_section("memory", |own| MemoryAssumptions::over(own, Some(&held)))
            .unwrap_or(held),
        scheduling: Scheduling {
            steps: fields
                .named_sections("steps", StepDefaults::read)
                .into_iter()
                .map(|(_, step)| step)
                .collect(),
            policy: fields.or("policy", Policy::default(), choice(POLICIES)),
            host_cache: fields.or("host_cache", HostCache::default(), inner),
        },
    }
}

/// Kernels that an engine brings along; what the table of a family lacks is as of any.
fn engine_kernels(fields: &mut Fields<'_>) -> EngineKernels {
    let any = OwnKernels::read(fields);
    let families = fields.named_sections("families", |own| OwnKernels::over(own, Some(&any)));
    EngineKernels { any, families }
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

fn training(fields: &mut Fields<'_>) -> TrainingAssumptions {
    let general = TrainingAssumptions::read(fields);
    TrainingAssumptions {
        framework: FrameworkAssumptions {
            tensor_overlap: general.tensor_overlap,
            pipeline_overlap: general.pipeline_overlap,
            data_overlap: general.data_overlap,
            data_contention: general.contention,
            ..general.framework
        },
        ..general
    }
}

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
