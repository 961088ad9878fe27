//! Groups of ranks on the tiers they are placed on, and the time of their collectives.
//!
//! Order of ranks, innermost first: tensor, context, the data-parallel ranks among which experts
//! are assigned, then a pipeline that a host holds and the other data-parallel ranks, or these and then
//! a longer pipeline. Every rank of a host sends at the same time
//! as the others, so that it has its share of the host's NICs.

use super::choices::Zero;
use super::layout::Layout;
use super::rejection::Rejection;
use crate::catalog::AllReduceAlgorithm;
use crate::hardware::{ALL_REDUCE, Fabric, Leaves, Line};
use crate::quantity::{Bytes, BytesPerSecond, Seconds};

/// Hosts that a collective goes around one after another; of more, the step time of runs does not
/// grow with `n - 1` latencies (`MLPerf` training v3.1: DP 128 to 256 adds 0.7 %), as trees and
/// hierarchies take `log2 n` (Sanders et al., 2009; NCCL's tree and PAT algorithms).
const LONGEST_RING: f64 = 32.0;

/// Ranks that exchange messages: `local` of them reach each other without a network.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Ranks.
    pub ranks: u32,
    /// Ranks of it in one host or scale-up domain.
    pub local: u32,
    line: Line,
    network: Line,
    /// What is left of the network's bandwidth where all send to all.
    exchange: BytesPerSecond,
    algorithm: AllReduceAlgorithm,
}

impl Group {
    /// The `cp` context-parallel ranks that stand around groups of `tp` in hosts of `slots`.
    pub(crate) fn of_context(fabric: &Fabric, slots: u32, tp: u32, cp: u32) -> Self {
        // The hosts of a replica that serves are joined by one switch.
        Place::of(fabric, slots, 0).context(tp, cp)
    }

    /// Hosts or scale-up domains of the group.
    pub fn domains(&self) -> u32 {
        self.ranks.div_ceil(self.local)
    }

    /// Whether nothing is sent: a rank alone, or no bytes, such as the experts of a dense model.
    fn is_silent(&self, payload: Bytes) -> bool {
        self.ranks <= 1 || payload.0 <= 0.0
    }

    /// Reduce-scatter of `payload` per rank, which takes as long as an all-gather of it.
    pub fn reduce_scatter(&self, payload: Bytes) -> Seconds {
        self.rings(payload, 1.0)
    }

    /// Rings inside of the domains, and between them of the shares that the former leave.
    fn rings(&self, payload: Bytes, rounds: f64) -> Seconds {
        if self.is_silent(payload) {
            return Seconds::ZERO;
        }
        match self.algorithm {
            AllReduceAlgorithm::Transfer => self.transfer(payload),
            AllReduceAlgorithm::Ring => {
                let shared = payload / f64::from(self.local);
                self.line.ring(self.local, rounds, payload)
                    + self.between_hosts().ring(self.domains(), rounds, shared)
            }
        }
    }

    /// The network as rings among so many hosts meet it: beyond [`LONGEST_RING`] of them their
    /// heads are joined as a tree, whose depth is what the latency then grows with.
    fn between_hosts(&self) -> Line {
        let hosts = f64::from(self.domains());
        let longest = LONGEST_RING.min(hosts);
        let steps = longest - 1.0 + (hosts / longest).log2();
        Line {
            latency: self.network.latency * (steps / (hosts - 1.0).max(1.0)).min(1.0),
            ..self.network
        }
    }

    /// All-gather of `payload` per rank.
    pub fn all_gather(&self, payload: Bytes) -> Seconds {
        self.reduce_scatter(payload)
    }

    /// All-reduce of `payload` per rank: a reduce-scatter and an all-gather; once over the slowest
    /// link as the seed article counts it.
    pub fn all_reduce(&self, payload: Bytes) -> Seconds {
        self.rings(payload, ALL_REDUCE)
    }

    /// Every rank sends an equal part of `payload` to every other, and of what crosses hosts only
    /// the share `across`.
    pub fn all_to_all(&self, payload: Bytes, across: f64) -> Seconds {
        if self.is_silent(payload) {
            return Seconds::ZERO;
        }
        let part = payload / f64::from(self.ranks);
        let inside = f64::from(self.local - 1);
        let outside = f64::from(self.ranks - self.local);
        let mut time = Seconds::ZERO;
        if inside > 0.0 {
            time += self.line.latency + part * inside / self.line.bandwidth;
        }
        if outside > 0.0 {
            time += self.network.latency + part * (outside * across) / self.exchange;
        }
        time
    }

    /// One message of `payload` from each rank to the next.
    pub fn send(&self, payload: Bytes) -> Seconds {
        if self.is_silent(payload) {
            Seconds::ZERO
        } else if self.domains() > 1 {
            self.network.message(payload)
        } else {
            self.line.message(payload)
        }
    }

    /// The whole payload once, over the slowest of the lines in use.
    fn transfer(&self, payload: Bytes) -> Seconds {
        let over = |line: Line| line.latency.max(payload / line.bandwidth);
        match (self.local > 1, self.domains() > 1) {
            (true, true) => over(self.line).max(over(self.network)),
            (_, true) => over(self.network),
            (_, false) => over(self.line),
        }
    }
}

/// The groups of a layout on its hardware.
#[derive(Clone, Copy, Debug)]
pub struct Groups {
    /// Tensor-parallel.
    pub tensor: Group,
    /// Context-parallel.
    pub context: Group,
    /// Among which experts are assigned.
    pub expert: Group,
    /// Neighbouring stages.
    pub pipeline: Group,
    /// Ranks that shard dense weights, gradients or state.
    pub shard: Group,
    /// Ranks that hold the same shard.
    pub replicate: Group,
    /// The same for experts.
    pub expert_shard: Group,
    /// The same for experts.
    pub expert_replicate: Group,
    /// Whether any group has to cross hosts without a network.
    pub unconnected: bool,
}

impl Groups {
    /// Lays `layout` onto hosts of `slots`, if it can be.
    ///
    /// # Errors
    ///
    /// A tensor-parallel group that would span hosts unevenly, or hosts without a network.
    pub fn placed(layout: &Layout, fabric: &Fabric, slots: u32) -> Result<Self, Rejection> {
        let tp = layout.tp;
        if !tp.is_multiple_of(slots) && !slots.is_multiple_of(tp) {
            return Err(Rejection::Placement {
                tp,
                dp: None,
                slots,
            });
        }
        let groups = Self::new(layout, fabric, slots);
        if groups.unconnected {
            let hosts = layout.accelerators().div_ceil(slots);
            return Err(Rejection::Network { hosts });
        }
        Ok(groups)
    }

    /// Lays `layout` onto hosts of `slots`.
    pub fn new(layout: &Layout, fabric: &Fabric, slots: u32) -> Self {
        let mut place = Place::of(fabric, slots, layout.accelerators());
        let (tp, cp, pp) = (layout.tp, layout.cp, layout.pp);
        let replicas = layout.data_ranks();
        // Data-parallel ranks that stand inside of the pipeline, for their experts.
        // Experts that are not divided take their ranks from the tensor-parallel group first.
        let folded = tp / layout.expert_tp();
        let beyond = layout.ep / common_divisor(layout.ep, folded);
        let expert_data = (beyond / common_divisor(beyond, cp)).min(layout.dp);
        let inner = tp * cp * expert_data;
        let reach = place.reach();
        let near = (reach / tp).max(1);
        // Of the ranks with the same weights, those of one domain. They stand inside of pipelines
        // that no host holds (the order of Megatron-LM's `parallel_state.py`).
        let near_replicas = if inner * pp <= slots {
            (reach / (tp * pp)).min(replicas)
        } else {
            near.min(replicas)
        };
        let near_experts = (near * folded).min(layout.ep);
        let near_expert_replicas = (near_replicas * folded / layout.ep).max(1);
        let shard_group = layout.shard_group.filter(|_| layout.zero != Zero::None);
        let shard = shard_group.unwrap_or(replicas);
        let expert_replicas = layout.expert_replicas();
        let expert_shard = shard_group
            .map_or(expert_replicas, |group| (group * folded / layout.ep).max(1))
            .min(expert_replicas);
        let pipeline = if inner * pp <= reach {
            place.group(pp, pp, inner * pp)
        } else {
            place.group(pp, 1, layout.accelerators())
        };
        let groups = Self {
            tensor: place.group(tp, reach.min(tp), tp),
            context: place.context(tp, cp),
            expert: place.group(layout.ep, near_experts, inner),
            pipeline,
            shard: place.group(shard, near_replicas.min(shard), layout.accelerators()),
            replicate: place.group(
                replicas / shard,
                (near_replicas / shard).max(1),
                layout.accelerators(),
            ),
            expert_shard: place.group(
                expert_shard,
                near_expert_replicas.min(expert_shard),
                layout.accelerators(),
            ),
            expert_replicate: place.group(
                expert_replicas / expert_shard,
                (near_expert_replicas / expert_shard).max(1),
                layout.accelerators(),
            ),
            unconnected: false,
        };
        Self {
            unconnected: place.unconnected,
            ..groups
        }
    }
}

impl Groups {
    /// Kinds of groups that a rank exchanges messages in.
    pub fn in_use(&self) -> f64 {
        let kinds = [
            self.tensor.ranks,
            self.context.ranks,
            self.expert.ranks,
            self.pipeline.ranks,
            self.shard.ranks * self.replicate.ranks,
        ];
        kinds
            .into_iter()
            .map(|ranks| f64::from(u8::from(ranks > 1)))
            .sum()
    }

    /// The same with neighbouring stages of `layout` in hosts of their own, as those on different
    /// accelerators are.
    #[must_use]
    pub fn across_hosts(self, layout: &Layout, fabric: &Fabric, slots: u32) -> Self {
        let mut place = Place::of(fabric, slots, layout.accelerators());
        let pipeline = place.group(layout.pp, 1, layout.accelerators());
        Self {
            pipeline,
            unconnected: self.unconnected || place.unconnected,
            ..self
        }
    }
}

/// Where groups are laid.
struct Place<'f> {
    fabric: &'f Fabric,
    slots: u32,
    /// Leaves whose uplinks are waited for.
    leaves: Option<Leaves>,
    unconnected: bool,
}

impl<'f> Place<'f> {
    /// Among so many accelerators in all.
    fn of(fabric: &'f Fabric, slots: u32, accelerators: u32) -> Self {
        Self {
            fabric,
            slots,
            leaves: fabric.leaves_of(accelerators.div_ceil(slots)),
            unconnected: false,
        }
    }

    /// Ranks that reach each other without a network: those of a host, or of a larger scale-up
    /// domain.
    fn reach(&self) -> u32 {
        let domain = self.fabric.scale_up_domain();
        domain.map_or(self.slots, |domain| self.slots.max(domain))
    }

    /// Ranks that stand around groups of `tp`.
    fn context(&mut self, tp: u32, cp: u32) -> Group {
        let near = (self.reach() / tp).max(1);
        self.group(cp, near.min(cp), tp * cp)
    }

    /// A group of `ranks`, `local` of them near each other, among `span` ranks of a domain.
    fn group(&mut self, ranks: u32, local: u32, span: u32) -> Group {
        let local = local.clamp(1, ranks.max(1));
        let reach = self.reach();
        let network = self.fabric.network_line();
        if network.is_none() && ranks > local {
            self.unconnected = true;
        }
        // Without a network the group is rejected; its time has no meaning.
        let network = network.unwrap_or(Line {
            bandwidth: BytesPerSecond(1.0),
            latency: Seconds::ZERO,
            overhead: Seconds::ZERO,
            bulk: None,
        });
        let share = network.bandwidth / f64::from(self.slots);
        let domains = f64::from(ranks.div_ceil(local));
        let hosts = f64::from(span.div_ceil(self.slots));
        let left = |leaves: Leaves| leaves.left(hosts, domains);
        let [next, all] = self.leaves.map_or([1.0; 2], left);
        Group {
            ranks,
            local,
            line: self.fabric.local_line(span.min(reach), local),
            network: Line {
                bandwidth: share * next,
                ..network
            },
            exchange: share * all,
            algorithm: self.fabric.algorithm(),
        }
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
