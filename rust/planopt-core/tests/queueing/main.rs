//! The closed form of an engine under load against its simulation.

mod cases;
mod engines;

use std::collections::BTreeMap;

use cases::Case;
use planopt_core::catalog::Policy;
use planopt_core::load::{Arrivals, Routing};
use planopt_core::serving::engine::{Estimate, LoadReport};

/// A case with both answers.
struct Compared {
    number: u64,
    case: Case,
    estimate: Estimate,
    report: LoadReport,
}

/// Half widths of what is compared, at most.
const HALF_WIDTH: f64 = 0.01;
/// Requests that are enough for most cases, and by how many times more are taken if not.
const ENOUGH: u64 = 100_000;
const MORE: u64 = 3;

/// As many requests as make half widths small, up to `most`.
fn simulated(case: &Case, most: u64) -> LoadReport {
    let mut requests = ENOUGH.min(most);
    loop {
        let report = case.simulate(requests, 1);
        let (ttft, tpot) = (report.ttft_seconds, report.tpot_seconds);
        let widths = [
            ttft.half_width_p95,
            tpot.half_width_mean,
            tpot.half_width_p95,
        ];
        if requests >= most || widths.iter().all(|&width| width < HALF_WIDTH) {
            return report;
        }
        requests = (requests * MORE).min(most);
    }
}

/// Errors of the closed form, as shares of what was simulated.
#[derive(Clone, Copy)]
struct Errors {
    ttft_mean: f64,
    ttft_p95: f64,
    tpot_mean: f64,
    tpot_p95: f64,
}

impl Compared {
    fn new(number: u64, requests: u64) -> Self {
        let case = cases::case(number);
        let estimate = case.estimate();
        let report = simulated(&case, requests);
        Self {
            number,
            case,
            estimate,
            report,
        }
    }

    /// The same in one run of so many requests.
    fn to_the_end(number: u64, requests: u64, seed: u64) -> Self {
        let case = cases::case(number);
        Self {
            number,
            estimate: case.estimate(),
            report: case.simulate(requests, seed),
            case,
        }
    }

    fn errors(&self) -> Errors {
        let off = |found: f64, expected: f64| {
            if expected > 0.0 {
                found / expected - 1.0
            } else {
                0.0
            }
        };
        let (ttft, tpot) = (self.report.ttft_seconds, self.report.tpot_seconds);
        Errors {
            ttft_mean: off(self.estimate.ttft_mean(), ttft.mean),
            ttft_p95: off(self.estimate.ttft(0.95), ttft.p95),
            tpot_mean: off(self.estimate.tpot_mean(), tpot.mean),
            tpot_p95: off(self.estimate.tpot(0.95), tpot.p95),
        }
    }

    /// The largest error, against what is promised of each figure.
    fn worst(&self) -> f64 {
        let errors = self.errors();
        (errors.ttft_p95.abs() / 0.3).max(errors.tpot_mean.abs() / 0.1)
    }

    fn regime(&self) -> String {
        let arrivals = match self.case.load.arrivals {
            Arrivals::Closed { .. } => "closed",
            _ => "poisson",
        };
        let policy = match self.case.limits.policy {
            Policy::DecodeFirst => "decode-first",
            Policy::PrefillFirst => "prefill-first",
        };
        let pipeline = if self.case.limits.micro_batches > 1 {
            ", pipeline"
        } else {
            ""
        };
        let pages = if self.report.kv_occupancy > 0.6 || self.report.preemptions > 100 {
            ", short of pages"
        } else {
            ""
        };
        format!("{arrivals}, {policy}{pipeline}{pages}")
    }
}

/// Median, 90th percentile and worst of absolute errors.
fn summary(errors: &[f64]) -> (f64, f64, f64) {
    let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let worst = sizes.len() - 1;
    (sizes[sizes.len() / 2], sizes[worst * 9 / 10], sizes[worst])
}

#[test]
#[ignore = "minutes: `make queueing`"]
#[expect(clippy::print_stdout, reason = "the table is what it is run for")]
fn two_hundred_random_cases() {
    let read = |name: &str, usual: u64| {
        let given = std::env::var(name).ok();
        given.and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let requests = read("REQUESTS", 1_000_000);
    let cases = read("CASES", 200);
    let compared: Vec<Compared> = (0..cases)
        .map(|number| Compared::new(number, requests))
        .collect();
    let mut regimes: BTreeMap<String, Vec<&Compared>> = BTreeMap::new();
    for each in &compared {
        regimes.entry(each.regime()).or_default().push(each);
        regimes.entry("all".to_owned()).or_default().push(each);
    }
    println!(
        "regime | cases | TTFT mean | TTFT p95 | TPOT mean | TPOT p95 (median / 90th / worst, %)"
    );
    for (regime, cases) in &regimes {
        let errors: Vec<Errors> = cases.iter().map(|each| each.errors()).collect();
        let column = |of: fn(&Errors) -> f64| {
            let all: Vec<f64> = errors.iter().map(of).collect();
            let (median, tenth, worst) = summary(&all);
            format!(
                "{:.1} / {:.1} / {:.1}",
                100.0 * median,
                100.0 * tenth,
                100.0 * worst
            )
        };
        println!(
            "{regime} | {} | {} | {} | {} | {}",
            cases.len(),
            column(|each| each.ttft_mean),
            column(|each| each.ttft_p95),
            column(|each| each.tpot_mean),
            column(|each| each.tpot_p95),
        );
    }
    let mut worst: Vec<&Compared> = compared.iter().collect();
    worst.sort_by(|one, other| other.worst().total_cmp(&one.worst()));
    println!("the worst:");
    for each in worst.iter().take(12) {
        let errors = each.errors();
        println!(
            "case {} ({}, {:.0} % busy): TTFT {:+.0} %, p95 {:+.0} % (half width {:.0} %), TPOT {:+.0} %, p95 {:+.0} %",
            each.number,
            each.regime(),
            100.0 * each.case.busy,
            100.0 * errors.ttft_mean,
            100.0 * errors.ttft_p95,
            100.0 * each.report.ttft_seconds.half_width_p95,
            100.0 * errors.tpot_mean,
            100.0 * errors.tpot_p95,
        );
    }
}

/// A part of them with every change: short enough for it, and long enough to see a formula break.
#[test]
fn the_closed_form_agrees_with_the_simulation() {
    let compared: Vec<Compared> = (0..40)
        .map(|number| Compared::new(number, 20_000))
        .filter(|each| {
            let regime = each.regime();
            !regime.contains("pipeline") && !regime.contains("pages")
        })
        .collect();
    let of = |error: fn(&Errors) -> f64| {
        let all: Vec<f64> = compared.iter().map(|each| error(&each.errors())).collect();
        summary(&all)
    };
    let (median, tenth, _) = of(|errors| errors.ttft_p95);
    assert!(median < 0.06 && tenth < 0.25, "TTFT p95: {median} {tenth}");
    let (median, tenth, _) = of(|errors| errors.ttft_mean);
    assert!(median < 0.03 && tenth < 0.15, "TTFT mean: {median} {tenth}");
    let (median, tenth, _) = of(|errors| errors.tpot_mean);
    assert!(median < 0.01 && tenth < 0.08, "TPOT mean: {median} {tenth}");
}

/// The fluid bound is no formula of queues: nothing that is simulated exceeds it, whatever the load.
#[test]
fn no_engine_carries_more_than_its_fluid_bound() {
    none_beyond_its_bound((0..60).map(cases::case));
}

/// Sessions find no more than all that was said before: from nearly no room for it to plenty.
#[test]
fn no_sessions_come_back_faster_than_the_fluid_bound() {
    none_beyond_its_bound((0..40).map(cases::of_sessions));
}

fn none_beyond_its_bound(cases: impl Iterator<Item = Case>) {
    let mut nearest: f64 = 0.0;
    for (number, case) in cases.enumerate() {
        let report = case.simulate(6_000, 2);
        // As a promise, what the load itself has at the 95th percentile.
        let bound = BEYOND * case.bound(BEYOND * report.tpot_seconds.p95);
        let share = report.requests_per_second / bound;
        assert!(share <= 1.0 + SHORT, "case {number}: {share} of the bound");
        nearest = nearest.max(share);
    }
    assert!(nearest > 0.6, "a bound that nothing comes near: {nearest}");
}

/// Nor with first tokens in time more than a queue of prompts alone: as a promise, what the load itself
/// has at three percentiles.
#[test]
fn no_engine_carries_more_in_time_than_a_queue_of_its_prompts() {
    let mut shares = Vec::new();
    for number in 0..60 {
        let case = cases::case(number);
        let report = case.simulate(10_000, 2);
        let ttft = report.ttft_seconds;
        for (promise, late) in [(ttft.p50, 0.5), (ttft.p95, 0.05), (ttft.p99, 0.01)] {
            let Some(bound) = case.bound_in_time(BEYOND * promise, late) else {
                continue;
            };
            let share = report.requests_per_second / (BEYOND * bound);
            shares.push(share);
        }
    }
    shares.sort_by(f64::total_cmp);
    let worst = shares[shares.len() - 1];
    assert!(worst <= 1.0 + SHORT, "{worst} of the bound");
    assert!(worst > 0.6, "a bound that nothing comes near: {worst}");
}

/// Steps that wait longer for each other serve nobody sooner: what is late with a fast network is late
/// with a slow one.
#[test]
fn slower_steps_are_no_sooner() {
    let mut slower = 0;
    for number in 0..60 {
        let case = cases::case(number);
        let behind = case.clone().with_slower_steps(1.3, 1.1);
        let (fast, slow) = (case.simulate(6_000, 2), behind.simulate(6_000, 2));
        for (soon, late) in [
            (fast.ttft_seconds, slow.ttft_seconds),
            (fast.tpot_seconds, slow.tpot_seconds),
        ] {
            for (soon, late) in [(soon.mean, late.mean), (soon.p95, late.p95)] {
                assert!(
                    late >= soon * (1.0 - SHORT),
                    "case {number}: {late} after {soon}"
                );
                slower += usize::from(late > 1.05 * soon);
            }
        }
    }
    assert!(slower > 60, "steps that hardly differ: {slower}");
}

/// Errors of the closed form of what sessions find, in points: of so many loads, each of so many turns.
fn of_hits(cases: u64, turns: u64) -> (f64, f64, f64) {
    let mut errors: Vec<f64> = (0..cases)
        .map(|number| {
            let case = cases::of_cache(number);
            let found = case.simulate(turns, 3).hit_rate;
            100.0 * (case.hit_rate() - found).abs()
        })
        .collect();
    errors.sort_by(f64::total_cmp);
    let (many, last) = (errors.len(), errors.len() - 1);
    (errors[many / 2], errors[many * 19 / 20], errors[last])
}

/// What sessions find of their prompts is estimated without a simulation: the errors are points.
#[test]
fn what_sessions_find_is_what_is_simulated() {
    let (median, p95, worst) = of_hits(60, 20_000);
    assert!(median <= 0.5 && p95 <= 2.0, "{median} {p95} {worst}");
}

#[test]
#[ignore = "minutes: `make sessions`"]
#[expect(clippy::print_stdout, reason = "the figures are what it is run for")]
fn what_600_session_loads_find() {
    let (median, p95, worst) = of_hits(600, 100_000);
    println!("600 loads: median {median:.2}, p95 {p95:.2}, worst {worst:.2} points");
    assert!(median <= 0.5 && p95 <= 2.5, "{median} {p95} {worst}");
}

/// Sessions behind routers, with and without memory of hosts: errors of what is found in points, and of
/// rates and times as shares.
struct Routed {
    routing: Routing,
    hits: f64,
    rate: f64,
    ttft: f64,
    tpot: f64,
    of_bound: f64,
    /// Whether there is room for five prompts, and a fifth of the engine's time is left.
    has_room: bool,
}

impl Routed {
    fn of(number: u64, turns: u64) -> Option<Self> {
        let case = cases::of_routed_sessions(number);
        let report = case.simulate(turns * u64::from(case.replicas), 2);
        let (hits, estimate) = case.of_sessions()?;
        let off = |said: f64, found: f64| said / found.max(f64::MIN_POSITIVE) - 1.0;
        let bound = BEYOND * case.bound(BEYOND * report.tpot_seconds.p95);
        let rate = estimate.requests_per_second * f64::from(case.replicas);
        Some(Self {
            routing: case.limits.router.routing,
            hits: 100.0 * (hits - report.hit_rate),
            rate: off(rate, report.requests_per_second),
            ttft: off(estimate.ttft_mean(), report.ttft_seconds.mean),
            tpot: off(estimate.tpot_mean(), report.tpot_seconds.mean),
            of_bound: report.requests_per_second / bound,
            has_room: case.has_room() && report.requests_per_second < 0.8 * bound,
        })
    }
}

#[test]
#[ignore = "minutes: `make sessions`"]
#[expect(clippy::print_stdout, reason = "the table is what it is run for")]
fn two_hundred_engines_behind_routers() {
    let all: Vec<Routed> = (0..200)
        .filter_map(|number| Routed::of(number, 10_000))
        .collect();
    println!("router | engines | hits (points) | rate | TTFT | TPOT (median / 90th / worst, %)");
    let mut groups: BTreeMap<String, Vec<&Routed>> = BTreeMap::new();
    for each in &all {
        let room = if each.has_room {
            "with room"
        } else {
            "short of it"
        };
        let name = format!("{:?}, {room}", each.routing);
        groups.entry(name).or_default().push(each);
        groups.entry(format!("all, {room}")).or_default().push(each);
    }
    for (name, cases) in groups {
        let of = |of: fn(&Routed) -> f64| {
            let (median, tenth, worst) = summary(&cases.iter().map(|c| of(c)).collect::<Vec<_>>());
            format!("{median:.2} / {tenth:.2} / {worst:.2}")
        };
        println!(
            "{name} | {} | {} | {} | {} | {}",
            cases.len(),
            of(|each| each.hits),
            of(|each| 100.0 * each.rate),
            of(|each| 100.0 * each.ttft),
            of(|each| 100.0 * each.tpot),
        );
    }
    let beyond = all.iter().filter(|each| each.of_bound > 1.0 + SHORT);
    assert_eq!(beyond.count(), 0, "above their bound");
}

/// A part of them.
#[test]
fn sessions_behind_routers_are_as_estimated() {
    let all: Vec<Routed> = (0..40)
        .filter_map(|number| Routed::of(number, 3_000))
        .collect();
    assert!(all.iter().all(|each| each.of_bound <= 1.0 + SHORT));
    let roomy = || all.iter().filter(|each| each.has_room);
    let (median, tenth, _) = summary(&roomy().map(|each| each.hits).collect::<Vec<_>>());
    assert!(median < 2.0 && tenth < 12.0, "hits: {median} {tenth}");
}

/// Room that the search leaves above the bound, which is a law of means.
const BEYOND: f64 = 1.05;

/// Half width of the rate of so few requests.
const SHORT: f64 = 0.02;

/// Who comes during a step waits for its rest, and long steps gather more for the next one: errors
/// are below 1 %, and would be 3 % and 8 % with another exponent of the gate.
#[test]
fn whoever_comes_during_a_step_waits_for_its_rest() {
    for rate in [4.0, 8.0, 12.0] {
        let case = cases::prompts_in_one_step(rate);
        let found = case.estimate().ttft_mean();
        let expected = case.simulate(60_000, 1).ttft_seconds.mean;
        assert!(
            (found / expected - 1.0).abs() < 0.015,
            "{rate}: {found}, not {expected}"
        );
    }
}
