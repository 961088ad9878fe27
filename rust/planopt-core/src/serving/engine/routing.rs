//! Which replica a turn goes to, and how uneven that makes their work (docs/reference/serving.md,
//! section 18).

use super::arrivals::Request;
use super::random::Random;
use super::scheduler::Engine;
use super::step::StepTime;
use crate::load::{Router, Routing};
use crate::quantity::real;

/// The replica that a request goes to: `here` has had its session, and `next` is the one whose turn it
/// is.
pub(super) fn chosen<T: StepTime>(
    engines: &mut [Engine<'_, T>],
    router: Router,
    request: &Request<'_>,
    (here, next): (usize, usize),
    any: &mut Random,
) -> usize {
    match router.routing {
        Routing::Even => here,
        Routing::Hash => of_hash(
            request.begins.map_or(0, |begins| begins.own()),
            engines.len(),
        ),
        Routing::Random => any.below(engines.len()),
        Routing::RoundRobin => next,
        Routing::CacheAware => least_to_do(engines, router.load_weight, request, next),
    }
}

/// Where a number leads among so many.
pub(super) fn of_hash(number: u64, count: usize) -> usize {
    Random::new(number, 18).below(count)
}

/// The replica with the least to read of a prompt and to serve meanwhile; of those alike the one with
/// the least to serve, from `next` on. What all prompts begin with counts nowhere: the first that has
/// it would draw all others.
fn least_to_do<T: StepTime>(
    engines: &mut [Engine<'_, T>],
    load_weight: f64,
    request: &Request<'_>,
    next: usize,
) -> usize {
    let mut least = (next, f64::INFINITY, f64::INFINITY);
    for step in 0..engines.len() {
        let place = (next + step) % engines.len();
        let engine = &mut engines[place];
        let served = real(engine.tokens_in_flight());
        let to_do = load_weight * served - real(engine.has_of(request));
        if (to_do, served) < (least.1, least.2) {
            least = (place, to_do, served);
        }
    }
    least.0
}

/// Turns of each replica over which its work is compared with that of others.
const TURNS: usize = 40;

/// How much more the busiest replica reads than the mean one.
#[derive(Clone, Debug)]
pub(super) struct Imbalance {
    read: Vec<f64>,
    turns: usize,
    sum: f64,
    windows: f64,
}

impl Imbalance {
    pub(super) fn of(replicas: usize) -> Self {
        Self {
            read: vec![0.0; replicas],
            turns: 0,
            sum: 0.0,
            windows: 0.0,
        }
    }

    /// A replica has read so many tokens of a prompt.
    pub(super) fn add(&mut self, replica: usize, tokens: u32) {
        self.read[replica] += f64::from(tokens);
        self.turns += 1;
        if self.turns == TURNS * self.read.len() {
            let all: f64 = self.read.iter().sum();
            let most = self.read.iter().copied().fold(0.0, f64::max);
            self.sum += most * real(self.read.len() as u64) / all.max(1.0);
            self.windows += 1.0;
            self.turns = 0;
            self.read.fill(0.0);
        }
    }

    /// Tokens that the busiest has read over those of the mean one; 1 where nothing is known.
    pub(super) fn mean(&self) -> f64 {
        if self.windows > 0.0 {
            self.sum / self.windows
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_as_busy_as_each_other_where_too_little_was_read_to_tell() {
        let mut imbalance = Imbalance::of(2);
        imbalance.add(0, 100);
        assert_eq!(imbalance.mean().to_bits(), 1.0_f64.to_bits());
        for turn in 1..2 * TURNS {
            imbalance.add(0, if turn < TURNS { 100 } else { 0 });
        }
        assert_eq!(imbalance.mean().to_bits(), 2.0_f64.to_bits());
    }
}
