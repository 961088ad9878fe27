//! The cheapest way to carry a load by the closed form: what may be cheapest is asked first.
//!
//! Of each layout two steps say what it cannot supply more than, and so what copies of it cost at least.
//! Layouts of an accelerator are asked in that order, until none that is left can be cheaper than what
//! is known. What is best of accelerators that are far dearer is not told.

use super::found::FoundUnit;
use super::kept::KeptLine;
use super::latency::{Most, Supply};
use super::reduce::reduce;
use super::units::{Candidate, Listing, Task};
use crate::hardware::{Fabric, Space, System};
use crate::parallel::Layout;
use crate::search::result::SearchResult;
use crate::serving::Prepared;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What of an accelerator is told costs at most so many times the cheapest of all.
const TOLD: f64 = 2.0;

/// Hosts over networks of one line.
struct Line<'a> {
    system: System<'a>,
    fabric: Fabric,
    listings: Vec<Listing<'a>>,
    kept: Arc<KeptLine>,
}

/// A layout that was looked at roughly.
struct Left {
    /// What copies of it cost at least.
    least: f64,
    /// Place of its line.
    line: usize,
    layout: Layout,
    /// Batches that fit in memory.
    batches: u32,
}

/// The layouts on one accelerator that are still to be asked about.
struct Walk<'a> {
    prepared: Option<Prepared>,
    lines: Vec<Line<'a>>,
    /// The dearest first.
    left: Vec<Left>,
    /// What the best costs.
    best: f64,
    result: SearchResult<FoundUnit<'a>>,
}

impl Task<'_> {
    /// Searches where only the cheapest carrying a load is sought.
    pub(super) fn best_first<'a>(&self, space: &Space<'a>) -> SearchResult<FoundUnit<'a>> {
        let mut accelerators: BTreeMap<&str, Vec<&System<'a>>> = BTreeMap::new();
        for system in &space.systems {
            let id = system.accelerator.id.as_str();
            accelerators.entry(id).or_default().push(system);
        }
        let systems: Vec<Vec<&System<'a>>> = accelerators.into_values().collect();
        let begun = systems.into_par_iter().map(|systems| {
            let mut walk = self.walk(&systems, space);
            // One that serves at all says what the others have to beat.
            walk.go(self, f64::INFINITY, true);
            self.course
                .step(u64::try_from(systems.len()).unwrap_or_default());
            walk
        });
        let mut walks: Vec<Walk<'a>> = begun.collect();
        let known = walks.iter().map(|walk| walk.best);
        let most = TOLD * known.fold(f64::INFINITY, f64::min);
        walks
            .par_iter_mut()
            .for_each(|walk| walk.go(self, most, false));
        let mut all = SearchResult::default();
        for walk in walks {
            all.absorb(walk.told(self));
        }
        all.interrupted |= self.course.is_over();
        all
    }

    /// Looks at all layouts on one accelerator, roughly.
    fn walk<'a>(&self, systems: &[&System<'a>], space: &Space<'a>) -> Walk<'a> {
        let mut walk = Walk {
            prepared: None,
            lines: Vec::new(),
            left: Vec::new(),
            best: f64::INFINITY,
            result: SearchResult::default(),
        };
        let accelerator = systems[0].accelerator;
        let Some(prepared) = self.divisions.prepared(accelerator) else {
            walk.result.covered += 1;
            walk.result.rejected.format += 1;
            return walk;
        };
        for over in systems
            .iter()
            .flat_map(|system| self.lines(system, &space.networks))
        {
            let system = over[0].1;
            let fabric = system.fabric(self.assumptions);
            let mut line = Line {
                system,
                kept: self.kept.line(&accelerator.id, &fabric),
                fabric,
                listings: self.listings(&over),
            };
            for &layout in self.layouts() {
                if self.course.is_over() {
                    break;
                }
                let Line {
                    fabric,
                    listings,
                    kept,
                    ..
                } = &mut line;
                let found = self.candidate(layout, &system, fabric, &prepared, |placement| {
                    self.affordable_in(listings, placement)
                });
                let Some(candidate) = found else {
                    continue;
                };
                walk.result.evaluated += 1;
                match self.roughly(&candidate) {
                    Some((least, batches)) => walk.left.push(Left {
                        least,
                        line: walk.lines.len(),
                        layout,
                        batches,
                    }),
                    // It does not fit: to say so takes no time.
                    None => {
                        self.supply_to(listings, &candidate, kept);
                    }
                }
            }
            walk.lines.push(line);
        }
        walk.left.sort_by(|one, other| {
            let by_cost = other.least.total_cmp(&one.least);
            by_cost.then(other.line.cmp(&one.line))
        });
        walk.prepared = Some(prepared);
        walk
    }

    /// What copies of a replica cost at least, and the batches that fit, if any do.
    fn roughly(&self, candidate: &Candidate) -> Option<(f64, u32)> {
        let latency = self.goal.latency.as_ref()?;
        let (replica, in_flight) = (&candidate.replica, candidate.in_flight);
        let most = Most::roughly(replica, latency, in_flight, self.assumptions)?;
        Some((self.at_best(candidate, most), most.capacity))
    }

    /// What copies of a replica's units cost, if each supplies the most that it may.
    fn at_best(&self, candidate: &Candidate, most: Most) -> f64 {
        let supply = Supply {
            batch: most.batch,
            sessions: None,
            tokens_per_second: most.tokens_per_second,
            tokens_per_second_per_user: f64::INFINITY,
        };
        let units = candidate.affordable.iter().map(Vec::as_slice);
        let each = units.flat_map(|units| self.supplying(supply, candidate.in_flight, units));
        let aim = self.demand.aim;
        each.filter_map(|unit| Some(aim?.of(&unit, self.demand)))
            .fold(f64::INFINITY, f64::min)
    }
}

impl<'a> Walk<'a> {
    /// Asks about layouts that may cost no more than `most` nor than the best that is known; until any is
    /// known, if only the first is sought.
    fn go(&mut self, task: &Task, most: f64, only_first: bool) {
        let Some(prepared) = &self.prepared else {
            return;
        };
        while let Some(left) = self.left.pop() {
            let is_enough = only_first && self.best.is_finite();
            if left.least > most.min(self.best) || is_enough || task.course.is_over() {
                self.left.push(left);
                break;
            }
            let Line {
                system,
                fabric,
                listings,
                kept,
            } = &mut self.lines[left.line];
            let found = task.candidate(left.layout, system, fabric, prepared, |placement| {
                task.affordable_in(listings, placement)
            });
            let Some(candidate) = found else {
                continue;
            };
            let known = task.most_of(&candidate, kept);
            let candidate = Candidate {
                most: known,
                ..candidate
            };
            let at_best = known.map_or(0.0, |known| task.at_best(&candidate, known));
            if at_best <= most.min(self.best) {
                let best = task.supply_to(listings, &candidate, kept);
                self.best = self.best.min(best);
            } else {
                self.result.covered += u64::from(left.batches);
            }
        }
    }

    /// What was found, and the units that none beats.
    fn told(self, task: &Task) -> SearchResult<FoundUnit<'a>> {
        let mut result = self.result;
        // Those that nobody asked about were looked at.
        let left = self.left.iter().map(|left| u64::from(left.batches));
        result.covered += left.sum::<u64>();
        for listing in self.lines.into_iter().flat_map(|line| line.listings) {
            result.absorb(listing.told(task.demand.speed).1);
        }
        result.found = reduce(result.found, task.demand);
        result
    }
}
