//! Over which networks a replica is as fast.

use crate::catalog::Assumptions;
use crate::hardware::System;
use crate::search::alike::alike;

/// A system with its place among those over all networks.
pub(super) type Placed<'a> = (usize, System<'a>);

/// An accelerator in its host over networks that messages take the same time on, together: what is
/// computed for one of them holds for all.
pub(super) fn of_equal_lines<'a>(
    systems: impl Iterator<Item = System<'a>>,
    assumptions: &Assumptions,
) -> Vec<Vec<Placed<'a>>> {
    // Bits of its bandwidth and latency, as reached.
    alike(systems.enumerate(), |(_, system)| {
        let line = system.fabric(assumptions).network_line();
        line.map(|line| (line.bandwidth.0.to_bits(), line.latency.0.to_bits()))
    })
}
