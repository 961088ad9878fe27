//! What queueing theory knows exactly, and laws of the engine.

use super::arrivals::Source;
use super::estimate::{Estimator, Traffic};
use super::limits::{BatchWait, CacheTier, EngineLimits, Transfer};
use super::remembered::Remembered;
use super::report::{LoadReport, Objectives};
use super::scheduler::Engine;
use super::sessions::Turns;
use super::simulate::{Pool, Run, simulate, simulate_disaggregated};
use super::step::{AffineStep, StepSeconds, StepTime, StepWork};
use super::table::StepTable;
use crate::catalog::{HostCache, Policy, RequestOverhead};
use crate::load::{
    Arrivals, Hashed, KvPolicy, Lengths, Load, Router, Routing, Sessions, Sizes, Start, Think,
};
use crate::quantity::Seconds;
use std::sync::atomic::AtomicBool;

fn load(arrivals: Arrivals, prompt: Lengths, output: Lengths) -> Load {
    Load {
        arrivals,
        sizes: Sizes::Independent { prompt, output },
        prefix_hit_rate: 0.0,
        sessions: None,
    }
}

fn run(requests: u64) -> Run {
    Run {
        seed: 1,
        warm_up: requests / 10,
        requests,
        doors_close: false,
        request_overhead: RequestOverhead::default(),
        objectives: Objectives::default(),
    }
}

fn on_one(step: &AffineStep, limits: EngineLimits, load: &Load, run: Run) -> LoadReport {
    let pool = Pool {
        replicas: 1,
        limits,
        step,
    };
    simulate(&pool, load, run, &AtomicBool::new(false))
}

/// One sequence at a time, which is a prompt to read: a single server, whose service takes a
/// second on average.
fn single_server(prompt: Lengths, per_second: f64) -> LoadReport {
    let step = AffineStep {
        per_prefill_token: 1e-4,
        ..AffineStep::default()
    };
    let limits = EngineLimits {
        max_sequences: 1,
        ..EngineLimits::default()
    };
    let load = load(
        Arrivals::Poisson { per_second },
        prompt,
        Lengths::Fixed { tokens: 1 },
    );
    on_one(&step, limits, &load, run(1_000_000))
}

fn close(found: f64, expected: f64, within: f64) {
    assert!(
        (found / expected - 1.0).abs() < within,
        "{found} is not within {within} of {expected}"
    );
}

#[test]
fn one_server_with_exponential_service_is_m_m_1() {
    for busy in [0.3, 0.6, 0.8] {
        let found = single_server(Lengths::Exponential { mean: 1e4 }, busy);
        // The time in system of M/M/1 is exponential with mean 1 / (1 - busy).
        close(found.ttft_seconds.mean, 1.0 / (1.0 - busy), 0.02);
        close(found.ttft_seconds.p95, 20.0_f64.ln() / (1.0 - busy), 0.02);
    }
}

#[test]
fn one_server_with_fixed_service_is_m_d_1() {
    for busy in [0.3, 0.6, 0.8] {
        let found = single_server(Lengths::Fixed { tokens: 10_000 }, busy);
        // Pollaczek and Khinchine: the wait is half of that of M/M/1.
        let wait = found.ttft_seconds.mean - 1.0;
        close(wait, busy / (2.0 * (1.0 - busy)), 0.02);
    }
}

/// Answers of a geometric length at a step that takes a second divided by their mean, however many
/// decode: as many servers as there are places, whose service takes a second on average.
#[test]
fn places_with_exponential_service_are_erlang_c() {
    let tokens = 1_000.0;
    let step = AffineStep {
        fixed: 1.0 / tokens,
        ..AffineStep::default()
    };
    for (servers, busy) in [(2_u32, 0.6), (8, 0.8)] {
        let limits = EngineLimits {
            max_sequences: servers,
            ..EngineLimits::default()
        };
        let offered = f64::from(servers) * busy;
        let load = load(
            Arrivals::Poisson {
                per_second: offered,
            },
            Lengths::Fixed { tokens: 1 },
            Lengths::Exponential { mean: tokens },
        );
        let found = on_one(&step, limits, &load, run(400_000));
        // Erlang's recursion for loss, and from it the chance to wait.
        let loss = (1..=servers).fold(1.0, |loss, places| {
            offered * loss / (f64::from(places) + offered * loss)
        });
        let waits = loss / (1.0 - busy * (1.0 - loss));
        let wait = waits / (f64::from(servers) * (1.0 - busy));
        // The rest of a step is waited for, and one step reads the prompt.
        let steps = 1.5 / tokens;
        close(found.ttft_seconds.mean - steps, wait, 0.02);
    }
}

/// A step reads everybody who has come and takes a second, however many they are: one waits for
/// the rest of a step, if one is under way. It is not with chance `e^-a` at its end.
#[test]
fn a_step_that_reads_whoever_came_is_bulk_m_d_1() {
    let step = AffineStep {
        fixed: 1.0,
        ..AffineStep::default()
    };
    for a in [0.2, 1.0, 3.0] {
        let load = load(
            Arrivals::Poisson { per_second: a },
            Lengths::Fixed { tokens: 10 },
            Lengths::Fixed { tokens: 1 },
        );
        let found = on_one(&step, EngineLimits::default(), &load, run(200_000));
        let busy = a / (a + f64::exp(-a));
        close(found.ttft_seconds.mean, 1.0 + busy / 2.0, 0.02);
        close(found.ttft_seconds.p95, 2.0 - 0.05 / busy, 0.02);
    }
}

/// Who tells an engine when the next one comes.
const NOBODY: fn(f64) -> f64 = |_| f64::INFINITY;
const SOMEBODY: fn(f64) -> f64 = |next| next;

/// First tokens and ends of requests, with all steps or each alone, and how many events it took.
fn times(
    step: &AffineStep,
    limits: EngineLimits,
    load: &Load,
    tells: fn(f64) -> f64,
    each_alone: bool,
) -> (Vec<(f64, f64)>, u64) {
    const REQUESTS: usize = 400;
    let mut source = Source::new(load, 3, REQUESTS as u64);
    let mut engine = Engine::new(limits, step, &Default::default());
    let mut answered = Vec::new();
    let mut times = vec![(0.0, 0.0); REQUESTS];
    let mut events = 0_u64;
    loop {
        let next_arrival = |source: &Source| {
            let asks = source.asked() < REQUESTS as u64;
            Some(source.next_arrival())
                .filter(|_| asks)
                .unwrap_or(f64::INFINITY)
        };
        let arrival = next_arrival(&source);
        let now = arrival.min(engine.next());
        if now == f64::INFINITY {
            break;
        }
        events += 1;
        if engine.next() < arrival {
            engine.advance(&mut answered);
        } else {
            let request = source.arrive();
            engine.submit(request);
        }
        engine.wake(now, tells(next_arrival(&source)));
        if each_alone {
            engine.look_up(now);
        }
        for each in answered.drain(..) {
            let place = usize::try_from(each.request.number).expect("few");
            times[place] = (each.first_token, each.end);
        }
    }
    (times, events)
}

#[test]
fn steps_at_once_are_those_one_by_one() {
    let mut preempted = 0;
    for policy in [Policy::DecodeFirst, Policy::PrefillFirst] {
        for kv_policy in [KvPolicy::Preempt, KvPolicy::Reserve] {
            for (kv_tokens, receive_interval, per_second) in [
                (16 * 600, 1, 3.0),
                (16 * 4_000, 7, 6.0),
                (16 * 4_000, 1, 1.0),
            ] {
                // As many stages as micro-batches, fewer and more.
                for (micro_batches, stages) in [(1, 1.0), (3, 3.0), (4, 2.0), (2, 5.0)] {
                    let step = AffineStep { stages, ..STEP };
                    let limits = EngineLimits {
                        token_budget: 512,
                        max_sequences: 40,
                        kv_tokens,
                        policy,
                        kv_policy,
                        receive_interval,
                        micro_batches,
                        ..EngineLimits::default()
                    };
                    let load = busy_load(per_second);
                    let (jumped, few) = times(&step, limits, &load, NOBODY, false);
                    let (told, as_few) = times(&step, limits, &load, SOMEBODY, false);
                    let (stepped, many) = times(&step, limits, &load, NOBODY, true);
                    assert!(jumped == told, "{limits:?}");
                    assert!(
                        3 * few.max(as_few) < many,
                        "{few}, {as_few} events for {many}"
                    );
                    for (one, other) in jumped.iter().zip(&stepped) {
                        close(one.0, other.0, 1e-9);
                        close(one.1, other.1, 1e-9);
                    }
                    preempted += on_one(&step, limits, &load, run(400)).preemptions;
                }
            }
        }
    }
    assert!(preempted > 0, "pages never ran out");
}

/// People ask as often as machines do, but not at the same time.
#[test]
fn users_are_not_in_step_unless_they_begin_together() {
    let at = |start, output| {
        let closed = load(
            Arrivals::Closed {
                users: 30,
                think_seconds: 0.0,
                start,
            },
            Lengths::Fixed { tokens: 800 },
            output,
        );
        let limits = EngineLimits {
            token_budget: 8192,
            ..EngineLimits::default()
        };
        on_one(&STEP, limits, &closed, run(3_000)).ttft_seconds
    };
    let fixed = Lengths::Fixed { tokens: 100 };
    let together = at(Start::Together, fixed.clone());
    close(together.p95, together.p50, 1e-3);
    let spread = at(Start::Spread, fixed);
    assert!(spread.p95 < 0.5 * together.p95);
    let people = at(
        Start::Spread,
        Lengths::Lognormal {
            mean: 100.0,
            cv: 0.8,
        },
    );
    assert!(people.p95 > 1.1 * people.p50);
}

#[test]
fn what_comes_too_fast_is_told_with_what_can_be_carried() {
    let limits = EngineLimits {
        token_budget: 1024,
        max_sequences: 64,
        ..EngineLimits::default()
    };
    let most = on_one(&STEP, limits, &busy_load(100.0), run(2_000));
    let more = on_one(&STEP, limits, &busy_load(1_000.0), run(2_000));
    assert!(most.overloaded && more.overloaded);
    close(most.requests_per_second, more.requests_per_second, 0.03);
    let carried = most.requests_per_second;
    let less = on_one(&STEP, limits, &busy_load(0.9 * carried), run(4_000));
    assert!(!less.overloaded);
    close(less.requests_per_second, 0.9 * carried, 0.01);
    close(less.tokens_per_second, 0.9 * carried * 200.0, 0.02);
}

#[test]
fn users_who_think_at_one_server_are_the_machine_repairmen() {
    // M/M/1//N with fixed thinking: the closed network's throughput does not depend on how
    // thinking is distributed (BCMP), with exponential service.
    let step = AffineStep {
        per_prefill_token: 1e-4,
        ..AffineStep::default()
    };
    let limits = EngineLimits {
        max_sequences: 1,
        ..EngineLimits::default()
    };
    let (users, think) = (5_u32, 4.0);
    let closed = load(
        Arrivals::Closed {
            users,
            think_seconds: think,
            start: Start::Spread,
        },
        Lengths::Exponential { mean: 1e4 },
        Lengths::Fixed { tokens: 1 },
    );
    let found = on_one(&step, limits, &closed, run(300_000));
    // Mean value analysis.
    let mut queue = 0.0;
    let mut throughput = 0.0;
    for n in 1..=users {
        let response = 1.0 + queue;
        throughput = f64::from(n) / (think + response);
        queue = throughput * response;
    }
    close(found.requests_per_second, throughput, 0.01);
    close(found.ttft_seconds.mean, queue / throughput, 0.02);
}

const STEP: AffineStep = AffineStep {
    fixed: 5e-3,
    per_prefill_token: 50e-6,
    per_prefill_token_context: 1e-9,
    per_sequence: 1e-4,
    per_cached_token: 1e-8,
    stages: 1.0,
};

#[test]
fn the_closed_form_counts_the_time_that_users_think() {
    let closed = load(
        Arrivals::Closed {
            users: 16,
            think_seconds: 20.0,
            start: Start::Spread,
        },
        Lengths::Exponential { mean: 1e3 },
        Lengths::Exponential { mean: 200.0 },
    );
    let limits = EngineLimits::default();
    let found = on_one(&STEP, limits, &closed, run(5_000));
    let overhead = RequestOverhead::default();
    let estimator = Estimator::new(&STEP, limits, Traffic::of(&closed), overhead);
    let estimate = estimator.at(&closed.arrivals, 1.0);
    close(
        estimate.requests_per_second,
        found.requests_per_second,
        0.02,
    );
}

#[test]
fn a_single_request_takes_its_steps() {
    let once = load(
        Arrivals::Trace { seconds: vec![3.0] },
        Lengths::Fixed { tokens: 1000 },
        Lengths::Fixed { tokens: 4 },
    );
    let limits = EngineLimits {
        token_budget: 512,
        ..EngineLimits::default()
    };
    let alone = Run {
        warm_up: 0,
        requests: 1,
        ..run(1)
    };
    let found = on_one(&STEP, limits, &once, alone);
    let read = 2.0 * 5e-3 + 1000.0 * 50e-6 + 1000.0 * 500.5 * 1e-9;
    close(found.ttft_seconds.mean, read, 1e-9);
    let decode = 5e-3 + 1e-4 + 1001.0 * 1e-8;
    close(found.tpot_seconds.mean, decode, 1e-9);
}

fn busy_load(per_second: f64) -> Load {
    load(
        Arrivals::Poisson { per_second },
        Lengths::Lognormal {
            mean: 800.0,
            cv: 1.0,
        },
        Lengths::Lognormal {
            mean: 200.0,
            cv: 0.8,
        },
    )
}

#[test]
fn the_same_seed_gives_the_same_and_another_one_not() {
    let limits = EngineLimits {
        token_budget: 1024,
        ..EngineLimits::default()
    };
    let one = on_one(&STEP, limits, &busy_load(5.0), run(2000));
    let same = on_one(&STEP, limits, &busy_load(5.0), run(2000));
    assert_eq!(one, same);
    let other = Run {
        seed: 2,
        ..run(2000)
    };
    assert_ne!(one, on_one(&STEP, limits, &busy_load(5.0), other));
}

#[test]
fn every_page_is_given_back_and_every_token_put_out() {
    for policy in [Policy::DecodeFirst, Policy::PrefillFirst] {
        for (kv_policy, micro_batches) in [
            (KvPolicy::Preempt, 1),
            (KvPolicy::Reserve, 1),
            (KvPolicy::Preempt, 4),
        ] {
            let limits = EngineLimits {
                token_budget: 300,
                max_sequences: 50,
                kv_tokens: 16 * 600,
                micro_batches,
                policy,
                kv_policy,
                ..EngineLimits::default()
            };
            let load = busy_load(20.0);
            let mut source = Source::new(&load, 7, 500);
            let mut engine = Engine::new(limits, &STEP, &Default::default());
            let mut answered = Vec::new();
            let mut held = 0;
            for _ in 0..500 {
                let request = source.ask(0.0, 0);
                held += usize::from(engine.submit(request));
            }
            engine.wake(0.0, f64::INFINITY);
            while engine.next() < f64::INFINITY {
                let now = engine.next();
                engine.advance(&mut answered);
                engine.wake(now, f64::INFINITY);
            }
            assert_eq!(answered.len(), held, "{limits:?}");
            assert_eq!(engine.pages_in_use(), 0, "{limits:?}");
            let preempts = kv_policy == KvPolicy::Preempt;
            assert_eq!(engine.preemptions > 0, preempts, "{limits:?}");
        }
    }
}

#[test]
fn decode_first_keeps_tokens_coming_and_prefill_first_gets_the_first_one_out() {
    let decode_first = EngineLimits {
        token_budget: 512,
        ..EngineLimits::default()
    };
    let prefill_first = EngineLimits {
        policy: Policy::PrefillFirst,
        ..decode_first
    };
    let load = busy_load(8.0);
    let one = on_one(&STEP, decode_first, &load, run(20_000));
    let other = on_one(&STEP, prefill_first, &load, run(20_000));
    assert!(other.ttft_seconds.mean < one.ttft_seconds.mean);
    assert!(other.tpot_seconds.p99 > one.tpot_seconds.p99);
}

#[test]
fn a_pipeline_of_two_stages_takes_steps_of_two_micro_batches_at_once() {
    // Two users, two micro-batches, two stages: each step takes as long as alone, and the first
    // stages take turns.
    let step = AffineStep {
        stages: 2.0,
        ..STEP
    };
    let two = load(
        Arrivals::Closed {
            users: 2,
            think_seconds: 0.0,
            start: Start::Spread,
        },
        Lengths::Fixed { tokens: 100 },
        Lengths::Fixed { tokens: 1000 },
    );
    let at = |micro_batches| {
        let limits = EngineLimits {
            micro_batches,
            ..EngineLimits::default()
        };
        on_one(&step, limits, &two, run(100)).tokens_per_second
    };
    let (one, both) = (at(1), at(2));
    // In one micro-batch both wait for the step of two; in two each waits for a step of one.
    assert!(both > one, "{one} {both}");
    let decode = 5e-3 + 1e-4 + 600.0 * 1e-8;
    close(both, 2.0 / decode, 0.02);
}

#[test]
fn replicas_divide_the_load() {
    let load = |per_second| busy_load(per_second);
    let pool = |replicas| Pool {
        replicas,
        limits: EngineLimits {
            token_budget: 512,
            ..EngineLimits::default()
        },
        step: &STEP,
    };
    let stop = AtomicBool::new(false);
    let one = simulate(&pool(1), &load(4.0), run(20_000), &stop);
    let four = simulate(&pool(4), &load(16.0), run(80_000), &stop);
    close(four.tokens_per_second, 4.0 * one.tokens_per_second, 0.05);
    // Taking turns makes arrivals at each more even than at random.
    assert!(four.ttft_seconds.mean < one.ttft_seconds.mean);
}

#[test]
fn a_pool_for_prompts_and_one_for_answers() {
    let one = EngineLimits::default();
    let prefill = Pool {
        replicas: 2,
        limits: EngineLimits {
            token_budget: 2048,
            ..one
        },
        step: &STEP,
    };
    let decode = Pool {
        replicas: 1,
        limits: one,
        step: &STEP,
    };
    let transfer = Transfer {
        latency_seconds: 0.01,
        seconds_per_token: 1e-5,
    };
    let stop = AtomicBool::new(false);
    let once = Load {
        arrivals: Arrivals::Trace { seconds: vec![1.0] },
        ..load(
            Arrivals::Poisson { per_second: 1.0 },
            Lengths::Fixed { tokens: 1000 },
            Lengths::Fixed { tokens: 11 },
        )
    };
    let alone = Run {
        warm_up: 0,
        requests: 1,
        ..run(1)
    };
    let found = simulate_disaggregated(&prefill, transfer, &decode, &once, alone, &stop);
    let read = 5e-3 + 1000.0 * 50e-6 + 1000.0 * 500.5 * 1e-9;
    close(found.ttft_seconds.mean, read + 0.01 + 0.01, 1e-9);
    close(found.tpot_seconds.mean, 5e-3 + 1e-4 + 1004.5 * 1e-8, 1e-9);
    // Under load nobody's tokens wait for another's prompt.
    let apart = simulate_disaggregated(
        &prefill,
        transfer,
        &decode,
        &busy_load(8.0),
        run(20_000),
        &stop,
    );
    let together = simulate(
        &Pool {
            replicas: 3,
            ..prefill
        },
        &busy_load(8.0),
        run(20_000),
        &stop,
    );
    close(apart.tokens_per_second, together.tokens_per_second, 0.05);
    assert!(
        apart.tpot_seconds.p99 / apart.tpot_seconds.p50
            < together.tpot_seconds.p99 / together.tpot_seconds.p50
    );
}

#[test]
fn what_no_engine_can_hold_is_refused_and_told() {
    let limits = EngineLimits {
        kv_tokens: 800,
        ..EngineLimits::default()
    };
    let found = on_one(&STEP, limits, &busy_load(1.0), run(1000));
    assert!(found.refused > 0 && found.requests > 0);
    assert_eq!(found.refused + found.requests, 1000);
    // Nothing is promised but an answer.
    close(
        found.slo_violation.any.mean,
        f64::from(u32::try_from(found.refused).expect("few")) / 1000.0,
        1e-9,
    );
    close(
        found.goodput_share,
        1.0 - found.slo_violation.any.mean,
        1e-9,
    );
}

#[test]
fn a_percentile_of_tokens_is_of_who_got_tokens_behind_the_first() {
    // Most answers have one token: however late the others are, few of all requests are late.
    let load = load(
        Arrivals::Poisson { per_second: 5.0 },
        Lengths::Fixed { tokens: 800 },
        Lengths::Lognormal { mean: 1.2, cv: 0.8 },
    );
    let seen = on_one(&STEP, EngineLimits::default(), &load, run(4000));
    let asked = |tpot: f64| Run {
        objectives: Objectives {
            ttft_seconds: None,
            tpot_seconds: Some(tpot),
            most_late: None,
        },
        ..run(4000)
    };
    let late = |tpot: f64| {
        let found = on_one(&STEP, EngineLimits::default(), &load, asked(tpot));
        (found.slo_violation.tpot.mean, found.slo_violation.any.mean)
    };
    let (at_median, of_all) = late(seen.tpot_seconds.p50);
    assert!((0.4..=0.5).contains(&at_median), "{at_median}");
    assert!(of_all < 0.25, "{of_all}");
    assert!(late(seen.tpot_seconds.p95).0 <= 0.05);
    assert!(late(0.99 * seen.tpot_seconds.p95).0 >= 0.05);
}

#[test]
fn a_run_of_which_only_that_is_asked_ends_once_too_many_are_late() {
    let load = busy_load(1.0);
    let asked = |ttft, most_late| {
        let run = Run {
            objectives: Objectives {
                ttft_seconds: Some(ttft),
                tpot_seconds: None,
                most_late,
            },
            ..run(4000)
        };
        on_one(&STEP, EngineLimits::default(), &load, run)
    };
    let seen = asked(1.0, None).ttft_seconds;
    let (held, late) = (1.001 * seen.p95, 0.999 * seen.p90);
    assert_eq!(asked(held, Some(0.05)), asked(held, None));
    let (cut, whole) = (asked(late, Some(0.05)), asked(late, None));
    assert!(whole.slo_violation.ttft.mean > 0.05);
    assert!(cut.slo_violation.ttft.mean > 0.05);
    assert!(cut.requests < 3_500, "{}", cut.requests);
}

#[test]
fn an_engine_that_looks_seldom_lets_who_arrives_wait_for_decoding_steps() {
    let seldom = EngineLimits {
        receive_interval: 20,
        ..EngineLimits::default()
    };
    // Few enough that somebody decodes and nobody else is read when the next one comes.
    let load = busy_load(1.0);
    let always = on_one(&STEP, EngineLimits::default(), &load, run(5_000));
    let found = on_one(&STEP, seldom, &load, run(5_000));
    let longest = 20.0 * STEP.seconds(&StepWork::decode(8.0, 2_000.0)).latency;
    let waited = found.ttft_seconds.mean - always.ttft_seconds.mean;
    assert!(waited > STEP.fixed && waited < longest, "waited {waited}");
    close(found.tpot_seconds.mean, always.tpot_seconds.mean, 0.05);
}

#[test]
fn an_idle_engine_takes_a_request_at_once_however_seldom_it_looks() {
    let seldom = EngineLimits {
        receive_interval: 1_000,
        ..EngineLimits::default()
    };
    let alone = load(
        Arrivals::Closed {
            users: 1,
            think_seconds: 1.0,
            start: Start::Spread,
        },
        Lengths::Fixed { tokens: 100 },
        Lengths::Fixed { tokens: 10 },
    );
    let found = on_one(&STEP, seldom, &alone, run(50));
    let expected = on_one(&STEP, EngineLimits::default(), &alone, run(50));
    close(found.ttft_seconds.mean, expected.ttft_seconds.mean, 1e-12);
}

#[test]
fn prompts_wait_for_others_as_long_as_somebody_decodes() {
    let of = |steps, share| {
        let limits = EngineLimits {
            token_budget: 8192,
            batch_wait: BatchWait { steps, share },
            ..EngineLimits::default()
        };
        // Two users whose prompts never fill nine tenths of a step, in turns.
        let two = load(
            Arrivals::Closed {
                users: 2,
                think_seconds: 0.0,
                start: Start::Spread,
            },
            Lengths::Fixed { tokens: 1000 },
            Lengths::Fixed { tokens: 500 },
        );
        on_one(&STEP, limits, &two, run(400)).ttft_seconds.mean
    };
    let at_once = of(0, 0.9);
    let step = STEP.seconds(&StepWork::decode(1.0, 1250.0)).latency;
    // Of TensorRT-LLM's twenty steps all are waited for: the budget is never filled.
    close(of(20, 0.9) - at_once, 20.0 * step, 0.1);
    close(of(40, 0.9) - at_once, 40.0 * step, 0.1);
    // One prompt is enough to end the wait.
    close(of(20, 0.1), at_once, 1e-9);
}

#[test]
fn a_table_of_steps_that_grow_linearly_is_those_steps() {
    let step = AffineStep {
        fixed: 4e-3,
        per_prefill_token: 2e-5,
        per_prefill_token_context: 3e-9,
        per_sequence: 1e-4,
        per_cached_token: 2e-8,
        stages: 2.0,
    };
    let limits = EngineLimits {
        token_budget: 4096,
        max_sequences: 200,
        ..EngineLimits::default()
    };
    let traffic = Traffic::of(&load(
        Arrivals::Poisson { per_second: 1.0 },
        Lengths::Lognormal {
            mean: 900.0,
            cv: 1.0,
        },
        Lengths::Exponential { mean: 300.0 },
    ));
    let table = StepTable::new(&step, &limits, &traffic);
    for prompt in [0.0, 1.0, 77.0, 1500.0, 4096.0] {
        for sequences in [0.0, 1.0, 13.0, 97.0, 200.0] {
            for context in [100.0, 1000.0, 9000.0] {
                let work = StepWork {
                    prefill_tokens: prompt,
                    chunks: f64::from(u8::from(prompt > 0.0)),
                    prefill_context: if prompt > 0.0 { context } else { 0.0 },
                    decode_sequences: sequences,
                    decode_context: if sequences > 0.0 { context } else { 0.0 },
                };
                if work.is_empty() {
                    continue;
                }
                let (own, known) = (table.seconds(&work), step.seconds(&work));
                close(own.latency, known.latency, 1e-9);
                close(own.interval, known.interval, 1e-9);
            }
        }
    }
}

#[test]
fn users_stay_with_the_engine_that_answers_them() {
    // Two engines of one place each, and two users: nobody ever waits for the other.
    let step = AffineStep {
        fixed: 0.01,
        per_prefill_token: 1e-4,
        ..AffineStep::default()
    };
    let limits = EngineLimits {
        max_sequences: 1,
        ..EngineLimits::default()
    };
    let load = load(
        Arrivals::Closed {
            users: 2,
            think_seconds: 0.0,
            start: Start::Spread,
        },
        Lengths::Fixed { tokens: 100 },
        Lengths::Exponential { mean: 40.0 },
    );
    let pool = Pool {
        replicas: 2,
        limits,
        step: &step,
    };
    let found = simulate(&pool, &load, run(2_000), &AtomicBool::new(false));
    close(found.ttft_seconds.p99, 0.02, 1e-6);
}

// --- Sessions -----------------------------------------------------------------------------

/// So many sessions of ten turns on average, which keep some 2,700 tokens each.
fn sessions(alive: u32) -> Load {
    let about = |mean| Lengths::Lognormal { mean, cv: 1.0 };
    let talk = Sessions {
        shared: 1_000,
        groups: 1,
        first: about(400.0),
        grow: about(250.0),
        output: about(50.0),
        turns: Lengths::Exponential { mean: 10.0 },
        think: vec![Think {
            share: 1.0,
            mean_seconds: 10.0,
            cv: 1.0,
        }],
        longest_think_seconds: 3600.0,
        max_context: 20_000,
    };
    let closed = Arrivals::Closed {
        users: alive,
        think_seconds: 0.0,
        start: Start::Spread,
    };
    Load {
        sessions: Some(talk),
        ..load(closed, about(3_000.0), about(50.0))
    }
}

fn found(load: &Load, kv_tokens: u64) -> LoadReport {
    found_behind(load, kv_tokens, None)
}

fn found_behind(load: &Load, kv_tokens: u64, host: Option<CacheTier>) -> LoadReport {
    let step = AffineStep {
        fixed: 5e-3,
        per_prefill_token: 1e-5,
        ..AffineStep::default()
    };
    let limits = EngineLimits {
        kv_tokens,
        tiers: [host, None],
        token_budget: 2048,
        ..EngineLimits::default()
    };
    on_one(&step, limits, load, run(20_000))
}

#[test]
fn more_room_finds_more_up_to_all_that_was_said() {
    let load = sessions(40);
    let talk = load.sessions.as_ref().expect("sessions");
    let turns = Turns::of(talk);
    let all = turns.footprint(40.0);
    let rooms = [0.25, 0.5, 1.0, 2.0, 4.0, 1e3].map(|times| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "tokens"
        )]
        found(&load, (times * all) as u64).hit_rate
    });
    // Who comes when depends on how long others wait: a thousandth is chance.
    let grows = |pair: &[f64]| pair[1] > pair[0] - 1e-3;
    assert!(rooms.windows(2).all(grows), "{rooms:?}");
    assert!(rooms[0] < 0.6 * turns.all_hit_rate, "{rooms:?}");
    // Half of a block is lost at the end of each answer, and the drawn prompts are others.
    assert!(
        (rooms[5] - turns.all_hit_rate).abs() < 0.01,
        "{rooms:?} {turns:?}"
    );
}

#[test]
fn one_session_finds_its_history_wherever_it_fits() {
    let load = sessions(1);
    let all = Turns::of(load.sessions.as_ref().expect("sessions")).all_hit_rate;
    let report = found(&load, 24_000);
    assert!(report.sessions_ended > 1_000, "{report:?}");
    assert!((report.hit_rate - all).abs() < 0.01, "{report:?} {all}");
}

#[test]
fn a_hit_rate_that_is_said_is_the_one_that_is_found() {
    let load = Load {
        prefix_hit_rate: 0.5,
        ..sessions(40)
    };
    let report = found(&load, 1 << 40);
    assert!((report.hit_rate - 0.5).abs() < 1e-3, "{report:?}");
}

#[test]
fn sessions_that_displace_each_other_are_slower_the_more_there_are() {
    let few = found(&sessions(30), 100_000);
    let many = found(&sessions(300), 100_000);
    assert!(many.hit_rate < few.hit_rate, "{few:?} {many:?}");
    assert!(
        many.ttft_seconds.mean > 2.0 * few.ttft_seconds.mean,
        "{few:?} {many:?}"
    );
}

fn host(tokens: u64, seconds_per_token: f64, does: HostCache) -> CacheTier {
    CacheTier {
        tokens,
        seconds_per_token,
        does,
        shared: false,
    }
}

#[test]
fn a_host_that_copies_gives_what_it_holds_beyond_the_engine() {
    let (load, through) = (sessions(60), HostCache::default());
    let room = 80_000;
    let alone = found(&load, room);
    let small = found_behind(&load, room, Some(host(room / 2, 1e-6, through)));
    assert!(
        (small.hit_rate - alone.hit_rate).abs() < 0.02,
        "{alone:?} {small:?}"
    );
    let large = found_behind(&load, room, Some(host(10 * room, 1e-6, through)));
    let all = Turns::of(load.sessions.as_ref().expect("sessions")).all_hit_rate;
    assert!((large.hit_rate - all).abs() < 0.02, "{large:?}");
    assert!(large.tier_hit_rates[0] > 0.1, "{large:?}");
    // Whoever gets what is given up needs no more than what is wanted beyond the engine.
    let given_up = HostCache {
        on_eviction: true,
        ..through
    };
    let behind = found_behind(&load, room, Some(host(10 * room, 1e-6, given_up)));
    assert!(
        (behind.hit_rate - large.hit_rate).abs() < 0.01,
        "{behind:?}"
    );
}

#[test]
fn what_is_fetched_is_waited_for_and_less_so_by_layers() {
    let layerwise = HostCache {
        layerwise: true,
        ..HostCache::default()
    };
    let wait = |alive, seconds, does| {
        let room = 2_000 * u64::from(alive);
        let report = found_behind(&sessions(alive), room, Some(host(1 << 40, seconds, does)));
        report.ttft_seconds.mean
    };
    let quick = wait(60, 1e-7, HostCache::default());
    let slow = wait(60, 3e-5, HostCache::default());
    assert!(slow > 1.2 * quick, "{quick} {slow}");
    // Among few: a step that waits for one of many holds up all of them.
    let (after, during) = (
        wait(6, 3e-5, HostCache::default()),
        wait(6, 3e-5, layerwise),
    );
    assert!(during < after, "{after} {during}");
}

/// As many sessions as `replicas` with so much room have, behind a router.
fn routed(routing: Routing, load_weight: f64, replicas: u32) -> LoadReport {
    routed_before(routing, load_weight, replicas, None)
}

/// The same before a memory of each.
fn routed_before(
    routing: Routing,
    load_weight: f64,
    replicas: u32,
    tier: Option<CacheTier>,
) -> LoadReport {
    let step = AffineStep {
        fixed: 5e-3,
        per_prefill_token: 1e-5,
        ..AffineStep::default()
    };
    let limits = EngineLimits {
        kv_tokens: 400_000,
        token_budget: 2048,
        router: Router {
            routing,
            load_weight,
        },
        tiers: [None, tier],
        ..EngineLimits::default()
    };
    let pool = Pool {
        replicas,
        limits,
        step: &step,
    };
    let load = sessions(40 * replicas);
    let run = run(10_000 * u64::from(replicas));
    simulate(&pool, &load, run, &AtomicBool::new(false))
}

/// Disks of each replica are of use to those who come back; a store of all, to whoever goes anywhere.
/// Its room is that of all shares: half of what is needed is not enough of either.
#[test]
fn a_store_is_found_from_everywhere() {
    let of = |tokens, shared| {
        let tier = CacheTier {
            shared,
            ..host(tokens, 1e-7, HostCache::default())
        };
        routed_before(Routing::Random, 0.05, 8, Some(tier))
    };
    let all = Turns::of(sessions(1).sessions.as_ref().expect("sessions")).all_hit_rate;
    let [own, store, small] =
        [(4_000_000, false), (4_000_000, true), (60_000, true)].map(|(t, s)| of(t, s));
    assert!((store.hit_rate - all).abs() < 0.01, "{all} {store:?}");
    assert!(own.hit_rate < store.hit_rate - 0.1, "{own:?} {store:?}");
    assert!(small.hit_rate < store.hit_rate - 0.1, "{small:?}");
    assert!(
        small.hit_rate > of(60_000, false).hit_rate + 0.05,
        "{small:?}"
    );
}

const ROUTINGS: [Routing; 5] = [
    Routing::Even,
    Routing::Hash,
    Routing::Random,
    Routing::RoundRobin,
    Routing::CacheAware,
];

#[test]
fn one_replica_is_the_same_behind_every_router() {
    let even = routed(Routing::Even, 0.05, 1);
    for routing in ROUTINGS {
        assert_eq!(routed(routing, 0.05, 1), even, "{routing:?}");
    }
}

#[test]
fn sessions_that_stay_find_more_and_numbers_are_uneven() {
    let [even, hash, random, round_robin, aware] = ROUTINGS.map(|routing| routed(routing, 0.05, 8));
    assert!(random.hit_rate < even.hit_rate - 0.2, "{even:?} {random:?}");
    assert!((random.hit_rate - round_robin.hit_rate).abs() < 0.05);
    assert!(aware.hit_rate > even.hit_rate - 0.05, "{even:?} {aware:?}");
    assert!(hash.imbalance > even.imbalance, "{even:?} {hash:?}");
    assert!(even.imbalance > 1.0 && even.imbalance < 1.5, "{even:?}");
}

/// A router that looks at nothing but caches does not send everybody where the system prompt is, and one
/// that looks at nothing but load tears sessions from what they have said.
#[test]
fn caches_and_load_are_weighed() {
    let [alone, usual, busy] = [0.0, 0.05, 50.0].map(|w| routed(Routing::CacheAware, w, 4));
    assert!(alone.imbalance < 2.0, "{alone:?}");
    assert!(
        alone.hit_rate > usual.hit_rate - 0.05,
        "{alone:?} {usual:?}"
    );
    assert!(busy.hit_rate < usual.hit_rate - 0.1, "{usual:?} {busy:?}");
}

#[test]
fn disks_behind_memory_give_what_they_hold_beyond_it() {
    let (load, room) = (sessions(60), 80_000);
    let through = HostCache::default();
    let step = AffineStep {
        fixed: 5e-3,
        per_prefill_token: 1e-5,
        ..AffineStep::default()
    };
    let of = |tiers| {
        let limits = EngineLimits {
            kv_tokens: room,
            tiers,
            token_budget: 2048,
            ..EngineLimits::default()
        };
        on_one(&step, limits, &load, run(20_000))
    };
    let memory = Some(host(room * 3 / 2, 1e-6, through));
    let disk = Some(host(10 * room, 1e-6, through));
    let [one, other, both] = [[memory, None], [None, disk], [memory, disk]].map(of);
    assert!((both.hit_rate - other.hit_rate).abs() < 0.01, "{both:?}");
    assert!(both.hit_rate > one.hit_rate + 0.02, "{one:?} {both:?}");
    let [from_memory, from_disk] = both.tier_hit_rates;
    assert!(
        (from_memory - one.tier_hit_rates[0]).abs() < 0.03,
        "{both:?}"
    );
    assert!(from_memory > 0.05 && from_disk > 0.02, "{both:?}");
}

/// Prompts of a trace that are alike are found once they have been answered, in the trace and not in
/// what comes behind it.
#[test]
fn a_trace_is_found_once_in_each_of_its_runs() {
    let prompt = vec![640; 4];
    let traced = Load {
        sizes: Sizes::Pairs {
            prompt,
            output: vec![2; 4],
            hashed: Some(Hashed {
                tokens: 64,
                pieces: vec![
                    (0..10).collect(),
                    (20..30).collect(),
                    (0..10).collect(),
                    (0..5).chain(40..45).collect(),
                ],
            }),
        },
        ..load(
            Arrivals::Closed {
                users: 1,
                think_seconds: 1.0,
                start: Start::Together,
            },
            Lengths::Fixed { tokens: 1 },
            Lengths::Fixed { tokens: 1 },
        )
    };
    // Of the third all but the block with its last token, of the fourth the half that they share.
    let found = f64::from(640 - 16 + 320) / f64::from(4 * 640);
    for requests in [4, 400] {
        let run = Run {
            warm_up: 0,
            ..run(requests)
        };
        let report = on_one(&STEP, EngineLimits::default(), &traced, run);
        assert!((report.hit_rate - found).abs() < 1e-9, "{report:?} {found}");
    }
    let all = Traffic::of(&traced)
        .footprint()
        .expect("a trace")
        .all_hit_rate;
    assert!(
        (all - f64::from(640 + 320) / f64::from(4 * 640)).abs() < 1e-9,
        "{all}"
    );
}

#[test]
fn what_a_request_takes_besides_grows_with_its_prompt() {
    let overhead = RequestOverhead {
        fixed: Seconds(0.5),
        per_token: Seconds(0.001),
    };
    let alone = load(
        Arrivals::Closed {
            users: 1,
            think_seconds: 1.0,
            start: Start::Together,
        },
        Lengths::Fixed { tokens: 100 },
        Lengths::Fixed { tokens: 10 },
    );
    let expected = on_one(&STEP, EngineLimits::default(), &alone, run(50));
    let with = Run {
        request_overhead: overhead,
        ..run(50)
    };
    let found = on_one(&STEP, EngineLimits::default(), &alone, with);
    let later = found.ttft_seconds.mean - expected.ttft_seconds.mean;
    close(later, 0.5 + 100.0 * 0.001, 1e-9);
    close(found.tpot_seconds.mean, expected.tpot_seconds.mean, 1e-9);
}

/// A decode step that is a line up to a roof, and bends there.
struct Roofs;

impl StepTime for Roofs {
    fn seconds(&self, work: &StepWork) -> StepSeconds {
        let read = 1e-3 + 1e-6 * work.decode_sequences * work.decode_context;
        let latency = read.max(2e-3) + 1e-5 * work.prefill_tokens;
        StepSeconds {
            latency,
            interval: latency / 2.0,
        }
    }
}

#[test]
fn remembered_steps_are_the_steps() {
    let remembered = Remembered::of(&Roofs);
    // The second look at a stretch is the remembered one; the roof bends within some stretches.
    for _ in 0..2 {
        for sequences in 1..40 {
            for context in 0..700 {
                let context = f64::from(context) * 3.7;
                let work = StepWork::decode(f64::from(sequences), context);
                let (found, right) = (remembered.seconds(&work), Roofs.seconds(&work));
                close(found.latency, right.latency, 1e-6);
                close(found.interval, right.interval, 1e-6);
            }
        }
    }
    let with_prompt = StepWork::decode(3.0, 100.0).with_chunk(64.0, 0.0);
    assert_eq!(
        remembered.seconds(&with_prompt),
        Roofs.seconds(&with_prompt)
    );
}
