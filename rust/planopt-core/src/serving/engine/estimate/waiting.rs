//! What a prompt waits for before its own steps: the rest of the step under way, others in its
//! last step, prompts before it that do not fit one step, and a place.

use super::decoding::Source;
use super::estimator::Estimator;
use super::point::{Point, RARE};
use super::population::{MOST_BUSY, Population};
use crate::catalog::Policy;

/// The step under way when a prompt arrives.
pub(super) struct Rest {
    /// Chance that it reads prompts.
    pub(super) reads: f64,
    /// Chance that it only decodes.
    pub(super) decodes: f64,
    /// What is left of it.
    pub(super) mean: f64,
    /// Mean of the square of that.
    pub(super) square: f64,
}

impl Rest {
    pub(super) fn new(point: &Point) -> Self {
        let reading = &point.reading;
        let Source::Open { .. } = point.source else {
            // A user's question comes with the end of a step: his own last one.
            return Self {
                reads: 0.0,
                decodes: 1.0,
                mean: 0.0,
                square: 0.0,
            };
        };
        let reads = point.rate * reading.step_powers(1);
        let idle = (-point.decoding.population.decoding).exp() * (1.0 - reads).max(0.0);
        let reads = reads.min(1.0 - idle);
        let decodes = 1.0 - idle - reads;
        let together = match point.machine.policy {
            Policy::DecodeFirst => point.share,
            Policy::PrefillFirst => {
                point.rate * point.machine.traffic.mean_read() * reading.per_token
            }
        };
        // Steps that read let others gather, which makes the next ones longer.
        let gate = 1.0 / (1.0 - together.min(0.9).powi(2));
        let longest = reading.full_step.max(reading.decode);
        // A moment is met in a step in proportion to the step's length, and on average in its middle.
        let once = reading.decode * decodes + point.rate * reading.step_powers(2) * gate;
        let twice =
            reading.decode.powi(2) * decodes + point.rate * reading.step_powers(3) * gate * gate;
        let emptiest = point.emptiest();
        Self {
            reads,
            decodes,
            mean: (once / 2.0).min(longest / 2.0) * emptiest,
            square: twice / 3.0 * emptiest,
        }
    }
}

/// Others whose prompts are read in the last step of a prompt.
pub(super) struct SameStep {
    /// How many arrive for it, on average.
    pub(super) met: f64,
    /// By how much they make it longer.
    pub(super) mean: f64,
    /// Variance of that.
    pub(super) variance: f64,
}

impl SameStep {
    /// With so many seconds `rest` of the step before, and a backlog by `chance`.
    pub(super) fn new(point: &Point, rest: f64, chance: f64) -> Self {
        let (reading, traffic) = (&point.reading, point.machine.traffic);
        let others = match point.source {
            Source::Open { .. } => 2.0 * rest * point.all * traffic.mean_read(),
            Source::Users { users, .. } => {
                // Those who were answered in the same step.
                let users = users * point.machine.micro_batches;
                let fellows = ((users - 1.0) / users).max(0.0);
                let by_chance = point.rate * point.decoding.tpot * fellows;
                point.in_step().max(by_chance) * traffic.mean_read()
            }
        };
        let met = others / traffic.mean_read();
        let per_token = reading.per_token;
        if point.nobody_asks_while_prompts_are_read() {
            let fits = (reading.chunk + 0.5 * others) / (reading.chunk + others);
            return Self {
                met,
                mean: per_token * others * fits,
                variance: per_token.powi(2) * others * traffic.size_by_token(),
            };
        }
        let room = (reading.chunk - traffic.mean(|at| reading.last[at].0)).max(0.0);
        let fitting = if others > 0.0 {
            others * room / (others + room)
        } else {
            0.0
        };
        let longer = traffic.mean(|at| {
            let (last, _) = reading.last[at];
            let tokens = (last + fitting).min(reading.chunk);
            reading.steps.at(tokens) - reading.steps.at(last)
        });
        // Behind a backlog steps are full.
        let filled = per_token * room / 2.0;
        Self {
            met,
            mean: (1.0 - chance) * longer + chance * filled,
            variance: per_token.powi(2) * fitting * traffic.size_by_token() * (1.0 - chance),
        }
    }
}

/// Prompts that do not fit the step they could be read in.
pub(super) struct Backlog {
    /// Chance to meet one.
    pub(super) chance: f64,
    /// How long it lasts then.
    pub(super) mean: f64,
    /// Its variance over the square of that.
    pub(super) cv2: f64,
    /// Share of the time that reading all prompts in full steps takes.
    pub(super) busy: f64,
}

impl Backlog {
    pub(super) fn new(estimator: &Estimator, point: &Point) -> Self {
        let (machine, reading, source) = (&point.machine, &point.reading, point.source);
        let (rate, decoding) = (point.rate, point.decoding.population.decoding);
        let traffic = machine.traffic;
        let tokens = traffic.mean_read();
        // While prompts queue, more of them decode than usual, the more the longer it lasts.
        let usual_busy = (rate * tokens * reading.full_step / reading.chunk).min(0.98);
        let crowd = match (machine.policy, source) {
            (Policy::DecodeFirst, Source::Open { .. }) => {
                let behind = traffic.output.mean - 1.0;
                // Every full step brings chunk / tokens more, who stay for `behind` steps.
                let at_most = machine.budget * behind / (tokens + behind);
                let full = at_most.min(estimator.places).max(decoding);
                decoding + (full - decoding) * usual_busy.powi(2)
            }
            _ => decoding,
        };
        let mixed = match machine.policy {
            Policy::DecodeFirst => crowd,
            Policy::PrefillFirst => 0.0,
        };
        let chunk = (machine.budget - mixed).max(1.0);
        let steps = machine.surface.mixed(mixed);
        let time = |at: usize| {
            let attended_tokens = traffic.attended_tokens(at);
            steps.attending_to(chunk, attended_tokens) / chunk * traffic.read(at)
        };
        let service = traffic.mean(time);
        let square = traffic.mean(|at| time(at).powi(2)) * traffic.lost_square();
        let busy = (rate * service).min(MOST_BUSY);
        // Users bring as many prompts for each step as are answered in it, however long it takes.
        let busy = match source {
            Source::Open { .. } => busy,
            Source::Users { .. } => rate * point.decoding.tpot * tokens / chunk,
        };
        let (left, cv2) = match source {
            Source::Open { .. } => (1.0 - busy, 1.0),
            Source::Users { users, .. } if users > 1.0 => {
                let left = 1.0 - busy * (users - 1.0) / users;
                (left.max(RARE), left.clamp(RARE, 1.0))
            }
            Source::Users { .. } => (1.0, 1.0),
        };
        let size = traffic.size_by_token();
        // Prompts are only in the way if they overflow a step: the exponent is that of Kraemer and
        // Langenbach-Belz for arrivals at even intervals, which steps are.
        let chance = busy * (-2.0 / 3.0 * left * chunk / size).exp();
        let micro_batches = machine.micro_batches;
        let mut mean = square / service / 2.0 / left / micro_batches;
        let chance = match source {
            Source::Users { users, .. } if users <= 1.0 => 0.0,
            Source::Users { users, .. } => {
                mean = mean.min(users * service);
                let all = users * micro_batches;
                chance.min(1.0) * (all - 1.0) / all
            }
            Source::Open { cv2 } => {
                // More or less even arrivals wait less or longer (Kingman).
                let prompts = square / (service * service) - 1.0;
                mean *= (cv2 + prompts) / (1.0 + prompts);
                chance
            }
        };
        Self {
            chance: if point.nobody_asks_while_prompts_are_read() {
                0.0
            } else {
                chance
            },
            mean,
            cv2,
            busy: rate * service,
        }
    }
}

/// Chance to wait for a place in the engine, how long then, and the squared variation of that.
pub(super) fn wait(
    estimator: &Estimator,
    population: &Population,
    rate: f64,
    source: Source,
) -> (f64, f64, f64) {
    let micro_batches = f64::from(estimator.limits.micro_batches.max(1));
    let places = estimator.places * micro_batches;
    let output = estimator.traffic.output.cv2();
    match source {
        Source::Open { .. } if population.full <= 0.0 => (0.0, 0.0, 1.0),
        Source::Open { cv2 } => {
            let busy = population.falls_by.clamp(0.01, MOST_BUSY);
            // Of fixed over exponential service (Cosmetatos 1976).
            let fixed = 0.5
                * (1.0
                    + (1.0 - busy) * (places - 1.0) * ((4.0 + 5.0 * places).sqrt() - 2.0)
                        / (16.0 * busy * places));
            let fixed = fixed.min(1.0);
            let service = if output < 1.0 {
                output + (1.0 - output) * fixed
            } else {
                f64::midpoint(1.0, output)
            };
            // Prompts are read one after the other, which makes them a single server (M/G/1).
            let one_by_one = f64::midpoint(1.0, estimator.traffic.prompt.cv2());
            let reads = population.reads_in_line;
            let service = (1.0 - reads) * service + reads * one_by_one;
            let arrivals = (cv2 + output) / (1.0 + output);
            let wait = population.until_free * service * arrivals;
            (population.full, wait, 1.0)
        }
        Source::Users { users, .. } if users * micro_batches > places && rate > 0.0 => {
            let ahead = users * micro_batches - places;
            let cv2 = output.max(0.1) / ahead.max(1.0)
                * (2.0 * places / (users * micro_batches)).min(1.0);
            (1.0, ahead / rate, cv2.min(1.0))
        }
        Source::Users { .. } => (0.0, 0.0, 1.0),
    }
}
