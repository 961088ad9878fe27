//! Hardware by its names: for an evaluation, whether or not it can be bought.

use super::inventory::Inventory;
use super::system::{Connection, System};
use crate::catalog::{Accelerator, Assumptions, Catalog, Host, Link, LinkKind, ScaleUp};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::option::{unknown_name, wrong_option};

/// PCIe link of accelerators that no host of the catalog takes.
const UNKNOWN_HOST_LINK: &str = "pcie4-x16";

/// Accelerator and host of an evaluation, made to measure where the question overrides them.
pub(crate) struct TestSystem {
    accelerator: Accelerator,
    host: Host,
    pcie: Option<Link>,
}

/// Accelerators of a host, where that is fixed, and the option that says so.
#[derive(Clone, Copy)]
pub(super) struct PerHost {
    pub(super) count: u32,
    pub(super) option: &'static str,
    pub(super) value: u32,
}

impl TestSystem {
    /// An accelerator in a host by its id, else in the smallest that holds what a host must.
    pub(super) fn new(
        catalog: &Catalog,
        accelerator: Accelerator,
        host: Option<&str>,
        per_host: Option<PerHost>,
        accelerators: u32,
    ) -> Result<Self, Vec<Diagnostic>> {
        let count = per_host.map(|per_host| per_host.count);
        let host = match host {
            Some(id) => {
                let known = catalog.host(id).map_err(|problem| problem.field("--host"));
                known?.clone()
            }
            None => smallest_host(catalog, &accelerator, count, accelerators),
        };
        let mut test_system = Self {
            accelerator,
            host,
            pcie: None,
        };
        if let Some(per_host) = per_host {
            test_system.spread(per_host, accelerators)?;
        }
        Ok(test_system)
    }

    /// Puts so many of the accelerators into each host; the rest of it stays empty.
    fn spread(&mut self, per_host: PerHost, accelerators: u32) -> Result<(), Vec<Diagnostic>> {
        let PerHost {
            count,
            option,
            value,
        } = per_host;
        let Host {
            id, slots, whole, ..
        } = &self.host;
        let accepted = if count > *slots {
            format!("hosts for at most {slots} accelerators each")
        } else if *whole && count < *slots && accelerators > count {
            format!("full hosts: `{id}` comes with all of its {slots} accelerators")
        } else {
            if !whole {
                self.host.slots = count;
            }
            return Ok(());
        };
        Err(vec![wrong_option(option, &value, accepted)])
    }

    /// Joins the accelerators by a link in place of the hardware's own.
    pub(super) fn join(&mut self, link: Link, accelerators: u32) -> Result<(), Vec<Diagnostic>> {
        let Some(bandwidth) = link.bandwidth else {
            let accepted = "links with a bandwidth";
            return Err(vec![unknown_name("link", &link.id, accepted)]);
        };
        if link.kind == LinkKind::Pcie {
            self.accelerator.scale_up = None;
            self.pcie = Some(link);
        } else {
            self.accelerator.scale_up = Some(ScaleUp {
                name: link.name,
                bandwidth,
                domain: accelerators,
                between_hosts: false,
            });
        }
        Ok(())
    }

    /// The accelerator in its host, alone.
    ///
    /// # Errors
    ///
    /// A host that cannot take one.
    pub(crate) fn system<'c>(
        &'c self,
        catalog: &'c Catalog,
        assumptions: &Assumptions,
    ) -> Result<System<'c>, Vec<Diagnostic>> {
        let (accelerator, host) = (&self.accelerator, &self.host);
        let mut system = Inventory::of(catalog)
            .mount(accelerator, host, assumptions)
            .ok_or_else(|| vec![cannot_take(&host.id)])?;
        if let Some(bandwidth) = self.pcie.as_ref().and_then(|link| link.bandwidth) {
            system.pcie = bandwidth;
        }
        Ok(system)
    }
}

/// A host without a link, or without width or power, for one accelerator.
fn cannot_take(host: &str) -> Diagnostic {
    let accepted = "hosts with a link to it, and with width and power for one";
    unknown_name("host", host, accepted)
}

/// A network by its id, with its line between hosts of so many NICs.
pub(crate) fn line_of<'c>(
    catalog: &'c Catalog,
    id: &str,
    nics_per_host: u32,
) -> Result<Connection<'c>, Vec<Diagnostic>> {
    let network = catalog.network(id);
    let network = network.map_err(|problem| problem.field("--network"))?;
    let line = Inventory::of(catalog).line(network, nics_per_host);
    let accepted = "networks whose link has a bandwidth";
    let line = line.ok_or_else(|| unknown_name("network", id, accepted))?;
    Ok((network, line))
}

/// The smallest host of the catalog that takes the accelerators; the cheapest of equals.
fn smallest_host(
    catalog: &Catalog,
    accelerator: &Accelerator,
    per_host: Option<u32>,
    accelerators: u32,
) -> Host {
    let hosts = catalog.hosts.values().map(|entry| &entry.entity);
    let mut fitting: Vec<&Host> = hosts.filter(|host| host.fits(accelerator)).collect();
    fitting.sort_by_key(|host| (host.includes.is_some(), host.slots, host.price, &host.id));
    let wanted = per_host.unwrap_or(accelerators);
    // Several of what comes whole are full.
    let fills = |host: &Host| !(host.whole && per_host.is_some() && accelerators > wanted);
    let holds = |host: &Host| host.slots == wanted || (host.slots > wanted && fills(host));
    let smallest = fitting.iter().find(|host| holds(host));
    let largest = || fitting.iter().max_by_key(|host| host.slots);
    let chosen = if per_host.is_some() {
        smallest
    } else {
        smallest.or_else(largest)
    };
    chosen.map_or_else(|| unknown_host(accelerator, wanted), |host| (*host).clone())
}

/// A host without a price for accelerators that no host of the catalog takes.
pub(super) fn unknown_host(accelerator: &Accelerator, slots: u32) -> Host {
    Host {
        id: "unknown".to_owned(),
        name: format!("unknown host of {slots} x {}", accelerator.name),
        form_factors: vec![accelerator.form_factor.clone()],
        slots,
        link: UNKNOWN_HOST_LINK.to_owned(),
        nics: slots,
        ..Host::default()
    }
}
