//! A transformer as the list of its operations.

mod architecture;
mod build;
mod huggingface;
mod operation;
mod vision;

pub(crate) use self::architecture::set_kv_heads;
pub use self::architecture::{
    Architecture, AttentionShape, BlockShape, Experts, Heads, Indexer, KeyValue, LayerEmbedding,
    MlpShape, Norm, Side,
};
pub(crate) use self::huggingface::NOT_A_MODEL;
pub use self::huggingface::read_config;
pub use self::operation::{Operation, Role, Rule, Shard, StateSpace, Work};

pub use self::vision::{ImageSize, Seen, Vision};

use crate::format::Format;

/// Modules of multi-token prediction, at most: more than were ever trained.
pub const MOST_MTP_MODULES: u32 = 16;

/// A kind of layer: most models have one, some alternate between a few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its operations, in the order they run.
    pub operations: Vec<Operation>,
}

/// Predicts one token further than what stands before it; in training alone (multi-token
/// prediction: DeepSeek-V3, arXiv 2412.19437, section 2.2). Between its entry and its exit it has
/// layers of its own, as a rule one of the kind of the model's last; embedding and head are the
/// model's.
#[derive(Clone, Debug)]
pub struct MtpModule {
    /// The token's embedding and the stream before, each normalised, and projected to one.
    pub entry: Vec<Operation>,
    /// Kinds of its layers, as indices into [`Transformer::blocks`].
    pub kinds: Vec<usize>,
    /// Its own final normalisation, and the head.
    pub exit: Vec<Operation>,
}

/// What proposes tokens that the model then checks all at once (speculative decoding: Leviathan et
/// al., arXiv 2211.17192).
#[derive(Clone, Debug)]
pub enum Drafter {
    /// Its own module of multi-token prediction.
    Mtp,
    /// A smaller model with the same vocabulary.
    Model(Box<Transformer>),
}

/// A model: its kinds of layer, which layer is of which kind, and what stands before and after.
#[derive(Clone, Debug)]
pub struct Transformer {
    /// Catalog id, or the name of the file it was read from.
    pub id: String,
    /// Full name.
    pub name: String,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Query heads: what a tensor-parallel degree must divide.
    pub heads: u64,
    /// Longest context the model was made for.
    pub max_context: u64,
    /// Kinds of layer.
    pub blocks: Vec<Block>,
    /// The kind of each layer, as an index into `blocks`.
    pub layers: Vec<usize>,
    /// Before the first layer: token and position embeddings.
    pub embedding: Vec<Operation>,
    /// After the last layer: final normalisation and language-model head.
    pub head: Vec<Operation>,
    /// Whether the head uses the embedding's matrix (its own operation then has no parameters).
    pub tied: bool,
    /// One module of multi-token prediction, were the model trained with any.
    pub mtp: MtpModule,
    /// Modules of multi-token prediction that the model is published with.
    pub mtp_modules: u32,
    /// Parameters of the checkpoint outside of the list, with what they are: (what, count).
    pub outside: Vec<(String, u64)>,
    /// Format the weights are published in.
    pub weights: Format,
    /// What drafts for it where it is served, if anything does.
    pub drafter: Option<Drafter>,
}

/// The largest number that divides both.
pub(crate) fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

impl Transformer {
    /// Every operation of the model in the order it runs, those of a layer as often as it occurs.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        let layers = self
            .layers
            .iter()
            .flat_map(|&kind| &self.blocks[kind].operations);
        self.embedding.iter().chain(layers).chain(&self.head)
    }

    /// Every operation of one module of multi-token prediction; none of [`Transformer::operations`]
    /// is among them.
    pub fn mtp_operations(&self) -> impl Iterator<Item = &Operation> {
        let MtpModule { entry, kinds, exit } = &self.mtp;
        let layers = kinds.iter().flat_map(|&kind| &self.blocks[kind].operations);
        entry.iter().chain(layers).chain(exit)
    }

    /// Parameters of one module of multi-token prediction beside those it shares with the model.
    pub fn mtp_parameters(&self) -> u64 {
        self.mtp_operations()
            .map(|operation| operation.parameters)
            .sum()
    }

    /// Experts that an expert-parallel degree must divide in every kind of layer that has a choice;
    /// none in a dense model.
    pub fn experts(&self) -> Option<u64> {
        let operations = self.blocks.iter().flat_map(|block| &block.operations);
        operations
            .filter_map(|operation| match operation.work {
                Work::MatMul { experts, .. } if experts > 1 => Some(experts),
                _ => None,
            })
            .reduce(greatest_common_divisor)
    }

    /// Whether any layer carries a state from token to token in place of a cache.
    pub fn has_state_space(&self) -> bool {
        let operations = self.blocks.iter().flat_map(|block| &block.operations);
        operations
            .into_iter()
            .any(|operation| matches!(operation.work, Work::StateSpace(_)))
    }

    /// Whether a context must be whole on its ranks: where a state goes from token to token, or tokens
    /// are selected from all of it.
    pub fn needs_whole_contexts(&self) -> bool {
        let mut operations = self.blocks.iter().flat_map(|block| &block.operations);
        self.has_state_space()
            || operations.any(|operation| matches!(operation.work, Work::Index { .. }))
    }

    /// Parameters of the whole list without multi-token prediction; those of a checkpoint are more
    /// by that and by [`Transformer::outside`].
    pub fn parameters(&self) -> u64 {
        self.operations()
            .map(|operation| operation.parameters)
            .sum()
    }

    /// Parameters that a token meets: all but the experts it is not routed to. Embeddings count,
    /// which some published figures leave out.
    pub fn active_parameters(&self) -> u64 {
        self.operations().map(Operation::active_parameters).sum()
    }
}

/// All-reduces of the residual stream on the path of a token.
pub(crate) fn all_reduces(transformer: &Transformer) -> f64 {
    let count = |operations: &[crate::transformer::operation::Operation]| {
        operations
            .iter()
            .filter(|operation| {
                operation.work
                    == (Work::AllReduce {
                        width: transformer.hidden,
                    })
            })
            .count()
    };
    let of_layers: usize = transformer
        .layers
        .iter()
        .map(|&kind| count(&transformer.blocks[kind].operations))
        .sum();
    let all = of_layers + count(&transformer.embedding) + count(&transformer.head);
    f64::from(u32::try_from(all).unwrap_or(u32::MAX))
}
