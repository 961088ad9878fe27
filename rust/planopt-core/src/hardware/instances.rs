//! Offers as the search sees them: a rented instance is a host that comes with its accelerators,
//! has a price per hour, and is connected over a network of its own.

use super::available::{Selection, listed};
use super::inventory::Inventory;
use super::named::unknown_host;
use crate::catalog::RackLines;
use crate::catalog::{
    Accelerator, Catalog, Class, Entry, Host, Included, Link, LinkKind, Network, Nic, Offer,
    Provider, Rent, Terms,
};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::option::unknown_name;
use crate::quantity::{MicroUsd, Watts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What may be rented.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RentRequest {
    /// `on-demand`, `spot`, `reserved`.
    pub terms: Vec<String>,
    /// Provider ids; empty for all.
    #[serde(default)]
    pub providers: Vec<String>,
    /// Regions, in the providers' words; empty for all.
    #[serde(default)]
    pub regions: Vec<String>,
    /// Who answers for a machine; empty for whoever does.
    #[serde(default)]
    pub classes: Vec<Class>,
}

impl RentRequest {
    /// Whether an offer is among those that are asked for, whatever its terms.
    fn takes(&self, provider: &Provider, offer: &Offer) -> bool {
        listed(&self.providers, &provider.id)
            && listed(&self.regions, &offer.region)
            && listed(&self.classes, &provider.class_of(offer))
    }
}

/// Rented instances with the networks between those of one kind.
#[derive(Clone, Debug, Default)]
pub struct Instances {
    hosts: Vec<Host>,
    networks: Vec<Network>,
    links: Vec<Link>,
}

/// Terms that a question may ask for.
const TERMS: [&str; 3] = ["on-demand", "spot", "reserved"];

impl Instances {
    /// Every instance that a question may rent, of one that stands in several regions only the
    /// cheapest: nothing else is different. Where the question names `hosts`, all regions.
    ///
    /// # Errors
    ///
    /// Problems of the files of offers, and names that they do not have.
    pub fn rented(
        catalog: &Catalog,
        request: &RentRequest,
        hosts: &[String],
    ) -> Result<Self, Vec<Diagnostic>> {
        let providers = catalog.providers()?;
        let mut problems = Vec::new();
        for name in &request.terms {
            if !TERMS.contains(&name.as_str()) {
                problems.push(unknown_name("terms", name, TERMS.join(", ")));
            }
        }
        for name in &request.providers {
            if !providers.contains_key(name) {
                let known = providers.keys().map(String::as_str);
                problems
                    .push(Diagnostic::unknown_name("provider", name, known).field("--provider"));
            }
        }
        let offered = |region: &String| {
            let here = |provider: &Entry<Provider>| {
                let mut offers = provider.entity.offers.iter();
                offers.any(|offer| offer.region == *region)
            };
            providers.values().any(here)
        };
        for region in request.regions.iter().filter(|region| !offered(region)) {
            let accepted = "regions as `planopt catalog list offers` names them";
            problems.push(unknown_name("region", region, accepted));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let years = catalog.assumptions.entity.cost.years;
        let mut instances = Self::default();
        for Entry {
            entity: provider, ..
        } in providers.values()
        {
            for terms in terms_of(provider, &request.terms, years) {
                let mut offers: Vec<&Offer> = provider.offers.iter().collect();
                offers.retain(|offer| request.takes(provider, offer));
                if hosts.is_empty() {
                    offers = cheapest_regions(provider, &offers, terms);
                }
                for offer in offers {
                    instances.push(catalog, provider, offer, terms);
                }
            }
        }
        Ok(instances)
    }

    /// The instance of one offer, whose id is `provider/instance/region`.
    ///
    /// # Errors
    ///
    /// E001 with the nearest ids, problems of the files of offers, or terms that it is not
    /// offered on.
    pub fn of_offer(catalog: &Catalog, id: &str, terms: Terms) -> Result<Self, Vec<Diagnostic>> {
        let mut instances = Self::default();
        let offers = catalog.providers()?.values().flat_map(|provider| {
            let offers = provider.entity.offers.iter();
            offers.map(|offer| (&provider.entity, offer))
        });
        let mut known = Vec::new();
        for (provider, offer) in offers {
            known.push(offer.id(&provider.id));
            if known.last().is_some_and(|last| last == id) {
                instances.push(catalog, provider, offer, terms);
                if instances.hosts.is_empty() {
                    let accepted = "terms that the offer has a price for";
                    return Err(vec![unknown_name("terms", &terms.name(), accepted)]);
                }
                return Ok(instances);
            }
        }
        let known = known.iter().map(String::as_str);
        Err(vec![Diagnostic::unknown_name("offer", id, known)])
    }

    /// The instance of that id, if it is among these.
    pub(crate) fn host(&self, id: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.id == id)
    }

    /// Ids of these that are not among `others`, of accelerators that a question allows.
    pub(crate) fn beyond(&self, others: &Self, selection: &Selection) -> Vec<String> {
        let is_named = |host: &Host| {
            let included = host.includes.as_ref();
            included.is_some_and(|own| selection.names_any(&[&own.accelerator]))
        };
        let hosts = self.hosts.iter();
        let beyond = hosts.filter(|host| is_named(host) && others.host(&host.id).is_none());
        beyond.map(|host| host.id.clone()).collect()
    }

    /// The network between instances of that id, if they have one.
    pub(crate) fn network(&self, id: &str) -> Option<&Network> {
        self.networks.iter().find(|network| network.id == id)
    }

    /// These instances as all there is to be had.
    pub(crate) fn inventory<'s>(&'s self, catalog: &'s Catalog) -> Inventory<'s> {
        let mut inventory = Inventory::of(catalog);
        inventory.hosts = self.hosts.iter().collect();
        inventory.networks = self.networks.iter().collect();
        inventory.links.extend(&self.links);
        inventory
    }

    fn push(&mut self, catalog: &Catalog, provider: &Provider, offer: &Offer, terms: Terms) {
        let Some((price, rent)) = rent(provider, offer, terms) else {
            return;
        };
        let Ok(accelerator) = catalog.accelerator(&offer.accelerator) else {
            return;
        };
        let host = instance(catalog, accelerator, provider, offer, price, rent);
        if let Some(rate) = offer.network
            && self.network(&host.id).is_none()
        {
            self.links.push(Link {
                id: host.id.clone(),
                name: host.name.clone(),
                kind: LinkKind::Ethernet,
                bandwidth: Some(rate),
                latency: None,
                downlink: None,
                loss: 0.0,
            });
            self.networks.push(Network {
                id: host.id.clone(),
                name: host.name.clone(),
                link: host.id.clone(),
                rdma: offer.rdma,
                nics_per_host: vec![1],
                nic: Nic {
                    id: host.id.clone(),
                    name: host.name.clone(),
                    power: Watts::ZERO,
                    pcie_generation: None,
                    price: Some(MicroUsd::ZERO),
                },
                switches: Vec::new(),
                oversubscription: 1,
                cable: None,
                uplink: None,
            });
        }
        self.hosts.push(host);
    }
}

/// The terms that words ask for. Of commitments within the horizon the one that saves most.
fn terms_of(provider: &Provider, words: &[String], years: f64) -> Vec<Terms> {
    const MONTHS_PER_YEAR: f64 = 12.0;
    let within = |months: u32| f64::from(months) <= years * MONTHS_PER_YEAR;
    let committed = provider.reserved.iter().filter(|term| within(term.months));
    let best = committed.max_by(|one, other| one.discount.total_cmp(&other.discount));
    let term = |word: &String| match word.as_str() {
        "on-demand" => Some(Terms::OnDemand),
        "spot" => Some(Terms::Spot),
        _ => best.map(|term| Terms::Reserved {
            months: term.months,
        }),
    };
    words.iter().filter_map(term).collect()
}

/// Of offers of one instance in several regions the cheapest on these terms.
fn cheapest_regions<'o>(provider: &Provider, offers: &[&'o Offer], terms: Terms) -> Vec<&'o Offer> {
    let mut cheapest: BTreeMap<_, (MicroUsd, &'o Offer)> = BTreeMap::new();
    for &offer in offers {
        let Some((price, _)) = rent(provider, offer, terms) else {
            continue;
        };
        let network = offer.network.map(|rate| rate.0.to_bits());
        let alike = (
            &offer.instance,
            &offer.accelerator,
            offer.count,
            network,
            offer.rdma,
        );
        let known = cheapest.entry(alike).or_insert((price, offer));
        if price < known.0 {
            *known = (price, offer);
        }
    }
    cheapest.into_values().map(|(_, offer)| offer).collect()
}

/// Price of an hour on some terms, and what they mean; none where they are not offered.
fn rent(provider: &Provider, offer: &Offer, terms: Terms) -> Option<(MicroUsd, Rent)> {
    let (price, goodput) = match terms {
        Terms::OnDemand => (offer.price?, 1.0),
        Terms::Spot => (offer.spot?, provider.spot?.goodput()),
        Terms::Reserved { months } => {
            let mut reserved = provider.reserved.iter();
            let term = reserved.find(|term| term.months == months)?;
            let usd = offer.price?.usd() * (1.0 - term.discount);
            (MicroUsd::from_usd(usd), 1.0)
        }
    };
    Some((price, Rent { terms, goodput }))
}

/// An offer as a host: inside like the smallest host of the catalog that holds as many.
fn instance(
    catalog: &Catalog,
    accelerator: &Accelerator,
    provider: &Provider,
    offer: &Offer,
    price: MicroUsd,
    rent: Rent,
) -> Host {
    let alike = alike(catalog, accelerator, offer.count)
        .map_or_else(|| unknown_host(accelerator, offer.count), Clone::clone);
    Host {
        id: offer.id(&provider.id),
        name: format!(
            "{} {} ({}x {}), {}, {}",
            provider.name,
            offer.instance,
            offer.count,
            accelerator.name,
            offer.region,
            rent.terms.name()
        ),
        slots: offer.count,
        card_slots: None,
        power_supply: None,
        whole: true,
        on_request: false,
        nics: 1,
        power: Watts::ZERO,
        rack_units: 0.0,
        lines: RackLines::default(),
        price: Some(price),
        on_sale: None,
        includes: Some(Included {
            accelerator: accelerator.id.clone(),
            count: offer.count,
        }),
        included_nics: None,
        rent: Some(rent),
        ..alike
    }
}

/// The host of the catalog that an offer is like inside; none where none is, or no such offer.
pub fn host_inside<'c>(catalog: &'c Catalog, offer: &str) -> Option<&'c Host> {
    let providers = catalog.providers().ok()?.values();
    let mut offers = providers.flat_map(|own| {
        let id = &own.entity.id;
        own.entity
            .offers
            .iter()
            .map(move |each| (each.id(id), each))
    });
    let (_, found) = offers.find(|(id, _)| id == offer)?;
    let accelerator = catalog.accelerator(&found.accelerator).ok()?;
    alike(catalog, accelerator, found.count)
}

/// The smallest host of the catalog that holds so many.
fn alike<'c>(catalog: &'c Catalog, accelerator: &Accelerator, count: u32) -> Option<&'c Host> {
    let hosts = catalog.hosts.values().map(|entry| &entry.entity);
    hosts
        .filter(|host| host.fits(accelerator) && !host.on_request && host.slots >= count)
        .min_by_key(|host| (host.includes.is_some(), host.slots, &host.id))
}
