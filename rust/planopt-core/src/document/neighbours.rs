//! What is told of a model that neighbours serve together.

use crate::document::BomLine;
use crate::islands::Uptime;
use crate::memory::ServingMemory;
use serde::Serialize;

/// Chains of neighbours that serve a model.
#[derive(Clone, Debug, Serialize)]
pub struct NeighboursAnswer {
    /// The model, as it was asked for.
    pub model: String,
    /// Format of its weights.
    pub weights: String,
    /// Format of what users have cached.
    pub kv: String,
    /// Tokens per second of each user that were asked for.
    pub target_tokens_per_second: Option<f64>,
    /// Tokens of a prompt.
    pub prompt_tokens: u64,
    /// Tokens of an answer.
    pub output_tokens: u64,
    /// Tokens cached when speed is judged.
    pub context_tokens: u64,
    /// Times that each token is computed, against cheats.
    pub repeat: u32,
    /// The best; none where no chain holds the model, or none is fast enough.
    pub best: Option<ChainsAnswer>,
    /// The fastest, where none is fast enough.
    pub nearest: Option<ChainsAnswer>,
    /// The best chains of each number of stages that was tried.
    pub lengths: Vec<ChainsAnswer>,
    /// What all machines cost with what joins them; none where they stand in homes, or a part has no
    /// price.
    pub price_usd: Option<f64>,
    /// What they draw at work together, with what joins them.
    pub power_watts: Option<f64>,
    /// Their rack units; none of desktops.
    pub rack_units: Option<f64>,
    /// What is bought for that.
    pub bill_of_materials: Vec<BomLine>,
}

/// Chains alike, and what they do and cost.
#[derive(Clone, Debug, Serialize)]
pub struct ChainsAnswer {
    /// Stages of each.
    pub stages: Vec<StageAnswer>,
    /// Machines of each kind.
    pub machines: Vec<NeighbourKind>,
    /// Chains, where all machines are there.
    pub chains: u32,
    /// Users at once, of all of these.
    pub users: f64,
    /// Sequences of a micro-batch.
    pub batch: u32,
    /// Micro-batches in a chain.
    pub in_flight: u32,
    /// A token's way through a chain.
    pub turn_seconds: f64,
    /// In which every user gains a token.
    pub step_seconds: f64,
    /// Tokens per second of each user while nobody leaves.
    pub tokens_per_second_per_user: f64,
    /// Share of the time that a chain that answers decodes, and reads no prompts.
    pub decoding: f64,
    /// The same with what losses cost, and the prompts of others.
    pub tokens_per_second_per_user_served: f64,
    /// Of a user who is alone.
    pub tokens_per_second_alone: f64,
    /// A prompt read alone.
    pub prefill_seconds: f64,
    /// What a prompt holds up.
    pub reading_seconds: f64,
    /// What is done about a loss: users' tokens are computed again, or copied all the time.
    pub recovery: &'static str,
    /// Shares of the time, by formula.
    #[serde(flatten)]
    pub uptime: Uptime,
    /// The same, simulated.
    pub simulated: Option<Uptime>,
    /// Shares of the time in which at least 1, 2 ... chains are whole.
    pub at_least: Vec<f64>,
    /// Answers' tokens per second of all of them, in the mean.
    pub output_tokens_per_second: f64,
    /// Prompts' tokens per second.
    pub prompt_tokens_per_second: f64,
    /// What all machines that are there cost.
    pub usd_per_hour: f64,
    /// Of it, electricity.
    pub energy_usd_per_hour: f64,
    /// What the operator must charge for a million tokens of answers, for that.
    pub usd_per_million_tokens: f64,
    /// Of it, electricity.
    pub energy_usd_per_million_tokens: f64,
    /// What is paid for the tokens, where they are sold.
    pub revenue_usd_per_hour: Option<f64>,
}

/// A stage of a chain.
#[derive(Clone, Debug, Serialize)]
pub struct StageAnswer {
    /// Of which kind its machine is.
    pub kind: usize,
    /// Its first layer.
    pub first_layer: usize,
    /// Its layers.
    pub layers: usize,
    /// What its accelerator holds.
    pub memory: ServingMemory,
    /// What it takes of a step.
    pub stage_seconds: f64,
    /// The way to the next.
    pub hop_seconds: f64,
    /// Until another machine has taken its place.
    pub takeover_seconds: f64,
    /// Until that has computed again what users have cached.
    pub replay_seconds: f64,
}

/// Machines of a kind.
#[derive(Clone, Debug, Serialize)]
pub struct NeighbourKind {
    /// Accelerator.
    pub id: String,
    /// Host.
    pub host: String,
    /// Network to the others.
    pub network: String,
    /// How many there are.
    pub machines: u32,
    /// How many a chain has.
    pub each: u32,
    /// Those that no chain needs while all are there.
    pub spares: u32,
    /// Share of the time that each is there.
    pub presence: f64,
    /// What a machine is worth; none where a part has no price: then it costs its electricity alone.
    pub price_usd: Option<f64>,
    /// What a machine costs for each hour that it is there.
    pub usd_per_hour: f64,
    /// Of it, electricity.
    pub energy_usd_per_hour: f64,
    /// What a machine draws.
    pub power_watts: Option<f64>,
    /// What a member is paid for each hour, by the layers that such machines hold.
    pub paid_usd_per_hour: Option<f64>,
    /// What of that is left.
    pub earned_usd_per_hour: Option<f64>,
    /// Price of electricity below which it pays to be on.
    pub pays_below_usd_per_kwh: Option<f64>,
}
