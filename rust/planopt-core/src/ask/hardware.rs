//! Hardware by its names: for an evaluation, whether or not it can be bought.

use super::rent::Instances;
use super::request::{EvaluateServing, HardwareKey, unknown_name, wrong_option};
use super::served::ServingRequest;
use crate::catalog::{
    Accelerator, Assumptions, Catalog, Host, Link, Network, ScaleUp, Stores, Terms,
};
use crate::communication::NetworkLine;
use crate::diagnostic::Diagnostic;
use crate::quantity::{Seconds, Watts};
use crate::search::{Fit, Shelf, Space};

/// A network with its line between hosts of so many NICs.
pub(crate) type Connection<'c> = (&'c Network, NetworkLine);

/// PCIe link of accelerators that no host of the catalog takes.
const UNKNOWN_HOST_LINK: &str = "pcie4-x16";

impl Catalog {
    /// All entities, as the search wants them.
    pub fn shelf(&self) -> Shelf<'_> {
        Shelf {
            accelerators: self
                .accelerators
                .values()
                .map(|entry| &entry.entity)
                .collect(),
            hosts: self.hosts.values().map(|entry| &entry.entity).collect(),
            networks: self.networks.values().map(|entry| &entry.entity).collect(),
            links: self.links.values().map(|entry| &entry.entity).collect(),
        }
    }
}

impl ServingRequest {
    /// The assumptions of the catalog with what the question puts in their place.
    ///
    /// # Errors
    ///
    /// A share of the memory that is none, and an engine or a class of all-reduce that does not
    /// exist.
    pub fn assumptions(&self, catalog: &Catalog) -> Result<Assumptions, Vec<Diagnostic>> {
        let mut assumptions = catalog.assumptions.entity.clone();
        if let Some(seconds) = self.software_latency_seconds {
            let latency = Seconds(seconds);
            let reached = &mut assumptions.communication;
            reached.scale_up = reached.scale_up.with_latency(latency);
            reached.pcie_latency = latency;
            reached.pcie_host_latency = latency;
            reached.tcp_latency = latency;
            reached.rdma_latency = latency;
            for (_, link) in &mut assumptions.links {
                *link = link.with_latency(latency);
            }
        }
        if let Some(share) = self.usable_fraction {
            if !(share > 0.0 && share <= 1.0) {
                return Err(vec![wrong_option(
                    "usable_fraction",
                    share.to_string(),
                    "a share above 0, 1 at most".to_owned(),
                )]);
            }
            assumptions.memory.usable_fraction = share;
        }
        if let Some(name) = &self.engine_name {
            let known = assumptions.engines.iter().find(|(own, _)| own == name);
            let Some(engine) = known.map(|(_, engine)| *engine) else {
                let names: Vec<&str> = assumptions
                    .engines
                    .iter()
                    .map(|(own, _)| own.as_str())
                    .collect();
                return Err(vec![unknown_name("engine", name, names.join(", "))]);
            };
            assumptions.under(&engine);
        }
        if let Some(class) = &self.pcie_all_reduce {
            const CLASSES: [&str; 3] = ["default", "slow", "good"];
            if !CLASSES.contains(&class.as_str()) {
                return Err(vec![unknown_name(
                    "pcie_all_reduce",
                    class,
                    CLASSES.join(", "),
                )]);
            }
            assumptions.pcie_all_reduce.clone_from(class);
        }
        Ok(assumptions)
    }
}

/// Accelerator and host of an evaluation, made to measure where the question overrides them.
pub(crate) struct Bench {
    accelerator: Accelerator,
    host: Host,
    pcie: Option<Link>,
}

impl EvaluateServing {
    /// Hosts of one replica and accelerators of each, where the question fixes them.
    fn accelerators_per_host(&self) -> Result<Option<u32>, Diagnostic> {
        let accelerators = self.accelerators();
        match self.hosts {
            None => Ok(None),
            Some(hosts) if hosts > 0 && accelerators.is_multiple_of(hosts) => {
                Ok(Some(accelerators / hosts))
            }
            Some(hosts) => {
                let accepted =
                    format!("a divisor of the {accelerators} accelerators (tp x dp x pp)");
                Err(wrong_option("hosts", hosts.to_string(), accepted))
            }
        }
    }

    /// The hardware that the question names.
    ///
    /// # Errors
    ///
    /// Unknown ids, with the nearest ones, and counts that cannot be.
    pub(crate) fn bench(&self, catalog: &Catalog) -> Result<Bench, Vec<Diagnostic>> {
        let per_host = self
            .accelerators_per_host()
            .map_err(|problem| vec![problem])?;
        Bench::named(
            catalog,
            &Names {
                accelerator: &self.accelerator,
                host: self.host.as_deref(),
                link: self.link.as_deref(),
                per_host,
                per_host_option: ("hosts", self.hosts.unwrap_or(1)),
                accelerators: self.accelerators(),
            },
        )
    }

    /// The network that the question names.
    ///
    /// # Errors
    ///
    /// An unknown id, with the nearest ones.
    pub(crate) fn network_line<'c>(
        &self,
        catalog: &'c Catalog,
    ) -> Result<Option<Connection<'c>>, Vec<Diagnostic>> {
        let Some(id) = &self.network else {
            return Ok(None);
        };
        let nics_per_host = self.nics_per_host.unwrap_or(1);
        line_of(catalog, id, nics_per_host)
    }
}

/// Where a configuration runs: a unit of a plan, or what its names put together.
pub(crate) enum Site<'q> {
    /// A unit of a plan, with its instance if it is rented.
    Purchase(&'q HardwareKey, Instances),
    /// What the names of the question put together.
    Named(&'q EvaluateServing, Box<Bench>),
}

impl EvaluateServing {
    /// Where it runs.
    ///
    /// # Errors
    ///
    /// Unknown ids, with the nearest ones, and counts that cannot be.
    pub(crate) fn site<'q>(&'q self, catalog: &Catalog) -> Result<Site<'q>, Vec<Diagnostic>> {
        Ok(match &self.hardware {
            Some(key) => Site::Purchase(key, key.rented(catalog)?),
            None => Site::Named(self, Box::new(self.bench(catalog)?)),
        })
    }
}

impl Site<'_> {
    /// The accelerator in its host, and the network.
    ///
    /// # Errors
    ///
    /// Unknown ids, with the nearest ones, and a host that cannot take the accelerator.
    pub(crate) fn resolve<'c>(
        &'c self,
        catalog: &'c Catalog,
        assumptions: &Assumptions,
    ) -> Result<(Fit<'c>, Option<Connection<'c>>), Vec<Diagnostic>> {
        match self {
            Self::Purchase(key, rented) => key.resolve(catalog, rented, assumptions),
            Self::Named(question, bench) => {
                let network = question.network_line(catalog)?;
                Ok((bench.fit(catalog, assumptions)?, network))
            }
        }
    }
}

/// The names of a bench, as questions give them.
pub(crate) struct Names<'q> {
    /// Accelerator id.
    pub(crate) accelerator: &'q str,
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
    pub(crate) fn named(catalog: &Catalog, names: &Names) -> Result<Self, Vec<Diagnostic>> {
        let mut accelerator = catalog
            .accelerator(names.accelerator)
            .map_err(|problem| vec![problem.field("--accelerator")])?
            .clone();
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
            if link.kind == "pcie" {
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
    /// The accelerator in its host.
    ///
    /// # Errors
    ///
    /// A host that cannot take one.
    pub(crate) fn fit<'c>(
        &'c self,
        catalog: &'c Catalog,
        assumptions: &Assumptions,
    ) -> Result<Fit<'c>, Vec<Diagnostic>> {
        let (accelerator, host) = (&self.accelerator, &self.host);
        let mut fit = Space::fit(&catalog.shelf(), accelerator, host, assumptions)
            .ok_or_else(|| vec![cannot_take(&host.id)])?;
        if let Some(bandwidth) = self.pcie.as_ref().and_then(|link| link.bandwidth) {
            fit.pcie = bandwidth;
        }
        Ok(fit)
    }
}

/// A host without a link, or without width or power, for one accelerator.
fn cannot_take(host: &str) -> Diagnostic {
    let accepted = "hosts with a link to it, and with width and power for one".to_owned();
    unknown_name("host", host, accepted)
}

impl HardwareKey {
    /// The instance that the host is, where it is rented.
    ///
    /// # Errors
    ///
    /// An unknown offer, with the nearest ones, or unknown terms.
    pub(crate) fn rented(&self, catalog: &Catalog) -> Result<Instances, Vec<Diagnostic>> {
        let Some(name) = &self.terms else {
            return Ok(Instances::default());
        };
        let terms = Terms::from_name(name).ok_or_else(|| {
            let accepted = "on-demand, spot, reserved-12 ...".to_owned();
            vec![unknown_name("terms", name, accepted)]
        })?;
        catalog.instance(&self.host, terms)
    }

    /// The accelerator in its host, and the network; `rented` if the host is.
    ///
    /// # Errors
    ///
    /// Unknown ids, with the nearest ones.
    pub(crate) fn resolve<'c>(
        &self,
        catalog: &'c Catalog,
        rented: &'c Instances,
        assumptions: &Assumptions,
    ) -> Result<(Fit<'c>, Option<Connection<'c>>), Vec<Diagnostic>> {
        if let Some(instance) = rented.host(&self.host) {
            return self.rented_fit(catalog, rented, instance, assumptions);
        }
        let accelerator = catalog
            .accelerator(&self.accelerator)
            .map_err(|p| vec![p])?;
        let host = catalog.host(&self.host).map_err(|problem| vec![problem])?;
        let fit = Space::fit(&catalog.shelf(), accelerator, host, assumptions)
            .ok_or_else(|| vec![cannot_take(&self.host)])?;
        let network = match &self.network {
            Some(id) => line_of(catalog, id, self.nics_per_host)?,
            None => None,
        };
        Ok((fit, network))
    }
}

impl HardwareKey {
    fn rented_fit<'c>(
        &self,
        catalog: &'c Catalog,
        rented: &'c Instances,
        instance: &'c Host,
        assumptions: &Assumptions,
    ) -> Result<(Fit<'c>, Option<Connection<'c>>), Vec<Diagnostic>> {
        let accelerator = catalog
            .accelerator(&self.accelerator)
            .map_err(|problem| vec![problem])?;
        let shelf = rented.shelf(catalog);
        let fit = Space::fit(&shelf, accelerator, instance, assumptions).ok_or_else(|| {
            let accepted = "offers whose hosts have a link with a bandwidth".to_owned();
            vec![unknown_name("host", &self.host, accepted)]
        })?;
        let network = self.network.as_deref().and_then(|id| rented.network(id));
        let line = network.and_then(|network| Some((network, shelf.line(network, 1)?)));
        Ok((fit, line))
    }
}

/// A network by its id, with its line between hosts of so many NICs.
pub(crate) fn line_of<'c>(
    catalog: &'c Catalog,
    id: &str,
    nics_per_host: u32,
) -> Result<Option<Connection<'c>>, Vec<Diagnostic>> {
    let network = catalog
        .network(id)
        .map_err(|problem| vec![problem.field("--network")])?;
    let line = catalog
        .shelf()
        .line(network, nics_per_host)
        .ok_or_else(|| {
            let accepted = "networks whose link has a bandwidth".to_owned();
            vec![unknown_name("network", id, accepted)]
        })?;
    Ok(Some((network, line)))
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
