//! Made-up models and hardware, with the extremes that a catalog may hold and ours does not.

use planopt_core::catalog::{
    Accelerator, Assumptions, BusBandwidth, Cable, Host, IncludedNics, Link, LinkKind, Network,
    Nic, Offered, Peak, PeerToPeer, RackLines, ScaleUp, Stores, Switch,
};
use planopt_core::format::{Format, Formats};
use planopt_core::load::serving::{Overlap, Question};
use planopt_core::quantity::{Bytes, BytesPerSecond, FlopsPerSecond, MicroUsd, Seconds, Watts};
use planopt_core::transformer::{
    Architecture, AttentionShape, BlockShape, Experts, Heads, Indexer, KeyValue, MlpShape, Norm,
    Rule, Side, StateSpace,
};

use proptest::prelude::*;
use proptest::sample::select;

use crate::stock::bundled;

/// Query heads of every made-up model: many tensor-parallel degrees divide them.
const HEADS: u64 = 24;
const GB: f64 = 1e9;

fn grouped() -> impl Strategy<Value = AttentionShape> {
    (
        select(vec![1, 2, 4, 8, 24]),
        (select(vec![64, 128]), select(vec![64, 128])),
        select(KeyValue::ALL.map(|(_, is)| is).to_vec()),
        prop::option::of(1_u64..4096),
        selection(),
    )
        .prop_map(|(kv_heads, widths, key_value, window, selection)| {
            AttentionShape::Grouped(Heads {
                heads: HEADS,
                kv_heads,
                head_dim: widths.0,
                value_dim: widths.1,
                gate: HEADS,
                key_value,
                key_value_bias: true,
                window,
                selected: selection.0,
                indexer: selection.1,
                ..Heads::default()
            })
        })
}

/// Tokens that are selected, in some layers by an indexer of their own.
fn selection() -> impl Strategy<Value = (Option<u64>, Option<Indexer>)> {
    let indexer = Indexer {
        heads: 4,
        head_dim: 64,
    };
    let own = (1_u64..4096, prop::option::of(Just(indexer)));
    prop_oneof![
        2 => Just((None, None)),
        1 => own.prop_map(|(selected, indexer)| (Some(selected), indexer)),
    ]
}

fn latent() -> impl Strategy<Value = AttentionShape> {
    (select(vec![0, 768]), 128_u64..512, selection()).prop_map(
        |(query_rank, latent, (selected, indexer))| AttentionShape::Latent {
            heads: HEADS,
            query_rank,
            latent,
            rope: 64,
            nope: 128,
            value: 128,
            selected,
            indexer,
        },
    )
}

/// A mixer that carries a state, under each of the rules.
fn state_space() -> impl Strategy<Value = AttentionShape> {
    let rules = vec![
        (Rule::Decay, Some(true)),
        (Rule::Decay, Some(false)),
        (Rule::GatedDelta, None),
        (Rule::KimiDelta, None),
        (Rule::Convolution, None),
    ];
    select(rules).prop_map(|(rule, normalised)| {
        AttentionShape::StateSpace(StateSpace {
            rule,
            heads: HEADS,
            head_dim: 64,
            groups: HEADS,
            state: if rule == Rule::Convolution { 0 } else { 64 },
            conv: 4,
            chunk: 64,
            normalised,
        })
    })
}

fn dense() -> impl Strategy<Value = MlpShape> {
    (512_u64..8192, any::<bool>()).prop_map(|(width, gated)| MlpShape::Dense {
        width,
        gated,
        bias: false,
    })
}

fn experts() -> impl Strategy<Value = MlpShape> {
    (1_u64..64, 1_u64..8, 128_u64..1024, select(vec![0, 512])).prop_map(
        |(experts, active, width, shared_width)| {
            MlpShape::Experts(Experts {
                experts,
                active: active.min(experts),
                width,
                gated: true,
                shared_width,
                ..Experts::default()
            })
        },
    )
}

fn block() -> impl Strategy<Value = BlockShape> {
    (
        prop_oneof![3 => grouped(), 1 => latent()],
        prop_oneof![dense(), experts()],
        any::<bool>(),
        prop_oneof![3 => Just(AttentionShape::Absent), 1 => state_space()],
    )
        .prop_map(|(attention, mlp, parallel, second_mixer)| BlockShape {
            norms: 2,
            parallel,
            attention,
            second_mixer,
            mlp,
            side: vec![Side {
                inputs: HEADS,
                outputs: 64,
            }],
        })
}

/// A model of one or two kinds of layer.
pub(crate) fn architectures() -> impl Strategy<Value = Architecture> {
    let blocks = prop::collection::vec(block(), 1..=2);
    let layers = prop::collection::vec(any::<bool>(), 1..12);
    (blocks, layers, 256_u64..4096, 0_u64..65_536, any::<bool>()).prop_map(
        |(blocks, layers, hidden, vocabulary, tied)| Architecture {
            id: "made-up".to_owned(),
            name: "made-up".to_owned(),
            hidden,
            vocabulary,
            max_context: 1 << 20,
            weights: Format::Bf16,
            only_experts_quantised: false,
            tied,
            norm: Norm::Rms,
            embedding_norm: false,
            final_norm: true,
            layer_embedding: None,
            more_streams: 1,
            positions: 0,
            head_bias: false,
            layers: layers
                .into_iter()
                .map(|second| usize::from(second).min(blocks.len() - 1))
                .collect(),
            blocks,
            mtp_modules: 0,
            mtp_layers: vec![0],
            outside: Vec::new(),
            vision: None,
            published_parameters: None,
            unknown_type: None,
            stored_bytes: None,
            published_active: None,
        },
    )
}

fn rate() -> impl Strategy<Value = FlopsPerSecond> {
    (1.0..2500.0).prop_map(|tera| FlopsPerSecond(tera * 1e12))
}

fn peaks() -> impl Strategy<Value = Peak> {
    let maybe = || prop::option::of(rate());
    (rate(), maybe(), maybe(), maybe(), maybe(), maybe(), maybe()).prop_map(
        |(fp32, fp16, accumulate, bf16, fp8, int8, fp4)| Peak {
            fp32: Some(fp32),
            tf32: None,
            fp16,
            fp16_fp16_accumulate: accumulate,
            bf16,
            fp8,
            fp8_fp16_accumulate: None,
            int8,
            fp4,
        },
    )
}

fn peer_to_peer() -> impl Strategy<Value = PeerToPeer> {
    select(vec![
        PeerToPeer::Yes,
        PeerToPeer::No,
        PeerToPeer::NvlinkOnly,
    ])
}

fn gigabytes_per_second(least: f64, most: f64) -> impl Strategy<Value = BytesPerSecond> {
    (least..most).prop_map(|rate| BytesPerSecond(rate * GB))
}

/// Whole dollars, few of them, so that equal prices are common.
fn price(most: i64) -> impl Strategy<Value = MicroUsd> {
    (1..=most).prop_map(|hundreds| MicroUsd(hundreds * 100_000_000))
}

/// An accelerator with a price.
pub(crate) fn accelerators() -> impl Strategy<Value = Accelerator> {
    let domains = (1_u32..=8, any::<bool>());
    let scale_up = prop::option::of((gigabytes_per_second(10.0, 900.0), domains).prop_map(
        |(bandwidth, (domain, between_hosts))| ScaleUp {
            name: "bridge".to_owned(),
            bandwidth,
            domain,
            between_hosts,
        },
    ));
    (
        (2.0..48.0, gigabytes_per_second(50.0, 8000.0), peaks()),
        (peer_to_peer(), any::<bool>(), scale_up),
        (price(40), 50.0..700.0, any::<bool>()),
    )
        .prop_map(
            |(
                (memory, memory_bandwidth, peak),
                (peer_to_peer, unified_memory, scale_up),
                (price, power, datacenter_licence),
            )| Accelerator {
                slices: 1,
                profiles: Vec::new(),
                limited_from: None,
                id: "a".to_owned(),
                name: "accelerator".to_owned(),
                vendor: "nobody".to_owned(),
                family: "none".to_owned(),
                form_factor: "pcie".to_owned(),
                datacenter_licence,
                peer_to_peer,
                unified_memory,
                memory: Bytes(memory * GB),
                memory_bandwidth,
                l2_cache: None,
                lanes: 128,
                peak,
                power: Some(Watts(power)),
                min_power: None,
                slots: None,
                pcie: None,
                scale_up,
                price: Some(price),
                offered: Offered::default(),
            },
        )
}

/// All-reduce over PCIe, which is no faster in a larger group.
pub(crate) fn buses() -> impl Strategy<Value = BusBandwidth> {
    (1.0..30.0, 0.1..1.0, 0.1..1.0).prop_map(|(of_2, to_4, to_8)| BusBandwidth {
        group_2: BytesPerSecond(of_2 * GB),
        group_4: BytesPerSecond(of_2 * to_4 * GB),
        group_8: BytesPerSecond(of_2 * to_4 * to_8 * GB),
    })
}

/// NICs that come with a host: none, or some of the network of that id.
pub(crate) fn included_nics() -> impl Strategy<Value = Option<IncludedNics>> {
    let included = (1_u32..=3, any::<bool>()).prop_map(|(count, optics)| IncludedNics {
        count,
        networks: vec!["n0".to_owned()],
        optics,
    });
    prop::option::of(included)
}

/// What is bought with a host in a rack.
fn in_racks() -> RackLines {
    RackLines {
        front_end_usd_per_accelerator: 217.0,
        management_usd_per_host: 50.0,
        storage_usd_per_accelerator: 3200.0,
        racks_usd_per_rack: 4250.0,
        rack_kilowatts: 40.0,
        freight: 0.035,
        spares: 0.011,
        memory_usd_per_host: 0.0,
        disks_usd_per_host: 0.0,
    }
}

/// A host for up to 8 accelerators.
pub(crate) fn hosts() -> impl Strategy<Value = Host> {
    (
        (1_u32..=8, any::<bool>(), 0_u32..=2),
        (
            prop::option::of(buses()),
            0.0..900.0,
            select(vec![0.0, 2.0, 8.0]),
        ),
        price(60),
        included_nics(),
    )
        .prop_map(
            |((slots, whole, nics), (bus, power, rack_units), price, included_nics)| Host {
                card_slots: None,
                power_supply: None,
                id: "h".to_owned(),
                name: "host".to_owned(),
                form_factors: vec!["pcie".to_owned()],
                slots,
                whole,
                on_request: false,
                link: "slot".to_owned(),
                all_reduce: bus
                    .map(|bus| ("default".to_owned(), bus))
                    .into_iter()
                    .collect(),
                nics,
                power: Watts(power),
                rack_units,
                lines: if rack_units > 0.0 {
                    in_racks()
                } else {
                    RackLines::default()
                },
                price: Some(price),
                on_sale: None,
                includes: None,
                included_nics,
                stores: Stores::default(),
                rent: None,
            },
        )
}

fn switches() -> impl Strategy<Value = Switch> {
    (2_u32..=32, price(50), 0.0..500.0).prop_map(|(ports, price, power)| Switch {
        id: format!("switch-{ports}"),
        name: "switch".to_owned(),
        ports,
        latency: Seconds(1e-6),
        power: Watts(power),
        rack_units: 1.0,
        price: Some(price),
    })
}

/// A network over the link that has its number.
pub(crate) fn networks() -> impl Strategy<Value = Network> {
    (
        any::<bool>(),
        select(vec![vec![1], vec![1, 2]]),
        price(9),
        prop::collection::vec(switches(), 0..=2),
        prop::option::of(price(2)),
    )
        .prop_map(|(rdma, nics_per_host, nic, mut switches, cable)| {
            switches.dedup_by_key(|switch| switch.ports);
            Network {
                id: "n".to_owned(),
                name: "network".to_owned(),
                link: "line".to_owned(),
                rdma,
                nics_per_host,
                nic: Nic {
                    id: "nic".to_owned(),
                    name: "adapter".to_owned(),
                    power: Watts(15.0),
                    pcie_generation: None,
                    price: Some(nic),
                },
                switches,
                oversubscription: 1,
                uplink: None,
                cable: cable.map(|price| Cable {
                    id: "cable".to_owned(),
                    name: "cable".to_owned(),
                    price: Some(price),
                }),
            }
        })
}

/// A link of a slot or of a network.
pub(crate) fn links(id: &'static str) -> impl Strategy<Value = Link> {
    (gigabytes_per_second(0.1, 60.0), prop::option::of(0.0..1e-4)).prop_map(
        move |(bandwidth, latency)| Link {
            id: id.to_owned(),
            name: id.to_owned(),
            kind: LinkKind::Pcie,
            bandwidth: Some(bandwidth),
            latency: latency.map(Seconds),
            downlink: None,
            loss: 0.0,
        },
    )
}

/// Bundled assumptions, with some of their choices made otherwise.
pub(crate) fn assumptions() -> impl Strategy<Value = Assumptions> {
    (
        select(vec!["article", "calibrated"]),
        any::<Option<(bool, bool, bool)>>(),
        prop::option::of(0.0..64.0),
    )
        .prop_map(|(id, flags, half_rows)| {
            let mut assumptions = bundled(id).assumptions.entity.clone();
            if let Some((traffic, attention, back)) = flags {
                assumptions.compute.activation_traffic = traffic;
                assumptions.compute.attention_time = attention;
                assumptions.communication.return_hop = back;
            }
            if let Some(half_rows) = half_rows {
                assumptions.compute.products.dense.half_rows = half_rows;
                assumptions.compute.products.experts.half_rows = half_rows;
                assumptions.accelerators.clear();
                assumptions.families.clear();
            }
            assumptions
        })
}

/// What is served, with long contexts: then capacities stay small enough to try every batch.
pub(crate) fn questions() -> impl Strategy<Value = Question> {
    (
        select(vec![Format::Bf16, Format::Fp16, Format::Int8, Format::Int4]),
        select(vec![Format::Bf16, Format::Fp8]),
        (512_u64..32_768, 1_u64..4096),
        select(vec![Overlap::None, Overlap::TwoBatch]),
    )
        .prop_map(|(weights, kv, (context, prompt), overlap)| Question {
            speculation: None,
            offload: None,
            adapters: None,
            encoder: None,
            context_ranks: None,
            allow_odd: true,
            formats: Formats::new(weights, kv),
            context,
            prompt,
            overlap,
        })
}
