//! Sessions: who asks again and again, each time with all that was said before.

use super::lengths::Lengths;
use serde::Deserialize;

/// How the turns of sessions follow each other.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// Tokens that every prompt of a group begins with: system prompt and tools.
    pub shared: u32,
    /// Groups, each with such a beginning of its own.
    #[serde(default = "one")]
    pub groups: u32,
    /// Tokens of the first prompt behind that.
    pub first: Lengths,
    /// Tokens of input that each further turn adds.
    pub grow: Lengths,
    /// Tokens of an answer, which the next prompt has in it.
    pub output: Lengths,
    /// Turns of a session.
    pub turns: Lengths,
    /// Times between an answer and the next prompt, by kind.
    pub think: Vec<Think>,
    /// Seconds that none of these exceeds.
    pub longest_think_seconds: f64,
    /// Tokens of prompt and answer beyond which a session ends, as by compaction; a fresh one
    /// takes its place.
    pub max_context: u32,
}

/// Times between an answer and the next prompt: of people, or of tools.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Think {
    /// How many of all are of this kind; shares add up to 1.
    pub share: f64,
    /// Seconds on average.
    pub mean_seconds: f64,
    /// Standard deviation over the mean, of a lognormal distribution; 0 where all are alike.
    pub cv: f64,
}

fn one() -> u32 {
    1
}
