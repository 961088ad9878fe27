//! Scenarios against what can be worked out by hand.

#![expect(clippy::float_cmp, reason = "whole numbers, and sums of equals")]

use super::*;

fn plan(part: usize, usd: f64, kind: usize) -> Offer {
    Offer {
        lines: vec![(part, usd)],
        runs: vec![(kind, None, None)],
        most: None,
    }
}

fn asked(scenarios: usize, plans: Vec<Offer>) -> Compared {
    let names = ["host/a", "host/b"].map(str::to_owned);
    Compared {
        scenarios,
        seed: 1,
        demand_varies: false,
        parts: names.clone().map(|name| (name, false)).to_vec(),
        kinds: names.map(|name| (name, 1.0, 0.5, 2.0)).to_vec(),
        plans,
    }
}

/// Half of a normal distribution beyond `x`, by Simpson's rule.
fn beyond(x: f64) -> f64 {
    let density = |z: f64| (-z * z / 2.0).exp() / TAU.sqrt();
    let (steps, width) = (2000_u32, x / 2000.0);
    let weight = |step: u32| match step {
        0 | 2000 => 1.0,
        odd if odd % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let inner = (0..=steps).map(|step| weight(step) * density(f64::from(step) * width));
    0.5 - inner.sum::<f64>() * width / 3.0
}

fn within_three_errors(found: f64, expected: f64, scenarios: f64) {
    let error = (expected * (1.0 - expected) / scenarios).sqrt();
    assert!(
        (found - expected).abs() <= 3.0 * error,
        "{found} is not about {expected}"
    );
}

/// Two plans of one part each: the dearer one is best where the logarithms of the factors differ
/// by more than those of the prices, a normal of spread 0.08 sqrt(2).
#[test]
fn two_plans_and_their_prices() {
    let apart = (110_f64 / 100.0).ln() / (OWN_PRICE_SPREAD * 2_f64.sqrt());
    let expected = beyond(apart);
    for scenarios in [200_u32, 2_000, 200_000] {
        let risks = compare(&asked(
            scenarios as usize,
            vec![plan(0, 100.0, 0), plan(1, 110.0, 1)],
        ));
        let (first, second) = (&risks.plans[0], &risks.plans[1]);
        within_three_errors(second.p_best, expected, f64::from(scenarios));
        assert!((first.p_best + second.p_best - 1.0).abs() < 1e-12);
        assert_eq!((first.p_holds, risks.p_none_holds), (1.0, 0.0));
        assert_eq!(first.regret_usd_p50, 0.0, "it is best in more than half");
    }
    // One part in both: the dearer costs 10 more, or 10 exp(0.08 z(0.95)).
    let same = compare(&asked(200_000, vec![plan(0, 100.0, 0), plan(0, 110.0, 1)]));
    assert_eq!(
        (same.plans[0].p_best, same.plans[0].regret_usd_p95),
        (1.0, 0.0)
    );
    assert!((same.plans[1].regret_usd_p50 - 10.0).abs() < 0.02);
    assert!((same.plans[1].regret_usd_p95 - 10.0 * (0.08 * 1.644_854_f64).exp()).abs() < 0.03);
    // The P95 of one log-normal price: 100 exp(0.08 z(0.95)).
    let many = compare(&asked(200_000, vec![plan(0, 100.0, 0)]));
    assert!((many.plans[0].price_usd_p95 / (0.08 * 1.644_854_f64).exp() - 100.0).abs() < 0.2);
    // Its worst twentieth: 100 exp(s^2/2) P(z > z(0.95) - s) / 0.05.
    let tail = 100.0 * (0.08_f64.powi(2) / 2.0).exp() * beyond(1.644_854 - 0.08) / 0.05;
    assert!((many.plans[0].cvar95_usd - tail).abs() < 0.3);
}

/// One price moves, and two points of it are worked out by hand: where a holds it is bought, else
/// the cheaper of more of it and of b.
#[test]
fn what_does_not_hold_is_bought_later() {
    assert_eq!(Miss::Nothing.bought(100.0, Some(110.0)), 0.0);
    assert_eq!(Miss::More(0.25).bought(100.0, Some(110.0)), 25.0);
    assert_eq!(Miss::More(2.0).bought(100.0, Some(110.0)), 110.0);
    assert_eq!(Miss::More(2.0).bought(100.0, None), 200.0);
    assert_eq!(Miss::Speed.bought(100.0, Some(110.0)), 110.0);
    assert_eq!(Miss::Speed.bought(100.0, None), 100.0);
    // a (100) holds where its steps are no longer than predicted: half. b (150) always does.
    let mut question = asked(200_000, vec![plan(0, 100.0, 0), plan(1, 150.0, 1)]);
    question.plans[0].runs = vec![(0, Some(1.0), None)];
    let risks = compare(&question);
    within_three_errors(risks.plans[0].p_holds, 0.5, 200_000.0);
    // It is the best where it holds, but for prices that cross: 5 standard deviations.
    assert!((risks.plans[0].p_best - risks.plans[0].p_holds).abs() < 1e-3);
    let two = &risks.plans[0];
    // The worse half costs 100 + 1.3 x 150 beside 150 of b: regrets of about 145.
    assert!((two.regret_usd_p80 - 145.0).abs() < 15.0, "{two:?}");
    // Their medians: b is dearer by about 50 in half of them, and best in the others.
    assert!(two.price_usd_p95 > 295.0);
}

/// Two deployments of one kind err together; as two kinds the errors cancel, and hide the tail.
#[test]
fn common_errors_have_a_longer_tail() {
    let both = |kinds: [usize; 2]| {
        let mut one = plan(0, 100.0, 0);
        one.runs = kinds.map(|kind| (kind, None, Some(0.75))).to_vec();
        compare(&asked(20_000, vec![one])).plans.remove(0)
    };
    let (common, independent) = (both([0, 0]), both([0, 1]));
    assert!(common.price_usd_p95 > 1.1 * independent.price_usd_p95);
    assert!(common.cvar95_usd > 1.1 * independent.cvar95_usd);
    // 1.5 of the demand: together they hold while steps are at most 1.5 times as long.
    let expected = 1.0 - beyond(1.5_f64.ln() / 2_f64.ln() * TO_AN_END);
    within_three_errors(common.p_holds, expected, 20_000.0);
    assert!(independent.p_holds > common.p_holds);
}

/// Demand has mean 1: a plan of exactly the demand holds in a little more than half.
#[test]
fn demand_varies_about_its_mean() {
    let mut question = asked(200_000, vec![plan(0, 100.0, 0)]);
    question.demand_varies = true;
    question.plans[0].most = Some(1.0);
    let risks = compare(&question);
    let expected = 1.0 - beyond(DEMAND_SPREAD / 2.0);
    within_three_errors(risks.plans[0].p_holds, expected, 200_000.0);
}

#[test]
fn a_seed_draws_the_same_and_others_draw_others() {
    assert_eq!(normals(7, "demand", 50), normals(7, "demand", 50));
    assert_eq!(normals(7, "demand", 50), normals(7, "demand", 200)[..50]);
    assert_ne!(normals(7, "demand", 50), normals(8, "demand", 50));
    assert_ne!(normals(7, "demand", 50), normals(7, "host/a", 50));
}

/// Two hundred scenarios of six plans take milliseconds even without optimisation.
#[test]
fn scenarios_take_milliseconds() {
    let question = asked(
        200,
        (0..6_u8)
            .map(|dear| plan(0, 100.0 + f64::from(dear), 1))
            .collect(),
    );
    let started = std::time::Instant::now();
    let risks = compare(&question);
    let took = started.elapsed();
    assert_eq!(risks.plans.len(), 6);
    assert!(took.as_millis() < 100);
}

/// What is missing of a lognormal demand of mean 1 beyond what a purchase carries is the price of a
/// call (Black and Scholes, 1973); rented at 100 for all, it costs so much in the mean.
#[test]
fn what_is_missing_later_is_rented() {
    let carried = |most: f64| Offer {
        most: Some(most),
        runs: Vec::new(),
        ..plan(0, 0.0, 0)
    };
    let asked = Recourse {
        of: Compared {
            demand_varies: true,
            ..asked(200_000, vec![carried(1.0), carried(1.25)])
        },
        rent_usd: Some(100.0),
    };
    let below = |x: f64| 1.0 - beyond(x.abs()) - if x < 0.0 { 1.0 - 2.0 * beyond(-x) } else { 0.0 };
    for (stage, most) in recourse(&asked).iter().zip([1.0_f64, 1.25]) {
        let above = (DEMAND_SPREAD * DEMAND_SPREAD / 2.0 - most.ln()) / DEMAND_SPREAD;
        let expected = 100.0 * (below(above) - most * below(above - DEMAND_SPREAD));
        let off = (stage.expected_usd / expected - 1.0).abs();
        assert!(off < 0.02, "{} for {expected}", stage.expected_usd);
        within_three_errors(stage.p_later, below(above - DEMAND_SPREAD), 200_000.0);
        assert!(stage.cvar95_usd > stage.expected_usd);
    }
}
