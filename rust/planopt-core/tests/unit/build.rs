//! Laws of the operation list, and totals of published models computed by hand.

use crate::format::Format;
use crate::transformer::Transformer;
use crate::transformer::architecture::{
    Architecture, AttentionShape, BlockShape, Experts, Heads, Indexer, KeyValue, MlpShape, Norm,
};
use crate::transformer::operation::{Operation, Rule, StateSpace, Work};

const HIDDEN: u64 = 64;

fn grouped_heads(heads: u64, kv_heads: u64) -> Heads {
    Heads {
        heads,
        kv_heads,
        head_dim: 16,
        value_dim: 16,
        ..Heads::default()
    }
}

fn grouped(heads: u64, kv_heads: u64) -> AttentionShape {
    AttentionShape::Grouped(grouped_heads(heads, kv_heads))
}

fn dense() -> MlpShape {
    MlpShape::Dense {
        width: 256,
        gated: true,
        bias: false,
    }
}

fn experts(experts: u64, active: u64, shared_width: u64) -> MlpShape {
    MlpShape::Experts(Experts {
        experts,
        active,
        width: 256,
        gated: true,
        shared_width,
        ..Experts::default()
    })
}

fn model(layers: usize, attention: AttentionShape, mlp: MlpShape) -> Architecture {
    Architecture {
        id: "small".into(),
        name: "Small".into(),
        hidden: HIDDEN,
        vocabulary: 1000,
        max_context: 2048,
        weights: Format::Bf16,
        only_experts_quantised: false,
        tied: false,
        norm: Norm::Rms,
        embedding_norm: false,
        final_norm: true,
        layer_embedding: None,
        more_streams: 0,
        positions: 0,
        head_bias: false,
        blocks: vec![BlockShape {
            norms: 2,
            parallel: false,
            attention,
            second_mixer: AttentionShape::Absent,
            mlp,
            side: Vec::new(),
        }],
        layers: vec![0; layers],
        mtp_modules: 0,
        mtp_layers: vec![0],
        outside: Vec::new(),
        vision: None,
        published_parameters: None,
        unknown_type: None,
        stored_bytes: None,
        published_active: None,
    }
}

fn transformer(layers: usize, attention: AttentionShape, mlp: MlpShape) -> Transformer {
    Transformer::from(&model(layers, attention, mlp))
}

fn find<'a>(transformer: &'a Transformer, name: &str) -> &'a Operation {
    transformer
        .operations()
        .find(|operation| operation.name == name)
        .expect(name)
}

fn count(transformer: &Transformer, work: fn(&Work) -> bool) -> usize {
    transformer
        .operations()
        .filter(|operation| work(&operation.work))
        .count()
}

#[test]
fn parameters_of_a_small_model_by_hand() {
    // Embedding and head: 2 * 1000 * 64 = 128,000; final norm 64.
    // A layer of 4 heads of 16 and 2 key/value heads: 64 * (4 + 2 * 2) * 16 = 8192 in,
    // 64 * 64 = 4096 out, MLP 3 * 64 * 256 = 49,152, two norms 128: 61,568.
    let small = transformer(3, grouped(4, 2), dense());
    assert_eq!(small.parameters(), 128_064 + 3 * 61_568);
    assert_eq!(small.active_parameters(), small.parameters());
}

#[test]
fn parameters_are_linear_in_the_layers() {
    let of = |layers| transformer(layers, grouped(4, 2), experts(8, 2, 128)).parameters();
    assert_eq!(of(5) - of(4), of(1) - of(0));
    assert!(of(1) > of(0));
}

#[test]
fn grouped_heads_as_many_as_query_heads_are_multi_head_attention() {
    // Multi-head attention: four square matrices of hidden x hidden where heads * head_dim = hidden.
    let attention = |kv_heads| {
        let model = transformer(1, grouped(4, kv_heads), dense());
        find(&model, "query_key_value").parameters + find(&model, "attention_output").parameters
    };
    assert_eq!(attention(4), 4 * HIDDEN * HIDDEN);
    assert!(attention(1) < attention(4));
}

#[test]
fn one_expert_of_one_is_the_dense_model_with_a_router() {
    let dense = transformer(2, grouped(4, 2), dense());
    let routed = transformer(2, grouped(4, 2), experts(1, 1, 0));
    assert_eq!(routed.parameters(), dense.parameters() + 2 * HIDDEN);
    assert_eq!(routed.active_parameters(), routed.parameters());
}

#[test]
fn a_token_meets_its_share_of_the_experts_and_all_of_the_rest() {
    let routed = transformer(2, grouped(4, 2), experts(8, 2, 128));
    // 6 experts of 3 * 64 * 256 parameters are not met, in each of 2 layers.
    assert_eq!(
        routed.parameters() - routed.active_parameters(),
        2 * 6 * 3 * 64 * 256
    );
}

#[test]
fn all_reduces_follow_embedding_attention_and_feed_forward() {
    let all_reduces = |model: &Architecture| {
        count(&Transformer::from(model), |work| {
            matches!(work, Work::AllReduce { .. })
        })
    };
    let mut small = model(3, grouped(4, 2), experts(8, 2, 128));
    assert_eq!(all_reduces(&small), 1 + 2 * 3);
    small.blocks[0].parallel = true;
    assert_eq!(all_reduces(&small), 1 + 3);
}

#[test]
fn a_tied_head_multiplies_without_parameters_of_its_own() {
    let mut small = model(1, grouped(4, 2), dense());
    let untied = Transformer::from(&small).parameters();
    small.tied = true;
    let tied = Transformer::from(&small);
    assert_eq!(untied - tied.parameters(), 1000 * HIDDEN);
    assert!(matches!(
        find(&tied, "head").work,
        Work::MatMul {
            k: HIDDEN,
            n: 1000,
            ..
        }
    ));
}

#[test]
fn every_normalisation_is_counted() {
    for norms in 0..6 {
        let mut small = model(1, grouped(4, 2), dense());
        small.blocks[0].norms = norms;
        let transformer = Transformer::from(&small);
        let elementwise = count(&transformer, |work| {
            matches!(work, Work::Elementwise { .. })
        });
        assert_eq!(elementwise as u64, norms + 1, "with the final one");
    }
}

#[test]
fn only_matrices_of_layers_are_quantised_and_never_the_router() {
    let mut small = model(1, grouped(4, 2), experts(8, 2, 128));
    let quantised = |model: &Architecture| -> Vec<&'static str> {
        let transformer = Transformer::from(model);
        let operations = transformer
            .operations()
            .filter(|operation| operation.quantised);
        operations.map(|operation| operation.name).collect()
    };
    assert_eq!(
        quantised(&small),
        [
            "query_key_value",
            "attention_output",
            "experts_gate_up",
            "experts_down",
            "shared_gate_up",
            "shared_down"
        ]
    );
    small.only_experts_quantised = true;
    assert_eq!(quantised(&small), ["experts_gate_up", "experts_down"]);
}

#[test]
fn latent_attention_with_and_without_a_query_rank() {
    let latent = |query_rank| AttentionShape::Latent {
        heads: 4,
        query_rank,
        latent: 32,
        rope: 8,
        nope: 16,
        value: 24,
        selected: None,
        indexer: None,
    };
    let direct = transformer(1, latent(0), dense());
    // 64 x 4 * (16 + 8)
    assert_eq!(find(&direct, "query").parameters, 64 * 96);
    // 64 x (32 + 8), and the gains on the latent
    assert_eq!(find(&direct, "key_value_down").parameters, 64 * 40 + 32);
    // 32 x 4 * (16 + 24)
    assert_eq!(find(&direct, "key_value_up").parameters, 32 * 160);
    // 4 * 24 x 64
    assert_eq!(find(&direct, "attention_output").parameters, 96 * 64);

    let ranked = transformer(1, latent(48), dense());
    assert_eq!(find(&ranked, "query_down").parameters, 64 * 48 + 48);
    assert_eq!(find(&ranked, "query_up").parameters, 48 * 96);
}

#[test]
fn keys_may_be_values_or_those_of_an_earlier_layer() {
    let with = |key_value| {
        AttentionShape::Grouped(Heads {
            value_dim: 8,
            gate: 4,
            key_value,
            ..grouped_heads(4, 2)
        })
    };
    let built = |is| transformer(1, with(is), dense());
    // 64 x (4 * 16 queries, 4 gates, 2 * (16 + 8) keys and values)
    let own = built(KeyValue::Own);
    assert_eq!(find(&own, "query_key_value").parameters, 64 * (68 + 48));
    // 4 * 8 x 64
    assert_eq!(find(&own, "attention_output").parameters, 32 * 64);
    let same = built(KeyValue::Same);
    assert_eq!(find(&same, "query_key").parameters, 64 * (68 + 32));
    let earlier = built(KeyValue::Earlier);
    assert_eq!(find(&earlier, "query").parameters, 64 * 68);
    let cached = |model: &Transformer| {
        count(model, |work| {
            matches!(work, Work::Attention { cached: true, .. })
        })
    };
    assert_eq!((cached(&same), cached(&earlier)), (1, 0));
}

#[test]
fn an_indexer_stands_before_attention() {
    let indexed = AttentionShape::Latent {
        heads: 4,
        query_rank: 48,
        latent: 32,
        rope: 8,
        nope: 16,
        value: 24,
        selected: Some(100),
        indexer: Some(Indexer {
            heads: 2,
            head_dim: 8,
        }),
    };
    let model = transformer(1, indexed, dense());
    // Out of the latent of queries, and 64 x (one key of 8, two weights) with a layer normalisation.
    assert_eq!(find(&model, "index_query").parameters, 48 * 16);
    assert_eq!(find(&model, "index_key").parameters, 64 * 10 + 16);
    assert!(model.needs_whole_contexts());
}

/// Of 4 heads of 16 with keys of 8 in two groups: 64 + 2 * 2 * 8 elements are convolved.
#[test]
fn each_rule_of_a_state_has_its_parameters() {
    let mixer = |rule, groups, state| StateSpace {
        rule,
        heads: 4,
        head_dim: 16,
        groups,
        state,
        conv: 3,
        chunk: 64,
        normalised: None,
    };
    let built = |own| transformer(1, AttentionShape::StateSpace(own), dense());
    let of = |own, name| find(&built(own), name).parameters;

    let decay = |normalised| StateSpace {
        normalised: Some(normalised),
        ..mixer(Rule::Decay, 2, 8)
    };
    assert_eq!(of(decay(false), "mixer_input"), 64 * (64 + 96 + 4));
    assert_eq!(of(decay(false), "scan"), 96 * 4 + 12);
    assert_eq!(of(decay(true), "scan"), 96 * 4 + 12 + 64);

    let delta = mixer(Rule::GatedDelta, 2, 8);
    assert_eq!(of(delta, "mixer_input"), 64 * (64 + 96 + 8));
    assert_eq!(of(delta, "scan"), 96 * 3 + 8 + 16);

    // Queries, keys and values of all heads; decays and gates through 16 elements each.
    let kimi = mixer(Rule::KimiDelta, 4, 16);
    assert_eq!(of(kimi, "mixer_input"), 64 * (192 + 4));
    assert_eq!(of(kimi, "mixer_gate_down"), 64 * 32);
    assert_eq!(of(kimi, "mixer_gate_up"), 2 * 16 * 64);
    assert_eq!(of(kimi, "scan"), 192 * 3 + 4 + 64 + 16);

    let convolution = mixer(Rule::Convolution, 4, 0);
    assert_eq!(of(convolution, "mixer_input"), 64 * 192);
    assert_eq!(of(convolution, "scan"), 64 * 3);
}

#[test]
fn mixers_beside_each_other_are_summed_once() {
    let mut model = model(1, grouped(4, 2), dense());
    model.blocks[0].second_mixer = AttentionShape::StateSpace(StateSpace {
        rule: Rule::GatedDelta,
        heads: 6,
        head_dim: 16,
        groups: 6,
        state: 8,
        conv: 3,
        chunk: 64,
        normalised: None,
    });
    let both = Transformer::from(&model);
    assert_eq!(both.heads, 2, "both divide");
    assert_eq!(find(&both, "mixer_output").parameters, 96 * 64);
    let sums = |model: &Transformer| count(model, |work| matches!(work, Work::AllReduce { .. }));
    assert_eq!(sums(&both), sums(&transformer(1, grouped(4, 2), dense())));
}

#[test]
fn the_model_of_the_seed_article_has_its_nominal_parameters_and_nothing_else() {
    // 70e9 / 80 layers = 875e6 = 8000 x 109,375.
    let mut article = model(
        80,
        grouped(64, 8),
        MlpShape::Nominal {
            depth: 8000,
            width: 109_375,
        },
    );
    article.vocabulary = 0;
    article.final_norm = false;
    let article = Transformer::from(&article);
    assert_eq!(article.parameters(), 70_000_000_000);
    assert_eq!(article.active_parameters(), 70_000_000_000);
    assert_eq!(
        count(&article, |work| matches!(work, Work::AllReduce { .. })),
        160
    );
    assert!(article.embedding.is_empty() && article.head.is_empty());
}

#[test]
fn a_tensor_parallel_degree_must_divide_the_heads_of_every_layer() {
    let mut mixed = model(2, grouped(48, 8), dense());
    mixed.blocks.push(BlockShape {
        attention: grouped(32, 8),
        ..mixed.blocks[0].clone()
    });
    mixed.layers = vec![0, 1];
    assert_eq!(Transformer::from(&mixed).heads, 16);
}
