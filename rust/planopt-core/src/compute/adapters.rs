//! Adapters of low rank beside the products of every layer (Hu et al., "`LoRA`", arXiv 2106.09685),
//! of which each sequence of a batch has its own (Chen et al., "Punica", arXiv 2310.18547; Sheng et
//! al., "`S-LoRA`", arXiv 2311.03285). Formulas: `docs/reference/serving.md`, section 11.

use super::operation::{Choice, price_of_adapter};
use super::rank::{Rank, RankBlock};
use crate::format::Formats;
use crate::hardware::Rates;
use crate::load::serving::Adapters;
use crate::parallel::{Degrees, local_shape};
use crate::quantity::{Bytes, real};
use crate::transformer::{Operation, Role, Transformer, Work};

impl Rank {
    /// The same with adapters beside the products of its layers.
    #[must_use]
    pub fn with_adapters(
        mut self,
        adapters: Option<Adapters>,
        transformer: &Transformer,
        formats: Formats,
        rates: &Rates,
        degrees: Degrees,
    ) -> Self {
        if let Some(adapters) = adapters {
            for (block, kind) in self.blocks.iter_mut().zip(&transformer.blocks) {
                for operation in &kind.operations {
                    block.adapt(operation, adapters, formats, rates, degrees);
                }
            }
        }
        self
    }
}

impl RankBlock {
    /// Adds what adapters do beside a product: into their rank, and from there to what the product
    /// gives. They are divided as it is, so that the sum over ranks that follows it is theirs too.
    fn adapt(
        &mut self,
        operation: &Operation,
        adapters: Adapters,
        formats: Formats,
        rates: &Rates,
        degrees: Degrees,
    ) {
        let Work::MatMul {
            k,
            n,
            shard,
            experts,
            active,
        } = operation.work
        else {
            return;
        };
        // What chooses experts is the same for all sequences (`vllm-project/vllm`, `FusedMoEWithLoRA`).
        if operation.role == Role::Router {
            return;
        }
        let choice = Choice::new((experts, active), rates, degrees);
        let (k_local, n_local) = local_shape(k, n, shard, degrees.dividing(experts));
        let (count, rank) = (f64::from(adapters.count), f64::from(adapters.rank));
        let inward = (k_local, rank * real(operation.fused_matrices()));
        let outward = (rank, n_local);
        for shape in [inward, outward] {
            let elements = count * choice.resident() * shape.0 * shape.1;
            self.adapters += Bytes(elements * formats.activation_bytes());
            self.operations
                .push(price_of_adapter(shape, (count, choice), formats, rates));
        }
    }
}
