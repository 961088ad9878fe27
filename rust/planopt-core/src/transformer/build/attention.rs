//! What mixes the tokens of a layer, with the projections around it.

use super::product::product;
use crate::transformer::architecture::AttentionShape;
use crate::transformer::operation::{Operation, Role, Shard, Work};

/// Everything of a mixer but the all-reduce behind it.
pub(super) fn mixer(hidden: u64, shape: &AttentionShape) -> Vec<Operation> {
    let mut operations = inward_projections(hidden, shape);
    operations.extend(attention(shape));
    operations.extend(outward_projection(hidden, shape));
    operations
}

pub(super) fn attention(shape: &AttentionShape) -> Option<Operation> {
    let (role, name, work, parameters) = match *shape {
        AttentionShape::Grouped {
            heads,
            kv_heads,
            head_dim,
            window,
            ..
        } => {
            let work = Work::Attention {
                heads,
                kv_heads,
                head_dim,
                window,
            };
            (Role::Attention, "attention", work, 0)
        }
        AttentionShape::Latent {
            heads,
            latent,
            rope,
            nope,
            value,
            ..
        } => {
            let work = Work::LatentAttention {
                heads,
                latent,
                rope,
                nope,
                value,
            };
            (Role::Attention, "attention", work, 0)
        }
        AttentionShape::Mamba2(mixer) => (
            Role::Scan,
            "scan",
            Work::StateSpace(mixer),
            mixer.own_parameters(),
        ),
        AttentionShape::Absent => return None,
    };
    Some(Operation {
        role,
        name,
        work,
        parameters,
        quantised: false,
    })
}

/// Everything between the residual stream and attention.
fn inward_projections(hidden: u64, shape: &AttentionShape) -> Vec<Operation> {
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
            let fused = product(
                Role::QueryKeyValue,
                "query_key_value",
                hidden,
                query + key_value,
                shard,
            )
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
                vec![product(Role::Query, "query", hidden, query, Shard::Columns)]
            } else {
                vec![
                    product(
                        Role::QueryDown,
                        "query_down",
                        hidden,
                        query_rank,
                        Shard::Replicated,
                    )
                    .and(query_rank),
                    product(Role::QueryUp, "query_up", query_rank, query, Shard::Columns),
                ]
            };
            projections.extend([
                product(
                    Role::KeyValueDown,
                    "key_value_down",
                    hidden,
                    latent + rope,
                    Shard::Replicated,
                )
                .and(latent),
                product(
                    Role::KeyValueUp,
                    "key_value_up",
                    latent,
                    heads * (nope + value),
                    Shard::Columns,
                ),
            ]);
            projections
        }
        AttentionShape::Mamba2(mixer) => {
            vec![product(
                Role::MixerInput,
                "mixer_input",
                hidden,
                mixer.columns(),
                Shard::Columns,
            )]
        }
        AttentionShape::Absent => Vec::new(),
    }
}

fn outward_projection(hidden: u64, shape: &AttentionShape) -> Option<Operation> {
    let (role, name, values, bias) = match *shape {
        AttentionShape::Grouped {
            heads,
            head_dim,
            output_bias,
            ..
        } => (
            Role::AttentionOutput,
            "attention_output",
            heads * head_dim,
            output_bias,
        ),
        AttentionShape::Latent { heads, value, .. } => (
            Role::AttentionOutput,
            "attention_output",
            heads * value,
            false,
        ),
        AttentionShape::Mamba2(mixer) => (Role::MixerOutput, "mixer_output", mixer.inner(), false),
        AttentionShape::Absent => return None,
    };
    let output = product(role, name, values, hidden, Shard::Rows);
    Some(output.and(if bias { hidden } else { 0 }))
}
