//! Latencies at a rate of arrivals, put together from their parts.

use super::Estimator;
use super::answer::{Estimate, TokenTime};
use super::decoding::{Decoding, Source, decoding};
use super::population::MOST_BUSY;
use super::reading::{MOST_SHARE, Machine, Reading};
use super::tail::{FirstToken, Tail};
use super::traffic::mean;
use super::waiting::{Backlog, Rest, SameStep, wait};
use crate::serving::engine::limits::Policy;

/// A rate of arrivals with what follows from it at once.
pub(super) struct Point<'e> {
    pub(super) machine: Machine<'e>,
    pub(super) source: Source,
    /// Arrivals per second.
    pub(super) all: f64,
    /// Of one micro-batch.
    pub(super) rate: f64,
    pub(super) decoding: Decoding,
    pub(super) reading: Reading,
    /// Share of the time that reading takes from decoding.
    pub(super) share: f64,
}

impl<'e> Point<'e> {
    fn new(estimator: &'e Estimator, all: f64, source: Source) -> Self {
        let machine = estimator.machine();
        let rate = all / machine.micro_batches;
        let behind = machine.traffic.output.mean - 1.0;
        let decoding = decoding(&machine, estimator.places, rate, behind, source);
        let beside = decoding.population.decoding;
        let reading = machine.reading(match source {
            Source::Open { .. } => beside,
            Source::Users(_) => beside.max(1.0),
        });
        Self {
            machine,
            source,
            all,
            rate,
            share: machine.share(&reading, rate),
            decoding,
            reading,
        }
    }

    /// Of several micro-batches the emptiest takes a prompt, which is the next one about half of
    /// the time.
    pub(super) fn emptiest(&self) -> f64 {
        f64::midpoint(1.0, 1.0 / self.machine.micro_batches)
    }

    /// Where nobody gets a token while prompts are read, no user asks again meanwhile.
    pub(super) fn nobody_asks_while_prompts_are_read(&self) -> bool {
        self.machine.policy == Policy::PrefillFirst && matches!(self.source, Source::Users(_))
    }
}

pub(super) fn open(estimator: &Estimator, rate: f64, cv2: f64) -> Estimate {
    estimate(estimator, rate, Source::Open { cv2 })
}

pub(super) fn closed(estimator: &Estimator, users: f64, rate: f64) -> Estimate {
    let lanes = estimator.machine().micro_batches;
    estimate(estimator, rate, Source::Users(users / lanes))
}

fn estimate(estimator: &Estimator, all: f64, source: Source) -> Estimate {
    let point = Point::new(estimator, all, source);
    let backlog = Backlog::new(estimator, &point);
    let first = first_token(estimator, &point, &backlog);
    let behind = point.machine.traffic.output.mean - 1.0;
    let (reading, decoding) = (&point.reading, &point.decoding);

    // What was in line behind a prompt when it was through slows its first tokens down.
    let own = reading.own_mean() + backlog.chance * backlog.mean;
    let left_behind = match (source, point.machine.policy) {
        (Source::Users(_), _) => 0.0,
        (_, Policy::DecodeFirst) => own - decoding.tpot,
        (_, Policy::PrefillFirst) => own,
    };
    let slowed = point.share * left_behind.max(0.0) / (1.0 - point.share);
    let tpot = TokenTime {
        least: LEAST_STEP * reading.decode,
        most: match (source, point.machine.policy) {
            (Source::Users(_), Policy::DecodeFirst) => reading.full_step.max(decoding.tpot),
            _ => f64::INFINITY,
        },
        spread: std::array::from_fn(|at| token_time(&point, slowed, at)),
    };
    let is_open = matches!(source, Source::Open { .. });
    Estimate {
        requests_per_second: all,
        decoding: decoding.population.decoding * point.machine.micro_batches,
        is_overloaded: is_open
            && (backlog.busy >= MOST_BUSY
                || point.share >= MOST_SHARE
                || decoding.population.falls_by >= MOST_BUSY),
        ttft_mean: first.mean(),
        first,
        behind,
        tpot_mean: (decoding.tpot + slowed / behind.max(1.0)).min(tpot.most),
        tpot,
    }
}

fn first_token(estimator: &Estimator, point: &Point, backlog: &Backlog) -> FirstToken {
    let rest = Rest::new(point);
    let same_step = SameStep::new(point, rest.mean, backlog.chance);
    let decode = point.reading.decode;
    let usual = rest.mean + same_step.mean + backlog.chance * backlog.mean;
    let variance = (rest.square - rest.mean * rest.mean).max(0.0)
        + same_step.variance
        + (backlog.chance * (1.0 + backlog.cv2) - backlog.chance.powi(2)) * backlog.mean.powi(2);
    // Either the rest of a decoding step alone, or that and more.
    let undisturbed = (-same_step.met).exp() * (1.0 - backlog.chance);
    let (alone, more) = match point.source {
        Source::Open { .. } => (
            rest.decodes * undisturbed,
            rest.reads + (1.0 - rest.reads) * (1.0 - undisturbed),
        ),
        Source::Users(_) => (0.0, 1.0 - undisturbed),
    };
    let more = more.clamp(RARE, 1.0 - RARE);
    let emptiest = point.emptiest();
    let in_the_way = ((usual - alone * decode / 2.0 * emptiest) / more).max(0.0);
    let square = (variance + usual * usual - alone * decode.powi(2) / 3.0 * emptiest) / more;
    let (waits, wait, wait_cv2) = wait(
        estimator,
        &point.decoding.population,
        point.all,
        point.source,
    );
    FirstToken {
        own: std::array::from_fn(|at| point.reading.own(at)),
        step: match point.source {
            Source::Open { .. } => decode,
            Source::Users(_) => 0.0,
        },
        lanes: point.machine.micro_batches,
        rest: alone,
        more,
        in_the_way: Tail::new(in_the_way, square - in_the_way * in_the_way),
        waits,
        wait_mean: wait,
        wait: Tail::new(wait, wait_cv2 * wait * wait),
        usual,
        overhead: estimator.overhead,
    }
}

/// A chance that is as good as none.
const RARE: f64 = 1e-9;
/// Decoding steps at a small number of sequences are shorter than the usual one by so much.
const LEAST_STEP: f64 = 0.98;

/// Token time of a stratum of outputs above the least, over which prompts and the number of
/// those who decode are averaged for as long as the output takes.
fn token_time(point: &Point, slowed: f64, at: usize) -> Tail {
    let (reading, decoding) = (&point.reading, &point.decoding);
    let traffic = point.machine.traffic;
    let behind = (traffic.output.strata[at] - 1.0).max(1.0);
    let usual = (traffic.output.mean - 1.0).max(1.0);
    // The mean over a time of something that forgets exponentially.
    let lives = behind / usual;
    let averaged = 2.0 * (lives - 1.0 + (-lives).exp()) / (lives * lives);
    let number = decoding.slope.powi(2) * decoding.population.variance * averaged;
    let base = if reading.beside > 0.0 {
        reading.decode
    } else {
        0.0
    };
    let work = mean(|at| {
        let (steps, each) = reading.full[at];
        (steps * (each - base) + reading.last[at].1 - base).powi(2)
    }) * traffic.lost_square();
    let prompts = point.rate * decoding.tpot * work / (behind * (1.0 - point.share).powi(2));
    let mean = decoding.tpot + slowed / behind - LEAST_STEP * reading.decode;
    Tail::new(mean, number + prompts)
}
