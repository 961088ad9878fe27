//! What may be bought or rented, at which prices and within which limits: of any question.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::reader::{Reader, unknown_word};
use super::request::{Hardware, Money};
use crate::catalog::{Catalog, Class, Kind, PriceChoice, describe_architecture};
use crate::diagnostic::{Diagnostic, code};
use crate::hardware::{RentRequest, Selection};
use crate::quantity::real;
use crate::request::ModelRequest;
use crate::transformer::Transformer;

/// How hardware is come by.
#[derive(Clone, Debug)]
pub(super) struct Acquisition {
    pub(super) way: String,
    pub(super) rent: RentRequest,
}

/// What may be bought or rented; names are looked up.
pub(super) fn selection(
    reader: &mut Reader,
    catalog: &Catalog,
    hardware: &Hardware,
    accelerators: Vec<String>,
) -> Selection {
    let (offers, hosts): (Vec<&String>, Vec<&String>) =
        hardware.host.iter().partition(|host| host.contains('/'));
    for (kind, argument, names) in [
        (
            Kind::Accelerator,
            "accelerators",
            accelerators.iter().collect(),
        ),
        (
            Kind::Accelerator,
            "exclude",
            hardware.exclude.iter().collect(),
        ),
        (Kind::Accelerator, "stock", hardware.stock.keys().collect()),
        (Kind::Host, "host", hosts),
        (Kind::Offer, "host", offers),
        (
            Kind::Network,
            "network",
            hardware.network.iter().collect::<Vec<_>>(),
        ),
    ] {
        for name in names {
            if let Err(problems) = catalog.describe(kind, name) {
                reader.refuse(argument, problems);
            }
        }
    }
    not_both(reader, &accelerators, &hardware.exclude);
    let mut exclude = hardware.exclude.clone();
    exclude.extend(of_others(reader, catalog, &hardware.vendor, &accelerators));
    Selection {
        accelerators,
        exclude,
        hosts: hardware.host.clone(),
        networks: hardware.network.clone(),
        datacenter: hardware.datacenter,
        within_host: false,
        host_memory_bytes: 0.0,
        own: owned(reader, catalog, &hardware.own),
    }
}

/// What is there already, by id: accelerators, hosts, and machines by what they come with.
fn owned(
    reader: &mut Reader,
    catalog: &Catalog,
    named: &BTreeMap<String, u32>,
) -> BTreeMap<String, u32> {
    let mut own = BTreeMap::new();
    for (name, number) in named {
        match owned_part(catalog, name) {
            Ok(id) => *own.entry(id).or_insert(0) += number,
            Err(problem) => reader.push(problem.field("--own").value(name)),
        }
    }
    own
}

/// The id of an accelerator that goes into hosts, of a host, or of the machine that an accelerator
/// comes in.
fn owned_part(catalog: &Catalog, name: &str) -> Result<String, Diagnostic> {
    if catalog.id_of(Kind::Network.name(), name).is_some() {
        let message = format!("`{name}` joins machines of neighbours, and is no part");
        let problem = Diagnostic::new(code::MALFORMED_OPTION, message);
        let accepted = "`planopt solve` with it behind its machines, in Python \
                        `planopt.serve_neighbours(neighbours=\"8xrtx-3090,wan-100m\")`";
        return Err(problem.accepted(accepted));
    }
    let id = catalog.id_of("parts", name).ok_or_else(|| {
        let known = catalog.accelerators.keys().chain(catalog.hosts.keys());
        Diagnostic::unknown_name("part", name, known.map(String::as_str))
    })?;
    let Some(accelerator) = catalog.accelerators.get(id).map(|entry| &entry.entity) else {
        return Ok(id.to_owned());
    };
    let id = accelerator.model_id();
    let hosts = || catalog.hosts.values().map(|entry| &entry.entity);
    let mut loose = hosts().filter(|host| host.includes.is_none());
    if loose.any(|host| host.form_factors.contains(&accelerator.form_factor)) {
        return Ok(id.to_owned());
    }
    let machines = hosts().filter(|host| host.comes_with(id));
    let machines: Vec<&str> = machines.map(|host| host.id.as_str()).collect();
    if let [machine] = machines.as_slice() {
        return Ok((*machine).to_owned());
    }
    let message = format!("{id} comes in a machine: which of them is there?");
    Err(Diagnostic::new(code::MALFORMED_OPTION, message).accepted(machines.join(", ")))
}

/// What a plan records, with what is not as it was given: terms are of what is rented.
pub(super) fn recorded(
    reader: &Reader,
    acquisition: &Acquisition,
    hardware: &Selection,
) -> Map<String, Value> {
    let mut recorded = reader.recorded();
    let Acquisition { way, rent } = acquisition;
    let terms: &[String] = if way == "buy" { &[] } else { &rent.terms };
    recorded.insert("provider_classes".to_owned(), json!(rent.classes));
    for (name, value) in [
        ("billing", terms),
        ("accelerators", &hardware.accelerators),
        ("exclude", &hardware.exclude),
    ] {
        recorded.insert(name.to_owned(), value.into());
    }
    recorded.insert("own".to_owned(), json!(hardware.own));
    recorded
}

/// The accelerators of other vendors than those that are asked for.
fn of_others(
    reader: &mut Reader,
    catalog: &Catalog,
    vendors: &[String],
    named: &[String],
) -> Vec<String> {
    if vendors.is_empty() {
        return Vec::new();
    }
    let parts = || catalog.accelerators.iter();
    if look_up_vendors(reader, catalog, "vendor", vendors) {
        return Vec::new();
    }
    let others = parts().filter(|(_, entry)| {
        let vendor = &entry.entity.vendor;
        !vendors.iter().any(|name| vendor.eq_ignore_ascii_case(name))
    });
    let others: Vec<String> = others.map(|(id, _)| id.clone()).collect();
    let odd: Vec<&str> = named
        .iter()
        .filter(|name| others.contains(name))
        .map(String::as_str)
        .collect();
    if !odd.is_empty() {
        let message = format!("{} asked for, and other vendors", odd.join(", "));
        let accepted = "accelerators of --vendor, or their vendors as well";
        reader.wrong(code::CONTRADICTION, "vendor", message, accepted);
    }
    others
}

/// Refuses vendors that make no accelerator of the catalog: whether there is one.
fn look_up_vendors<'n>(
    reader: &mut Reader,
    catalog: &Catalog,
    argument: &str,
    names: impl IntoIterator<Item = &'n String>,
) -> bool {
    let known = catalog.vendors();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let is_known = |name: &str| known.iter().any(|vendor| vendor.eq_ignore_ascii_case(name));
    let names = names.into_iter();
    let unknown: Vec<&String> = names.filter(|name| !is_known(name)).collect();
    for name in &unknown {
        reader.push(unknown_word(argument, name, &known));
    }
    !unknown.is_empty()
}

/// Refuses accelerators that are asked for and excluded.
fn not_both(reader: &mut Reader, accelerators: &[String], exclude: &[String]) {
    let both: BTreeSet<&str> = accelerators
        .iter()
        .filter(|name| exclude.contains(name))
        .map(String::as_str)
        .collect();
    if both.is_empty() {
        return;
    }
    let both: Vec<&str> = both.into_iter().collect();
    let message = format!("{} both asked for and excluded", both.join(", "));
    let problem = Diagnostic::new(code::CONTRADICTION, message).field("--exclude");
    let problem = problem.value(both.join(","));
    reader.push(problem.accepted("accelerators that --accelerators does not name"));
}

/// Seconds until parts that are ordered stand, by their ids.
pub(super) fn delivered(
    reader: &mut Reader,
    catalog: &Catalog,
    named: &BTreeMap<String, f64>,
) -> BTreeMap<String, f64> {
    let mut waits = BTreeMap::new();
    for (name, seconds) in named {
        let kinds = ["parts", Kind::Network.name()];
        if let Some(id) = kinds.iter().find_map(|kind| catalog.id_of(kind, name)) {
            waits.insert(id.to_owned(), *seconds);
            continue;
        }
        let (cards, hosts) = (catalog.accelerators.keys(), catalog.hosts.keys());
        let known = cards.chain(hosts).chain(catalog.networks.keys());
        let known = known.map(String::as_str);
        reader.push(Diagnostic::unknown_name("part", name, known).field("--delivery"));
    }
    waits
}

/// Scenarios compare purchases by what they cost: refuses them for what is rented, and where
/// something else is best.
pub(super) fn look_at_scenarios(reader: &mut Reader, acquisition: &Acquisition, objective: &str) {
    if !reader.is_given("scenarios") && !reader.is_edited() {
        reader.out_of_place(
            &["recourse"],
            "is about scenarios, and none are drawn",
            "--scenarios 200 beside it",
        );
    }
    let is_cheapest = objective == "cheapest" && acquisition.way == "buy";
    if reader.is_given("scenarios") && !is_cheapest && !reader.is_edited() {
        reader.wrong(
            code::CONTRADICTION,
            "scenarios",
            "scenarios compare purchases that keep promises by their price",
            "--procurement buy and --objective cheapest (of `train`: --deadline)",
        );
    }
}

/// Refuses prices of what there is not, and discounts of vendors that there are not.
pub(super) fn look_up_prices(reader: &mut Reader, catalog: &Catalog, money: &Money) {
    for (id, usd) in &money.price {
        let choice = PriceChoice {
            id: id.clone(),
            usd: *usd,
            terms: None,
        };
        if let Err(problems) = catalog.sells(&choice) {
            reader.refuse("prices", problems);
        }
    }
    look_up_vendors(reader, catalog, "discount", money.discount.keys());
}

impl Acquisition {
    fn buying() -> Self {
        Self {
            way: "buy".to_owned(),
            rent: RentRequest {
                terms: vec!["on-demand".to_owned()],
                ..RentRequest::default()
            },
        }
    }

    /// How to come by hardware, and where from; what is asked about renting is out of place where
    /// everything is bought.
    pub(super) fn of(
        reader: &mut Reader,
        catalog: &Catalog,
        money: &Money,
        hosts: &[String],
    ) -> Self {
        let way = money.acquire.as_deref().unwrap_or("buy");
        if way == "buy" {
            reader.out_of_place(
                &[
                    "billing",
                    "provider",
                    "provider_class",
                    "region",
                    "regained",
                    "price_drift",
                ],
                "is about renting, and this question buys",
                "--procurement rent or --procurement both beside it",
            );
            return Self::buying();
        }
        let terms = match money.terms.as_slice() {
            [] => Self::buying().rent.terms,
            terms => terms.to_vec(),
        };
        let acquisition = Self {
            way: way.to_owned(),
            rent: RentRequest {
                terms,
                providers: money.provider.clone(),
                regions: money.region.clone(),
                classes: classes(reader, catalog, money, hosts),
            },
        };
        acquisition.look_up(reader, catalog);
        acquisition
    }

    /// Refuses providers and regions that no offer has.
    fn look_up(&self, reader: &mut Reader, catalog: &Catalog) {
        let offers = match catalog.list(Kind::Offer) {
            Ok(offers) => offers,
            Err(problems) => return problems.into_iter().for_each(|each| reader.push(each)),
        };
        let ids = || offers.iter().map(|offer| offer.id.as_str());
        let providers: BTreeSet<&str> = ids().filter_map(|id| id.split('/').next()).collect();
        let regions: BTreeSet<&str> = ids().filter_map(|id| id.rsplit('/').next()).collect();
        for (argument, named, known) in [
            ("provider", &self.rent.providers, providers),
            ("region", &self.rent.regions, regions),
        ] {
            let known: Vec<&str> = known.into_iter().collect();
            for name in named {
                if !known.contains(&name.as_str()) {
                    reader.push(unknown_word(argument, name, &known));
                }
            }
        }
    }
}

/// Classes of offers that are asked for; where that is not said, those of providers and offers
/// that are named as well.
fn classes(reader: &Reader, catalog: &Catalog, money: &Money, hosts: &[String]) -> Vec<Class> {
    let words = &money.provider_class;
    let mut named = Vec::new();
    if !reader.is_given("provider_class")
        && let Ok(providers) = catalog.providers()
    {
        for provider in providers.values().map(|entry| &entry.entity) {
            if money.provider.contains(&provider.id) {
                named.push(provider.class);
            }
            let offers = provider.offers.iter();
            let asked = offers.filter(|offer| hosts.contains(&offer.id(&provider.id)));
            named.extend(asked.map(|offer| provider.class_of(offer)));
        }
    }
    let is_asked = |word: &str| words.iter().any(|asked| asked == "any" || asked == word);
    let all = Class::ALL.into_iter();
    all.filter(|(word, class)| is_asked(word) || named.contains(class))
        .map(|(_, class)| class)
        .collect()
}

/// The model, said to be assumed where it is the usual one, or of a type that is not known.
pub(super) fn model(reader: &mut Reader, catalog: &Catalog, name: &str) {
    if !reader.is_given("model") {
        reader.assume("model", name, None);
    }
    let read = catalog.model_file(name).map(|_| catalog.architecture(name));
    let Some(Ok(read)) = read else { return };
    if let Some(unknown) = &read.unknown_type {
        reader.assume(
            "architecture",
            format!("plain layers, by the fields of the unknown type {unknown}"),
            Some("another type may compute otherwise with the same fields"),
        );
    }
    let parameters = real(Transformer::from(&read).parameters());
    let counted = parameters * read.weights.bytes_per_element();
    let is_other = |stored: &f64| (stored / counted - 1.0).abs() > COUNTED_ALIKE;
    if let Some(stored) = read.stored_bytes.map(real).filter(is_other) {
        let (counted, stored) = (counted / 1e9, stored / 1e9);
        let value = format!("{counted:.2} GB, and {stored:.2} GB are stored");
        let why = "what is stored beside the operations is not loaded; else say --weights";
        reader.assume("weights", value, Some(why));
    }
}

/// Share by which bytes of a checkpoint may differ from those of its format: some of its matrices
/// have more bits.
const COUNTED_ALIKE: f64 = 0.03;

/// Refuses a model that the catalog does not have; files speak for themselves.
pub(super) fn look_up_model(reader: &mut Reader, catalog: &Catalog, model: &str) {
    if catalog.model_file(model).is_none()
        && let Err(problems) = ModelRequest::named(model).transformer(catalog)
    {
        reader.refuse("model", problems);
    }
}

/// The model itself, where it is a file: any other can be looked up again.
pub(super) fn architecture(
    catalog: &Catalog,
    model: &str,
) -> Result<Option<Value>, Vec<Diagnostic>> {
    let file = catalog.model_file(model);
    let described = file.map(|_| describe_architecture(catalog, model));
    described.transpose()
}
