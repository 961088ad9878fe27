//! Whether a model can be divided so.

use super::choices::{ContextParallel, Schedule};
use super::layout::Layout;
use super::rejection::Rejection;
use crate::load::training::Recipe;
use crate::transformer::Transformer;

impl Layout {
    /// Whether the model can be served so; where it can be placed is [`Layout::place`].
    ///
    /// # Errors
    ///
    /// The first reason why not.
    pub fn check_served(&self, transformer: &Transformer) -> Result<(), Rejection> {
        let Self { tp, ep, pp, .. } = *self;
        if tp == 0 || !transformer.heads.is_multiple_of(u64::from(tp)) {
            let heads = transformer.heads;
            return Err(Rejection::Heads { tp, heads });
        }
        let layers = transformer.layers.len() as u64;
        if pp == 0 || u64::from(pp) > layers {
            return Err(Rejection::Layers {
                pp,
                vpp: None,
                layers,
            });
        }
        let experts = transformer.experts().unwrap_or(1);
        let ranks = self.degrees().expert_ranks();
        if ep == 0 || !ranks.is_multiple_of(ep) || !experts.is_multiple_of(u64::from(ep)) {
            return Err(Rejection::Experts {
                ep,
                ranks: Some(ranks),
                experts,
            });
        }
        Ok(())
    }

    /// Whether a run of the model can be divided so; where it can be placed is
    /// [`Groups::placed`](super::Groups::placed).
    ///
    /// # Errors
    ///
    /// The first reason why not.
    pub fn check_trained(
        &self,
        transformer: &Transformer,
        recipe: &Recipe,
    ) -> Result<(), Rejection> {
        let (tp, pp, vpp, cp, ep) = (self.tp, self.pp, self.vpp, self.cp, self.ep);
        if !transformer.heads.is_multiple_of(u64::from(tp)) {
            let heads = transformer.heads;
            return Err(Rejection::Heads { tp, heads });
        }
        let layers = transformer.layers.len() as u64;
        let chunks = u64::from(pp) * u64::from(vpp);
        // Embedding and head may have the first and the last chunk to themselves.
        if u64::from(pp) > layers || (vpp > 1 && chunks > layers + 2) {
            return Err(Rejection::Layers {
                pp,
                vpp: Some(vpp),
                layers,
            });
        }
        let step = self.dp * self.batch;
        if recipe.global_batch == 0 || !recipe.global_batch.is_multiple_of(step) {
            return Err(Rejection::GlobalBatch {
                global_batch: recipe.global_batch,
                dp: self.dp,
                micro_batch: self.batch,
            });
        }
        let micro_batches = self.micro_batches(recipe);
        let interleaved = self.schedule == Schedule::Interleaved;
        if vpp > 1 && !(interleaved && pp > 1 && micro_batches.is_multiple_of(pp)) {
            return Err(Rejection::Interleave {
                pp,
                vpp,
                micro_batches,
            });
        }
        self.check_experts(transformer)?;
        self.check_context(transformer, recipe)?;
        let replicas = self.data_ranks();
        if !self.expert_places().is_multiple_of(ep) {
            return Err(Rejection::ExpertRanks {
                ep,
                dp: self.dp,
                cp,
            });
        }
        match self.shard_group {
            Some(shard_group) if !replicas.is_multiple_of(shard_group) => {
                Err(Rejection::ShardGroup {
                    shard_group,
                    replicas,
                })
            }
            _ => Ok(()),
        }
    }

    fn check_experts(&self, transformer: &Transformer) -> Result<(), Rejection> {
        let (ep, experts) = (self.ep, transformer.experts().unwrap_or(1));
        if experts.is_multiple_of(u64::from(ep)) {
            return Ok(());
        }
        Err(Rejection::Experts {
            ep,
            ranks: None,
            experts,
        })
    }

    fn check_context(&self, transformer: &Transformer, recipe: &Recipe) -> Result<(), Rejection> {
        let cp = u64::from(self.cp);
        let divides = |of, count: u64| {
            if count.is_multiple_of(cp) {
                Ok(())
            } else {
                let cp = self.cp;
                Err(Rejection::Context { cp, of, count })
            }
        };
        divides("tokens of a sequence", u64::from(recipe.seq_len))?;
        if self.context_parallel == ContextParallel::AllToAll {
            let heads = transformer.heads / u64::from(self.tp);
            divides("attention heads of a rank", heads)?;
        }
        Ok(())
    }
}
