//! `offers/PROVIDER.toml`: what a provider rents out.

use super::declared::{choice, inner, list, maybe, or, table};
use super::entry::Entry;
use super::fields::{Fields, part};
use super::network::TRANSPORTS;
use crate::diagnostic::{Diagnostic, code};
use crate::quantity::{Bytes, BytesPerSecond, MicroUsd, Seconds};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Who answers for a machine that is rented out.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// A general cloud with data centers of its own around the world.
    Hyperscaler,
    /// A provider of accelerators, under its own name.
    Cloud,
    /// Whoever owns the machine, found on a market.
    Marketplace,
}

impl Class {
    /// Every class, by the word for it.
    pub const ALL: [(&'static str, Self); 3] = [
        ("hyperscaler", Self::Hyperscaler),
        ("cloud", Self::Cloud),
        ("marketplace", Self::Marketplace),
    ];
}

table! {
    /// A provider with the instances that it rents out.
    #[derive(Clone, Debug)]
    pub struct Provider {
        /// Catalog id.
        pub id: String = Fields::id,
        /// Full name.
        pub name: String = Fields::text,
        /// Who answers for its machines, where an offer does not say otherwise.
        pub class: Class = or(Class::Cloud, choice(&Class::ALL)),
        /// How long a spot instance lasts; none where the provider has no spot market.
        pub spot: Option<Spot> = maybe(inner),
        /// What a commitment saves, by its months.
        pub reserved: Vec<Reserved> = list,
        /// The instances.
        pub offers: Vec<Offer> as "offer" = list,
    }
}

table! {
    /// How long instances last that the provider may take back.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Spot {
        /// Time from one interruption of an instance to the next, on average.
        pub interrupted_every: Seconds = Fields::positive,
        /// Time until a replacement serves again.
        pub restart: Seconds = Fields::quantity,
    }
}

impl Spot {
    /// Share of the time that an instance is there and at work.
    pub fn goodput(&self) -> f64 {
        self.interrupted_every.0 / (self.interrupted_every.0 + self.restart.0)
    }
}

table! {
    /// A price for those who commit themselves.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Reserved {
        /// How long they do.
        pub months: u32 = Fields::positive,
        /// Share of the price on demand that they do not pay.
        pub discount: f64 = part,
    }
}

/// On which terms an instance is rented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// As long as it is needed.
    OnDemand,
    /// As long as nobody pays more.
    Spot,
    /// For so many months, used or not.
    Reserved {
        /// Months of the commitment.
        months: u32,
    },
}

impl Terms {
    /// The name used in plans: `on-demand`, `spot` or `reserved-12`.
    pub fn name(self) -> String {
        match self {
            Self::OnDemand => "on-demand".to_owned(),
            Self::Spot => "spot".to_owned(),
            Self::Reserved { months } => format!("reserved-{months}"),
        }
    }

    /// The terms of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "on-demand" => Some(Self::OnDemand),
            "spot" => Some(Self::Spot),
            _ => {
                let months = name.strip_prefix("reserved-")?.parse().ok()?;
                Some(Self::Reserved { months })
            }
        }
    }
}

/// What makes a host a rented instance: its price is then that of an hour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rent {
    /// On which terms.
    pub terms: Terms,
    /// Share of the time that it is there and at work.
    pub goodput: f64,
}

impl Rent {
    /// Share of all hours that are paid, where `on_demand` is that of what goes back when it is idle:
    /// what is reserved always is.
    pub fn paid(&self, on_demand: f64) -> f64 {
        match self.terms {
            Terms::OnDemand | Terms::Spot => on_demand,
            Terms::Reserved { .. } => 1.0,
        }
    }
}

table! {
    /// An instance that is rented by the hour, with all its accelerators.
    #[derive(Clone, Debug)]
    pub struct Offer {
        /// Name of the instance, as the provider calls it.
        pub instance: String = Fields::text,
        /// Accelerator id.
        pub accelerator: String = Fields::text,
        /// Accelerators of an instance.
        pub count: u32 = Fields::positive,
        /// Where it stands, in the provider's words.
        pub region: String = Fields::text,
        /// Who answers for it, if not who does for the provider's others.
        pub class: Option<Class> = maybe(choice(&Class::ALL)),
        /// Virtual processors.
        pub vcpus: Option<u32> = maybe(Fields::positive),
        /// Memory of the host.
        pub memory: Option<Bytes> = maybe(Fields::positive),
        /// Line rate to other instances.
        pub network: Option<BytesPerSecond> = maybe(Fields::positive),
        /// Whether messages pass the kernel by (InfiniBand, RoCE, EFA).
        pub rdma: bool as "transport" = or(false, choice(TRANSPORTS)),
        /// Price of an hour on demand.
        pub price: Option<MicroUsd> = maybe(Fields::price_per_hour),
        /// Price of an hour as long as nobody pays more.
        pub spot: Option<MicroUsd> = maybe(Fields::price_per_hour),
    }
}

impl Offer {
    /// Name that no other offer has: provider, instance and region.
    pub fn id(&self, provider: &str) -> String {
        format!("{provider}/{}/{}", self.instance, self.region)
    }
}

impl Provider {
    /// Who answers for one of its machines.
    pub fn class_of(&self, offer: &Offer) -> Class {
        offer.class.unwrap_or(self.class)
    }

    /// Ids of what is offered on some terms.
    pub(super) fn on(&self, terms: Terms) -> impl Iterator<Item = String> {
        let offered = move |offer: &&Offer| match terms {
            Terms::Spot => offer.spot.is_some(),
            Terms::OnDemand | Terms::Reserved { .. } => offer.price.is_some(),
        };
        let offers = self.offers.iter().filter(offered);
        offers.map(|offer| offer.id(&self.id))
    }

    /// Sets the price of an hour of the offer of that id, if it is one of these terms: where the
    /// offer stands, and the key of the price that was set.
    pub(super) fn set_price(
        &mut self,
        id: &str,
        terms: Terms,
        price: MicroUsd,
    ) -> Option<(usize, &'static str)> {
        let discount = |months: u32| {
            let mut reserved = self.reserved.iter();
            reserved
                .find(|term| term.months == months)
                .map_or(0.0, |term| term.discount)
        };
        let on_demand = match terms {
            Terms::Reserved { months } => {
                MicroUsd::from_usd(price.usd() / (1.0 - discount(months)))
            }
            Terms::OnDemand | Terms::Spot => price,
        };
        let provider = &self.id;
        let place = self
            .offers
            .iter()
            .position(|each| each.id(provider) == id)?;
        let offer = &mut self.offers[place];
        if terms == Terms::Spot {
            offer.spot = Some(offer.spot.map(|_| price)?);
            Some((place, "spot"))
        } else {
            offer.price = Some(offer.price.map(|_| on_demand)?);
            Some((place, "price"))
        }
    }
}

/// What is wrong with a provider whose fields are each right.
pub(super) fn problems(
    provider: &Entry<Provider>,
    is_accelerator: impl Fn(&str) -> bool,
) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for (place, offer) in provider.entity.offers.iter().enumerate() {
        let field = |key: &str| format!("offer[{place}].{key}");
        if !is_accelerator(&offer.accelerator) {
            let message = format!("no accelerator is called `{}`", offer.accelerator);
            problems.push(
                provider
                    .problem(code::UNKNOWN_REFERENCE, &field("accelerator"), message)
                    .help("`planopt catalog list accelerators` lists them"),
            );
        }
        if offer.price.is_none() && offer.spot.is_none() {
            let message = format!("`{}` has no price", offer.instance);
            problems.push(
                provider
                    .problem(code::MISSING_KEY, &field("instance"), message)
                    .accepted("`price`, `spot` or both, such as \"$2.50/h\""),
            );
        }
        if offer.spot.is_some() && provider.entity.spot.is_none() {
            let message = "a spot price, but nothing says how long spot instances last";
            problems.push(
                provider
                    .problem(code::MISSING_KEY, &field("spot"), message.to_owned())
                    .help("add a table `[spot]` with `interrupted_every` and `restart`"),
            );
        }
        if !seen.insert((&offer.instance, &offer.region)) {
            let message = format!("`{}` is offered twice in that region", offer.instance);
            problems.push(
                provider
                    .problem(code::WRONG_ID, &field("instance"), message)
                    .help("remove one of the two"),
            );
        }
    }
    problems
}
