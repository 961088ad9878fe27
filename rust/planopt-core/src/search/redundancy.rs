//! What fails together, and what is left when it does.
//!
//! A unit falls into parts of which each fails as a whole: by devices into its replicas (a replica of
//! many devices is lost with any of them), by hosts into what each host holds, by switches and racks
//! not at all. Whoever asks for racks is told to put no two units into one.
//!
//! With `l` what a part carries and `p` the parts of a unit, after the worst `N` failures
//!
//! ```text
//! left = sum of p l - (sum of the N largest l) = max over m >= 0 of (sum of p min(l, m)) - N m
//! ```
//!
//! The proof is in `planopt.procurement.model`. What nothing of fails counts whole at any `m`.
//!
//! Where one failure may take no more than a share `r` of what is asked, `D`, no part is given more
//! than that to carry: `sum of p min(l, r D)` must carry it.

use serde::{Deserialize, Serialize};

use super::rows::Rows;
use crate::bill::Unit;
use crate::quantity::Exact;

/// What fails as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// An accelerator.
    Device,
    /// A host with everything in it.
    Host,
    /// A switch of the network between the hosts of replicas.
    Switch,
    /// A rack with everything in it.
    Rack,
}

/// How many of each, whichever they are, may fail with all that is asked still given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Redundancy {
    /// Accelerators.
    #[serde(skip_serializing_if = "is_zero")]
    pub device: u64,
    /// Hosts.
    #[serde(skip_serializing_if = "is_zero")]
    pub host: u64,
    /// Switches.
    #[serde(skip_serializing_if = "is_zero")]
    pub switch: u64,
    /// Racks.
    #[serde(skip_serializing_if = "is_zero")]
    pub rack: u64,
    /// Share of what is asked that one of them may take, where that is bounded: of hosts, where
    /// nothing else is named.
    #[serde(skip_serializing_if = "is_unbounded")]
    pub loss: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_unbounded(loss: &f64) -> bool {
    *loss <= 0.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(losses: &u64) -> bool {
    *losses == 0
}

/// What is left of a purchase after the worst of a kind of failure.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Outlasted {
    /// What fails.
    pub domain: Domain,
    /// How many of them.
    pub losses: u64,
    /// The fewest replicas that are left.
    pub replicas_left: u64,
}

/// What of a unit stands together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) replicas: u32,
    pub(crate) hosts: u32,
    pub(crate) is_switched: bool,
}

impl From<&Unit<'_>> for Standing {
    fn from(unit: &Unit) -> Self {
        Self {
            replicas: unit.replicas,
            hosts: unit.hosts(),
            is_switched: unit.switch.is_some(),
        }
    }
}

impl Rows {
    pub(crate) fn standing(&self, row: usize) -> Standing {
        let system = self.system(row);
        Standing {
            replicas: self.columns.replicas[row],
            hosts: system.hosts,
            is_switched: system.switch.is_some(),
        }
    }
}

impl Standing {
    /// Parts of a unit that fail one at a time; none where nothing of it does.
    ///
    /// A host holds all replicas of its unit, or is one of those of a replica.
    pub(crate) fn parts(self, domain: Domain) -> Option<u32> {
        match domain {
            Domain::Device => Some(self.replicas),
            Domain::Host => Some(self.replicas.min(self.hosts)),
            Domain::Switch => self.is_switched.then_some(1),
            Domain::Rack => Some(1),
        }
    }

    /// The same of everything that may fail: the more parts, the less is lost; infinitely many where
    /// nothing is.
    pub(crate) fn in_parts(self, redundancy: Redundancy) -> [f64; 4] {
        let mut parts = [f64::INFINITY; 4];
        for (domain, _) in redundancy.failures() {
            parts[domain as usize] = self.parts(domain).map_or(f64::INFINITY, f64::from);
        }
        parts
    }

    /// The same of whatever takes the largest part.
    pub(crate) fn fewest_parts(self, redundancy: Redundancy) -> f64 {
        let parts = self.in_parts(redundancy);
        parts.into_iter().fold(f64::INFINITY, f64::min)
    }
}

impl Redundancy {
    /// What may fail, and how many.
    fn asked(self) -> [(Domain, u64); 4] {
        [
            (Domain::Device, self.device),
            (Domain::Host, self.host),
            (Domain::Switch, self.switch),
            (Domain::Rack, self.rack),
        ]
    }

    /// The same less what another one implies: what a device takes with it its host takes too, and
    /// what anything takes its rack takes.
    pub(crate) fn failures(self) -> impl Iterator<Item = (Domain, u64)> {
        let asked = self.asked().into_iter();
        let is_bounded = self.loss > 0.0 && self.asked().iter().all(|(_, losses)| *losses == 0);
        asked.filter(move |(domain, losses)| {
            let implied = match domain {
                Domain::Device => self.host.max(self.rack),
                Domain::Host | Domain::Switch => self.rack,
                Domain::Rack => 0,
            };
            *losses > implied || is_bounded && *domain == Domain::Host
        })
    }

    /// The fewest parts of which each takes no more than its share.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "shares of a thousandth or more"
    )]
    fn fewest(self) -> u64 {
        if self.loss > 0.0 {
            (1.0 / self.loss - ROUNDING).ceil() as u64
        } else {
            0
        }
    }

    /// Whether anything may fail.
    pub(crate) fn is_some(self) -> bool {
        self != Self::default()
    }

    /// Copies of a unit that carry a demand alone: `ceil(demand / l) + N` parts, or as many as share
    /// the losses. `carrying` says how
    /// many of so many parts of a unit make up the demand; none if that is beyond any count.
    pub(crate) fn copies(
        self,
        standing: Standing,
        carrying: impl Fn(u32) -> Option<u64>,
    ) -> Option<u64> {
        self.failures()
            .try_fold(carrying(1)?, |most, (domain, losses)| {
                let Some(parts) = standing.parts(domain) else {
                    return Some(most);
                };
                let parts = parts.max(1);
                let needed = carrying(parts)?.checked_add(losses)?.max(self.fewest());
                Some(most.max(needed.div_ceil(parts.into())))
            })
    }

    /// What is left of a purchase after the worst of these failures, with no part given more of the
    /// demand than it may take away: `of_part` says what one of so many parts of a unit carries.
    pub(crate) fn left<U>(
        self,
        demand: &Exact,
        bought: &[(U, u64)],
        standing: impl Fn(&U) -> Standing,
        of_part: impl Fn(&U, u32) -> Exact,
    ) -> Exact {
        let after = |failing| left_after(failing, bought, &standing, &of_part);
        let is_shared = self.loss > 0.0 && demand.is_positive();
        let most = is_shared.then(|| demand * &Exact::of(self.loss));
        let spread = |domain| {
            let most = most.as_ref()?;
            let carried = bought.iter().map(|(unit, count)| {
                let parts = standing(unit).parts(domain);
                let each = of_part(unit, parts.unwrap_or(1).max(1));
                let each = match parts {
                    Some(_) => each.min(most.clone()),
                    None => each,
                };
                times(&each, u128::from(parts.unwrap_or(1)) * u128::from(*count))
            });
            Some(carried.fold(Exact::default(), |all, each| &all + &each))
        };
        let worst = self.failures().flat_map(|failing| {
            [Some(after(Some(failing))), spread(failing.0)]
                .into_iter()
                .flatten()
        });
        worst.min().unwrap_or_else(|| after(None))
    }

    /// What is left of a purchase of rows after each of these failures.
    pub(crate) fn outlasted(self, rows: &Rows, counts: &[(u32, u64)]) -> Vec<Outlasted> {
        let standing = |row: &u32| rows.standing(*row as usize);
        let of_part =
            |row: &u32, parts| Exact::from(u64::from(rows.columns.replicas[*row as usize] / parts));
        let asked = self.asked().into_iter().filter(|(_, losses)| *losses > 0);
        let outlasted = asked.map(|(domain, losses)| {
            let left = left_after(Some((domain, losses)), counts, &standing, &of_part);
            Outlasted {
                domain,
                losses,
                replicas_left: left.times_at_most(&Exact::ten_to(0)).unwrap_or(0),
            }
        });
        outlasted.collect()
    }
}

/// Of the quotient of two shares.
const ROUNDING: f64 = 1e-9;

/// What is left after the worst of a kind of failure, of as many as are given.
fn left_after<U>(
    failing: Option<(Domain, u64)>,
    bought: &[(U, u64)],
    standing: &impl Fn(&U) -> Standing,
    of_part: &impl Fn(&U, u32) -> Exact,
) -> Exact {
    let mut all = Exact::default();
    let mut may_fail = Vec::new();
    for (unit, count) in bought {
        let parts = failing.and_then(|(domain, _)| standing(unit).parts(domain));
        let each = of_part(unit, parts.unwrap_or(1).max(1));
        let many = u128::from(parts.unwrap_or(1)) * u128::from(*count);
        all = &all + &times(&each, many);
        if parts.is_some() {
            may_fail.push((each, many));
        }
    }
    may_fail.sort_by(|(one, _), (other, _)| other.cmp(one));
    let mut to_lose = failing.map_or(0, |(_, losses)| u128::from(losses));
    may_fail.iter().fold(all, |left, (each, many)| {
        let lost = to_lose.min(*many);
        to_lose -= lost;
        &left - &times(each, lost)
    })
}

fn times(each: &Exact, many: u128) -> Exact {
    each * &Exact::from(i128::try_from(many).unwrap_or(i128::MAX))
}
