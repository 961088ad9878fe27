//! Sessions that are asked about: those of a workload, with what is said of them in its place.

use super::reader::Reader;
use super::request::{Sessions, Workload};
use super::served::lengths;
use crate::catalog::{CacheDisks, Catalog, SessionsOfWorkload};
use crate::diagnostic::code;
use crate::hardware::{Inventory, Selection};
use crate::load::{self, EngineOptions};
use crate::quantity::real;
use crate::request::{Engine, read};
use crate::serving::engine::Turns;
use serde_json::{Map, Value, json};

/// The workload of sessions where none is named.
const USUAL: &str = "agentic-coding";

/// Sessions as a load has them, with what their turns come to.
#[derive(Debug)]
pub(super) struct Talk {
    workload: Value,
    load: Value,
    pub(super) turns: Turns,
}

/// Refuses memories behind the accelerators that what serves does not use.
pub(super) fn kept_behind(
    reader: &mut Reader,
    catalog: &Catalog,
    engine: &Engine,
    options: &EngineOptions,
) {
    // An engine that nobody knows is told of elsewhere.
    let Ok(assumptions) = engine.assumptions(catalog) else {
        return;
    };
    let does = assumptions.host_cache(options.kv_connector);
    let mut wrong = |option, message, accepted| {
        reader.wrong(code::CONTRADICTION, option, message, accepted);
    };
    if options.cache_disks.is_some() && does.disks == CacheDisks::None {
        let message = "this engine keeps no cache on disks";
        wrong("cache_disks", message, "--engine vllm or sglang");
    }
    if options.shared_store && options.cache_disks.is_none() {
        wrong("shared_store", "a store of what?", "with --cache-disks N");
    } else if options.shared_store && does.disks != CacheDisks::Shared {
        let message = "what this engine keeps on disks others do not read";
        wrong(
            "shared_store",
            message,
            "--engine sglang, or --kv-connector lmcache",
        );
    }
}

/// Leaves hosts out that have not the memory which caches are to have, and refuses what none has.
pub(super) fn kept_in_hosts(
    reader: &mut Reader,
    catalog: &Catalog,
    hardware: &mut Selection,
    options: &EngineOptions,
) {
    let Some(asked) = options.host_cache_bytes else {
        return;
    };
    let most = hardware.most_memory(&Inventory::of(catalog));
    if let Some(most) = most.filter(|&most| most < asked) {
        let message = format!("no host has {:.0} GB for it", asked / 1e9);
        let accepted = format!("at most {:.0} GB; --extra-memory buys more", most / 1e9);
        reader.wrong(code::OPTION_OUT_OF_RANGE, "host_cache", message, accepted);
    }
    hardware.host_memory_bytes = asked;
}

impl Talk {
    /// The sessions, if some are asked about, and the workload with what they make of it.
    pub(super) fn of(
        reader: &mut Reader,
        catalog: &Catalog,
        asked: &Sessions,
        workload: &mut Workload,
    ) -> Option<Self> {
        if asked.alive.is_none() {
            for name in [
                "router",
                "router_load_weight",
                "host_cache",
                "extra_memory",
                "cache_disks",
                "shared_store",
                "kv_connector",
            ] {
                if reader.is_given(name) && !reader.is_given("traffic") {
                    let accepted = "with --sessions N, or --traffic that says what is alike";
                    reader.wrong(code::MISSING_OPTION, name, "for whose prompts?", accepted);
                }
            }
            for name in ["turns", "grow", "shared", "think"] {
                if reader.is_given(name) {
                    let accepted = "with --sessions N";
                    reader.wrong(code::MISSING_OPTION, name, "of which sessions?", accepted);
                }
            }
            return None;
        }
        if !reader.is_given("workload") {
            workload.name = Some(USUAL.to_owned());
            reader.assume(
                "workload",
                format!("{USUAL}: sessions as its sources have them"),
                Some("say --workload NAME; `planopt catalog show` has the sources"),
            );
        }
        let usual = catalog
            .workload(workload.name.as_deref().unwrap_or(USUAL))
            .ok()?;
        let Some(sessions) = &usual.sessions else {
            let message = format!("`{}` says nothing of sessions", usual.id);
            let accepted = "agentic-coding, assistant or rag-chat, or a workload with `[sessions]`";
            reader.wrong(code::MISSING_KEY, "workload", message, accepted);
            return None;
        };
        let output = workload.output.map_or(f64::from(usual.output), real);
        let load = as_load(
            sessions,
            asked,
            &lengths(output, usual.output_cv),
            workload.context,
        );
        let drawn: load::Sessions = read(&load).ok()?;
        workload.users = asked.alive;
        Some(Self {
            turns: Turns::of(&drawn),
            workload: usual.id.as_str().into(),
            load,
        })
    }

    /// As a plan records them, in the shape of a load.
    pub(super) fn record(self, recorded: &mut Map<String, Value>) {
        recorded.insert("workload".to_owned(), self.workload);
        recorded.insert("session_load".to_owned(), self.load);
    }
}

/// Sessions of a workload, where nothing else is said, as the load of a simulation has them.
fn as_load(
    usual: &SessionsOfWorkload,
    asked: &Sessions,
    output: &Value,
    context: Option<u64>,
) -> Value {
    let turns = asked.turns.map_or(usual.turns, real);
    let turns = match usual.turns_cv {
        Some(_) if turns > 1.0 => lengths(turns, usual.turns_cv),
        _ => json!({ "kind": "exponential", "mean": turns }),
    };
    let mean: f64 = usual
        .think
        .iter()
        .map(|[share, mean, _]| share * mean)
        .sum();
    let times = asked.think.map_or(1.0, |think| think / mean);
    let think = usual
        .think
        .iter()
        .map(|[share, mean, cv]| json!({ "share": share, "mean_seconds": times * mean, "cv": cv }));
    let grow = asked.grow.map_or(usual.grow, real);
    json!({
        "shared": asked.shared.unwrap_or(u64::from(usual.shared)),
        "groups": usual.groups,
        "first": lengths(usual.first, usual.first_cv),
        "grow": lengths(grow, usual.grow_cv),
        "output": output,
        "turns": turns,
        "think": think.collect::<Vec<_>>(),
        "longest_think_seconds": usual.longest_think,
        "max_context": context.unwrap_or(u64::from(usual.max_context)),
    })
}
