//! What a model runs on: an accelerator in a host, and the network between hosts.

use super::fabric::{Fabric, Links};
use super::line::NetworkLine;
use super::owned::Owned;
use crate::catalog::{Accelerator, Assumptions, BusBandwidth, Host, Network, ScaleUp};
use crate::quantity::{Bytes, BytesPerSecond};

/// A network with its line between hosts of so many NICs.
pub type Connection<'a> = (&'a Network, NetworkLine);

/// An accelerator in a host it fits, and the network between such hosts: the names of a question,
/// resolved, as formulas read them.
#[derive(Clone, Copy, Debug)]
pub struct System<'a> {
    /// The accelerator.
    pub accelerator: &'a Accelerator,
    /// The host.
    pub host: &'a Host,
    /// Accelerators that one host takes.
    pub slots: u32,
    /// Bandwidth between them.
    pub pcie: BytesPerSecond,
    /// All-reduce over PCIe in that host.
    pub all_reduce_bus: Option<BusBandwidth>,
    /// The network between hosts; none for one host.
    pub network: Option<Connection<'a>>,
    /// What of it is there already, or may be: it is not bought.
    pub owned: Owned,
}

impl<'a> System<'a> {
    /// The same over another network.
    #[must_use]
    pub fn over(self, network: Option<Connection<'a>>) -> Self {
        Self { network, ..self }
    }

    /// Whether its hosts can be connected so: they have room for the NICs, whose rate the accelerators
    /// can take, and instances have a network of their own.
    pub fn takes(&self, (network, line): &Connection) -> bool {
        self.drives(network)
            && line.nics_per_host <= self.host.room_for(network)
            && (self.host.rent.is_none() || network.id == self.host.id)
    }

    /// Whether its accelerators take what a NIC of the network brings: hosts have slots of their
    /// generation.
    pub fn drives(&self, network: &Network) -> bool {
        let own = self.accelerator.pcie.map_or(0, |own| own.generation);
        own >= network.nic.pcie_generation.unwrap_or(0)
    }

    /// The scale-up link between the accelerators of these hosts.
    pub fn scale_up(&self) -> Option<ScaleUp> {
        let link = self.accelerator.scale_up.as_ref()?;
        Some(link.in_hosts_of(self.slots))
    }

    /// Accelerators that it joins: 1 without any.
    pub fn scale_up_domain(&self) -> u32 {
        self.scale_up().map_or(1, |link| link.domain)
    }

    /// Memory of its host that each of so many accelerators may keep something in: none where both
    /// have one memory, unknown where nobody says how much there is.
    pub fn host_share(&self, accelerators: u32, assumptions: &Assumptions) -> Option<Bytes> {
        if self.accelerator.unified_memory {
            return Some(Bytes::ZERO);
        }
        let usable = self.host.stores.memory? * assumptions.memory.unified_usable_fraction;
        Some(usable * (1.0 / f64::from(accelerators.min(self.slots))))
    }

    /// Whether its accelerators all-reduce over PCIe of which the host has figures.
    pub fn reduces_over_pcie(&self) -> bool {
        self.all_reduce_bus.is_some() && self.scale_up_domain() < self.slots
    }

    /// Its links, as reached.
    pub fn fabric(&self, assumptions: &Assumptions) -> Fabric {
        let scale_up = self.scale_up();
        let links = Links {
            scale_up: scale_up.as_ref(),
            pcie: self.pcie,
            all_reduce_bus: self.all_reduce_bus,
            network: self.network.map(|(_, line)| line),
        };
        let mut fabric = Fabric::new(self.accelerator, &links, assumptions);
        if self.host.rack_units > 0.0 {
            fabric.front_end = assumptions.memory.front_end_bandwidth;
        }
        fabric
    }

    /// What of it is bought.
    pub fn parts(&self) -> Hardware<'a> {
        Hardware {
            accelerator: self.accelerator,
            host: self.host,
            network: self
                .network
                .map(|(network, line)| (network, line.nics_per_host)),
            owned: self.owned,
        }
    }
}

/// What of a system is bought.
#[derive(Clone, Copy, Debug)]
pub struct Hardware<'a> {
    /// Accelerator.
    pub accelerator: &'a Accelerator,
    /// Host that it is put into, or the complete machine it comes in.
    pub host: &'a Host,
    /// Network between hosts and NICs of each; none for one host.
    pub network: Option<(&'a Network, u32)>,
    /// What of it is there already.
    pub owned: Owned,
}
