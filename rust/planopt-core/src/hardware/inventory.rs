//! What a question may be answered with: the accelerators and the hosts they fit, the networks
//! between hosts.

use super::line::{Leaves, NetworkLine};
use crate::catalog::{Accelerator, Catalog, Host, Link, Network, Slot};
use crate::quantity::BytesPerSecond;

/// What is in stock: the entities of a catalog.
#[derive(Clone, Debug, Default)]
pub struct Inventory<'a> {
    /// Accelerators, by id.
    pub accelerators: Vec<&'a Accelerator>,
    /// Hosts, by id.
    pub hosts: Vec<&'a Host>,
    /// Networks, by id.
    pub networks: Vec<&'a Network>,
    /// Links, by id.
    pub links: Vec<&'a Link>,
}

impl<'a> Inventory<'a> {
    /// All entities of a catalog, as the search wants them.
    pub fn of(catalog: &'a Catalog) -> Self {
        Self {
            accelerators: catalog
                .accelerators
                .values()
                .map(|entry| &entry.entity)
                .collect(),
            hosts: catalog.hosts.values().map(|entry| &entry.entity).collect(),
            networks: catalog
                .networks
                .values()
                .map(|entry| &entry.entity)
                .collect(),
            links: catalog.links.values().map(|entry| &entry.entity).collect(),
        }
    }

    fn link(&self, id: &str) -> Option<&'a Link> {
        self.links.iter().find(|link| link.id == id).copied()
    }

    /// Bandwidth between an accelerator and its host: the slower of the host's slot and the
    /// accelerator's own link.
    pub fn pcie(&self, accelerator: &Accelerator, host: &Host) -> Option<BytesPerSecond> {
        let slot = self.link(&host.link)?.bandwidth?;
        let own = accelerator.pcie.and_then(|Slot { generation, lanes }| {
            self.link(&format!("pcie{generation}-x{lanes}"))?.bandwidth
        });
        Some(own.map_or(slot, |own| own.min(slot)))
    }

    /// A network's line between hosts of so many NICs, with the latency of a switch between them.
    pub fn line(&self, network: &Network, nics_per_host: u32) -> Option<NetworkLine> {
        let link = self.link(&network.link)?;
        Some(NetworkLine {
            rate: link.bandwidth?,
            latency: link.latency.unwrap_or_default(),
            rdma: network.rdma,
            nics_per_host,
            leaves: Leaves::of(network, nics_per_host),
        })
    }
}
