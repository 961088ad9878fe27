//! What an answer about one configuration says, and how it is worded.

use crate::bill::{BillLine, Unit, bill_of_units, cheapest_units};
use crate::catalog::Assumptions;
use crate::cost::{of_purchase, of_rent};
use crate::document::{
    BomLine, Candidate, Drafted, Evaluation, EvaluationAnswer, HardwareAnswer, Intervals, Messages,
};
use crate::hardware::System;
use crate::load::serving::Question;
use crate::parallel::{Degrees, Layout, Placement, Rejection, all_reduce, hops};
use crate::quantity::{Bytes, MicroUsd, Watts, real};
use crate::serving::ReplicaEvaluation;
use crate::transformer::{Transformer, all_reduces};

/// What an answer is about.
pub(crate) struct Subject<'s, 'a> {
    pub(crate) transformer: &'s Transformer,
    pub(crate) question: &'s Question,
    pub(crate) system: &'s System<'a>,
    pub(crate) layout: Layout,
    pub(crate) assumptions: &'s Assumptions,
    /// What drafts, as it was asked for.
    pub(crate) draft: Option<&'s str>,
}

impl<'a> Subject<'_, 'a> {
    /// The cheapest units that hold all replicas.
    pub(crate) fn cheapest_units(&self, placement: Placement) -> Vec<(Unit<'a>, u32)> {
        let sale = self.assumptions.switch_sale;
        cheapest_units(self.system.parts(), placement, self.layout.replicas, sale)
    }

    pub(crate) fn answer(
        &self,
        placement: Placement,
        evaluation: &ReplicaEvaluation,
        units: &[(Unit<'a>, u32)],
    ) -> EvaluationAnswer {
        let bill = bill_of_units(units.iter().copied()).unwrap_or_default();
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
        let price: MicroUsd = bill.iter().map(BillLine::price).sum();
        let tokens_per_second = evaluation.decode.tokens_per_second * f64::from(replicas);
        let assumptions = &self.assumptions.cost;
        let cost = match (self.system.host.rent, power) {
            _ if bill.is_empty() => None,
            (Some(rent), _) => Some(of_rent(
                price.usd(),
                rent.paid(assumptions.paid_on_demand()),
                tokens_per_second * rent.goodput,
                assumptions.duty,
            )),
            (None, Some(power)) => Some(of_purchase(
                price.usd(),
                power,
                rack_units,
                tokens_per_second,
                assumptions,
            )),
            (None, None) => None,
        };
        EvaluationAnswer {
            evaluation: Evaluation {
                feasible: evaluation.rejections.is_empty(),
                rejections: evaluation.rejections.iter().map(Into::into).collect(),
                memory: Some(evaluation.memory),
                decode: Some(evaluation.decode),
                prefill: Some(evaluation.prefill),
                mixed: Some(evaluation.mixed),
                kv_capacity_tokens: Some(evaluation.kv_capacity_tokens),
                cost,
                power_watts: power.map(|power| power.0),
                messages: Some(self.messages(placement)),
                hosts: Some(placement.hosts),
                accelerators: placement.accelerators(),
                intervals: Intervals::new(),
            },
            candidate: self.candidate(),
            hardware: self.hardware_answer(Some(placement), units.first().map(|(unit, _)| unit)),
            replicas,
            bill_of_materials: BomLine::each(&bill),
        }
    }

    pub(crate) fn rejected(&self, reason: &Rejection) -> EvaluationAnswer {
        EvaluationAnswer {
            evaluation: Evaluation {
                rejections: vec![reason.into()],
                accelerators: self.layout.accelerators(),
                ..Evaluation::default()
            },
            candidate: self.candidate(),
            hardware: self.hardware_answer(None, None),
            replicas: self.layout.replicas,
            bill_of_materials: Vec::new(),
        }
    }

    fn candidate(&self) -> Candidate {
        let question = self.question;
        let drafts = self.draft.zip(question.speculation);
        Candidate {
            accelerator: self.system.accelerator.id.clone(),
            weights: question.formats.weights.name(),
            kv: question.formats.kv.name(),
            drafted: drafts.map(|(draft, speculation)| Drafted::by(draft, speculation)),
            offload: question.offload.map(|offload| offload.layers),
            image_tokens: question.encoder.map(|encoder| encoder.tokens),
            image_patches: question.encoder.map(|encoder| encoder.patches),
            encoder_parameters: question.encoder.map(|encoder| encoder.parameters),
            ..Candidate::laid(self.layout, question.overlap)
        }
    }

    fn hardware_answer(&self, placement: Option<Placement>, unit: Option<&Unit>) -> HardwareAnswer {
        let scale_up = self.system.scale_up();
        let group = placement.map_or(1, |placement| placement.degrees.ranks());
        let link = match scale_up {
            Some(link) if group <= link.domain => link.name.clone(),
            _ => self.system.host.link.clone(),
        };
        let switch = unit.and_then(|unit| unit.switch);
        let blocks = unit.map_or(0, Unit::port_blocks);
        HardwareAnswer {
            host: self.system.host.id.clone(),
            hosts: unit
                .map(Unit::hosts)
                .or(placement.map(|placement| placement.hosts))
                .unwrap_or(1),
            link,
            network: self.system.network.map(|(network, _)| network.id.clone()),
            nics_per_host: self
                .system
                .network
                .map_or(0, |(_, line)| line.nics_per_host),
            switch: switch.map(|share| share.switch.id.clone()),
            switch_count: u32::from(switch.is_some() && blocks == 0),
            switch_port_blocks: blocks,
            rack_units: unit.map_or(0.0, Unit::rack_units),
            terms: None,
            goodput: None,
            owned: unit.map(Unit::owned).unwrap_or_default(),
        }
    }

    fn messages(&self, placement: Placement) -> Messages {
        let fabric = self.system.fabric(self.assumptions);
        let per_token = real(self.transformer.hidden) * self.question.formats.activation_bytes();
        let Degrees { tp, dp, .. } = placement.degrees;
        let payload = Bytes(per_token * f64::from(self.layout.batch.div_ceil(dp)));
        Messages {
            payload_bytes: payload.0,
            all_reduce_seconds: if tp > 1 {
                all_reduce(&fabric, placement, payload).0
            } else {
                0.0
            },
            all_reduces: if tp > 1 {
                all_reduces(self.transformer)
            } else {
                0.0
            },
            hops_seconds: hops(&fabric, placement, payload).0,
        }
    }
}
