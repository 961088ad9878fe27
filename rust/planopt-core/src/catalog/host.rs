//! `hosts/ID.toml`.

use super::accelerator::{Accelerator, FORM_FACTORS};
use super::assumptions::RackLines;
use super::declared::{Table, maybe, or, same, table, unread};
use super::fields::{Fields, number};
use super::network::Network;
use super::offer::Rent;
use crate::quantity::{Bytes, BytesPerSecond, MicroUsd, Watts};

/// Classes of all-reduce over PCIe that a host may have figures of.
pub(super) const ALL_REDUCE_CLASSES: &[&str] = &[DEFAULT_CLASS, "slow", "good", PEER_CLASS];

/// The class unless another is named.
pub const DEFAULT_CLASS: &str = "default";

/// What takes its place for accelerators that read each other's memory over PCIe.
pub const PEER_CLASS: &str = "peer-to-peer";

table! {
    /// A host that accelerators are put into, or a complete machine that comes with them.
    #[derive(Clone, Debug, Default)]
    pub struct Host {
        /// Catalog id.
        pub id: String = Fields::id,
        /// Full name.
        pub name: String = Fields::text,
        /// Form factors of accelerator that fit.
        pub form_factors: Vec<String> = |fields, key| fields.words(key, FORM_FACTORS),
        /// Accelerators that can be plugged in.
        pub slots: u32 = Fields::positive,
        /// Width that there is for them, in slots of a case; none where it is no matter.
        pub card_slots: Option<u32> = maybe(Fields::positive),
        /// What its power supply gives, or the circuit that it hangs on; none where it is no matter.
        pub power_supply: Option<Watts> = maybe(Fields::quantity),
        /// Whether accelerators come only as a whole board of `slots`.
        pub whole: bool = Fields::flag,
        /// Whether it is only considered where a question names it: builds that few would choose.
        pub on_request: bool = or(false, Fields::flag),
        /// Link id of a slot.
        pub link: String = Fields::text,
        /// All-reduce over PCIe by class: `default`, `slow`, `good`.
        pub all_reduce: Vec<(String, BusBandwidth)> = or(Vec::new(), all_reduce),
        /// NICs that fit.
        pub nics: u32 = Fields::quantity,
        /// Draw without accelerators.
        pub power: Watts = Fields::quantity,
        /// Height in a rack; 0 for a desktop, which is not hosted.
        pub rack_units: f64 = number,
        /// What it is bought with where it stands in a rack.
        pub lines: RackLines = unread(RackLines::default()),
        /// Price without accelerators, or of the complete machine; none where it is no longer sold.
        pub price: Option<MicroUsd> = maybe(Fields::price),
        /// Whether new ones can be bought today; none where nobody says.
        pub on_sale: Option<bool> = maybe(Fields::flag),
        /// The accelerator a complete machine comes with.
        pub includes: Option<Included> = unread(None),
        /// The NICs that its price includes.
        pub included_nics: Option<IncludedNics> = unread(None),
        /// Where weights can rest that do not fit its accelerators.
        pub stores: Stores = same,
        /// The terms of a rented instance, whose price is that of an hour; none of a host that is
        /// bought.
        pub rent: Option<Rent> = unread(None),
    }
}

table! {
    /// Memory and disk of a host, as far as they are known.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Stores {
        /// Memory beside that of its accelerators.
        pub memory: Option<Bytes> = maybe(Fields::positive),
        /// What all of its accelerators together read from it; none where the assumptions say.
        pub memory_bandwidth: Option<BytesPerSecond> = maybe(Fields::positive),
        /// What they read from its disks.
        pub disk_bandwidth: Option<BytesPerSecond> = maybe(Fields::positive),
    }
}

table! {
    /// Bus bandwidth of an all-reduce over PCIe, by group size (nccl-tests "busbw").
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct BusBandwidth {
        /// Two accelerators.
        pub group_2: BytesPerSecond = Fields::positive,
        /// Three or four.
        pub group_4: BytesPerSecond = Fields::positive,
        /// Five and more.
        pub group_8: BytesPerSecond = Fields::positive,
    }
}

table! {
    /// What a complete machine comes with.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Included {
        /// Accelerator id.
        pub accelerator: String = Fields::text,
        /// How many.
        pub count: u32 = Fields::positive,
    }
}

table! {
    /// The NICs that the price of a host includes.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct IncludedNics {
        /// How many.
        pub count: u32 as "nics" = Fields::positive,
        /// Ids of the networks that they are NICs of.
        pub networks: Vec<String> = Fields::texts,
        /// Whether their optics and cables are in the price, too.
        pub optics: bool = or(false, Fields::flag),
    }
}

pub(super) fn read(fields: &mut Fields<'_>) -> Host {
    let (includes, included_nics) = fields
        .optional_section("includes", included)
        .unwrap_or_default();
    let host = Host::read(fields);
    Host {
        includes,
        included_nics,
        // A machine that is no longer sold has no price of today.
        price: host.price.filter(|_| host.on_sale != Some(false)),
        ..host
    }
}

fn all_reduce(fields: &mut Fields<'_>, key: &'static str) -> Vec<(String, BusBandwidth)> {
    fields.section(key, |classes| {
        let class = |name: &&'static str| {
            let bandwidth = classes.optional_section(name, BusBandwidth::read)?;
            Some(((*name).to_owned(), bandwidth))
        };
        ALL_REDUCE_CLASSES.iter().filter_map(class).collect()
    })
}

/// What the price of a host includes: accelerators, NICs, or both. Its DPUs are told by
/// `describe`; no network here is built of them.
fn included(fields: &mut Fields<'_>) -> (Option<Included>, Option<IncludedNics>) {
    let machine = fields.optional("accelerator", same);
    let nics = fields.optional("nics", same);
    let _: Option<u32> = fields.optional("dpus", Fields::positive);
    (machine, nics)
}

/// What connecting a host takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connecting {
    /// NICs bought.
    pub nics: u32,
    /// NICs whose cable is bought.
    pub cabled: u32,
}

impl Connecting {
    /// What connecting so many such hosts takes.
    #[must_use]
    pub fn of_hosts(self, hosts: u32) -> Self {
        Self {
            nics: self.nics * hosts,
            cabled: self.cabled * hosts,
        }
    }
}

impl std::iter::Sum for Connecting {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            nics: sum.nics + one.nics,
            cabled: sum.cabled + one.cabled,
        })
    }
}

impl Host {
    /// Whether an accelerator of that id comes with it.
    pub fn comes_with(&self, accelerator: &str) -> bool {
        let included = self.includes.as_ref();
        included.is_some_and(|own| own.accelerator == accelerator)
    }

    /// Whether an accelerator goes into it, or comes with it.
    pub fn fits(&self, accelerator: &Accelerator) -> bool {
        if self.includes.is_some() {
            return self.comes_with(accelerator.model_id());
        }
        self.form_factors.contains(&accelerator.form_factor)
    }

    /// NICs of `network` that one of it takes: its own, or what its own leave room for.
    pub fn room_for(&self, network: &Network) -> u32 {
        match &self.included_nics {
            Some(included) if !included.networks.contains(&network.id) => {
                self.nics.saturating_sub(included.count)
            }
            _ => self.nics,
        }
    }

    /// What is bought to connect one of it to `network` with so many NICs.
    pub fn connecting(&self, network: &Network, nics: u32) -> Connecting {
        let included = self
            .included_nics
            .as_ref()
            .filter(|included| included.networks.contains(&network.id));
        let covered = included.map_or(0, |included| included.count.min(nics));
        let optics = included.is_some_and(|included| included.optics);
        Connecting {
            nics: nics - covered,
            cabled: if optics { nics - covered } else { nics },
        }
    }
}
