//! What can be bought, as rows of a table: a column for each figure, and what each row needs of
//! things that are scarce.

use std::collections::BTreeMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::hardware::{Hardware, HardwareSpec, Owned};

/// A column by its name: what it is of, and in which unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Described {
    /// Name, with the unit in it.
    pub name: &'static str,
    /// Unit; nothing of counts and of places in other tables.
    pub unit: &'static str,
    /// What it is.
    pub doc: &'static str,
}

/// The numbers of a column.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Counts, and places in other tables.
    U32(&'a [u32]),
    /// Large counts.
    U64(&'a [u64]),
    /// Money.
    I64(&'a [i64]),
    /// Figures.
    F64(&'a [f64]),
    /// Whether or not.
    Bool(&'a [bool]),
}

macro_rules! values {
    ($($kind:ident of $cell:ty),+) => { $(
        impl<'a> From<&'a Vec<$cell>> for Values<'a> {
            fn from(column: &'a Vec<$cell>) -> Self {
                Self::$kind(column)
            }
        }
    )+ };
}
values!(U32 of u32, U64 of u64, I64 of i64, F64 of f64, Bool of bool);

/// Declares the columns once: the arrays, a row of them, their names, units and descriptions.
macro_rules! rows {
    ($($name:ident: $cell:ty, $unit:literal, $doc:literal;)+) => {
        /// One of the things that can be bought.
        #[derive(Clone, Copy, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Row { $(#[doc = $doc] pub $name: $cell,)+ }

        /// The columns, all of one length.
        #[derive(Clone, Debug, Default, Serialize)]
        pub struct Columns { $(#[doc = $doc] pub $name: Vec<$cell>,)+ }

        impl Columns {
            /// Every column, in their order.
            pub const DESCRIBED: &'static [Described] = &[
                $(Described { name: stringify!($name), unit: $unit, doc: $doc },)+
            ];

            fn push(&mut self, row: Row) {
                $(self.$name.push(row.$name);)+
            }

            /// The column of that name.
            pub fn values(&self, name: &str) -> Option<Values<'_>> {
                match name {
                    $(stringify!($name) => Some(Values::from(&self.$name)),)+
                    _ => None,
                }
            }
        }
    };
}

rows! {
    system: u32, "", "Place of its hardware among the systems.";
    layout: u32, "", "Place of its layout among those of what found it.";
    price_micro_usd: i64, "USD/10^6", "Price; where anything may be rented, that of an hour.";
    capital_micro_usd: i64, "USD/10^6", "Purchase money, where the price is that of an hour.";
    usd_per_hour: f64, "USD/h", "Purchase written off, electricity and hosting, or rent.";
    power_watts: f64, "W", "Draw at work.";
    rack_units: f64, "U", "Height in racks.";
    replicas: u32, "", "Replicas of the model in it.";
    users: u64, "", "Users of all its replicas together.";
    tokens_per_second: f64, "1/s", "Tokens of all its replicas together.";
    tokens_per_second_per_user: f64, "1/s", "Speed of each user.";
    goodput: f64, "", "Share of the time that it is there and at work.";
    switch_port_blocks: u32, "", "Blocks of ports, where ports are sold in blocks.";
    is_build: bool, "", "Whether copies of it are one of the cheapest builds.";
}

impl Columns {
    /// Users of one of so many parts of a row.
    pub(crate) fn part_users(&self, row: usize, parts: u32) -> u64 {
        self.users[row] / u64::from(parts)
    }

    /// Tokens per second of one of so many parts of a row.
    pub(crate) fn part_tokens(&self, row: usize, parts: u32) -> f64 {
        self.tokens_per_second[row] / f64::from(parts)
    }
}

/// Hardware of a row by its names. The order of rows by name is that of these fields, what is
/// absent first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemNames {
    /// Accelerator id.
    pub accelerator: String,
    /// Accelerators that come with it.
    pub accelerators: u32,
    /// Host id.
    pub host: String,
    /// Hosts.
    pub hosts: u32,
    /// Network id.
    pub network: Option<String>,
    /// NICs of a host.
    #[serde(default)]
    pub nics_per_host: u32,
    /// Switch id.
    pub switch: Option<String>,
    /// Terms of what is rented.
    pub terms: Option<String>,
    /// Format of the weights that it holds.
    pub weights: Option<String>,
    /// What of it is there already.
    #[serde(default, skip_serializing_if = "Owned::is_none")]
    pub owned: Owned,
}

impl SystemNames {
    /// Of so many accelerators and hosts.
    pub(super) fn of(hardware: &Hardware, accelerators: u32, hosts: u32) -> Self {
        Self {
            accelerator: hardware.accelerator.id.clone(),
            accelerators,
            host: hardware.host.id.clone(),
            hosts,
            network: hardware.network.map(|(network, _)| network.id.clone()),
            nics_per_host: hardware.network.map_or(0, |(_, nics)| nics),
            switch: None,
            terms: hardware.host.rent.map(|rent| rent.terms.name()),
            weights: None,
            owned: hardware.owned.within(accelerators, hosts),
        }
    }

    /// What it is, to be looked up.
    pub(crate) fn hardware(&self) -> HardwareSpec {
        HardwareSpec {
            accelerator: Some(self.accelerator.clone()),
            host: Some(self.host.clone()),
            terms: self.terms.clone(),
            network: self.network.clone(),
            nics_per_host: Some(self.nics_per_host),
            owned: self.owned,
            ..HardwareSpec::default()
        }
    }
}

/// What each row needs of things that are scarce: a list of needs for each row, one after another.
#[derive(Clone, Debug)]
pub struct Resources {
    /// What is scarce: `accelerators`, `stock:rtx-4090`.
    pub names: Vec<String>,
    /// Where the needs of a row begin; one more than there are rows.
    pub offsets: Vec<u32>,
    /// Of which resource each need is, by its place among the names.
    pub resource: Vec<u32>,
    /// How much of it.
    pub amount: Vec<i64>,
}

impl Default for Resources {
    fn default() -> Self {
        Self {
            names: vec![Self::ACCELERATORS.to_owned()],
            offsets: vec![0],
            resource: Vec::new(),
            amount: Vec::new(),
        }
    }
}

impl Resources {
    /// All accelerators together; the first of the names.
    pub const ACCELERATORS: &'static str = "accelerators";
    /// What stands before the name of an accelerator of which there are only so many.
    pub const STOCK: &'static str = "stock:";
    /// What stands before the name of a part that is there already.
    pub const OWNED: &'static str = "owned:";

    /// Place of a name.
    pub fn place(&self, name: &str) -> Option<u32> {
        let place = self.names.iter().position(|own| own == name)?;
        u32::try_from(place).ok()
    }

    /// What a row needs of a resource.
    pub fn need(&self, row: usize, resource: u32) -> i64 {
        let of_row = self.offsets[row] as usize..self.offsets[row + 1] as usize;
        let needs = self.resource[of_row.clone()]
            .iter()
            .zip(&self.amount[of_row]);
        needs
            .filter(|(own, _)| **own == resource)
            .map(|(_, amount)| amount)
            .sum()
    }
}

/// What can be bought.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Its figures.
    pub columns: Columns,
    /// Its hardware, each once.
    pub systems: Vec<SystemNames>,
    /// What it needs of what is scarce.
    pub resources: Resources,
    /// Of which stock each is: what its accelerators are taken from, and what of it is there already.
    pub stock: Vec<u32>,
    /// Place of each in the order of names, from 0.
    pub places: Vec<u32>,
}

/// Things that occur often, each kept once.
#[derive(Clone, Debug)]
pub(crate) struct Interned<T>(BTreeMap<T, u32>);

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord + Clone> Interned<T> {
    /// The place of a thing among those kept in `all`.
    pub(crate) fn place(&mut self, thing: T, all: &mut Vec<T>) -> u32 {
        if let Some(place) = self.0.get(&thing) {
            return *place;
        }
        let place = u32::try_from(all.len()).unwrap_or(u32::MAX);
        all.push(thing.clone());
        self.0.insert(thing, place);
        place
    }
}

/// Fills rows.
#[derive(Debug, Default)]
pub(crate) struct Filling {
    rows: Rows,
    systems: Interned<SystemNames>,
    resources: BTreeMap<String, u32>,
    stocks: Interned<Vec<(u32, i64)>>,
    all_stocks: Vec<Vec<(u32, i64)>>,
}

impl Filling {
    /// Adds a row; accelerators that are bought are taken from `stock`.
    pub(crate) fn push(&mut self, system: SystemNames, stock: &str, row: Row) {
        let owned = system.owned;
        let bought = i64::from(system.accelerators) - i64::from(owned.accelerators);
        let from_stock = self.resource(Resources::STOCK, stock);
        // Rows of one stock stand for each other, so these need as much of what is there already.
        let mut of_stock = vec![(from_stock, 0)];
        for (id, number) in [(stock, owned.accelerators), (&system.host, owned.hosts)] {
            if number > 0 {
                let resource = self.resource(Resources::OWNED, id);
                of_stock.push((resource, i64::from(number)));
            }
        }
        let needs = [(0, i64::from(system.accelerators)), (from_stock, bought)];
        let resources = &mut self.rows.resources;
        for (resource, amount) in needs.iter().chain(&of_stock[1..]) {
            resources.resource.push(*resource);
            resources.amount.push(*amount);
        }
        let end = u32::try_from(resources.amount.len()).unwrap_or(u32::MAX);
        resources.offsets.push(end);
        let stock = self.stocks.place(of_stock, &mut self.all_stocks);
        self.rows.stock.push(stock);
        let system = self.systems.place(system, &mut self.rows.systems);
        self.rows.columns.push(Row { system, ..row });
    }

    /// Place of a resource among the names.
    fn resource(&mut self, kind: &str, id: &str) -> u32 {
        let name = format!("{kind}{id}");
        let names = &mut self.rows.resources.names;
        *self.resources.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            u32::try_from(names.len() - 1).unwrap_or(u32::MAX)
        })
    }

    /// The rows, in the order in which they came.
    pub(crate) fn done(mut self) -> Rows {
        let systems = &self.rows.systems;
        let mut by_name: Vec<usize> = (0..systems.len()).collect();
        by_name.sort_by(|one, other| systems[*one].cmp(&systems[*other]));
        let mut of_system = vec![0; systems.len()];
        for (place, system) in by_name.into_iter().enumerate() {
            of_system[system] = place;
        }
        let own = &self.rows.columns.system;
        let mut order: Vec<usize> = (0..own.len()).collect();
        order.sort_by_key(|row| (of_system[own[*row] as usize], *row));
        let mut places = vec![0; order.len()];
        for (place, row) in order.into_iter().enumerate() {
            places[row] = u32::try_from(place).unwrap_or(u32::MAX);
        }
        self.rows.places = places;
        self.rows
    }
}

impl Rows {
    /// Rows that nobody searched for: the hardware of each, what its accelerators are taken from, and
    /// its figures.
    pub fn said(rows: Vec<(SystemNames, String, Row)>) -> Self {
        let mut filling = Filling::default();
        for (system, stock, row) in rows {
            filling.push(system, &stock, row);
        }
        filling.done()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Hardware of a row.
    pub fn system(&self, row: usize) -> &SystemNames {
        &self.systems[self.columns.system[row] as usize]
    }

    /// All rows, or those of them that `wanted` holds of, in the order of names.
    pub(crate) fn by_name(&self, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.len()).filter(|row| wanted(*row)).collect();
        rows.sort_by_key(|row| self.places[*row]);
        rows
    }
}
