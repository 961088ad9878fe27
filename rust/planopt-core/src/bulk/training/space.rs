//! Which training candidates there are.

use rayon::prelude::*;

use super::columns::TrainingColumns;
use super::walk::TrainingWalker;
use crate::bulk::radix::Radix;
use crate::bulk::sink::Rejected;
use crate::bulk::walk::Candidates;
use crate::catalog::{Assumptions, Network, TrainingAssumptions};
use crate::communication::{Fabric, NetworkLine};
use crate::compute::Rates;
use crate::cost::of_purchase;
use crate::purchase::Hardware;
use crate::search::Fit;
use crate::stages::Stage;
use crate::training::{
    AtWork, Cluster, Failures, FlopsConvention, Groups, LEAST_GOODPUT, Layout, PricedModel, Recipe,
    Recompute, Schedule, Sharding, TrainingHardware, deal_model, model_flops_per_token, straggling,
};
use crate::transformer::Transformer;

/// Stages of a pipeline, chunks of each, and the order of micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Stages.
    pub pp: u32,
    /// Chunks of each.
    pub vpp: u32,
    /// Order.
    pub schedule: Schedule,
}

/// Values of each axis of a space of training candidates.
#[derive(Clone, Debug, Default)]
pub struct TrainingAxes {
    /// Tensor-parallel degree, and whether the sequence is divided.
    pub tensor: Vec<(u32, bool)>,
    /// Context-parallel degrees.
    pub context: Vec<u32>,
    /// Expert-parallel degrees.
    pub expert: Vec<u32>,
    /// Sequences of a micro-batch.
    pub micro_batch: Vec<u32>,
    /// Pipelines.
    pub pipeline: Vec<Pipeline>,
    /// What is recomputed.
    pub recompute: Vec<Recompute>,
    /// Data-parallel degrees.
    pub data: Vec<u32>,
    /// What data-parallel ranks divide.
    pub sharding: Vec<Sharding>,
    /// Micro-batches of a step for each stage of a pipeline: `rounds * pp` in all, so that the
    /// batch of a step is `rounds * pp * micro_batch * dp` sequences.
    pub rounds: Vec<u32>,
    /// Accelerators, at most.
    pub most_accelerators: u32,
}

/// What all candidates of a space share.
#[derive(Clone, Copy, Debug)]
pub struct TrainingSubject<'s> {
    /// The model.
    pub transformer: &'s Transformer,
    /// How it is trained; its batch is an axis.
    pub recipe: &'s Recipe,
    /// Which arithmetic counts.
    pub convention: FlopsConvention,
    /// Tokens of the whole run.
    pub tokens: f64,
    /// Assumptions.
    pub assumptions: &'s Assumptions,
    /// Those of training.
    pub training: &'s TrainingAssumptions,
}

/// Hardware that candidates run on, with what depends on it alone.
#[derive(Clone, Debug)]
pub struct Platform<'a> {
    /// The accelerator in its host.
    pub fit: Fit<'a>,
    /// The network between hosts.
    pub network: Option<(&'a Network, NetworkLine)>,
    pub(super) fabric: Fabric,
    pub(super) rates: Option<Rates>,
    /// Clusters by number of accelerators, as in [`TrainingSpace::sizes`].
    clusters: Vec<Option<ClusterTerms>>,
}

impl Platform<'_> {
    /// As a candidate meets it, if the accelerator computes in this format.
    pub(super) fn hardware(&self) -> Option<TrainingHardware<'_>> {
        Some(TrainingHardware {
            accelerator: self.fit.accelerator,
            rates: self.rates.as_ref()?,
            fabric: &self.fabric,
            slots: self.fit.slots,
        })
    }
}

/// What the number of accelerators alone decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClusterTerms {
    pub(super) price_usd: f64,
    pub(super) usd_per_hour: f64,
    pub(super) accelerators: f64,
    pub(super) straggling: f64,
    /// With one stage, and with several, which write a shared matrix twice.
    goodput: [f64; 2],
}

impl ClusterTerms {
    pub(super) fn goodput(&self, pp: u32) -> f64 {
        self.goodput[usize::from(pp > 1)]
    }
}

/// Micro-batches of steps of so many rounds.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    pub(super) micro_batches: Vec<f64>,
    pub(super) inverse: Vec<f64>,
}

impl Steps {
    fn new(pp: u32, rounds: &[u32]) -> Self {
        let micro_batches: Vec<f64> = rounds.iter().map(|&round| f64::from(round * pp)).collect();
        let inverse = micro_batches.iter().map(|batches| 1.0 / batches).collect();
        Self {
            micro_batches,
            inverse,
        }
    }
}

/// Axes of a space, the fastest last.
pub const AXES: usize = 10;

/// A space of training candidates, each known by its place.
#[derive(Clone, Debug)]
pub struct TrainingSpace<'s, 'a> {
    /// What all candidates share.
    pub subject: TrainingSubject<'s>,
    /// Values of the axes.
    pub axes: TrainingAxes,
    /// Hardware: the slowest axis.
    pub platforms: Vec<Platform<'a>>,
    pub(super) radix: Radix<AXES>,
    pub(super) stages: Vec<Vec<Stage>>,
    /// Micro-batches of each round, by pipeline.
    pub(super) steps: Vec<Steps>,
    pub(super) flops_per_token: f64,
    /// Numbers of accelerators that occur, growing.
    sizes: Vec<u32>,
    layouts: Radix<5>,
    /// Place in `sizes` of each way to lay out, or why there is none.
    checked: Vec<Result<u32, Rejected>>,
    blocks: Radix<5>,
    /// Costs of one micro-batch, on each platform that computes in this format.
    priced: Vec<Option<PricedModel>>,
}

impl<'s, 'a> TrainingSpace<'s, 'a> {
    /// Prepares all that rows share.
    pub fn new(
        subject: TrainingSubject<'s>,
        axes: TrainingAxes,
        hardware: &[(Fit<'a>, Option<(&'a Network, NetworkLine)>)],
    ) -> Self {
        let mut space = Self {
            radix: Radix::new([
                hardware.len(),
                axes.tensor.len(),
                axes.context.len(),
                axes.expert.len(),
                axes.micro_batch.len(),
                axes.pipeline.len(),
                axes.recompute.len(),
                axes.data.len(),
                axes.sharding.len(),
                axes.rounds.len(),
            ]),
            stages: axes
                .pipeline
                .iter()
                .map(|line| deal_model(subject.transformer, subject.recipe, line.pp, line.vpp))
                .collect(),
            steps: axes
                .pipeline
                .iter()
                .map(|pipeline| Steps::new(pipeline.pp, &axes.rounds))
                .collect(),
            flops_per_token: model_flops_per_token(
                subject.transformer,
                subject.recipe,
                subject.convention,
            ),
            sizes: Vec::new(),
            layouts: Radix::new([
                axes.tensor.len(),
                axes.context.len(),
                axes.expert.len(),
                axes.pipeline.len(),
                axes.data.len(),
            ]),
            checked: Vec::new(),
            blocks: Radix::new([
                hardware.len(),
                axes.tensor.len(),
                axes.context.len(),
                axes.expert.len(),
                axes.micro_batch.len(),
            ]),
            priced: Vec::new(),
            platforms: Vec::new(),
            subject,
            axes,
        };
        space.check_layouts();
        space.platforms = hardware
            .iter()
            .map(|(fit, network)| space.platform(*fit, *network))
            .collect();
        space.priced = (0..space.blocks.count())
            .into_par_iter()
            .map(|place| space.price(space.blocks.digits(place)))
            .collect();
        let clusters: Vec<_> = space
            .platforms
            .par_iter()
            .map(|platform| space.clusters(platform))
            .collect();
        for (platform, clusters) in space.platforms.iter_mut().zip(clusters) {
            platform.clusters = clusters;
        }
        space
    }

    /// Candidates of a row.
    pub fn row_length(&self) -> u64 {
        self.axes.rounds.len() as u64
    }

    /// The platform and the layout of a candidate, with the batch of its step.
    pub fn candidate(&self, place: u64) -> (&Platform<'a>, Layout, u32) {
        let digits = self.radix.digits(place);
        let layout = self.layout(&digits);
        let micro_batches = self.axes.rounds[digits[9]] * layout.pp;
        let batch = micro_batches * layout.micro_batch * layout.dp;
        (&self.platforms[digits[0]], layout, batch)
    }

    pub(super) fn layout(&self, digits: &[usize; AXES]) -> Layout {
        let axes = &self.axes;
        let (tp, sequence_parallel) = axes.tensor[digits[1]];
        let pipeline = axes.pipeline[digits[5]];
        Layout {
            tp,
            sequence_parallel,
            cp: axes.context[digits[2]],
            ep: axes.expert[digits[3]],
            micro_batch: axes.micro_batch[digits[4]],
            pp: pipeline.pp,
            vpp: pipeline.vpp,
            schedule: pipeline.schedule,
            recompute: axes.recompute[digits[6]],
            dp: axes.data[digits[7]],
            sharding: axes.sharding[digits[8]],
            ..Layout::SINGLE
        }
    }

    /// Place among the sizes of what a row is laid out on, or why it cannot be.
    pub(super) fn checked(&self, digits: &[usize; AXES]) -> Result<u32, Rejected> {
        let [_, tensor, context, expert, _, pipeline, _, data, _, _] = *digits;
        let place = self
            .layouts
            .place([tensor, context, expert, pipeline, data]);
        at(&self.checked, place).unwrap_or(Err(Rejected::Layout))
    }

    /// Of what groups of ranks depend on: all of `Groups::new`.
    pub(super) fn groups_key(&self, digits: &[usize; AXES]) -> u64 {
        let [
            platform,
            tensor,
            context,
            expert,
            _,
            pipeline,
            _,
            data,
            _,
            _,
        ] = *digits;
        let layout = self
            .layouts
            .place([tensor, context, expert, pipeline, data]);
        platform as u64 * self.layouts.count() + layout
    }

    /// Of what one micro-batch through a pipeline depends on: the axes up to recomputation.
    pub(super) fn pace_key(&self, digits: &[usize; AXES]) -> u64 {
        let [
            platform,
            tensor,
            context,
            expert,
            micro_batch,
            pipeline,
            recompute,
            ..,
        ] = *digits;
        let block = [platform, tensor, context, expert, micro_batch];
        let pipelines = self.axes.pipeline.len() as u64;
        let recomputes = self.axes.recompute.len() as u64;
        (self.blocks.place(block) * pipelines + pipeline as u64) * recomputes + recompute as u64
    }

    pub(super) fn priced(&self, digits: &[usize; AXES]) -> Option<&PricedModel> {
        let [platform, tensor, context, expert, micro_batch, ..] = *digits;
        let block = [platform, tensor, context, expert, micro_batch];
        let place = usize::try_from(self.blocks.place(block)).ok()?;
        self.priced.get(place)?.as_ref()
    }

    pub(super) fn cluster(&self, platform: usize, size: u32) -> Option<ClusterTerms> {
        at(&self.platforms[platform].clusters, u64::from(size)).flatten()
    }

    /// Checks each way to lay out once; the batch of a step is whole rounds of any size.
    fn check_layouts(&mut self) {
        let mut found = Vec::new();
        for place in 0..self.layouts.count() {
            let [tensor, context, expert, pipeline, data] = self.layouts.digits(place);
            let digits = [0, tensor, context, expert, 0, pipeline, 0, data, 0, 0];
            let layout = self.layout(&digits);
            let recipe = Recipe {
                global_batch: layout.dp * layout.micro_batch * layout.pp,
                ..*self.subject.recipe
            };
            let accelerators = layout.accelerators();
            found.push(
                if layout.check(self.subject.transformer, &recipe).is_err() {
                    Err(Rejected::Layout)
                } else if accelerators > self.axes.most_accelerators {
                    Err(Rejected::Accelerators)
                } else {
                    Ok(accelerators)
                },
            );
        }
        self.sizes = found.iter().filter_map(|size| size.ok()).collect();
        self.sizes.sort_unstable();
        self.sizes.dedup();
        let place_of = |size: u32| self.sizes.partition_point(|other| *other < size);
        self.checked = found
            .into_iter()
            .map(|size| size.map(|size| u32::try_from(place_of(size)).unwrap_or(u32::MAX)))
            .collect();
    }

    fn platform(&self, fit: Fit<'a>, network: Option<(&'a Network, NetworkLine)>) -> Platform<'a> {
        let TrainingSubject {
            recipe,
            assumptions,
            ..
        } = self.subject;
        let format = recipe.precision.format();
        Platform {
            fit,
            network,
            fabric: fit.fabric(network.map(|(_, line)| line), assumptions),
            rates: Rates::of(fit.accelerator, format, assumptions),
            clusters: Vec::new(),
        }
    }

    /// The clusters of each size that a platform makes.
    fn clusters(&self, platform: &Platform) -> Vec<Option<ClusterTerms>> {
        let TrainingSubject {
            assumptions,
            training,
            ..
        } = self.subject;
        let slots = platform.fit.slots;
        let hardware = Hardware {
            accelerator: platform.fit.accelerator,
            host: platform.fit.host,
            network: platform
                .network
                .map(|(network, line)| (network, line.nics_per_host)),
        };
        // What a checkpoint writes is the model's, whatever it is priced on.
        let checkpoints = self.priced.iter().flatten().next().map(|priced| {
            let once = priced.checkpoint;
            [once, once + priced.tied_checkpoint]
        });
        let terms = |&accelerators: &u32| {
            let hosts = accelerators.div_ceil(slots);
            let (spares, _) = AtWork {
                accelerators,
                hosts,
            }
            .spares(training);
            let cluster = Cluster::new(hardware, accelerators, slots, spares)?;
            let price_usd = cluster.price()?.usd();
            let power = cluster.power(assumptions)?;
            // Only what does not depend on speed is taken of it.
            let cost = of_purchase(
                price_usd,
                power,
                cluster.rack_units(),
                1.0,
                &assumptions.cost,
            );
            let goodput = checkpoints?
                .map(|bytes| Failures::of_cluster(accelerators, hosts, bytes, training).goodput);
            Some(ClusterTerms {
                price_usd,
                usd_per_hour: cost.usd_per_hour,
                accelerators: f64::from(accelerators),
                straggling: straggling(training, hosts),
                goodput,
            })
        };
        self.sizes.iter().map(terms).collect()
    }

    /// Costs of one micro-batch; they depend on no other axis than these.
    fn price(
        &self,
        [platform, tensor, context, expert, micro_batch]: [usize; 5],
    ) -> Option<PricedModel> {
        let platform = &self.platforms[platform];
        let rates = platform.rates.as_ref()?;
        let (tp, sequence_parallel) = self.axes.tensor[tensor];
        let ep = self.axes.expert[expert];
        let layout = Layout {
            tp,
            sequence_parallel,
            cp: self.axes.context[context],
            ep,
            // Enough replicas to deal the experts to; more change nothing.
            dp: ep,
            micro_batch: self.axes.micro_batch[micro_batch],
            ..Layout::SINGLE
        };
        Some(PricedModel::new(
            self.subject.transformer,
            self.subject.recipe,
            &layout,
            rates,
            &Groups::new(&layout, &platform.fabric, platform.fit.slots),
            self.subject.training,
        ))
    }
}

impl Candidates for TrainingSpace<'_, '_> {
    type Columns = TrainingColumns;

    type Walker<'w>
        = TrainingWalker<'w, 'w, 'w>
    where
        Self: 'w;

    fn count(&self) -> u64 {
        self.radix.count()
    }

    fn walker(&self) -> Self::Walker<'_> {
        TrainingWalker::new(self)
    }
}

/// Whether a run with this goodput never ends.
pub(super) fn fails(goodput: f64) -> bool {
    goodput < LEAST_GOODPUT
}

fn at<T: Copy>(list: &[T], place: u64) -> Option<T> {
    list.get(usize::try_from(place).ok()?).copied()
}
