//! The search against a plain loop over everything, and what it must not depend on.

use crate::made_up::{architectures, assumptions, questions};
use crate::stock::{Stock, bundled, stocks};
use planopt_core::bill::Unit;
use planopt_core::catalog::{Assumptions, SwitchSale};
use planopt_core::cost::of_purchase;
use planopt_core::course::Course;
use planopt_core::hardware::{Inventory, Selection, Space, System};
use planopt_core::load::serving::Question;
use planopt_core::parallel::{Batching, Layout, partition};
use planopt_core::quantity::{MicroUsd, Seconds};
use planopt_core::search::{
    Aim, BatchPolicy, Demand, FoundUnit, Goal, KeptPart, Redundancy, SearchResult, all_layouts,
    search,
};
use planopt_core::serving::{Prepared, Replica};
use planopt_core::transformer::Transformer;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// A question that is small enough to be answered by trying everything.
#[derive(Clone, Debug)]
struct Hunt {
    stock: Stock,
    transformer: Transformer,
    question: Question,
    goal: Goal,
    demand: Demand,
    accelerators: u32,
    assumptions: Assumptions,
}

fn goals() -> impl Strategy<Value = Goal> {
    (
        0.5..400.0,
        prop::option::of(0.01..3.0),
        prop::option::of(1_u32..40),
        prop::option::of(1_u32..6),
    )
        .prop_map(|(speed, prefill, batch, in_flight)| Goal {
            tokens_per_second_per_user: speed,
            prefill: prefill.map(Seconds),
            batch,
            in_flight,
            latency: None,
            policy: BatchPolicy::Largest,
        })
}

fn hunts() -> impl Strategy<Value = Hunt> {
    (
        (stocks(), architectures()),
        (questions(), goals(), assumptions()),
        (1_u64..500, 0.0..2000.0, 0_u64..2, any::<bool>()),
        1_u32..=10,
    )
        .prop_map(
            |(
                (stock, architecture),
                (question, goal, assumptions),
                (users, tokens_per_second, redundancy, speed),
                accelerators,
            )| Hunt {
                stock,
                transformer: Transformer::from(&architecture),
                question,
                goal,
                demand: Demand {
                    users,
                    tokens_per_second,
                    redundancy: Redundancy {
                        host: redundancy,
                        ..Redundancy::default()
                    },
                    speed,
                    ..Demand::default()
                },
                accelerators,
                assumptions,
            },
        )
}

impl Hunt {
    fn search(&self) -> SearchResult<FoundUnit<'_>> {
        self.search_within(None, &Course::default())
    }

    fn search_within(&self, cap: Option<MicroUsd>, course: &Course) -> SearchResult<FoundUnit<'_>> {
        search(
            &self.transformer,
            &self.question,
            &self.space(),
            &self.goal,
            &self.demand,
            self.accelerators,
            cap,
            &self.assumptions,
            &KeptPart::default(),
            course,
        )
    }

    fn space(&self) -> Space<'_> {
        Space::available(
            &self.stock.inventory(),
            &Selection::default(),
            &self.assumptions,
        )
    }

    /// Every unit that meets the goal, with the largest batch that does: found by trying each.
    fn everything(&self) -> Vec<Seen> {
        let space = self.space();
        let mut found = Vec::new();
        for system in &space.systems {
            self.everything_in(system, &mut found);
            for (network, line) in &space.networks {
                if line.nics_per_host <= system.host.room_for(network) {
                    self.everything_in(&system.over(Some((network, *line))), &mut found);
                }
            }
        }
        found
    }

    fn everything_in(&self, system: &System<'_>, found: &mut Vec<Seen>) {
        let layouts = all_layouts(&self.transformer, self.accelerators, 1);
        let prepared = Prepared::new(
            &self.transformer,
            &self.question,
            system.accelerator,
            &self.assumptions,
            &layouts,
        )
        .expect("made-up accelerators have a rate for every format that is asked for");
        let fabric = system.fabric(&self.assumptions);
        for layout in layouts {
            let Ok(placement) = layout.place(system.slots) else {
                continue;
            };
            if (placement.hosts > 1) != system.network.is_some() {
                continue;
            }
            let stages = partition(
                &self.transformer.layers,
                self.transformer.blocks.len(),
                layout.pp,
            );
            let replica = Replica::new(
                prepared
                    .rank(layout.degrees())
                    .expect("prepared for every layout"),
                &stages,
                &fabric,
                placement,
                &self.question,
                system.accelerator,
                &self.assumptions,
            );
            let Some(batching) = self.largest(&replica, layout) else {
                continue;
            };
            Unit::all(
                system.parts(),
                placement,
                self.assumptions.switch_sale,
                |unit| {
                    found.push(self.priced(&unit, &replica, batching));
                    ControlFlow::Continue(())
                },
            );
        }
    }

    fn largest(&self, replica: &Replica, layout: Layout) -> Option<Batching> {
        if self
            .goal
            .prefill
            .is_some_and(|limit| replica.prefill().seconds > limit)
        {
            return None;
        }
        let in_flight = self.goal.in_flight.unwrap_or(layout.pp);
        let first = self.goal.batch.unwrap_or(1);
        let last = self.goal.batch.unwrap_or(1 << 16);
        (first..=last)
            .map(|batch| Batching { batch, in_flight })
            .take_while(|&batching| replica.memory(batching).fits())
            .filter(|&batching| {
                replica.decode(batching).tokens_per_second_per_user
                    >= self.goal.tokens_per_second_per_user
            })
            .last()
    }

    fn priced(&self, unit: &Unit, replica: &Replica, batching: Batching) -> Seen {
        let decode = replica.decode(batching);
        let tokens_per_second = decode.tokens_per_second * f64::from(unit.replicas);
        let price = unit.price().expect("everything has a price");
        let power = unit
            .power(&self.assumptions)
            .expect("everything has a power");
        let rack_units = unit.rack_units();
        let cost = of_purchase(
            price.usd(),
            power,
            rack_units,
            tokens_per_second,
            &self.assumptions.cost,
        );
        Seen {
            what: name(unit, batching),
            accelerator: unit.hardware.accelerator.id.clone(),
            host: unit.hardware.host.id.clone(),
            price: price.0,
            needs: [
                price.usd(),
                cost.usd_per_hour,
                power.0,
                rack_units,
                f64::from(unit.accelerators_bought()),
            ],
            gives: [
                real(batching.users(self.question.overlap) * u64::from(unit.replicas)),
                tokens_per_second,
                f64::from(unit.replicas),
            ],
            speed: decode.tokens_per_second_per_user,
        }
    }
}

/// A unit as a purchase sees it.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    what: String,
    accelerator: String,
    host: String,
    price: i64,
    needs: [f64; 5],
    gives: [f64; 3],
    speed: f64,
}

impl Seen {
    /// What it needs and gives, without the names of what it is made of.
    fn worth(&self) -> String {
        format!("{:?} {:?} {}", self.needs, self.gives, self.speed)
    }
}

impl From<&FoundUnit<'_>> for Seen {
    fn from(found: &FoundUnit) -> Self {
        let unit = &found.unit;
        Self {
            what: name(unit, found.batching),
            accelerator: unit.hardware.accelerator.id.clone(),
            host: unit.hardware.host.id.clone(),
            price: found.price.0,
            needs: [
                found.price.usd(),
                found.usd_per_hour,
                found.power.0,
                found.rack_units,
                f64::from(unit.accelerators_bought()),
            ],
            gives: [
                real(found.users),
                found.tokens_per_second,
                f64::from(unit.replicas),
            ],
            speed: found.tokens_per_second_per_user,
        }
    }
}

fn name(unit: &Unit, batching: Batching) -> String {
    let hardware = &unit.hardware;
    let network = hardware.network.map(|(network, nics)| (&network.id, nics));
    let switch = unit.switch.map(|share| (&share.switch.id, share.blocks));
    format!(
        "{} {} {network:?} {switch:?} {:?} x{} {batching:?}",
        hardware.accelerator.id, hardware.host.id, unit.placement, unit.replicas,
    )
}

fn real(count: u64) -> f64 {
    f64::from(u32::try_from(count).expect("a small count"))
}

fn list(result: &SearchResult<FoundUnit>) -> Vec<Seen> {
    result.found.iter().map(Seen::from).collect()
}

/// Whether some number of copies of `one` needs no more of anything than `other` and gives no less;
/// `margin` tells rounding from a difference.
fn replaces(one: &Seen, other: &Seen, speed: bool, margin: f64) -> bool {
    let copies = |copies: f64| {
        let mut needs = one.needs.iter().zip(other.needs);
        let mut gives = one.gives.iter().zip(other.gives);
        needs.all(|(one, other)| one * copies <= other + margin * other)
            && gives.all(|(one, other)| one * copies >= other - margin.max(0.0) * other)
    };
    one.accelerator == other.accelerator
        && !(speed && one.speed < other.speed)
        && (1_u32..=64).any(|count| copies(f64::from(count)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_kept_is_undominated_and_what_is_not_is_dominated(hunt in hunts()) {
        let everything = hunt.everything();
        let kept = list(&hunt.search());
        let speed = hunt.demand.speed;

        for (place, one) in kept.iter().enumerate() {
            prop_assert!(everything.contains(one), "made up: {one:?}");
            for other in kept[..place].iter().chain(&kept[place + 1..]) {
                let same_host = one.host == other.host;
                prop_assert!(
                    !same_host || !replaces(other, one, speed, -1e-9),
                    "{one:?} is replaced by {other:?}",
                );
            }
        }
        for unit in &everything {
            let is_covered = kept.iter().any(|one| replaces(one, unit, speed, 1e-9));
            prop_assert!(is_covered, "lost: {unit:?}");
        }
    }

    #[test]
    fn the_best_at_a_single_aim_is_kept(
        hunt in hunts(),
        aim in select(vec![Aim::CostPerToken, Aim::Latency]),
    ) {
        let mut hunt = hunt;
        hunt.demand.aim = Some(aim);
        hunt.demand.speed = aim == Aim::Latency;
        let score = |unit: &Seen| match aim {
            Aim::CostPerToken => unit.needs[1] / unit.gives[1],
            Aim::Latency => -unit.speed,
            Aim::Price | Aim::Hour => unreachable!("of a load alone"),
        };
        let best = |units: &[Seen]| units.iter().map(score).fold(f64::MAX, f64::min);
        let (everything, kept) = (best(&hunt.everything()), best(&list(&hunt.search())));
        prop_assert!(everything.total_cmp(&kept).is_eq(), "{kept}, and there is {everything}");
    }

    #[test]
    fn bisection_finds_the_batch_that_trying_each_does(hunt in hunts()) {
        let mut slow = hunt.clone();
        slow.goal.policy = BatchPolicy::LargestOfEach;
        let (quick, slow) = (hunt.search(), slow.search());
        prop_assert_eq!(list(&quick), list(&slow));
        prop_assert_eq!(quick.covered, slow.covered);
        prop_assert!(quick.evaluated <= slow.evaluated || slow.covered < 64);
        prop_assert!(slow.evaluated <= 2 * slow.covered);
    }

    #[test]
    fn threads_do_not_matter(hunt in hunts(), builds in 0_usize..6) {
        let mut hunt = hunt;
        hunt.demand.builds = builds;
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .expect("a pool of threads");
            let result = pool.install(|| hunt.search());
            (list(&result), result.covered, result.evaluated)
        };
        let alone = on(1);
        prop_assert_eq!(&alone, &on(2));
        prop_assert_eq!(&alone, &on(5));
    }

    #[test]
    fn the_order_of_the_inventory_does_not_matter(hunt in hunts(), by in 1_usize..6, builds in 0_usize..6) {
        let mut hunt = hunt;
        hunt.demand.builds = builds;
        let mut turned = hunt.clone();
        turned.stock = hunt.stock.turned(by);
        let (straight, turned) = (hunt.search(), turned.search());
        let set = |result: &SearchResult<FoundUnit>| list(result).iter().map(Seen::worth).collect::<BTreeSet<_>>();
        prop_assert_eq!(set(&straight), set(&turned));
        prop_assert_eq!(straight.covered, turned.covered);
        prop_assert_eq!(straight.evaluated, turned.evaluated);
    }

    #[test]
    fn a_price_cap_leaves_out_what_is_dearer_and_nothing_else(hunt in hunts(), pick in any::<prop::sample::Index>()) {
        let all = hunt.search();
        let mut prices: Vec<MicroUsd> = all.found.iter().map(|unit| unit.price).collect();
        prices.push(MicroUsd(1_000_000_000));
        let cap = *pick.get(&prices);
        let capped = hunt.search_within(Some(cap), &Course::default());
        let within: Vec<Seen> =
            all.found.iter().filter(|unit| unit.price <= cap).map(Seen::from).collect();
        prop_assert_eq!(list(&capped), within);
    }

    #[test]
    fn prices_times_k_keep_the_cheapest(hunt in hunts(), k in 2_i64..50) {
        let mut hunt = hunt;
        hunt.assumptions.switch_sale = SwitchSale::Whole;
        hunt.stock = hunt.stock.alone();
        let mut dear = hunt.clone();
        dear.stock = hunt.stock.dearer(k);
        let cheapest = |hunt: &Hunt| hunt.search().found.iter().map(|unit| unit.price).min();
        prop_assert_eq!(cheapest(&hunt).map(|price| price.0 * k), cheapest(&dear).map(|price| price.0));
    }

    #[test]
    fn a_search_told_to_stop_stops(hunt in hunts()) {
        let course = Course::default();
        course.end();
        let stopped = hunt.search_within(None, &course);
        prop_assert!(stopped.interrupted && stopped.found.is_empty());
        prop_assert_eq!(stopped.evaluated, 0);
        prop_assert!(!hunt.search().interrupted);
    }
}

/// Models of every kind of attention and feed-forward network: grouped heads, sliding windows,
/// latent attention, experts, and the seed article's.
const KINDS_OF_MODEL: [&str; 7] = [
    "article-70b",
    "deepseek-v2-lite",
    "gemma-2-27b",
    "gpt-oss-20b",
    "llama-2-70b",
    "mixtral-8x7b",
    "qwen3-30b-a3b",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn bisection_holds_on_the_bundled_catalog(
        id in select(vec!["article", "calibrated"]),
        model in select(KINDS_OF_MODEL.as_slice()),
        accelerator in select(vec!["rtx-4090", "a100-sxm-80", "h100-sxm", "v100-sxm2-32"]),
        (mut question, mut goal) in (questions(), goals()),
        policy in select(vec![BatchPolicy::LargestOfEach, BatchPolicy::Each(u32::MAX)]),
    ) {
        let catalog = bundled(id);
        let Some(model) = catalog.models.get(model) else {
            return Ok(());
        };
        let transformer = Transformer::from(&model.entity);
        question.formats.weights = transformer.weights;
        question.context += 4096;
        goal.batch = None;
        let selection = Selection {
            accelerators: vec![accelerator.to_owned()],
            ..Selection::default()
        };
        let assumptions = &catalog.assumptions.entity;
        let space = Space::available(&Inventory::of(catalog), &selection, assumptions);
        let with = |policy| {
            let goal = Goal { policy, ..goal };
            let course = Course::default();
            let demand = Demand::default();
            let result = search(
                &transformer, &question, &space, &goal, &demand, 8, None, assumptions,
                &KeptPart::default(), &course,
            );
            result.found.iter().map(|unit| (unit.batching.batch, Seen::from(unit))).collect::<Vec<_>>()
        };
        let bisected = with(BatchPolicy::Largest);
        if policy == BatchPolicy::LargestOfEach {
            prop_assert_eq!(bisected, with(policy));
        } else {
            // Each batch is offered: the largest that meets the goal is the largest of them.
            let largest = |units: &[(u32, Seen)]| units.iter().map(|(batch, _)| *batch).max();
            prop_assert_eq!(largest(&bisected), largest(&with(policy)));
        }
    }
}
