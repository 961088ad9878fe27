//! How hosts are connected, and which connections are alike.

use crate::catalog::{Assumptions, Network};
use crate::hardware::{Fit, NetworkLine};

/// A network that joins hosts.
pub(crate) type Joined<'a> = (&'a Network, NetworkLine);

/// How hosts are connected, if they are, with its place among all connections.
pub(super) type Connection<'c, 'a> = (usize, Option<&'c Joined<'a>>);

/// Connections over one line.
struct Line<'c, 'a> {
    /// Bits of its bandwidth and latency, as reached.
    key: Option<(u64, u64)>,
    connections: Vec<Connection<'c, 'a>>,
}

/// Connections over which messages take the same time, together: what is computed for one of them
/// holds for all.
pub(super) fn of_equal_lines<'c, 'a>(
    fit: &Fit<'a>,
    connections: &[Option<&'c Joined<'a>>],
    assumptions: &Assumptions,
) -> Vec<Vec<Connection<'c, 'a>>> {
    let mut lines: Vec<Line> = Vec::new();
    for connection in connections.iter().copied().enumerate() {
        let fabric = fit.fabric(connection.1.map(|(_, line)| *line), assumptions);
        let key = fabric
            .network_line()
            .map(|line| (line.bandwidth.0.to_bits(), line.latency.0.to_bits()));
        match lines.iter_mut().find(|line| line.key == key) {
            Some(line) => line.connections.push(connection),
            None => lines.push(Line {
                key,
                connections: vec![connection],
            }),
        }
    }
    lines.into_iter().map(|line| line.connections).collect()
}
