//! Attention and the projections around it.

use super::product;
use crate::transformer::{AttentionShape, Operation, Shard, Work};

pub(super) fn attention(shape: &AttentionShape) -> Operation {
    let work = match *shape {
        AttentionShape::Grouped {
            heads,
            kv_heads,
            head_dim,
            window,
            ..
        } => Work::Attention {
            heads,
            kv_heads,
            head_dim,
            window,
        },
        AttentionShape::Latent {
            heads,
            latent,
            rope,
            nope,
            value,
            ..
        } => Work::LatentAttention {
            heads,
            latent,
            rope,
            nope,
            value,
        },
    };
    Operation {
        name: "attention",
        work,
        parameters: 0,
        quantised: false,
    }
}

/// Everything between the residual stream and attention.
pub(super) fn inward_projections(hidden: u64, shape: &AttentionShape) -> Vec<Operation> {
    match *shape {
        AttentionShape::Grouped {
            heads,
            kv_heads,
            head_dim,
            query_bias,
            key_value_bias,
            query_key_norm,
            sinks,
            ..
        } => {
            let query = heads * head_dim;
            let key_value = 2 * kv_heads * head_dim;
            let shard = Shard::Heads {
                query,
                key_value,
                kv_heads,
            };
            let fused = product("query_key_value", hidden, query + key_value, shard)
                .and(if query_bias { query } else { 0 })
                .and(if key_value_bias { key_value } else { 0 })
                .and(query_key_norm)
                .and(if sinks { heads } else { 0 });
            vec![fused]
        }
        AttentionShape::Latent {
            heads,
            query_rank,
            latent,
            rope,
            nope,
            value,
        } => {
            let query = heads * (nope + rope);
            let mut projections = if query_rank == 0 {
                vec![product("query", hidden, query, Shard::Columns)]
            } else {
                vec![
                    product("query_down", hidden, query_rank, Shard::Replicated).and(query_rank),
                    product("query_up", query_rank, query, Shard::Columns),
                ]
            };
            projections.extend([
                product("key_value_down", hidden, latent + rope, Shard::Replicated).and(latent),
                product(
                    "key_value_up",
                    latent,
                    heads * (nope + value),
                    Shard::Columns,
                ),
            ]);
            projections
        }
    }
}

pub(super) fn attention_output(hidden: u64, shape: &AttentionShape) -> Operation {
    let (values, bias) = match *shape {
        AttentionShape::Grouped {
            heads,
            head_dim,
            output_bias,
            ..
        } => (heads * head_dim, output_bias),
        AttentionShape::Latent { heads, value, .. } => (heads * value, false),
    };
    product("attention_output", values, hidden, Shard::Rows).and(if bias { hidden } else { 0 })
}
