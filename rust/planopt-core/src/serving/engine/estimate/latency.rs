//! Latencies at a rate of arrivals, put together from their parts.

use super::answer::{Estimate, TokenTime};
use super::decoding::Source;
use super::estimator::Estimator;
use super::gates::Gates;
use super::machine::MOST_SHARE;
use super::point::{Point, RARE};
use super::population::MOST_BUSY;
use super::tail::{FirstToken, Tail};
use super::traffic::mean;
use super::waiting::{Backlog, Rest, SameStep, wait};
use crate::catalog::Policy;

pub(super) fn open(estimator: &Estimator, rate: f64, cv2: f64) -> Estimate {
    estimate(estimator, rate, Source::Open { cv2 })
}

pub(super) fn closed(estimator: &Estimator, users: f64, rate: f64, together: bool) -> Estimate {
    let micro_batches = estimator.machine().micro_batches;
    let users = users / micro_batches;
    estimate(estimator, rate, Source::Users { users, together })
}

fn estimate(estimator: &Estimator, all: f64, source: Source) -> Estimate {
    let point = Point::new(estimator, all, source);
    let backlog = Backlog::new(estimator, &point);
    let first = first_token(estimator, &point, &backlog);
    let behind = point.machine.traffic.output.mean - 1.0;
    let (reading, decoding) = (&point.reading, &point.decoding);

    let slowed = Slowed::new(&point, &backlog, estimator.places);
    let traffic = point.machine.traffic;
    let tpot_mean = decoding.tpot + mean(|at| slowed.beyond(traffic.behind(at), behind.max(1.0)));
    let work = squared_work(&point);
    let tpot = TokenTime {
        least: LEAST_STEP * reading.decode,
        most: match point.machine.policy {
            Policy::DecodeFirst => reading.full_step.max(decoding.tpot),
            Policy::PrefillFirst => f64::INFINITY,
        },
        spread: std::array::from_fn(|at| token_time(&point, &slowed, work, at)),
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
        tpot_mean: tpot_mean.min(tpot.most),
        tpot,
    }
}

/// By how much the first tokens behind a prompt are slower than usual: prompts that were in line
/// behind it are read then.
struct Slowed {
    /// Seconds in all, on average, if the output is long enough.
    seconds: f64,
    /// Seconds per token, at most.
    most: f64,
    /// Whether the usual TPOT has it in it.
    counted: bool,
}

impl Slowed {
    fn new(point: &Point, backlog: &Backlog, places: f64) -> Self {
        let (machine, reading) = (&point.machine, &point.reading);
        let (tpot, decode) = (point.decoding.tpot, reading.decode);
        let (seconds, most) = match (point.source, machine.policy) {
            (Source::Users { .. }, Policy::DecodeFirst) => (0.0, 0.0),
            // As long as those before it, on average.
            (Source::Users { .. }, Policy::PrefillFirst) => {
                (SameStep::new(point, 0.0, 0.0).mean, f64::INFINITY)
            }
            (Source::Open { .. }, Policy::DecodeFirst) => {
                let ahead = if machine.micro_batches > 1.0 {
                    // Other micro-batches take all but those who came during the last step.
                    reading.usual_step()
                } else {
                    reading.own_mean() + backlog.chance * backlog.mean
                };
                let seconds = point.share * (ahead - tpot) / (1.0 - point.share);
                // Steps are full at worst.
                (seconds, reading.full_step - tpot)
            }
            (Source::Open { .. }, Policy::PrefillFirst) => {
                let gates = Gates::new(machine, reading, point.rate);
                let room = places - point.decoding.population.decoding;
                let between = gates.seconds_after(decode, room);
                // A moment is met in a round in proportion to its length.
                let before = (decode * decode + between * gates.usual) / (decode + between);
                let others = point.rate * before;
                let own = reading.own_mean() + gates.each * others;
                let room = (room - 1.0 - others).max(0.0);
                (gates.seconds_after(own, room) - between, f64::INFINITY)
            }
        };
        Self {
            seconds: seconds.max(0.0),
            most: most.max(0.0),
            counted: matches!(point.source, Source::Users { .. }),
        }
    }

    /// Seconds per token by which an output of so many behind the first is slower than the usual
    /// TPOT, which is that of one of `usual`.
    fn beyond(&self, behind: f64, usual: f64) -> f64 {
        let usual = if self.counted {
            self.per_token(usual)
        } else {
            0.0
        };
        self.per_token(behind) - usual
    }

    /// Seconds per token of an output of so many behind the first.
    fn per_token(&self, behind: f64) -> f64 {
        if self.seconds <= 0.0 {
            return 0.0;
        }
        // The mean of an exponential, cut off.
        let cut = self.most * behind / self.seconds;
        -(-cut).exp_m1() * self.seconds / behind
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
        Source::Users { .. } => (0.0, 1.0 - undisturbed),
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
            Source::Users { .. } => 0.0,
        },
        micro_batches: point.machine.micro_batches,
        next: point.next_takes_it(),
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

/// Decoding steps at a small number of sequences are shorter than the usual one by so much.
const LEAST_STEP: f64 = 0.98;

/// Mean square of the seconds by which a prompt makes steps longer.
fn squared_work(point: &Point) -> f64 {
    let reading = &point.reading;
    let base = if reading.mixed > 0.0 {
        reading.decode
    } else {
        0.0
    };
    mean(|at| {
        let (steps, each) = reading.full[at];
        (steps * (each - base) + reading.last[at].1 - base).powi(2)
    }) * point.machine.traffic.lost_square()
}

/// Token time of a stratum of outputs above the least, over which prompts and the number of
/// those who decode are averaged for as long as the output takes.
fn token_time(point: &Point, slowed: &Slowed, work: f64, at: usize) -> Tail {
    let (reading, decoding) = (&point.reading, &point.decoding);
    let traffic = point.machine.traffic;
    let behind = traffic.behind(at);
    let usual = (traffic.output.mean - 1.0).max(1.0);
    // The mean over a time of something that forgets exponentially.
    let lives = behind / usual;
    let averaged = 2.0 * (lives - 1.0 + (-lives).exp()) / (lives * lives);
    let number = decoding.slope.powi(2) * decoding.population.variance * averaged;
    let prompts = point.rate * decoding.tpot * work / (behind * (1.0 - point.share).powi(2));
    let mean = decoding.tpot + slowed.beyond(behind, usual) - LEAST_STEP * reading.decode;
    Tail::new(mean, number + prompts)
}
