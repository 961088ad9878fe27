//! Plans under scenarios of demand, prices and errors of predictions: how often each is the
//! cheapest that holds, and what it comes to (`docs/reference/model.md`, section 9).
//!
//! What is drawn depends on the seed, the name of a factor and the number of the scenario, and on
//! nothing of a plan: plans are compared in the same ones.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

/// Spread of demand (standard deviation of its logarithm). Assumed: no source says how far
/// forecasts of the use of language models are off.
const DEMAND_SPREAD: f64 = 0.2;
/// Spread of what prices of memory and wafers do to all that is made of them. Assumed.
const COMMON_PRICE_SPREAD: f64 = 0.1;
/// Spread of each part's own price. Assumed.
const OWN_PRICE_SPREAD: f64 = 0.08;
/// What is bought later costs so many times as much. Assumed.
const LATER_PRICE_RATIO: f64 = 1.3;
/// Standard deviations from the median of errors to the ends of their interval: z(0.9).
const TO_AN_END: f64 = 1.281_551_565_544_600_4;
/// Draws of a kind, and of the others for each of them, by which it is told what measuring it is
/// worth.
const MEASURED_IN: usize = 100;
/// Percent of the scenarios that the mean of the worst is taken of.
const WORST_PERCENT: usize = 5;

/// Plans to compare.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// How many are drawn.
    pub scenarios: usize,
    /// What they are drawn from.
    pub seed: u64,
    /// Whether demand differs from what was asked for: not of a run.
    pub demand_varies: bool,
    /// Parts that are bought.
    pub parts: Vec<Part>,
    /// Kinds that err alike.
    pub kinds: Vec<Kind>,
    /// What may be bought.
    pub plans: Vec<Offer>,
}

impl Compared {
    fn demand_spread(&self) -> f64 {
        if self.demand_varies {
            DEMAND_SPREAD
        } else {
            0.0
        }
    }
}

/// A part by kind and id, and whether it is dearer where memory and wafers are.
pub type Part = (String, bool);
/// A kind by name, with what half of its steps are above, a tenth below and a tenth above, measured
/// over predicted: one draw is for all its units.
pub type Kind = (String, f64, f64, f64);

/// One plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// Part and dollars of each line.
    pub lines: Vec<(usize, f64)>,
    /// Kind of each deployment, how many times longer its steps may be, if anything says so, and
    /// what it carries of the demand as predicted, where slower steps carry less.
    pub runs: Vec<(usize, Option<f64>, Option<f64>)>,
    /// The largest demand that there is room for at any speed, where there is one.
    pub most: Option<f64>,
}

/// What a plan comes to in the scenarios.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Risk {
    /// Share in which it is the cheapest that holds.
    pub p_best: f64,
    /// Share in which it holds.
    pub p_holds: f64,
    /// Quantiles of what it costs, with what is bought later.
    pub price_usd_p50: f64,
    /// The same.
    pub price_usd_p80: f64,
    /// The same.
    pub price_usd_p95: f64,
    /// Mean cost of its worst scenarios.
    pub cvar95_usd: f64,
    /// Quantiles of what it costs more than the least of the scenario.
    pub regret_usd_p50: f64,
    /// The same.
    pub regret_usd_p80: f64,
    /// The same.
    pub regret_usd_p95: f64,
}

/// What all come to, with what the scenarios were drawn with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Risks {
    /// Standard deviation of the logarithm of demand.
    pub demand_spread: f64,
    /// Of the factor common to memory and wafers.
    pub common_price_spread: f64,
    /// Of each part's own factor.
    pub own_price_spread: f64,
    /// Price of what is bought later, over today's.
    pub later_price_ratio: f64,
    /// Share in which none holds.
    pub p_none_holds: f64,
    /// Each plan.
    pub plans: Vec<Risk>,
    /// Each kind.
    pub worth: Vec<Worth>,
}

/// What it is worth to measure how fast a kind is before anything is bought, at today's prices and
/// the demand that was asked for: the expected value of perfect information of one factor (Raiffa and
/// Schlaifer, "Applied Statistical Decision Theory", 1961).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worth {
    /// The kind.
    pub kind: String,
    /// Share of its results after which another plan is bought.
    pub changes_choice: f64,
    /// What that saves in the mean: the least expected cost less the mean of the least after each
    /// result.
    pub saves_usd: f64,
    /// The plan of the least expected cost.
    pub chosen: usize,
    /// What is bought most often where it is another; as before where it never is.
    pub instead: usize,
}

/// Compares plans in the same scenarios.
pub fn compare(asked: &Compared) -> Risks {
    let worlds = Worlds::draw(asked);
    let (prices, misses) = worlds.of_plans(&asked.plans);
    let mut costs = prices.clone();
    let mut regrets = prices.clone();
    let mut best = vec![0_usize; asked.plans.len()];
    let mut none = 0;
    for scenario in 0..asked.scenarios {
        let holding = (0..prices.len()).filter(|&plan| misses[plan][scenario] == Miss::Nothing);
        let cheapest = holding
            .min_by(|&one, &other| prices[one][scenario].total_cmp(&prices[other][scenario]));
        match cheapest {
            Some(plan) => best[plan] += 1,
            None => none += 1,
        }
        let instead = cheapest.map(|plan| prices[plan][scenario]);
        for (plan, cost) in costs.iter_mut().enumerate() {
            let price = prices[plan][scenario];
            cost[scenario] = misses[plan][scenario].paid(price, instead);
        }
        let least = costs.iter().map(|cost| cost[scenario]);
        let least = least.fold(f64::INFINITY, f64::min);
        for (regret, cost) in regrets.iter_mut().zip(&costs) {
            regret[scenario] = cost[scenario] - least;
        }
    }
    let share = |number: usize| ratio(number, asked.scenarios);
    let plans = (0..prices.len())
        .map(|plan| {
            let held = misses[plan].iter().filter(|&each| *each == Miss::Nothing);
            let (cost, regret) = (Sorted::of(&costs[plan]), Sorted::of(&regrets[plan]));
            Risk {
                p_best: share(best[plan]),
                p_holds: share(held.count()),
                price_usd_p50: cost.at(50),
                price_usd_p80: cost.at(80),
                price_usd_p95: cost.at(95),
                cvar95_usd: cost.worst(),
                regret_usd_p50: regret.at(50),
                regret_usd_p80: regret.at(80),
                regret_usd_p95: regret.at(95),
            }
        })
        .collect();
    Risks {
        demand_spread: asked.demand_spread(),
        common_price_spread: COMMON_PRICE_SPREAD,
        own_price_spread: OWN_PRICE_SPREAD,
        later_price_ratio: LATER_PRICE_RATIO,
        p_none_holds: share(none),
        plans,
        worth: worth(asked),
    }
}

/// What may be bought now, and how what is missing later is come by: bought, or rented for so much
/// for all of today's demand.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recourse {
    /// Purchases that carry today's demand.
    pub of: Compared,
    /// Dollars; none where what is missing is bought.
    pub rent_usd: Option<f64>,
}

/// What a first stage comes to, with the second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// Mean over the scenarios.
    pub expected_usd: f64,
    /// Mean of the worst.
    pub cvar95_usd: f64,
    /// Share in which something is missing.
    pub p_later: f64,
}

/// Compares what may be bought now in the same scenarios.
pub fn recourse(asked: &Recourse) -> Vec<Stage> {
    let (of, worlds) = (&asked.of, Worlds::draw(&asked.of));
    let (prices, misses) = worlds.of_plans(&of.plans);
    let instead = |scenario: usize| {
        let holding = (0..of.plans.len()).filter(|&plan| misses[plan][scenario] == Miss::Nothing);
        holding.map(|plan| prices[plan][scenario]).reduce(f64::min)
    };
    let cost = |plan: usize, scenario: usize| {
        let (price, miss) = (prices[plan][scenario], misses[plan][scenario]);
        match (miss, asked.rent_usd) {
            (Miss::More(times), Some(rent)) => {
                rent.mul_add(worlds.demand[scenario] * times / (1.0 + times), price)
            }
            _ => miss.paid(price, instead(scenario)),
        }
    };
    let stage = |plan: usize| {
        let costs: Vec<f64> = (0..of.scenarios).map(|one| cost(plan, one)).collect();
        let missing = misses[plan].iter().filter(|miss| **miss != Miss::Nothing);
        Stage {
            expected_usd: costs.iter().sum::<f64>() * ratio(1, of.scenarios),
            cvar95_usd: Sorted::of(&costs).worst(),
            p_later: ratio(missing.count(), of.scenarios),
        }
    };
    (0..of.plans.len()).map(stage).collect()
}

/// What measuring each kind is worth.
fn worth(asked: &Compared) -> Vec<Worth> {
    let draws = Compared {
        scenarios: MEASURED_IN,
        demand_varies: false,
        ..asked.clone()
    };
    let worlds = Worlds::draw(&draws);
    (0..asked.kinds.len())
        .map(|kind| worth_of(&draws, &worlds, kind))
        .collect()
}

fn worth_of(asked: &Compared, worlds: &Worlds, kind: usize) -> Worth {
    let plans = 0..asked.plans.len();
    // By result, the mean over how fast the others are.
    let after: Vec<Vec<f64>> = (0..MEASURED_IN)
        .map(|result| {
            let mut sums = vec![0.0; asked.plans.len()];
            for other in 0..MEASURED_IN {
                let slower = |of: usize| {
                    let world = if of == kind { result } else { other };
                    worlds.kinds[of][world]
                };
                for (sum, cost) in sums.iter_mut().zip(costs(&asked.plans, &slower)) {
                    *sum += cost;
                }
            }
            sums.iter().map(|sum| sum * ratio(1, MEASURED_IN)).collect()
        })
        .collect();
    let mean =
        |figures: &mut dyn Iterator<Item = f64>| figures.sum::<f64>() * ratio(1, MEASURED_IN);
    let before: Vec<f64> = plans
        .map(|plan| mean(&mut after.iter().map(|costs| costs[plan])))
        .collect();
    let chosen = least(&before);
    let bought: Vec<usize> = after.iter().map(|costs| least(costs)).collect();
    let paid = mean(&mut after.iter().zip(&bought).map(|(costs, &plan)| costs[plan]));
    let others = || bought.iter().filter(|&&plan| plan != chosen);
    let times = |plan: usize| others().filter(|&&other| other == plan).count();
    Worth {
        kind: asked.kinds[kind].0.clone(),
        changes_choice: ratio(others().count(), MEASURED_IN),
        saves_usd: before[chosen] - paid,
        chosen,
        instead: (0..asked.plans.len())
            .rev()
            .filter(|&plan| times(plan) > 0)
            .max_by_key(|&plan| times(plan))
            .unwrap_or(chosen),
    }
}

/// The first plan of the least cost.
fn least(costs: &[f64]) -> usize {
    let by_cost = |one: &usize, other: &usize| costs[*one].total_cmp(&costs[*other]);
    (0..costs.len()).min_by(by_cost).unwrap_or(0)
}

/// What plans come to at today's prices and the demand that was asked for, where each kind is so
/// much slower.
fn costs(plans: &[Offer], slower: &impl Fn(usize) -> f64) -> Vec<f64> {
    let prices = || plans.iter().map(Offer::price);
    let misses: Vec<Miss> = plans.iter().map(|plan| plan.miss(1.0, slower)).collect();
    let holding = prices()
        .zip(&misses)
        .filter(|(_, miss)| **miss == Miss::Nothing);
    let instead = holding.map(|(price, _)| price).reduce(f64::min);
    prices()
        .zip(&misses)
        .map(|(price, miss)| miss.paid(price, instead))
        .collect()
}

impl Offer {
    /// What it costs today.
    fn price(&self) -> f64 {
        self.lines.iter().map(|(_, usd)| usd).sum()
    }

    /// What it lacks at so many times the demand, where each kind is so much slower.
    fn miss(&self, demand: f64, slower: &impl Fn(usize) -> f64) -> Miss {
        let mut runs = self.runs.iter();
        if runs.any(|&(kind, room, _)| room.is_some_and(|room| slower(kind) > room)) {
            return Miss::Speed;
        }
        let carried = self.runs.iter();
        let carried = carried.filter_map(|&(kind, _, all)| Some(all? / slower(kind)));
        let most = carried.reduce(|sum, each| sum + each);
        let most = most.unwrap_or(f64::INFINITY);
        let most = most.min(self.most.unwrap_or(f64::INFINITY));
        if demand > most {
            Miss::More(demand / most - 1.0)
        } else {
            Miss::Nothing
        }
    }
}

/// What a plan lacks in a scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Miss {
    Nothing,
    /// So many times itself would carry the rest.
    More(f64),
    /// It is too slow, however many there are.
    Speed,
}

impl Miss {
    /// What is bought beside it at today's prices: the rest of itself, or the cheapest that holds
    /// instead; as much again where that is not known to help.
    fn bought(self, price: f64, instead: Option<f64>) -> f64 {
        match self {
            Self::Nothing => 0.0,
            Self::More(times) => instead.unwrap_or(f64::INFINITY).min(times * price),
            Self::Speed => instead.unwrap_or(price),
        }
    }

    /// What a plan comes to at a price, with what is bought later.
    fn paid(self, price: f64, instead: Option<f64>) -> f64 {
        price + LATER_PRICE_RATIO * self.bought(price, instead)
    }
}

/// Factors by scenario.
struct Worlds {
    demand: Vec<f64>,
    parts: Vec<Vec<f64>>,
    kinds: Vec<Vec<f64>>,
}

impl Worlds {
    fn draw(asked: &Compared) -> Self {
        let normals = |name: &str| normals(asked.seed, name, asked.scenarios);
        let spread = asked.demand_spread();
        // Of mean 1.
        let demand = |normal: f64| spread.mul_add(normal, -spread * spread / 2.0).exp();
        let common = normals("memory and wafers");
        let price = |(name, is_common): &Part| {
            let exposed = if *is_common { COMMON_PRICE_SPREAD } else { 0.0 };
            let own = normals(name);
            let both = common.iter().zip(&own);
            both.map(|(common, own)| (exposed * common + OWN_PRICE_SPREAD * own).exp())
                .collect()
        };
        let slower = |(name, median, low, high): &Kind| {
            let longer = |normal: f64| {
                let end = if normal > 0.0 { high } else { low };
                median * (end / median).powf(normal.abs() / TO_AN_END)
            };
            normals(name).into_iter().map(longer).collect()
        };
        Self {
            demand: normals("demand").into_iter().map(demand).collect(),
            parts: asked.parts.iter().map(price).collect(),
            kinds: asked.kinds.iter().map(slower).collect(),
        }
    }

    /// What each plan costs, and what it lacks, by scenario.
    fn of_plans(&self, plans: &[Offer]) -> (Vec<Vec<f64>>, Vec<Vec<Miss>>) {
        let scenarios = || self.demand.iter().enumerate();
        let of_plan = |plan: &Offer| {
            let price = |(scenario, _)| {
                let lines = plan.lines.iter();
                lines
                    .map(|&(part, usd)| usd * self.parts[part][scenario])
                    .sum()
            };
            let miss = |(scenario, demand): (usize, &f64)| {
                plan.miss(*demand, &|kind| self.kinds[kind][scenario])
            };
            (
                scenarios().map(price).collect(),
                scenarios().map(miss).collect(),
            )
        };
        plans.iter().map(of_plan).unzip()
    }
}

/// Figures of all scenarios, from the least.
struct Sorted(Vec<f64>);

impl Sorted {
    fn of(figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        Self(sorted)
    }

    /// The least that so many percent do not exceed.
    fn at(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0.get(rank.max(1) - 1).copied().unwrap_or(0.0)
    }

    /// Mean of the worst (Rockafellar and Uryasev, "Optimization of conditional value-at-risk",
    /// 2000, of whole scenarios).
    fn worst(&self) -> f64 {
        let number = (self.0.len() * WORST_PERCENT).div_ceil(100);
        let tail = &self.0[self.0.len() - number..];
        tail.iter().sum::<f64>() * ratio(1, number)
    }
}

/// Standard normal draws of a factor, one a scenario: splitmix64 (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", 2014) from the seed and the FNV-1a of the name, two
/// outputs a draw (Box and Muller, 1958).
fn normals(seed: u64, name: &str, scenarios: usize) -> Vec<f64> {
    let hash = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    let mut state = seed ^ name.bytes().fold(0xCBF2_9CE4_8422_2325, hash);
    let mut uniform = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        above_zero(mixed ^ (mixed >> 31))
    };
    (0..scenarios)
        .map(|_| (-2.0 * uniform().ln()).sqrt() * (TAU * uniform()).cos())
        .collect()
}

/// Up to 1.
#[expect(
    clippy::cast_precision_loss,
    reason = "53 bits are what a double holds"
)]
fn above_zero(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

#[expect(clippy::cast_precision_loss, reason = "few scenarios")]
fn ratio(number: usize, of: usize) -> f64 {
    number as f64 / of.max(1) as f64
}

#[cfg(test)]
#[path = "../../tests/unit/scenarios.rs"]
mod tests;
