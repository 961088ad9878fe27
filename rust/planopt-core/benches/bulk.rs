//! Evaluation in bulk and by random access, on one thread: `cargo bench -p planopt-core`.
//! `planopt bench` measures the same on all threads.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use planopt_core::bulk::{Candidates, Tally, Walk};
use planopt_core::catalog::Catalog;
use planopt_core::request::read;
use planopt_core::request::space::{
    ServingSpaceRequest, TrainingSpaceRequest, with_serving_space, with_training_space,
};

use serde::de::DeserializeOwned;

#[path = "../tests/support/mod.rs"]
#[expect(dead_code, reason = "spaces are read by their own door")]
mod support;

use support::grouped;

/// Candidates of a measurement of bulk evaluation: a few milliseconds.
const BULK: u64 = 1 << 20;
/// Candidates of a measurement of random access.
const RANDOM: u64 = 1 << 12;
/// From one index to the next: 2^64 over the golden ratio, far from any short period.
const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const TRAINING: &str = include_str!("../../../benchmarks/spaces/training.toml");
const SERVING: &str = include_str!("../../../benchmarks/spaces/serving.toml");

/// A space of `benchmarks/spaces`.
fn space<T: DeserializeOwned>(text: &str) -> T {
    let mut tables: toml::Table = toml::from_str(text).expect("a space that ships");
    for told in ["kind", "about"] {
        tables.remove(told);
    }
    let mut tables = serde_json::to_value(tables).expect("plain values");
    if let Some(run) = tables.get_mut("run") {
        *run = grouped("evaluate_training", run);
    }
    read(&tables).expect("a space that ships")
}

fn measure<S: Candidates>(bench: &mut Criterion, name: &str, space: &S) {
    let mut group = bench.benchmark_group(name);
    group.measurement_time(Duration::from_secs(5));
    let mut walker = space.walker();
    let bulk = BULK.min(space.count());
    group.throughput(Throughput::Elements(bulk));
    group.bench_function("bulk", |timer| {
        timer.iter(|| {
            let mut tally = Tally::default();
            walker.walk(0, bulk, &mut tally);
            black_box(tally)
        });
    });
    group.throughput(Throughput::Elements(RANDOM));
    let mut sample = 0_u64;
    group.bench_function("random access", |timer| {
        timer.iter(|| {
            let mut tally = Tally::default();
            let indices = (0..RANDOM).map(|_| {
                sample = sample.wrapping_add(STRIDE);
                sample % space.count()
            });
            let indices: Vec<u64> = indices.collect();
            walker.visit(&indices, &mut tally);
            black_box(tally)
        });
    });
    group.finish();
}

fn spaces(bench: &mut Criterion) {
    let catalogs = Path::new(REPOSITORY).join("catalogs");
    let catalog = Catalog::load(&catalogs, &[], "calibrated").expect("the bundled catalog");
    let request: TrainingSpaceRequest = space(TRAINING);
    with_training_space(&catalog, &request, |space| {
        measure(bench, "training", space);
    })
    .expect("a space that ships");
    let request: ServingSpaceRequest = space(SERVING);
    with_serving_space(&catalog, &request, |space| measure(bench, "serving", space))
        .expect("a space that ships");
}

criterion_group!(benches, spaces);
criterion_main!(benches);
