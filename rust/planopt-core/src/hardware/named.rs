//! Hardware by its names: for an evaluation, whether or not it can be bought.

use super::inventory::Shelf;
use super::system::{Connection, System};
use crate::catalog::{Accelerator, Assumptions, Catalog, Host, Link, LinkKind, ScaleUp, Stores};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::option::{unknown_name, wrong_option};
use crate::quantity::Watts;

/// PCIe link of accelerators that no host of the catalog takes.
const UNKNOWN_HOST_LINK: &str = "pcie4-x16";

/// Accelerator and host of an evaluation, made to measure where the question overrides them.
pub(crate) struct Bench {
    accelerator: Accelerator,
    host: Host,
    pcie: Option<Link>,
}

/// The names of a bench, as questions give them.
pub(crate) struct Names<'q> {
    /// The accelerator.
    pub(crate) accelerator: Accelerator,
    /// Host id; else the smallest that holds what a host must.
    pub(crate) host: Option<&'q str>,
    /// Link id inside a host.
    pub(crate) link: Option<&'q str>,
    /// Accelerators of a host, where they are fixed.
    pub(crate) per_host: Option<u32>,
    /// The option that fixes them, and its value.
    pub(crate) per_host_option: (&'static str, u32),
    /// Accelerators in all.
    pub(crate) accelerators: u32,
}

impl Bench {
    /// The hardware of those names.
    ///
    /// # Errors
    ///
    /// Unknown ids, with the nearest ones, and counts that cannot be.
    pub(crate) fn named(catalog: &Catalog, names: Names) -> Result<Self, Vec<Diagnostic>> {
        let mut accelerator = names.accelerator;
        let mut host = match names.host {
            Some(id) => catalog
                .host(id)
                .map_err(|problem| vec![problem.field("--host")])?
                .clone(),
            None => smallest_host(catalog, &accelerator, names.per_host, names.accelerators),
        };
        if let Some(per_host) = names.per_host {
            if per_host > host.slots {
                let accepted = format!("hosts for at most {} accelerators each", host.slots);
                let (option, value) = names.per_host_option;
                return Err(vec![wrong_option(option, value.to_string(), accepted)]);
            }
            if !host.whole {
                // The accelerators are spread evenly; the rest of the host stays empty.
                host.slots = per_host;
            } else if per_host < host.slots && names.accelerators > per_host {
                let accepted = format!(
                    "full hosts: `{}` comes with all of its {} accelerators",
                    host.id, host.slots
                );
                let (option, value) = names.per_host_option;
                return Err(vec![wrong_option(option, value.to_string(), accepted)]);
            }
        }
        let link = match names.link {
            Some(id) => Some(
                catalog
                    .link(id)
                    .map_err(|problem| vec![problem.field("--link")])?
                    .clone(),
            ),
            None => None,
        };
        let mut pcie = None;
        if let Some(link) = link {
            let Some(bandwidth) = link.bandwidth else {
                let accepted = "links with a bandwidth".to_owned();
                return Err(vec![unknown_name("link", &link.id, accepted)]);
            };
            if link.kind == LinkKind::Pcie {
                accelerator.scale_up = None;
                pcie = Some(link);
            } else {
                let domain = names.accelerators;
                let name = link.name.clone();
                accelerator.scale_up = Some(ScaleUp {
                    name,
                    bandwidth,
                    domain,
                    between_hosts: false,
                });
            }
        }
        Ok(Self {
            accelerator,
            host,
            pcie,
        })
    }
}

impl Bench {
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
        let mut system = Shelf::of(catalog)
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
    let accepted = "hosts with a link to it, and with width and power for one".to_owned();
    unknown_name("host", host, accepted)
}

/// A network by its id, with its line between hosts of so many NICs.
pub(crate) fn line_of<'c>(
    catalog: &'c Catalog,
    id: &str,
    nics_per_host: u32,
) -> Result<Connection<'c>, Vec<Diagnostic>> {
    let network = catalog
        .network(id)
        .map_err(|problem| vec![problem.field("--network")])?;
    let line = Shelf::of(catalog)
        .line(network, nics_per_host)
        .ok_or_else(|| {
            let accepted = "networks whose link has a bandwidth".to_owned();
            vec![unknown_name("network", id, accepted)]
        })?;
    Ok((network, line))
}

/// The smallest host of the catalog that takes the accelerators; the cheapest of equals.
fn smallest_host(
    catalog: &Catalog,
    accelerator: &Accelerator,
    per_host: Option<u32>,
    accelerators: u32,
) -> Host {
    let takes = |host: &&Host| match &host.includes {
        Some(included) => included.accelerator == accelerator.model_id(),
        None => host.form_factors.contains(&accelerator.form_factor),
    };
    let mut fitting: Vec<&Host> = catalog
        .hosts
        .values()
        .map(|entry| &entry.entity)
        .filter(takes)
        .collect();
    fitting.sort_by_key(|host| (host.includes.is_some(), host.slots, host.price, &host.id));
    let wanted = per_host.unwrap_or(accelerators);
    let smallest = fitting.iter().find(|host| host.slots >= wanted);
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
        card_slots: None,
        power_supply: None,
        whole: false,
        on_request: false,
        link: UNKNOWN_HOST_LINK.to_owned(),
        all_reduce: Vec::new(),
        nics: slots,
        power: Watts::ZERO,
        rack_units: 0.0,
        price: None,
        on_sale: None,
        includes: None,
        included_nics: None,
        stores: Stores::default(),
        rent: None,
    }
}
