//! Many engines by class: short runs and the closed form against what long runs of them came to, which
//! is stored, and the bound against runs of forty populations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{BEYOND, Compared, SHORT, cases, summary};
use planopt_core::load::Arrivals;
use planopt_core::serving::engine::LoadReport;

/// Truth of each engine: its number, class, p95 of TTFT and of TPOT, and how wide the first is known.
const TRUTH: &str = include_str!("truth.csv");
const TRUTH_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/queueing/truth.csv");
const HEAD: &str = "number,class,ttft_p95_seconds,tpot_p95_seconds,ttft_half_width";

/// Engines whose truth is stored, and those that the bound is held to.
const ENGINES: u64 = 300;
const BOUNDED: u64 = 1_000;

/// Engines of which two steps are compared with the bound.
const FEW: u64 = 40;

/// Requests of a run that is taken for the truth, and of a short one.
const LONG: u64 = 200_000;
const BRIEF: u64 = 4_000;

/// Times that what is in an engine must turn over until its rate is known.
const POPULATIONS: f64 = 40.0;
const LEAST: u64 = 6_000;

/// Seeds of the truth, and of runs that are held against it.
const TRUE_SEED: u64 = 1;
const OTHER_SEED: u64 = 2;

/// Errors that short runs may have in the median and at the 95th percentile of engines.
const OF_TTFT: (f64, f64) = (0.10, 0.25);
const OF_TPOT: (f64, f64) = (0.03, 0.08);

struct Truth {
    number: u64,
    class: String,
    ttft: f64,
    tpot: f64,
}

fn stored() -> Vec<Truth> {
    let mut lines = TRUTH.lines();
    assert_eq!(lines.next(), Some(HEAD));
    let truth = lines.map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let figure = |place: usize| cells[place].parse().expect("a number");
        Truth {
            number: cells[0].parse().expect("a number"),
            class: cells[1].to_owned(),
            ttft: figure(2),
            tpot: figure(3),
        }
    });
    truth.collect()
}

/// Errors of p95 TTFT and p95 TPOT, as shares of the truth.
fn errors(of: &Truth, report: &LoadReport) -> (f64, f64) {
    let off = |found: f64, truth: f64| {
        if truth > 0.0 {
            found / truth - 1.0
        } else {
            0.0
        }
    };
    let (ttft, tpot) = (report.ttft_seconds.p95, report.tpot_seconds.p95);
    (off(ttft, of.ttft), off(tpot, of.tpot))
}

fn at_95(errors: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    sizes[(sizes.len() * 95).div_ceil(100) - 1]
}

fn brief(truth: &[Truth]) -> Vec<(f64, f64)> {
    let run = |of: &Truth| errors(of, &cases::case(of.number).simulate(BRIEF, OTHER_SEED));
    truth.iter().map(run).collect()
}

fn held(name: &str, errors: &[f64], (median, most): (f64, f64)) {
    let (middle, ..) = summary(errors);
    let p95 = at_95(errors);
    assert!(middle <= median && p95 <= most, "{name}: {middle} {p95}");
}

#[test]
fn short_runs_are_near_long_ones() {
    let (ttft, tpot): (Vec<f64>, Vec<f64>) = brief(&stored()).into_iter().unzip();
    held("TTFT", &ttft, OF_TTFT);
    held("TPOT", &tpot, OF_TPOT);
}

#[test]
#[ignore = "minutes: `make engines`"]
#[expect(clippy::print_stdout, reason = "the table is what it is run for")]
fn three_hundred_engines_by_class() {
    let truth = stored();
    let mut classes: BTreeMap<&str, Vec<[f64; 4]>> = BTreeMap::new();
    for (of, (ttft, tpot)) in truth.iter().zip(brief(&truth)) {
        let estimate = cases::case(of.number).estimate();
        let said = [
            ttft,
            tpot,
            estimate.ttft(0.95) / of.ttft - 1.0,
            estimate.tpot(0.95) / of.tpot.max(f64::MIN_POSITIVE) - 1.0,
        ];
        for class in [of.class.as_str(), "all"] {
            classes.entry(class).or_default().push(said);
        }
    }
    println!(
        "class | engines | short run: p95 TTFT | p95 TPOT | estimate: p95 TTFT | p95 TPOT (median / 95th, %)"
    );
    for (class, of_class) in &classes {
        let column = |place: usize| {
            let all: Vec<f64> = of_class.iter().map(|each| each[place]).collect();
            format!(
                "{:.1} / {:.1}",
                100.0 * summary(&all).0,
                100.0 * at_95(&all)
            )
        };
        let columns = [0, 1, 2, 3].map(column).join(" | ");
        println!("{class} | {} | {columns}", of_class.len());
    }
}

/// Room above what two steps say, and above the bound: `search/serving/latency.rs`.
const ROOMS: [f64; 2] = [1.25, 1.05];

/// What is looked at roughly is refused by nothing that a closer look would not refuse.
#[test]
fn two_steps_bound_no_engine_more_than_its_bound_does() {
    for number in 0..FEW {
        let case = cases::case(number);
        let (rough, bound) = (case.bound_by_two_steps(), case.bound(f64::INFINITY));
        assert!(
            ROOMS[0] * rough >= ROOMS[1] * bound,
            "case {number}: {rough} {bound}"
        );
    }
}

/// None of a thousand engines that several share answers more than its bound, in runs of forty
/// populations.
#[test]
#[ignore = "minutes: `make engines`"]
#[expect(
    clippy::print_stdout,
    reason = "how near they come is what it is run for"
)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "requests"
)]
fn a_thousand_engines_stay_within_their_bound() {
    let mut shares = Vec::new();
    for number in 0..BOUNDED {
        let case = cases::case(number);
        // Who is alone is never read to while he decodes, as the bound has it of those who share: one
        // user is asked of every engine, whatever its bound (case 943 answers 1.27 of it).
        if matches!(case.load.arrivals, Arrivals::Closed { users: 1, .. }) {
            continue;
        }
        let seen = case.simulate(LEAST, OTHER_SEED);
        let inside = seen.ttft_seconds.mean
            + seen.tpot_seconds.mean * seen.tokens_per_second / seen.requests_per_second;
        let enough = (POPULATIONS * seen.requests_per_second * inside).ceil() as u64;
        let report = case.simulate(enough.max(LEAST), OTHER_SEED + 1);
        let bound = BEYOND * case.bound(BEYOND * report.tpot_seconds.p95);
        let share = report.requests_per_second / bound;
        assert!(share <= 1.0 + SHORT, "case {number}: {share} of the bound");
        shares.push(share);
    }
    shares.sort_by(f64::total_cmp);
    let at = |share: usize| shares[(shares.len() - 1) * share / 100];
    println!(
        "of 1.05 F: median {:.3}, p95 {:.3}, most {:.3}",
        at(50),
        at(95),
        at(100)
    );
}

/// Writes the truth that the others are held to.
#[test]
#[ignore = "an hour: after a change of what is simulated, `make engines-truth`"]
fn the_truth_is_written() {
    let mut told = format!("{HEAD}\n");
    for number in 0..ENGINES {
        let of = Compared::to_the_end(number, LONG, TRUE_SEED);
        let (ttft, tpot) = (of.report.ttft_seconds, of.report.tpot_seconds);
        let class = of.regime().replace(", ", " ");
        let width = ttft.half_width_p95;
        writeln!(
            told,
            "{number},{class},{:.6},{:.6},{width:.4}",
            ttft.p95, tpot.p95
        )
        .expect("memory");
    }
    std::fs::write(TRUTH_FILE, told).expect("a file");
}
