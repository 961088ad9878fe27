//! Models on units, and whole purchases.

use crate::quantity::SECONDS_PER_HOUR;
use serde::Serialize;

use super::bill::{Bill, sourced};
use super::intervals::Intervals;
use crate::bill::{BillLine, Unit};
use crate::catalog::{Catalog, PartKind};
use crate::cost::HOURS_PER_YEAR;
use crate::document::BomLine;
use crate::load::serving::{Overlap, Speculation};
use crate::parallel::Layout;
use crate::search::Broken;

const TOKENS_PER_MILLION: f64 = 1e6;
const WATTS_PER_KILOWATT: f64 = 1e3;

/// How a model is spread over accelerators.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// Accelerator id.
    pub accelerator: String,
    /// Tensor-parallel degree.
    pub tp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Context-parallel degree.
    pub cp: u32,
    /// Attention data-parallel degree.
    pub dp: u32,
    /// Expert-parallel degree.
    pub ep: u32,
    /// Sequences of a micro-batch.
    pub batch: u32,
    /// Micro-batches in flight.
    pub in_flight: u32,
    /// `none` or `two-batch`.
    pub overlap: &'static str,
    /// Format of the weights.
    pub weights: &'static str,
    /// Format of the KV cache.
    pub kv: &'static str,
    /// What drafts, if anything does.
    #[serde(flatten)]
    pub drafted: Option<Drafted>,
}

/// What drafts tokens that the model checks.
#[derive(Clone, Debug, Serialize)]
pub struct Drafted {
    /// `mtp`, or a smaller model.
    pub draft: String,
    /// Tokens drafted ahead of a check.
    pub draft_tokens: u32,
    /// Chance that one of them is accepted.
    pub acceptance: f64,
}

impl Drafted {
    /// As it was asked for.
    pub fn by(draft: &str, speculation: Speculation) -> Self {
        Self {
            draft: draft.to_owned(),
            draft_tokens: speculation.tokens,
            acceptance: speculation.acceptance,
        }
    }
}

impl Candidate {
    /// A layout; on what, and in which formats, is open.
    pub fn laid(layout: Layout, overlap: Overlap) -> Self {
        Self {
            accelerator: String::new(),
            tp: layout.tp,
            pp: layout.pp,
            cp: layout.cp,
            dp: layout.dp,
            ep: layout.ep,
            batch: layout.batch,
            in_flight: layout.in_flight,
            overlap: match overlap {
                Overlap::None => "none",
                Overlap::TwoBatch => "two-batch",
            },
            weights: "",
            kv: "",
            drafted: None,
        }
    }
}

/// Where replicas run, with what only rented hosts have.
#[derive(Clone, Debug, Serialize)]
pub struct PlacedHardware<H> {
    /// What any hardware has.
    #[serde(flatten)]
    pub hardware: H,
    /// Terms of an instance that is rented.
    pub terms: Option<String>,
    /// Share of the time that it is at work.
    pub goodput: Option<f64>,
}

/// One model on one kind of unit.
#[derive(Clone, Debug, Serialize)]
pub struct Deployment<H> {
    /// Model, as it was asked for.
    pub model: String,
    /// How it is spread.
    pub candidate: Candidate,
    /// Where.
    pub hardware: PlacedHardware<H>,
    /// What a unit does.
    pub evaluation: serde_json::Value,
    /// How many units are bought.
    pub units: u32,
    /// Copies of the model that they run together.
    pub replicas: u64,
    /// Parts of all units.
    pub bill_of_materials: Vec<BomLine>,
    /// What the totals are added up from.
    #[serde(skip)]
    pub ran: Ran,
}

/// What the totals of a purchase need of a deployment.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Parts of a unit.
    pub bill: Vec<BillLine>,
    /// Network between its hosts, and whether a switch joins them.
    pub network: Option<(String, bool)>,
    /// Tokens of a replica.
    pub tokens_per_second: f64,
    /// Speed of each user.
    pub tokens_per_second_per_user: f64,
    /// What an hour of a unit costs.
    pub usd_per_hour: f64,
    /// Draw of a unit.
    pub power_watts: f64,
    /// Users of all replicas together.
    pub users: u64,
}

impl<H> Deployment<H> {
    /// Puts a unit in `count` times.
    pub fn new(
        model: &str,
        candidate: Candidate,
        hardware: H,
        (unit, count): (&Unit, u32),
        evaluation: serde_json::Value,
        ran: Ran,
    ) -> Self {
        let rent = unit.hardware.host.rent;
        Self {
            model: model.to_owned(),
            candidate,
            hardware: PlacedHardware {
                hardware,
                terms: rent.map(|rent| rent.terms.name()),
                goodput: rent.map(|rent| rent.goodput),
            },
            evaluation,
            units: count,
            replicas: u64::from(unit.replicas) * u64::from(count),
            bill_of_materials: Bill::times(&ran.bill, count).lines(),
            ran,
        }
    }

    /// Puts intervals among the figures.
    pub fn expect(&mut self, intervals: Intervals) {
        self.evaluation["intervals"] = intervals.into();
    }

    fn is_rented(&self) -> bool {
        self.hardware.terms.is_some()
    }

    fn bill(&self) -> Bill {
        Bill::times(&self.ran.bill, self.units)
    }

    /// Accelerators, hosts, network, layout.
    fn summary(&self) -> String {
        let (candidate, bill) = (&self.candidate, self.bill());
        let hosts = bill.of_kind(if self.is_rented() {
            PartKind::Instance
        } else {
            PartKind::Host
        });
        let hosts = hosts.map_or_else(String::new, |(count, name)| format!("{count}x {name}"));
        // A complete machine brings its own accelerators.
        let what = match bill.of_kind(PartKind::Accelerator) {
            Some((count, name)) => format!("{count}x {name} in {hosts}"),
            None => hosts,
        };
        // Instances are connected by whoever rents them out.
        let named = self.ran.network.as_ref().filter(|_| !self.is_rented());
        let over = named.map_or_else(String::new, |(network, switched)| {
            let direct = if *switched { "" } else { " direct" };
            format!(", {network}{direct}")
        });
        let more = [
            ("EP", candidate.ep),
            ("DP", candidate.dp),
            ("CP", candidate.cp),
        ]
        .into_iter()
        .filter(|(_, degree)| *degree > 1)
        .fold(String::new(), |more, (name, degree)| {
            format!("{more} x {name}{degree}")
        });
        let copies = match self.replicas {
            0 | 1 => String::new(),
            replicas => format!(" x {replicas} replicas"),
        };
        let Candidate {
            tp, pp, weights, ..
        } = candidate;
        format!("{what}{over}, TP{tp} x PP{pp}{more}{copies}, {weights}")
    }
}

/// Money: the purchase, and what an hour and a token come to with it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BuildCost {
    /// Purchase.
    pub price_usd: f64,
    /// Rent, and what is bought written off, with electricity and hosting.
    pub usd_per_hour: f64,
    /// Per million tokens put out.
    pub usd_per_million_tokens: f64,
    /// Its inverse, in tokens.
    pub tokens_per_usd: f64,
}

/// A whole purchase, laid out.
#[derive(Clone, Debug, Serialize)]
pub struct Build<H> {
    /// Models on units.
    pub deployments: Vec<Deployment<H>>,
    /// All parts, with the sources of their prices.
    pub bill_of_materials: Vec<BomLine>,
    /// Money.
    pub cost: BuildCost,
    /// Draw of what is bought: whoever rents out pays for the power of the rest.
    pub power_watts: f64,
    /// Carbon dioxide of a year's electricity of what is bought, where it is known.
    pub kg_co2e_per_year: Option<f64>,
    /// Users at the same time.
    pub users: u64,
    /// Tokens of all, while they are there.
    pub tokens_per_second: f64,
    /// Speed of the slowest user.
    pub tokens_per_second_per_user: f64,
    /// The build in a line.
    pub summary: String,
    /// Limits that it breaks.
    pub broken: Vec<Broken>,
    /// What there is to know before acting on it.
    pub facts: Facts,
}

/// What there is to know of a purchase beside what it does.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Facts {
    /// Measured rows that errors of the time per token are known from.
    pub measured: Option<u64>,
    /// Longest context that the model was made for.
    pub max_context: u64,
    /// Format that its weights are published in.
    pub published: &'static str,
    /// Accelerators that are bought and whose licence forbids data centers, by id.
    pub without_licence: Vec<String>,
}

impl<H> Build<H> {
    /// Adds up deployments.
    pub fn of(catalog: &Catalog, deployments: Vec<Deployment<H>>, broken: Vec<Broken>) -> Self {
        let assumptions = &catalog.assumptions.entity.cost;
        let mut bill = Bill::default();
        let mut tokens_per_second = 0.0;
        let mut usd_per_hour = 0.0;
        let mut power_watts = 0.0;
        let mut slowest = f64::INFINITY;
        let mut users = 0;
        for each in &deployments {
            let (ran, units) = (&each.ran, f64::from(each.units));
            bill.add(&each.bill());
            #[expect(clippy::cast_precision_loss, reason = "replicas are far below 2^53")]
            let replicas = each.replicas as f64;
            tokens_per_second +=
                ran.tokens_per_second * replicas * each.hardware.goodput.unwrap_or(1.0);
            usd_per_hour += ran.usd_per_hour * units;
            power_watts += ran.power_watts * units;
            slowest = slowest.min(ran.tokens_per_second_per_user);
            users += ran.users;
        }
        let mut lines = bill.lines();
        sourced(catalog, &mut lines);
        let per_hour = tokens_per_second * SECONDS_PER_HOUR * assumptions.duty;
        let summaries: Vec<String> = deployments.iter().map(Deployment::summary).collect();
        let is_rented = deployments.iter().all(Deployment::is_rented);
        let carbon = assumptions.carbon_kg_per_kwh.filter(|_| !is_rented);
        let hours = HOURS_PER_YEAR * assumptions.duty * assumptions.pue;
        Self {
            bill_of_materials: lines,
            cost: BuildCost {
                price_usd: bill.price_usd(),
                usd_per_hour,
                usd_per_million_tokens: usd_per_hour / (per_hour / TOKENS_PER_MILLION),
                tokens_per_usd: per_hour / usd_per_hour,
            },
            power_watts,
            kg_co2e_per_year: carbon.map(|kg| power_watts / WATTS_PER_KILOWATT * hours * kg),
            users,
            tokens_per_second,
            tokens_per_second_per_user: slowest,
            summary: summaries.join("; "),
            deployments,
            broken,
            facts: Facts::default(),
        }
    }
}
