//! How the accelerators of one pipeline stage divide a model among each other.
//! Formulas: `docs/reference/model.md`, sections 1 and 4.

/// Degrees of parallelism inside of a stage of `tp` x `cp` x `dp` ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Degrees {
    /// Tensor-parallel ranks: they divide attention, and every product that is no choice of experts.
    pub tp: u32,
    /// Context-parallel ranks of each of them: they hold the same weights, and divide the tokens of
    /// prompts and of the cache.
    pub cp: u32,
    /// Groups of them, each with sequences of its own (attention data parallel).
    pub dp: u32,
    /// Parts that the experts are assigned to; `tp` x `dp` ranks together hold each expert once.
    pub ep: u32,
}

impl Degrees {
    /// Tensor parallelism alone.
    #[inline]
    pub const fn tensor(tp: u32) -> Self {
        Self {
            tp,
            cp: 1,
            dp: 1,
            ep: 1,
        }
    }

    /// Ranks of the stage.
    #[inline]
    pub const fn ranks(self) -> u32 {
        self.expert_ranks() * self.cp
    }

    /// Ranks among which the experts are assigned: each context-parallel rank has all of them again.
    #[inline]
    pub const fn expert_ranks(self) -> u32 {
        self.tp * self.dp
    }

    /// The same without a division of contexts.
    #[must_use]
    #[inline]
    pub const fn with_whole_contexts(self) -> Self {
        Self { cp: 1, ..self }
    }

    /// Ranks that divide the matrices of one expert.
    #[inline]
    pub const fn expert_tp(self) -> u32 {
        self.expert_ranks() / self.ep
    }

    /// Ranks that divide a product with a choice of so many matrices.
    #[inline]
    pub(crate) const fn dividing(self, experts: u64) -> u32 {
        if experts > 1 {
            self.expert_tp()
        } else {
            self.tp
        }
    }

    /// Parts that so many matrices are assigned to.
    #[inline]
    pub(crate) const fn parts(self, experts: u64) -> u32 {
        if experts > 1 { self.ep } else { 1 }
    }
}

/// The divisors of `count` around `wanted`: the largest below and the smallest above.
pub(crate) fn divisors_around(count: u64, wanted: u64) -> String {
    let divides = |divisor: &u64| count.is_multiple_of(*divisor);
    let below = (1..wanted.min(count + 1)).rev().find(divides);
    let above = (wanted + 1..=count).find(divides);
    match (below, above) {
        (Some(below), Some(above)) => format!("{below} or {above}"),
        (Some(one), None) | (None, Some(one)) => one.to_string(),
        (None, None) => "1".to_owned(),
    }
}
