//! What a solver is offered of the rows: those that a best purchase may have.

use serde::Serialize;

use super::alone::{Alone, Objective};
use super::limits::{Limits, Number, possible};
use super::redundancy::Domain;
use super::rows::Rows;
use crate::quantity::{Exact, SIGNIFICANT_DIGITS};

/// Rows that a best purchase may have, by name, with what a programme needs of them.
#[derive(Clone, Debug, Serialize)]
pub struct Offer {
    /// What is best.
    pub objective: Objective,
    /// What must be supplied.
    pub demand: Demanded,
    /// The rows.
    pub rows: Vec<u32>,
    /// Place of each in the order of names, from 1, among all that can be paid: ties are broken by
    /// it, whatever is left out.
    pub places: Vec<u64>,
    /// Most copies of each that a best purchase has.
    pub uppers: Vec<u64>,
    /// Upper limits, with what each row needs.
    pub needs: Vec<OfferedNeed>,
    /// What may fail with the demand still met.
    pub failures: Vec<OfferedFailure>,
    /// Price of each.
    pub price_micro_usd: Vec<i64>,
    /// Running cost of each.
    pub usd_per_hour: Vec<f64>,
    /// Draw of each.
    pub power_watts: Vec<f64>,
    /// Users of each.
    pub users: Vec<u64>,
    /// Tokens of each.
    pub tokens_per_second: Vec<f64>,
    /// Speed of each user.
    pub tokens_per_second_per_user: Vec<f64>,
    /// The best purchase of one of them.
    pub alone: Option<Alone>,
    /// An accelerator of which nothing limits the number, though most throughput is sought.
    pub unlimited: Option<String>,
}

/// What a purchase must supply.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Demanded {
    /// Users served at the same time.
    pub users: u64,
    /// Total throughput; 0 for none.
    pub tokens_per_second: f64,
}

/// What may fail, with the parts of each row that then fail one at a time.
#[derive(Clone, Debug, Serialize)]
pub struct OfferedFailure {
    /// What fails.
    pub domain: Domain,
    /// How many of them.
    pub losses: u64,
    /// Share of what is demanded that one of them may take; 0 where that is not bounded.
    pub share: f64,
    /// Parts of each; 0 where nothing of it fails.
    pub parts: Vec<u32>,
    /// Users of a part of each.
    pub part_users: Vec<u64>,
    /// Tokens of a part of each.
    pub part_tokens: Vec<f64>,
}

/// An upper limit, with what each row needs of it.
#[derive(Clone, Debug, Serialize)]
pub struct OfferedNeed {
    /// Its name.
    pub group: String,
    /// The limit.
    pub limit: Exact,
    /// What each row needs.
    pub each: Vec<Number>,
}

impl Rows {
    /// What a solver is offered: of all rows those that nothing replaces, or `only` some, whatever
    /// does.
    pub fn offer(&self, limits: &Limits, objective: Objective, only: Option<&[usize]>) -> Offer {
        let needs = limits.needs(self);
        let most = self.most_paid(limits, objective);
        let price = &self.columns.price_micro_usd;
        let payable = self.by_name(|row| most.is_none_or(|most| i128::from(price[row]) <= most));
        let mut places = vec![0; self.len()];
        for (place, row) in (1..).zip(&payable) {
            places[*row] = place;
        }
        let within: Vec<usize> = payable
            .into_iter()
            .filter(|row| possible(&needs, *row) != Some(0))
            .collect();
        let kept = match only {
            Some(rows) => rows.to_vec(),
            None => noticeable(self, self.undominated(&within, limits.redundancy), limits),
        };
        let column = |figures: &[f64]| kept.iter().map(|row| figures[*row]).collect();
        let columns = &self.columns;
        let mut offer = Offer {
            objective,
            demand: Demanded {
                users: limits.users,
                tokens_per_second: limits.tokens_per_second,
            },
            rows: kept
                .iter()
                .map(|row| u32::try_from(*row).unwrap_or(u32::MAX))
                .collect(),
            places: kept.iter().map(|row| places[*row]).collect(),
            needs: needs
                .iter()
                .map(|need| OfferedNeed {
                    group: need.group.clone(),
                    limit: need.limit.clone(),
                    each: kept.iter().map(|row| need.of(*row)).collect(),
                })
                .collect(),
            failures: self.failures(&kept, limits),
            price_micro_usd: kept.iter().map(|row| price[*row]).collect(),
            usd_per_hour: column(&columns.usd_per_hour),
            power_watts: column(&columns.power_watts),
            users: kept.iter().map(|row| columns.users[*row]).collect(),
            tokens_per_second: column(&columns.tokens_per_second),
            tokens_per_second_per_user: column(&columns.tokens_per_second_per_user),
            uppers: Vec::new(),
            alone: None,
            unlimited: None,
        };
        // Unless throughput itself is sought, a best purchase needs no more copies of a row than
        // meet the demands alone, n. Leaving out those beyond n keeps every limit and demand and
        // costs no more. Nor is anything lost for $/Mtok: if the row's own is no better than the
        // purchase's, leaving copies out does not worsen it; and if it were better, n copies alone
        // would be possible, and better than the purchase.
        for row in &kept {
            let possible = possible(&needs, *row);
            let upper = match objective {
                Objective::Throughput => possible,
                _ => possible.into_iter().chain(limits.enough(self, *row)).min(),
            };
            let Some(upper) = upper else {
                offer.unlimited = Some(self.system(*row).accelerator.clone());
                return offer;
            };
            offer.uppers.push(upper);
        }
        let is_kept: std::collections::BTreeSet<usize> = kept.into_iter().collect();
        offer.alone = self.best_alone(|row| is_kept.contains(&row), limits, objective);
        offer
    }

    fn failures(&self, kept: &[usize], limits: &Limits) -> Vec<OfferedFailure> {
        let failures = limits.redundancy.failures().map(|(domain, losses)| {
            let parts = |row: &usize| self.standing(*row).parts(domain).unwrap_or(0);
            let of_part = |row: &usize| (*row, parts(row).max(1));
            OfferedFailure {
                domain,
                losses,
                share: limits.redundancy.loss,
                parts: kept.iter().map(parts).collect(),
                part_users: kept
                    .iter()
                    .map(of_part)
                    .map(|(row, parts)| self.columns.part_users(row, parts))
                    .collect(),
                part_tokens: kept
                    .iter()
                    .map(of_part)
                    .map(|(row, parts)| self.columns.part_tokens(row, parts))
                    .collect(),
            }
        });
        failures.collect()
    }

    /// What a row may cost, if anything bounds it: the budget, or the price of a purchase that is
    /// known. Not one row of a purchase costs more than the whole.
    fn most_paid(&self, limits: &Limits, objective: Objective) -> Option<i128> {
        if objective != Objective::Cheapest {
            return limits.budget_micro_usd;
        }
        let known = self.best_build(limits)?;
        let price = i128::from(self.columns.price_micro_usd[known.row as usize]);
        Some(price * i128::from(known.count))
    }

    /// The cheapest purchase of one of the builds that the search names.
    pub fn best_build(&self, limits: &Limits) -> Option<Alone> {
        let builds = &self.columns.is_build;
        self.best_alone(|row| builds[row], limits, Objective::Cheapest)
    }
}

/// Leaves out rows whose throughput is lost among the digits that count.
///
/// Overlapping what is asked for, or what the best of them supplies, it is no more than the noise that
/// [`Exact::of`] takes off. As many copies as would make up for that are beyond what any solver
/// counts to.
fn noticeable(rows: &Rows, kept: Vec<usize>, limits: &Limits) -> Vec<usize> {
    let supply = |row: usize| Exact::of(rows.columns.tokens_per_second[row]);
    let asked = Exact::of(limits.tokens_per_second);
    let most = kept.iter().map(|row| supply(*row)).fold(asked, Exact::max);
    let digits = i32::try_from(SIGNIFICANT_DIGITS).unwrap_or(i32::MAX);
    let counted = Exact::ten_to(digits);
    kept.into_iter()
        .filter(|row| &supply(*row) * &counted > most)
        .collect()
}
