//! What a layout chooses beside its degrees, under the words that name it.

use crate::quantity::Seconds;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Order in which a pipeline works through its micro-batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// All forward, then all backward (Huang et al., arXiv 1811.06965).
    GPipe,
    /// One forward, one backward (PipeDream-Flush; Narayanan et al., arXiv 2006.09503).
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
    /// The same with several chunks of layers on a stage (Narayanan et al., arXiv 2104.04473).
    Interleaved,
    /// Gradients of weights fill the bubble, in the memory of 1F1B (Qi et al., arXiv 2401.10241).
    #[serde(rename = "zb-h1")]
    ZeroBubbleH1,
    /// The same in twice the memory, without a bubble.
    #[serde(rename = "zb-h2")]
    ZeroBubbleH2,
    /// The same with two chunks of a stage, there and back (Qi et al., arXiv 2405.15362).
    #[serde(rename = "zb-v")]
    ZeroBubbleV,
    /// From both ends at once, with the parameters of two stages on each (arXiv 2412.19437).
    DualPipe,
}

impl Schedule {
    /// Time that a stage waits for the others, over that of 1F1B, where a micro-batch takes
    /// `forward` and `backward`, of which `weights` are gradients of weights. Zero-bubble: `(p - 1)
    /// (F + B - 2W)` and none; `DualPipe`: `(p/2 - 1)(F&B + B - 3W)` (arXiv 2412.19437, table 2).
    pub(crate) fn waits(self, stages: u32, [forward, backward, weights]: [Seconds; 3]) -> f64 {
        let pass = forward + backward;
        let others = f64::from(stages) - 1.0;
        if pass <= Seconds::ZERO || others <= 0.0 {
            return 1.0;
        }
        let left = match self {
            Self::GPipe | Self::OneForwardOneBackward | Self::Interleaved => return 1.0,
            Self::ZeroBubbleH1 => pass - weights * 2.0,
            Self::ZeroBubbleH2 | Self::ZeroBubbleV => Seconds::ZERO,
            Self::DualPipe => {
                let pairs = (f64::from(stages) / 2.0 - 1.0).max(0.0);
                (pass + backward - weights * 3.0) * (pairs / others)
            }
        };
        left.max(Seconds::ZERO) / pass
    }

    /// Whether a rank has one stage, from its input to its end.
    pub(crate) fn in_one_line(self) -> bool {
        matches!(
            self,
            Self::GPipe | Self::OneForwardOneBackward | Self::Interleaved
        )
    }
}

/// A module of a layer of which backward recomputes what forward would keep, by the names of
/// Megatron-Core (`--recompute-modules`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module {
    /// Scores and probabilities of attention that stores them (arXiv 2205.05198).
    CoreAttention,
    /// Outputs of normalisations.
    LayerNorm,
    /// Queries, keys and values out of their latents.
    LatentUp,
    /// What the activation function of a dense feed-forward network leaves: its kernel makes it
    /// again (Llama 3, arXiv 2407.21783).
    Activation,
    /// The same of routed experts.
    ExpertActivation,
    /// Dense feed-forward networks from their input on.
    Mlp,
    /// Routed experts from the layer's input on, with what brings tokens there.
    Experts,
}

impl Module {
    /// Each with the word that names it.
    pub(crate) const ALL: [(Self, &'static str); MODULES] = [
        (Self::CoreAttention, "core_attn"),
        (Self::LayerNorm, "layernorm"),
        (Self::LatentUp, "mla_up_proj"),
        (Self::Activation, "mlp_act"),
        (Self::ExpertActivation, "moe_act"),
        (Self::Mlp, "mlp"),
        (Self::Experts, "moe"),
    ];
}

/// How many there are.
pub(crate) const MODULES: usize = 7;

/// Some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Modules(u8);

impl Modules {
    /// The core of attention alone.
    pub const CORE: Self = Self(1);

    fn with(self, module: Module) -> Self {
        Self(self.0 | 1 << module as u8)
    }

    fn names(self, module: Module) -> bool {
        self.0 & 1 << module as u8 != 0
    }

    /// Whether what a module keeps is recomputed: a feed-forward network includes its activation.
    pub(crate) fn cover(self, module: Module) -> bool {
        let whole = match module {
            Module::Activation => self.names(Module::Mlp),
            Module::ExpertActivation => self.names(Module::Experts),
            _ => false,
        };
        whole || self.names(module)
    }
}

/// What backward recomputes instead of keeping it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recompute {
    /// Nothing.
    None,
    /// Some modules of every layer.
    Modules(Modules),
    /// Every layer, from its input.
    Full,
    /// Every layer, from the input of each run of so many.
    Block(u32),
    /// So many layers of a stage, each from its input; the others keep everything.
    Layers(u32),
}

impl Recompute {
    /// The core of attention: scores, probabilities and their dropout (arXiv 2205.05198).
    pub const SELECTIVE: Self = Self::Modules(Modules::CORE);
}

/// The word that asks for it.
impl fmt::Display for Recompute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str("none"),
            Self::SELECTIVE => f.write_str("selective"),
            Self::Modules(modules) => {
                let named = Module::ALL
                    .into_iter()
                    .filter(|(each, _)| modules.names(*each));
                let words: Vec<&str> = named.map(|(_, word)| word).collect();
                f.write_str(&words.join("+"))
            }
            Self::Full => f.write_str("full"),
            Self::Block(layers) => write!(f, "block:{layers}"),
            Self::Layers(layers) => write!(f, "layers:{layers}"),
        }
    }
}

impl Serialize for Recompute {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Recompute {
    /// What is accepted.
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let counted = || {
            let (kind, count) = word.split_once(':')?;
            let count = count.parse().ok().filter(|count| *count > 0)?;
            match kind {
                "block" => Some(Self::Block(count)),
                "layers" => Some(Self::Layers(count)),
                _ => None,
            }
        };
        match word {
            "none" => Ok(Self::None),
            "selective" => Ok(Self::SELECTIVE),
            "full" => Ok(Self::Full),
            _ => counted().or_else(|| modules(word)).ok_or_else(|| {
                let named = Module::ALL.map(|(_, word)| word).join(", ");
                format!(
                    "none, selective, full, block:K or layers:K with K from 1, or modules joined \
                     by +: {named}"
                )
            }),
        }
    }
}

/// Modules by their words, joined by `+`.
fn modules(words: &str) -> Option<Recompute> {
    let named = |word| Module::ALL.into_iter().find(|(_, name)| *name == word);
    let all = words.split('+').try_fold(Modules(0), |some, word| {
        named(word).map(|(module, _)| some.with(module))
    })?;
    Some(Recompute::Modules(all))
}

/// What data-parallel ranks divide among each other (Rajbhandari et al., arXiv 1910.02054).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Zero {
    /// Nothing.
    #[default]
    #[serde(alias = "0")]
    None,
    /// The optimizer's state.
    #[serde(alias = "1")]
    Zero1,
    /// And gradients.
    #[serde(alias = "2")]
    Zero2,
    /// And weights (FSDP).
    #[serde(alias = "3")]
    Zero3,
}

impl Zero {
    /// The word that asks for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zero1 => "zero1",
            Self::Zero2 => "zero2",
            Self::Zero3 => "zero3",
        }
    }
}

/// How tokens of one sequence on several ranks meet in attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContextParallel {
    /// Keys and values go round (Liu et al., arXiv 2310.01889).
    #[default]
    Ring,
    /// Heads are exchanged for tokens (Jacobs et al., arXiv 2309.14509).
    AllToAll,
}

#[cfg(test)]
mod tests {
    use super::Recompute;

    #[test]
    fn what_is_recomputed_is_read_by_the_word_that_says_it() {
        for recompute in [
            Recompute::None,
            Recompute::SELECTIVE,
            "layernorm+mla_up_proj+moe_act".parse().expect("modules"),
            "mlp".parse().expect("a module"),
            Recompute::Full,
            Recompute::Block(4),
            Recompute::Layers(2),
        ] {
            assert_eq!(recompute.to_string().parse(), Ok(recompute));
        }
        assert_eq!("core_attn".parse(), Ok(Recompute::SELECTIVE));
        for word in [
            "",
            "some",
            "mlp+",
            "mlp+some",
            "block",
            "block:0",
            "layers:-1",
            "full:2",
        ] {
            assert!(word.parse::<Recompute>().is_err(), "{word}");
        }
    }
}
