//! `accelerators/ID.toml`.

use super::condition::{Condition, Offered};
use super::declared::{Table, choice, inner, list, maybe, or, same, table, unread};
use super::fields::Fields;
use crate::quantity::{Bytes, BytesPerSecond, FlopsPerSecond, MicroUsd, Seconds, Watts};

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

/// How accelerators of one host reach each other over PCIe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerToPeer {
    /// Directly.
    Yes,
    /// Through host memory only.
    No,
    /// Directly over an NVLink bridge, through host memory over PCIe.
    NvlinkOnly,
}

const PEER_TO_PEER: &[(&str, PeerToPeer)] = &[
    ("yes", PeerToPeer::Yes),
    ("no", PeerToPeer::No),
    ("nvlink-only", PeerToPeer::NvlinkOnly),
];

table! {
    /// Dense peak rates, with FP32 accumulation unless the name says otherwise.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct Peak {
        /// FP32 vector (or matrix, where that is what the vendor publishes).
        pub fp32: Option<FlopsPerSecond> = maybe(Fields::positive),
        /// TF32 matrix.
        pub tf32: Option<FlopsPerSecond> = maybe(Fields::positive),
        /// FP16 matrix.
        pub fp16: Option<FlopsPerSecond> = maybe(Fields::positive),
        /// FP16 matrix with FP16 accumulation (consumer cards: twice `fp16`).
        pub fp16_fp16_accumulate: Option<FlopsPerSecond> = maybe(Fields::positive),
        /// BF16 matrix.
        pub bf16: Option<FlopsPerSecond> = maybe(Fields::positive),
        /// FP8 matrix.
        pub fp8: Option<FlopsPerSecond> = maybe(Fields::positive),
        /// FP8 matrix with FP16 accumulation (consumer cards: twice `fp8`).
        pub fp8_fp16_accumulate: Option<FlopsPerSecond> = maybe(Fields::positive),
        /// INT8 matrix.
        pub int8: Option<FlopsPerSecond> = maybe(Fields::positive),
        /// FP4 matrix.
        pub fp4: Option<FlopsPerSecond> = maybe(Fields::positive),
    }
}

table! {
    /// The fast link between accelerators of one domain (NVLink, Infinity Fabric, ICI ...).
    #[derive(Clone, Debug)]
    pub struct ScaleUp {
        /// Name as the vendor writes it.
        pub name: String = Fields::text,
        /// Bandwidth of one accelerator, one direction.
        pub bandwidth: BytesPerSecond = Fields::positive,
        /// How many accelerators reach each other at that bandwidth.
        pub domain: u32 = Fields::positive,
        /// Whether it joins accelerators of several hosts (racks of NVL72, pods of TPUs).
        pub between_hosts: bool = or(false, Fields::flag),
    }
}

table! {
    /// An accelerator that can be evaluated, and, where it has a price, bought by itself.
    #[derive(Clone, Debug)]
    pub struct Accelerator {
        /// Catalog id.
        pub id: String = Fields::id,
        /// Full name.
        pub name: String = Fields::text,
        /// Vendor.
        pub vendor: String = Fields::text,
        /// Generation the vendor gives it, such as `ada`.
        pub family: String = Fields::text,
        /// Its own PCIe link, where it has one.
        pub pcie: Option<Slot> = maybe(inner),
        /// Catalog id of what it is without a power limit, or whole, where it is less.
        pub limited_from: Option<String> = unread(None),
        /// How many of it there are on a card: more than one where cards are divided (MIG).
        pub slices: u32 = unread(1),
        /// How a card can be divided.
        pub profiles: Vec<Profile> as "mig" = list,
        /// `pcie`, `sxm`, `oam`, `superchip`, `soc`, `desktop`, `tpu`, `module`, `cpu`.
        pub form_factor: String = |fields, key| fields.word(key, FORM_FACTORS),
        /// Whether the vendor's licence allows use in a data center.
        pub datacenter_licence: bool = Fields::flag,
        /// Peer-to-peer over PCIe.
        pub peer_to_peer: PeerToPeer = choice(PEER_TO_PEER),
        /// Whether memory is shared with the processor of the machine.
        pub unified_memory: bool = Fields::flag,
        /// Memory capacity.
        pub memory: Bytes = Fields::positive,
        /// Memory bandwidth.
        pub memory_bandwidth: BytesPerSecond = Fields::positive,
        /// Last-level cache.
        pub l2_cache: Option<Bytes> = maybe(Fields::quantity),
        /// Dense peak rates.
        pub peak: Peak = or(Peak::default(), inner),
        /// Operations in fp32 that a multiprocessor starts in a clock.
        pub lanes: u32 = or(LANES, Fields::positive),
        /// Board power limit; none where the vendor publishes none.
        pub power: Option<Watts> = maybe(Fields::quantity),
        /// Lowest power limit that can be set.
        pub min_power: Option<Watts> = maybe(Fields::quantity),
        /// PCIe slots taken.
        pub slots: Option<u32> = maybe(Fields::quantity),
        /// Link to its peers, where it has one faster than PCIe.
        pub scale_up: Option<ScaleUp> = maybe(inner),
        /// Price that one is bought at, in the condition that is asked for.
        pub price: Option<MicroUsd> = unread(None),
        /// What new and used ones cost.
        pub offered: Offered = same,
    }
}

table! {
    /// A PCIe link.
    #[derive(Clone, Copy, Debug)]
    pub struct Slot {
        /// Generation.
        pub generation: u32 = Fields::positive,
        /// Lanes.
        pub lanes: u32 = Fields::positive,
    }
}

table! {
    /// Instances of a card that is divided into equal ones: the names and shares that its vendor gives.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Profile {
        /// Name, such as `1g.10gb`.
        pub name: String as "profile" = Fields::text,
        /// Share of memory, its bandwidth and cache: so many of so many parts.
        pub memory: [u32; 2] = |fields, key| [key, "memory_of"].map(|key| fields.positive(key)),
        /// Share of the multiprocessors.
        pub compute: [u32; 2] = |fields, key| [key, "compute_of"].map(|key| fields.positive(key)),
        /// Instances of a card.
        pub instances: u32 = Fields::positive,
    }
}

/// What parts the name of an accelerator from its power limit.
pub(crate) const LIMITED_TO: char = '@';

pub(super) fn read(fields: &mut Fields<'_>) -> Accelerator {
    let accelerator = Accelerator::read(fields);
    // Told by `describe`; nothing is computed from these.
    let _: u32 = fields.positive("year");
    let _: Option<Watts> = fields.optional("idle_power", Fields::quantity);
    let _: Option<Seconds> = fields.optional("delivery", Fields::quantity);
    accelerator.bought(Condition::New)
}

impl ScaleUp {
    /// The link as accelerators in hosts of `slots` have it.
    #[must_use]
    pub fn in_hosts_of(&self, slots: u32) -> Self {
        let mut link = self.clone();
        if !link.between_hosts {
            link.domain = link.domain.min(slots);
        }
        link
    }
}

impl Accelerator {
    /// The same, bought in some condition.
    #[must_use]
    pub fn bought(self, condition: Condition) -> Self {
        Self {
            price: self.offered.price(condition),
            ..self
        }
    }

    /// What it is without a power limit: assumptions and stock go by that.
    pub fn model_id(&self) -> &str {
        self.limited_from.as_deref().unwrap_or(&self.id)
    }

    /// One of the instances that a card is divided into: no link joins them, and none reads another
    /// one's memory.
    pub(crate) fn divided(&self, profile: &Profile, name: &str) -> Self {
        let share = |[some, all]: [u32; 2]| f64::from(some) / f64::from(all);
        let memory = share(profile.memory);
        Self {
            id: name.to_owned(),
            limited_from: Some(self.id.clone()),
            slices: profile.instances,
            profiles: Vec::new(),
            name: format!("{} as {} x {}", self.name, profile.instances, profile.name),
            memory: self.memory * memory,
            memory_bandwidth: self.memory_bandwidth * memory,
            l2_cache: self.l2_cache.map(|cache| cache * memory),
            peak: self.peak.times(share(profile.compute)),
            power: self
                .power
                .map(|power| power * (1.0 / f64::from(profile.instances))),
            min_power: None,
            scale_up: None,
            peer_to_peer: PeerToPeer::No,
            ..self.clone()
        }
    }

    pub(crate) fn limited(&self, name: &str, power: Watts, speed: f64) -> Self {
        Self {
            id: name.to_owned(),
            limited_from: Some(self.id.clone()),
            name: format!("{} at {:.0} W", self.name, power.0),
            peak: self.peak.times(speed),
            power: Some(power),
            ..self.clone()
        }
    }
}

impl Peak {
    /// All rates, as a share of what they are.
    fn times(&self, share: f64) -> Self {
        let times = |rate: Option<FlopsPerSecond>| rate.map(|rate| FlopsPerSecond(rate.0 * share));
        Self {
            fp32: times(self.fp32),
            tf32: times(self.tf32),
            fp16: times(self.fp16),
            fp16_fp16_accumulate: times(self.fp16_fp16_accumulate),
            bf16: times(self.bf16),
            fp8: times(self.fp8),
            fp8_fp16_accumulate: times(self.fp8_fp16_accumulate),
            int8: times(self.int8),
            fp4: times(self.fp4),
        }
    }
}
