//! What is served: the model, its formats, lengths of prompts and answers.

use serde::Serialize;
use serde_json::{Map, Value};

use super::market::{Assumed, known, model};
use super::reader::Reader;
use super::request::Request;
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, code};

/// What is served, as an evaluation needs it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Served {
    pub(super) model: String,
    kv_heads: Option<u64>,
    weights: Option<String>,
    kv: Option<String>,
    pub(super) lengths: Lengths,
    pub(super) overlap: String,
    pub(super) drafting: Option<Drafting>,
    pub(super) context_ranks: Option<u64>,
    engine_name: Option<String>,
    engine: Map<String, Value>,
    pub(super) architecture: Option<Value>,
}

/// Speculative decoding.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Drafting {
    pub(super) draft: String,
    tokens: u64,
    acceptance: f64,
}

/// Tokens of a prompt, of an output, and cached when speed is judged.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Lengths {
    workload: String,
    prompt: u64,
    pub(super) output: u64,
    context: u64,
    prompt_cv: Option<f64>,
    output_cv: Option<f64>,
}

impl Served {
    /// Prompts are longer by the tokens of their images.
    pub(super) fn of(
        reader: &mut Reader,
        catalog: &Catalog,
        request: &Request,
        assumed: &mut Vec<Assumed>,
        image_tokens: u64,
    ) -> Self {
        let lengths = Lengths::of(reader, catalog, request, assumed, image_tokens);
        let name = request.model.name.clone().unwrap_or_default();
        model(reader, &name, assumed);
        let engine = &request.engine;
        Self {
            model: name,
            kv_heads: request.model.kv_heads,
            weights: request.model.weights.clone(),
            kv: request.model.kv.clone(),
            lengths,
            overlap: request.layout.overlap.clone().unwrap_or_default(),
            drafting: Drafting::of(reader, request),
            context_ranks: None,
            engine_name: engine.name.clone(),
            engine: known([
                ("policy", engine.policy.clone().map(Value::from)),
                ("token_budget", engine.token_budget.map(Value::from)),
                ("max_sequences", engine.max_sequences.map(Value::from)),
            ]),
            architecture: None,
        }
    }
}

impl Drafting {
    /// How often a draft is accepted must be known.
    fn of(reader: &mut Reader, request: &Request) -> Option<Self> {
        let Some(draft) = request.model.draft.clone() else {
            for name in ["draft_tokens", "acceptance"] {
                if reader.is_given(name) {
                    let accepted = "with --draft mtp, or --draft and a smaller model";
                    reader.wrong(code::MISSING_OPTION, name, "nothing drafts", accepted);
                }
            }
            return None;
        };
        let Some(acceptance) = request.model.acceptance else {
            if !reader.is_given("acceptance") {
                reader.wrong(
                    code::MISSING_OPTION,
                    "acceptance",
                    "how many drafted tokens are accepted?",
                    "a share, as measured on your own texts; published: 85 to 90 % of the second \
                     token of DeepSeek-V3 (arXiv 2412.19437), 50 to 90 % for small models (arXiv \
                     2211.17192)",
                );
            }
            return None;
        };
        Some(Self {
            draft,
            tokens: request.model.draft_tokens.unwrap_or(1),
            acceptance,
        })
    }
}

impl Lengths {
    /// What is not given comes from the workload.
    fn of(
        reader: &mut Reader,
        catalog: &Catalog,
        request: &Request,
        assumed: &mut Vec<Assumed>,
        image_tokens: u64,
    ) -> Self {
        let asked = &request.workload;
        let workload = asked.name.clone().unwrap_or_default();
        let mut lengths = Self {
            workload,
            prompt: 1,
            output: 1,
            context: 1,
            prompt_cv: None,
            output_cv: None,
        };
        let usual = match catalog.workload(&lengths.workload) {
            Ok(usual) => usual,
            Err(problem) => {
                reader.refuse("workload", vec![problem]);
                return lengths;
            }
        };
        let said = asked.prompt.is_some() && asked.output.is_some();
        if !reader.is_given("workload") && !said && asked.context.is_none() {
            let (prompt, output) = (usual.prompt, usual.output);
            assumed.push(Assumed {
                name: "workload",
                value: format!(
                    "{}: prompt {prompt} + output {output} tokens",
                    lengths.workload
                ),
                why: None,
            });
        }
        lengths.prompt = asked.prompt.unwrap_or_else(|| {
            lengths.prompt_cv = usual.prompt_cv;
            let usual = u64::from(usual.prompt);
            usual.min(asked.context.unwrap_or(usual))
        }) + image_tokens;
        lengths.output = asked.output.unwrap_or_else(|| {
            lengths.output_cv = usual.output_cv;
            u64::from(usual.output)
        });
        lengths.context = asked.context.unwrap_or_else(|| {
            let context = lengths.prompt + lengths.output;
            assumed.push(Assumed {
                name: "context",
                value: format!("{context} tokens per user"),
                why: Some("prompt + output; never a model's maximum. Say --context N"),
            });
            context
        });
        lengths.must_fit(reader);
        lengths
    }

    fn must_fit(&self, reader: &mut Reader) {
        let (prompt, context) = (self.prompt, self.context);
        if prompt > context && !reader.is_edited() {
            let problem = Diagnostic::new(
                code::CONTRADICTION,
                format!("a prompt of {prompt} tokens does not fit a context of {context}"),
            );
            let problem = problem.field("--prompt").value(prompt.to_string());
            let accepted = format!("at most {context} tokens, or a longer --context");
            reader.push(problem.accepted(accepted));
        }
    }
}
