//! The words that choose, and what they stand for.

use super::training::{ContextParallel, Recompute, Schedule, Sharding};
use crate::diagnostic::Problems;
use crate::diagnostic::option::unknown_name;

pub(crate) const SCHEDULES: [(&str, Schedule); 3] = [
    ("gpipe", Schedule::GPipe),
    ("1f1b", Schedule::OneForwardOneBackward),
    ("interleaved", Schedule::Interleaved),
];

pub(crate) const CONTEXT_PARALLEL: [(&str, ContextParallel); 2] = [
    ("ring", ContextParallel::Ring),
    ("all-to-all", ContextParallel::AllToAll),
];

pub(crate) const SHARDINGS: [(&str, Sharding); 4] = [
    ("none", Sharding::None),
    ("zero1", Sharding::Zero1),
    ("zero2", Sharding::Zero2),
    ("zero3", Sharding::Zero3),
];

pub(crate) const OFFLOADS: [&str; 2] = ["optimizer", "activations"];

/// `none`, `selective`, `full`, `block:K` or `layers:K`.
pub(crate) fn recompute(word: Option<&str>, problems: &mut Problems) -> Recompute {
    let parsed = match word {
        None | Some("none") => Some(Recompute::None),
        Some("selective") => Some(Recompute::Selective),
        Some("full") => Some(Recompute::Full),
        Some(other) => other.split_once(':').and_then(|(kind, count)| {
            let count = count.parse().ok().filter(|count| *count > 0)?;
            match kind {
                "block" => Some(Recompute::Block(count)),
                "layers" => Some(Recompute::Layers(count)),
                _ => None,
            }
        }),
    };
    parsed.unwrap_or_else(|| {
        let accepted = "none, selective, full, block:K or layers:K with K from 1".to_owned();
        problems.push(unknown_name(
            "recompute",
            word.unwrap_or_default(),
            accepted,
        ));
        Recompute::None
    })
}

/// The word that asks for it.
pub(crate) fn recompute_word(recompute: Recompute) -> String {
    match recompute {
        Recompute::None => "none".to_owned(),
        Recompute::Selective => "selective".to_owned(),
        Recompute::Full => "full".to_owned(),
        Recompute::Block(layers) => format!("block:{layers}"),
        Recompute::Layers(layers) => format!("layers:{layers}"),
    }
}

/// The word that asks for it.
pub(crate) fn sharding_word(sharding: Sharding) -> &'static str {
    word(&SHARDINGS, sharding)
}

/// The word that asks for a choice.
pub(crate) fn word<T: Copy + PartialEq>(words: &[(&'static str, T)], choice: T) -> &'static str {
    let named = words.iter().find(|(_, one)| *one == choice);
    named.map_or("none", |(name, _)| name)
}
