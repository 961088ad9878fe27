//! How the accelerators of one pipeline stage divide a model among each other.
//! Formulas: `docs/reference/model.md`, sections 1 and 4.

/// Degrees of parallelism inside of a stage of `tp` x `dp` ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Degrees {
    /// Tensor-parallel ranks: they divide attention, and every product that is no choice of experts.
    pub tp: u32,
    /// Groups of them, each with sequences of its own (attention data parallel).
    pub dp: u32,
    /// Parts that the experts are dealt to; all ranks together hold each expert once.
    pub ep: u32,
}

impl Degrees {
    /// Tensor parallelism alone.
    pub const fn tensor(tp: u32) -> Self {
        Self { tp, dp: 1, ep: 1 }
    }

    /// Ranks of the stage.
    pub const fn ranks(self) -> u32 {
        self.tp * self.dp
    }

    /// Ranks that divide the matrices of one expert.
    pub const fn expert_tp(self) -> u32 {
        self.ranks() / self.ep
    }

    /// Ranks that divide a product with a choice of so many matrices.
    pub(crate) const fn dividing(self, experts: u64) -> u32 {
        if experts > 1 {
            self.expert_tp()
        } else {
            self.tp
        }
    }

    /// Parts that so many matrices are dealt to.
    pub(crate) const fn parts(self, experts: u64) -> u32 {
        if experts > 1 { self.ep } else { 1 }
    }
}
