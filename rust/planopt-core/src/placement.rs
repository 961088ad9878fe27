//! Where the ranks of a replica sit: which host a pipeline stage is on, and so which link each
//! message takes. Formulas: `docs/reference/model.md`, section 4.

/// A replica of `tp` x `pp` accelerators laid onto hosts of `slots`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Tensor-parallel degree.
    pub tp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Accelerators a host holds.
    pub slots: u32,
    /// Hosts of the replica.
    pub hosts: u32,
}

impl Placement {
    /// Tensor-parallel groups innermost, stages filled into one host after the other. Nothing if
    /// a group would span hosts unevenly.
    pub fn new(tp: u32, pp: u32, slots: u32) -> Option<Self> {
        let hosts = if tp <= slots {
            pp.div_ceil(slots / tp)
        } else if tp.is_multiple_of(slots) {
            pp * (tp / slots)
        } else {
            return None;
        };
        Some(Self {
            tp,
            pp,
            slots,
            hosts,
        })
    }

    /// Accelerators of the replica.
    pub fn accelerators(self) -> u32 {
        self.tp * self.pp
    }

    /// Hosts of one tensor-parallel group.
    pub fn hosts_per_group(self) -> u32 {
        self.tp.div_ceil(self.slots)
    }

    /// Ranks of a tensor-parallel group in one host.
    pub fn local_ranks(self) -> u32 {
        self.tp.min(self.slots)
    }

    /// Accelerators of the replica in its fullest host.
    pub fn accelerators_per_host(self) -> u32 {
        self.accelerators().min(self.slots)
    }

    /// Hops between neighbouring stages that leave the host.
    pub fn crossing_hops(self) -> u32 {
        if self.tp <= self.slots {
            self.hosts - 1
        } else {
            self.pp - 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Placement;

    #[test]
    fn stages_fill_hosts_one_after_the_other() {
        // 7 stages of one card in hosts of 4: four and three.
        let placement = Placement::new(1, 7, 4).expect("one card always fits");
        assert_eq!((placement.hosts, placement.crossing_hops()), (2, 1));
        // Groups of 3 in hosts of 4: one group a host, a slot stays empty.
        let placement = Placement::new(3, 2, 4).expect("a group of 3 fits in 4 slots");
        assert_eq!((placement.hosts, placement.crossing_hops()), (2, 1));
    }

    #[test]
    fn a_group_spans_hosts_evenly_or_not_at_all() {
        let placement = Placement::new(8, 2, 4).expect("8 is two hosts of 4");
        assert_eq!((placement.hosts, placement.hosts_per_group()), (4, 2));
        assert_eq!(placement.crossing_hops(), 1);
        assert_eq!(Placement::new(6, 1, 4), None);
    }
}
