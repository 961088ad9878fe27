//! Questions about serving.

use std::sync::atomic::AtomicBool;

use super::answer::{
    BillAnswer, EvaluationAnswer, FastestAnswer, HardwareAnswer, Messages, RejectionAnswer,
    SearchAnswer, UnitColumns,
};
use super::request::{EvaluateServing, FastestLayout, SearchServing};
use crate::catalog::{Assumptions, Catalog, Network};
use crate::communication::NetworkLine;
use crate::cost::of_purchase;
use crate::diagnostic::Diagnostic;
use crate::placement::Placement;
use crate::purchase::{BillLine, Hardware, Unit};
use crate::quantity::{Bytes, MicroUsd, Seconds, Watts};
use crate::search::{
    BatchPolicy, Demand, Fit, FoundUnit, GivenLayout, Goal, Layout, Selection, Space, UnitKey,
    evaluate_unit, fastest_layout, search,
};
use crate::serving::{Batching, Percentiles, Question, Rejection, ReplicaEvaluation};
use crate::transformer::{Transformer, Work};

/// Finds the units that meet a goal.
///
/// # Errors
///
/// Everything in the question that is not known or cannot be.
pub fn search_serving(
    catalog: &Catalog,
    request: &SearchServing,
    stop: &AtomicBool,
) -> Result<SearchAnswer, Vec<Diagnostic>> {
    let transformer = request.serving.model.transformer(catalog)?;
    let question = request.serving.question(&transformer)?;
    let assumptions = request.serving.assumptions(catalog)?;
    let selection = select(catalog, request)?;
    let space = Space::buyable(&catalog.shelf(), &selection, &assumptions);
    let policy = match request.each_batch_up_to {
        Some(most) => BatchPolicy::Each(most),
        None if request.exhaustive => BatchPolicy::LargestOfEach,
        None => BatchPolicy::Largest,
    };
    let goal = Goal {
        tokens_per_second_per_user: request.tokens_per_second_per_user,
        prefill: request.prefill_seconds.map(Seconds),
        batch: request.batch,
        in_flight: request.in_flight,
        policy,
    };
    let demand = Demand {
        users: request.users,
        tokens_per_second: request.tokens_per_second,
        redundancy: request.redundancy,
        builds: request.builds,
        speed: request.each_batch_up_to.is_some(),
        aim: request.aim,
    };
    let found = search(
        &transformer,
        &question,
        &space,
        &goal,
        &demand,
        request.max_accelerators,
        request.price_cap_usd.map(MicroUsd::from_usd),
        &assumptions,
        stop,
    );
    let mut units = UnitColumns::default();
    for unit in &found.units {
        units.push(unit);
    }
    Ok(SearchAnswer {
        units,
        covered: found.covered,
        evaluated: found.evaluated,
        rejected: found.rejected,
        nearest: found.nearest,
        interrupted: found.interrupted,
        weights: question.formats.weights.name(),
        kv: question.formats.kv.name(),
    })
}

/// What the question allows.
fn select(catalog: &Catalog, request: &SearchServing) -> Result<Selection, Vec<Diagnostic>> {
    known(
        catalog,
        Selection {
            accelerators: request.accelerators.clone(),
            exclude: request.exclude.clone(),
            hosts: request.hosts.clone(),
            networks: request.networks.clone(),
            datacenter: request.datacenter,
        },
    )
}

/// Checks that every id of a selection exists.
pub(super) fn known(catalog: &Catalog, selection: Selection) -> Result<Selection, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    for (option, ids) in [
        ("--accelerators", &selection.accelerators),
        ("--exclude", &selection.exclude),
    ] {
        let unknown = ids.iter().filter_map(|id| catalog.accelerator(id).err());
        problems.extend(unknown.map(|problem| problem.field(option)));
    }
    for id in &selection.hosts {
        problems.extend(
            catalog
                .host(id)
                .err()
                .map(|problem| problem.field("--host")),
        );
    }
    for id in &selection.networks {
        let unknown = catalog.network(id).err();
        problems.extend(unknown.map(|problem| problem.field("--network")));
    }
    if problems.is_empty() {
        Ok(selection)
    } else {
        Err(problems)
    }
}

impl UnitColumns {
    fn push(&mut self, found: &FoundUnit) {
        let unit = &found.unit;
        let network = unit.hardware.network;
        self.accelerator.push(unit.hardware.accelerator.id.clone());
        self.host.push(unit.hardware.host.id.clone());
        self.network
            .push(network.map(|(network, _)| network.id.clone()));
        self.nics_per_host.push(network.map_or(0, |(_, nics)| nics));
        self.switch
            .push(unit.switch.map(|share| share.switch.id.clone()));
        self.switch_port_blocks.push(port_blocks(unit));
        self.hosts.push(unit.hosts());
        self.accelerators.push(unit.accelerators_bought());
        self.tp.push(unit.placement.tp);
        self.pp.push(unit.placement.pp);
        self.batch.push(found.batching.batch);
        self.in_flight.push(found.batching.in_flight);
        self.replicas.push(unit.replicas);
        self.users.push(found.users);
        self.tokens_per_second_per_user
            .push(found.tokens_per_second_per_user);
        self.tokens_per_second.push(found.tokens_per_second);
        self.price_micro_usd.push(found.price.0);
        self.power_watts.push(found.power.0);
        self.rack_units.push(found.rack_units);
        self.usd_per_hour.push(found.usd_per_hour);
        self.is_build.push(found.is_build);
    }
}

fn port_blocks(unit: &Unit) -> u32 {
    unit.switch
        .and_then(|share| share.blocks)
        .map_or(0, |(bought, _)| bought)
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
    let transformer = request.serving.model.transformer(catalog)?;
    let question = request.serving.question(&transformer)?;
    let assumptions = request.serving.assumptions(catalog)?;
    let (fit, network) = request.hardware.resolve(catalog, &assumptions)?;
    let key = UnitKey {
        fit,
        network,
        hosts: request.hardware.hosts,
        accelerators: request.hardware.accelerators,
        switch: request.hardware.switch.as_deref(),
    };
    let given = GivenLayout {
        tp: request.tp,
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
            tp: placement.tp,
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
    let transformer = request.serving.model.transformer(catalog)?;
    let question = request.serving.question(&transformer)?;
    let assumptions = request.serving.assumptions(catalog)?;
    request.check()?;
    let bench = request.bench(catalog)?;
    let network = request.network_line(catalog)?;
    let batching = Batching {
        batch: request.batch,
        in_flight: request.in_flight.unwrap_or(request.pp),
    };
    let layout = Layout {
        tp: request.tp,
        pp: request.pp,
    };
    let Some(fit) = bench.fit(catalog, &assumptions) else {
        let accepted = "links with a bandwidth".to_owned();
        return Err(vec![super::request::unknown_name(
            "link",
            "host's link",
            accepted,
        )]);
    };
    let subject = Subject {
        transformer: &transformer,
        question: &question,
        fit: &fit,
        network,
        batching,
        assumptions: &assumptions,
    };
    let line = network.map(|(_, line)| line);
    let evaluated = evaluate_unit(
        &transformer,
        &question,
        &fit,
        line,
        layout,
        batching,
        &assumptions,
    );
    Ok(match evaluated {
        Err(rejection) => subject.rejected(&rejection, request.tp * request.pp, request.replicas),
        Ok((placement, evaluation)) => {
            let units = subject.cheapest_units(placement, request.replicas);
            let mut answer = subject.answer(placement, &evaluation, &units);
            answer.replicas = request.replicas;
            answer
        }
    })
}

/// What an answer is about.
struct Subject<'s, 'a> {
    transformer: &'s Transformer,
    question: &'s Question,
    fit: &'s Fit<'a>,
    network: Option<(&'a Network, NetworkLine)>,
    batching: Batching,
    assumptions: &'s Assumptions,
}

impl<'a> Subject<'_, 'a> {
    fn hardware(&self) -> Hardware<'a> {
        Hardware {
            accelerator: self.fit.accelerator,
            host: self.fit.host,
            network: self
                .network
                .map(|(network, line)| (network, line.nics_per_host)),
        }
    }

    /// The cheapest units that hold `replicas`, by taking as many as fit of each size in turn.
    fn cheapest_units(&self, placement: Placement, replicas: u32) -> Vec<(Unit<'a>, u32)> {
        let mut sizes: Vec<(Unit<'a>, MicroUsd)> = Vec::new();
        Unit::all(
            self.hardware(),
            placement,
            self.assumptions.switch_sale,
            |unit| {
                sizes.extend(unit.price().map(|price| (unit, price)));
            },
        );
        sizes.sort_by_key(|(unit, price)| (std::cmp::Reverse(unit.replicas), *price));
        let mut units = Vec::new();
        let mut left = replicas;
        for (unit, _) in sizes {
            let count = left / unit.replicas;
            if count > 0 {
                units.push((unit, count));
                left -= count * unit.replicas;
            }
        }
        units
    }

    fn answer(
        &self,
        placement: Placement,
        evaluation: &ReplicaEvaluation,
        units: &[(Unit<'a>, u32)],
    ) -> EvaluationAnswer {
        let bill = bill_of(units);
        let power = units.iter().try_fold(Watts::ZERO, |sum, (unit, count)| {
            Some(sum + unit.power(self.assumptions)? * f64::from(*count))
        });
        let power = power.filter(|_| !units.is_empty());
        let rack_units = units
            .iter()
            .map(|(unit, count)| unit.rack_units() * f64::from(*count))
            .sum();
        let replicas = units
            .iter()
            .map(|(unit, count)| unit.replicas * count)
            .sum();
        let cost = power.filter(|_| !bill.is_empty()).map(|power| {
            let price: MicroUsd = bill.iter().map(BillLine::price).sum();
            let tokens_per_second = evaluation.decode.tokens_per_second * f64::from(replicas);
            of_purchase(
                price.usd(),
                power,
                rack_units,
                tokens_per_second,
                &self.assumptions.cost,
            )
        });
        EvaluationAnswer {
            feasible: evaluation.rejections.is_empty(),
            rejections: evaluation.rejections.iter().map(rejection).collect(),
            memory: Some(evaluation.memory),
            decode: Some(evaluation.decode),
            prefill: Some(evaluation.prefill),
            ttft_seconds: Percentiles::default(),
            tpot_seconds: Percentiles::default(),
            cost,
            power_watts: power.map(|power| power.0),
            messages: Some(self.messages(placement)),
            hosts: Some(placement.hosts),
            accelerators: placement.accelerators(),
            weights: self.question.formats.weights.name(),
            kv: self.question.formats.kv.name(),
            hardware: self.hardware_answer(Some(placement), units.first().map(|(unit, _)| unit)),
            in_flight: self.batching.in_flight,
            replicas,
            bill_of_materials: bill.iter().map(BillAnswer::from).collect(),
        }
    }

    fn rejected(&self, reason: &Rejection, accelerators: u32, replicas: u32) -> EvaluationAnswer {
        EvaluationAnswer {
            feasible: false,
            rejections: vec![rejection(reason)],
            memory: None,
            decode: None,
            prefill: None,
            ttft_seconds: Percentiles::default(),
            tpot_seconds: Percentiles::default(),
            cost: None,
            power_watts: None,
            messages: None,
            hosts: None,
            accelerators,
            weights: self.question.formats.weights.name(),
            kv: self.question.formats.kv.name(),
            hardware: self.hardware_answer(None, None),
            in_flight: self.batching.in_flight,
            replicas,
            bill_of_materials: Vec::new(),
        }
    }

    fn hardware_answer(&self, placement: Option<Placement>, unit: Option<&Unit>) -> HardwareAnswer {
        let scale_up = self.fit.accelerator.scale_up.as_ref();
        let group = placement.map_or(1, |placement| placement.tp);
        let link = match scale_up {
            Some(link) if group <= link.domain => link.name.clone(),
            _ => self.fit.host.link.clone(),
        };
        let switch = unit.and_then(|unit| unit.switch);
        let blocks = unit.map_or(0, port_blocks);
        HardwareAnswer {
            host: self.fit.host.id.clone(),
            hosts: unit
                .map(Unit::hosts)
                .or(placement.map(|placement| placement.hosts))
                .unwrap_or(1),
            link,
            network: self.network.map(|(network, _)| network.id.clone()),
            nics_per_host: self.network.map_or(0, |(_, line)| line.nics_per_host),
            switch: switch.map(|share| share.switch.id.clone()),
            switch_count: u32::from(switch.is_some() && blocks == 0),
            switch_port_blocks: blocks,
        }
    }

    fn messages(&self, placement: Placement) -> Messages {
        let fabric = self
            .fit
            .fabric(self.network.map(|(_, line)| line), self.assumptions);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a hidden size is far below 2^53"
        )]
        let hidden = self.transformer.hidden as f64;
        let per_token = hidden * self.question.formats.activation_bytes();
        let payload = Bytes(per_token * f64::from(self.batching.batch));
        Messages {
            payload_bytes: payload.0,
            all_reduce_seconds: if placement.tp > 1 {
                fabric.all_reduce(placement, payload).0
            } else {
                0.0
            },
            all_reduces: if placement.tp > 1 {
                all_reduces(self.transformer)
            } else {
                0.0
            },
            hops_seconds: fabric.hops(placement, payload).0,
        }
    }
}

/// All-reduces on the path of a token.
fn all_reduces(transformer: &Transformer) -> f64 {
    let count = |operations: &[crate::transformer::Operation]| {
        operations
            .iter()
            .filter(|operation| matches!(operation.work, Work::AllReduce { .. }))
            .count()
    };
    let of_layers: usize = transformer
        .layers
        .iter()
        .map(|&kind| count(&transformer.blocks[kind].operations))
        .sum();
    let all = of_layers + count(&transformer.embedding) + count(&transformer.head);
    f64::from(u32::try_from(all).unwrap_or(u32::MAX))
}

/// Parts of several units, alike lines together; empty if any has no price.
fn bill_of(units: &[(Unit, u32)]) -> Vec<BillLine> {
    let mut bill: Vec<BillLine> = Vec::new();
    for (unit, count) in units {
        let Some(lines) = unit.bill_of_materials() else {
            return Vec::new();
        };
        for line in lines {
            let quantity = line.quantity * count;
            match bill
                .iter_mut()
                .find(|other| other.kind == line.kind && other.id == line.id)
            {
                Some(other) => other.quantity += quantity,
                None => bill.push(BillLine { quantity, ..line }),
            }
        }
    }
    bill
}

fn rejection(rejection: &Rejection) -> RejectionAnswer {
    RejectionAnswer {
        code: rejection.code(),
        message: rejection.to_string(),
        numbers: rejection.numbers().into_iter().collect(),
    }
}
