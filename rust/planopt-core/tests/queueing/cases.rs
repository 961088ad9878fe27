//! Engines and loads made up at random, the same every time, within what is sold and asked for.

use std::sync::atomic::AtomicBool;

use planopt_core::catalog::{HostCache, Policy, RequestOverhead};
use planopt_core::load::{
    Arrivals, KvPolicy, Lengths, Load, Router, Routing, Sessions, Sizes, Start, Think,
};
use planopt_core::serving::engine::{
    self, BatchWait, CacheTier, EngineLimits, Estimate, Estimator, Keeping, LoadReport, Objectives,
    Pool, Run, StepSeconds, StepTime, StepWork, TIERS, Traffic, Turns, most_at_all, most_in_time,
    most_per_second, simulate,
};

/// A step as a roofline makes it: weights are read whatever the number of tokens, and arithmetic
/// counts once it takes longer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roofline {
    pub(crate) overhead: f64,
    pub(crate) weights: f64,
    pub(crate) per_token: f64,
    pub(crate) per_token_context: f64,
    pub(crate) per_sequence: f64,
    pub(crate) per_cached_token: f64,
    pub(crate) stages: f64,
}

impl StepTime for Roofline {
    fn seconds(&self, work: &StepWork) -> StepSeconds {
        let tokens = work.prefill_tokens + work.decode_sequences;
        let stages = self.weights.max(self.per_token * tokens)
            + self.per_token_context * work.prefill_tokens * work.prefill_context
            + self.per_sequence * work.decode_sequences
            + self.per_cached_token * work.decode_sequences * work.decode_context;
        let latency = self.overhead + stages;
        StepSeconds {
            latency,
            interval: (stages / self.stages).max(latency / self.stages),
        }
    }
}

/// One engine under one load.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) step: Roofline,
    pub(crate) replicas: u32,
    pub(crate) limits: EngineLimits,
    pub(crate) load: Load,
    /// Requests per second over what the engine can do at most.
    pub(crate) busy: f64,
}

/// Random numbers of cases (splitmix64).
struct Dice(u64);

impl Dice {
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.roll()
    }

    /// Evenly by its logarithm.
    fn scale(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.roll())
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place in a short list"
    )]
    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[(self.roll() * choices.len() as f64) as usize]
    }

    fn lengths(&mut self, mean: f64) -> Lengths {
        match self.one_of(&[0, 1, 2, 2, 3]) {
            0 => Lengths::Fixed {
                tokens: whole(mean),
            },
            1 => Lengths::Exponential { mean },
            2 => Lengths::Lognormal {
                mean,
                cv: self.between(0.3, 1.3),
            },
            _ => Lengths::Uniform {
                least: whole(mean * 0.5),
                most: whole(mean * 1.5),
            },
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tokens"
)]
fn whole(tokens: f64) -> u32 {
    tokens.round().max(1.0) as u32
}

/// Requests that say how many an engine answers per second.
const FOR_RATES: u64 = 20_000;
/// Loads are up to this share of the most.
const MOST_BUSY: f64 = 0.85;

/// Case number `number`.
pub(crate) fn case(number: u64) -> Case {
    let mut dice = Dice(number.wrapping_mul(0x5851_F42D_4C95_7F2D) + 11);
    let micro_batches = dice.one_of(&[1, 1, 1, 1, 1, 1, 1, 2, 4]);
    let weights = dice.scale(3e-3, 40e-3);
    // From two hundred to two thousand tokens until arithmetic takes as long as reading weights.
    let per_token = weights / dice.scale(150.0, 1500.0);
    let step = Roofline {
        overhead: dice.scale(1e-3, 6e-3),
        weights,
        per_token,
        per_token_context: per_token / dice.scale(1e4, 1e5),
        per_sequence: weights * dice.scale(5e-4, 5e-3),
        per_cached_token: dice.scale(5e-9, 150e-9),
        stages: f64::from(micro_batches),
    };
    let prompt_mean = dice.scale(64.0, 8192.0);
    let output_mean = dice.scale(16.0, 1024.0);
    let max_sequences = dice.one_of(&[8, 16, 32, 64, 128, 256]);
    let of_one = prompt_mean + output_mean;
    let kv_tokens = f64::from(max_sequences * micro_batches) * of_one * dice.scale(0.5, 4.0);
    let limits = EngineLimits {
        token_budget: dice.one_of(&[512, 1024, 2048, 4096, 8192]),
        max_sequences,
        kv_tokens: u64::from(whole(kv_tokens.max(32.0 * of_one))),
        page_tokens: 16,
        micro_batches,
        policy: dice.one_of(&[
            Policy::DecodeFirst,
            Policy::DecodeFirst,
            Policy::DecodeFirst,
            Policy::PrefillFirst,
        ]),
        kv_policy: dice.one_of(&[KvPolicy::Preempt, KvPolicy::Preempt, KvPolicy::Reserve]),
        receive_interval: 1,
        batch_wait: BatchWait::default(),
        tiers: [None; TIERS],
        router: Router::default(),
    };
    let sizes = Sizes::Independent {
        prompt: dice.lengths(prompt_mean),
        output: dice.lengths(output_mean),
    };
    let prefix_hit_rate = dice.one_of(&[0.0, 0.0, 0.0, 0.3, 0.6]);
    let is_closed = dice.one_of(&[false, false, false, false, false, true, true]);
    let users = whole(dice.scale(1.0, 1.5 * f64::from(max_sequences * micro_batches)));
    let busy = dice.between(0.1, MOST_BUSY);
    let closed = |users| Load {
        arrivals: Arrivals::Closed {
            users,
            think_seconds: 0.0,
            start: Start::Spread,
        },
        sizes: sizes.clone(),
        prefix_hit_rate,
        sessions: None,
    };
    let with = |load: Load, busy: f64| Case {
        step,
        replicas: 1,
        limits,
        load,
        busy,
    };
    let per_second = |load: &Load| {
        with(load.clone(), 0.0)
            .simulate(FOR_RATES, 1)
            .requests_per_second
    };
    let most = per_second(&closed(max_sequences * micro_batches * 3));
    if is_closed {
        // Users who wait make a load of their own: as many of them as stay within the most.
        let mut users = users;
        let mut busy = per_second(&closed(users)) / most;
        while busy > MOST_BUSY && users > 1 {
            users /= 2;
            busy = per_second(&closed(users)) / most;
        }
        return with(closed(users), busy);
    }
    let load = closed(1);
    let arrivals = Arrivals::Poisson {
        per_second: busy * most,
    };
    with(Load { arrivals, ..load }, busy)
}

/// Tokens of an answer of a session on average, at most: each is a step that is simulated.
const LONGEST_ANSWER: f64 = 1000.0;

/// The engine of a case under sessions, whose histories are from a fifth of its cache to five times
/// as large.
pub(crate) fn of_sessions(number: u64) -> Case {
    let Case { step, limits, .. } = case(number);
    let mut dice = Dice(number.wrapping_mul(0xD6E8_FEB8_6659_FD93) + 5);
    #[expect(clippy::cast_precision_loss, reason = "tokens")]
    let kv_tokens = limits.kv_tokens as f64;
    let longest = kv_tokens / 4.0;
    let turns = dice.scale(2.0, 40.0);
    let users = dice.scale(2.0, 100.0);
    let of_each = (dice.scale(0.2, 5.0) * kv_tokens / users).min(longest / 2.0);
    let grow = of_each / turns;
    let answer = (grow * dice.scale(0.05, 1.0)).min(LONGEST_ANSWER);
    let sessions = Sessions {
        shared: whole(dice.one_of(&[0.0, 0.1, 0.5]) * of_each),
        groups: 1,
        first: dice.lengths(grow),
        grow: dice.lengths(grow),
        output: dice.lengths(answer),
        turns: Lengths::Exponential { mean: turns },
        think: vec![Think {
            share: 1.0,
            mean_seconds: dice.scale(0.1, 60.0),
            cv: dice.between(0.0, 2.0),
        }],
        longest_think_seconds: 3600.0,
        max_context: whole(longest),
    };
    let one = Lengths::Fixed { tokens: 1 };
    let turns = Turns::of(&sessions);
    let about = |(mean, cv): (f64, f64)| match cv {
        cv if cv > 0.0 => Lengths::Lognormal { mean, cv },
        _ => one.clone(),
    };
    let load = Load {
        arrivals: Arrivals::Closed {
            users: whole(users),
            think_seconds: 0.0,
            start: Start::Spread,
        },
        sizes: Sizes::Independent {
            prompt: about(turns.prompt),
            output: about(turns.output),
        },
        prefix_hit_rate: 0.0,
        sessions: Some(sessions),
    };
    Case {
        step,
        replicas: 1,
        limits,
        load,
        busy: 0.0,
    }
}

/// The same on several replicas, behind any router, half of them with memory of their hosts.
pub(crate) fn of_routed_sessions(number: u64) -> Case {
    let mut case = of_sessions(number);
    let mut dice = Dice(number.wrapping_mul(0xC2B2_AE3D_27D4_EB4F) + 7);
    case.replicas = dice.one_of(&[1, 2, 4, 8]);
    if let Arrivals::Closed { users, .. } = &mut case.load.arrivals {
        *users *= case.replicas;
    }
    case.limits.router = Router {
        routing: dice.one_of(&[
            Routing::Even,
            Routing::Hash,
            Routing::Random,
            Routing::RoundRobin,
            Routing::CacheAware,
        ]),
        load_weight: 0.05,
    };
    if dice.roll() < 0.5 {
        #[expect(clippy::cast_precision_loss, reason = "tokens")]
        let kv_tokens = case.limits.kv_tokens as f64;
        case.limits.tiers[0] = Some(CacheTier {
            tokens: u64::from(whole(dice.scale(1.5, 8.0) * kv_tokens)),
            seconds_per_token: dice.scale(0.01, 0.3) * case.step.per_token,
            does: HostCache {
                layerwise: dice.roll() < 0.5,
                ..HostCache::default()
            },
            shared: false,
        });
    }
    case
}

/// Sessions on an engine that takes next to no time: what is found is a matter of its cache alone,
/// which holds from a tenth of their histories to three times as much, and five prompts at least.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tokens"
)]
pub(crate) fn of_cache(number: u64) -> Case {
    let mut dice = Dice(number.wrapping_mul(0xA076_1D64_78BD_642F) + 3);
    let grow = dice.scale(50.0, 8_000.0);
    let turns = dice.scale(3.0, 60.0);
    let tools = dice.one_of(&[0.0, 0.0, 0.8]);
    let pause = |share, mean_seconds, cv| Think {
        share,
        mean_seconds,
        cv,
    };
    let people = pause(1.0 - tools, dice.scale(10.0, 200.0), dice.between(0.5, 2.5));
    let sessions = Sessions {
        shared: whole(dice.one_of(&[0.0, 0.5, 5.0]) * grow),
        groups: 1,
        first: Lengths::Exponential { mean: grow },
        grow: Lengths::Lognormal {
            mean: grow,
            cv: dice.between(0.3, 2.0),
        },
        output: Lengths::Fixed { tokens: 16 },
        turns: Lengths::Exponential { mean: turns },
        think: if tools > 0.0 {
            vec![people, pause(tools, dice.scale(0.5, 5.0), 1.0)]
        } else {
            vec![people]
        },
        longest_think_seconds: 3600.0,
        max_context: 1_000_000,
    };
    let alive = dice.scale(6.0, 200.0).round();
    let found = Turns::of(&sessions);
    let room = (dice.scale(0.1, 3.0) * found.footprint(alive)).max(5.0 * found.prompt.0);
    let step = Roofline {
        overhead: 1e-5,
        weights: 0.0,
        per_token: 0.0,
        per_token_context: 0.0,
        per_sequence: 0.0,
        per_cached_token: 0.0,
        stages: 1.0,
    };
    let one = Lengths::Fixed { tokens: 1 };
    Case {
        step,
        replicas: 1,
        limits: EngineLimits {
            kv_tokens: room as u64,
            ..EngineLimits::default()
        },
        load: Load {
            arrivals: Arrivals::Closed {
                users: whole(alive),
                think_seconds: 0.0,
                start: Start::Spread,
            },
            sizes: Sizes::Independent {
                prompt: one.clone(),
                output: one,
            },
            prefix_hit_rate: 0.0,
            sessions: Some(sessions),
        },
        busy: 0.0,
    }
}

impl Case {
    /// What the closed form says.
    pub(crate) fn estimate(&self) -> Estimate {
        let traffic = Traffic::of(&self.load);
        Estimator::new(&self.step, self.limits, traffic, RequestOverhead::default())
            .at(&self.load.arrivals, 1.0)
    }

    /// What its sessions find where turns take next to no time.
    pub(crate) fn hit_rate(&self) -> f64 {
        let turns = self.load.sessions.as_ref().map(Turns::of);
        #[expect(clippy::cast_precision_loss, reason = "tokens")]
        let room = self.limits.kv_tokens as f64;
        let keeping = Keeping::on_one(self.users(), room, 0.0);
        turns.map_or(0.0, |turns| turns.hit_rate(&keeping))
    }

    /// What its sessions find, and how one replica serves them.
    pub(crate) fn of_sessions(&self) -> Option<(f64, Estimate)> {
        engine::of_sessions(
            &self.step,
            self.limits,
            Traffic::of(&self.load),
            RequestOverhead::default(),
            (self.users(), f64::from(self.replicas)),
        )
    }

    /// Whether a replica keeps five prompts of its sessions.
    pub(crate) fn has_room(&self) -> bool {
        let turns = self.load.sessions.as_ref().map(Turns::of);
        #[expect(clippy::cast_precision_loss, reason = "tokens")]
        let room = self.limits.kv_tokens as f64;
        turns.is_none_or(|turns| room > 5.0 * turns.prompt.0)
    }

    fn users(&self) -> f64 {
        match self.load.arrivals {
            Arrivals::Closed { users, .. } => f64::from(users),
            _ => 0.0,
        }
    }

    /// What none like it can exceed, with tokens that take so long.
    pub(crate) fn bound(&self, tpot: f64) -> f64 {
        let traffic = Traffic::of(&self.load);
        let of_one = most_per_second(&self.step, &self.limits, &traffic, Some(tpot));
        f64::from(self.replicas) * of_one
    }

    /// The same by two steps alone, whatever tokens take.
    pub(crate) fn bound_by_two_steps(&self) -> f64 {
        let traffic = Traffic::of(&self.load);
        f64::from(self.replicas) * most_at_all(&self.step, &self.limits, &traffic)
    }

    /// What none like it can exceed, with so many first tokens at most after so many seconds, where
    /// requests come independently of each other.
    pub(crate) fn bound_in_time(&self, ttft: f64, late: f64) -> Option<f64> {
        let traffic = Traffic::of(&self.load);
        matches!(self.load.arrivals, Arrivals::Poisson { .. })
            .then(|| most_in_time(&self.step, &self.limits, &traffic, (ttft, late)))
    }

    /// The same with steps that take so many times longer before they start, and for each token.
    pub(crate) fn with_slower_steps(mut self, overhead: f64, per_token: f64) -> Self {
        self.step.overhead *= overhead;
        self.step.per_token *= per_token;
        self
    }

    /// What the simulator says.
    pub(crate) fn simulate(&self, requests: u64, seed: u64) -> LoadReport {
        let pool = Pool {
            replicas: self.replicas,
            limits: self.limits,
            step: &self.step,
        };
        let run = Run {
            seed,
            warm_up: requests / 5,
            requests,
            doors_close: false,
            request_overhead: RequestOverhead::default(),
            objectives: Objectives::default(),
        };
        simulate(&pool, &self.load, run, &AtomicBool::new(false))
    }
}

/// Prompts of a thousand tokens that take 50 ms each, as many as have come in one step; answers are
/// short, and a step without prompts takes 5 ms.
pub(crate) fn prompts_in_one_step(per_second: f64) -> Case {
    Case {
        replicas: 1,
        step: Roofline {
            overhead: 5e-3,
            weights: 0.0,
            per_token: 50e-6,
            per_token_context: 0.0,
            per_sequence: 0.0,
            per_cached_token: 0.0,
            stages: 1.0,
        },
        limits: EngineLimits {
            token_budget: 16_384,
            max_sequences: 256,
            kv_tokens: 1_000_000,
            ..EngineLimits::default()
        },
        load: Load {
            arrivals: Arrivals::Poisson { per_second },
            sizes: Sizes::Independent {
                prompt: Lengths::Fixed { tokens: 1000 },
                output: Lengths::Fixed { tokens: 8 },
            },
            prefix_hit_rate: 0.0,
            sessions: None,
        },
        busy: 0.05 * per_second,
    }
}
