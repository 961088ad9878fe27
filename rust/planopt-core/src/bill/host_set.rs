//! Hosts full of accelerators, whatever runs on them.

use super::unit::Unit;
use crate::hardware::Hardware;
use crate::parallel::{Degrees, Placement};

impl<'a> Unit<'a> {
    /// So many accelerators in as few hosts as hold `slots` each.
    pub(super) fn of_accelerators(hardware: Hardware<'a>, accelerators: u32, slots: u32) -> Self {
        Self {
            hardware,
            placement: Placement {
                degrees: Degrees::tensor(accelerators),
                pp: 1,
                slots,
                hosts: accelerators.div_ceil(slots),
            },
            replicas: 1,
            switch: None,
        }
    }

    /// The same with so many full hosts more.
    pub(super) fn with_spares(self, hosts: u32) -> Self {
        let placement = self.placement;
        Self {
            placement: Placement {
                degrees: Degrees::tensor(placement.accelerators() + hosts * placement.slots),
                hosts: placement.hosts + hosts,
                ..placement
            },
            ..self
        }
    }
}
