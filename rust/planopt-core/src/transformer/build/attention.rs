//! What mixes the tokens of a layer, with the projections around it.

use super::product::{divided, other, product, whole};
use crate::transformer::architecture::{AttentionShape, Heads, Indexer, KeyValue};
use crate::transformer::operation::{Operation, Role, Shard, StateSpace, Work};

/// Everything of a mixer but the all-reduce behind it.
pub(super) fn mixer(hidden: u64, shape: &AttentionShape) -> Vec<Operation> {
    let mut operations = inward_projections(hidden, shape);
    operations.extend(indexer(hidden, shape));
    operations.extend(attention(shape));
    operations.extend(outward_projection(hidden, shape));
    operations
}

pub(super) fn attention(shape: &AttentionShape) -> Option<Operation> {
    let (role, name, work, parameters) = match *shape {
        AttentionShape::Grouped(own) => {
            let work = Work::Attention {
                heads: own.heads,
                kv_heads: own.kv_heads,
                head_dim: own.head_dim,
                value_dim: own.value_dim,
                window: own.window,
                selected: own.selected,
                cached: own.key_value != KeyValue::Earlier,
            };
            (Role::Attention, "attention", work, 0)
        }
        AttentionShape::Latent {
            heads,
            latent,
            rope,
            nope,
            value,
            selected,
            ..
        } => {
            let work = Work::LatentAttention {
                heads,
                latent,
                rope,
                nope,
                value,
                selected,
            };
            (Role::Attention, "attention", work, 0)
        }
        AttentionShape::StateSpace(mixer) => (
            Role::Scan,
            "scan",
            Work::StateSpace(mixer),
            mixer.own_parameters(),
        ),
        AttentionShape::Absent => return None,
    };
    Some(other(role, name, work).and(parameters))
}

/// Everything between the residual stream and attention.
fn inward_projections(hidden: u64, shape: &AttentionShape) -> Vec<Operation> {
    match *shape {
        AttentionShape::Grouped(own) => vec![grouped_projection(hidden, own)],
        AttentionShape::Latent {
            heads,
            query_rank,
            latent,
            rope,
            nope,
            value,
            ..
        } => {
            let query = heads * (nope + rope);
            let mut projections = if query_rank == 0 {
                vec![divided(Role::Query, "query", hidden, query)]
            } else {
                vec![
                    whole(Role::QueryDown, "query_down", hidden, query_rank).and(query_rank),
                    divided(Role::QueryUp, "query_up", query_rank, query),
                ]
            };
            projections.extend([
                whole(Role::KeyValueDown, "key_value_down", hidden, latent + rope).and(latent),
                divided(
                    Role::KeyValueUp,
                    "key_value_up",
                    latent,
                    heads * (nope + value),
                ),
            ]);
            projections
        }
        AttentionShape::StateSpace(mixer) => mixer_projections(hidden, mixer),
        AttentionShape::Absent => Vec::new(),
    }
}

/// Queries with what gates them, keys and values of grouped heads.
fn grouped_projection(hidden: u64, own: Heads) -> Operation {
    let (query, keys) = (own.heads * own.head_dim, own.kv_heads * own.head_dim);
    let (role, name, key_value) = match own.key_value {
        KeyValue::Own => {
            let columns = keys + own.kv_heads * own.value_dim;
            (Role::QueryKeyValue, "query_key_value", columns)
        }
        KeyValue::Same => (Role::QueryKey, "query_key", keys),
        KeyValue::Earlier => (Role::Query, "query", 0),
    };
    let gated = query + own.gate;
    let shard = Shard::Heads {
        query: gated,
        key_value,
        kv_heads: own.kv_heads,
    };
    product(role, name, hidden, gated + key_value, shard)
        .and(if own.query_bias { query } else { 0 })
        .and(if own.key_value_bias { key_value } else { 0 })
        .and(own.query_key_norm)
        .and(if own.sinks { own.heads } else { 0 })
}

/// What is projected straight out of the stream, and what goes through a width as narrow as a head.
fn mixer_projections(hidden: u64, mixer: StateSpace) -> Vec<Operation> {
    let narrow = mixer.narrow_columns();
    let input = divided(
        Role::MixerInput,
        "mixer_input",
        hidden,
        mixer.columns() - narrow,
    );
    if narrow == 0 {
        return vec![input];
    }
    let ways = 2 * mixer.head_dim;
    vec![
        input,
        whole(Role::LatentDown, "mixer_gate_down", hidden, ways),
        // Each of the two ways has half of the columns.
        divided(Role::LatentUp, "mixer_gate_up", mixer.head_dim, narrow),
    ]
}

/// What selects the tokens that attention looks at.
fn indexer(hidden: u64, shape: &AttentionShape) -> Vec<Operation> {
    let (indexer, inputs, weights) = match *shape {
        AttentionShape::Grouped(Heads {
            indexer: Some(indexer),
            ..
        }) => (indexer, hidden, 0),
        AttentionShape::Latent {
            indexer: Some(indexer),
            query_rank,
            ..
        } => {
            let inputs = if query_rank > 0 { query_rank } else { hidden };
            (indexer, inputs, indexer.heads)
        }
        _ => return Vec::new(),
    };
    let Indexer { heads, head_dim } = indexer;
    let input = |name, k, n| whole(Role::IndexInput, name, k, n);
    vec![
        input("index_query", inputs, heads * head_dim),
        input("index_key", hidden, head_dim + weights).and(2 * head_dim),
        other(Role::Attention, "index", Work::Index { heads, head_dim }),
    ]
}

fn outward_projection(hidden: u64, shape: &AttentionShape) -> Option<Operation> {
    let (role, name, values, bias) = match *shape {
        AttentionShape::Grouped(own) => (
            Role::AttentionOutput,
            "attention_output",
            own.heads * own.value_dim,
            own.output_bias,
        ),
        AttentionShape::Latent { heads, value, .. } => (
            Role::AttentionOutput,
            "attention_output",
            heads * value,
            false,
        ),
        AttentionShape::StateSpace(mixer) => {
            (Role::MixerOutput, "mixer_output", mixer.inner(), false)
        }
        AttentionShape::Absent => return None,
    };
    let output = product(role, name, values, hidden, Shard::Rows);
    Some(output.and(if bias { hidden } else { 0 }))
}
