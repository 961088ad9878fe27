//! Which serving candidates there are.

use crate::bill::{Unit, cheapest_units};
use crate::bulk::radix::Radix;
use crate::bulk::sink::Rejected;
use crate::catalog::Assumptions;
use crate::compute::Rank;
use crate::cost::of_purchase;
use crate::format::Formats;
use crate::hardware::{Fabric, Rates, System};
use crate::load::serving::{Overlap, Question};
use crate::parallel::{Degrees, Layout, Placement, Stage, partition};
use crate::quantity::{MicroUsd, Watts};
use crate::transformer::Transformer;
use rayon::prelude::*;

/// Tokens of a prompt, and tokens cached when speed is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Of a prompt.
    pub prompt: u64,
    /// Of a sequence.
    pub context: u64,
}

/// Values of each axis of a space of serving candidates.
#[derive(Clone, Debug, Default)]
pub struct ServingAxes {
    /// Formats of weights and KV cache.
    pub formats: Vec<Formats>,
    /// Lengths of sequences.
    pub lengths: Vec<Lengths>,
    /// Whether communication hides behind another batch.
    pub overlap: Vec<Overlap>,
    /// How the ranks of a stage divide it.
    pub degrees: Vec<Degrees>,
    /// Pipeline stages.
    pub pipeline: Vec<u32>,
    /// Replicas that are bought together.
    pub replicas: Vec<u32>,
    /// Micro-batches in flight, growing.
    pub in_flight: Vec<u32>,
    /// Sequences of a micro-batch, growing.
    pub batch: Vec<u32>,
}

/// Hardware that candidates run on.
#[derive(Clone, Debug)]
pub struct ServingPlatform<'a> {
    /// The accelerator in its host, and the network between hosts.
    pub system: System<'a>,
    pub(super) fabric: Fabric,
    /// Placements with their bills, by [`ServingSpace::purchases`].
    purchases: Vec<Result<Purchase, Rejected>>,
}

/// Replicas as they are bought.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purchase {
    pub(super) placement: Placement,
    pub(super) price_usd: f64,
    pub(super) usd_per_hour: f64,
    pub(super) power_watts: f64,
}

/// Axes of a space, the fastest last.
pub const AXES: usize = 9;

/// A space of serving candidates, each known by its index.
#[derive(Clone, Debug)]
pub struct ServingSpace<'s, 'a> {
    /// The model.
    pub transformer: &'s Transformer,
    /// Assumptions.
    pub assumptions: &'s Assumptions,
    /// Values of the axes.
    pub axes: ServingAxes,
    /// Hardware: the slowest axis.
    pub platforms: Vec<ServingPlatform<'a>>,
    pub(super) radix: Radix<AXES>,
    pub(super) stages: Vec<Vec<Stage>>,
    pub(super) questions: Vec<Question>,
    /// Batches as real numbers.
    pub(super) batches: Vec<f64>,
    purchases: Radix<3>,
    ranks: Radix<3>,
    /// The model on one rank, where the accelerator computes in the format.
    priced: Vec<Option<Rank>>,
}

impl<'s, 'a> ServingSpace<'s, 'a> {
    /// Prepares all that rows share.
    pub fn new(
        transformer: &'s Transformer,
        assumptions: &'s Assumptions,
        axes: ServingAxes,
        systems: &[System<'a>],
    ) -> Self {
        let kinds = transformer.blocks.len();
        let mut questions = Vec::new();
        for &formats in &axes.formats {
            for lengths in &axes.lengths {
                for &overlap in &axes.overlap {
                    questions.push(Question {
                        offload: None,
                        adapters: None,
                        encoder: None,
                        context_ranks: None,
                        allow_odd: false,
                        formats,
                        context: lengths.context,
                        prompt: lengths.prompt,
                        overlap,
                        speculation: None,
                    });
                }
            }
        }
        let mut space = Self {
            radix: Radix::new([
                systems.len(),
                axes.formats.len(),
                axes.lengths.len(),
                axes.overlap.len(),
                axes.degrees.len(),
                axes.pipeline.len(),
                axes.replicas.len(),
                axes.in_flight.len(),
                axes.batch.len(),
            ]),
            purchases: Radix::new([axes.degrees.len(), axes.pipeline.len(), axes.replicas.len()]),
            ranks: Radix::new([systems.len(), axes.formats.len(), axes.degrees.len()]),
            stages: axes
                .pipeline
                .iter()
                .map(|&pp| {
                    let degrees = Degrees::tensor(1);
                    let checked = Layout::staged(degrees, pp).check_served(transformer);
                    let assigned = checked.map(|()| partition(&transformer.layers, kinds, pp));
                    assigned.unwrap_or_default()
                })
                .collect(),
            batches: axes.batch.iter().copied().map(f64::from).collect(),
            questions,
            platforms: Vec::new(),
            priced: Vec::new(),
            transformer,
            assumptions,
            axes,
        };
        space.platforms = systems
            .par_iter()
            .map(|system| space.platform(*system))
            .collect();
        space.priced = (0..space.ranks.count())
            .into_par_iter()
            .map(|index| space.price(space.ranks.digits(index)))
            .collect();
        space
    }

    /// Candidates of a row.
    pub fn row_length(&self) -> u64 {
        self.axes.batch.len() as u64
    }

    /// Values of a candidate: platform, question and layout.
    pub fn candidate(&self, index: u64) -> (&ServingPlatform<'a>, &Question, Layout) {
        let digits = self.radix.digits(index);
        let axes = &self.axes;
        (
            &self.platforms[digits[0]],
            self.question(&digits),
            Layout {
                replicas: axes.replicas[digits[6]],
                in_flight: axes.in_flight[digits[7]],
                batch: axes.batch[digits[8]],
                ..Layout::staged(axes.degrees[digits[4]], axes.pipeline[digits[5]])
            },
        )
    }

    pub(super) fn question(&self, digits: &[usize; AXES]) -> &Question {
        let [_, formats, lengths, overlap, ..] = *digits;
        let axes = &self.axes;
        let index = (formats * axes.lengths.len() + lengths) * axes.overlap.len() + overlap;
        &self.questions[index]
    }

    pub(super) fn purchase(&self, digits: &[usize; AXES]) -> Result<Purchase, Rejected> {
        let [platform, _, _, _, degrees, pipeline, replicas, ..] = *digits;
        let index = self.purchases.index([degrees, pipeline, replicas]);
        let known = usize::try_from(index)
            .ok()
            .and_then(|index| self.platforms[platform].purchases.get(index));
        known.copied().unwrap_or(Err(Rejected::Layout))
    }

    pub(super) fn rank(&self, digits: &[usize; AXES]) -> Option<&Rank> {
        let [platform, formats, _, _, degrees, ..] = *digits;
        let index = self.ranks.index([platform, formats, degrees]);
        self.priced.get(usize::try_from(index).ok()?)?.as_ref()
    }

    fn platform(&self, system: System<'a>) -> ServingPlatform<'a> {
        ServingPlatform {
            system,
            fabric: system.fabric(self.assumptions),
            purchases: (0..self.purchases.count())
                .map(|index| {
                    let [degrees, pipeline, replicas] = self.purchases.digits(index);
                    let (degrees, pp) = (self.axes.degrees[degrees], self.axes.pipeline[pipeline]);
                    let layout = Layout::staged(degrees, pp);
                    self.buy(&system, layout, self.axes.replicas[replicas])
                })
                .collect(),
        }
    }

    /// Replicas of a layout as they are bought.
    fn buy(
        &self,
        system: &System<'a>,
        layout: Layout,
        replicas: u32,
    ) -> Result<Purchase, Rejected> {
        layout
            .check_served(self.transformer)
            .map_err(|_| Rejected::Layout)?;
        let placement = layout
            .place(system.slots)
            .map_err(|_| Rejected::Placement)?;
        let units = cheapest_units(
            system.parts(),
            placement,
            replicas,
            self.assumptions.switch_sale,
        );
        let bought: u32 = units
            .iter()
            .map(|(unit, count)| unit.replicas * count)
            .sum();
        if bought != replicas {
            return Err(Rejected::Network);
        }
        let bill = self.bill(&units).ok_or(Rejected::Network)?;
        Ok(Purchase { placement, ..bill })
    }

    fn bill(&self, units: &[(Unit<'a>, u32)]) -> Option<Purchase> {
        let mut price = MicroUsd::ZERO;
        let mut power = Watts::ZERO;
        let mut rack_units = 0.0;
        for (unit, count) in units {
            price += unit.price()? * *count;
            power += unit.power(self.assumptions)? * f64::from(*count);
            rack_units += unit.rack_units() * f64::from(*count);
        }
        // Only what does not depend on speed is taken of it.
        let cost = of_purchase(price.usd(), power, rack_units, 1.0, &self.assumptions.cost);
        Some(Purchase {
            placement: units.first()?.0.placement,
            price_usd: cost.price_usd,
            usd_per_hour: cost.usd_per_hour,
            power_watts: power.0,
        })
    }

    /// The model on one rank; it depends on no other axis than these.
    fn price(&self, [platform, formats, degrees]: [usize; 3]) -> Option<Rank> {
        let degrees = self.axes.degrees[degrees];
        let alone = Layout::staged(degrees, 1);
        alone.check_served(self.transformer).ok()?;
        let formats = self.axes.formats[formats];
        let accelerator = self.platforms[platform].system.accelerator;
        let rates = Rates::of(accelerator, formats.weights, self.assumptions)?;
        Some(Rank::new(self.transformer, formats, &rates, degrees))
    }
}
