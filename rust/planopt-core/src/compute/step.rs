//! A step as an operation sees it, and the time that one takes.

use crate::quantity::Seconds;

/// A step of a micro-batch, as an operation sees it.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Every one of `sequences` gains a token, with `context` tokens cached.
    Decode {
        /// Sequences of the micro-batch.
        sequences: f64,
        /// Tokens cached per sequence.
        context: f64,
    },
    /// One prompt of `tokens` is read.
    Prefill {
        /// Tokens of the prompt.
        tokens: f64,
    },
}

impl Step {
    /// Tokens that pass through the layers.
    pub fn tokens(self) -> f64 {
        match self {
            Self::Decode { sequences, .. } => sequences,
            Self::Prefill { tokens } => tokens,
        }
    }

    /// Tokens whose logits are needed.
    pub fn head_tokens(self) -> f64 {
        match self {
            Self::Decode { sequences, .. } => sequences,
            Self::Prefill { .. } => 1.0,
        }
    }
}

/// Time of one or several operations, and what it consists of.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperationTime {
    /// The larger of arithmetic and memory, with launches.
    pub total: Seconds,
    /// Arithmetic alone.
    pub compute: Seconds,
    /// Memory traffic alone.
    pub memory: Seconds,
}

impl OperationTime {
    pub(super) fn roofline(compute: f64, memory: f64, overhead: f64) -> Self {
        Self {
            total: Seconds(compute.max(memory) + overhead),
            compute: Seconds(compute),
            memory: Seconds(memory),
        }
    }

    /// Both, one after the other.
    #[must_use]
    pub fn then(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            compute: self.compute + other.compute,
            memory: self.memory + other.memory,
        }
    }

    /// The same `count` times.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        Self {
            total: self.total * count,
            compute: self.compute * count,
            memory: self.memory * count,
        }
    }
}
