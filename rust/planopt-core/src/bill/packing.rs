//! Replicas of two pools packed into hosts.

use super::host_set::HostSet;
use crate::hardware::System;
use crate::parallel::Placement;

/// Accelerators at work in so many hosts of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Packed {
    pub(crate) hosts: u32,
    pub(crate) accelerators: u32,
}

impl Packed {
    /// Replicas of one pool in hosts of its own.
    pub(crate) fn alone((placement, replicas): (Placement, u32)) -> Self {
        Self {
            hosts: filled(placement, replicas).0,
            accelerators: placement.accelerators() * replicas,
        }
    }

    /// The hosts, each a system.
    pub(crate) fn in_hosts<'a>(self, system: &System<'a>) -> HostSet<'a> {
        HostSet {
            hosts: self.hosts,
            ..HostSet::of(system, self.accelerators, 0)
        }
    }
}

/// Hosts that `first` and `second` replicas of two pools fill together, the second starting in what
/// the first leave of their last host.
pub(crate) fn packed(first: (Placement, u32), second: (Placement, u32)) -> Packed {
    let (hosts, left) = filled(first.0, first.1);
    let (placement, replicas) = second;
    let in_one_host = if placement.hosts == 1 {
        (left / placement.accelerators()).min(replicas)
    } else {
        0
    };
    let (more, _) = filled(placement, replicas - in_one_host);
    Packed {
        hosts: hosts + more,
        accelerators: first.0.accelerators() * first.1 + placement.accelerators() * replicas,
    }
}

/// Hosts that so many replicas fill, and the places that they leave in the last one.
fn filled(placement: Placement, replicas: u32) -> (u32, u32) {
    if placement.hosts > 1 {
        return (placement.hosts * replicas, 0);
    }
    let in_each = (placement.slots / placement.accelerators()).max(1);
    let hosts = replicas.div_ceil(in_each);
    let in_last = replicas - in_each * hosts.saturating_sub(1);
    (hosts, placement.slots - in_last * placement.accelerators())
}

#[cfg(test)]
mod tests {
    use super::{Packed, packed};
    use crate::parallel::{Degrees, Placement};

    fn of(tp: u32) -> Placement {
        Placement::new(Degrees::tensor(tp), 1, 8).expect("fits hosts of 8")
    }

    #[test]
    fn pools_share_a_host_where_they_fit_one() {
        let one = |first, second| packed(first, second);
        assert_eq!(
            one((of(2), 2), (of(4), 1)),
            Packed {
                hosts: 1,
                accelerators: 8
            }
        );
        // Three of two leave room for none of four.
        assert_eq!(
            one((of(2), 3), (of(4), 1)),
            Packed {
                hosts: 2,
                accelerators: 10
            }
        );
        // A replica of two hosts shares none.
        assert_eq!(
            one((of(4), 1), (of(16), 2)),
            Packed {
                hosts: 5,
                accelerators: 36
            }
        );
    }
}
