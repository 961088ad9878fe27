//! `workloads/ID.toml`.

use super::declared::{inner, maybe, or, some_of, table};
use super::fields::{Fields, factor, share};
use crate::quantity::Dimension;

table! {
    /// Prompt and output lengths of a kind of use.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct Workload {
        /// Catalog id.
        pub id: String = Fields::id,
        /// Full name.
        pub name: String = Fields::text,
        /// Tokens of the prompt.
        pub prompt: u32 = Fields::positive,
        /// Tokens of the output.
        pub output: u32 = Fields::positive,
        /// Standard deviation of prompts over their mean; none where all are as long.
        pub prompt_cv: Option<f64> = maybe(factor),
        /// The same of outputs.
        pub output_cv: Option<f64> = maybe(factor),
        /// Requests of a seat in the hour that has the most of them; none where nobody sits there.
        pub requests_per_seat_hour: Option<f64> = maybe(factor),
        /// How turns of sessions follow each other; none where requests stand for themselves.
        pub sessions: Option<SessionsOfWorkload> = maybe(inner),
    }
}

table! {
    /// How the turns of sessions follow each other: tokens on average, with standard deviations over
    /// them where they differ.
    #[derive(Clone, Debug, serde::Serialize)]
    #[expect(missing_docs, reason = "deviations are as of all")]
    pub struct SessionsOfWorkload {
        /// Tokens that every prompt of a group begins with.
        pub shared: u32 = Fields::quantity,
        /// Groups.
        pub groups: u32 = or(1, Fields::positive),
        /// Tokens of the first prompt behind that.
        pub first: f64 = some_of(Dimension::Count),
        pub first_cv: Option<f64> = maybe(factor),
        /// Tokens of input that a further turn adds.
        pub grow: f64 = some_of(Dimension::Count),
        pub grow_cv: Option<f64> = maybe(factor),
        /// Turns; without a deviation each may be the last.
        pub turns: f64 = factor,
        pub turns_cv: Option<f64> = maybe(factor),
        /// Times between an answer and the next prompt, by kind: share of all, seconds on average, and
        /// standard deviation over these.
        pub think: Vec<[f64; 3]> = |fields, key| fields.sections(key, think),
        /// Seconds that none of them exceeds.
        pub longest_think: f64 = some_of(Dimension::Seconds),
        /// Tokens of prompt and answer beyond which a session ends.
        pub max_context: u32 = Fields::positive,
    }
}

fn think(fields: &mut Fields<'_>) -> [f64; 3] {
    [
        share(fields, "share"),
        fields.number("mean", Dimension::Seconds),
        fields.or("cv", 0.0, factor),
    ]
}
