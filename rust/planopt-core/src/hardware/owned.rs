//! What is there already: it costs nothing to buy, and is counted as any other part otherwise.

use crate::catalog::{Accelerator, Host};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Accelerators that are there already of one unit, at most: what a replica takes at most.
const MOST_ACCELERATORS: u32 = 64;

/// Hosts that are there already of one unit, at most.
const MOST_HOSTS: u32 = 8;

/// Accelerators and hosts of a purchase that its buyer has.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(deny_unknown_fields)]
pub struct Owned {
    /// Accelerators, of those that do not come with the hosts.
    pub accelerators: u32,
    /// Hosts, with the accelerators that come with them.
    pub hosts: u32,
}

impl Owned {
    /// What of an accelerator in a host is among what there is, by id. Nobody owns what is rented.
    pub(crate) fn of(
        there: &BTreeMap<String, u32>,
        accelerator: &Accelerator,
        host: &Host,
    ) -> Self {
        let number = |id: &str| there.get(id).copied().unwrap_or(0);
        match (&host.rent, &host.includes) {
            (Some(_), _) => Self::default(),
            (None, Some(_)) => Self {
                accelerators: 0,
                hosts: number(&host.id),
            },
            (None, None) => Self {
                accelerators: number(accelerator.model_id()),
                hosts: number(&host.id),
            },
        }
    }

    /// Whether it is nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// As much of it as so many accelerators and hosts take.
    #[must_use]
    pub fn within(self, accelerators: u32, hosts: u32) -> Self {
        Self {
            accelerators: self.accelerators.min(accelerators),
            hosts: self.hosts.min(hosts),
        }
    }

    /// Whether so many copies of it are no more than another.
    pub(crate) fn times_within(self, copies: u32, other: Self) -> bool {
        let fits = |each: u32, there: u32| u64::from(each) * u64::from(copies) <= u64::from(there);
        fits(self.accelerators, other.accelerators) && fits(self.hosts, other.hosts)
    }

    /// Every part of it that a unit may take, the smallest first.
    pub(crate) fn parts(self) -> impl Iterator<Item = Self> {
        let Self {
            accelerators,
            hosts,
        } = self.within(MOST_ACCELERATORS, MOST_HOSTS);
        (0..=hosts).flat_map(move |hosts| {
            (0..=accelerators).map(move |accelerators| Self {
                accelerators,
                hosts,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Owned;

    #[test]
    fn every_part_of_what_is_owned_is_tried_once() {
        let owned = |accelerators, hosts| Owned {
            accelerators,
            hosts,
        };
        let parts: Vec<Owned> = owned(2, 1).parts().collect();
        let expected = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)];
        assert_eq!(parts, expected.map(|(cards, hosts)| owned(cards, hosts)));
        assert_eq!(owned(0, 0).parts().collect::<Vec<_>>(), [owned(0, 0)]);
    }

    #[test]
    fn copies_take_no_more_than_there_is() {
        let one = Owned {
            accelerators: 1,
            hosts: 0,
        };
        let two = Owned {
            accelerators: 2,
            hosts: 0,
        };
        assert!(one.times_within(2, two));
        assert!(!one.times_within(2, one));
    }
}
