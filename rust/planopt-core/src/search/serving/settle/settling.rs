//! What a proof is about.

use crate::course::Course;
use crate::parallel::{Degrees, Layout};
use crate::search::limits::Limits;
use crate::search::serving::found::FoundUnit;
use serde::{Deserialize, Serialize};

/// What a proof is about.
#[derive(Clone, Copy, Debug)]
pub struct Settling<'s> {
    /// What must be supplied and stayed within.
    pub limits: &'s Limits,
    /// Whether all is bought that the limits allow: the load is then what that carries.
    pub most: bool,
    /// Whether prices are those of an hour.
    pub hourly: bool,
    /// What an estimate would buy, to be looked at first.
    pub guess: &'s [Rated],
    /// Whether the final run may be short: for a figure beside a plan, of what nobody buys.
    pub is_brief: bool,
    /// How far it is, told to stop or that the time is over.
    pub course: &'s Course,
}

/// A kind of replica by the names of units that have it, with a rate of each: requests per second, or
/// users who wait for their answers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rated {
    /// Place of their part.
    pub part: usize,
    /// Accelerator.
    pub accelerator: String,
    /// Host.
    pub host: String,
    /// Network, where hosts are joined by one.
    pub network: Option<String>,
    /// Tensor-parallel ranks.
    pub tp: u32,
    /// Ranks that divide contexts.
    pub cp: u32,
    /// Groups with sequences of their own.
    pub dp: u32,
    /// Parts that experts are assigned to.
    pub ep: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// The rate, where it is known.
    pub rate: Option<f64>,
}

impl Rated {
    /// The replicas of a unit.
    pub(super) fn of(part: usize, found: &FoundUnit, rate: f64) -> Self {
        let (hardware, placement) = (&found.unit.hardware, found.unit.placement);
        let Degrees { tp, cp, dp, ep } = placement.degrees;
        Self {
            part,
            accelerator: hardware.accelerator.id.clone(),
            host: hardware.host.id.clone(),
            network: hardware.network.map(|(network, _)| network.id.clone()),
            tp,
            cp,
            dp,
            ep,
            pp: placement.pp,
            rate: Some(rate),
        }
    }

    /// Whether a unit of a part has such replicas.
    pub(super) fn names(&self, part: usize, found: &FoundUnit, layout: Layout) -> bool {
        let hardware = &found.unit.hardware;
        let network = hardware.network.map(|(network, _)| network.id.as_str());
        self.part == part
            && self.accelerator == hardware.accelerator.id
            && self.host == hardware.host.id
            && self.network.as_deref() == network
            && (self.tp, self.cp, self.dp, self.ep, self.pp)
                == (layout.tp, layout.cp, layout.dp, layout.ep, layout.pp)
    }
}
