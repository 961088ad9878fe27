//! Chains of machines that come and go: how many are whole, and for how much of that they answer.

use super::churn::{Churn, binomial};
use crate::quantity::{Seconds, real};
use crate::serving::engine::Random;
use serde::Serialize;

/// Chains alike, and who waits to take a place in one.
#[derive(Clone, Debug)]
pub struct Swarm {
    /// Of each kind: machines in all, and those of a chain.
    pub kinds: Vec<(u32, u32)>,
    /// Chains, where enough machines are there.
    pub chains: u32,
    /// How they come and go.
    pub churn: Churn,
    /// What the loss of each stage costs.
    pub recoveries: Vec<Recovery>,
    /// Tokens that a user has when an answer begins, and those of an answer.
    pub tokens: (f64, f64),
}

/// What a chain waits for when it has lost a stage and another machine takes its place.
#[derive(Clone, Copy, Debug)]
pub struct Recovery {
    /// Its kind.
    pub kind: usize,
    /// Until it is noticed, and the layers are read from a disk.
    pub takeover: Seconds,
    /// Until what users have cached is computed again, in the mean.
    pub replay: Seconds,
}

/// Shares of the time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Uptime {
    /// In which a chain is whole.
    pub availability: f64,
    /// Chains that are whole, in the mean, as a share of all.
    pub running: f64,
    /// Of the time of a whole chain, that in which it answers.
    pub serving: f64,
}

impl Swarm {
    /// Chances that at least 1, 2 ... chains are whole: of each kind, those that are there are
    /// binomial, and whoever is over takes the place of one that left.
    pub fn at_least(&self) -> Vec<f64> {
        let presence = self.churn.presence();
        let there: Vec<Vec<f64>> = (self.kinds.iter())
            .map(|(machines, _)| binomial(*machines, presence))
            .collect();
        let enough = |chains: u32| {
            let kinds = self.kinds.iter().zip(&there);
            let chances = kinds.map(|((_, each), there)| {
                let missing = there.iter().take((chains * each) as usize).sum::<f64>();
                (1.0 - missing).max(0.0)
            });
            chances.product()
        };
        (1..=self.chains).map(enough).collect()
    }

    /// Shares of the time by formula. A whole chain answers if none of its stages was lost for as
    /// long as it takes to make up for it; losses are a Poisson process of the time that it is whole.
    pub fn uptime(&self) -> Uptime {
        let at_least = self.at_least();
        let waits = |lifetime: Seconds| {
            let each = self.recoveries.iter();
            each.map(|own| (own.takeover + own.replay) / lifetime).sum()
        };
        let lost: f64 = self.churn.lifetime.map_or(0.0, waits);
        Uptime {
            availability: at_least.first().copied().unwrap_or_default(),
            running: at_least.iter().sum::<f64>() / f64::from(self.chains),
            serving: (-lost).exp(),
        }
    }

    /// The same by so many events, at random: machines leave and come back, chains break and are put
    /// together again, and each replays what its users have by then.
    pub fn simulate(&self, seed: u64, events: u32) -> Uptime {
        let (Some(lifetime), away) = (self.churn.lifetime, self.churn.away) else {
            return self.uptime();
        };
        let mut random = Random::new(seed, 0);
        let machines: u32 = self.kinds.iter().map(|(machines, _)| machines).sum();
        let mut there: Vec<u32> = self.kinds.iter().map(|(machines, _)| *machines).collect();
        // What each whole chain still waits for.
        let mut whole: Vec<f64> = vec![0.0; self.chains as usize];
        let (mut time, mut any, mut running, mut serving) = (0.0, 0.0, 0.0, 0.0);
        let pick = |random: &mut Random, weights: &mut dyn Iterator<Item = f64>, sum: f64| {
            let at = random.uniform() * sum;
            let mut before = 0.0;
            weights
                .take_while(|weight| {
                    before += weight;
                    before < at
                })
                .count()
        };
        for _ in 0..events {
            let present: u32 = there.iter().sum();
            let leave = f64::from(present) / lifetime.0;
            let back = f64::from(machines - present) / away.0.max(f64::MIN_POSITIVE);
            let passed = random.exponential() / (leave + back);
            time += passed;
            any += if whole.is_empty() { 0.0 } else { passed };
            for waits in &mut whole {
                running += passed;
                serving += (passed - *waits).max(0.0);
                *waits = (*waits - passed).max(0.0);
            }
            if random.uniform() * (leave + back) <= leave {
                let mut weights = there.iter().map(|own| f64::from(*own));
                let kind = pick(&mut random, &mut weights, f64::from(present));
                let left = f64::from(there[kind]);
                there[kind] -= 1;
                let each = self.kinds[kind].1;
                let active = real(whole.len() as u64) * f64::from(each);
                if random.uniform() * left <= active {
                    self.lose(kind, &there, &mut whole, &mut random);
                }
            } else {
                let gone = self.kinds.iter().zip(&there);
                let mut weights = gone.map(|((all, _), own)| f64::from(all - own));
                let kind = pick(&mut random, &mut weights, f64::from(machines - present));
                there[kind] += 1;
                if whole.len() < self.possible(&there) {
                    // It broke when it lost a stage, which is made up for now.
                    let stages = self.recoveries.iter().filter(|own| own.kind == kind);
                    let stages: Vec<&Recovery> = stages.collect();
                    let lost = self.recovery(&stages, &mut random);
                    whole.push(lost);
                }
            }
        }
        Uptime {
            availability: any / time,
            running: running / time / f64::from(self.chains),
            serving: serving / running,
        }
    }

    /// Chains that those who are there make.
    fn possible(&self, there: &[u32]) -> usize {
        let kinds = self.kinds.iter().zip(there);
        let most = kinds.filter_map(|((_, each), there)| there.checked_div(*each));
        most.fold(self.chains, u32::min) as usize
    }

    /// A chain loses a stage: another machine takes its place, or it is no chain any more.
    fn lose(&self, kind: usize, there: &[u32], whole: &mut Vec<f64>, random: &mut Random) {
        let stages = self.recoveries.iter().filter(|own| own.kind == kind);
        let stages: Vec<&Recovery> = stages.collect();
        let lost = self.recovery(&stages, random);
        let chain = one_of(whole.len(), random);
        if whole.len() > self.possible(there) {
            whole.swap_remove(chain);
        } else {
            whole[chain] = whole[chain].max(lost);
        }
    }

    /// What the loss of one of these stages costs.
    fn recovery(&self, stages: &[&Recovery], random: &mut Random) -> f64 {
        let lost = stages[one_of(stages.len(), random)];
        let (prompt, output) = self.tokens;
        let cached = (prompt + output * random.uniform()) / (prompt + output / 2.0);
        (lost.takeover + lost.replay * cached).0
    }
}

/// One of so many, each as likely.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few"
)]
fn one_of(many: usize, random: &mut Random) -> usize {
    let drawn = (random.uniform() * real(many as u64)).ceil() as usize;
    drawn.clamp(1, many) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swarm(kinds: &[(u32, u32)], chains: u32, lifetime: f64, away: f64, wait: f64) -> Swarm {
        let stages = (0..kinds.len()).flat_map(|kind| (0..kinds[kind].1).map(move |_| kind));
        let recovery = |kind| Recovery {
            kind,
            takeover: Seconds(wait),
            replay: Seconds(wait),
        };
        Swarm {
            kinds: kinds.to_vec(),
            chains,
            churn: Churn {
                lifetime: Some(Seconds(lifetime)),
                away: Seconds(away),
            },
            recoveries: stages.map(recovery).collect(),
            tokens: (500.0, 500.0),
        }
    }

    #[test]
    fn formula_and_simulation_agree_on_200_random_swarms() {
        let mut random = Random::new(29, 0);
        let mut draw = |least: u32, most: u32| {
            least + u32::try_from(one_of((most - least + 1) as usize, &mut random)).expect("few")
        };
        let mut worst: f64 = 0.0;
        for seed in 0..200 {
            let chains = draw(1, 3);
            let kinds: Vec<(u32, u32)> = (0..draw(1, 2))
                .map(|_| {
                    let each = draw(1, 4);
                    (chains * each + draw(0, each + 1), each)
                })
                .collect();
            let stages: u32 = kinds.iter().map(|(_, each)| each).sum();
            let lifetime = f64::from(draw(1, 100)) * 3600.0;
            let away = lifetime * f64::from(draw(2, 25)) / 100.0;
            // Half of the time between losses, at most.
            let wait = lifetime / f64::from(stages) * f64::from(draw(0, 25)) / 100.0;
            let swarm = swarm(&kinds, chains, lifetime, away, wait);
            let (formula, simulated) = (swarm.uptime(), swarm.simulate(seed, 100_000));
            for (one, other) in [
                (formula.availability, simulated.availability),
                (formula.running, simulated.running),
                (
                    formula.running * formula.serving,
                    simulated.running * simulated.serving,
                ),
            ] {
                worst = worst.max((one / other - 1.0).abs());
            }
        }
        assert!(worst < 0.05, "{worst}");
    }

    #[test]
    fn who_stays_is_always_there() {
        let mut still = swarm(&[(9, 4)], 2, 1.0, 1.0, 1.0);
        still.churn.lifetime = None;
        let uptime = still.uptime();
        let share = [uptime.availability, uptime.running, uptime.serving];
        assert!(share.iter().all(|share| (share - 1.0).abs() < 1e-12));
        assert_eq!(
            still.simulate(1, 10).availability.to_bits(),
            uptime.availability.to_bits()
        );
    }

    #[test]
    fn a_chain_of_two_of_three() {
        let uptime = swarm(&[(3, 2)], 1, 3.0, 1.0, 0.0).uptime();
        assert!((uptime.availability - 54.0 / 64.0).abs() < 1e-12);
        // Two chains of one each: one of three in 63/64, two of them in 54/64 of the time.
        let two = swarm(&[(3, 1)], 2, 3.0, 1.0, 0.0).uptime();
        assert!((two.running - (63.0 + 54.0) / 128.0).abs() < 1e-12);
    }
}
