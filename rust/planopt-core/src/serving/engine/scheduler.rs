//! An engine: continuous batching with chunked prefill over a paged KV cache.

use super::ahead::{Ahead, Stepping};
use super::arrivals::Request;
use super::beginning::Beginning;
use super::calendar::Calendar;
use super::limits::{EngineLimits, TIERS};
use super::micro_batch::{Doing, Jump, MicroBatch, Ticket, pages_of};
use super::pages::Pages;
use super::prefixes::{Found, Prefixes, Stretch};
use super::step::{StepSeconds, StepTime, StepWork};
use crate::catalog::Policy;
use crate::load::KvPolicy;
use crate::quantity::real;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// A request that has been answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered<'a> {
    pub(super) request: Request<'a>,
    /// When its first token was with the user.
    pub(super) first_token: f64,
    /// When its last was.
    pub(super) end: f64,
}

/// A sequence that waits or is served.
#[derive(Clone, Copy, Debug)]
struct Sequence<'a> {
    request: Request<'a>,
    epoch: u32,
    /// Tokens to read before it decodes: the prompt, and what it has put out if it was preempted.
    target: u32,
    /// Of these, tokens that are cached.
    cached: u32,
    /// Blocks of the prefix cache that it holds: the first pages of those tokens.
    held: u64,
    /// Steps of its micro-batch when it joined.
    joined: u64,
    /// Whether it decodes.
    decodes: bool,
    /// Tokens still to put out.
    remaining: u32,
    /// Whether the memories behind the engine have been asked for what it begins with.
    is_fetched: bool,
    first_token: Option<f64>,
}

/// What a memory behind engines has, of one of them or of all.
pub(super) type Copies = Rc<RefCell<Prefixes>>;

/// One replica.
#[derive(Debug)]
pub(super) struct Engine<'a, T> {
    limits: EngineLimits,
    step: &'a T,
    micro_batches: Vec<MicroBatch>,
    /// When each of them that does something is through with it, and those that do nothing, in order.
    calendar: Calendar,
    idle: Vec<usize>,
    waiting: VecDeque<u32>,
    /// Who has arrived since the engine last looked.
    arrived: Vec<u32>,
    /// Steps that only decoded since then.
    unseen_steps: u32,
    /// Steps that who waits has waited for others, and whether he does.
    waited_steps: u32,
    holds: bool,
    sequences: Vec<Sequence<'a>>,
    free: Vec<u32>,
    pages: Pages,
    /// What others have left in the pages that nobody needs.
    prefixes: Prefixes,
    /// What the memories behind it have of it, and when the link of each is free again.
    below: [(Copies, f64); TIERS],
    /// Who waits outside of the line for what they have, and until when.
    fetching: Calendar,
    /// When the first stage can take the next micro-batch.
    accepts_from: f64,
    /// Steps that several micro-batches have been taken ahead: from where, and to where.
    ahead: Option<(Ahead, Ahead)>,
    /// Sequences that lost their pages.
    pub(super) preemptions: u64,
}

impl<'a, T: StepTime> Engine<'a, T> {
    pub(super) fn new(limits: EngineLimits, step: &'a T, stores: &[Copies; TIERS]) -> Self {
        // What is no store of all is this engine's own.
        let copies = |at: usize| match limits.tiers[at] {
            Some(tier) if tier.shared => Rc::clone(&stores[at]),
            _ => Copies::default(),
        };
        let micro_batch = MicroBatch::new(limits.page_tokens);
        let micro_batches = vec![micro_batch; limits.micro_batches.max(1) as usize];
        Self {
            limits,
            step,
            idle: (0..micro_batches.len()).collect(),
            micro_batches,
            calendar: Calendar::default(),
            waiting: VecDeque::new(),
            arrived: Vec::new(),
            unseen_steps: 0,
            waited_steps: 0,
            holds: false,
            sequences: Vec::new(),
            free: Vec::new(),
            pages: Pages::new(limits.kv_tokens, limits.page_tokens),
            prefixes: Prefixes::default(),
            below: std::array::from_fn(|at| (copies(at), 0.0)),
            fetching: Calendar::default(),
            accepts_from: 0.0,
            ahead: None,
            preemptions: 0,
        }
    }

    /// When something happens next; never is infinity.
    pub(super) fn next(&self) -> f64 {
        self.calendar.next().min(self.fetching.next())
    }

    /// Requests that have arrived and are not being served.
    pub(super) fn line(&self) -> usize {
        self.waiting.len() + self.arrived.len() + self.fetching.len()
    }

    /// Mean share of the KV cache in use until `now`.
    pub(super) fn occupancy(&mut self, now: f64) -> f64 {
        self.pages.occupancy(now)
    }

    /// Pages of the KV cache in use.
    #[cfg(test)]
    pub(super) fn pages_in_use(&self) -> u64 {
        self.pages.used()
    }

    /// Puts a request into the queue; [`Self::wake`] starts what can start. Whether it ever can.
    pub(super) fn submit(&mut self, request: Request<'a>) -> bool {
        if !self
            .pages
            .could_ever_hold(request.prompt.saturating_add(request.output))
        {
            return false;
        }
        let sequence = Sequence {
            request,
            epoch: 0,
            target: request.prompt,
            cached: request.cached,
            held: 0,
            joined: 0,
            decodes: false,
            remaining: request.output,
            is_fetched: false,
            first_token: (request.cached == request.prompt).then_some(request.reached),
        };
        let place = if let Some(place) = self.free.pop() {
            let epoch = self.sequences[place as usize].epoch;
            self.sequences[place as usize] = Sequence { epoch, ..sequence };
            place
        } else {
            self.sequences.push(sequence);
            u32::try_from(self.sequences.len() - 1).unwrap_or(u32::MAX)
        };
        if self.waiting.is_empty() || self.ahead.is_some() || self.holds {
            self.look_up(request.reached);
        }
        self.ask_again();
        if self.limits.receive_interval > 1 {
            self.arrived.push(place);
        } else {
            self.waiting.push_back(place);
        }
        true
    }

    /// Ends a jump with the step that is under way, and what was taken ahead before `now`: somebody has
    /// come.
    pub(super) fn look_up(&mut self, now: f64) {
        if let Some((from, to)) = self.ahead.take() {
            let mut ahead = if to.taken_to < now { to } else { from };
            ahead.go(now);
            self.catch_up(&ahead, now);
        }
        if let Some(jump) = &mut self.micro_batches[0].jump {
            *jump = jump.left_at(now);
            let until = jump.until(jump.steps);
            self.does(0, Doing::Steps(until));
        }
    }

    /// A micro-batch that does something does something else, or one that does nothing something.
    fn does(&mut self, index: usize, doing: Doing) {
        let micro_batch = &mut self.micro_batches[index];
        if micro_batch.doing != Doing::Idle {
            self.calendar.remove(index);
        }
        micro_batch.doing = doing;
        self.calendar.put(doing.until(), index);
    }

    /// Whoever is first in the line may be let in where he was not: somebody came, left or got in.
    fn ask_again(&mut self) {
        for micro_batch in &mut self.micro_batches {
            micro_batch.lets_nobody_in = false;
        }
    }

    /// Looks at what has arrived, unless the micro-batch decodes and it is too early to look again.
    fn receive(&mut self, index: usize) {
        let micro_batch = &self.micro_batches[index];
        let only_decodes =
            micro_batch.decoding > 0 && micro_batch.reading.is_empty() && self.waiting.is_empty();
        self.unseen_steps += 1;
        if !only_decodes || self.unseen_steps >= self.limits.receive_interval {
            self.unseen_steps = 0;
            if !self.arrived.is_empty() {
                self.waiting.extend(self.arrived.drain(..));
                self.ask_again();
            }
        }
    }

    /// Whether who waits goes on waiting until there are more to be read with him, as long as others
    /// decode and nobody is being read.
    fn holds_for_more(&mut self, index: usize) -> bool {
        let micro_batch = &self.micro_batches[index];
        let wait = self.limits.batch_wait;
        let some_wait = !self.waiting.is_empty() && micro_batch.reading.is_empty();
        if wait.steps == 0 || micro_batch.decoding == 0 || !some_wait {
            return false;
        }
        let enough = wait.share * f64::from(self.limits.token_budget);
        let mut tokens = f64::from(micro_batch.decoding);
        for &place in &self.waiting {
            let sequence = &self.sequences[place as usize];
            tokens += f64::from(sequence.target - sequence.cached);
            if tokens >= enough {
                break;
            }
        }
        if tokens >= enough || self.waited_steps >= wait.steps {
            self.waited_steps = 0;
            return false;
        }
        self.waited_steps += 1;
        true
    }

    /// Starts steps on micro-batches that have nothing to do but could, and takes ahead what happens
    /// before `until`: nobody comes before.
    pub(super) fn wake(&mut self, now: f64, until: f64) {
        let mut idle = std::mem::take(&mut self.idle);
        idle.retain(|&index| {
            self.start(index, now);
            self.micro_batches[index].doing == Doing::Idle
        });
        self.idle = idle;
        self.go_ahead(until);
    }

    /// What happens at [`Self::next`]: a step ends, or a micro-batch's turn to start one comes. Who is
    /// answered goes to `answered`; what can start then is started by [`Self::wake`].
    pub(super) fn advance(&mut self, answered: &mut Vec<Answered<'a>>) {
        let now = self.next();
        if self.fetching.next() <= now {
            self.look_up(now);
            while self.fetching.next() <= now
                && let Some(place) = self.fetching.pop()
            {
                self.waiting
                    .push_front(u32::try_from(place).unwrap_or(u32::MAX));
            }
            self.ask_again();
        } else if let Some((_, ahead)) = self.ahead.take() {
            self.catch_up(&ahead, now);
        }
        while self.calendar.next() <= now
            && let Some(index) = self.calendar.pop()
        {
            if matches!(self.micro_batches[index].doing, Doing::Steps(_)) {
                self.end_step(index, now, answered);
            }
            self.micro_batches[index].doing = Doing::Idle;
            let place = self.idle.partition_point(|&other| other < index);
            self.idle.insert(place, index);
        }
    }

    // --- A step starts --------------------------------------------------------------------

    fn start(&mut self, index: usize, now: f64) {
        let nobody_waits = self.waiting.is_empty() && self.arrived.is_empty();
        if nobody_waits && self.micro_batches[index].sequences() == 0 {
            return;
        }
        if self.accepts_from > now {
            self.does(index, Doing::Waits(self.accepts_from));
            return;
        }
        self.receive(index);
        self.holds = self.holds_for_more(index);
        let work = match self.limits.policy {
            _ if self.holds => {
                self.make_room(index, now);
                StepWork::default()
            }
            Policy::DecodeFirst => {
                self.make_room(index, now);
                self.read(index, now, true)
            }
            Policy::PrefillFirst => {
                let reading = self.read(index, now, false);
                if reading.is_empty() {
                    self.make_room(index, now);
                }
                reading
            }
        };
        let micro_batch = &mut self.micro_batches[index];
        micro_batch.lets_nobody_in = !self.holds;
        // Who is admitted with his prompt cached decodes at once: so this is looked at last.
        micro_batch.decodes = micro_batch.decoding > 0
            && (self.limits.policy == Policy::DecodeFirst || work.prefill_tokens <= 0.0);
        let work = if micro_batch.decodes {
            StepWork {
                decode_sequences: f64::from(micro_batch.decoding),
                decode_context: micro_batch.mean_context(),
                ..work
            }
        } else {
            work
        };
        if work.is_empty() {
            return;
        }
        let seconds = self.step.seconds(&work);
        // Layers are not computed before what they look at is here.
        let read = micro_batch.reading.iter().zip(&micro_batch.chunks);
        let waits = read.fold(0.0_f64, |waits, (ticket, _)| {
            waits.max(self.sequences[ticket.place as usize].request.ready - now)
        });
        let seconds = StepSeconds {
            latency: seconds.latency.max(waits),
            interval: seconds.interval.max(waits),
        };
        self.does(index, Doing::Steps(now + seconds.latency));
        self.accepts_from = now + seconds.interval;
        self.jump(work, seconds.latency, now);
    }

    /// Takes steps at once that only decode, until somebody ends, pages run out, or it is time to
    /// look at who has arrived: nothing but contexts changes meanwhile, as who waits has just not
    /// been let in. Somebody who arrives ends it (`look_up`). Several micro-batches `go_ahead`.
    fn jump(&mut self, work: StepWork, first: f64, now: f64) {
        let micro_batch = &self.micro_batches[0];
        let alone = self.micro_batches.len() == 1 && micro_batch.reading.is_empty();
        if !alone || work.prefill_tokens > 0.0 || self.accepts_from > now + first {
            return;
        }
        let mut steps = micro_batch.steps_to_end();
        if !self.arrived.is_empty() && self.waiting.is_empty() {
            let until_look = self.limits.receive_interval - self.unseen_steps;
            steps = steps.min(u64::from(until_look.max(1)));
        }
        if self.holds {
            let more = self.limits.batch_wait.steps - self.waited_steps;
            steps = steps.min(u64::from(more) + 1);
        }
        if self.limits.kv_policy == KvPolicy::Preempt {
            let free = self.pages.free();
            if micro_batch.pages_behind_next(steps - 1) > free {
                let turns = free / u64::from(micro_batch.decoding.max(1));
                let page = u64::from(self.limits.page_tokens);
                // As far as whole turns of pages go: what is behind them is stepped.
                steps = steps.min(turns * page + 1);
            }
        }
        if steps < 2 {
            return;
        }
        let last = self.step.seconds(&StepWork {
            decode_context: work.decode_context + real(steps - 1),
            ..work
        });
        let jump = Jump {
            start: now,
            first,
            growth: (last.latency - first) / real(steps - 1),
            steps,
        };
        self.does(0, Doing::Steps(jump.until(steps)));
        self.micro_batches[0].jump = Some(jump);
    }

    /// Takes the steps of several micro-batches ahead while all of them only decode, and nobody waits
    /// or none of them lets anybody in.
    fn go_ahead(&mut self, until: f64) {
        let known = self.ahead.take();
        let Some((from, mut to)) = known.or_else(|| self.only_decoding()) else {
            return;
        };
        to.go(until);
        let busy = self
            .micro_batches
            .iter_mut()
            .filter(|each| each.decoding > 0);
        for (micro_batch, one) in busy.zip(&to.each) {
            micro_batch.doing = one.doing;
        }
        self.look_at_all();
        self.ahead = Some((from, to));
    }

    /// Several micro-batches from where all of them only decode on, if they do.
    fn only_decoding(&self) -> Option<(Ahead, Ahead)> {
        if self.micro_batches.len() == 1 || !self.arrived.is_empty() {
            return None;
        }
        let nobody_waits = self.waiting.is_empty();
        let only_decodes = |each: &MicroBatch| {
            let is_in_no_step = !matches!(each.doing, Doing::Steps(_));
            each.reading.is_empty()
                && (nobody_waits || each.lets_nobody_in)
                && (each.decoding > 0 || is_in_no_step)
        };
        if !self.micro_batches.iter().all(only_decodes) {
            return None;
        }
        let busy = || self.micro_batches.iter().filter(|each| each.decoding > 0);
        let within = self.steps_within_pages(busy);
        let each: Vec<Stepping> = busy()
            .map(|each| self.stepping(each, each.steps_to_end().min(within)))
            .collect();
        let is_worth_it = each.iter().all(|one| one.most >= 2);
        let from = Ahead::new(each, self.accepts_from);
        is_worth_it.then(|| (from.clone(), from))
    }

    /// Writes the calendar again.
    fn look_at_all(&mut self) {
        let doing = self.micro_batches.iter().map(|each| each.doing.until());
        let dates = doing.zip(0..).filter(|(until, _)| until.is_finite());
        self.calendar = Calendar::of(dates);
    }

    /// Steps of each micro-batch until some end for which there are pages: as far as whole turns of
    /// pages go, beside the ones that have been begun.
    fn steps_within_pages<'m, I: Iterator<Item = &'m MicroBatch>>(
        &self,
        busy: impl Fn() -> I,
    ) -> u64 {
        let needed: u64 = busy()
            .map(|each| each.pages_to_grow() + each.pages_behind_next(each.steps_to_end()))
            .sum();
        let free = self.pages.free();
        if self.limits.kv_policy == KvPolicy::Reserve || needed <= free {
            return u64::MAX;
        }
        let decoding: u64 = busy().map(|each| u64::from(each.decoding)).sum();
        let turns = (free / decoding.max(1)).saturating_sub(2);
        turns * u64::from(self.limits.page_tokens)
    }

    /// A micro-batch as it is before it is taken ahead.
    fn stepping(&self, micro_batch: &MicroBatch, most: u64) -> Stepping {
        let sequences = f64::from(micro_batch.decoding);
        let behind = most.saturating_sub(1);
        let at = |steps: u64| {
            let context = micro_batch.mean_context() + real(steps);
            self.step.seconds(&StepWork::decode(sequences, context))
        };
        let (first, last) = (at(0), at(behind));
        let over = real(behind).max(1.0);
        Stepping {
            doing: micro_batch.doing,
            ended: 0,
            begun: 0,
            most,
            first,
            growth: StepSeconds {
                latency: (last.latency - first.latency) / over,
                interval: (last.interval - first.interval) / over,
            },
        }
    }

    /// What the steps that were taken ahead have needed.
    fn catch_up(&mut self, ahead: &Ahead, now: f64) {
        self.accepts_from = ahead.accepts_from;
        let begun: u64 = ahead.each.iter().map(|one| one.begun).sum();
        let looks = u64::from(self.unseen_steps) + begun;
        let interval = u64::from(self.limits.receive_interval.max(1));
        self.unseen_steps = u32::try_from(looks % interval).unwrap_or(0);
        let mut pages = 0;
        let busy = self
            .micro_batches
            .iter_mut()
            .filter(|each| each.decoding > 0);
        for (micro_batch, one) in busy.zip(&ahead.each) {
            // Who was in a step when this began has the pages for it.
            let is_first = !micro_batch.decodes && one.begun > 0;
            if is_first {
                pages += micro_batch.pages_to_grow();
            }
            pages += micro_batch.pages_behind_next(one.begun - u64::from(is_first));
            micro_batch.step(one.ended);
            micro_batch.doing = one.doing;
            micro_batch.decodes = matches!(one.doing, Doing::Steps(_));
        }
        self.look_at_all();
        if self.limits.kv_policy == KvPolicy::Preempt {
            self.pages.take_since(pages, now);
        }
    }

    /// What the steps of a jump behind its first have needed; tells how many there were in all.
    fn land(&mut self, index: usize, now: f64) -> u64 {
        let Some(jump) = self.micro_batches[index].jump.take() else {
            return 1;
        };
        let behind = jump.steps - 1;
        let looks = u64::from(self.unseen_steps) + behind;
        let interval = u64::from(self.limits.receive_interval.max(1));
        self.unseen_steps = u32::try_from(looks % interval).unwrap_or(0);
        if self.holds {
            self.waited_steps += u32::try_from(behind).unwrap_or(0);
        }
        if self.limits.kv_policy == KvPolicy::Preempt {
            let pages = self.micro_batches[index].pages_behind_next(behind);
            self.pages.take_since(pages, now);
        }
        jump.steps
    }

    /// Gives every decoding sequence of a micro-batch the page that its next token may need; the latest
    /// go back into the queue until there are enough.
    fn make_room(&mut self, index: usize, now: f64) {
        if self.limits.kv_policy == KvPolicy::Reserve {
            return;
        }
        loop {
            let needed = self.micro_batches[index].pages_to_grow();
            if self.pages.are_free(needed) {
                self.pages.take(needed, now);
                return;
            }
            let sequences = &self.sequences;
            let latest = self.micro_batches[index]
                .latest(|ticket| sequences[ticket.place as usize].epoch == ticket.epoch);
            let Some(ticket) = latest else {
                return;
            };
            self.preempt(index, ticket, now);
        }
    }

    /// Takes everything from a sequence; it waits before all others to be read again.
    fn preempt(&mut self, index: usize, ticket: Ticket, now: f64) {
        let micro_batch = &mut self.micro_batches[index];
        let sequence = &mut self.sequences[ticket.place as usize];
        if sequence.decodes {
            let cached = sequence.cached_after(micro_batch.steps);
            micro_batch.leave(cached);
            self.vacate(ticket.place, self.pages.of(cached), cached, now);
            let sequence = &mut self.sequences[ticket.place as usize];
            sequence.remaining -= cached - sequence.cached;
            // The token it last put out has yet to be read, too.
            sequence.target = cached + 1;
        } else {
            micro_batch.reading.retain(|&other| other != ticket);
            let (target, cached) = (sequence.target, sequence.cached);
            self.vacate(ticket.place, self.pages.of(target), cached, now);
        }
        let sequence = &mut self.sequences[ticket.place as usize];
        sequence.cached = 0;
        sequence.is_fetched = false;
        sequence.request.fetched = [0; TIERS];
        sequence.decodes = false;
        sequence.epoch += 1;
        self.waiting.push_front(ticket.place);
        self.preemptions += 1;
    }

    /// Chunks of prompts for the tokens that are left in a step: of those being read, then of
    /// those who wait.
    fn read(&mut self, index: usize, now: f64, mixed: bool) -> StepWork {
        let decoding = if mixed {
            self.micro_batches[index].decoding
        } else {
            0
        };
        let mut budget = self.limits.token_budget.saturating_sub(decoding);
        let mut work = StepWork::default();
        self.micro_batches[index].chunks.clear();
        let mut place = 0;
        while budget > 0 {
            let ticket = match self.micro_batches[index].reading.get(place) {
                Some(&ticket) => ticket,
                None => match self.admit(index, now) {
                    Some(ticket) => ticket,
                    None => break,
                },
            };
            let sequence = &self.sequences[ticket.place as usize];
            if sequence.decodes {
                // Admitted with its prompt cached: its next token is of this step.
                budget -= 1;
                continue;
            }
            let tokens = budget.min(sequence.target - sequence.cached);
            work = work.with_chunk(f64::from(tokens), f64::from(sequence.cached));
            self.micro_batches[index].chunks.push(tokens);
            budget -= tokens;
            place += 1;
        }
        work
    }

    /// Admits the first who waits, if there is a place and there are pages for him.
    fn admit(&mut self, index: usize, now: f64) -> Option<Ticket> {
        let &place = self.waiting.front()?;
        let micro_batches = self.micro_batches.len();
        let sequences = self.micro_batches[index].sequences();
        if sequences >= self.limits.max_sequences as usize {
            return None;
        }
        if micro_batches > 1 {
            // No micro-batch takes more than its share of all who are here.
            let here: usize = self.micro_batches.iter().map(MicroBatch::sequences).sum();
            if sequences >= (here + self.waiting.len()).div_ceil(micro_batches) {
                return None;
            }
        }
        let sequence = &mut self.sequences[place as usize];
        let is_read = sequence.cached == sequence.target;
        // Who decodes in the very step that room has been made for needs a place for his token.
        let decodes_now = is_read && self.limits.policy == Policy::DecodeFirst;
        let tokens = sequence.target + u32::from(decodes_now);
        let pages = pages_of(
            &self.pages,
            tokens,
            reserved(self.limits.kv_policy, sequence),
        );
        let page = self.limits.page_tokens;
        let path = sequence.request.begins.map(|begins| begins.path(page));
        let found = path.as_ref().map_or(Found::default(), |path| {
            // One token of a prompt is always read: the first of the answer comes of it.
            let most = u64::from((sequence.target - 1) / page);
            self.prefixes.trim(self.pages.free());
            self.prefixes.find(path, most)
        });
        let pages = pages - found.blocks + found.idle;
        if !self.pages.are_spare(pages) {
            return None;
        }
        if let Some(path) = &path
            && self.is_fetched_first(place, path, found.blocks, now)
        {
            self.waiting.pop_front();
            return self.admit(index, now);
        }
        let sequence = &mut self.sequences[place as usize];
        self.pages.take(pages, now);
        self.waiting.pop_front();
        if let Some(path) = path {
            self.prefixes.hold(&path, found.blocks);
            sequence.held = found.blocks;
            let found = u32::try_from(found.blocks).unwrap_or(0) * page;
            let request = &mut sequence.request;
            let there = request.fetched;
            sequence.cached = there.into_iter().fold(found, u32::max);
            if sequence.target == request.prompt {
                request.cached = sequence.cached;
                let mut known = found;
                request.brought = there.map(|there| {
                    let more = there.saturating_sub(known);
                    known += more;
                    more
                });
            }
        }
        let ticket = Ticket {
            place,
            epoch: sequence.epoch,
        };
        let micro_batch = &mut self.micro_batches[index];
        if is_read {
            // Its first token came with the cache.
            sequence.remaining -= 1;
            sequence.decodes = true;
            sequence.joined = micro_batch.steps;
            micro_batch.join(ticket, sequence.target, sequence.remaining);
        } else {
            micro_batch.reading.push_back(ticket);
        }
        let sequences = &self.sequences;
        micro_batch.admit(ticket, |other| {
            sequences[other.place as usize].epoch == other.epoch
        });
        self.ask_again();
        Some(ticket)
    }

    // --- A step ends ----------------------------------------------------------------------

    fn end_step(&mut self, index: usize, now: f64, answered: &mut Vec<Answered<'a>>) {
        if self.micro_batches[index].decodes {
            self.micro_batches[index].decodes = false;
            let steps = self.land(index, now);
            self.micro_batches[index].step(steps);
            while let Some(ticket) = self.micro_batches[index].next_ended() {
                let sequence = self.sequences[ticket.place as usize];
                if sequence.epoch == ticket.epoch {
                    let cached = sequence.cached_after(self.micro_batches[index].steps);
                    self.micro_batches[index].leave(cached);
                    self.answer(ticket.place, cached, now, answered);
                }
            }
        }
        for place in 0..self.micro_batches[index].chunks.len() {
            let tokens = self.micro_batches[index].chunks[place];
            self.end_chunk(index, tokens, now, answered);
        }
        self.micro_batches[index].chunks.clear();
    }

    /// The first prompt that is read has got `tokens` further; whoever is through has a token.
    fn end_chunk(&mut self, index: usize, tokens: u32, now: f64, answered: &mut Vec<Answered<'a>>) {
        let micro_batch = &mut self.micro_batches[index];
        let Some(&ticket) = micro_batch.reading.front() else {
            return;
        };
        let sequence = &mut self.sequences[ticket.place as usize];
        sequence.cached += tokens;
        if sequence.cached < sequence.target {
            return;
        }
        micro_batch.reading.pop_front();
        let sequence = &mut self.sequences[ticket.place as usize];
        sequence.first_token.get_or_insert(now);
        sequence.remaining -= 1;
        if sequence.remaining == 0 {
            let cached = sequence.cached;
            self.answer(ticket.place, cached, now, answered);
        } else {
            sequence.decodes = true;
            sequence.joined = micro_batch.steps;
            micro_batch.join(ticket, sequence.cached, sequence.remaining);
        }
    }

    fn answer(&mut self, place: u32, cached: u32, now: f64, answered: &mut Vec<Answered<'a>>) {
        let sequence = &mut self.sequences[place as usize];
        let reserved = reserved(self.limits.kv_policy, sequence);
        let pages = pages_of(&self.pages, cached, reserved);
        self.vacate(place, pages, cached, now);
        let sequence = &mut self.sequences[place as usize];
        sequence.epoch += 1;
        answered.push(Answered {
            request: sequence.request,
            first_token: sequence.first_token.unwrap_or(now),
            end: now,
        });
        self.free.push(place);
    }

    /// Gives the pages of a sequence back; what of it others may begin with stays in them until
    /// somebody needs the room.
    fn vacate(&mut self, place: u32, pages: u64, cached: u32, now: f64) {
        let sequence = &mut self.sequences[place as usize];
        let mut free = pages - sequence.held;
        let held = std::mem::take(&mut sequence.held);
        if let Some(begins) = sequence.request.begins {
            free += self.keep(begins, held, cached);
        }
        self.pages.give_back(free, now);
        self.ask_again();
    }

    /// Begins to fetch what of a prompt only memories behind the engine have, beyond the blocks that are
    /// `here`, once its turn comes; whether it waits for that outside of the line.
    fn is_fetched_first(&mut self, place: u32, path: &[Stretch], here: u64, now: f64) -> bool {
        let sequence = &mut self.sequences[place as usize];
        if std::mem::replace(&mut sequence.is_fetched, true) {
            return false;
        }
        let page = self.limits.page_tokens;
        let most = u64::from((sequence.target - 1) / page);
        let request = &mut sequence.request;
        let (mut known, mut is_layerwise) = (here, true);
        for (at, (blocks, link)) in self.below.iter_mut().enumerate() {
            let Some(tier) = self.limits.tiers[at] else {
                continue;
            };
            let there = blocks.borrow().find(path, most).blocks;
            if there > known {
                let tokens = real((there - known) * u64::from(page));
                *link = link.max(now) + tokens * tier.seconds_per_token;
                request.fetched[at] = u32::try_from(there).unwrap_or(0) * page;
                request.ready = request.ready.max(*link);
                known = there;
            }
            is_layerwise &= tier.does.layerwise;
        }
        let waits = request.ready > now && !is_layerwise;
        if waits {
            self.fetching.put(request.ready, place as usize);
        }
        waits
    }

    /// Tokens of a prompt that are here, but those that all of its group begin with.
    pub(super) fn has_of(&mut self, request: &Request<'_>) -> u64 {
        let page = self.limits.page_tokens;
        let most = u64::from((request.prompt - 1) / page);
        self.prefixes.trim(self.pages.free());
        request.begins.map_or(0, |begins| {
            let found = self.prefixes.find(&begins.path(page), most).blocks;
            found.saturating_sub(u64::from(begins.shared() / page)) * u64::from(page)
        })
    }

    /// Tokens of those who are served here, and of the prompts that wait for it.
    pub(super) fn tokens_in_flight(&self) -> u64 {
        let waiting = self.waiting.iter().chain(&self.arrived);
        let prompts = waiting.map(|place| u64::from(self.sequences[*place as usize].target));
        self.pages.used() * u64::from(self.limits.page_tokens) + prompts.sum::<u64>()
    }

    /// Leaves blocks for those who come back: here, and in the memories behind.
    fn keep(&mut self, begins: Beginning<'_>, held: u64, tokens: u32) -> u64 {
        let page = self.limits.page_tokens;
        let (path, blocks) = (begins.path(page), u64::from(begins.known(tokens) / page));
        for ((copies, _), tier) in self.below.iter_mut().zip(self.limits.tiers) {
            if let Some(tier) = tier {
                let mut copies = copies.borrow_mut();
                copies.leave(&path, 0, blocks);
                copies.trim(tier.tokens / u64::from(page));
            }
        }
        self.prefixes.trim(self.pages.free());
        self.prefixes.leave(&path, held, blocks)
    }

    /// What a session has left here before the doors open.
    pub(super) fn remember(&mut self, begins: Beginning<'_>, tokens: u32) {
        self.keep(begins, 0, tokens);
        self.prefixes.trim(self.pages.free());
    }
}

impl Sequence<'_> {
    /// Tokens cached once its micro-batch has made so many steps.
    fn cached_after(&self, steps: u64) -> u32 {
        self.cached + u32::try_from(steps - self.joined).unwrap_or(u32::MAX)
    }
}

/// Tokens whose pages a sequence gets beforehand.
fn reserved(policy: KvPolicy, sequence: &Sequence<'_>) -> u32 {
    match policy {
        KvPolicy::Preempt => 0,
        KvPolicy::Reserve => sequence.request.prompt + sequence.request.output,
    }
}
