//! `hosts/ID.toml`.

use super::accelerator::FORM_FACTORS;
use super::entities::{BusBandwidth, Host, Included, IncludedNics, RackLines, Stores};
use super::fields::Fields;
use crate::quantity::{Dimension, MicroUsd};

/// Classes of all-reduce over PCIe that a host may have figures of.
pub(super) const ALL_REDUCE_CLASSES: &[&str] = &[DEFAULT_CLASS, "slow", "good", PEER_CLASS];

/// The class unless another is named.
pub const DEFAULT_CLASS: &str = "default";

/// What takes its place for accelerators that read each other's memory over PCIe.
pub const PEER_CLASS: &str = "peer-to-peer";

pub(super) fn read(fields: &mut Fields<'_>) -> Host {
    // A machine that is no longer sold has no price of today.
    let price: Option<MicroUsd> = fields.optional("price", Fields::price);
    let on_sale = fields.optional("on_sale", Fields::flag);
    let (includes, included_nics) = fields
        .optional_section("includes", included)
        .unwrap_or_default();
    Host {
        id: fields.id(),
        name: fields.text("name"),
        form_factors: fields.words("form_factors", FORM_FACTORS),
        slots: fields.positive("slots"),
        card_slots: fields.optional("card_slots", Fields::positive),
        power_supply: fields.optional("power_supply", Fields::quantity),
        whole: fields.flag("whole"),
        on_request: fields.or("on_request", false, Fields::flag),
        link: fields.text("link"),
        all_reduce: fields
            .optional_section("all_reduce", all_reduce)
            .unwrap_or_default(),
        nics: fields.quantity("nics"),
        power: fields.quantity("power"),
        rack_units: fields.number("rack_units", Dimension::Number),
        lines: RackLines::default(),
        price: price.filter(|_| on_sale != Some(false)),
        on_sale,
        includes,
        included_nics,
        stores: Stores {
            memory: fields.optional("memory", Fields::positive),
            memory_bandwidth: fields.optional("memory_bandwidth", Fields::positive),
            disk_bandwidth: fields.optional("disk_bandwidth", Fields::positive),
        },
        rent: None,
    }
}

fn all_reduce(classes: &mut Fields<'_>) -> Vec<(String, BusBandwidth)> {
    let class = |name: &&'static str| {
        classes
            .optional_section(name, bus_bandwidth)
            .map(|bandwidth| ((*name).to_owned(), bandwidth))
    };
    ALL_REDUCE_CLASSES.iter().filter_map(class).collect()
}

fn bus_bandwidth(fields: &mut Fields<'_>) -> BusBandwidth {
    BusBandwidth {
        group_2: fields.positive("group_2"),
        group_4: fields.positive("group_4"),
        group_8: fields.positive("group_8"),
    }
}

/// What the price of a host includes: accelerators, NICs, or both. Its DPUs are told by
/// `describe`; no network here is built of them.
fn included(fields: &mut Fields<'_>) -> (Option<Included>, Option<IncludedNics>) {
    let accelerator = fields.optional("accelerator", Fields::text);
    let machine = accelerator.map(|accelerator| Included {
        accelerator,
        count: fields.positive("count"),
    });
    let count = fields.optional("nics", Fields::positive);
    let nics = count.map(|count| IncludedNics {
        count,
        networks: fields.texts("networks"),
        optics: fields.or("optics", false, Fields::flag),
    });
    let _: Option<u32> = fields.optional("dpus", Fields::positive);
    (machine, nics)
}
