//! What is told of a run over islands.

use super::training::TrainingCandidate;
use crate::islands::Round;
use serde::Serialize;

/// The best set of islands for a run, and the same run otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct IslandsAnswer {
    /// The model, as it was asked for.
    pub model: String,
    /// Tokens of the run, were all islands one machine.
    pub tokens: f64,
    /// Time that it may take, where that was asked.
    pub deadline_seconds: Option<f64>,
    /// The best; none where no island holds the model, or none is in time.
    pub best: Option<IslandsRun>,
    /// The same islands with other numbers of steps between two exchanges.
    pub cadences: Vec<IslandsRun>,
    /// The fastest, where the best is late.
    pub nearest: Option<IslandsRun>,
}

/// A run over islands.
#[derive(Clone, Debug, Serialize)]
pub struct IslandsRun {
    /// Islands of each kind.
    pub islands: Vec<IslandKind>,
    /// Steps between two exchanges.
    pub inner_steps: u32,
    /// A round.
    #[serde(flatten)]
    pub round: Round,
    /// What each line carries of an exchange.
    pub exchange_bytes: f64,
    /// Share of a round that is not waited for the exchange.
    pub compute_utilisation: f64,
    /// Share by which the loss is higher than of one machine, for as many tokens.
    pub loss_increase: f64,
    /// Times as many tokens that make up for it.
    pub tokens_factor: f64,
    /// The same where it costs nothing, and where it costs the most that is assumed.
    pub tokens_factor_range: [Option<f64>; 2],
    /// Islands that run, in the mean, as a share of all.
    pub availability: f64,
    /// Share of their time that counts: failures, copies and what is fetched again apart.
    pub goodput: f64,
    /// Tokens per second, in the mean of the whole run.
    pub tokens_per_second: f64,
    /// The run.
    pub days: f64,
    /// What it costs.
    pub usd: f64,
    /// Of it, what the electricity costs.
    pub energy_usd: f64,
    /// Energy of machines whose owner pays for it.
    pub energy_kwh: f64,
}

/// Islands of a kind.
#[derive(Clone, Debug, Serialize)]
pub struct IslandKind {
    /// Accelerator or offer.
    pub id: String,
    /// Host of each machine.
    pub host: String,
    /// Network to the other islands.
    pub network: String,
    /// Islands.
    pub islands: u32,
    /// Machines of each.
    pub machines: u32,
    /// Machines that wait to take the place of one that left.
    pub spares: u32,
    /// Accelerators of each island.
    pub accelerators: u32,
    /// How the run is divided in an island.
    pub candidate: TrainingCandidate,
    /// A step of an island alone.
    pub step_seconds: f64,
    /// Tokens per second of an island between two exchanges.
    pub tokens_per_second: f64,
    /// Bytes that its fullest accelerator holds.
    pub memory_bytes: f64,
    /// What a machine costs for each hour.
    pub usd_per_hour: f64,
    /// Of it, electricity.
    pub energy_usd_per_hour: f64,
    /// What a machine draws; none of what is rented.
    pub power_watts: Option<f64>,
}
