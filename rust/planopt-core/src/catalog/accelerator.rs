//! `accelerators/ID.toml`.

use super::condition::{Condition, Offered};
use super::entities::{Accelerator, Peak, PeerToPeer, Profile, ScaleUp};
use super::fields::Fields;
use crate::quantity::{Seconds, Watts};

/// How accelerators are built, and with it which hosts they fit.
pub(super) const FORM_FACTORS: &[&str] = &[
    "pcie",
    "sxm",
    "sxm6",
    "oam",
    "superchip",
    "soc",
    "desktop",
    "tpu",
    "module",
    "cpu",
];

/// Operations in fp32 that a multiprocessor starts in a clock, unless told otherwise: 128 from
/// compute capability 8.6 on (CUDA C++ programming guide, throughput of native arithmetic
/// instructions) and of Apple's cores.
const LANES: u32 = 128;

const PEER_TO_PEER: &[(&str, PeerToPeer)] = &[
    ("yes", PeerToPeer::Yes),
    ("no", PeerToPeer::No),
    ("nvlink-only", PeerToPeer::NvlinkOnly),
];

pub(super) fn read(fields: &mut Fields<'_>) -> Accelerator {
    let id = fields.id();
    let name = fields.text("name");
    let vendor = fields.text("vendor");
    let family = fields.text("family");
    // Told by `describe`; nothing is computed from these.
    let _: u32 = fields.positive("year");
    let _: Option<Watts> = fields.optional("idle_power", Fields::quantity);
    let _: Option<Seconds> = fields.optional("delivery", Fields::quantity);
    let pcie = fields.optional_section("pcie", |pcie| {
        (pcie.positive("generation"), pcie.positive("lanes"))
    });
    Accelerator {
        id,
        limited_from: None,
        slices: 1,
        profiles: fields.sections("mig", profile),
        name,
        vendor,
        family,
        form_factor: fields.word("form_factor", FORM_FACTORS),
        datacenter_licence: fields.flag("datacenter_licence"),
        peer_to_peer: fields.choice("peer_to_peer", PEER_TO_PEER),
        unified_memory: fields.flag("unified_memory"),
        memory: fields.positive("memory"),
        memory_bandwidth: fields.positive("memory_bandwidth"),
        l2_cache: fields.optional("l2_cache", Fields::quantity),
        peak: fields.optional_section("peak", peak).unwrap_or_default(),
        lanes: fields.or("lanes", LANES, Fields::positive),
        power: fields.optional("power", Fields::quantity),
        min_power: fields.optional("min_power", Fields::quantity),
        slots: fields.optional("slots", Fields::quantity),
        pcie_generation: pcie.map(|(generation, _)| generation),
        pcie_lanes: pcie.map(|(_, lanes)| lanes),
        scale_up: fields.optional_section("scale_up", scale_up),
        price: None,
        offered: Offered {
            new: fields.optional("price", Fields::price),
            used: fields.optional("price_used", Fields::price),
            on_sale: fields.optional("on_sale", Fields::flag),
        },
    }
    .bought(Condition::New)
}

fn profile(fields: &mut Fields<'_>) -> Profile {
    Profile {
        name: fields.text("profile"),
        memory: [fields.positive("memory"), fields.positive("memory_of")],
        compute: [fields.positive("compute"), fields.positive("compute_of")],
        instances: fields.positive("instances"),
    }
}

fn peak(fields: &mut Fields<'_>) -> Peak {
    Peak {
        fp32: fields.optional("fp32", Fields::positive),
        tf32: fields.optional("tf32", Fields::positive),
        fp16: fields.optional("fp16", Fields::positive),
        fp16_fp16_accumulate: fields.optional("fp16_fp16_accumulate", Fields::positive),
        bf16: fields.optional("bf16", Fields::positive),
        fp8: fields.optional("fp8", Fields::positive),
        fp8_fp16_accumulate: fields.optional("fp8_fp16_accumulate", Fields::positive),
        int8: fields.optional("int8", Fields::positive),
        fp4: fields.optional("fp4", Fields::positive),
    }
}

fn scale_up(fields: &mut Fields<'_>) -> ScaleUp {
    ScaleUp {
        name: fields.text("name"),
        bandwidth: fields.positive("bandwidth"),
        domain: fields.positive("domain"),
        between_hosts: fields.or("between_hosts", false, Fields::flag),
    }
}
