//! Catalogs: what can be bought or evaluated, and the assumptions it is judged with. The files
//! are described in `docs/reference/catalogs.md`.

mod accelerator;
mod architecture;
mod assumption;
mod assumptions;
mod changes;
mod condition;
mod declared;
mod entry;
mod fields;
mod folders;
mod host;
mod kind;
mod link;
mod load;
mod model;
mod names;
mod network;
mod offer;
mod offers;
mod part;
mod prices;
mod pricing;
mod read;
mod residuals;
mod tables;
mod value;
mod view;
mod workload;

pub(crate) use self::accelerator::LIMITED_TO;
pub use self::accelerator::{Accelerator, Peak, PeerToPeer, Profile, ScaleUp, Slot};
pub use self::architecture::describe_architecture;
pub use self::assumptions::{
    AllReduceAlgorithm, Assumptions, CacheDisks, CommunicationAssumptions, ComputeAssumptions,
    CostAssumptions, EngineAssumptions, EngineKernels, EngineShares, ExpertAssumptions,
    ExpertKernel, FrameworkAssumptions, HardwareAssumptions, HardwareChanges, HopPayload,
    HostCache, HostTerms, IslandAssumptions, KernelRates, KvConnector, MemoryAssumptions,
    OwnKernels, Policy, ProductAssumptions, Products, RackLines, RequestOverhead,
    ScaleUpAssumptions, Scheduling, Spares, StepDefaults, StepLimits, SwitchSale,
    TrainingAssumptions,
};
pub use self::changes::{CostChoice, PriceChoice};
pub use self::condition::{Condition, Offered};
pub(crate) use self::declared::{Table, maybe, table};
pub use self::entry::{Entry, Figure, Source, Status, Tag};
pub(crate) use self::fields::Fields;
pub use self::host::{
    BusBandwidth, Connecting, DEFAULT_CLASS, Host, Included, IncludedNics, PEER_CLASS, Stores,
};
pub use self::kind::Kind;
pub use self::link::{Link, LinkKind};
pub use self::network::{Cable, Network, Nic, Switch};
pub use self::offer::{Class, Offer, Provider, Rent, Reserved, Spot, Terms};
pub use self::part::PartKind;
pub use self::prices::{PriceTag, SoldAs};
pub use self::pricing::Pricing;
#[cfg(target_family = "wasm")]
pub use self::read::hold;
pub(crate) use self::read::read_file;
pub use self::read::read_json;
pub use self::residuals::{Residual, Residuals};
pub use self::view::{Description, FigureView, Listed};
pub use self::workload::{SessionsOfWorkload, Workload};

use crate::diagnostic::Diagnostic;
use crate::format::Format;
use crate::quantity::MicroUsd;
use crate::transformer::Architecture;
use std::collections::BTreeMap;

/// Everything that one question is asked about: the entities that a set of assumptions may see,
/// and the assumptions.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Accelerators by id.
    pub accelerators: BTreeMap<String, Entry<Accelerator>>,
    /// Hosts by id.
    pub hosts: BTreeMap<String, Entry<Host>>,
    /// Links by id.
    pub links: BTreeMap<String, Entry<Link>>,
    /// Networks by id.
    pub networks: BTreeMap<String, Entry<Network>>,
    /// Workloads by id.
    pub workloads: BTreeMap<String, Entry<Workload>>,
    /// Models by id.
    pub models: BTreeMap<String, Entry<Architecture>>,
    /// The assumptions in use.
    pub assumptions: Entry<Assumptions>,
    /// How far predictions were from what was measured.
    pub residuals: Residuals,
    /// What a dollar comes to with tax.
    gross: f64,
    /// Providers by id, read when they are first asked for.
    offers: offers::Offers,
}

macro_rules! lookups {
    ($($name:ident: $kind:ident in $map:ident -> $entity:ty;)*) => { $(
        #[doc = concat!("The ", stringify!($name), " with that id.")]
        ///
        /// # Errors
        ///
        /// E001 with the nearest ids, if there is none.
        pub fn $name(&self, id: &str) -> Result<&$entity, Diagnostic> {
            lookup(&self.$map, Kind::$kind, id).map(|entry| &entry.entity)
        }
    )* };
}

impl Catalog {
    /// What can be rented: providers by id. They are read when they are first asked for, because
    /// most questions are about buying.
    pub fn providers(&self) -> Result<&BTreeMap<String, Entry<Provider>>, Vec<Diagnostic>> {
        self.offers.read(&self.accelerators)
    }

    /// Sets the price of an hour of an offer on some terms.
    ///
    /// # Errors
    ///
    /// Every problem of the files of offers.
    pub(crate) fn set_rent(
        &mut self,
        id: &str,
        terms: Terms,
        price: MicroUsd,
    ) -> Result<(), Vec<Diagnostic>> {
        let mut providers = self.providers()?.clone();
        for entry in providers.values_mut() {
            if let Some((place, field)) = entry.entity.set_price(id, terms, price) {
                entry.say(&format!("offer[{place}].{field}"), price);
            }
        }
        self.offers.put(providers);
        Ok(())
    }

    /// The id of what is called so, of the entities of a folder, of formats, or of the parts that
    /// have a price.
    pub(crate) fn id_of(&self, folder: &str, name: &str) -> Option<&str> {
        if folder == "formats" {
            return Format::from_name(name).map(Format::name);
        }
        if folder == "parts" {
            let accelerator = || id_of(&self.accelerators, name);
            return accelerator().or_else(|| id_of(&self.hosts, name));
        }
        match Kind::from_name(folder).ok()? {
            Kind::Accelerator => id_of(&self.accelerators, name),
            Kind::Host => id_of(&self.hosts, name),
            Kind::Link => id_of(&self.links, name),
            Kind::Network => id_of(&self.networks, name),
            Kind::Model => id_of(&self.models, name),
            Kind::Workload => id_of(&self.workloads, name),
            Kind::Offer | Kind::Assumptions => None,
        }
    }

    lookups! {
        accelerator: Accelerator in accelerators -> Accelerator;
        host: Host in hosts -> Host;
        link: Link in links -> Link;
        network: Network in networks -> Network;
        workload: Workload in workloads -> Workload;
        model: Model in models -> Architecture;
    }
}

fn lookup<'a, T>(
    entries: &'a BTreeMap<String, Entry<T>>,
    kind: Kind,
    id: &str,
) -> Result<&'a Entry<T>, Diagnostic> {
    found(entries, kind, id).map(|(_, entry)| entry)
}

fn id_of<'a, T>(entries: &'a BTreeMap<String, Entry<T>>, name: &str) -> Option<&'a str> {
    names::called(entries, name).map(|(id, _)| id)
}

fn found<'a, T>(
    entries: &'a BTreeMap<String, Entry<T>>,
    kind: Kind,
    name: &str,
) -> Result<(&'a str, &'a Entry<T>), Diagnostic> {
    names::called(entries, name).ok_or_else(|| {
        let short = name.rsplit('/').next().unwrap_or(name);
        let valid = entries.keys().map(String::as_str);
        let problem = Diagnostic::unknown_name(kind.name(), short, valid).value(name);
        let is_model = kind == Kind::Model;
        match is_model.then(|| names::quantised(entries, short)).flatten() {
            Some((id, format)) => problem.help(format!(
                "it is `{id}` in {format}: say `--model {id} --weights {format}`"
            )),
            None => problem,
        }
    })
}

#[cfg(test)]
#[path = "../../tests/unit/catalog.rs"]
mod tests;
