//! One accelerator in one host, prepared so that a candidate is cheap to ask about.

use super::found::FoundCluster;
use super::goal::TrainingSearch;
use super::layouts::{Candidate, Layouts};
use super::size::Size;
use crate::compute::training::PricedModel;
use crate::hardware::{Fabric, Rates, System};
use crate::load::training::Recipe;
use crate::parallel::{Groups, Layout, Recompute, Rejection};
use crate::quantity::Seconds;
use crate::search::result::SearchResult;
use crate::training::{Job, TrainingHardware};
use crate::transformer::Transformer;
use std::collections::BTreeMap;

/// Candidates before one that differ in sharding group and recomputation alone, at most.
const NEIGHBOURS: usize = 3;

/// Arithmetic of one micro-batch through all layers.
#[derive(Clone, Copy)]
struct Pass {
    once: Seconds,
    /// Of it, what full recomputation repeats: forward of the layers.
    recomputed: Seconds,
}

impl Pass {
    fn of(priced: &PricedModel, transformer: &Transformer, recipe: &Recipe) -> Self {
        let (embedding, head) = (&priced.embedding, &priced.head);
        let mut pass = Self {
            once: embedding.forward + embedding.backward + head.forward + head.backward,
            recomputed: Seconds::ZERO,
        };
        let mtp = (0..recipe.mtp_modules).map(|_| transformer.blocks.len());
        for kind in transformer.layers.iter().copied().chain(mtp) {
            let layer = &priced.blocks[kind];
            pass.once += layer.forward + layer.backward;
            pass.recomputed += layer.forward;
        }
        pass
    }
}

/// Costs of the shapes over one network and the shortest runs, computed where they are first needed.
pub(super) struct Priced {
    fabric: Fabric,
    shapes: Vec<Option<PricedModel>>,
    /// By number of accelerators.
    shortest: BTreeMap<u32, Shortest>,
}

/// The shortest run on some number of accelerators, and the time within which it was looked for.
struct Shortest {
    within: Seconds,
    run: Option<(Layout, Seconds)>,
}

impl Priced {
    pub(super) fn new(fabric: &Fabric, layouts: &Layouts) -> Self {
        Self {
            fabric: *fabric,
            shapes: vec![None; layouts.shapes.len()],
            shortest: BTreeMap::new(),
        }
    }

    pub(super) fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The shortest run on so many accelerators, where that is known of those up to `latest`: one that
    /// was found within another time is the shortest of all.
    fn known(&self, accelerators: u32, latest: Seconds) -> Option<&Shortest> {
        let known = self.shortest.get(&accelerators)?;
        (known.run.is_some() || latest <= known.within).then_some(known)
    }
}

/// An accelerator in its host, and what is known of the candidates on it.
pub(super) struct Subject<'s, 'a> {
    search: &'s TrainingSearch<'s>,
    pub(super) system: &'s System<'a>,
    rates: &'s Rates,
    pub(super) layouts: &'s Layouts,
    sizes: Vec<Size>,
    passes: Vec<Pass>,
    /// Candidates that are known not to fit in memory, over whatever network.
    too_large: Vec<bool>,
    /// Layers of a stage that candidates of full recomputation have to recompute at least.
    fewest: Vec<Option<u32>>,
    /// Accelerators that a tensor-parallel group may have: those joined without a network.
    reach: u32,
}

impl<'s, 'a> Subject<'s, 'a> {
    pub(super) fn new(
        search: &'s TrainingSearch<'s>,
        system: &'s System<'a>,
        rates: &'s Rates,
        layouts: &'s Layouts,
    ) -> Self {
        let domain = system.scale_up_domain();
        let mut subject = Self {
            search,
            system,
            rates,
            layouts,
            sizes: sizes(&layouts.candidates),
            passes: Vec::new(),
            too_large: vec![false; layouts.candidates.len()],
            fewest: vec![None; layouts.candidates.len()],
            reach: system.slots.max(domain),
        };
        let alone = system.fabric(search.assumptions);
        subject.passes = layouts
            .shapes
            .iter()
            .map(|shape| {
                Pass::of(
                    &subject.price(shape, &alone),
                    search.transformer,
                    search.recipe,
                )
            })
            .collect();
        subject
    }

    /// The sizes that need a network, or those that one host holds.
    pub(super) fn sizes(&self, network: bool) -> Vec<Size> {
        let slots = self.system.slots;
        let sizes = self.sizes.iter();
        sizes
            .filter(|size| (size.accelerators > slots) == network)
            .cloned()
            .collect()
    }

    /// The candidates on so many accelerators.
    pub(super) fn size(&self, accelerators: u32) -> Option<Size> {
        let mut sizes = self.sizes.iter();
        sizes
            .find(|size| size.accelerators == accelerators)
            .cloned()
    }

    fn price(&self, layout: &Layout, fabric: &Fabric) -> PricedModel {
        let search = self.search;
        PricedModel::new(
            search.transformer,
            search.recipe,
            layout,
            self.rates,
            &Groups::new(layout, fabric, self.system.slots),
            search.training,
        )
    }

    /// Steps of the run.
    fn steps(&self) -> f64 {
        let recipe = self.search.recipe;
        self.search.goal.tokens / (f64::from(recipe.global_batch) * f64::from(recipe.seq_len))
    }

    /// No step of the candidate is shorter: its arithmetic, divided evenly over the stages.
    fn least_step(&self, candidate: &Candidate) -> Seconds {
        let layout = &candidate.layout;
        let pass = self.passes[candidate.shape];
        let recomputed = match layout.recompute {
            // One layer of the largest stage, if no more.
            Recompute::Full => pass.recomputed / f64::from(candidate.partial + 1),
            _ => Seconds::ZERO,
        };
        let micro_batches = f64::from(layout.micro_batches(self.search.recipe));
        (pass.once + recomputed) * (micro_batches / f64::from(layout.pp))
    }

    /// The candidate of a size whose run is shortest, if it is shorter than `latest`, with the
    /// run.
    pub(super) fn fastest(
        &mut self,
        priced: &mut Priced,
        size: &Size,
        latest: Seconds,
        result: &mut SearchResult<FoundCluster>,
    ) -> Option<(Layout, Seconds)> {
        if let Some(known) = priced.known(size.accelerators, latest) {
            let run = known.run.filter(|(_, run)| *run <= latest);
            match run {
                Some(_) => result.rejected.slower += size.count - 1,
                None => result.rejected.deadline += size.count,
            }
            return run;
        }
        let run = self.looked_for(priced, size, latest, result);
        let within = latest;
        priced
            .shortest
            .insert(size.accelerators, Shortest { within, run });
        run
    }

    /// The same, of which nothing is known yet.
    fn looked_for(
        &mut self,
        priced: &mut Priced,
        size: &Size,
        latest: Seconds,
        result: &mut SearchResult<FoundCluster>,
    ) -> Option<(Layout, Seconds)> {
        let mut best: Option<(Layout, Seconds)> = None;
        let steps = self.steps();
        // A layout that fits with all activations kept.
        let mut keeps: Option<Layout> = None;
        for place in size.candidates.clone() {
            let candidate = self.layouts.candidates[place];
            let layout = candidate.layout;
            let count = candidate.count();
            if layout.tp > self.reach {
                result.rejected.placement += count;
                continue;
            }
            if self.known_too_large(place) {
                self.too_large[place] = true;
                result.rejected.memory += count;
                continue;
            }
            // Forward that is recomputed takes time; without need it is done once.
            let in_full = layout.recompute == Recompute::Full;
            let kept = Layout {
                recompute: Recompute::None,
                ..layout
            };
            if in_full && keeps == Some(kept) {
                result.rejected.slower += count;
                continue;
            }
            let least = self.least_step(&candidate) * steps;
            if misses_deadline(least, latest, best, count, result) {
                continue;
            }
            match self.fewest_recomputed(priced, place, result) {
                Err(rejection) => {
                    self.too_large[place] = matches!(rejection, Rejection::Memory { .. });
                    result.reject(&rejection, count);
                }
                Ok((recompute, run)) => {
                    if recompute == Recompute::None {
                        keeps = Some(layout);
                    }
                    if !misses_deadline(run, latest, best, 1, result) {
                        best = Some((
                            Layout {
                                recompute,
                                ..layout
                            },
                            run,
                        ));
                    }
                }
            }
        }
        best
    }

    /// The fewest layers of a stage that have to be recomputed for a layout to fit which with all
    /// activations kept does not: with each layer more there is less in memory, and no less to do.
    /// The memory is the same over every network, so they are found once.
    fn fewest_recomputed(
        &mut self,
        priced: &mut Priced,
        place: usize,
        result: &mut SearchResult<FoundCluster>,
    ) -> Result<(Recompute, Seconds), Rejection> {
        let candidate = self.layouts.candidates[place];
        let recompute = |layers: u32| match layers {
            all if all > candidate.partial => candidate.layout.recompute,
            some => Recompute::Layers(some),
        };
        let known = self.fewest[place];
        let mut fewest = known.unwrap_or(candidate.partial + 1);
        let mut run = self.run(priced, &candidate, recompute(fewest), result)?;
        if known.is_none() {
            let mut too_few = 0;
            while fewest - too_few > 1 {
                let layers = too_few.midpoint(fewest);
                match self.run(priced, &candidate, recompute(layers), result) {
                    Ok(shorter) => (fewest, run) = (layers, shorter),
                    Err(_) => too_few = layers,
                }
            }
            self.fewest[place] = Some(fewest);
        }
        result.rejected.memory += u64::from(fewest - 1);
        result.rejected.slower += u64::from(candidate.partial + 1 - fewest);
        Ok((recompute(fewest), run))
    }

    /// Whether a candidate is known not to fit: itself, or the same with its weights divided
    /// among all ranks and not only some.
    fn known_too_large(&self, place: usize) -> bool {
        let layout = self.layouts.candidates[place].layout;
        let divided = Layout {
            shard_group: None,
            ..layout
        };
        let before = place.saturating_sub(NEIGHBOURS)..place;
        self.too_large[place]
            || layout.shard_group.is_some()
                && before.into_iter().any(|other| {
                    self.too_large[other] && self.layouts.candidates[other].layout == divided
                })
    }

    /// The run of a candidate, failures included.
    fn run(
        &self,
        priced: &mut Priced,
        candidate: &Candidate,
        recompute: Recompute,
        result: &mut SearchResult<FoundCluster>,
    ) -> Result<Seconds, Rejection> {
        let search = self.search;
        let layout = &Layout {
            recompute,
            ..candidate.layout
        };
        let groups = Groups::placed(layout, &priced.fabric, self.system.slots)?;
        let shape = &mut priced.shapes[candidate.shape];
        let model = shape.get_or_insert_with(|| {
            self.price(&self.layouts.shapes[candidate.shape], &priced.fabric)
        });
        let hardware = TrainingHardware {
            system: self.system,
            rates: self.rates,
            fabric: &priced.fabric,
        };
        result.evaluated += 1;
        let job = Job {
            transformer: search.transformer,
            recipe: search.recipe,
            layout,
            assumptions: search.assumptions,
            training: search.training,
        };
        let stages = &self.layouts.pipelines[candidate.pipeline];
        let evaluation = job.evaluate(&hardware, model, &groups, stages);
        match evaluation.rejection() {
            Some(rejection) => Err(rejection),
            None => Ok(evaluation.step.total() * (self.steps() / evaluation.failures.goodput)),
        }
    }
}

/// Whether a run is of no use because it is too long, or no shorter than the best of its size.
fn misses_deadline(
    run: Seconds,
    latest: Seconds,
    best: Option<(Layout, Seconds)>,
    count: u64,
    result: &mut SearchResult<FoundCluster>,
) -> bool {
    if run > latest {
        result.rejected.deadline += count;
        return true;
    }
    let slower = best.is_some_and(|(_, known)| run >= known);
    if slower {
        result.rejected.slower += count;
    }
    slower
}

/// Runs of candidates on as many accelerators.
fn sizes(candidates: &[Candidate]) -> Vec<Size> {
    let number = |candidate: &Candidate| candidate.layout.accelerators();
    let mut end = 0;
    let alike = candidates.chunk_by(|one, other| number(one) == number(other));
    let of_size = alike.map(|alike| {
        let start = end;
        end += alike.len();
        Size {
            accelerators: number(&alike[0]),
            candidates: start..end,
            count: alike.iter().map(Candidate::count).sum(),
        }
    });
    of_size.collect()
}
