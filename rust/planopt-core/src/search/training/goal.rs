//! What a search for clusters seeks.

use crate::catalog::{Assumptions, TrainingAssumptions};
use crate::course::Course;
use crate::hardware::System;
use crate::load::training::Recipe;
use crate::quantity::{MicroUsd, SECONDS_PER_HOUR, Seconds};
use crate::search::cluster_limits::ClusterLimits;
use crate::transformer::Transformer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrainingAim {
    /// The cheapest cluster that finishes in time.
    Cheapest,
    /// The one that finishes first.
    Fastest,
}

/// What a cluster is for.
#[derive(Clone, Debug)]
pub struct TrainingGoal {
    /// Tokens of the run.
    pub tokens: f64,
    /// Time it may take, failures included.
    pub deadline: Option<Seconds>,
    /// Seconds until a part that is ordered stands, by its id.
    pub delivery: BTreeMap<String, f64>,
    /// How many times longer than predicted a run is taken to be, by accelerator.
    pub slower: BTreeMap<String, f64>,
    /// What is sought.
    pub aim: TrainingAim,
    /// What is paid for.
    pub payment: Payment,
    /// Accelerators at work, at most.
    pub accelerators: u32,
    /// What it may not exceed.
    pub limits: ClusterLimits,
    /// Whether layouts are tried that nobody would run.
    pub allow_odd: bool,
}

impl TrainingGoal {
    /// What is left of the deadline for a run on this: all of it must have come, and what is rented
    /// is there.
    pub(super) fn time(&self, system: &System) -> Seconds {
        let network = system.network.map(|(network, _)| network.id.as_str());
        let parts = [system.accelerator.model_id(), &system.host.id];
        let waits = parts.into_iter().chain(network);
        let waits = waits.filter_map(|id| self.delivery.get(id));
        let last = waits.copied().fold(0.0, f64::max);
        let last = if self.payment == Payment::Hours {
            0.0
        } else {
            last
        };
        Seconds(
            self.deadline
                .map_or(f64::INFINITY, |deadline| deadline.0 - last),
        )
    }

    /// How many times longer than predicted runs on an accelerator are taken to be.
    pub(super) fn slower(&self, accelerator: &str) -> f64 {
        self.slower.get(accelerator).copied().unwrap_or(1.0)
    }
}

/// What is paid for: the cluster, or the hours of the run on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payment {
    /// Bought.
    Purchase,
    /// Rented: prices are those of an hour.
    Hours,
}

impl Payment {
    /// Dollars that a run costs on what has this price.
    pub(crate) fn dollars(self, price: MicroUsd, run: Seconds) -> f64 {
        match self {
            Self::Purchase => price.usd(),
            Self::Hours => price.usd() * run.0 / SECONDS_PER_HOUR,
        }
    }

    /// The longest run that costs so many dollars.
    pub(crate) fn longest(self, price: MicroUsd, dollars: f64) -> Seconds {
        Seconds(match self {
            Self::Purchase => f64::INFINITY,
            Self::Hours => dollars / price.usd() * SECONDS_PER_HOUR,
        })
    }
}

/// Everything that all tasks of a search share.
pub struct TrainingSearch<'s> {
    /// The model.
    pub transformer: &'s Transformer,
    /// How it is trained.
    pub recipe: &'s Recipe,
    /// What for.
    pub goal: &'s TrainingGoal,
    /// Assumptions.
    pub assumptions: &'s Assumptions,
    /// Those of training.
    pub training: &'s TrainingAssumptions,
    /// How far it is, or told to stop early.
    pub course: &'s Course,
}
