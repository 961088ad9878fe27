//! A load on one configuration, simulated.

use super::chains::{ChainRequest, with_chain};
use super::model::{Engine, Prompts, ServedModel};
use super::offload::OffloadRequest;
use super::pools::{DecodePool, transfer_between};
use super::serving::{EvaluateServing, ServedRequest};
use crate::catalog::{Catalog, RequestOverhead};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::option::{LARGEST_COUNT, none_of, wrong_option};
use crate::document::{EngineAnswer, EstimateAnswer, EstimateReport, SimulationAnswer};
use crate::hardware::{HardwareSpec, Nics};
use crate::load::{Arrivals, EngineOptions, Lengths, Load, Sessions, Sizes, Statistic};
use crate::parallel::{Batching, Pins, Rejection};
use crate::serving::engine::{
    AffineStep, CONFIDENCE_95, EngineLimits, Estimate, Estimator, LoadReport, Objectives, Pool,
    Remembered, ReplicaSteps, Run, SessionsKept, StepTime, Traffic, Transfer, limits, of_sessions,
    simulate, simulate_disaggregated,
};
use crate::serving::{Replica, with_replica};
use serde::Deserialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// A load on a configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulateServing {
    /// What is served.
    pub model: ServedModel,
    /// Prompts and contexts.
    pub workload: Prompts,
    /// What arrives.
    pub load: Load,
    /// On which hardware.
    pub hardware: HardwareSpec,
    /// How it is divided; its batch counts for nothing.
    #[serde(default)]
    pub layout: Pins,
    /// Layers whose weights rest in the host.
    pub offload: Option<OffloadRequest>,
    /// What serves it.
    #[serde(default)]
    pub engine: Engine,
    /// What is asked of the engine.
    #[serde(default)]
    pub scheduler: EngineOptions,
    /// Times of its steps where they are known, in place of those of the configuration.
    pub step: Option<AffineStep>,
    /// How long.
    pub run: RunRequest,
    /// Replicas that answer what those of the configuration have read, if they do not themselves.
    pub decode: Option<DecodePool>,
    /// Chains of machines that are not alike, in place of the hardware and its layout.
    #[serde(default)]
    pub chain: Option<ChainRequest>,
}

impl SimulateServing {
    /// What is served, at which lengths, by what.
    fn served(&self, catalog: &Catalog) -> Result<ServedRequest, Vec<Diagnostic>> {
        ServedRequest::of(catalog, &self.model, &self.workload, &self.engine)
    }

    /// The configuration that answers, or reads prompts for others that do.
    fn configuration(&self) -> EvaluateServing {
        EvaluateServing {
            model: self.model.clone(),
            workload: self.workload,
            hardware: self.hardware.clone(),
            layout: self.layout,
            offload: self.offload.clone(),
            engine: self.engine.clone(),
        }
    }

    /// The configuration of a pool of its own that answers.
    fn decoding(&self, pool: &DecodePool) -> EvaluateServing {
        EvaluateServing {
            model: self.model.clone(),
            workload: self.workload,
            hardware: pool.hardware.clone(),
            layout: pool.layout,
            offload: pool.offload.clone(),
            engine: pool.engine.clone(),
        }
    }
}

/// How long a simulation runs, and what users are promised.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// Seed of the random numbers.
    #[serde(default)]
    pub seed: u64,
    /// Requests before those that are measured.
    #[serde(default)]
    pub warm_up: u64,
    /// Requests that are measured.
    pub requests: u64,
    /// Whether nobody comes after them.
    #[serde(default)]
    pub doors_close: bool,
    /// Time to the first token, at most.
    pub ttft_seconds: Option<f64>,
    /// Time per output token, at most.
    pub tpot_seconds: Option<f64>,
    /// What of both is judged, if anything is.
    pub at: Option<Statistic>,
    /// Share of requests that may break either, where nothing else is asked.
    #[serde(skip)]
    pub most_late: Option<f64>,
}

/// Requests of a simulation, at most: their latencies are all kept.
const MOST_REQUESTS: u64 = 20_000_000;

/// Replicas of a pool that are simulated, at most: each event looks at all of them.
const MOST_REPLICAS: u32 = 1024;

/// Simulates a load on one configuration.
pub fn simulate_serving(
    catalog: &Catalog,
    request: &SimulateServing,
    stop: &AtomicBool,
) -> Result<SimulationAnswer, Vec<Diagnostic>> {
    request.check()?;
    let run = request.run(catalog)?;
    let configuration = request.configuration();
    let decoding = request
        .decode
        .as_ref()
        .map(|pool| (pool, request.decoding(pool)));
    let mut front = None;
    let worked_out = match &decoding {
        Some((pool, decoding)) if pool.transfer.is_none() => {
            Some(transfer_between(catalog, &configuration, decoding)?)
        }
        _ => None,
    };
    let way = worked_out
        .as_ref()
        .map_or_else(Transfer::default, |way| Transfer {
            latency_seconds: way.latency_seconds,
            seconds_per_token: way.seconds_per_token,
        });
    let on_replicas = |steps: &ReplicaSteps<'_, '_>, limits: EngineLimits| match &decoding {
        None => {
            let steps = &Remembered::of(steps);
            front = Some(vec![limits]);
            let load = &request.load;
            Ok(Ok(match &request.step {
                Some(step) => simulate(&pool(&configuration, limits, step), load, run, stop),
                None => simulate(&pool(&configuration, limits, steps), load, run, stop),
            }))
        }
        Some((decode, decoding)) => {
            with_engine(catalog, decoding, &decode.scheduler, |answers, other| {
                front = Some(vec![limits, other]);
                let (steps, answers) = (&Remembered::of(steps), &Remembered::of(answers));
                Ok(Ok(simulate_disaggregated(
                    &pool(&configuration, limits, steps),
                    decode.transfer.unwrap_or(way),
                    &pool(decoding, other, answers),
                    &request.load,
                    run,
                    stop,
                )))
            })
        }
    };
    let outcome = match &request.chain {
        None => with_engine(catalog, &configuration, &request.scheduler, on_replicas)?,
        Some(chain) => with_chain(
            catalog,
            (&request.served(catalog)?, &request.scheduler),
            chain,
            |steps, limits| {
                front = Some(vec![limits]);
                let pool = Pool {
                    replicas: chain.chains,
                    limits,
                    step: &Remembered::of(steps),
                };
                simulate(&pool, &request.load, run, stop)
            },
        )?,
    };
    let engines = front.unwrap_or_default();
    let sessions = request.kept(configuration.layout().replicas, &engines);
    Ok(match outcome {
        Ok(report) => SimulationAnswer {
            feasible: true,
            rejections: Vec::new(),
            missed: request.run.missed(&report),
            report: Some(report),
            sessions,
            engines: engines.into_iter().map(EngineAnswer::from).collect(),
            transfer: worked_out,
        },
        Err(reason) => SimulationAnswer {
            rejections: vec![(&reason).into()],
            ..SimulationAnswer::default()
        },
    })
}

/// How slow steps may be for loads to keep their promises.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldTo {
    /// Loads with what is promised, each on a configuration that works.
    pub runs: Vec<SimulateServing>,
    /// Whose steps take longer.
    pub accelerator: String,
    /// How many times longer, the shortest first.
    pub slower: Vec<f64>,
    /// Seconds that it may take.
    pub seconds: f64,
}

/// How many of the times that steps may be longer keep all promises, sought by halves; nobody knows where
/// it was told to stop before.
pub fn held_to(
    catalog: &Catalog,
    request: &HeldTo,
    stop: &AtomicBool,
) -> Result<Option<usize>, Vec<Diagnostic>> {
    let mut runs = request.runs.clone();
    for run in &mut runs {
        run.run.most_late = match run.run.at {
            Some(Statistic::Percentile(share)) => Some(1.0 - share),
            Some(Statistic::Mean) | None => None,
        };
    }
    let (mut held, mut beyond) = (0, request.slower.len());
    while held < beyond {
        let middle = held.midpoint(beyond);
        let mut keeps = true;
        for run in &mut runs {
            let decoding = run.decode.as_mut().map(|pool| &mut pool.engine);
            for engine in [Some(&mut run.engine), decoding].into_iter().flatten() {
                let longer = (request.accelerator.clone(), request.slower[middle]);
                engine.slower.extend([longer]);
            }
            // What cannot be is known from elsewhere.
            keeps &= simulate_serving(catalog, run, stop)?.missed.is_empty();
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if keeps {
            held = middle + 1;
        } else {
            beyond = middle;
        }
    }
    Ok(Some(held))
}

impl RunRequest {
    /// The promises that a report does not keep, as multiples of them: more are late than may be, or that
    /// is not certain, or the mean is.
    fn missed(&self, report: &LoadReport) -> Vec<(&'static str, f64)> {
        let late = report.slo_violation;
        let each = [
            ("TTFT", self.ttft_seconds, report.ttft_seconds, late.ttft),
            ("TPOT", self.tpot_seconds, report.tpot_seconds, late.tpot),
        ];
        let judged = each.into_iter().filter_map(|(name, most, came, late)| {
            let at = self.at?;
            let times = came.at(at) / most?;
            let is_kept = match at {
                Statistic::Mean => times <= 1.0,
                Statistic::Percentile(share) => {
                    late.mean + CONFIDENCE_95 * late.error <= 1.0 - share
                }
            };
            (report.overloaded || !is_kept).then_some((name, times))
        });
        judged.collect()
    }
}

/// Estimates a load on one configuration by the closed form.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be, and a second pool, which the closed
/// form does not know.
pub fn estimate_serving(
    catalog: &Catalog,
    request: &SimulateServing,
) -> Result<EstimateAnswer, Vec<Diagnostic>> {
    request.check()?;
    if request.decode.is_some() {
        let accepted = "one pool; simulate two";
        return Err(vec![wrong_option("decode", "a pool", accepted)]);
    }
    let overhead = request.run(catalog)?.request_overhead;
    let configuration = request.configuration();
    let traffic = Traffic::of(&request.load);
    let chains = request.chain.as_ref().map(|chain| chain.chains);
    let replicas = f64::from(chains.unwrap_or(configuration.layout().replicas));
    let estimated = match &request.chain {
        None => with_engine(
            catalog,
            &configuration,
            &request.scheduler,
            |steps, limits| Ok(Ok(estimate(steps, limits, request, overhead, replicas))),
        )?,
        Some(chain) => with_chain(
            catalog,
            (&request.served(catalog)?, &request.scheduler),
            chain,
            |steps, limits| estimate(steps, limits, request, overhead, replicas),
        )?,
    };
    Ok(match estimated {
        Ok(estimate) => {
            let rate = estimate.requests_per_second * replicas;
            let report = EstimateReport {
                ttft_seconds: estimate.ttft_seconds(),
                tpot_seconds: estimate.tpot_seconds(),
                requests_per_second: rate,
                tokens_per_second: rate * traffic.mean_output(),
            };
            EstimateAnswer {
                feasible: true,
                overloaded: estimate.is_overloaded,
                report: (!estimate.is_overloaded).then_some(report),
                ..EstimateAnswer::default()
            }
        }
        Err(reason) => EstimateAnswer {
            rejections: vec![(&reason).into()],
            ..EstimateAnswer::default()
        },
    })
}

/// Estimates a load on so many engines.
fn estimate(
    steps: &impl StepTime,
    limits: EngineLimits,
    request: &SimulateServing,
    overhead: RequestOverhead,
    replicas: f64,
) -> Estimate {
    let (arrivals, traffic) = (&request.load.arrivals, Traffic::of(&request.load));
    let of_all = (arrivals.asked(), replicas);
    let of_sessions = of_sessions(steps, limits, traffic, overhead, of_all);
    of_sessions.map_or_else(
        || Estimator::new(steps, limits, traffic, overhead).at(arrivals, replicas),
        |(_, estimate)| estimate,
    )
}

fn pool<'s, T>(configuration: &EvaluateServing, limits: EngineLimits, step: &'s T) -> Pool<'s, T> {
    Pool {
        replicas: configuration.layout().replicas,
        limits,
        step,
    }
}

type Outcome<T> = Result<Result<T, Rejection>, Vec<Diagnostic>>;

/// Asks about a configuration as an engine, if it can be one.
fn with_engine<T>(
    catalog: &Catalog,
    request: &EvaluateServing,
    options: &EngineOptions,
    ask: impl FnOnce(&ReplicaSteps<'_, '_>, EngineLimits) -> Outcome<T>,
) -> Outcome<T> {
    let ServedRequest {
        transformer,
        question,
        assumptions,
    } = ServedRequest::of(catalog, &request.model, &request.workload, &request.engine)?;
    request.check()?;
    let layout = request.layout();
    let site = request.hardware.site(catalog, layout.accelerators())?;
    let system = site.resolve(catalog, &assumptions, Nics::One)?;
    let question = request.offloaded_to(system.host, question, &assumptions)?;
    let in_flight = layout.in_flight;
    if let (Some(wanted), Some(memory)) = (options.host_cache_bytes, system.host.stores.memory) {
        let most = memory.0;
        if wanted > most {
            let gigabytes = most / 1e9;
            let accepted =
                format!("at most {gigabytes:.0} GB, what each host has; --extra-memory buys more");
            let wanted = format!("{:.0} GB", wanted / 1e9);
            return Err(vec![wrong_option("host_cache", &wanted, accepted)]);
        }
    }
    let asked = |replica: &Replica, _| {
        let limits = limits(options, replica, in_flight, question.overlap, &assumptions);
        if limits.kv_tokens < u64::from(limits.page_tokens) {
            let memory = replica.memory(Batching {
                batch: 1,
                in_flight,
            });
            return Ok(Err(Rejection::Memory {
                needed_bytes: memory.total.0,
                capacity_bytes: memory.capacity.0,
                largest: None,
            }));
        }
        ask(&ReplicaSteps { replica, in_flight }, limits)
    };
    with_replica(
        &transformer,
        &question,
        &system,
        layout,
        &assumptions,
        asked,
    )
    .unwrap_or_else(|rejection| Ok(Err(rejection)))
}

impl SimulateServing {
    /// The run, with what the engine of the configuration adds to a request.
    fn run(&self, catalog: &Catalog) -> Result<Run, Vec<Diagnostic>> {
        let engine = self.engine.assumptions(catalog)?.engine;
        Ok(Run {
            request_overhead: engine.map_or_else(Default::default, |engine| engine.request),
            seed: self.run.seed,
            warm_up: self.run.warm_up,
            requests: self.run.requests,
            doors_close: self.run.doors_close,
            objectives: Objectives {
                ttft_seconds: self.run.ttft_seconds,
                tpot_seconds: self.run.tpot_seconds,
                most_late: self.run.most_late,
            },
        })
    }

    /// What the sessions of one of so many replicas keep, or requests of a trace, if the load is of
    /// these.
    fn kept(&self, replicas: u32, engines: &[EngineLimits]) -> Option<SessionsKept> {
        let limits = engines.first()?;
        let replicas = f64::from(replicas);
        let traffic = Traffic::of(&self.load);
        let of_trace = traffic.footprint().map(|footprint| {
            let needed = footprint.needed() / replicas;
            SessionsKept::of(footprint.all_hit_rate, needed, limits)
        });
        of_trace.or_else(|| {
            let alive = self.load.arrivals.asked() / replicas;
            Some(traffic.turns()?.kept(alive, limits))
        })
    }

    /// Checks that the load can be one.
    fn check(&self) -> Result<(), Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let decode = self.decode.iter().map(|pool| &pool.layout);
        for layout in std::iter::once(&self.layout).chain(decode) {
            if let Some(replicas) = layout.replicas.filter(|many| *many > MOST_REPLICAS) {
                let accepted = format!("at most {MOST_REPLICAS} under a load");
                let refused = wrong_option("replicas", &replicas, accepted);
                problems.push(refused.help("ask for a part of the load, or for --load steady"));
            }
        }
        let mut wrong = |option: &str, value: String, accepted: &str| {
            problems.push(wrong_option(option, &value, accepted));
        };
        if !(1..=MOST_REQUESTS).contains(&self.run.requests) || self.run.warm_up > MOST_REQUESTS {
            let accepted = "a whole number from 1 to 20000000";
            wrong("requests", self.run.requests.to_string(), accepted);
        }
        let above_0 = |value: f64| value.is_finite() && value > 0.0;
        match &self.load.arrivals {
            Arrivals::Poisson { per_second } if !above_0(*per_second) => {
                wrong("request_rate", per_second.to_string(), "a rate above 0");
            }
            Arrivals::Gamma { per_second, cv } if !(above_0(*per_second) && above_0(*cv)) => {
                let accepted = "a rate and a coefficient of variation above 0";
                wrong("arrivals", format!("{per_second}/s, cv {cv}"), accepted);
            }
            Arrivals::Closed {
                users,
                think_seconds,
                ..
            } if !(1..=LARGEST_COUNT).contains(users)
                || !(0.0..f64::INFINITY).contains(think_seconds) =>
            {
                wrong("concurrency", users.to_string(), "a whole number from 1");
            }
            Arrivals::Trace { seconds }
                if seconds.is_empty()
                    || !seconds.is_sorted()
                    || !seconds.iter().all(|s| s.is_finite() && *s >= 0.0) =>
            {
                wrong("arrivals", "trace".to_owned(), "times in growing order");
            }
            _ => {}
        }
        let sizes_can_be = match &self.load.sizes {
            Sizes::Independent { prompt, output } => {
                lengths_can_be(prompt) && lengths_can_be(output)
            }
            Sizes::Pairs {
                prompt,
                output,
                hashed,
            } => {
                let many = prompt.len();
                let are_all = hashed
                    .as_ref()
                    .is_none_or(|each| each.pieces.len() == many && each.tokens > 0);
                !prompt.is_empty() && output.len() == many && are_all
            }
        };
        if !sizes_can_be {
            let accepted = "lengths above 0, weights from 0";
            wrong("lengths", format!("{:?}", self.load.sizes), accepted);
        }
        if let Some(sessions) = &self.load.sessions {
            if !sessions_can_be(sessions) {
                let accepted = "lengths above 0, shares of times that add up to 1, a longest \
                                context beyond what is shared";
                wrong("sessions", format!("{sessions:?}"), accepted);
            }
            if !matches!(self.load.arrivals, Arrivals::Closed { .. }) || self.decode.is_some() {
                let accepted = "a closed load of as many users, on one pool";
                wrong("sessions", "of another load".to_owned(), accepted);
            }
        }
        if !(0.0..=1.0).contains(&self.load.prefix_hit_rate) {
            let rate = self.load.prefix_hit_rate.to_string();
            wrong("prefix_hit_rate", rate, "a share from 0 to 1");
        }
        none_of(problems.into_iter())
    }
}

/// Shares are typed with a few digits.
const SHARES_ADD_UP: f64 = 1e-6;

/// Beyond what any times differ by.
const LARGEST_CV: f64 = 1e6;

fn sessions_can_be(sessions: &Sessions) -> bool {
    let Sessions {
        first,
        grow,
        output,
        turns,
        ..
    } = sessions;
    let share: f64 = sessions.think.iter().map(|think| think.share).sum();
    let known = |seconds: f64| (0.0..f64::INFINITY).contains(&seconds);
    let times = sessions.think.iter().all(|think| {
        think.share > 0.0 && known(think.mean_seconds) && (0.0..LARGEST_CV).contains(&think.cv)
    });
    [first, grow, output, turns].into_iter().all(lengths_can_be)
        && times
        && (share - 1.0).abs() < SHARES_ADD_UP
        && known(sessions.longest_think_seconds)
        && sessions.groups > 0
        && sessions.max_context > sessions.shared
}

fn lengths_can_be(lengths: &Lengths) -> bool {
    let above_0 = |value: f64| value.is_finite() && value > 0.0;
    match lengths {
        Lengths::Fixed { .. } => true,
        Lengths::Uniform { least, most } => least <= most,
        Lengths::Exponential { mean } => above_0(*mean),
        Lengths::Lognormal { mean, cv } => above_0(*mean) && above_0(*cv),
        Lengths::Histogram { tokens, weights } => {
            tokens.len() == weights.len()
                && weights
                    .iter()
                    .all(|&weight| weight.is_finite() && weight >= 0.0)
                && weights.iter().sum::<f64>() > 0.0
        }
    }
}
