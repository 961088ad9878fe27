//! What a layout chooses beside its degrees, under the words that name it.

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
}

/// What forward does again instead of keeping it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recompute {
    /// Nothing.
    None,
    /// The core of attention: scores, probabilities and their dropout (arXiv 2205.05198).
    Selective,
    /// Every layer, from its input.
    Full,
    /// Every layer, from the input of each run of so many.
    Block(u32),
    /// So many layers of a stage, each from its input; the others keep everything.
    Layers(u32),
}

/// The word that asks for it.
impl fmt::Display for Recompute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Selective => f.write_str("selective"),
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
            "selective" => Ok(Self::Selective),
            "full" => Ok(Self::Full),
            _ => counted().ok_or_else(|| {
                "none, selective, full, block:K or layers:K with K from 1".to_owned()
            }),
        }
    }
}

/// What data-parallel ranks divide among each other (Rajbhandari et al., arXiv 1910.02054).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Zero {
    /// Nothing.
    #[default]
    None,
    /// The optimizer's state.
    Zero1,
    /// And gradients.
    Zero2,
    /// And weights (FSDP).
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
            Recompute::Selective,
            Recompute::Full,
            Recompute::Block(4),
            Recompute::Layers(2),
        ] {
            assert_eq!(recompute.to_string().parse(), Ok(recompute));
        }
        for word in ["", "some", "block", "block:0", "layers:-1", "full:2"] {
            assert!(word.parse::<Recompute>().is_err(), "{word}");
        }
    }
}
