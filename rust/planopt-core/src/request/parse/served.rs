//! What is served: lengths of prompts and answers, and what drafts.

use serde_json::{Map, Value, json};

use super::reader::Reader;
use super::request::{LoadKind, Workload};
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, code};
use crate::quantity::real;
use crate::request::{Prompts, ServedModel};
use crate::serving::engine::Turns;

/// The model with what drafts for it; how often a draft is accepted must be known.
pub(super) fn drafted(reader: &mut Reader, model: ServedModel) -> ServedModel {
    if model.draft.is_none() {
        for name in ["draft_tokens", "acceptance"] {
            if reader.is_given(name) {
                let accepted = "with --draft mtp, or --draft and a smaller model";
                reader.wrong(code::MISSING_OPTION, name, "nothing drafts", accepted);
            }
        }
        return ServedModel {
            draft_tokens: None,
            ..model
        };
    }
    if !reader.is_given("acceptance") {
        reader.wrong(
            code::MISSING_OPTION,
            "acceptance",
            "how many drafted tokens are accepted?",
            "a share, as measured on your own texts; published: 85 to 90 % of the second token of \
             DeepSeek-V3 (arXiv 2412.19437), 50 to 90 % for small models (arXiv 2211.17192)",
        );
    }
    model
}

/// Lengths as a load has them: about a mean, or all alike.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole tokens"
)]
pub(super) fn lengths(mean: f64, cv: Option<f64>) -> Value {
    let tokens = mean.round() as u64;
    match cv {
        None => json!({ "kind": "fixed", "tokens": tokens }),
        Some(cv) => json!({ "kind": "lognormal", "mean": tokens, "cv": cv }),
    }
}

/// Tokens of a prompt, of an output, and cached when speed is judged.
#[derive(Clone, Debug)]
pub(super) struct Lengths {
    prompt: u64,
    pub(super) output: u64,
    context: u64,
    prompt_cv: Option<f64>,
    output_cv: Option<f64>,
}

impl Lengths {
    /// What is not given comes from the workload, and so does how much lengths differ.
    pub(super) fn of(
        reader: &mut Reader,
        catalog: &Catalog,
        asked: &Workload,
        load: LoadKind,
        image_tokens: u64,
        turns: Option<&Turns>,
    ) -> Self {
        if let Some(turns) = turns {
            return Self::of_turns(turns);
        }
        let workload = asked.name.clone().unwrap_or_default();
        let mut lengths = Self {
            prompt: 1,
            output: 1,
            context: 1,
            prompt_cv: None,
            output_cv: None,
        };
        let usual = match catalog.workload(&workload) {
            Ok(usual) => usual,
            Err(problem) => {
                reader.refuse("workload", vec![problem]);
                return lengths;
            }
        };
        if load.is_spread() {
            (lengths.prompt_cv, lengths.output_cv) = (usual.prompt_cv, usual.output_cv);
        }
        let said = asked.prompt.is_some() && asked.output.is_some();
        let spread = lengths.spread();
        if !reader.is_given("workload") && !said {
            let (prompt, output) = (usual.prompt, usual.output);
            reader.assume(
                "workload",
                format!("{workload}: prompt {prompt} + output {output} tokens{spread}"),
                None,
            );
        } else if !reader.is_given("workload") && !spread.is_empty() {
            reader.assume(
                "spread",
                format!("of lengths as in {workload}{spread}"),
                Some("lengths that are given are means. Say --workload NAME, or --load benchmark"),
            );
        }
        lengths.prompt = asked.prompt.unwrap_or_else(|| {
            let usual = u64::from(usual.prompt);
            usual.min(asked.context.unwrap_or(usual))
        }) + image_tokens;
        lengths.output = asked.output.unwrap_or_else(|| u64::from(usual.output));
        lengths.context = asked.context.unwrap_or_else(|| {
            let context = lengths.prompt + lengths.output;
            reader.assume(
                "context",
                format!("{context} tokens per user"),
                Some("prompt + output; never a model's maximum. Say --max-model-len N"),
            );
            context
        });
        lengths.must_fit(reader);
        lengths
    }

    /// Those of the turns of sessions, each by itself; speed is judged at the usual one.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "tokens"
    )]
    fn of_turns(turns: &Turns) -> Self {
        let whole = |tokens: f64| tokens.round().max(1.0) as u64;
        let (prompt, output) = (whole(turns.prompt.0), whole(turns.output.0));
        Self {
            prompt,
            output,
            context: prompt + output,
            prompt_cv: Some(turns.prompt.1).filter(|cv| *cv > 0.0),
            output_cv: Some(turns.output.1).filter(|cv| *cv > 0.0),
        }
    }

    /// In words, how much lengths differ; nothing where they are fixed.
    fn spread(&self) -> String {
        match (self.prompt_cv, self.output_cv) {
            (None, None) => String::new(),
            (prompt, output) => {
                let (prompt, output) = (prompt.unwrap_or(0.0), output.unwrap_or(0.0));
                format!(" on average (coefficients of variation {prompt} and {output})")
            }
        }
    }

    /// As a plan records them, with the sizes of a load of them.
    pub(super) fn record(&self, recorded: &mut Map<String, Value>) {
        let of = |tokens: u64, cv| lengths(real(tokens), cv);
        let prompt = of(self.prompt, self.prompt_cv);
        let output = of(self.output, self.output_cv);
        for (name, value) in [
            ("prompt_tokens", self.prompt.into()),
            ("output_tokens", self.output.into()),
            ("context_tokens", self.context.into()),
            (
                "sizes",
                json!({ "kind": "independent", "prompt": prompt, "output": output }),
            ),
        ] {
            recorded.insert(name.to_owned(), value);
        }
    }

    /// What speed is judged at.
    pub(super) fn prompts(&self) -> Prompts {
        Prompts {
            prompt: self.prompt,
            context: self.context,
        }
    }

    fn must_fit(&self, reader: &mut Reader) {
        let (prompt, context) = (self.prompt, self.context);
        if prompt > context && !reader.is_edited() {
            let problem = Diagnostic::new(
                code::CONTRADICTION,
                format!("a prompt of {prompt} tokens does not fit a context of {context}"),
            );
            let problem = problem.field("--isl").value(prompt.to_string());
            let accepted = format!("at most {context} tokens, or a longer --max-model-len");
            reader.push(problem.accepted(accepted));
        }
    }
}
