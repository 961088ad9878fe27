//! Over which networks a replica is as fast.

use crate::catalog::Assumptions;
use crate::hardware::System;

/// A system with its place among those over all networks.
pub(super) type Placed<'a> = (usize, System<'a>);

/// Systems over one line.
struct Line<'a> {
    /// Bits of its bandwidth and latency, as reached.
    key: Option<(u64, u64)>,
    systems: Vec<Placed<'a>>,
}

/// An accelerator in its host over networks that messages take the same time on, together: what is
/// computed for one of them holds for all.
pub(super) fn of_equal_lines<'a>(
    systems: impl Iterator<Item = System<'a>>,
    assumptions: &Assumptions,
) -> Vec<Vec<Placed<'a>>> {
    let mut lines: Vec<Line> = Vec::new();
    for placed in systems.enumerate() {
        let fabric = placed.1.fabric(assumptions);
        let key = fabric
            .network_line()
            .map(|line| (line.bandwidth.0.to_bits(), line.latency.0.to_bits()));
        match lines.iter_mut().find(|line| line.key == key) {
            Some(line) => line.systems.push(placed),
            None => lines.push(Line {
                key,
                systems: vec![placed],
            }),
        }
    }
    lines.into_iter().map(|line| line.systems).collect()
}
