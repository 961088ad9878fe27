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
                (leaves + (leaves * half).div_ceil(ports), leaves * half)
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
