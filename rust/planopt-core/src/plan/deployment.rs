//! Models on units, and whole purchases.

use crate::quantity::{SECONDS_PER_HOUR, TOKENS_PER_MILLION, Watts, real};
use serde::Serialize;

use super::bill::{Bill, sourced};
use crate::bill::{BillLine, Unit, bill_of_units};
use crate::catalog::{Catalog, PartKind};
use crate::cost::{HOURS_PER_YEAR, energy_kwh};
use crate::document::{
    BomLine, Candidate, Evaluation, EvaluationAnswer, HardwareAnswer, TransferAnswer,
};
use crate::search::{Broken, Outlasted};
use crate::transformer::Transformer;
use std::collections::BTreeSet;

/// What the replicas of a deployment do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// They read prompts and answer them.
    Colocated,
    /// They read the prompts that others answer.
    Prefill,
    /// They answer the prompts that others have read.
    Decode,
}

/// One model on one kind of unit.
#[derive(Clone, Debug, Serialize)]
pub struct Deployment {
    /// Model, as it was asked for.
    pub model: String,
    /// What its replicas do.
    pub role: Role,
    /// How it is spread.
    pub candidate: Candidate,
    /// Where.
    pub hardware: HardwareAnswer,
    /// What a unit does.
    pub evaluation: Evaluation,
    /// How many units are bought.
    pub units: u32,
    /// Copies of the model that they run together.
    pub replicas: u64,
    /// Parts of all units.
    pub bill_of_materials: Vec<BomLine>,
    /// Parts of a unit.
    #[serde(skip)]
    bill: Vec<BillLine>,
    /// Users of all replicas together.
    #[serde(skip)]
    users: u64,
}

impl Deployment {
    /// Puts a unit in `count` times, each of whose replicas has so many users.
    pub fn new(
        model: &str,
        answer: EvaluationAnswer,
        (unit, count): (&Unit, u32),
        users: u64,
    ) -> Self {
        let rent = unit.hardware.host.rent;
        let bill = bill_of_units([(*unit, 1)]).unwrap_or_default();
        let replicas = u64::from(unit.replicas) * u64::from(count);
        let mut hardware = answer.hardware;
        hardware.terms = rent.map(|rent| rent.terms.name());
        hardware.goodput = rent.map(|rent| rent.goodput);
        Self {
            model: model.to_owned(),
            role: Role::Colocated,
            candidate: answer.candidate,
            hardware,
            evaluation: answer.evaluation,
            units: count,
            replicas,
            bill_of_materials: Bill::times(&bill, count).lines(),
            bill,
            users: users * replicas,
        }
    }

    /// One of two pools, with the parts that it brings and its users.
    pub fn of_pool(
        (model, role): (&str, Role),
        answer: EvaluationAnswer,
        bill: Vec<BillLine>,
        users: u64,
    ) -> Self {
        Self {
            model: model.to_owned(),
            role,
            candidate: answer.candidate,
            hardware: answer.hardware,
            evaluation: answer.evaluation,
            units: 1,
            replicas: u64::from(answer.replicas),
            bill_of_materials: BomLine::each(&bill),
            bill,
            users,
        }
    }

    fn is_rented(&self) -> bool {
        self.hardware.terms.is_some()
    }

    fn bill(&self) -> Bill {
        Bill::times(&self.bill, self.units)
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
        let role = match self.role {
            Role::Colocated => "",
            Role::Prefill => "prefill ",
            Role::Decode => "decode ",
        };
        // Instances are connected by whoever rents them out.
        let hardware = &self.hardware;
        let named = hardware.network.as_ref().filter(|_| !self.is_rented());
        let over = named.map_or_else(String::new, |network| {
            let switched = hardware.switch.is_some();
            let direct = if switched { "" } else { " direct" };
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
        let layout = format!("{role}TP{tp} x PP{pp}{more}{copies}, {weights}");
        if what.is_empty() {
            // It stands in what the other pool brings.
            return layout;
        }
        format!("{what}{over}, {layout}")
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
pub struct Build {
    /// Models on units.
    pub deployments: Vec<Deployment>,
    /// Of two pools, how the cache of a prompt gets from one to the other.
    pub transfer: Option<TransferAnswer>,
    /// Requests per second that two pools carry in time, by the closed form.
    pub requests_per_second: Option<f64>,
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
    /// What is left of it after each failure that it is to outlast.
    pub failures: Vec<Outlasted>,
    /// Tokens of all after the worst of them.
    pub tokens_per_second_left: f64,
    /// What there is to know before acting on it.
    pub facts: Facts,
}

/// What there is to know of a purchase beside what it does.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// Longest context that the model was made for.
    pub max_context: u64,
    /// Format that its weights are published in.
    pub published: &'static str,
    /// Accelerators that are bought and whose licence forbids data centers, by id.
    pub without_licence: Vec<String>,
    /// Networks one step slower and one step faster than the first of its own that has any beside it.
    pub networks_beside: [Vec<String>; 2],
}

impl Facts {
    fn of(catalog: &Catalog, transformer: &Transformer, deployments: &[Deployment]) -> Self {
        let bought = deployments.iter().filter(|each| !each.is_rented());
        let accelerators: BTreeSet<&str> = bought
            .map(|own| own.candidate.accelerator.as_str())
            .collect();
        let known = accelerators
            .into_iter()
            .filter_map(|id| catalog.accelerator(id).ok());
        let forbidden = known.filter(|accelerator| !accelerator.datacenter_licence);
        // What is rented has a region's, which nothing is beside.
        let own = deployments
            .iter()
            .filter_map(|each| each.hardware.network.as_deref());
        let mut beside = own.map(|id| catalog.networks_beside(id));
        Self {
            max_context: transformer.max_context,
            published: transformer.weights.name(),
            without_licence: forbidden.map(|each| each.name.clone()).collect(),
            networks_beside: beside
                .find(|steps| steps.iter().any(|step| !step.is_empty()))
                .unwrap_or_default(),
        }
    }
}

impl Build {
    /// Adds up deployments of a model.
    pub fn of(
        catalog: &Catalog,
        transformer: &Transformer,
        deployments: Vec<Deployment>,
        broken: Vec<Broken>,
    ) -> Self {
        let assumptions = &catalog.assumptions.entity.cost;
        let mut bill = Bill::default();
        let mut tokens_per_second = 0.0;
        let mut usd_per_hour = 0.0;
        let mut power_watts = 0.0;
        let mut kwh_per_year = 0.0;
        let mut slowest = f64::INFINITY;
        let mut users = 0;
        for each in &deployments {
            let (does, units) = (&each.evaluation, f64::from(each.units));
            let speed = does.decode.unwrap_or_default();
            bill.add(&each.bill());
            let replicas = real(each.replicas);
            if each.role != Role::Prefill {
                let at_work = each.hardware.goodput.unwrap_or(1.0);
                tokens_per_second += speed.tokens_per_second * replicas * at_work;
                slowest = slowest.min(speed.tokens_per_second_per_user);
            }
            usd_per_hour += does.cost.map_or(0.0, |cost| cost.usd_per_hour) * units;
            let power = does.power_watts.unwrap_or(0.0) * units;
            power_watts += power;
            let pue = assumptions.housed(each.hardware.rack_units).pue;
            kwh_per_year += energy_kwh(Watts(power), HOURS_PER_YEAR, assumptions.duty, pue);
            users += each.users;
        }
        let mut lines = bill.lines();
        sourced(catalog, &mut lines);
        let per_hour = tokens_per_second * SECONDS_PER_HOUR * assumptions.duty;
        let summaries: Vec<String> = deployments.iter().map(Deployment::summary).collect();
        let is_rented = deployments.iter().all(Deployment::is_rented);
        let carbon = assumptions.carbon_kg_per_kwh.filter(|_| !is_rented);
        Self {
            bill_of_materials: lines,
            cost: BuildCost {
                price_usd: bill.price_usd(),
                usd_per_hour,
                usd_per_million_tokens: usd_per_hour / (per_hour / TOKENS_PER_MILLION),
                tokens_per_usd: per_hour / usd_per_hour,
            },
            power_watts,
            kg_co2e_per_year: carbon.map(|kg| kwh_per_year * kg),
            users,
            tokens_per_second,
            tokens_per_second_per_user: slowest,
            summary: summaries.join("; "),
            facts: Facts::of(catalog, transformer, &deployments),
            deployments,
            transfer: None,
            requests_per_second: None,
            broken,
            failures: Vec::new(),
            tokens_per_second_left: tokens_per_second,
        }
    }
}
