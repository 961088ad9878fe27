//! The prefix cache in runs is an LRU of single blocks, hit by hit.

use planopt_core::serving::engine::{Prefixes, Stretch};
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

/// Prompts of a published trace by pieces of 512 tokens; none where `PLANOPT_SHARED`, which has
/// them, is not named.
fn mooncake(name: &str) -> Option<Vec<(u64, Vec<Stretch>)>> {
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
        let prompt: u64 = fields[1].parse().expect("tokens");
        let mut left = prompt / BLOCK;
        let path = fields[4].split(' ').map(|id| {
            let blocks = left.min(PIECE / BLOCK);
            left -= blocks;
            Stretch {
                run: id.parse().expect("an id"),
                blocks,
            }
        });
        (prompt, path.collect())
    });
    Some(rows.collect())
}

/// Tokens of a block of the cache, and of a piece that the traces hash.
const BLOCK: u64 = 16;
const PIECE: u64 = 512;

/// Blocks found of a trace, of which one token is always read, in runs and one by one.
fn hits(trace: &[(u64, Vec<Stretch>)], capacity: u64) -> (u64, u64) {
    let (mut runs, mut single) = (Prefixes::default(), Blocks::default());
    let mut hits = (0, 0);
    for (prompt, path) in trace {
        let (most, whole) = ((prompt - 1) / BLOCK, prompt / BLOCK);
        let found = (runs.find(path, most).blocks, single.find(path, most));
        runs.hold(path, found.0);
        single.hold(path, found.1);
        runs.leave(path, found.0, whole);
        single.leave(path, found.1, whole);
        runs.trim(capacity);
        single.trim(capacity);
        hits = (hits.0 + found.0, hits.1 + found.1);
    }
    hits
}

/// At 50,000 and at ten million tokens.
#[test]
fn traces_hit_as_block_by_block() {
    for name in ["conversation", "synthetic"] {
        let Some(trace) = mooncake(name) else {
            return;
        };
        for capacity in [3_125, 625_000] {
            let (in_runs, one_by_one) = hits(&trace, capacity);
            assert_eq!(in_runs, one_by_one, "{name}, {capacity} blocks");
        }
    }
}
