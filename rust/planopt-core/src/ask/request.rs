//! The questions, in SI units and catalog ids.

use serde::Deserialize;

use super::rent::RentRequest;
use super::served::ServingRequest;
use super::serving::OffloadRequest;
use crate::catalog::CostAssumptions;
use crate::degrees::Degrees;
use crate::diagnostic::{Diagnostic, code};
use crate::search::{Aim, LatencyGoal};
use crate::serving::engine::{Arrivals, EngineOptions, Load, Traffic};
use crate::transformer::Transformer;

/// What is counted otherwise than the assumptions do.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct CostChoice {
    /// Years that a purchase is written off over.
    pub years: Option<f64>,
    /// Share of the hours that are busy.
    pub duty: Option<f64>,
    /// Price of energy.
    pub electricity_usd_per_kwh: Option<f64>,
    /// Power usage effectiveness.
    pub pue: Option<f64>,
    /// Kilograms of carbon dioxide for a kWh.
    pub carbon_kg_per_kwh: Option<f64>,
}

impl CostChoice {
    /// Puts what is given in the place of assumptions.
    pub fn put_into(self, cost: &mut CostAssumptions) {
        cost.years = self.years.unwrap_or(cost.years);
        cost.duty = self.duty.unwrap_or(cost.duty);
        let own = cost.electricity_usd_per_kwh;
        cost.electricity_usd_per_kwh = self.electricity_usd_per_kwh.unwrap_or(own);
        cost.pue = self.pue.unwrap_or(cost.pue);
        cost.carbon_kg_per_kwh = self.carbon_kg_per_kwh.or(cost.carbon_kg_per_kwh);
    }
}

/// One configuration.
#[derive(Clone, Debug, Deserialize)]
pub struct EvaluateServing {
    /// What is served.
    #[serde(flatten)]
    pub serving: ServingRequest,
    /// Accelerator id.
    pub accelerator: String,
    /// Host id; else the smallest that holds what a host must.
    #[serde(default)]
    pub host: Option<String>,
    /// Link id inside a host, in place of the hardware's own.
    #[serde(default)]
    pub link: Option<String>,
    /// Network id across hosts.
    #[serde(default)]
    pub network: Option<String>,
    /// NICs of a host.
    #[serde(default)]
    pub nics_per_host: Option<u32>,
    /// Hosts of one replica.
    #[serde(default)]
    pub hosts: Option<u32>,
    /// Tensor-parallel degree.
    pub tp: u32,
    /// Context-parallel degree.
    #[serde(default = "one")]
    pub cp: u32,
    /// Attention data-parallel degree.
    #[serde(default = "one")]
    pub dp: u32,
    /// Expert-parallel degree.
    #[serde(default = "one")]
    pub ep: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Replicas.
    pub replicas: u32,
    /// Sequences of a micro-batch.
    pub batch: u32,
    /// Micro-batches in flight; else one per stage.
    #[serde(default)]
    pub in_flight: Option<u32>,
    /// Layers whose weights rest in the host.
    #[serde(default)]
    pub offload: Option<OffloadRequest>,
    /// The purchase that it runs on, in place of the names above: a unit of a plan.
    #[serde(default)]
    pub hardware: Option<HardwareKey>,
}

/// A search for units to buy.
#[derive(Clone, Debug, Deserialize)]
pub struct SearchServing {
    /// What is served.
    #[serde(flatten)]
    pub serving: ServingRequest,
    /// Tokens per second of each user, at least.
    pub tokens_per_second_per_user: f64,
    /// Time to read a prompt alone, at most.
    #[serde(default)]
    pub prefill_seconds: Option<f64>,
    /// Batch, where it is given.
    #[serde(default)]
    pub batch: Option<u32>,
    /// Micro-batches in flight, where they are given.
    #[serde(default)]
    pub in_flight: Option<u32>,
    /// Offer each batch up to this one, not the largest alone.
    #[serde(default)]
    pub each_batch_up_to: Option<u32>,
    /// Offer each batch that is an even share of this many users, not the largest alone.
    #[serde(default)]
    pub batches_that_share: Option<u64>,
    /// What is judged under a load, in place of the steady step at full context.
    #[serde(default)]
    pub latency: Option<LatencyRequest>,
    /// Try each batch instead of bisecting.
    #[serde(default)]
    pub exhaustive: bool,
    /// Users that the whole purchase is for.
    #[serde(default)]
    pub users: u64,
    /// Tokens per second of all of them.
    #[serde(default)]
    pub tokens_per_second: f64,
    /// Replicas that may fail.
    #[serde(default)]
    pub redundancy: u32,
    /// Cheapest builds of different hardware to keep beside the front.
    #[serde(default)]
    pub builds: usize,
    /// What alone is sought, where nothing limits the purchase: `cost-per-token` or `latency`.
    #[serde(default)]
    pub aim: Option<Aim>,
    /// Accelerators of a replica, at most.
    pub max_accelerators: u32,
    /// Price of a unit, at most.
    #[serde(default)]
    pub price_cap_usd: Option<f64>,
    /// Accelerator ids; empty for all.
    #[serde(default)]
    pub accelerators: Vec<String>,
    /// Accelerator ids that are out.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Host ids; empty for all.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Network ids; empty for all.
    #[serde(default)]
    pub networks: Vec<String>,
    /// Only replicas within a host.
    #[serde(default)]
    pub within_host: bool,
    /// Only parts whose licence allows a data center.
    #[serde(default)]
    pub datacenter: bool,
    /// What may be rented, instead of buying.
    #[serde(default)]
    pub rent: Option<RentRequest>,
}

/// Latencies that a share of all requests is promised.
#[derive(Clone, Debug, Deserialize)]
pub struct LatencyRequest {
    /// Such as 0.95.
    pub percentile: f64,
    /// Time to the first token, at most.
    #[serde(default)]
    pub ttft_seconds: Option<f64>,
    /// Time per output token, at most.
    #[serde(default)]
    pub tpot_seconds: Option<f64>,
    /// Prompts and outputs, and whether users wait for their answers.
    pub load: Load,
    /// What is asked of the engine.
    #[serde(default)]
    pub engine: EngineOptions,
}

impl LatencyRequest {
    /// The goal of a search.
    pub(super) fn goal(&self) -> LatencyGoal {
        let traffic = Traffic::of(&self.load);
        LatencyGoal {
            share: self.percentile,
            ttft: self.ttft_seconds,
            tpot: self.tpot_seconds,
            traffic,
            output: traffic.mean_output(),
            at_random: !matches!(self.load.arrivals, Arrivals::Closed { .. }),
            engine: self.engine,
        }
    }
}

/// A purchase that is already decided.
#[derive(Clone, Debug, Deserialize)]
pub struct HardwareKey {
    /// Accelerator id.
    pub accelerator: String,
    /// Host id.
    pub host: String,
    /// Network id.
    #[serde(default)]
    pub network: Option<String>,
    /// NICs of a host.
    #[serde(default)]
    pub nics_per_host: u32,
    /// Switch id.
    #[serde(default)]
    pub switch: Option<String>,
    /// Hosts of a unit.
    pub hosts: u32,
    /// Accelerators that come with a unit.
    pub accelerators: u32,
    /// Terms of the host, where it is an instance that is rented.
    #[serde(default)]
    pub terms: Option<String>,
}

/// The fastest layout on a purchase.
#[derive(Clone, Debug, Deserialize)]
pub struct FastestLayout {
    /// What is served.
    #[serde(flatten)]
    pub serving: ServingRequest,
    /// The purchase.
    pub hardware: HardwareKey,
    /// Users of a unit.
    pub users: u64,
    /// Batch, where it is given.
    #[serde(default)]
    pub batch: Option<u32>,
    /// Micro-batches in flight, where they are given.
    #[serde(default)]
    pub in_flight: Option<u32>,
    /// Tensor-parallel degree, where it is given.
    #[serde(default)]
    pub tp: Option<u32>,
    /// Context-parallel degree, where it is given.
    #[serde(default)]
    pub cp: Option<u32>,
    /// Attention data-parallel degree, where it is given.
    #[serde(default)]
    pub dp: Option<u32>,
    /// Expert-parallel degree, where it is given.
    #[serde(default)]
    pub ep: Option<u32>,
    /// Pipeline stages, where they are given.
    #[serde(default)]
    pub pp: Option<u32>,
    /// Replicas of a unit, where they are given.
    #[serde(default)]
    pub replicas: Option<u32>,
}

/// Largest count of anything in a configuration.
pub(super) const LARGEST_COUNT: u32 = 1 << 16;
/// Accelerators of all replicas, at most: beyond the largest cluster ever built, and few enough
/// that every part of it is counted, and paid for, without overflow.
pub(super) const LARGEST_CLUSTER: u64 = 1 << 20;
/// NICs of a host, at most: beyond what any host holds.
pub(super) const LARGEST_NICS: u32 = 64;

const fn one() -> u32 {
    1
}

impl EvaluateServing {
    /// How the ranks of a stage divide it.
    pub(super) fn degrees(&self) -> Degrees {
        Degrees {
            tp: self.tp,
            cp: self.cp,
            dp: self.dp,
            ep: self.ep,
        }
    }

    /// Accelerators of one replica.
    pub(super) fn accelerators(&self) -> u32 {
        self.degrees().ranks() * self.pp
    }

    /// Checks that every count can be one.
    ///
    /// # Errors
    ///
    /// Each count that is 0 or absurdly large, or the size of the cluster.
    pub fn check(&self) -> Result<(), Vec<Diagnostic>> {
        let counts = [
            ("tp", Some(self.tp), LARGEST_COUNT),
            ("cp", Some(self.cp), LARGEST_COUNT),
            ("dp", Some(self.dp), LARGEST_COUNT),
            ("ep", Some(self.ep), LARGEST_COUNT),
            ("pp", Some(self.pp), LARGEST_COUNT),
            ("replicas", Some(self.replicas), LARGEST_COUNT),
            ("batch", Some(self.batch), LARGEST_COUNT),
            ("in_flight", self.in_flight, LARGEST_COUNT),
            ("hosts", self.hosts, LARGEST_COUNT),
            ("nics_per_host", self.nics_per_host, LARGEST_NICS),
        ];
        let mut problems: Vec<Diagnostic> = counts
            .into_iter()
            .filter_map(|(option, count, largest)| {
                let count = count.filter(|count| !(1..=largest).contains(count))?;
                let accepted = format!("a whole number from 1 to {largest}");
                Some(wrong_option(option, count.to_string(), accepted))
            })
            .collect();
        if problems.is_empty() {
            problems.extend(self.too_large());
            problems.extend(self.divided_contexts());
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems)
        }
    }

    /// Groups with sequences of their own, whose contexts are divided besides: not modelled.
    fn divided_contexts(&self) -> Option<Diagnostic> {
        (self.cp > 1 && self.dp > 1).then(|| {
            let accepted = "1 with attention data parallel: its groups have whole contexts";
            wrong_option("cp", self.cp.to_string(), accepted.to_owned())
        })
    }

    /// Checks that contexts are whole where a state goes from token to token.
    ///
    /// # Errors
    ///
    /// A context-parallel degree of a model that carries a state.
    pub(super) fn check_states(&self, transformer: &Transformer) -> Result<(), Vec<Diagnostic>> {
        if self.cp > 1 && transformer.has_state_space() {
            let accepted =
                "1 for a model with state-space layers: a state goes from token to token";
            let problem = wrong_option("cp", self.cp.to_string(), accepted.to_owned());
            return Err(vec![problem]);
        }
        Ok(())
    }

    fn too_large(&self) -> Option<Diagnostic> {
        let counts = [self.tp, self.cp, self.dp, self.pp, self.replicas];
        let accelerators: u128 = counts.map(u128::from).iter().product();
        (accelerators > u128::from(LARGEST_CLUSTER)).then(|| {
            let accepted = format!(
                "at most {LARGEST_CLUSTER} accelerators: tp x cp x dp x pp x replicas is {accelerators}"
            );
            wrong_option("replicas", self.replicas.to_string(), accepted)
        })
    }
}

/// An option with a name that is not known.
pub(crate) fn unknown_name(option: &str, value: &str, accepted: String) -> Diagnostic {
    Diagnostic::new(code::UNKNOWN_NAME, format!("unknown {option} `{value}`"))
        .field(flag(option))
        .value(value)
        .accepted(accepted)
}

/// An option with a value that cannot be.
pub(crate) fn wrong_option(option: &str, value: String, accepted: String) -> Diagnostic {
    Diagnostic::new(
        code::OPTION_OUT_OF_RANGE,
        format!("{option} cannot be {value}"),
    )
    .field(flag(option))
    .value(value)
    .accepted(accepted)
}

fn flag(option: &str) -> String {
    format!("--{}", option.replace('_', "-"))
}
