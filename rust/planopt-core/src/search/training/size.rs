//! What a cluster of a size is made of, and whether it may be bought.

use super::found::FoundCluster;
use super::goal::{Payment, TrainingAim, TrainingSearch};
use crate::bill::{Cluster, HostSet};
use crate::hardware::{Hardware, System};
use crate::quantity::{MicroUsd, Watts};
use crate::search::result::SearchResult;
use crate::training::AtWork;
use std::ops::Range;

/// The candidates on one number of accelerators.
#[derive(Clone, Debug)]
pub(super) struct Size {
    pub(super) accelerators: u32,
    pub(super) candidates: Range<usize>,
    /// Layouts that they stand for.
    pub(super) count: u64,
}

/// A cluster of a size.
pub(super) struct Bought<'a> {
    pub(super) hardware: Hardware<'a>,
    pub(super) hosts: u32,
    pub(super) accelerators: u32,
    pub(super) price: MicroUsd,
    pub(super) power: Watts,
    pub(super) rack_units: f64,
}

impl TrainingSearch<'_> {
    /// The cluster of a size, unless a limit forbids it or `known` is cheaper.
    pub(super) fn buy<'a>(
        &self,
        system: &System<'a>,
        size: &Size,
        known: Option<FoundCluster>,
        result: &mut SearchResult<FoundCluster>,
    ) -> Option<Bought<'a>> {
        let candidates = size.count;
        let hardware = system.parts();
        let slots = system.slots;
        let at_work = AtWork::on(system, size.accelerators);
        let (spares, _) = at_work.spares(self.training);
        let cluster = Cluster::of_run(vec![HostSet::of(system, size.accelerators, spares)]);
        let bought = cluster.and_then(|cluster| {
            Some(Bought {
                hardware,
                hosts: cluster.hosts(),
                accelerators: cluster.accelerators(),
                price: cluster.price()?,
                // Whoever rents an instance out pays for its power.
                power: match system.host.rent {
                    Some(_) => Watts::ZERO,
                    None => cluster.power(self.assumptions)?,
                },
                rack_units: cluster.rack_units(),
            })
        });
        let Some(bought) = bought else {
            result.rejected.network += candidates;
            return None;
        };
        let limits = &self.goal.limits;
        let owned = hardware.owned.within(bought.accelerators, bought.hosts);
        let stock = limits.stock.get(system.accelerator.model_id());
        let exceeded = !limits.hosts(bought.power, bought.rack_units)
            || stock.is_some_and(|most| bought.accelerators - owned.accelerators > *most)
            || bought.accelerators - spares * slots > self.goal.accelerators;
        if exceeded {
            result.rejected.limits += candidates;
            return None;
        }
        let cheaper_known = self.goal.aim == TrainingAim::Cheapest
            && known.is_some_and(|known| bought.price >= known.price);
        let too_dear = cheaper_known || limits.price().is_some_and(|most| bought.price > most);
        // What an hour costs says nothing of the run.
        if too_dear && self.goal.payment == Payment::Purchase {
            result.rejected.price += candidates;
            return None;
        }
        Some(bought)
    }
}
