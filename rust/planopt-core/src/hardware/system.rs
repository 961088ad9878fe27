//! An accelerator in a host on a network.

use super::line::NetworkLine;
use crate::catalog::{Accelerator, Host, Network};

/// A network with its line between hosts of so many NICs.
pub(crate) type Connection<'c> = (&'c Network, NetworkLine);

/// What a replica runs on.
#[derive(Clone, Copy, Debug)]
pub struct Hardware<'a> {
    /// Accelerator.
    pub accelerator: &'a Accelerator,
    /// Host that it is put into, or the complete machine it comes in.
    pub host: &'a Host,
    /// Network between hosts and NICs of each; none for one host.
    pub network: Option<(&'a Network, u32)>,
}

impl Hardware<'_> {
    /// Whether the accelerator goes into the host, or comes with it.
    pub(crate) fn accelerator_fits(&self) -> bool {
        match &self.host.includes {
            Some(included) => included.accelerator == self.accelerator.model_id(),
            None => self
                .host
                .form_factors
                .contains(&self.accelerator.form_factor),
        }
    }
}
