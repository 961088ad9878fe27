//! What a catalog describes, as plain data. How the files are read is the business of the other
//! modules here; what the figures mean in time and money, of the rest of the crate.

use super::condition::{Condition, Offered};
use super::offer::Rent;
use crate::quantity::{Bytes, BytesPerSecond, FlopsPerSecond, MicroUsd, Seconds, Watts};

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

/// Dense peak rates, with FP32 accumulation unless the name says otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peak {
    /// FP32 vector (or matrix, where that is what the vendor publishes).
    pub fp32: Option<FlopsPerSecond>,
    /// TF32 matrix.
    pub tf32: Option<FlopsPerSecond>,
    /// FP16 matrix.
    pub fp16: Option<FlopsPerSecond>,
    /// FP16 matrix with FP16 accumulation (consumer cards: twice `fp16`).
    pub fp16_fp16_accumulate: Option<FlopsPerSecond>,
    /// BF16 matrix.
    pub bf16: Option<FlopsPerSecond>,
    /// FP8 matrix.
    pub fp8: Option<FlopsPerSecond>,
    /// FP8 matrix with FP16 accumulation (consumer cards: twice `fp8`).
    pub fp8_fp16_accumulate: Option<FlopsPerSecond>,
    /// INT8 matrix.
    pub int8: Option<FlopsPerSecond>,
    /// FP4 matrix.
    pub fp4: Option<FlopsPerSecond>,
}

/// The fast link between accelerators of one domain (NVLink, Infinity Fabric, ICI ...).
#[derive(Clone, Debug)]
pub struct ScaleUp {
    /// Name as the vendor writes it.
    pub name: String,
    /// Bandwidth of one accelerator, one direction.
    pub bandwidth: BytesPerSecond,
    /// How many accelerators reach each other at that bandwidth.
    pub domain: u32,
    /// Whether it joins accelerators of several hosts (racks of NVL72, pods of TPUs).
    pub between_hosts: bool,
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

/// An accelerator that can be evaluated, and, where it has a price, bought by itself.
#[derive(Clone, Debug)]
pub struct Accelerator {
    /// Catalog id.
    pub id: String,
    /// Catalog id of what it is without a power limit, or whole, where it is less.
    pub limited_from: Option<String>,
    /// How many of it there are on a card: more than one where cards are divided (MIG).
    pub slices: u32,
    /// How a card can be divided.
    pub profiles: Vec<Profile>,
    /// Full name.
    pub name: String,
    /// Vendor.
    pub vendor: String,
    /// Generation the vendor gives it, such as `ada`.
    pub family: String,
    /// `pcie`, `sxm`, `oam`, `superchip`, `soc`, `desktop`, `tpu`, `module`, `cpu`.
    pub form_factor: String,
    /// Whether the vendor's licence allows use in a data center.
    pub datacenter_licence: bool,
    /// Peer-to-peer over PCIe.
    pub peer_to_peer: PeerToPeer,
    /// Whether memory is shared with the processor of the machine.
    pub unified_memory: bool,
    /// Memory capacity.
    pub memory: Bytes,
    /// Memory bandwidth.
    pub memory_bandwidth: BytesPerSecond,
    /// Last-level cache.
    pub l2_cache: Option<Bytes>,
    /// Dense peak rates.
    pub peak: Peak,
    /// Operations in fp32 that a multiprocessor starts in a clock.
    pub lanes: u32,
    /// Board power limit; none where the vendor publishes none.
    pub power: Option<Watts>,
    /// Lowest power limit that can be set.
    pub min_power: Option<Watts>,
    /// PCIe slots taken.
    pub slots: Option<u32>,
    /// PCIe generation.
    pub pcie_generation: Option<u32>,
    /// PCIe lanes.
    pub pcie_lanes: Option<u32>,
    /// Link to its peers, where it has one faster than PCIe.
    pub scale_up: Option<ScaleUp>,
    /// Price that one is bought at, in the condition that is asked for.
    pub price: Option<MicroUsd>,
    /// What new and used ones cost.
    pub offered: Offered,
}

/// What a link joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// An accelerator with its host.
    Pcie,
    /// Accelerators with each other.
    ScaleUp,
    /// Hosts, over Ethernet.
    Ethernet,
    /// Hosts, over InfiniBand.
    Infiniband,
    /// Nothing: it states a latency alone.
    Latency,
}

/// A link: bandwidth in one direction and latency of one message.
#[derive(Clone, Debug)]
pub struct Link {
    /// Catalog id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// What it joins.
    pub kind: LinkKind,
    /// Bandwidth, one direction, where the entry is not a latency alone.
    pub bandwidth: Option<BytesPerSecond>,
    /// One-way latency, where published.
    pub latency: Option<Seconds>,
    /// Bandwidth of the other direction, where it differs.
    pub downlink: Option<BytesPerSecond>,
    /// Share of packets that is lost on the way.
    pub loss: f64,
}

/// Bus bandwidth of an all-reduce over PCIe, by group size (nccl-tests "busbw").
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BusBandwidth {
    /// Two accelerators.
    pub group_2: BytesPerSecond,
    /// Three or four.
    pub group_4: BytesPerSecond,
    /// Five and more.
    pub group_8: BytesPerSecond,
}

/// What a host in a rack is bought with beside its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct RackLines {
    /// Front-end ports, optics and cables for an accelerator, dollars.
    pub front_end_usd_per_accelerator: f64,
    /// Management ports of a host, dollars.
    pub management_usd_per_host: f64,
    /// Storage of a run for an accelerator, dollars.
    pub storage_usd_per_accelerator: f64,
    /// A rack with its power strips, dollars.
    pub racks_usd_per_rack: f64,
    /// Power that a rack takes, kilowatts.
    pub rack_kilowatts: f64,
    /// Freight and integration, as a share of all parts.
    pub freight: f64,
    /// Spare parts, as a share of all parts.
    pub spares: f64,
    /// Memory for KV caches beside that of a host, dollars: in racks or not.
    pub memory_usd_per_host: f64,
    /// Disks for the same.
    pub disks_usd_per_host: f64,
}

/// A host that accelerators are put into, or a complete machine that comes with them.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Catalog id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// Form factors of accelerator that fit.
    pub form_factors: Vec<String>,
    /// Accelerators that can be plugged in.
    pub slots: u32,
    /// Width that there is for them, in slots of a case; none where it is no matter.
    pub card_slots: Option<u32>,
    /// What its power supply gives, or the circuit that it hangs on; none where it is no matter.
    pub power_supply: Option<Watts>,
    /// Whether accelerators come only as a whole board of `slots`.
    pub whole: bool,
    /// Whether it is only considered where a question names it: builds that few would choose.
    pub on_request: bool,
    /// Link id of a slot.
    pub link: String,
    /// All-reduce over PCIe by class: `default`, `slow`, `good`.
    pub all_reduce: Vec<(String, BusBandwidth)>,
    /// NICs that fit.
    pub nics: u32,
    /// Draw without accelerators.
    pub power: Watts,
    /// Height in a rack; 0 for a desktop, which is not hosted.
    pub rack_units: f64,
    /// What it is bought with where it stands in a rack.
    pub lines: RackLines,
    /// Price without accelerators, or of the complete machine; none where it is no longer sold.
    pub price: Option<MicroUsd>,
    /// Whether new ones can be bought today; none where nobody says.
    pub on_sale: Option<bool>,
    /// The accelerator a complete machine comes with.
    pub includes: Option<Included>,
    /// The NICs that its price includes.
    pub included_nics: Option<IncludedNics>,
    /// Where weights can rest that do not fit its accelerators.
    pub stores: Stores,
    /// The terms of a rented instance, whose price is that of an hour; none of a host that is
    /// bought.
    pub rent: Option<Rent>,
}

/// Memory and disk of a host, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stores {
    /// Memory beside that of its accelerators.
    pub memory: Option<Bytes>,
    /// What all of its accelerators together read from it; none where the assumptions say.
    pub memory_bandwidth: Option<BytesPerSecond>,
    /// What they read from its disks.
    pub disk_bandwidth: Option<BytesPerSecond>,
}

/// What a complete machine comes with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// Accelerator id.
    pub accelerator: String,
    /// How many.
    pub count: u32,
}

/// The NICs that the price of a host includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludedNics {
    /// How many.
    pub count: u32,
    /// Ids of the networks that they are NICs of.
    pub networks: Vec<String>,
    /// Whether their optics and cables are in the price, too.
    pub optics: bool,
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

/// A network adapter.
#[derive(Clone, Debug)]
pub struct Nic {
    /// Part id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// Draw.
    pub power: Watts,
    /// PCIe that it needs for its rate; accelerators of an older one do not use it.
    pub pcie_generation: Option<u32>,
    /// Price.
    pub price: Option<MicroUsd>,
}

/// A switch, bought whole.
#[derive(Clone, Debug)]
pub struct Switch {
    /// Part id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// Ports at the network's rate.
    pub ports: u32,
    /// Latency of a hop.
    pub latency: Seconds,
    /// Draw.
    pub power: Watts,
    /// Height in a rack.
    pub rack_units: f64,
    /// Price.
    pub price: Option<MicroUsd>,
}

/// A cable, bought per port in use; between two hosts one cable replaces the switch.
#[derive(Clone, Debug)]
pub struct Cable {
    /// Part id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// Price; without it nothing over the network can be bought.
    pub price: Option<MicroUsd>,
}

/// A link across hosts with the parts that make it.
#[derive(Clone, Debug)]
pub struct Network {
    /// Catalog id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// Link id: rate and latency of one NIC port.
    pub link: String,
    /// `tcp` or `rdma`: which software latency and efficiency of the assumptions apply.
    pub rdma: bool,
    /// How many NICs a host may have.
    pub nics_per_host: Vec<u32>,
    /// The adapter.
    pub nic: Nic,
    /// Switches that fit; empty where only two hosts can be connected, directly.
    pub switches: Vec<Switch>,
    /// Ports of a leaf to hosts over those to spines, at most; 1 where nothing waits for an uplink.
    pub oversubscription: u32,
    /// Cable, where it is priced apart.
    pub cable: Option<Cable>,
    /// What joins switches, where it is another one.
    pub uplink: Option<Cable>,
}

/// Prompt and output lengths of a kind of use.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Workload {
    /// Catalog id.
    pub id: String,
    /// Full name.
    pub name: String,
    /// Tokens of the prompt.
    pub prompt: u32,
    /// Tokens of the output.
    pub output: u32,
    /// Standard deviation of prompts over their mean; none where all are as long.
    pub prompt_cv: Option<f64>,
    /// The same of outputs.
    pub output_cv: Option<f64>,
    /// Requests of a seat in the hour that has the most of them; none where nobody sits there.
    pub requests_per_seat_hour: Option<f64>,
    /// How turns of sessions follow each other; none where requests stand for themselves.
    pub sessions: Option<SessionsOfWorkload>,
}

/// How the turns of sessions follow each other: tokens on average, with standard deviations over
/// them where they differ.
#[derive(Clone, Debug, serde::Serialize)]
#[expect(missing_docs, reason = "deviations are as of all")]
pub struct SessionsOfWorkload {
    /// Tokens that every prompt of a group begins with.
    pub shared: u32,
    /// Groups.
    pub groups: u32,
    /// Tokens of the first prompt behind that.
    pub first: f64,
    pub first_cv: Option<f64>,
    /// Tokens of input that a further turn adds.
    pub grow: f64,
    pub grow_cv: Option<f64>,
    /// Turns; without a deviation each may be the last.
    pub turns: f64,
    pub turns_cv: Option<f64>,
    /// Times between an answer and the next prompt, by kind: share of all, seconds on average, and
    /// standard deviation over these.
    pub think: Vec<[f64; 3]>,
    /// Seconds that none of them exceeds.
    pub longest_think: f64,
    /// Tokens of prompt and answer beyond which a session ends.
    pub max_context: u32,
}

/// What parts the name of an accelerator from its power limit.
pub(crate) const LIMITED_TO: char = '@';

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

/// Instances of a card that is divided into equal ones: the names and shares that its vendor gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Name, such as `1g.10gb`.
    pub name: String,
    /// Share of memory, its bandwidth and cache: so many of so many parts.
    pub memory: [u32; 2],
    /// Share of the multiprocessors.
    pub compute: [u32; 2],
    /// Instances of a card.
    pub instances: u32,
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
