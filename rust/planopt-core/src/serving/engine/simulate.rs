//! The discrete-event simulation: requests, engines, and links between pools of them.

use super::arrivals::{Request, Source};
use super::limits::{EngineLimits, Transfer};
use super::report::{LoadReport, Measured, Objectives, Sample};
use super::scheduler::{Answered, Engine};
use super::step::StepTime;
use crate::load::Load;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Replicas that are alike; requests are dealt to them in turn.
#[derive(Clone, Debug)]
pub struct Pool<'a, T> {
    /// How many there are.
    pub replicas: u32,
    /// Limits of each.
    pub limits: EngineLimits,
    /// Times of its steps.
    pub step: &'a T,
}

/// How long a simulation runs.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Random numbers are the same for the same seed.
    pub seed: u64,
    /// Requests that arrive before those that are measured.
    pub warm_up: u64,
    /// Requests that are measured.
    pub requests: u64,
    /// Whether nobody comes after them, as in a benchmark of so many prompts; else arrivals go
    /// on until all of them are answered.
    pub doors_close: bool,
    /// What a request takes outside of the engine until its first token is with the user.
    pub request_overhead: f64,
    /// What users are promised, for goodput.
    pub objectives: Objectives,
}

/// Events between two looks at whether to stop.
const EVENTS_BETWEEN_LOOKS: u32 = 1 << 12;

/// Something that comes at a time that was known before.
#[derive(Clone, Copy, Debug)]
struct Due {
    time: f64,
    /// Keeps those of the same time in the order they were made.
    order: u64,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// A user asks.
    Asks,
    /// A request with its cache has reached the pool that decodes.
    Reaches(Request),
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    /// The earliest is the greatest: it comes first out of a heap.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other
            .time
            .total_cmp(&self.time)
            .then(other.order.cmp(&self.order))
    }
}

/// Replicas of one pool, and whose turn it is.
struct Engines<'a, T> {
    engines: Vec<Engine<'a, T>>,
    turn: usize,
}

impl<'a, T: StepTime> Engines<'a, T> {
    fn new(pool: &Pool<'a, T>) -> Self {
        let engine = || Engine::new(pool.limits, pool.step);
        Self {
            engines: std::iter::repeat_with(engine)
                .take(pool.replicas.max(1) as usize)
                .collect(),
            turn: 0,
        }
    }

    fn next(&self) -> (usize, f64) {
        self.engines
            .iter()
            .map(Engine::next)
            .enumerate()
            .fold((0, f64::INFINITY), |first, one| {
                if one.1 < first.1 { one } else { first }
            })
    }

    /// Deals a request; whether any engine could ever hold it.
    fn deal(&mut self, request: Request) -> bool {
        let engine = self.turn;
        self.turn = (self.turn + 1) % self.engines.len();
        self.engines[engine].submit(request)
    }

    fn wake(&mut self, now: f64) {
        for engine in &mut self.engines {
            engine.wake(now);
        }
    }
}

/// Simulates a load on replicas that each read prompts and answer them.
pub fn simulate<T: StepTime>(
    pool: &Pool<'_, T>,
    load: &Load,
    run: Run,
    stop: &AtomicBool,
) -> LoadReport {
    Simulation::new(pool, None::<(&Pool<'_, T>, Transfer)>, load, run).run(stop)
}

/// Simulates a load on replicas that read prompts, and others that get the cache of each over a
/// link and answer it. The first token reaches the user when the cache has reached the replica
/// that answers.
pub fn simulate_disaggregated<P: StepTime, D: StepTime>(
    prefill: &Pool<'_, P>,
    transfer: Transfer,
    decode: &Pool<'_, D>,
    load: &Load,
    run: Run,
    stop: &AtomicBool,
) -> LoadReport {
    Simulation::new(prefill, Some((decode, transfer)), load, run).run(stop)
}

struct Simulation<'a, P, D> {
    front: Engines<'a, P>,
    back: Option<(Engines<'a, D>, Transfer)>,
    /// When each engine's link is free again.
    links: Vec<f64>,
    source: Source<'a>,
    due: BinaryHeap<Due>,
    order: u64,
    run: Run,
    measured: Measured,
    /// Requests to be measured that no engine could hold.
    refused: u64,
}

impl<'a, P: StepTime, D: StepTime> Simulation<'a, P, D> {
    fn new(
        front: &Pool<'a, P>,
        back: Option<(&Pool<'a, D>, Transfer)>,
        load: &'a Load,
        run: Run,
    ) -> Self {
        let front = Engines::new(front);
        Self {
            links: vec![0.0; front.engines.len()],
            front,
            back: back.map(|(pool, transfer)| (Engines::new(pool), transfer)),
            source: Source::new(load, run.seed),
            due: BinaryHeap::new(),
            order: 0,
            run,
            measured: Measured::new(usize::try_from(run.requests).unwrap_or(usize::MAX)),
            refused: 0,
        }
    }

    fn run(mut self, stop: &AtomicBool) -> LoadReport {
        let mut answered = Vec::new();
        let mut now = 0.0;
        let mut until_look = EVENTS_BETWEEN_LOOKS;
        let mut interrupted = false;
        while self.measured.answered() + self.refused < self.run.requests {
            until_look -= 1;
            if until_look == 0 {
                until_look = EVENTS_BETWEEN_LOOKS;
                if stop.load(Ordering::Relaxed) {
                    interrupted = true;
                    break;
                }
            }
            let (front, front_time) = self.front.next();
            let (back, back_time) = match &self.back {
                Some((engines, _)) => engines.next(),
                None => (0, f64::INFINITY),
            };
            let arrival = self.next_arrival();
            let first = arrival.min(front_time).min(back_time);
            if first == f64::INFINITY {
                break;
            }
            now = first;
            if arrival > now {
                if front_time <= now {
                    self.front.engines[front].advance(&mut answered);
                    self.leave_front(front, now, &mut answered);
                } else if let Some((engines, _)) = &mut self.back {
                    engines.engines[back].advance(&mut answered);
                    self.leave(now, &mut answered);
                }
            }
            self.arrive(now);
            self.front.wake(now);
            if let Some((engines, _)) = &mut self.back {
                engines.wake(now);
            }
        }
        self.report(now, interrupted)
    }

    /// When the next request arrives, of its own accord or because its user was answered.
    fn next_arrival(&self) -> f64 {
        let due = self.due.peek().map_or(f64::INFINITY, |due| due.time);
        if self.doors_are_closed() {
            due
        } else {
            due.min(self.source.next_arrival())
        }
    }

    fn doors_are_closed(&self) -> bool {
        self.run.doors_close && self.source.asked() >= self.run.warm_up + self.run.requests
    }

    /// Everybody who arrives by `now`.
    fn arrive(&mut self, now: f64) {
        while self.next_arrival() <= now {
            match self.due.peek() {
                Some(&due) if due.time <= self.source.next_arrival() => {
                    self.due.pop();
                    match due.what {
                        What::Asks if self.doors_are_closed() => {}
                        What::Asks => {
                            let request = self.source.ask(due.time);
                            self.enter(request);
                        }
                        What::Reaches(request) => {
                            let dealt = self.back.as_mut().map(|(back, _)| back.deal(request));
                            if dealt == Some(false) {
                                self.turn_away(request, now);
                            }
                        }
                    }
                }
                _ => {
                    let request = self.source.arrive();
                    self.enter(request);
                }
            }
        }
    }

    fn enter(&mut self, request: Request) {
        let asked = if self.back.is_some() {
            // The pool in front reads the prompt and puts out the first token alone.
            Request {
                output: 1,
                later: request.output - 1,
                ..request
            }
        } else {
            request
        };
        if !self.front.deal(asked) {
            self.turn_away(request, request.arrival);
        }
    }

    /// What leaves the engines in front: it is answered, or goes over the engine's link.
    fn leave_front(&mut self, engine: usize, now: f64, answered: &mut Vec<Answered>) {
        let Some((_, transfer)) = &self.back else {
            return self.leave(now, answered);
        };
        let transfer = *transfer;
        let mut sent = Vec::new();
        answered.retain(|each| {
            let is_sent = each.request.later > 0;
            if is_sent {
                sent.push(each.request);
            }
            !is_sent
        });
        for request in sent {
            let busy = transfer.seconds_per_token * f64::from(request.prompt);
            self.links[engine] = self.links[engine].max(now) + busy;
            let reached = self.links[engine] + transfer.latency_seconds;
            let whole = Request {
                cached: request.prompt,
                output: request.later + 1,
                later: 0,
                reached,
                ..request
            };
            self.put(reached, What::Reaches(whole));
        }
        self.leave(now, answered);
    }

    /// Records who has been answered; users ask again.
    fn leave(&mut self, now: f64, answered: &mut Vec<Answered>) {
        for each in answered.drain(..) {
            let request = each.request;
            let place = request.number.checked_sub(self.run.warm_up);
            if let Some(place) = place.filter(|&place| place < self.run.requests) {
                let sample = Sample {
                    place: usize::try_from(place).unwrap_or(usize::MAX),
                    arrival: request.arrival,
                    first_token: each.first_token + self.run.request_overhead,
                    end: now + self.run.request_overhead,
                    output: request.output,
                };
                self.measured.add(sample, self.run.objectives);
            }
            if let Some(think) = self.source.think_seconds() {
                self.put(now + self.run.request_overhead + think, What::Asks);
            }
        }
    }

    /// Counts a request that no engine could ever hold; its user asks again, but not in no time,
    /// which would never end.
    fn turn_away(&mut self, request: Request, now: f64) {
        if request.number >= self.run.warm_up {
            self.refused += 1;
        }
        if let Some(think) = self.source.think_seconds() {
            self.put(now + think.max(1.0), What::Asks);
        }
    }

    fn put(&mut self, time: f64, what: What) {
        self.order += 1;
        self.due.push(Due {
            time,
            order: self.order,
            what,
        });
    }

    fn report(mut self, now: f64, interrupted: bool) -> LoadReport {
        let (occupancies, preemptions) = match &mut self.back {
            Some((pool, _)) => of_engines(&mut pool.engines, now),
            None => of_engines(&mut self.front.engines, now),
        };
        let behind = if self.back.is_some() {
            of_engines(&mut self.front.engines, now).1
        } else {
            0
        };
        LoadReport {
            kv_occupancy: occupancies,
            preemptions: preemptions + behind,
            refused: self.refused,
            interrupted,
            ..self.measured.report()
        }
    }
}

/// Mean occupancy of the caches, and preemptions.
#[expect(clippy::cast_precision_loss, reason = "a few engines")]
fn of_engines<T: StepTime>(engines: &mut [Engine<'_, T>], now: f64) -> (f64, u64) {
    let count = engines.len() as f64;
    let occupancy: f64 = engines.iter_mut().map(|each| each.occupancy(now)).sum();
    let preemptions = engines.iter().map(|each| each.preemptions).sum();
    (occupancy / count, preemptions)
}
