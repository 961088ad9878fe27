//! What a purchase costs: to the micro-dollar, and in proportion to its prices.

use planopt_core::bill::{BillLine, Unit, bill_of_units};
use planopt_core::catalog::{CostAssumptions, PartKind, SwitchSale};
use planopt_core::cost::of_purchase;
use planopt_core::hardware::{Hardware, Owned};
use planopt_core::parallel::{Degrees, Placement};
use planopt_core::quantity::{MicroUsd, Watts};
use std::ops::ControlFlow;

use proptest::prelude::*;

use crate::candidate::alike;
use crate::made_up::assumptions;
use crate::stock::{Stock, stocks};

fn units(stock: &Stock, placement: Placement, sale: SwitchSale) -> Vec<Unit<'_>> {
    let mut units = Vec::new();
    let networks = stock.networks.iter().flat_map(|network| {
        network
            .nics_per_host
            .iter()
            .map(move |&n| Some((network, n)))
    });
    for network in networks.chain([None]) {
        let hardware = Hardware {
            accelerator: &stock.accelerators[0],
            host: &stock.hosts[0],
            network,
            owned: Owned::default(),
        };
        Unit::all(hardware, placement, sale, |unit| {
            units.push(unit);
            ControlFlow::Continue(())
        });
    }
    units
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// A search leaves out what is more of what is too dear.
    #[test]
    fn more_hosts_and_accelerators_cost_no_less(
        stock in stocks(),
        tp in 1_u32..=8,
        pp in 1_u32..=8,
        blocks in prop::option::of(1_u32..=8),
    ) {
        let sale = blocks.map_or(SwitchSale::Whole, SwitchSale::PortBlocks);
        let least = |pp| {
            let placement = Placement::new(Degrees::tensor(tp), pp, stock.hosts[0].slots)?;
            let units = units(&stock, placement, sale);
            let fits = |unit: &Unit| placement.hosts <= Unit::most_hosts(unit.hardware, sale);
            assert!(units.iter().all(fits));
            Some((units.iter().filter_map(Unit::price).min()?, placement.hosts))
        };
        if let (Some(less), Some(more)) = (least(pp), least(pp + 1)) {
            prop_assert!(less.0 <= more.0 && less.1 <= more.1, "{less:?} {more:?}");
        }
    }

    #[test]
    fn a_unit_holds_its_replicas_and_costs_what_its_bill_sums_to(
        stock in stocks(),
        tp in 1_u32..=8,
        pp in 1_u32..=8,
        blocks in prop::option::of(1_u32..=8),
    ) {
        let slots = stock.hosts[0].slots;
        let Some(placement) = Placement::new(Degrees::tensor(tp), pp, slots) else {
            return Ok(());
        };
        let sale = blocks.map_or(SwitchSale::Whole, SwitchSale::PortBlocks);
        for unit in units(&stock, placement, sale) {
            prop_assert!(unit.replicas >= 1);
            prop_assert_eq!(unit.accelerators_used(), tp * pp * unit.replicas);
            prop_assert!(unit.accelerators_used() <= unit.hosts() * slots);
            prop_assert!(unit.accelerators_used() <= unit.accelerators_bought());
            prop_assert!(unit.accelerators_bought() <= unit.hosts() * slots);
            prop_assert_eq!(unit.host_set().nics() > 0, unit.hosts() > 1);
            prop_assert_eq!(unit.switch.is_some(), placement.hosts > 2);
            if let Some(share) = unit.switch {
                prop_assert!(unit.host_set().nics() <= share.switch.ports);
            }
            let bill = bill_of_units([(unit, 1)]).expect("everything has a price");
            let sum: i64 = bill.iter().map(|line| line.unit_price.0 * i64::from(line.quantity)).sum();
            prop_assert_eq!(Some(MicroUsd(sum)), unit.price());
            prop_assert!(bill.iter().all(|line| line.quantity > 0));
            // One cable from each port to the switch, or between the two hosts; NICs and their
            // cables as far as they do not come with the hosts.
            let number = |kind| bill.iter().filter(|line| line.kind == kind).map(|line| line.quantity).sum::<u32>();
            let network = unit.hardware.network.map(|(network, _)| &network.id);
            let included = stock.hosts[0].included_nics.as_ref().filter(|included| {
                network.is_some_and(|network| included.networks.contains(network))
            });
            let each = unit.host_set().nics() / unit.hosts();
            let covered = included.map_or(0, |included| included.count.min(each)) * unit.hosts();
            prop_assert_eq!(number(PartKind::Nic), unit.host_set().nics() - if unit.host_set().nics() > 0 { covered } else { 0 });
            let ends = if unit.switch.is_some() { 1 } else { 2 };
            let with_optics = included.is_some_and(|included| included.optics);
            let cabled = if with_optics { number(PartKind::Nic) } else { unit.host_set().nics() };
            let cable = unit.hardware.network.and_then(|(network, _)| network.cable.as_ref());
            prop_assert_eq!(number(PartKind::Cable), cable.map_or(0, |_| cabled / ends));
        }
    }

    #[test]
    fn nics_that_come_with_a_host_are_not_bought_again(stock in stocks(), tp in 1_u32..=8, pp in 1_u32..=8) {
        let Some(placement) = Placement::new(Degrees::tensor(tp), pp, stock.hosts[0].slots) else {
            return Ok(());
        };
        let mut bare = stock.clone();
        bare.hosts[0].included_nics = None;
        // Of its own network: what is included takes the room of any other.
        let own = |unit: &Unit| unit.hardware.network.is_none_or(|(network, _)| network.id == "n0");
        let mut with = units(&stock, placement, SwitchSale::Whole);
        let mut without = units(&bare, placement, SwitchSale::Whole);
        with.retain(own);
        without.retain(own);
        prop_assert_eq!(with.len(), without.len());
        for (with, without) in with.iter().zip(&without) {
            let (dear, cheap) = (without.price().expect("priced").0, with.price().expect("priced").0);
            prop_assert!(cheap <= dear);
            let nic = with.hardware.network.and_then(|(network, _)| network.nic.price);
            let saved = i64::from(without.host_set().connecting().nics - with.host_set().connecting().nics);
            prop_assert!(dear - cheap >= saved * nic.unwrap_or(MicroUsd::ZERO).0);
            prop_assert_eq!(with.host_set().nics(), without.host_set().nics());
        }
    }

    #[test]
    fn prices_times_k_make_the_bill_times_k(stock in stocks(), pp in 1_u32..=8, k in 1_i64..1000) {
        let stock = stock.alone();
        let dear = stock.dearer(k);
        let placement = Placement::new(Degrees::tensor(1), pp, stock.hosts[0].slots).expect("one card always fits");
        let prices = |stock: &Stock| -> Vec<Option<i64>> {
            units(stock, placement, SwitchSale::Whole)
                .iter()
                .map(|unit| unit.price().map(|price| price.0))
                .collect()
        };
        let times_k: Vec<_> = prices(&stock).into_iter().map(|p| p.map(|p| p * k)).collect();
        prop_assert_eq!(times_k, prices(&dear));
        let whole = |line: &BillLine| line.price() == line.unit_price * line.quantity;
        for unit in units(&dear, placement, SwitchSale::Whole) {
            prop_assert!(bill_of_units([(unit, 1)]).expect("everything has a price").iter().all(whole));
        }
    }

    #[test]
    fn parts_of_a_price_never_cost_less_than_the_whole(price in 0_i64..1_000_000_000_000, parts in 1_u32..64) {
        let part = MicroUsd(price).split(parts);
        prop_assert!(part * parts >= MicroUsd(price));
        prop_assert!((part * parts).0 - price < i64::from(parts));
    }

    #[test]
    fn cost_is_its_parts_and_capital_interest_and_support_follow_the_price(
        assumptions in assumptions(),
        usd in 1.0..1e9,
        watts in 0.0..1e6,
        rack_units in 0.0..1000.0,
        tokens in 0.1..1e6,
        k in 1.0..100.0,
    ) {
        let cost = |usd| of_purchase(usd, Watts(watts), rack_units, tokens, &assumptions.cost);
        let (one, dear) = (cost(usd), cost(k * usd));
        let sum = one.capital_usd_per_hour
            + one.financing_usd_per_hour
            + one.energy_usd_per_hour
            + one.hosting_usd_per_hour
            + one.service_usd_per_hour;
        prop_assert!(alike(one.usd_per_hour, sum));
        prop_assert!(alike(dear.financing_usd_per_hour, k * one.financing_usd_per_hour));
        prop_assert!(alike(dear.capital_usd_per_hour, k * one.capital_usd_per_hour));
        prop_assert!(alike(dear.energy_usd_per_hour, one.energy_usd_per_hour));
        prop_assert!(alike(dear.hosting_usd_per_hour, one.hosting_usd_per_hour));
        prop_assert!(alike(one.usd_per_million_tokens * one.tokens_per_usd, 1e6));
    }

    #[test]
    fn each_line_switched_off_takes_off_exactly_itself_and_a_desktop_has_none(
        assumptions in assumptions(),
        usd in 1.0..1e9,
        watts in 0.0..1e6,
        rack_units in 0.1..1000.0,
        colocation in 0.0..300.0,
        support in 0.0..0.1,
        staff in 0.0..1e5,
        wacc in 0.0..0.2,
    ) {
        let none = CostAssumptions {
            colocation_usd_per_kw_month: 0.0,
            support_per_year: 0.0,
            staff_usd_per_rack_year: 0.0,
            wacc: 0.0,
            pue: 1.0,
            ..assumptions.cost
        };
        let all = CostAssumptions {
            colocation_usd_per_kw_month: colocation,
            support_per_year: support,
            staff_usd_per_rack_year: staff,
            wacc,
            ..none
        };
        let hourly = |cost: &CostAssumptions, units| of_purchase(usd, Watts(watts), units, 1.0, cost).usd_per_hour;
        let lines = [
            CostAssumptions { colocation_usd_per_kw_month: colocation, ..none },
            CostAssumptions { support_per_year: support, ..none },
            CostAssumptions { staff_usd_per_rack_year: staff, ..none },
            CostAssumptions { wacc, ..none },
        ];
        let bare = hourly(&none, rack_units);
        let added: f64 = lines.iter().map(|one| hourly(one, rack_units) - bare).sum();
        prop_assert!((hourly(&all, rack_units) - bare - added).abs() <= 1e-9 * hourly(&all, rack_units));
        let of_power = watts / 1e3 * colocation * 12.0 / 8760.0;
        prop_assert!((hourly(&lines[0], rack_units) - bare - of_power).abs() <= 1e-9 * (bare + of_power));
        prop_assert!(alike(hourly(&all, 0.0), hourly(&none, 0.0)));
    }
}
