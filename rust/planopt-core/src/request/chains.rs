//! Chains of unlike machines: what they would cost, and one of them as an engine.

use super::machines::{Homes, Kind, Machines, assumed, at_one_place, sites};
use super::neighbours::with_machines;
use super::serving::ServedRequest;
use crate::bill::{Cluster, HostSet};
use crate::catalog::Catalog;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::option::wrong_option;
use crate::hardware::takes_together;
use crate::load::EngineOptions;
use crate::parallel::Rejection;
use crate::quantity::MicroUsd;
use crate::search::{Chained, Cut};
use crate::serving::engine::EngineLimits;
use serde::{Deserialize, Serialize};

/// Chains of machines that are not alike, in place of a configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainRequest {
    /// Machines of each kind.
    machines: Vec<Machines>,
    /// Of which kind each stage is, and how many layers it holds.
    stages: Vec<(usize, usize)>,
    /// How many such chains there are.
    pub chains: u32,
}

/// Asks about chains as engines, if they can be that.
pub(super) fn with_chain<T>(
    catalog: &Catalog,
    (served, options): (&ServedRequest, &EngineOptions),
    chain: &ChainRequest,
    ask: impl FnOnce(&Chained<'_>, EngineLimits) -> T,
) -> Result<Result<T, Rejection>, Vec<Diagnostic>> {
    let (assumptions, question) = (&served.assumptions, &served.question);
    let wrong = || {
        let accepted = "stages of these machines that hold each layer of the model once";
        let said = format!("{:?}", chain.stages);
        vec![wrong_option("chain", &said, accepted.to_owned())]
    };
    let cut = Cut::of(&served.transformer, &chain.stages).ok_or_else(wrong)?;
    let homes = Homes::new(assumed(catalog)?, false, None, None, true);
    with_machines(
        catalog,
        served,
        &chain.machines,
        homes,
        |(_, neighbours)| {
            let steps = Chained::new(&cut, neighbours, question, assumptions);
            let steps = steps.ok_or_else(wrong)?;
            let limits = steps.limits(options, assumptions);
            let limits = limits.ok_or_else(wrong)?;
            if limits.kv_tokens < u64::from(limits.page_tokens) {
                // Not even a page of a cache fits beside the weights.
                return Ok(Err(steps.too_full()));
            }
            Ok(Ok(ask(&steps, limits)))
        },
    )
}

/// Cards of which chains of two kinds could be bought.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceChains {
    /// What chains are made of.
    pub chains: Stocked,
}

/// Cards, as many as there are, and what may join them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stocked {
    /// Ids with their numbers.
    cards: Vec<(String, u32)>,
    /// Networks between machines of a card each; every one where none is named.
    #[serde(default)]
    networks: Vec<String>,
    /// What none may cost.
    #[serde(default)]
    below_usd: Option<f64>,
}

/// Machines of two kinds over a network, or cards in one host, and what all of it costs.
#[derive(Clone, Debug, Serialize)]
pub struct PricedChain {
    /// Machines of each kind.
    pub machines: Vec<Machines>,
    /// Of all of them.
    pub price_usd: f64,
}

/// Prices every mixture of two kinds of card over every network and in every host that takes them,
/// the cheapest first.
///
/// # Errors
///
/// Cards that are not known.
pub fn price_chains(
    catalog: &Catalog,
    request: &PriceChains,
) -> Result<Vec<PricedChain>, Vec<Diagnostic>> {
    let asked = &request.chains;
    let named = |id: &&String| asked.networks.is_empty() || asked.networks.contains(id);
    let networks = catalog.networks.keys().filter(named).map(|id| (id, false));
    let hosts = catalog.hosts.values().map(|entry| &entry.entity);
    let hosts = hosts.filter(|host| host.slots > 1 && host.price.is_some() && !host.on_request);
    let mut priced = Vec::new();
    for (place, in_one_host) in networks.chain(hosts.map(|host| (&host.id, true))) {
        let machine = |(id, machines): &(String, u32)| Machines {
            machines: *machines,
            accelerators: 1,
            id: id.clone(),
            network: place.clone(),
            in_one_host,
        };
        let machines: Vec<Machines> = asked.cards.iter().map(machine).collect();
        if at_one_place(catalog, &machines) {
            priced.extend(joined_by(catalog, &machines, asked.below_usd)?);
        }
    }
    priced.sort_by(|one, other| one.price_usd.total_cmp(&other.price_usd));
    Ok(priced)
}

/// The same of one network or host: of kinds that it joins.
fn joined_by(
    catalog: &Catalog,
    machines: &[Machines],
    below_usd: Option<f64>,
) -> Result<Vec<PricedChain>, Vec<Diagnostic>> {
    let assumptions = &catalog.assumptions.entity;
    let homes = Homes::new(assumed(catalog)?, false, None, None, true);
    let sites = sites(catalog, machines)?;
    // A card that no such host takes, or none with such a NIC, is in no chain there.
    let kinds: Vec<Kind> = (sites.iter())
        .filter_map(|site| Kind::of(catalog, site, homes).ok())
        .filter(|kind| {
            let connection = kind.system.network.as_ref();
            connection.is_none_or(|network| kind.system.takes(network))
        })
        .collect();
    let price = |parts: [(&Kind, u32); 2]| {
        let sets = parts.iter();
        let sets = sets.map(|(kind, many)| HostSet::of(&kind.system, *many, 0));
        let sets = sets.collect();
        if !parts[0].0.named.in_one_host {
            return Cluster::of(sets)?.price();
        }
        let cards = parts.map(|(kind, many)| (kind.system.accelerator, many));
        let together = takes_together(parts[0].0.system.host, &cards, assumptions);
        Cluster::of_one_host(sets).filter(|_| together)?.price()
    };
    let mut priced = Vec::new();
    for (place, one) in kinds.iter().enumerate() {
        for other in &kinds[place + 1..] {
            for many in 1..=one.named.machines {
                for few in 1..=other.named.machines {
                    let parts = [(one, many), (other, few)];
                    let Some(price_usd) = price(parts).map(MicroUsd::usd) else {
                        continue;
                    };
                    if below_usd.is_none_or(|most| price_usd < most) {
                        let so_many = |(kind, machines): (&Kind, u32)| Machines {
                            machines,
                            ..kind.named.clone()
                        };
                        let machines = parts.map(so_many).to_vec();
                        priced.push(PricedChain {
                            machines,
                            price_usd,
                        });
                    }
                }
            }
        }
    }
    Ok(priced)
}
