//! One way of serving a model, whose every figure a law may change.

use crate::made_up::{accelerators, architectures, assumptions, buses, hosts, questions};
use crate::stock::bundled;
use planopt_core::catalog::{Accelerator, Assumptions, BusBandwidth, Host};
use planopt_core::format::Formats;
use planopt_core::hardware::{Inventory, NetworkLine, Owned, Selection, Space, System};
use planopt_core::load::serving::Question;
use planopt_core::parallel::Layout;
use planopt_core::quantity::{BytesPerSecond, Seconds};
use planopt_core::search::all_layouts;
use planopt_core::serving::{ReplicaEvaluation, evaluate_unit};
use planopt_core::transformer::Transformer;
use proptest::prelude::*;
use proptest::sample::Index;

/// Accelerators of a candidate, at most: several hosts.
const MOST_ACCELERATORS: u32 = 32;
/// Ranks that divide its contexts, at most.
const MOST_CONTEXT_RANKS: u32 = 4;

#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) transformer: Transformer,
    pub(crate) question: Question,
    pub(crate) accelerator: Accelerator,
    pub(crate) host: Host,
    pub(crate) pcie: BytesPerSecond,
    pub(crate) bus: Option<BusBandwidth>,
    pub(crate) line: NetworkLine,
    pub(crate) layout: Layout,
    pub(crate) assumptions: Assumptions,
}

impl Candidate {
    /// Its evaluation; every candidate made here can at least be laid out.
    pub(crate) fn evaluate(&self) -> ReplicaEvaluation {
        // Any: only its line is read.
        let networks = &bundled("article").networks;
        let network = &networks.values().next().expect("in the catalog").entity;
        let system = System {
            slots: self.host.slots,
            accelerator: &self.accelerator,
            host: &self.host,
            pcie: self.pcie,
            all_reduce_bus: self.bus,
            network: Some((network, self.line)),
            owned: Owned::default(),
        };
        evaluate_unit(
            &self.transformer,
            &self.question,
            &system,
            self.layout,
            &self.assumptions,
        )
        .expect("candidates can be laid out")
        .1
    }

    pub(crate) fn with_batch(&self, batch: u32) -> Self {
        let mut other = self.clone();
        other.layout.batch = batch;
        other
    }
}

/// A layout that can be placed, in which sequences circulate so.
fn layout(
    transformer: &Transformer,
    slots: u32,
    pick: Index,
    (batch, in_flight): (u32, u32),
) -> Layout {
    let layouts: Vec<Layout> = all_layouts(transformer, MOST_ACCELERATORS, MOST_CONTEXT_RANKS)
        .into_iter()
        .filter(|layout| layout.place(slots).is_ok())
        .collect();
    Layout {
        batch,
        in_flight,
        ..*pick.get(&layouts)
    }
}

fn lines() -> impl Strategy<Value = NetworkLine> {
    (0.1e9..50e9, 0.0..1e-4, any::<bool>(), 1_u32..=4).prop_map(
        |(rate, latency, rdma, nics_per_host)| NetworkLine {
            rate: BytesPerSecond(rate),
            latency: Seconds(latency),
            rdma,
            nics_per_host,
            leaves: None,
        },
    )
}

/// Sequences of a micro-batch, and micro-batches in flight.
fn batchings() -> impl Strategy<Value = (u32, u32)> {
    (1_u32..2000, 1_u32..12)
}

fn made_up() -> impl Strategy<Value = Candidate> {
    (
        (architectures(), questions(), assumptions()),
        (accelerators(), hosts()),
        (1e9..60e9, prop::option::of(buses()), lines()),
        (any::<Index>(), batchings()),
    )
        .prop_map(
            |(
                (architecture, question, assumptions),
                (accelerator, host),
                (pcie, bus, line),
                (pick, batching),
            )| {
                let transformer = Transformer::from(&architecture);
                let layout = layout(&transformer, host.slots, pick, batching);
                Candidate {
                    transformer,
                    question,
                    accelerator,
                    host,
                    pcie: BytesPerSecond(pcie),
                    bus,
                    line,
                    layout,
                    assumptions,
                }
            },
        )
}

/// Models and hardware of the bundled catalog, in the format the model is published in.
fn catalogued() -> impl Strategy<Value = Candidate> {
    let id = prop::sample::select(vec!["article", "calibrated"]);
    (id, any::<[Index; 3]>(), questions(), lines(), batchings()).prop_filter_map(
        "no rate for the model's format",
        |(id, [model, system, pick], mut question, line, batching)| {
            let catalog = bundled(id);
            let assumptions = &catalog.assumptions.entity;
            let space =
                Space::available(&Inventory::of(catalog), &Selection::default(), assumptions);
            let models: Vec<_> = catalog.models.values().collect();
            let transformer = Transformer::from(&model.get(&models).entity);
            let system = system.get(&space.systems);
            question.formats = Formats {
                weights: transformer.weights,
                ..question.formats
            };
            planopt_core::hardware::Rates::of(
                system.accelerator,
                transformer.weights,
                assumptions,
            )?;
            let layout = layout(&transformer, system.host.slots, pick, batching);
            Some(Candidate {
                transformer,
                question,
                accelerator: system.accelerator.clone(),
                host: system.host.clone(),
                pcie: system.pcie,
                bus: system.all_reduce_bus,
                line,
                layout,
                assumptions: assumptions.clone(),
            })
        },
    )
}

/// Candidates of both kinds.
pub(crate) fn candidates() -> impl Strategy<Value = Candidate> {
    prop_oneof![made_up(), catalogued()]
}

/// Whether `one` is at most `other`, but for the rounding of sums in another order.
pub(crate) fn at_most(one: f64, other: f64) -> bool {
    const ROUNDING: f64 = 1e-12;
    one <= other * (1.0 + ROUNDING)
}

/// Whether two figures are the same, but for rounding.
pub(crate) fn alike(one: f64, other: f64) -> bool {
    at_most(one, other) && at_most(other, one)
}
