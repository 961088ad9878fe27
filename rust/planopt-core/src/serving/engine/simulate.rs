//! The discrete-event simulation: requests, engines, and links between pools of them.

use super::arrivals::{Request, Source};
use super::limits::{EngineLimits, Transfer};
use super::random::Random;
use super::report::{LoadReport, Measured, Objectives, Sample};
use super::routing::{Imbalance, chosen, of_hash};
use super::scheduler::{Answered, Engine};
use super::sessions::Talks;
use super::step::StepTime;
use super::window::Window;
use crate::catalog::RequestOverhead;
use crate::load::{Load, Router, Routing};
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Replicas that are alike; requests are assigned to them in turn, and who waits for his answer asks
/// the same one again.
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
    pub request_overhead: RequestOverhead,
    /// What users are promised, for goodput.
    pub objectives: Objectives,
}

/// Times that all who are in the engines have left before the window opens.
const POPULATIONS: u64 = 2;

/// Events between two looks at whether to stop.
const EVENTS_BETWEEN_LOOKS: u32 = 1 << 12;

/// Something that comes at a time that was known before.
#[derive(Clone, Copy, Debug)]
struct Due<T> {
    time: f64,
    /// Keeps those of the same time in order.
    order: u64,
    what: T,
}

#[derive(Clone, Copy, Debug)]
enum What<'a> {
    /// A user asks, of the engine that has answered him before; or a session, by its place among those
    /// that are alive.
    Asks { engine: usize, session: usize },
    /// A request with its cache has reached the pool that decodes.
    Reaches(Request<'a>),
}

impl<T> PartialEq for Due<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Due<T> {}

impl<T> PartialOrd for Due<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Due<T> {
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
    each: Vec<Engine<'a, T>>,
    turn: usize,
    /// When something happens in an engine; what is no longer so is passed over.
    due: BinaryHeap<Due<usize>>,
    /// Engines in which something has happened since they were last woken.
    touched: Vec<usize>,
}

impl<'a, T: StepTime> Engines<'a, T> {
    fn new(pool: &Pool<'a, T>) -> Self {
        let (limits, stores) = (pool.limits.of_all(pool.replicas.max(1)), Default::default());
        let engine = || Engine::new(limits, pool.step, &stores);
        Self {
            each: std::iter::repeat_with(engine)
                .take(pool.replicas.max(1) as usize)
                .collect(),
            turn: 0,
            due: BinaryHeap::new(),
            touched: Vec::new(),
        }
    }

    /// The first engine in which something happens, and when.
    fn next(&mut self) -> (usize, f64) {
        while let Some(due) = self.due.peek() {
            #[expect(clippy::float_cmp, reason = "the very same number, or another event")]
            if self.each[due.what].next() == due.time {
                return (due.what, due.time);
            }
            self.due.pop();
        }
        (0, f64::INFINITY)
    }

    fn advance(&mut self, engine: usize, answered: &mut Vec<Answered<'a>>) {
        self.each[engine].advance(answered);
        self.touched.push(engine);
    }

    /// Whose turn it is.
    fn in_turn(&mut self) -> usize {
        let engine = self.turn;
        self.turn = (self.turn + 1) % self.each.len();
        engine
    }

    /// The engine that a request goes to, where `here` has had its session.
    fn route(
        &mut self,
        router: Router,
        request: &Request<'_>,
        here: usize,
        any: &mut Random,
    ) -> usize {
        let next = self.in_turn();
        chosen(&mut self.each, router, request, (here, next), any)
    }

    /// Gives a request to an engine; whether it could ever hold it.
    fn give(&mut self, engine: usize, request: Request<'a>) -> bool {
        self.touched.push(engine);
        self.each[engine].submit(request)
    }

    /// Wakes those in which something has happened, of whom nobody comes to any before `until`.
    fn wake(&mut self, now: f64, until: f64) {
        for engine in self.touched.drain(..) {
            self.each[engine].wake(now, until);
            let time = self.each[engine].next();
            if time < f64::INFINITY {
                self.due.push(Due {
                    time,
                    order: engine as u64,
                    what: engine,
                });
            }
        }
    }

    /// Requests that have arrived and are not being served.
    fn line(&self) -> usize {
        self.each.iter().map(Engine::line).sum()
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
    router: Router,
    /// What it draws.
    any: Random,
    imbalance: Imbalance,
    source: Source<'a>,
    due: BinaryHeap<Due<What<'a>>>,
    order: u64,
    run: Run,
    window: Window,
    measured: Measured,
}

impl<'a, P: StepTime, D: StepTime> Simulation<'a, P, D> {
    fn new(
        front: &Pool<'a, P>,
        back: Option<(&Pool<'a, D>, Transfer)>,
        load: &'a Load,
        run: Run,
    ) -> Self {
        let router = front.limits.router;
        let mut front = Engines::new(front);
        let source = Source::new(load, run.seed, run.warm_up + run.requests);
        let mut due = BinaryHeap::new();
        let starts = source.talks().map_or_else(Vec::new, Talks::starts);
        for (session, time, begins, said) in starts {
            // A session goes to the replica that has fewest.
            let engine = match router.routing {
                Routing::Hash => of_hash(begins.own(), front.each.len()),
                _ => session % front.each.len(),
            };
            front.each[engine].remember(begins, said);
            due.push(Due {
                time,
                order: due.len() as u64,
                what: What::Asks { engine, session },
            });
        }
        Self {
            links: vec![0.0; front.each.len()],
            router,
            any: Random::new(run.seed, 17),
            imbalance: Imbalance::of(front.each.len()),
            front,
            back: back.map(|(pool, transfer)| (Engines::new(pool), transfer)),
            order: due.len() as u64,
            due,
            window: Window::new(run.warm_up.max(source.spread_users()), run.requests),
            source,
            run,
            measured: Measured::new(
                usize::try_from(run.requests).unwrap_or(usize::MAX),
                run.objectives,
            ),
        }
    }

    fn run(mut self, stop: &AtomicBool) -> LoadReport {
        let mut answered = Vec::new();
        let mut now = 0.0;
        let mut until_look = EVENTS_BETWEEN_LOOKS;
        let mut interrupted = false;
        while !self.measured.is_enough() {
            until_look -= 1;
            if until_look == 0 {
                until_look = EVENTS_BETWEEN_LOOKS;
                if stop.load(Ordering::Relaxed) {
                    interrupted = true;
                    break;
                }
            }
            let (front, front_time) = self.front.next();
            let (back, back_time) = match &mut self.back {
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
                    self.front.advance(front, &mut answered);
                    self.leave_front(front, now, &mut answered);
                } else if let Some((engines, _)) = &mut self.back {
                    engines.advance(back, &mut answered);
                    self.leave(&mut answered);
                }
            }
            self.arrive(now);
            // Of several, what one does brings others something to do.
            let is_alone = self.back.is_none() && self.front.each.len() == 1;
            let next = Some(self.next_arrival()).filter(|_| is_alone);
            self.front.wake(now, next.unwrap_or(f64::INFINITY));
            if let Some((engines, _)) = &mut self.back {
                engines.wake(now, f64::INFINITY);
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

    /// Nobody else is let in behind those who are measured, or behind as many again who keep them
    /// company: an engine that falls behind takes no more memory and time than that.
    fn doors_are_closed(&self) -> bool {
        let company = if self.run.doors_close {
            0
        } else {
            self.run.requests
        };
        self.source.asked() >= self.window.end() + company
    }

    /// Everybody who arrives by `now`.
    fn arrive(&mut self, now: f64) {
        while self.next_arrival() <= now {
            match self.due.peek() {
                Some(&due) if due.time <= self.source.next_arrival() => {
                    self.due.pop();
                    match due.what {
                        What::Asks { .. } if self.doors_are_closed() => {}
                        What::Asks { engine, session } => {
                            let request = self.source.ask(due.time, session);
                            self.count(&request);
                            self.send(request, engine);
                        }
                        What::Reaches(request) => {
                            let assigned = self.back.as_mut().map(|(back, _)| {
                                let engine = back.in_turn();
                                back.give(engine, request)
                            });
                            if assigned == Some(false) {
                                self.turn_away(request, now);
                            }
                        }
                    }
                }
                _ => {
                    let request = self.source.arrive();
                    self.count(&request);
                    let here = self.front.turn;
                    self.send(request, here);
                }
            }
        }
    }

    /// Opens and closes the window as requests arrive.
    fn count(&mut self, request: &Request<'a>) {
        if request.number == self.window.begin {
            let here = request.number.saturating_sub(self.window.left);
            let wanted = POPULATIONS * here;
            let may_wait = !self.run.doors_close && !self.source.ends();
            let most = self.run.warm_up.max(self.source.spread_users()) + 2 * self.run.requests;
            if may_wait && self.window.begin < wanted.min(most) {
                self.window.begin = wanted.min(most);
            } else {
                self.window.open(request.arrival, self.line());
            }
        }
        if request.number + 1 == self.window.end() {
            self.window.close(request.arrival, self.line());
        }
    }

    /// Requests that have arrived and are not being served.
    fn line(&self) -> usize {
        let back = self.back.as_ref().map_or(0, |(pool, _)| pool.line());
        self.front.line() + back
    }

    /// Sends a request to a replica, of which `here` has had its session.
    fn send(&mut self, request: Request<'a>, here: usize) {
        let engine = self.front.route(self.router, &request, here, &mut self.any);
        self.enter(Request { engine, ..request });
    }

    fn enter(&mut self, request: Request<'a>) {
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
        if !self.front.give(request.engine, asked) {
            self.turn_away(request, request.arrival);
        }
    }

    /// What leaves the engines in front: it is answered, or goes over the engine's link.
    fn leave_front(&mut self, engine: usize, now: f64, answered: &mut Vec<Answered<'a>>) {
        let Some((_, transfer)) = &self.back else {
            return self.leave(answered);
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
                begins: None,
                ..request
            };
            self.put(reached, What::Reaches(whole));
        }
        self.leave(answered);
    }

    /// Records who has been answered; users ask again.
    fn leave(&mut self, answered: &mut Vec<Answered<'a>>) {
        for each in answered.drain(..) {
            let request = each.request;
            self.window.answer(each.end, request.output);
            let overhead = self.run.request_overhead.of(f64::from(request.prompt));
            if let Some(place) = self.window.place(request.number) {
                let sample = Sample {
                    place,
                    arrival: request.arrival,
                    first_token: each.first_token + overhead,
                    end: each.end + overhead,
                    output: request.output,
                    prompt: request.prompt,
                    found: request.cached,
                    brought: request.brought,
                };
                self.measured.add(sample);
                let read = request.prompt - request.cached;
                self.imbalance.add(request.engine, read);
            }
            if let Some(think) = self.source.think_seconds() {
                self.put(each.end + overhead + think, again(&request));
            }
        }
    }

    /// Counts a request that no engine could ever hold; its user asks again, but not in no time,
    /// which would never end.
    fn turn_away(&mut self, request: Request<'a>, now: f64) {
        self.window.left += 1;
        if let Some(place) = self.window.place(request.number) {
            self.measured.refuse(place);
        }
        if let Some(think) = self.source.think_seconds() {
            self.put(now + think.max(1.0), again(&request));
        }
    }

    fn put(&mut self, time: f64, what: What<'a>) {
        self.order += 1;
        self.due.push(Due {
            time,
            order: self.order,
            what,
        });
    }

    fn report(mut self, now: f64, interrupted: bool) -> LoadReport {
        let (occupancies, preemptions) = match &mut self.back {
            Some((pool, _)) => of_engines(&mut pool.each, now),
            None => of_engines(&mut self.front.each, now),
        };
        let behind = if self.back.is_some() {
            of_engines(&mut self.front.each, now).1
        } else {
            0
        };
        let offered = self.source.per_second();
        let rates = if self.run.doors_close || self.window.is_empty() {
            self.measured.until_answered()
        } else {
            self.window.rates(offered, now)
        };
        LoadReport {
            kv_occupancy: occupancies,
            preemptions: preemptions + behind,
            imbalance: self.imbalance.mean(),
            sessions_ended: self.source.talks().map_or(0, Talks::ended),
            interrupted,
            overloaded: offered.is_some() && self.window.falls_behind(),
            ..self.measured.report(rates)
        }
    }
}

/// Who has been answered asks again, where he was.
fn again(request: &Request<'_>) -> What<'static> {
    What::Asks {
        engine: request.engine,
        session: request.session,
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
