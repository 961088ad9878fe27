//! Where the ranks of a replica sit: which host a pipeline stage is on, and so which link each
//! message takes. Formulas: `docs/reference/model.md`, section 4.

use super::degrees::Degrees;

/// A replica of `pp` stages laid onto hosts of `slots` accelerators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// How the ranks of a stage divide it.
    pub degrees: Degrees,
    /// Pipeline stages.
    pub pp: u32,
    /// Accelerators a host holds.
    pub slots: u32,
    /// Hosts of the replica.
    pub hosts: u32,
}

impl Placement {
    /// Tensor-parallel groups innermost, stages filled into one host after the other. Nothing if
    /// a stage or a group would span hosts unevenly.
    pub fn new(degrees: Degrees, pp: u32, slots: u32) -> Option<Self> {
        let (tp, ranks) = (degrees.tp, degrees.ranks());
        let groups_are_even = tp.is_multiple_of(slots) || slots.is_multiple_of(tp);
        let hosts = if ranks <= slots {
            pp.div_ceil(slots / ranks)
        } else if ranks.is_multiple_of(slots) && groups_are_even {
            pp * (ranks / slots)
        } else {
            return None;
        };
        Some(Self {
            degrees,
            pp,
            slots,
            hosts,
        })
    }

    /// Accelerators of the replica.
    pub fn accelerators(self) -> u32 {
        self.degrees.ranks() * self.pp
    }

    /// Hosts of one tensor-parallel group.
    pub fn hosts_per_group(self) -> u32 {
        self.degrees.tp.div_ceil(self.slots)
    }

    /// Hosts of one stage.
    pub fn hosts_per_stage(self) -> u32 {
        self.degrees.ranks().div_ceil(self.slots)
    }

    /// Ranks of a tensor-parallel group in one host.
    pub fn local_ranks(self) -> u32 {
        self.degrees.tp.min(self.slots)
    }

    /// Ranks of a stage in one host.
    pub fn local_stage_ranks(self) -> u32 {
        self.degrees.ranks().min(self.slots)
    }

    /// Accelerators of the replica in its fullest host.
    pub fn accelerators_per_host(self) -> u32 {
        self.accelerators().min(self.slots)
    }

    /// Hops between neighbouring stages that leave the host.
    pub fn crossing_hops(self) -> u32 {
        if self.degrees.ranks() <= self.slots {
            self.hosts - 1
        } else {
            self.pp - 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Placement;
    use crate::parallel::degrees::Degrees;

    fn place(tp: u32, pp: u32, slots: u32) -> Option<Placement> {
        Placement::new(Degrees::tensor(tp), pp, slots)
    }

    #[test]
    fn stages_fill_hosts_one_after_the_other() {
        // 7 stages of one card in hosts of 4: four and three.
        let placement = place(1, 7, 4).expect("one card always fits");
        assert_eq!((placement.hosts, placement.crossing_hops()), (2, 1));
        // Groups of 3 in hosts of 4: one group a host, a slot stays empty.
        let placement = place(3, 2, 4).expect("a group of 3 fits in 4 slots");
        assert_eq!((placement.hosts, placement.crossing_hops()), (2, 1));
    }

    #[test]
    fn a_group_spans_hosts_evenly_or_not_at_all() {
        let placement = place(8, 2, 4).expect("8 is two hosts of 4");
        assert_eq!((placement.hosts, placement.hosts_per_group()), (4, 2));
        assert_eq!(placement.crossing_hops(), 1);
        assert_eq!(place(6, 1, 4), None);
    }

    #[test]
    fn groups_of_a_stage_that_spans_hosts_stay_inside_of_them() {
        let degrees = |tp, dp| Degrees {
            dp,
            ..Degrees::tensor(tp)
        };
        let placement = Placement::new(degrees(4, 8), 1, 8).expect("four full hosts");
        assert_eq!((placement.hosts, placement.hosts_per_stage()), (4, 4));
        assert_eq!(
            (placement.local_ranks(), placement.local_stage_ranks()),
            (4, 8)
        );
        // Groups of 3 would straddle hosts of 4.
        assert_eq!(Placement::new(degrees(3, 4), 1, 4), None);
    }
}
