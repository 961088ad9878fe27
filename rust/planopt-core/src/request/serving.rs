//! Questions about serving, in SI units and catalog ids.

use super::hardware::HardwareKey;
use super::model::ServingRequest;
use super::offload;
use super::offload::OffloadRequest;
use crate::catalog::{Assumptions, Catalog, Host};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::option::{unknown_name, wrong_option};
use crate::document::EvaluationAnswer;
use crate::hardware::{Bench, Connection, Fit, Instances, Names, RentRequest, line_of};
use crate::load::serving::{Offload, Overlap, Question};
use crate::load::{Arrivals, EngineOptions, Load};
use crate::parallel::Degrees;
use crate::parallel::serving::{Batching, Layout};
use crate::plan::serving::{FastestAnswer, Subject};
use crate::quantity::Bytes;
use crate::search::{Aim, GivenLayout, LatencyGoal, UnitKey, fastest_layout};
use crate::serving::engine::Traffic;
use crate::serving::{ReplicaEvaluation, evaluate_unit};
use crate::transformer::Transformer;
use serde::Deserialize;

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

/// Where a configuration runs: a unit of a plan, or what its names put together.
pub(crate) enum Site<'q> {
    /// A unit of a plan, with its instance if it is rented.
    Purchase(&'q HardwareKey, Instances),
    /// What the names of the question put together.
    Named(&'q EvaluateServing, Box<Bench>),
}

impl Site<'_> {
    /// The accelerator in its host, and the network.
    ///
    /// # Errors
    ///
    /// Unknown ids, with the nearest ones, and a host that cannot take the accelerator.
    pub(crate) fn resolve<'c>(
        &'c self,
        catalog: &'c Catalog,
        assumptions: &Assumptions,
    ) -> Result<(Fit<'c>, Option<Connection<'c>>), Vec<Diagnostic>> {
        match self {
            Self::Purchase(key, rented) => key.resolve(catalog, rented, assumptions),
            Self::Named(question, bench) => {
                let network = question.network_line(catalog)?;
                Ok((bench.fit(catalog, assumptions)?, network))
            }
        }
    }
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

    /// Hosts of one replica and accelerators of each, where the question fixes them.
    fn accelerators_per_host(&self) -> Result<Option<u32>, Diagnostic> {
        let accelerators = self.accelerators();
        match self.hosts {
            None => Ok(None),
            Some(hosts) if hosts > 0 && accelerators.is_multiple_of(hosts) => {
                Ok(Some(accelerators / hosts))
            }
            Some(hosts) => {
                let accepted =
                    format!("a divisor of the {accelerators} accelerators (tp x dp x pp)");
                Err(wrong_option("hosts", hosts.to_string(), accepted))
            }
        }
    }

    /// The hardware that the question names.
    ///
    /// # Errors
    ///
    /// Unknown ids, with the nearest ones, and counts that cannot be.
    pub(crate) fn bench(&self, catalog: &Catalog) -> Result<Bench, Vec<Diagnostic>> {
        let per_host = self
            .accelerators_per_host()
            .map_err(|problem| vec![problem])?;
        Bench::named(
            catalog,
            &Names {
                accelerator: &self.accelerator,
                host: self.host.as_deref(),
                link: self.link.as_deref(),
                per_host,
                per_host_option: ("hosts", self.hosts.unwrap_or(1)),
                accelerators: self.accelerators(),
            },
        )
    }

    /// The network that the question names.
    ///
    /// # Errors
    ///
    /// An unknown id, with the nearest ones.
    pub(crate) fn network_line<'c>(
        &self,
        catalog: &'c Catalog,
    ) -> Result<Option<Connection<'c>>, Vec<Diagnostic>> {
        let Some(id) = &self.network else {
            return Ok(None);
        };
        let nics_per_host = self.nics_per_host.unwrap_or(1);
        line_of(catalog, id, nics_per_host)
    }

    /// Where it runs.
    ///
    /// # Errors
    ///
    /// Unknown ids, with the nearest ones, and counts that cannot be.
    pub(crate) fn site<'q>(&'q self, catalog: &Catalog) -> Result<Site<'q>, Vec<Diagnostic>> {
        Ok(match &self.hardware {
            Some(key) => Site::Purchase(key, key.rented(catalog)?),
            None => Site::Named(self, Box::new(self.bench(catalog)?)),
        })
    }

    /// The question with the weights that rest in `host`.
    ///
    /// # Errors
    ///
    /// A host that states no memory, or no disk, and an overlap of two batches.
    pub(super) fn resting_in(
        &self,
        host: &Host,
        question: Question,
        assumptions: &Assumptions,
    ) -> Result<Question, Vec<Diagnostic>> {
        let Some(request) = &self.offload else {
            return Ok(question);
        };
        if question.overlap == Overlap::TwoBatch {
            let accepted = "--overlap none, or nothing in the host".to_owned();
            return Err(vec![wrong_option(
                "overlap",
                "two-batch".to_owned(),
                accepted,
            )]);
        }
        let stores = host.stores;
        let Some(training) = &assumptions.training else {
            let accepted = "assumptions that say what transfers hide behind: [training]".to_owned();
            return Err(vec![wrong_option(
                "offload_to",
                request.to.clone(),
                accepted,
            )]);
        };
        let by_default = training.host_memory_bandwidth;
        let of_memory = stores.memory_bandwidth.unwrap_or(by_default);
        let lacking = |what: &str| {
            let accepted = format!("hosts that state their {what}; `{}` does not", host.id);
            vec![wrong_option("offload_to", request.to.clone(), accepted)]
        };
        let (bandwidth, memory) = match request.to.as_str() {
            "host" => {
                let memory = stores.memory.ok_or_else(|| lacking("memory"))?;
                let usable = assumptions.memory.unified_usable_fraction;
                (of_memory, Some(Bytes(memory.0 * usable)))
            }
            "disk" => {
                let disk = stores.disk_bandwidth;
                let disk = disk.ok_or_else(|| lacking("disk_bandwidth"))?;
                (of_memory.min(disk), None)
            }
            other => {
                return Err(vec![unknown_name(
                    "offload_to",
                    other,
                    "host, disk".to_owned(),
                )]);
            }
        };
        Ok(Question {
            offload: Some(Offload {
                layers: request.layers.unwrap_or_default(),
                bandwidth,
                overlap: training.offload_overlap,
                memory,
            }),
            ..question
        })
    }

    /// Numbers of layers to try: the one that is asked for, or each until it fits.
    pub(super) fn resting_layers(&self, transformer: &Transformer) -> Vec<Option<u32>> {
        match &self.offload {
            None => vec![None],
            Some(OffloadRequest {
                layers: Some(layers),
                ..
            }) => vec![Some(*layers)],
            Some(OffloadRequest { layers: None, .. }) => {
                let layers = u32::try_from(transformer.layers.len()).unwrap_or(u32::MAX);
                (0..=layers.div_ceil(self.pp)).map(Some).collect()
            }
        }
    }
}

/// The fastest layout for `users` on a purchase that is decided; none if no layout carries them.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be.
pub fn fastest_serving(
    catalog: &Catalog,
    request: &FastestLayout,
) -> Result<Option<FastestAnswer>, Vec<Diagnostic>> {
    let transformer = request.serving.transformer(catalog)?;
    let question = request.serving.question(&transformer)?;
    let assumptions = request.serving.assumptions(catalog)?;
    let rented = request.hardware.rented(catalog)?;
    let (fit, network) = request.hardware.resolve(catalog, &rented, &assumptions)?;
    let key = UnitKey {
        fit,
        network,
        hosts: request.hardware.hosts,
        accelerators: request.hardware.accelerators,
        switch: request.hardware.switch.as_deref(),
    };
    let given = GivenLayout {
        tp: request.tp,
        cp: request.cp,
        dp: request.dp,
        ep: request.ep,
        pp: request.pp,
        batch: request.batch,
        in_flight: request.in_flight,
        replicas: request.replicas,
    };
    let fastest = fastest_layout(
        &transformer,
        &question,
        &key,
        request.users,
        given,
        &assumptions,
    );
    Ok(fastest.map(|fastest| {
        let placement = fastest.unit.placement;
        let subject = Subject {
            transformer: &transformer,
            question: &question,
            fit: &key.fit,
            network: key.network,
            batching: fastest.batching,
            assumptions: &assumptions,
        };
        FastestAnswer {
            tp: placement.degrees.tp,
            cp: placement.degrees.cp,
            dp: placement.degrees.dp,
            ep: placement.degrees.ep,
            pp: placement.pp,
            batch: fastest.batching.batch,
            unit_replicas: fastest.unit.replicas,
            evaluation: subject.answer(placement, &fastest.evaluation, &[(fastest.unit, 1)]),
        }
    }))
}

/// Evaluates one configuration, whether or not it works.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be.
pub fn evaluate_serving(
    catalog: &Catalog,
    request: &EvaluateServing,
) -> Result<EvaluationAnswer, Vec<Diagnostic>> {
    let transformer = request.serving.transformer(catalog)?;
    let question = request.serving.question(&transformer)?;
    let assumptions = request.serving.assumptions(catalog)?;
    request.check()?;
    request.check_states(&transformer)?;
    let site = request.site(catalog)?;
    let (fit, network) = site.resolve(catalog, &assumptions)?;
    let batching = Batching {
        batch: request.batch,
        in_flight: request.in_flight.unwrap_or(request.pp),
    };
    let layout = Layout {
        degrees: request.degrees(),
        pp: request.pp,
    };
    let open = request.resting_in(fit.host, question, &assumptions)?;
    let line = network.map(|(_, line)| line);
    let evaluate = |layers| {
        let question = offload::with_layers(open, layers);
        let evaluated = evaluate_unit(
            &transformer,
            &question,
            &fit,
            line,
            layout,
            batching,
            &assumptions,
        );
        (question, evaluated)
    };
    let tried = request.resting_layers(&transformer);
    let (last, fewer) = tried.split_last().unwrap_or((&None, &[]));
    let is_enough = |(_, evaluated): &(_, Result<(_, ReplicaEvaluation), _>)| match evaluated {
        Ok((_, evaluation)) => evaluation.memory.fits(),
        // No number of layers makes up for it.
        Err(_) => true,
    };
    let (question, evaluated) = fewer
        .iter()
        .map(|layers| evaluate(*layers))
        .find(is_enough)
        .unwrap_or_else(|| evaluate(*last));
    let subject = Subject {
        transformer: &transformer,
        question: &question,
        fit: &fit,
        network,
        batching,
        assumptions: &assumptions,
    };
    Ok(match evaluated {
        Err(rejection) => subject.rejected(&rejection, request.accelerators(), request.replicas),
        Ok((placement, evaluation)) => {
            let units = subject.cheapest_units(placement, request.replicas);
            let mut answer = subject.answer(placement, &evaluation, &units);
            answer.replicas = request.replicas;
            answer
        }
    })
}
