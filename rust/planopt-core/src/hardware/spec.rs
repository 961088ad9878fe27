//! Hardware as questions name it, and what the names come to.

use super::instances::Instances;
use super::named::{PerHost, TestSystem, line_of};
use super::owned::Owned;
use super::system::System;
use crate::catalog::{Accelerator, Assumptions, Catalog, LIMITED_TO, Network, Terms};
use crate::diagnostic::option::{
    LARGEST_COUNT, LARGEST_NICS, none_of, unknown_name, wrong_counts, wrong_option,
};
use crate::diagnostic::{Diagnostic, code};
use crate::quantity::Watts;
use serde::{Deserialize, Serialize};

/// Hardware by its names.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct HardwareSpec {
    /// Accelerator id.
    pub accelerator: Option<String>,
    /// What its power is limited to, where it is below its own.
    pub power_limit_watts: Option<f64>,
    /// Host id; else the smallest that holds what a host must. Of what is rented, its offer:
    /// `provider/instance/region`.
    pub host: Option<String>,
    /// Terms that the host is rented on.
    pub terms: Option<String>,
    /// Accelerators of a host; else as many as it has slots.
    pub accelerators_per_host: Option<u32>,
    /// Hosts that the accelerators are spread over evenly, in place of how many are in each.
    pub hosts: Option<u32>,
    /// Link id inside a host, in place of the hardware's own.
    pub link: Option<String>,
    /// Network id across hosts.
    pub network: Option<String>,
    /// NICs of a host.
    pub nics_per_host: Option<u32>,
    /// What of a unit is there already.
    #[serde(skip_serializing_if = "Owned::is_none")]
    pub owned: Owned,
}

/// NICs of a host, where the question does not say how many.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Nics {
    /// One.
    One,
    /// As many as the host takes.
    AllThatFit,
}

impl HardwareSpec {
    /// Checks that every count can be one.
    pub(crate) fn check(&self) -> Result<(), Vec<Diagnostic>> {
        none_of(wrong_counts([
            ("hosts", self.hosts, LARGEST_COUNT),
            (
                "accelerators_per_host",
                self.accelerators_per_host,
                LARGEST_COUNT,
            ),
            ("nics_per_host", self.nics_per_host, LARGEST_NICS),
        ]))
    }

    /// Its accelerator.
    pub(crate) fn accelerator(&self) -> Result<&str, Vec<Diagnostic>> {
        self.accelerator.as_deref().ok_or_else(|| {
            let problem = Diagnostic::new(code::MISSING_KEY, "which accelerator?");
            let problem = problem.field("hardware.accelerator").value("nothing");
            vec![problem.accepted("an id of `planopt catalog list accelerators`")]
        })
    }

    /// Accelerators of a host, where that is fixed.
    fn per_host(&self, accelerators: u32) -> Result<Option<PerHost>, Diagnostic> {
        let by = |option, value, count| {
            Ok(Some(PerHost {
                count,
                option,
                value,
            }))
        };
        let wrong = |hosts: u32, accepted: String| Err(wrong_option("hosts", &hosts, accepted));
        match (self.accelerators_per_host, self.hosts) {
            (None, None) => Ok(None),
            (Some(count), None) => by("accelerators_per_host", count, count),
            (None, Some(hosts)) if hosts > 0 && accelerators.is_multiple_of(hosts) => {
                by("hosts", hosts, accelerators / hosts)
            }
            (None, Some(hosts)) => {
                let accepted =
                    format!("a divisor of the {accelerators} accelerators (tp x dp x pp)");
                wrong(hosts, accepted)
            }
            (Some(_), Some(hosts)) => {
                let accepted = "nothing beside accelerators_per_host, which says it too";
                wrong(hosts, accepted.to_owned())
            }
        }
    }

    /// An accelerator, limited in its power where that is asked for.
    fn limited(&self, catalog: &Catalog, id: &str) -> Result<Accelerator, Vec<Diagnostic>> {
        let accelerator = match self.power_limit_watts {
            None => catalog.accelerator(id).cloned(),
            Some(watts) => {
                let name = format!("{id}{LIMITED_TO}{watts}W");
                catalog.limited(id, Watts(watts), &name)
            }
        };
        Ok(accelerator.map_err(|problem| problem.field("--accelerator"))?)
    }

    /// Checks that nothing is said of an instance that only whoever owns it can choose.
    fn check_rented(&self) -> Result<(), Vec<Diagnostic>> {
        let chosen = [
            (
                "power_limit_watts",
                self.power_limit_watts.map(|watts| watts.to_string()),
            ),
            (
                "accelerators_per_host",
                self.accelerators_per_host.map(|many| many.to_string()),
            ),
            ("hosts", self.hosts.map(|many| many.to_string())),
            ("link", self.link.clone()),
        ];
        let wrong = chosen.into_iter().filter_map(|(option, value)| {
            let accepted = "nothing with terms: an instance is as it is rented out";
            Some(wrong_option(option, &value?, accepted))
        });
        none_of(wrong)
    }

    /// So many accelerators of a kind on what the names put together.
    ///
    /// # Errors
    ///
    /// Unknown ids, with the nearest ones, and counts that cannot be.
    pub(crate) fn test_system(
        &self,
        catalog: &Catalog,
        accelerator: &str,
        accelerators: u32,
    ) -> Result<TestSystem, Vec<Diagnostic>> {
        let per_host = self.per_host(accelerators)?;
        let accelerator = self.limited(catalog, accelerator)?;
        let host = self.host.as_deref();
        let mut test_system = TestSystem::new(catalog, accelerator, host, per_host, accelerators)?;
        if let Some(id) = &self.link {
            let link = catalog.link(id);
            let link = link.map_err(|problem| problem.field("--link"))?;
            test_system.join(link.clone(), accelerators)?;
        }
        Ok(test_system)
    }

    /// Where so many accelerators run.
    ///
    /// # Errors
    ///
    /// Unknown ids, with the nearest ones, and counts that cannot be.
    pub(crate) fn site(
        &self,
        catalog: &Catalog,
        accelerators: u32,
    ) -> Result<Site, Vec<Diagnostic>> {
        let place = if let Some(terms) = &self.terms {
            self.check_rented()?;
            Place::Rented(self.rented(catalog, terms)?)
        } else {
            let accelerator = self.accelerator()?;
            Place::TestSystem(Box::new(self.test_system(
                catalog,
                accelerator,
                accelerators,
            )?))
        };
        Ok(Site {
            hardware: self.clone(),
            place,
        })
    }

    /// The instance that the host is.
    fn rented(&self, catalog: &Catalog, terms: &str) -> Result<Instances, Vec<Diagnostic>> {
        let terms = Terms::from_name(terms).ok_or_else(|| {
            let accepted = "on-demand, spot, reserved-12 ...";
            vec![unknown_name("terms", terms, accepted)]
        })?;
        Instances::of_offer(catalog, self.host.as_deref().unwrap_or_default(), terms)
    }

    /// The system over the network that is named, if one is.
    pub(crate) fn connected<'c>(
        &self,
        catalog: &'c Catalog,
        system: System<'c>,
        nics: Nics,
    ) -> Result<System<'c>, Vec<Diagnostic>> {
        let Some(id) = &self.network else {
            return Ok(system);
        };
        let most = || {
            let network = catalog.network(id).ok()?;
            let fitting = network.nics_per_host.iter().copied();
            (fitting.filter(|nics| *nics <= system.host.room_for(network))).max()
        };
        let many = match nics {
            Nics::One => None,
            Nics::AllThatFit => most(),
        };
        let many = self.nics_per_host.or(many).unwrap_or(1);
        let connection = line_of(catalog, id, many)?;
        if !system.drives(connection.0) {
            return Err(vec![too_fast(catalog, &system, connection.0)]);
        }
        Ok(system.over(Some(connection)))
    }
}

/// A network whose NICs no host of these accelerators has slots for.
fn too_fast(catalog: &Catalog, system: &System, network: &Network) -> Diagnostic {
    let told = |generation: Option<u32>| {
        generation.map_or_else(
            || "none that is known".to_owned(),
            |of| format!("PCIe {of}"),
        )
    };
    let message = format!(
        "a NIC of `{}` needs {}, and hosts of {} have {}",
        network.id,
        told(network.nic.pcie_generation),
        system.accelerator.id,
        told(system.accelerator.pcie.map(|own| own.generation)),
    );
    let others = catalog.networks.values().map(|entry| &entry.entity);
    let driven = others.filter(|other| other.is_sold() && system.drives(other));
    let accepted: Vec<&str> = driven.map(|other| other.id.as_str()).collect();
    Diagnostic::new(code::CONTRADICTION, message)
        .field("--network")
        .value(network.id.clone())
        .accepted(accepted.join(", "))
}

/// Where a configuration runs.
pub(crate) struct Site {
    hardware: HardwareSpec,
    place: Place,
}

enum Place {
    /// An instance.
    Rented(Instances),
    /// What the names put together.
    TestSystem(Box<TestSystem>),
}

impl Site {
    /// The system that the names come to.
    ///
    /// # Errors
    ///
    /// Unknown ids, with the nearest ones, and a host that cannot take the accelerator.
    pub(crate) fn resolve<'c>(
        &'c self,
        catalog: &'c Catalog,
        assumptions: &Assumptions,
        nics: Nics,
    ) -> Result<System<'c>, Vec<Diagnostic>> {
        match &self.place {
            Place::Rented(instances) => self.rented(catalog, instances, assumptions),
            Place::TestSystem(test_system) => {
                let system = System {
                    owned: self.hardware.owned,
                    ..test_system.system(catalog, assumptions)?
                };
                self.hardware.connected(catalog, system, nics)
            }
        }
    }

    fn rented<'c>(
        &self,
        catalog: &'c Catalog,
        instances: &'c Instances,
        assumptions: &Assumptions,
    ) -> Result<System<'c>, Vec<Diagnostic>> {
        let accelerator = catalog.accelerator(self.hardware.accelerator()?)?;
        let id = self.hardware.host.as_deref().unwrap_or_default();
        let inventory = instances.inventory(catalog);
        let instance = instances.host(id);
        let system = instance.and_then(|host| inventory.mount(accelerator, host, assumptions));
        let system = system.ok_or_else(|| {
            let accepted = "offers whose hosts have a link with a bandwidth";
            vec![unknown_name("host", id, accepted)]
        })?;
        let network = self.hardware.network.as_deref();
        let network = network.and_then(|id| instances.network(id));
        Ok(system.over(network.and_then(|network| Some((network, inventory.line(network, 1)?)))))
    }
}
