//! The words that choose, and what they stand for.

use crate::ask::request::unknown_name;
use crate::catalog::Format;
use crate::diagnostic::Problems;
use crate::training::{ContextParallel, Optimizer, Precision, Recompute, Schedule, Sharding};

pub(super) const SCHEDULES: [(&str, Schedule); 3] = [
    ("gpipe", Schedule::GPipe),
    ("1f1b", Schedule::OneForwardOneBackward),
    ("interleaved", Schedule::Interleaved),
];
pub(super) const CONTEXT_PARALLEL: [(&str, ContextParallel); 2] = [
    ("ring", ContextParallel::Ring),
    ("all-to-all", ContextParallel::AllToAll),
];
pub(super) const SHARDINGS: [(&str, Sharding); 4] = [
    ("none", Sharding::None),
    ("zero1", Sharding::Zero1),
    ("zero2", Sharding::Zero2),
    ("zero3", Sharding::Zero3),
];
pub(super) const PRECISIONS: [(&str, Precision); 5] = [
    ("bf16", Precision::Bf16),
    ("fp16", Precision::Fp16),
    ("fp8", Precision::Fp8),
    ("nvfp4", Precision::Nvfp4),
    ("fp32", Precision::Fp32),
];
pub(super) const GRADIENTS: [(&str, Format); 3] = [
    ("fp32", Format::Fp32),
    ("bf16", Format::Bf16),
    ("fp16", Format::Fp16),
];
pub(super) const OPTIMIZERS: [(&str, Optimizer); 5] = [
    ("adam", Optimizer::Adam),
    ("adam8bit", Optimizer::Adam8bit),
    ("sgd", Optimizer::Sgd),
    ("adafactor", Optimizer::Adafactor),
    ("muon", Optimizer::Muon),
];
pub(super) const OFFLOADS: [&str; 2] = ["optimizer", "activations"];

/// What a word stands for, the first choice where none is given.
pub(super) fn chosen<T: Copy>(
    option: &str,
    word: Option<&str>,
    choices: &[(&str, T)],
    problems: &mut Problems,
) -> T {
    let default = choices[0].1;
    let Some(word) = word else {
        return default;
    };
    let named = choices.iter().find(|(name, _)| *name == word);
    named.map_or_else(
        || {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            problems.push(unknown_name(option, word, names.join(", ")));
            default
        },
        |(_, choice)| *choice,
    )
}

/// `none`, `selective`, `full`, `block:K` or `layers:K`.
pub(super) fn recompute(word: Option<&str>, problems: &mut Problems) -> Recompute {
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
