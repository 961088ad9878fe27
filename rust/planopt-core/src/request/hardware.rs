//! A purchase that is decided, by its names.

use crate::catalog::{Assumptions, Catalog, Host, Terms};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::option::unknown_name;
use crate::hardware::{Connection, Fit, Instances, Shelf, Space, cannot_take, line_of};
use serde::Deserialize;

/// A purchase that is already decided.
#[derive(Clone, Debug, Deserialize)]
pub struct HardwareKey {
    /// Accelerator id.
    pub accelerator: String,
    /// Host id.
    pub host: String,
    /// Network id.
    #[serde(default)]
    pub network: Option<String>,
    /// NICs of a host.
    #[serde(default)]
    pub nics_per_host: u32,
    /// Switch id.
    #[serde(default)]
    pub switch: Option<String>,
    /// Hosts of a unit.
    pub hosts: u32,
    /// Accelerators that come with a unit.
    pub accelerators: u32,
    /// Terms of the host, where it is an instance that is rented.
    #[serde(default)]
    pub terms: Option<String>,
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
        Instances::of_offer(catalog, &self.host, terms)
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
        let fit = Space::fit(&Shelf::of(catalog), accelerator, host, assumptions)
            .ok_or_else(|| vec![cannot_take(&self.host)])?;
        let network = match &self.network {
            Some(id) => line_of(catalog, id, self.nics_per_host)?,
            None => None,
        };
        Ok((fit, network))
    }
}
