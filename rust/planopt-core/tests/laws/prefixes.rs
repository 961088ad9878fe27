//! The prefix cache in runs is an LRU of single blocks, hit by hit.

use planopt_core::load::Hashed;
use planopt_core::serving::engine::{Footprint, Prefixes, Stretch};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::process::{Command, Stdio};

/// A block, by its run and its place in it.
type Block = (u64, u64);

/// The same cache, block by block.
#[derive(Default)]
struct Blocks {
    /// When each was last used, and by how many it is held.
    all: HashMap<Block, (u64, u32)>,
    idle: BTreeMap<u64, Block>,
    clock: u64,
}

fn blocks(path: &[Stretch]) -> impl DoubleEndedIterator<Item = Block> + '_ {
    path.iter()
        .flat_map(|stretch| (0..stretch.blocks).map(move |at| (stretch.run, at)))
}

impl Blocks {
    fn find(&self, path: &[Stretch], most: u64) -> u64 {
        let first = (0..most).zip(blocks(path));
        let known = first.take_while(|(_, block)| self.all.contains_key(block));
        known.count() as u64
    }

    fn hold(&mut self, path: &[Stretch], count: u64) {
        for (_, block) in (0..count).zip(blocks(path)) {
            let (used, held) = self.all.get_mut(&block).expect("it was found");
            self.idle.remove(used);
            *held += 1;
        }
    }

    fn leave(&mut self, path: &[Stretch], held: u64, count: u64) -> u64 {
        let all: Vec<(u64, Block)> = (0..count).zip(blocks(path)).collect();
        let mut freed = 0;
        for (at, block) in all.into_iter().rev() {
            self.clock += 1;
            let (used, holders) = self.all.entry(block).or_insert((0, 0));
            self.idle.remove(used);
            *used = self.clock;
            if at < held {
                *holders -= 1;
                freed += u64::from(*holders == 0);
            }
            if *holders == 0 {
                self.idle.insert(self.clock, block);
            }
        }
        freed
    }

    fn trim(&mut self, room: u64) {
        while self.idle.len() as u64 > room {
            let (_, block) = self.idle.pop_first().expect("there is one");
            self.all.remove(&block);
        }
    }
}

/// What may happen: a prompt of a group's head, a session behind it and a fork off that, which comes
/// in, and leaves after others have come and gone.
#[derive(Clone, Debug)]
struct Visit {
    path: Vec<Stretch>,
    room: u64,
    stays: usize,
    more: u64,
}

fn visit() -> impl Strategy<Value = Visit> {
    let path = (0..2_u64, 1..6_u64, 0..5_u64, 0..20_u64, 0..3_u64, 0..9_u64);
    (path, 0..60_u64, 0..4_usize, 0..6_u64).prop_map(|(of, room, stays, more)| {
        let (group, head, session, history, fork, own) = of;
        let stretch = |run, blocks| Stretch { run, blocks };
        // All of a group have the same head: where one ends the next begins.
        let path = vec![
            stretch(group, if session == 0 { head } else { 5 }),
            stretch(10 + 5 * group + session, history),
            stretch(100 + 1000 * history + 10 * session + 3 * group + fork, own),
        ];
        let alone = vec![path[0]];
        Visit {
            path: if session == 0 { alone } else { path },
            room,
            stays,
            more,
        }
    })
}

proptest! {
    #[test]
    fn runs_are_blocks(visits in prop::collection::vec(visit(), 1..120)) {
        let (mut runs, mut single) = (Prefixes::default(), Blocks::default());
        let mut inside: Vec<(usize, Visit, u64)> = Vec::new();
        for (now, visit) in visits.into_iter().enumerate() {
            let whole: u64 = visit.path.iter().map(|stretch| stretch.blocks).sum();
            let most = whole.saturating_sub(visit.more);
            let found = runs.find(&visit.path, most);
            prop_assert_eq!(found.blocks, single.find(&visit.path, most));
            let idle_before = runs.idle();
            runs.hold(&visit.path, found.blocks);
            single.hold(&visit.path, found.blocks);
            prop_assert_eq!(runs.idle(), idle_before - found.idle);
            inside.push((now + visit.stays, visit, found.blocks));
            let (gone, stay) = inside.into_iter().partition(|(until, ..)| *until <= now);
            inside = stay;
            let gone: Vec<(usize, Visit, u64)> = gone;
            for (_, visit, held) in gone {
                let whole: u64 = visit.path.iter().map(|stretch| stretch.blocks).sum();
                let freed = runs.leave(&visit.path, held, whole);
                prop_assert_eq!(freed, single.leave(&visit.path, held, whole));
                runs.trim(visit.room);
                single.trim(visit.room);
                prop_assert_eq!(runs.idle(), single.idle.len() as u64);
            }
        }
    }
}

/// Prompts of a published trace and their pieces of 512 tokens; none where `PLANOPT_SHARED`, which has
/// them, is not named.
fn mooncake(name: &str) -> Option<(Vec<u32>, Hashed)> {
    let Ok(folder) = std::env::var("PLANOPT_SHARED") else {
        return None;
    };
    let mut unzipped = Command::new("gzip")
        .args(["-dc", &format!("{folder}/traces/mooncake_{name}.csv.gz")])
        .stdout(Stdio::piped())
        .spawn()
        .expect("gzip");
    let mut text = String::new();
    let read = unzipped.stdout.take().expect("piped");
    std::io::BufReader::new(read)
        .read_to_string(&mut text)
        .expect("text");
    assert!(unzipped.wait().expect("it ends").success());
    let rows = text.lines().skip(1).map(|row| {
        let fields: Vec<&str> = row.split(',').collect();
        let pieces = fields[4].split(' ');
        let pieces: Vec<u64> = pieces.map(|id| id.parse().expect("an id")).collect();
        (fields[1].parse::<u32>().expect("tokens"), pieces)
    });
    let (prompts, pieces) = rows.unzip();
    let tokens = PIECE;
    Some((prompts, Hashed { tokens, pieces }))
}

/// Tokens of a block of the cache, and of a piece that the traces hash.
const BLOCK: u32 = 16;
const PIECE: u32 = 512;

/// Prompts as they go through a cache.
fn paths(
    (prompts, hashed): &(Vec<u32>, Hashed),
) -> impl Iterator<Item = (u64, u64, Vec<Stretch>)> + '_ {
    prompts.iter().zip(&hashed.pieces).map(|(prompt, pieces)| {
        let mut left = u64::from(prompt / BLOCK);
        let path = pieces.iter().map(|&run| {
            let blocks = left.min(u64::from(PIECE / BLOCK));
            left -= blocks;
            Stretch { run, blocks }
        });
        // One token is always read.
        let most = u64::from((prompt - 1) / BLOCK);
        (most, u64::from(prompt / BLOCK), path.collect())
    })
}

/// Blocks found of a trace.
fn hits(trace: &(Vec<u32>, Hashed), capacity: u64) -> u64 {
    let mut runs = Prefixes::default();
    let each = paths(trace).map(|(most, whole, path)| {
        let found = runs.find(&path, most).blocks;
        runs.hold(&path, found);
        runs.leave(&path, found, whole);
        runs.trim(capacity);
        found
    });
    each.sum()
}

/// The same, block by block.
fn hits_one_by_one(trace: &(Vec<u32>, Hashed), capacity: u64) -> u64 {
    let mut single = Blocks::default();
    let each = paths(trace).map(|(most, whole, path)| {
        let found = single.find(&path, most);
        single.hold(&path, found);
        single.leave(&path, found, whole);
        single.trim(capacity);
        found
    });
    each.sum()
}

const TRACES: [&str; 2] = ["conversation", "synthetic"];

/// Compares them, and says whether there are traces.
fn are_alike(capacities: &[u64]) -> bool {
    for name in TRACES {
        let Some(trace) = mooncake(name) else {
            return false;
        };
        for &capacity in capacities {
            let (runs, blocks) = (hits(&trace, capacity), hits_one_by_one(&trace, capacity));
            assert_eq!(runs, blocks, "{name}, {capacity} blocks");
        }
    }
    true
}

/// At 50,000 and at ten million tokens.
#[test]
fn traces_hit_as_block_by_block() {
    let _ = are_alike(&[3_125, 625_000]); // Not everybody has the traces.
}

#[test]
#[ignore = "a minute: `make sessions`"]
fn traces_hit_as_block_by_block_at_ten_capacities() {
    let there_are_traces = are_alike(&[
        3_125, 6_250, 12_500, 31_250, 62_500, 125_000, 187_500, 312_500, 625_000, 3_125_000,
    ]);
    assert!(there_are_traces, "PLANOPT_SHARED names no folder of them");
}

/// From 50,000 to 50 million tokens, without a run through a cache.
#[test]
#[expect(clippy::cast_precision_loss, reason = "tokens")]
fn what_traces_find_is_estimated_within_two_points() {
    for name in TRACES {
        let Some(trace) = mooncake(name) else {
            return;
        };
        let footprint = Footprint::of(&trace.1, &trace.0);
        let all: u64 = trace.0.iter().map(|&prompt| u64::from(prompt)).sum();
        let mut errors = Vec::new();
        for room in [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0] {
            let tokens = 1e6 * room;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "blocks"
            )]
            let blocks = (tokens / f64::from(BLOCK)) as u64;
            let found = (hits(&trace, blocks) * u64::from(BLOCK)) as f64 / all as f64;
            errors.push(100.0 * (footprint.hit_rate(tokens) - found));
        }
        let worst = errors
            .iter()
            .fold(0.0_f64, |worst, each| worst.max(each.abs()));
        assert!(worst <= 2.0, "{name}: {errors:?}");
    }
}

/// Two prompts of ten pieces, the second with the first's beginning: it finds that, if it is still there.
#[test]
fn a_footprint_is_what_lies_between() {
    let pieces = vec![(0..10).collect(), (20..30).collect(), (0..10).collect()];
    let hashed = Hashed {
        tokens: 100,
        pieces,
    };
    let footprint = Footprint::of(&hashed, &[1000, 1000, 1000]);
    assert!((footprint.all_hit_rate - 1.0 / 3.0).abs() < 1e-9);
    assert!(footprint.hit_rate(200.0) < 0.02);
    assert!((footprint.hit_rate(1e6) - 1.0 / 3.0).abs() < 1e-9);
}
