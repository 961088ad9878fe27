//! Catalogs to search: the bundled one, and small made-up ones.

use std::path::Path;
use std::sync::OnceLock;

use planopt_core::catalog::{Accelerator, Catalog, Host, Link, Network, RackLines};
use planopt_core::hardware::Inventory;

use proptest::prelude::*;

use crate::made_up::{accelerators, hosts, links, networks};

/// The bundled catalog under its `article` or its `calibrated` assumptions.
pub(crate) fn bundled(assumptions: &str) -> &'static Catalog {
    static ARTICLE: OnceLock<Catalog> = OnceLock::new();
    static CALIBRATED: OnceLock<Catalog> = OnceLock::new();
    let read = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalogs");
        Catalog::load(&root, &[], assumptions).expect("the bundled catalog is valid")
    };
    match assumptions {
        "article" => ARTICLE.get_or_init(read),
        _ => CALIBRATED.get_or_init(read),
    }
}

/// A made-up catalog of a few parts.
#[derive(Clone, Debug)]
pub(crate) struct Stock {
    pub(crate) accelerators: Vec<Accelerator>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) networks: Vec<Network>,
    pub(crate) links: Vec<Link>,
}

impl Stock {
    pub(crate) fn inventory(&self) -> Inventory<'_> {
        Inventory {
            accelerators: self.accelerators.iter().collect(),
            hosts: self.hosts.iter().collect(),
            networks: self.networks.iter().collect(),
            links: self.links.iter().collect(),
        }
    }

    /// The same parts in another order.
    pub(crate) fn turned(&self, by: usize) -> Self {
        let mut turned = self.clone();
        let turn = |length: usize| by % length.max(1);
        turned
            .accelerators
            .rotate_left(turn(self.accelerators.len()));
        turned.hosts.rotate_left(turn(self.hosts.len()));
        turned.networks.rotate_left(turn(self.networks.len()));
        turned.links.reverse();
        turned
    }

    /// The same parts without what is bought with hosts in racks, of which shares are rounded.
    pub(crate) fn alone(mut self) -> Self {
        for host in &mut self.hosts {
            host.lines = RackLines::default();
        }
        self
    }

    /// The same parts at `k` times their prices.
    pub(crate) fn dearer(&self, k: i64) -> Self {
        let mut dearer = self.clone();
        let prices = dearer
            .accelerators
            .iter_mut()
            .map(|part| &mut part.price)
            .chain(dearer.hosts.iter_mut().map(|part| &mut part.price))
            .chain(dearer.networks.iter_mut().flat_map(|network| {
                network
                    .switches
                    .iter_mut()
                    .map(|switch| &mut switch.price)
                    .chain([&mut network.nic.price])
            }));
        for price in prices.flatten() {
            price.0 *= k;
        }
        for cable in dearer.networks.iter_mut().filter_map(|n| n.cable.as_mut()) {
            cable.price.iter_mut().for_each(|price| price.0 *= k);
        }
        dearer
    }
}

/// Up to two accelerators, three hosts and two networks.
pub(crate) fn stocks() -> impl Strategy<Value = Stock> {
    (
        prop::collection::vec(accelerators(), 1..=2),
        prop::collection::vec(hosts(), 1..=3),
        prop::collection::vec((networks(), links("line")), 0..=2),
        links("slot"),
    )
        .prop_map(|(accelerators, hosts, networks, slot)| {
            let mut stock = Stock {
                accelerators,
                hosts,
                networks: Vec::new(),
                links: vec![slot],
            };
            for (place, accelerator) in stock.accelerators.iter_mut().enumerate() {
                accelerator.id = format!("a{place}");
            }
            for (place, host) in stock.hosts.iter_mut().enumerate() {
                host.id = format!("h{place}");
            }
            for (place, (mut network, mut link)) in networks.into_iter().enumerate() {
                network.id = format!("n{place}");
                network.link = format!("line{place}");
                link.id.clone_from(&network.link);
                stock.networks.push(network);
                stock.links.push(link);
            }
            stock
        })
}
