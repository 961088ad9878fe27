//! A step as an operation sees it, and the time that one takes.

use crate::quantity::{EQUALLY_LONG, Seconds};

/// A step of a micro-batch, as an operation sees it: parts of prompts that are read, and sequences
/// that gain a token. Products see the tokens of both together, attention sees each part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Prompts of which a chunk is read.
    pub prompts: f64,
    /// Tokens of such a chunk.
    pub chunk: f64,
    /// Tokens of the prompt that are cached before it.
    pub cached: f64,
    /// Sequences that gain a token.
    pub sequences: f64,
    /// Tokens cached of each of them.
    pub context: f64,
    /// Tokens that each of them has drafted beside the one it gains (speculative decoding).
    pub drafted: f64,
    /// Tokens that other attention data-parallel ranks bring to the experts meanwhile.
    pub remote_tokens: f64,
    /// Context-parallel ranks among which the tokens of each chunk, and of each context, are divided.
    pub split: f64,
}

impl Default for Step {
    /// Nothing to do, divided among nobody.
    fn default() -> Self {
        Self {
            prompts: 0.0,
            chunk: 0.0,
            cached: 0.0,
            sequences: 0.0,
            context: 0.0,
            drafted: 0.0,
            remote_tokens: 0.0,
            split: 1.0,
        }
    }
}

impl Step {
    /// Every one of `sequences` gains a token, with `context` tokens cached.
    #[inline]
    pub fn decode(sequences: f64, context: f64) -> Self {
        Self {
            sequences,
            context,
            ..Self::default()
        }
    }

    /// One prompt of `tokens` is read, whole and alone.
    #[inline]
    pub fn prefill(tokens: f64) -> Self {
        Self::default().with_chunk(tokens, 0.0)
    }

    /// The same, and the next `tokens` of a prompt of which `cached` are read already.
    #[must_use]
    #[inline]
    pub fn with_chunk(self, tokens: f64, cached: f64) -> Self {
        Self {
            prompts: if tokens > 0.0 { 1.0 } else { 0.0 },
            chunk: tokens,
            cached,
            ..self
        }
    }

    /// Tokens that pass through the layers of one rank: context-parallel ranks share those of
    /// prompts, and all see those that are decoded.
    #[inline]
    pub fn tokens(self) -> f64 {
        self.prompts * self.chunk / self.split + self.decoded_tokens()
    }

    /// Tokens of the sequences that decode: the one each gains, and those it has drafted.
    #[inline]
    pub fn decoded_tokens(self) -> f64 {
        self.sequences * (1.0 + self.drafted)
    }

    /// The same step as the busiest of `dp` attention data-parallel ranks sees it, to which
    /// prompts and sequences are assigned one by one.
    #[must_use]
    #[inline]
    pub fn divided_among(self, dp: f64) -> Self {
        if dp <= 1.0 {
            return self;
        }
        let busiest = Self {
            prompts: (self.prompts / dp).ceil(),
            sequences: (self.sequences / dp).ceil(),
            ..self
        };
        // Ranks with sequences all have as many as the busiest: engines fill up the others.
        let decoded = busiest.decoded_tokens() * dp.min(self.sequences);
        let everywhere = self.prompts * self.chunk + decoded;
        Self {
            remote_tokens: everywhere - busiest.tokens(),
            ..busiest
        }
    }

    /// Tokens whose logits are needed: the last of each chunk, and each decoded one.
    #[inline]
    pub fn head_tokens(self) -> f64 {
        self.prompts + self.decoded_tokens()
    }
}

/// The longer of arithmetic and memory traffic, smoothly: the larger root of
/// `t^2 - (a + b) t + overlap a b = 0`, the non-rectangular hyperbola. It is their maximum where one
/// hides behind the other in full (`overlap` 1) and their sum where nothing does (0).
#[inline]
pub fn roofline(compute: f64, memory: f64, overlap: f64) -> f64 {
    compute.max(memory) + exposed(compute, memory, overlap)
}

/// What of the shorter of the two does not hide behind the longer: the roofline less the longer,
/// written so that nothing cancels.
#[inline]
fn exposed(compute: f64, memory: f64, overlap: f64) -> f64 {
    let apart = (compute - memory).abs();
    let product = (1.0 - overlap) * compute * memory;
    if product > 0.0 {
        2.0 * product / (apart + (apart * apart + 4.0 * product).sqrt())
    } else {
        0.0
    }
}

/// Time of one or several operations, in parts that sum to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperationTime {
    /// Arithmetic: all of it where it takes longer than memory traffic, else what does not hide
    /// behind that.
    pub compute: Seconds,
    /// Memory traffic, in the same way.
    pub memory: Seconds,
    /// Launches.
    pub host: Seconds,
}

impl OperationTime {
    #[inline]
    pub(super) fn roofline(compute: f64, memory: f64, overlap: f64, overhead: f64) -> Self {
        let exposed = exposed(compute, memory, overlap);
        let (compute, memory) = if compute > memory * EQUALLY_LONG {
            (compute, exposed)
        } else {
            (exposed, memory)
        };
        Self {
            compute: Seconds(compute),
            memory: Seconds(memory),
            host: Seconds(overhead),
        }
    }

    /// All of it.
    #[inline]
    pub fn total(self) -> Seconds {
        self.compute + self.memory + self.host
    }

    /// Both, one after the other.
    #[must_use]
    #[inline]
    pub fn then(self, other: Self) -> Self {
        Self {
            compute: self.compute + other.compute,
            memory: self.memory + other.memory,
            host: self.host + other.host,
        }
    }

    /// Arithmetic and memory traffic so many times as long; launches as they are.
    #[must_use]
    #[inline]
    pub(super) fn slower(self, factor: f64) -> Self {
        Self {
            compute: self.compute * factor,
            memory: self.memory * factor,
            host: self.host,
        }
    }

    /// The same `count` times.
    #[must_use]
    #[inline]
    pub fn times(self, count: f64) -> Self {
        Self {
            compute: self.compute * count,
            memory: self.memory * count,
            host: self.host * count,
        }
    }
}
