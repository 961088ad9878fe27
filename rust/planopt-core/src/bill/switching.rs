//! Switches that join hosts.

use crate::catalog::{Network, Switch};
use crate::quantity::Watts;

/// Switches that join all NICs at full rate.
#[derive(Clone, Copy, Debug)]
pub struct Switching<'a> {
    /// The switch.
    pub switch: &'a Switch,
    /// How many.
    pub count: u32,
    /// Cables between switches.
    pub uplinks: u32,
}

impl<'a> Switching<'a> {
    /// A folded Clos network over `ends` NICs: one switch, leaves and spines, or three tiers (Al-Fares
    /// et al., "A scalable, commodity data center network architecture", 2008). Nothing beyond.
    /// As many cables go from each leaf to each spine, as in the published designs of the tests.
    pub fn over(switch: &'a Switch, ends: u32) -> Option<Self> {
        let ports = u64::from(switch.ports);
        let half = ports / 2;
        let all = u64::from(ends);
        let (count, uplinks) = if all <= ports {
            (1, 0)
        } else if half == 0 {
            return None;
        } else {
            let leaves = all.div_ceil(half);
            if leaves <= ports {
                let least = (leaves * half).div_ceil(ports);
                let spines = (least..half).find(|spines| half % spines == 0);
                (leaves + spines.unwrap_or(half), leaves * half)
            } else if all <= half * half * ports {
                let core = (leaves * half).div_ceil(ports);
                (2 * leaves + core, 2 * leaves * half)
            } else {
                return None;
            }
        };
        Some(Self {
            switch,
            count: u32::try_from(count).ok()?,
            uplinks: u32::try_from(uplinks).ok()?,
        })
    }
}

impl<'a> Switching<'a> {
    /// The cheapest switches of a network that join so many NICs.
    pub fn cheapest(network: &'a Network, ends: u32) -> Option<Self> {
        let all = network.switches.iter();
        all.filter_map(|switch| Self::over(switch, ends))
            .min_by_key(|all| {
                all.switch
                    .price
                    .map_or(i64::MAX, |price| (price * all.count).0)
            })
    }

    /// Draw of all of them.
    pub fn power(&self) -> Watts {
        self.switch.power * f64::from(self.count)
    }

    /// Rack units of all of them.
    pub fn rack_units(&self) -> f64 {
        self.switch.rack_units * f64::from(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::Switching;
    use crate::catalog::Switch;
    use crate::quantity::{Seconds, Watts};

    fn of_ports(ports: u32) -> Switch {
        Switch {
            id: String::new(),
            name: String::new(),
            ports,
            latency: Seconds::ZERO,
            power: Watts::ZERO,
            rack_units: 1.0,
            price: None,
        }
    }

    /// Hosts of eight NICs, ports of a switch, planes (NICs of two ports have one port in each), and
    /// the published leaves, spines and cores of all planes.
    type Published = (u32, u32, u32, [u32; 3]);

    /// NVIDIA, DGX `SuperPOD` reference architectures, docs.nvidia.com/dgx-superpod, counts of larger
    /// deployments: scalable-infrastructure-b200, -b300, -b300-xdr; RA-11333 for the 127 hosts. None
    /// is missed: the table of XDR has 18 and 36 spines where ports alone would need 16 and 32, since
    /// 72 uplinks of a leaf are divided evenly.
    const SUPERPODS: [Published; 17] = [
        (64, 64, 1, [16, 8, 0]),
        (127, 64, 1, [32, 16, 0]),
        (128, 64, 1, [32, 16, 0]),
        (256, 64, 1, [64, 32, 0]),
        (512, 64, 1, [128, 128, 64]),
        (1_024, 64, 1, [256, 256, 128]),
        (2_048, 64, 1, [512, 512, 256]),
        (64, 64, 1, [16, 8, 0]),
        (128, 64, 1, [32, 16, 0]),
        (256, 64, 1, [64, 32, 0]),
        (512, 128, 2, [128, 64, 0]),
        (1_024, 128, 2, [256, 128, 0]),
        (72, 144, 1, [8, 4, 0]),
        (144, 144, 1, [16, 8, 0]),
        (288, 144, 1, [32, 18, 0]),
        (576, 144, 1, [64, 36, 0]),
        (1_296, 144, 1, [144, 72, 0]),
    ];

    #[test]
    fn switches_and_cables_are_those_of_published_clusters() {
        for (hosts, ports, planes, [leaves, spines, cores]) in SUPERPODS {
            let switch = of_ports(ports);
            let found = Switching::over(&switch, hosts * 8).unwrap();
            assert_eq!(found.count * planes, leaves + spines + cores, "{hosts}");
            // Half of a leaf's ports go up, and in three tiers all that come up go on.
            let tiers = if cores > 0 { 2 } else { 1 };
            assert_eq!(
                found.uplinks * planes,
                leaves * ports / 2 * tiers,
                "{hosts}"
            );
        }
    }

    #[test]
    fn each_leaf_reaches_each_spine_by_as_many_cables_and_no_switch_lacks_ports() {
        for ports in [4, 6, 36, 40, 64, 144] {
            let switch = of_ports(ports);
            let half = ports / 2;
            for ends in (ports + 1..=half * ports).step_by(7) {
                let found = Switching::over(&switch, ends).unwrap();
                let leaves = ends.div_ceil(half);
                let spines = found.count - leaves;
                assert_eq!(half % spines, 0, "{ends} over {ports}");
                assert!(leaves * (half / spines) <= ports, "{ends} over {ports}");
            }
        }
    }
}
