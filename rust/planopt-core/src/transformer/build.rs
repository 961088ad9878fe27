//! From the figures of a configuration to the list of operations. The names, and what each
//! operation multiplies, are those of `docs/reference/model.md`, section 1.

mod attention;
mod product;

use self::attention::{attention, mixer};
use self::product::{divided, elementwise, other, whole};
use super::architecture::{
    Architecture, AttentionShape, BlockShape, Experts, Heads, LayerEmbedding, MlpShape, Norm, Side,
};
use super::operation::{Operation, Role, Shard, Work};
use super::{Block, MtpModule, Transformer, greatest_common_divisor};

impl From<&Architecture> for Transformer {
    fn from(model: &Architecture) -> Self {
        Self {
            id: model.id.clone(),
            name: model.name.clone(),
            hidden: model.hidden,
            heads: common_heads(&model.blocks),
            max_context: model.max_context,
            blocks: model
                .blocks
                .iter()
                .map(|shape| block(model, shape))
                .collect(),
            layers: model.layers.clone(),
            embedding: embedding(model),
            head: head(model),
            tied: model.tied,
            mtp: mtp_module(model),
            mtp_modules: model.mtp_modules,
            outside: model.outside.clone(),
            weights: model.weights,
            drafter: None,
        }
    }
}

/// The heads that a tensor-parallel degree must divide in every kind of layer.
fn common_heads(blocks: &[BlockShape]) -> u64 {
    let mixers = blocks
        .iter()
        .flat_map(|shape| [&shape.attention, &shape.second_mixer]);
    let heads = mixers.filter_map(|mixer| match mixer {
        AttentionShape::Grouped(Heads { heads, .. }) | AttentionShape::Latent { heads, .. } => {
            Some(*heads)
        }
        // Heads of a group share its `B` and `C`: ranks have whole groups.
        AttentionShape::StateSpace(mixer) => Some(mixer.groups),
        AttentionShape::Absent => None,
    });
    heads.reduce(greatest_common_divisor).unwrap_or(1)
}

fn embedding(model: &Architecture) -> Vec<Operation> {
    if model.vocabulary == 0 {
        return Vec::new();
    }
    let (role, name) = if model.tied {
        (Role::SharedEmbedding, "shared_embedding")
    } else {
        (Role::Embedding, "embedding")
    };
    let tokens = other(role, name, gather(model.hidden)).and(model.vocabulary * model.hidden);
    let mut operations = vec![tokens, all_reduce("embedding_all_reduce", model.hidden)];
    if model.positions > 0 {
        let parameters = model.positions * model.hidden;
        operations.push(elementwise(
            Role::PositionEmbedding,
            "position_embedding",
            model,
            parameters,
        ));
    }
    if model.embedding_norm {
        operations.push(norm("embedding_norm", model));
    }
    if let Some(LayerEmbedding { rows, width }) = model.layer_embedding {
        let all = model.layers.len() as u64 * width;
        let own = other(Role::Embedding, "layer_embedding", gather(all));
        operations.push(own.and(rows * all));
        // With a normalisation that the layers share.
        let projection = side("layer_projection", Side::new(model.hidden, all));
        operations.push(projection.and(width));
    }
    operations.extend(streams("stream_projection", model));
    operations
}

/// One projection for each further stream.
fn streams(name: &'static str, model: &Architecture) -> Vec<Operation> {
    let square = Side::new(model.hidden, model.hidden);
    (0..model.more_streams)
        .map(|_| side(name, square))
        .collect()
}

fn side(name: &'static str, own: Side) -> Operation {
    whole(Role::Side, name, own.inputs, own.outputs)
}

fn head(model: &Architecture) -> Vec<Operation> {
    let matrix = if model.tied {
        0
    } else {
        model.hidden * model.vocabulary
    };
    let bias = if model.head_bias { model.vocabulary } else { 0 };
    head_with(model, matrix + bias)
}

fn head_with(model: &Architecture, parameters: u64) -> Vec<Operation> {
    let mut operations = streams("stream_return", model);
    if model.final_norm {
        operations.push(norm("final_norm", model));
    }
    if model.vocabulary > 0 {
        operations.push(Operation {
            parameters,
            quantised: false,
            ..divided(Role::Head, "head", model.hidden, model.vocabulary)
        });
    }
    operations
}

/// The projection's columns are gathered behind it, which is counted as an all-reduce; it stays in
/// 16 bits, as in the published checkpoint of DeepSeek-V3.
fn mtp_module(model: &Architecture) -> MtpModule {
    let mut entry = Vec::new();
    if model.vocabulary > 0 {
        let shared = other(Role::Embedding, "mtp_embedding", gather(model.hidden));
        entry.extend([shared, all_reduce("mtp_embedding_all_reduce", model.hidden)]);
    }
    let (streams, hidden) = (2 * model.hidden, model.hidden);
    entry.extend([
        norm("mtp_embedding_norm", model),
        norm("mtp_stream_norm", model),
        Operation {
            quantised: false,
            ..divided(Role::MtpProjection, "mtp_projection", streams, hidden)
        },
        all_reduce("mtp_projection_all_reduce", model.hidden),
    ]);
    MtpModule {
        entry,
        kinds: model.mtp_layers.clone(),
        exit: head_with(model, 0),
    }
}

fn block(model: &Architecture, shape: &BlockShape) -> Block {
    let mut operations = match shape.mlp {
        MlpShape::Dense { .. } | MlpShape::Experts(_) | MlpShape::Absent => layer(model, shape),
        MlpShape::Nominal { .. } => nominal_layer(model, shape),
    };
    if model.only_experts_quantised {
        for operation in &mut operations {
            operation.quantised &= is_choice_of_experts(operation);
        }
    }
    Block { operations }
}

fn is_choice_of_experts(operation: &Operation) -> bool {
    matches!(operation.work, Work::MatMul { experts, .. } if experts > 1)
}

/// Attention and feed-forward, each between its normalisations: of an odd number of those attention
/// has the larger half; the first of a half stands before, the others behind.
fn layer(model: &Architecture, shape: &BlockShape) -> Vec<Operation> {
    let mlp_norms = shape.norms / 2;
    let attention_norms = shape.norms - mlp_norms;

    let mut operations = Vec::new();
    operations.extend((attention_norms > 0).then(|| norm("attention_norm", model)));
    if shape.attention != AttentionShape::Absent {
        operations.extend(mixer(model.hidden, &shape.attention));
        operations.extend(sums_over_heads(&shape.attention));
        operations.extend(mixer(model.hidden, &shape.second_mixer));
        operations
            .extend((!shape.parallel).then(|| all_reduce("attention_all_reduce", model.hidden)));
    }
    operations.extend((1..attention_norms).map(|_| norm("attention_output_norm", model)));

    operations.extend((mlp_norms > 0).then(|| norm("mlp_norm", model)));
    if shape.mlp != MlpShape::Absent {
        operations.extend(mlp(model.hidden, &shape.mlp));
        operations.push(all_reduce("mlp_all_reduce", model.hidden));
    }
    operations.extend((1..mlp_norms).map(|_| norm("mlp_output_norm", model)));
    operations.extend(shape.side.iter().map(|own| side("side", *own)));
    // All streams are predicted before a layer and corrected behind it.
    if model.more_streams > 0 {
        let width = (1 + model.more_streams) * model.hidden;
        let all = other(Role::Side, "streams", Work::Elementwise { width });
        operations.extend([all.clone(), all]);
    }
    operations
}

/// Queries, and keys, that are normalised over all heads at once: ranks that have some of the heads
/// bring the sums of squares of each token together, one message for either.
fn sums_over_heads(attention: &AttentionShape) -> Vec<Operation> {
    match attention {
        AttentionShape::Grouped(own) if own.query_key_norm > 2 * own.head_dim => {
            vec![
                all_reduce("query_norm_all_reduce", 1),
                all_reduce("key_norm_all_reduce", 1),
            ]
        }
        _ => Vec::new(),
    }
}

/// A layer of the seed article: its one product stands for every matrix, also those of attention.
fn nominal_layer(model: &Architecture, shape: &BlockShape) -> Vec<Operation> {
    let mut operations = mlp(model.hidden, &shape.mlp);
    operations.extend(attention(&shape.attention));
    operations.push(all_reduce("attention_all_reduce", model.hidden));
    operations.push(all_reduce("mlp_all_reduce", model.hidden));
    operations
}

/// The feed-forward part; of experts: router, routed experts, and the shared ones as one network.
fn mlp(hidden: u64, shape: &MlpShape) -> Vec<Operation> {
    match *shape {
        MlpShape::Dense { width, gated, bias } => {
            let dense = FeedForward {
                experts: 1,
                active: 1,
                width,
                gated,
                bias,
            };
            let up = if gated { "gate_up" } else { "up" };
            dense.products(hidden, [up, "down"]).into()
        }
        MlpShape::Experts(Experts {
            experts,
            active,
            width,
            gated,
            bias,
            router_bias,
            shared_width,
            shared_gate,
            latent,
        }) => {
            let router = whole(Role::Router, "router", hidden, experts).and(if router_bias {
                experts
            } else {
                0
            });
            let mut operations = vec![Operation {
                quantised: false,
                ..router
            }];

            let routed = FeedForward {
                experts,
                active,
                width,
                gated,
                bias,
            };
            let up = if gated {
                "experts_gate_up"
            } else {
                "experts_up"
            };
            let met = if latent > 0 { latent } else { hidden };
            if latent > 0 {
                operations.push(whole(Role::LatentDown, "latent_down", hidden, latent));
            }
            operations.extend(routed.products(met, [up, "experts_down"]));
            if latent > 0 {
                operations.push(whole(Role::LatentUp, "latent_up", latent, hidden));
            }

            if shared_width > 0 {
                let shared = FeedForward {
                    experts: 1,
                    active: 1,
                    width: shared_width,
                    ..routed
                };
                let up = if gated { "shared_gate_up" } else { "shared_up" };
                let [up, down] = shared.products(hidden, [up, "shared_down"]);
                operations.extend([up.and(if shared_gate { hidden } else { 0 }), down]);
            }
            operations
        }
        MlpShape::Nominal { depth, width } => {
            vec![divided(Role::Nominal, "layer", depth, width)]
        }
        MlpShape::Absent => Vec::new(),
    }
}

/// Two products with an activation between them, once or for a choice of experts.
#[derive(Clone, Copy)]
struct FeedForward {
    experts: u64,
    active: u64,
    width: u64,
    gated: bool,
    bias: bool,
}

impl FeedForward {
    fn products(self, hidden: u64, [up, down]: [&'static str; 2]) -> [Operation; 2] {
        let (role, columns) = if self.gated {
            (Role::GateUp, 2 * self.width)
        } else {
            (Role::Up, self.width)
        };
        [
            self.product(role, up, hidden, columns, Shard::Columns),
            self.product(Role::Down, down, self.width, hidden, Shard::Rows),
        ]
    }

    fn product(self, role: Role, name: &'static str, k: u64, n: u64, shard: Shard) -> Operation {
        let Self {
            experts, active, ..
        } = self;
        let bias = if self.bias { n } else { 0 };
        Operation {
            role,
            name,
            work: Work::MatMul {
                k,
                n,
                shard,
                experts,
                active,
            },
            parameters: experts * (k * n + bias),
            quantised: true,
        }
    }
}

fn norm(name: &'static str, model: &Architecture) -> Operation {
    let gains_and_biases = match model.norm {
        Norm::Layer => 2 * model.hidden,
        Norm::Rms | Norm::LayerNoBias => model.hidden,
    };
    elementwise(Role::Norm, name, model, gains_and_biases)
}

fn all_reduce(name: &'static str, width: u64) -> Operation {
    other(Role::AllReduce, name, Work::AllReduce { width })
}

fn gather(width: u64) -> Work {
    Work::Gather { width }
}

#[cfg(test)]
#[path = "../../tests/unit/build.rs"]
mod tests;
