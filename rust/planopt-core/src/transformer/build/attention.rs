//! What mixes the tokens of a layer, with the projections around it.

use super::product::{divided, other, product, whole};
use crate::transformer::architecture::{AttentionShape, Indexer, KeyValue};
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
        AttentionShape::Grouped {
            heads,
            kv_heads,
            head_dim,
            value_dim,
            key_value,
            window,
            selected,
            ..
        } => {
            let work = Work::Attention {
                heads,
                kv_heads,
                head_dim,
                value_dim,
                window,
                selected,
                cached: key_value != KeyValue::Earlier,
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
        AttentionShape::Grouped { .. } => grouped_projection(hidden, shape).into_iter().collect(),
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
fn grouped_projection(hidden: u64, shape: &AttentionShape) -> Option<Operation> {
    let AttentionShape::Grouped {
        heads,
        kv_heads,
        head_dim,
        value_dim,
        gate,
        key_value,
        query_bias,
        key_value_bias,
        query_key_norm,
        sinks,
        ..
    } = *shape
    else {
        return None;
    };
    let query = heads * head_dim;
    let (role, name, key_value) = match key_value {
        KeyValue::Own => {
            let columns = kv_heads * (head_dim + value_dim);
            (Role::QueryKeyValue, "query_key_value", columns)
        }
        KeyValue::Same => (Role::QueryKey, "query_key", kv_heads * head_dim),
        KeyValue::Earlier => (Role::Query, "query", 0),
    };
    let shard = Shard::Heads {
        query: query + gate,
        key_value,
        kv_heads,
    };
    let fused = product(role, name, hidden, query + gate + key_value, shard)
        .and(if query_bias { query } else { 0 })
        .and(if key_value_bias { key_value } else { 0 })
        .and(query_key_norm)
        .and(if sinks { heads } else { 0 });
    Some(fused)
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
        AttentionShape::Grouped {
            indexer: Some(indexer),
            ..
        } => (indexer, hidden, 0),
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
        AttentionShape::Grouped {
            heads,
            value_dim,
            output_bias,
            ..
        } => (
            Role::AttentionOutput,
            "attention_output",
            heads * value_dim,
            output_bias,
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
