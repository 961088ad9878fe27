//! What two pools are bought on: the hosts of both, joined by one network.

use super::line::BillLine;
use super::switching::{Switching, network_bill};
use super::unit::{Unit, bill_of};
use crate::catalog::{Assumptions, Connecting, Network};
use crate::hardware::System;
use crate::parallel::{Degrees, Placement};
use crate::quantity::{MicroUsd, Watts};

/// Hosts of one or two kinds, and what joins them.
#[derive(Clone, Debug)]
pub struct PoolCluster<'a> {
    kinds: Vec<Unit<'a>>,
    network: Option<(&'a Network, u32)>,
    /// Switches, where more than two hosts are joined.
    pub switching: Option<Switching<'a>>,
}

/// Accelerators at work in so many hosts of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hosts {
    pub(crate) hosts: u32,
    pub(crate) accelerators: u32,
}

impl<'a> PoolCluster<'a> {
    /// Joins hosts; nothing if there are several and no network or no switches for them.
    pub(crate) fn new(
        kinds: &[(System<'a>, Hosts)],
        network: Option<(&'a Network, u32)>,
    ) -> Option<Self> {
        let units: Vec<Unit> = kinds
            .iter()
            .map(
                |&(
                    system,
                    Hosts {
                        hosts,
                        accelerators,
                    },
                )| Unit {
                    hardware: system.over(None).parts(),
                    placement: Placement {
                        degrees: Degrees::tensor(accelerators),
                        pp: 1,
                        slots: system.slots,
                        hosts,
                    },
                    replicas: 1,
                    switch: None,
                },
            )
            .collect();
        let hosts: u32 = units.iter().map(Unit::hosts).sum();
        if hosts == 1 {
            return Some(Self {
                kinds: units,
                network: None,
                switching: None,
            });
        }
        let (joined, nics_per_host) = network?;
        let switching = if hosts == 2 {
            None
        } else {
            Some(Switching::cheapest(joined, hosts * nics_per_host)?)
        };
        Some(Self {
            kinds: units,
            network,
            switching,
        })
    }

    /// Hosts of both pools.
    pub fn hosts(&self) -> u32 {
        self.kinds.iter().map(Unit::hosts).sum()
    }

    /// Accelerators bought, of each kind.
    pub fn accelerators(&self) -> impl Iterator<Item = (&'a str, u32)> {
        self.kinds.iter().map(|unit| {
            let accelerator = unit.hardware.accelerator;
            (accelerator.id.as_str(), unit.accelerators_bought())
        })
    }

    fn nics(&self) -> u32 {
        self.network
            .map_or(0, |(_, nics_per_host)| self.hosts() * nics_per_host)
    }

    fn connecting(&self) -> Connecting {
        let Some((network, nics_per_host)) = self.network else {
            return Connecting::default();
        };
        let of_kind = |unit: &Unit| {
            let host = unit.hardware.host.connecting(network, nics_per_host);
            host.of_hosts(unit.hosts())
        };
        self.kinds.iter().map(of_kind).sum()
    }

    /// Price of everything, or nothing if a part has no price.
    pub fn price(&self) -> Option<MicroUsd> {
        let mut price = MicroUsd::ZERO;
        for unit in &self.kinds {
            price += unit.price()?;
        }
        if let Some((network, _)) = self.network {
            let bill = network_bill(network, self.connecting(), self.switching)?;
            price += bill.iter().map(BillLine::price).sum();
        }
        Some(price)
    }

    /// Bill of materials, a line for each part, or nothing if a part has no price.
    pub fn bill_of_materials(&self) -> Option<Vec<BillLine>> {
        let mut bill = bill_of(self.kinds.iter().map(|&unit| (unit, 1)))?;
        if let Some((network, _)) = self.network {
            bill.extend(network_bill(network, self.connecting(), self.switching)?);
        }
        Some(bill)
    }

    /// Draw at work.
    pub fn power(&self, assumptions: &Assumptions) -> Watts {
        let of_units = self.kinds.iter().filter_map(|unit| unit.power(assumptions));
        let nic = self
            .network
            .map_or(Watts::ZERO, |(network, _)| network.nic.power);
        of_units.sum::<Watts>()
            + nic * f64::from(self.nics())
            + self.switching.map_or(Watts::ZERO, |all| all.power())
    }

    /// Rack units; none for desktops, which are not hosted.
    pub fn rack_units(&self) -> f64 {
        let hosts: f64 = self.kinds.iter().map(Unit::rack_units).sum();
        let switches = self.switching.map_or(0.0, |all| all.rack_units());
        if hosts > 0.0 { hosts + switches } else { 0.0 }
    }
}

/// Hosts that `first` and `second` replicas of two pools fill together, the second starting in what
/// the first leave of their last host.
pub(crate) fn packed(first: (Placement, u32), second: (Placement, u32)) -> Hosts {
    let (hosts, left) = filled(first.0, first.1);
    let (placement, replicas) = second;
    let beside = if placement.hosts == 1 {
        (left / placement.accelerators()).min(replicas)
    } else {
        0
    };
    let (more, _) = filled(placement, replicas - beside);
    Hosts {
        hosts: hosts + more,
        accelerators: first.0.accelerators() * first.1 + placement.accelerators() * replicas,
    }
}

/// Hosts that so many replicas fill, and the places that they leave in the last one.
pub(crate) fn filled(placement: Placement, replicas: u32) -> (u32, u32) {
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
    use super::{Hosts, packed};
    use crate::parallel::{Degrees, Placement};

    fn of(tp: u32) -> Placement {
        Placement::new(Degrees::tensor(tp), 1, 8).expect("fits hosts of 8")
    }

    #[test]
    fn pools_share_a_host_where_they_fit_one() {
        let one = |first, second| packed(first, second);
        assert_eq!(
            one((of(2), 2), (of(4), 1)),
            Hosts {
                hosts: 1,
                accelerators: 8
            }
        );
        // Three of two leave room for none of four.
        assert_eq!(
            one((of(2), 3), (of(4), 1)),
            Hosts {
                hosts: 2,
                accelerators: 10
            }
        );
        // A replica of two hosts shares none.
        assert_eq!(
            one((of(4), 1), (of(16), 2)),
            Hosts {
                hosts: 5,
                accelerators: 36
            }
        );
    }
}
