//! Machines of other people's homes, and instances beside them, each with its line to the others.

use crate::bill::{Cluster, HostSet};
use crate::catalog::{Catalog, IslandAssumptions, Link, Network, Terms};
use crate::cost::of_purchase;
use crate::diagnostic::{Diagnostic, code};
use crate::hardware::{Fabric, HardwareSpec, Instances, Nics, Site, System, line_of};
use crate::islands::{Churn, Uplink};
use crate::quantity::{MicroUsd, Seconds};
use serde::{Deserialize, Serialize};

/// Machines of a kind.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Machines {
    /// How many there are.
    pub machines: u32,
    /// Accelerators of each; of an offer those that it comes with.
    pub accelerators: u32,
    /// Accelerator, or offer `provider/instance/region`.
    pub id: String,
    /// Network to the others, or the host that all of them stand in.
    pub network: String,
    /// Whether they are cards of one host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_one_host: bool,
}

/// How machines come and go, and what of them is paid for.
#[derive(Clone, Copy)]
pub(super) struct Homes {
    /// Whether they are there anyhow, and cost their electricity alone.
    pub(super) marginal: bool,
    /// How long machines that are not rented stay, and are away.
    pub(super) churn: Churn,
    /// TCP connections that share a line.
    connections: f64,
}

impl Homes {
    /// As they are asked for; else as assumed.
    pub(super) fn new(
        assumed: &IslandAssumptions,
        marginal: bool,
        lifetime: Option<f64>,
        away: Option<f64>,
        stay: bool,
    ) -> Self {
        let usual = (!stay).then_some(assumed.lifetime);
        Self {
            marginal,
            churn: Churn {
                lifetime: lifetime.map(Seconds).or(usual),
                away: away.map_or(assumed.away, Seconds),
            },
            connections: assumed.connections,
        }
    }
}

/// Whether machines stand at one place, where nobody leaves: what joins them is sold, as no line of a
/// home to the Internet is.
pub(super) fn at_one_place(catalog: &Catalog, machines: &[Machines]) -> bool {
    let is_bought = |own: &Machines| {
        if own.in_one_host {
            return true;
        }
        let network = catalog.network(&own.network);
        network.is_ok_and(Network::is_sold)
    };
    machines.iter().all(is_bought)
}

/// What is assumed of homes and of the Internet between them.
pub(super) fn assumed(catalog: &Catalog) -> Result<&IslandAssumptions, Vec<Diagnostic>> {
    let assumptions = &catalog.assumptions.entity;
    assumptions.islands.as_ref().ok_or_else(|| {
        let message = format!(
            "the assumptions `{}` say nothing of islands",
            assumptions.id
        );
        let problem = Diagnostic::new(code::MISSING_KEY, message).field("--assumptions");
        let problem = problem.value(assumptions.id.clone());
        vec![problem.accepted("assumptions with a table `[islands]`, such as `calibrated`")]
    })
}

/// Where each kind of machine runs.
pub(super) fn sites<'m>(
    catalog: &Catalog,
    machines: &'m [Machines],
) -> Result<Vec<(Site, &'m Machines)>, Vec<Diagnostic>> {
    let each = machines.iter();
    each.map(|named| {
        Ok((
            spec(catalog, named)?.site(catalog, named.accelerators)?,
            named,
        ))
    })
    .collect()
}

/// A kind of machine, with everything that is known of one.
pub(super) struct Kind<'a> {
    pub(super) named: &'a Machines,
    pub(super) system: System<'a>,
    pub(super) accelerators: u32,
    pub(super) uplink: Uplink,
    pub(super) fabric: Fabric,
    pub(super) churn: Churn,
    /// Of a machine, or of an hour of what is rented; none where a part has no price.
    pub(super) price_usd: Option<f64>,
    pub(super) usd_per_hour: f64,
    pub(super) energy_usd_per_hour: f64,
    pub(super) power: Option<f64>,
}

/// A machine as the catalog knows it.
fn spec(catalog: &Catalog, named: &Machines) -> Result<HardwareSpec, Vec<Diagnostic>> {
    if named.in_one_host {
        return Ok(HardwareSpec {
            accelerator: Some(named.id.clone()),
            host: Some(named.network.clone()),
            ..HardwareSpec::default()
        });
    }
    if !named.id.contains('/') {
        return Ok(HardwareSpec {
            accelerator: Some(named.id.clone()),
            accelerators_per_host: Some(named.accelerators),
            network: Some(named.network.clone()),
            ..HardwareSpec::default()
        });
    }
    let instances = Instances::of_offer(catalog, &named.id, Terms::OnDemand)?;
    let included = instances
        .host(&named.id)
        .and_then(|host| host.includes.as_ref());
    Ok(HardwareSpec {
        accelerator: included.map(|included| included.accelerator.clone()),
        host: Some(named.id.clone()),
        terms: Some(Terms::OnDemand.name()),
        ..HardwareSpec::default()
    })
}

impl<'a> Kind<'a> {
    pub(super) fn of(
        catalog: &'a Catalog,
        (site, named): &'a (Site, &'a Machines),
        homes: Homes,
    ) -> Result<Self, Vec<Diagnostic>> {
        let assumptions = &catalog.assumptions.entity;
        let system = site.resolve(catalog, assumptions, Nics::One)?;
        let (system, uplink) = if named.in_one_host {
            // Cards of one host meet over its slots.
            let slot = system.fabric(assumptions).host_line();
            let uplink = Uplink::new(slot, slot.bandwidth, 0.0, homes.connections);
            (system, uplink)
        } else {
            let connection = line_of(catalog, &named.network, 1)?;
            let link = catalog.link(&connection.0.link)?;
            let system = system.over(Some(connection));
            let fabric = system.fabric(assumptions);
            let uplink = uplink(&fabric, link, homes.connections).ok_or_else(|| {
                let message = format!("`{}` has no line that islands could use", named.network);
                vec![Diagnostic::new(code::MALFORMED_OPTION, message).field("--islands")]
            })?;
            (system, uplink)
        };
        let rented = system.host.rent;
        let accelerators = rented.map_or(named.accelerators, |_| system.slots);
        let fabric = system.fabric(assumptions);
        let alone = system.over(None);
        let machine = Cluster::of(vec![HostSet::of(&alone, accelerators, 0)]);
        let machine = machine.as_ref();
        let price_usd = machine.and_then(Cluster::price).map(MicroUsd::usd);
        let price = price_usd.unwrap_or_default();
        let power = machine.and_then(|machine| machine.power(assumptions));
        let height = machine.map_or(0.0, Cluster::rack_units);
        let cost = power.map(|power| of_purchase(price, power, height, 1.0, &assumptions.cost));
        let energy = cost.map_or(0.0, |cost| cost.energy_usd_per_hour);
        Ok(Self {
            named,
            system,
            accelerators,
            uplink,
            fabric,
            churn: Churn {
                lifetime: rented.map_or(homes.churn.lifetime, |_| None),
                ..homes.churn
            },
            price_usd,
            usd_per_hour: match (rented, cost) {
                (Some(_), _) => price,
                (None, _) if homes.marginal => energy,
                (None, cost) => cost.map_or(0.0, |cost| cost.usd_per_hour),
            },
            energy_usd_per_hour: rented.map_or(energy, |_| 0.0),
            power: power.filter(|_| rented.is_none()).map(|power| power.0),
        })
    }
}

/// The line of machines to the Internet.
fn uplink(fabric: &Fabric, link: &Link, connections: f64) -> Option<Uplink> {
    let up = fabric.network_line()?;
    let reached = up.bandwidth.0 / link.bandwidth?.0;
    let down = link.downlink.map_or(up.bandwidth, |down| down * reached);
    Some(Uplink::new(up, down, link.loss, connections))
}
