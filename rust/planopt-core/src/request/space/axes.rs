//! What axes of a space can be.

use crate::diagnostic::option::LARGEST_COUNT;
use crate::diagnostic::{Diagnostic, Problems, code};

/// Longest sequence that anything is served with, and more.
const LONGEST_SEQUENCE: u64 = 1 << 27;

/// Combinations of all axes but the last: something is kept of each of them.
const MOST_ROWS: u64 = 1 << 26;

/// Collects what is wrong with the axes of a space.
#[derive(Debug)]
pub(super) struct Axes {
    problems: Problems,
    rows: u64,
}

impl Axes {
    /// Of no axis yet.
    pub(super) fn new() -> Self {
        Self {
            problems: Problems::default(),
            rows: 1,
        }
    }

    /// An axis of this many values.
    pub(super) fn of(&mut self, axis: &str, values: usize) {
        if values == 0 {
            self.refuse(axis, "[]", "at least one value");
        }
        self.rows = self.rows.saturating_mul(values as u64);
    }

    /// An axis of whole numbers.
    pub(super) fn counts(&mut self, axis: &str, values: &[u32]) {
        self.of(axis, values.len());
        for &value in values {
            self.count(axis, value);
        }
    }

    /// A whole number: one of an axis, or the largest of one that starts from 1.
    pub(super) fn count(&mut self, axis: &str, value: u32) {
        if !(1..=LARGEST_COUNT).contains(&value) {
            let accepted = format!("whole numbers from 1 to {LARGEST_COUNT}");
            self.refuse(axis, value.to_string(), accepted);
        }
    }

    /// Tokens of a sequence.
    pub(super) fn tokens(&mut self, axis: &str, value: u64) {
        if !(1..=LONGEST_SEQUENCE).contains(&value) {
            let accepted = format!("whole numbers from 1 to {LONGEST_SEQUENCE}");
            self.refuse(axis, value.to_string(), accepted);
        }
    }

    /// Axes whose values are multiplied with each other stay counts.
    pub(super) fn product(&mut self, axes: &str, most: &[u32]) {
        let product: f64 = most.iter().copied().map(f64::from).product();
        if product > f64::from(u32::MAX) {
            let accepted = format!("a product of at most {}", u32::MAX);
            self.refuse(axes, product.to_string(), accepted);
        }
    }

    /// Figures of what a purchase costs to run, where they take the place of the assumptions'.
    pub(super) fn cost(&mut self, electricity_usd_per_kwh: Option<f64>, years: Option<f64>) {
        let electricity = ("electricity_usd_per_kwh", electricity_usd_per_kwh);
        self.amount(electricity, 0.0, "a number of at least 0");
        self.amount(("years", years), f64::MIN_POSITIVE, "a number above 0");
    }

    fn amount(&mut self, (name, amount): (&str, Option<f64>), least: f64, accepted: &str) {
        if let Some(amount) = amount.filter(|amount| !(*amount >= least && amount.is_finite())) {
            self.refuse(name, amount.to_string(), accepted);
        }
    }

    /// A key that is needed.
    pub(super) fn needed(&mut self, name: &str, value: Option<f64>, accepted: &str) {
        if value.is_none() {
            let problem = Diagnostic::new(code::MISSING_KEY, format!("a space needs `{name}`"));
            let problem = problem.field(name).value("nothing").accepted(accepted);
            self.problems.push(problem);
        }
    }

    /// Everything that is wrong.
    ///
    /// # Errors
    ///
    /// All of it.
    pub(super) fn checked(mut self) -> Result<(), Vec<Diagnostic>> {
        if self.rows > MOST_ROWS {
            let accepted = format!("at most {MOST_ROWS} combinations of all axes but the last");
            self.refuse("space", self.rows.to_string(), accepted);
        }
        self.problems.unless_any(())
    }

    fn refuse(&mut self, axis: &str, value: impl Into<String>, accepted: impl Into<String>) {
        let value = value.into();
        let problem = Diagnostic::new(
            code::OUT_OF_RANGE,
            format!("`{axis}` of a space cannot be {value}"),
        );
        let problem = problem.field(axis).value(value).accepted(accepted);
        self.problems.push(problem);
    }
}

/// The largest value of an axis.
pub(super) fn largest(values: impl IntoIterator<Item = u32>) -> u32 {
    values.into_iter().max().unwrap_or(1)
}
