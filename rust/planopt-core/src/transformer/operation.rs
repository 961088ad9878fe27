//! The operations of a transformer: the one list that parameters, memory, FLOPs, bytes and
//! messages are all derived from.

use crate::format::Formats;
use crate::quantity::real;
use serde::Serialize;

/// How the tensor-parallel ranks of a group divide an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shard {
    /// Every rank does all of it.
    Replicated,
    /// Each rank holds a share of the columns (the outputs).
    Columns,
    /// Each rank holds a share of the rows (the inputs): the outputs are partial sums.
    Rows,
    /// Columns by attention head: `query` of them by query head, `key_value` of them by
    /// key/value head, of which there are `kv_heads`; a rank holds at least one whole head.
    Heads {
        /// Query columns.
        query: u64,
        /// Key and value columns.
        key_value: u64,
        /// Key/value heads.
        kv_heads: u64,
    },
}

/// How a state goes from one token to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// It decays and is added to (Mamba-2, arXiv 2405.21060).
    #[serde(rename = "mamba2")]
    Decay,
    /// It decays and is corrected by what it says of a key (gated delta rule, arXiv 2412.06464):
    /// a decay and a rate of each head.
    GatedDelta,
    /// The same with a decay of each element of a key (Kimi Linear, arXiv 2510.26692); decays and
    /// the gate behind come out of a projection as narrow as a head.
    KimiDelta,
    /// There is none: a convolution between two gates (LFM2).
    Convolution,
}

impl Rule {
    /// Whether states are updated by what they lack of a value.
    pub fn is_delta(self) -> bool {
        matches!(self, Self::GatedDelta | Self::KimiDelta)
    }
}

/// The mixer of a layer whose heads carry a state from token to token in place of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StateSpace {
    /// How the state goes on.
    #[serde(rename = "kind")]
    pub rule: Rule,
    /// Heads.
    pub heads: u64,
    /// Width of a head.
    pub head_dim: u64,
    /// Groups of heads that share their inputs and outputs of the state, `B` and `C`: keys and
    /// queries of the delta rules.
    pub groups: u64,
    /// Width of the state of each element of a head.
    pub state: u64,
    /// Tokens that the convolution reads.
    pub conv: u64,
    /// Tokens that are worked on together.
    pub chunk: u64,
    /// Whether a gated normalisation of all heads stands behind it, where states decay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalised: Option<bool>,
}

impl StateSpace {
    /// Width of the heads together.
    pub fn inner(&self) -> u64 {
        self.heads * self.head_dim
    }

    /// Elements of a token that go through the convolution: heads, `B` and `C` (values, keys and
    /// queries).
    pub fn convolved(&self) -> u64 {
        self.inner() + 2 * self.groups * self.state
    }

    /// What is projected of a token: gates, what is convolved, and the steps, decays or rates of
    /// each head.
    pub fn columns(&self) -> u64 {
        let gates = match self.rule {
            Rule::Decay => self.inner() + self.heads,
            Rule::GatedDelta => self.inner() + 2 * self.heads,
            Rule::KimiDelta => self.narrow_columns() + self.heads,
            Rule::Convolution => 2 * self.inner(),
        };
        gates + self.convolved()
    }

    /// Of these, what comes out of projections as narrow as a head.
    pub fn narrow_columns(&self) -> u64 {
        match self.rule {
            Rule::KimiDelta => 2 * self.inner(),
            Rule::Decay | Rule::GatedDelta | Rule::Convolution => 0,
        }
    }

    /// Parameters beside those of the projections: the convolution (Mamba's with a bias), the decay,
    /// the skip and the bias of the time step of each head, and the normalisation, whose gains the
    /// heads of delta rules share.
    pub fn own_parameters(&self) -> u64 {
        let convolution = self.convolved() * self.conv;
        match self.rule {
            Rule::Decay => {
                let is_normalised = self.normalised == Some(true);
                let norm = if is_normalised { self.inner() } else { 0 };
                convolution + self.convolved() + 3 * self.heads + norm
            }
            Rule::GatedDelta => convolution + 2 * self.heads + self.head_dim,
            Rule::KimiDelta => convolution + self.heads + self.inner() + self.head_dim,
            Rule::Convolution => convolution,
        }
    }

    /// Products of all states by a vector each that a token takes: one to read them, one to add to
    /// them, and under a delta rule one to ask what they say of its key.
    pub fn state_products(&self) -> u64 {
        match self.rule {
            Rule::Decay => 2,
            Rule::GatedDelta | Rule::KimiDelta => 3,
            Rule::Convolution => 0,
        }
    }
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A product of `m` tokens by a `k` x `n` matrix, or, of `experts` such matrices, by the
    /// `active` ones that a token is routed to.
    MatMul {
        /// Inputs.
        k: u64,
        /// Outputs.
        n: u64,
        /// How it is divided.
        shard: Shard,
        /// Matrices to choose from: 1 but for experts.
        experts: u64,
        /// Matrices that a token meets: 1 but for experts.
        active: u64,
    },
    /// Attention of grouped heads over the cached keys and values (MHA, GQA, MQA).
    Attention {
        /// Query heads.
        heads: u64,
        /// Key/value heads.
        kv_heads: u64,
        /// Width of a query or key.
        head_dim: u64,
        /// Width of a value.
        value_dim: u64,
        /// Tokens that a token may look back on, itself included, where that is limited.
        window: Option<u64>,
        /// Tokens of these that an indexer selects for it, where one does.
        selected: Option<u64>,
        /// Whether its keys and values are cached here, or those of an earlier layer are read.
        cached: bool,
    },
    /// Scores every cached token by a small key of its own, for attention to select the best of them
    /// (lightning indexer: DeepSeek-V3.2, arXiv 2512.02556). Every rank does all of it.
    Index {
        /// Query heads.
        heads: u64,
        /// Width of the cached key, which all heads share.
        head_dim: u64,
    },
    /// Multi-head latent attention over the cached latent (DeepSeek-V2, arXiv 2405.04434).
    LatentAttention {
        /// Query heads.
        heads: u64,
        /// Width of the cached latent.
        latent: u64,
        /// Width of the cached rotary key.
        rope: u64,
        /// Width of a head's part of the key without rotation.
        nope: u64,
        /// Width of a head's value.
        value: u64,
        /// Tokens that an indexer selects for a token to look at, where one does.
        selected: Option<u64>,
    },
    /// The scan of a state-space layer with the convolution before it and the gated normalisation
    /// behind it.
    StateSpace(StateSpace),
    /// Picks one row of `width` per token out of a table, of which each rank holds a share of the
    /// rows.
    Gather {
        /// Elements of a row.
        width: u64,
    },
    /// Reads and writes a vector of `width` per token: normalisation, position embedding.
    Elementwise {
        /// Elements read per token.
        width: u64,
    },
    /// Sums a vector of `width` per token over the tensor-parallel group.
    AllReduce {
        /// Elements per token.
        width: u64,
    },
}

/// Kernels of latent attention over a prompt: norms of both latents, rotation, keys and values
/// brought back, their parts and those of the queries joined, values padded, the cache written,
/// and attention itself (`modeling_deepseek.py` of DeepSeek-V3, attention without products).
const OF_LATENT_ATTENTION: u32 = 9;

/// Kernels of a delta rule over a prompt: convolution, norms of queries and keys, gates, and six of the
/// rule by chunks: sums of decays, products of keys, their inverse, what is written, states, outputs
/// (`chunk_gated_delta_rule_fwd` of flash-linear-attention).
const OF_DELTA_RULE: u32 = 10;

impl Work {
    /// Kernels that a host launches for it where no graph of them does: so many for experts.
    pub fn kernels(&self, of_experts: u32) -> u32 {
        match self {
            Self::LatentAttention { .. } => OF_LATENT_ATTENTION,
            Self::MatMul { experts, .. } if *experts > 1 => of_experts,
            Self::StateSpace(mixer) if mixer.rule.is_delta() => OF_DELTA_RULE,
            _ => 1,
        }
    }

    /// Whether it brings tokens together: a layer has one of these, and its small kernels around it.
    pub fn mixes_tokens(&self) -> bool {
        matches!(
            self,
            Self::Attention { .. } | Self::LatentAttention { .. } | Self::StateSpace(_)
        )
    }
}

/// What an operation is for. Formulas ask for it where its work alone does not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Brings tokens to their vectors.
    Embedding,
    /// The same where its matrix is the head's, too.
    SharedEmbedding,
    /// Adds the vector of a token's position.
    PositionEmbedding,
    /// Normalises the stream.
    Norm,
    /// Small and beside the stream: embeddings of layers, residuals of low rank, other streams.
    Side,
    /// Queries alone.
    Query,
    /// Queries, keys and values: three matrices in one.
    QueryKeyValue,
    /// Queries, and keys that are values as well: two matrices in one.
    QueryKey,
    /// Into the latent of queries.
    QueryDown,
    /// Queries out of their latent.
    QueryUp,
    /// Into the latent of keys and values.
    KeyValueDown,
    /// Keys and values out of their latent.
    KeyValueUp,
    /// Queries and keys of an indexer.
    IndexInput,
    /// Attention itself, or an indexer.
    Attention,
    /// Back from the heads of attention.
    AttentionOutput,
    /// Into a state-space mixer.
    MixerInput,
    /// A state-space mixer itself.
    Scan,
    /// Back from a state-space mixer.
    MixerOutput,
    /// Chooses experts.
    Router,
    /// Into a feed-forward network.
    Up,
    /// The same with its gate: two matrices in one.
    GateUp,
    /// Back from a feed-forward network.
    Down,
    /// Into a narrow width: that of experts, or of the gates of a mixer.
    LatentDown,
    /// Out of a narrow width.
    LatentUp,
    /// Joins both streams of multi-token prediction.
    MtpProjection,
    /// Stands for every matrix of a layer.
    Nominal,
    /// Brings vectors back to tokens.
    Head,
    /// Sums over the tensor-parallel group.
    AllReduce,
}

/// One operation of a layer, of the embedding or of the head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it is for.
    pub role: Role,
    /// Name to show, as in `experts_gate_up`: it decides nothing.
    pub name: &'static str,
    /// What it does.
    pub work: Work,
    /// Parameters: the matrix or matrices with their biases, or the gains of a normalisation. The
    /// few that are neither belong to the product they go with: normalisation of queries and keys
    /// and attention sinks to `query_key_value`, normalisation of latents to `query_down` and
    /// `key_value_down`, that of an indexer's keys to `index_key`, the gate on shared experts to
    /// `shared_gate_up`.
    pub parameters: u64,
    /// Of them, those in the weight format of the model; the rest stays in 16 bits.
    pub quantised: bool,
}

impl Operation {
    /// Matrices of the published model that the product multiplies by at once.
    pub fn fused_matrices(&self) -> u64 {
        match self.role {
            Role::QueryKeyValue => 3,
            Role::QueryKey | Role::GateUp => 2,
            _ => 1,
        }
    }

    /// Parameters that a token meets: of experts, its share.
    pub fn active_parameters(&self) -> u64 {
        match self.work {
            Work::MatMul {
                experts, active, ..
            } => self.parameters / experts * active,
            _ => self.parameters,
        }
    }

    /// Bytes of each of its parameters, in these formats.
    pub fn stored_bytes(&self, formats: Formats) -> f64 {
        let ends = formats.weights.ends();
        let (own, of_format) = match self.role {
            Role::Embedding => (None, ends.map(|ends| ends.embedding)),
            Role::Head | Role::SharedEmbedding => (formats.stored.head, ends.map(|ends| ends.head)),
            _ if self.quantised => {
                let of_format = formats.weights.bytes_per_element();
                (formats.stored.weights, Some(of_format))
            }
            _ => (None, None),
        };
        own.or(of_format)
            .unwrap_or_else(|| formats.activation_bytes())
    }
}

impl Operation {
    /// Arithmetic on one token: two operations for each weight that it meets. Attention over the
    /// cache depends on the context and is not counted.
    pub fn flop_per_token(&self) -> f64 {
        match self.work {
            Work::MatMul { k, n, active, .. } => multiply_and_add(k * n * active),
            _ => 0.0,
        }
    }

    /// Weights that project a token to its key and value: the work that a cache of keys and values
    /// saves. Latent attention caches the outcome of its `key_value_down` instead.
    pub fn key_value_weights(&self) -> u64 {
        match self.work {
            Work::MatMul {
                k,
                shard: Shard::Heads { key_value, .. },
                ..
            } => k * key_value,
            _ => 0,
        }
    }

    /// Arithmetic of these weights on one token.
    pub fn key_value_flop_per_token(&self) -> f64 {
        multiply_and_add(self.key_value_weights())
    }
}

fn multiply_and_add(weights: u64) -> f64 {
    2.0 * real(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(shard: Shard) -> Operation {
        Operation {
            role: Role::Up,
            name: "product",
            work: Work::MatMul {
                k: 8,
                n: 12,
                shard,
                experts: 1,
                active: 1,
            },
            parameters: 96,
            quantised: true,
        }
    }

    #[test]
    fn keys_and_values_are_part_of_their_product() {
        let heads = product(Shard::Heads {
            query: 8,
            key_value: 4,
            kv_heads: 2,
        });
        assert_eq!(heads.key_value_weights(), 32);
        assert_eq!(
            heads.key_value_flop_per_token().to_bits(),
            64.0_f64.to_bits()
        );
        assert_eq!(product(Shard::Columns).key_value_weights(), 0);
    }
}
