//! Prediction intervals: 80 % intervals, from errors of rows that no fit had seen.
//!
//! Few plans name an engine. The errors behind the intervals of the others are those of the same
//! figures without one: of measured runs under any engine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::catalog::{Accelerator, Catalog, Residual};
use crate::diagnostic::Diagnostic;
use crate::document::{Interval, Intervals, RunEvaluation};

/// Share of measurements that an interval is to cover.
const LEVEL: f64 = 0.8;
/// The class of everything.
const EVERYTHING: &str = "all";
/// Behind a class: serving predicted without an engine, measured under any.
const ANY_ENGINE: &str = ", any engine";
/// Metrics that were measured as rates while the figure is a time.
const RATES: [&str; 2] = ["decode", "prefill"];
/// Errors of steps that serve: under a load, else of those of one user alone.
pub const STEPS_OF_SERVING: [&str; 2] = ["tpot", "decode"];
/// Errors of steps that train.
pub const STEPS_OF_TRAINING: [&str; 1] = ["step_time"];

/// Figures of serving that have intervals, as far as they are predicted.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Predicted {
    /// Time per output token.
    pub tpot_seconds: Option<f64>,
    /// Tokens of the replica.
    pub tokens_per_second: Option<f64>,
    /// A prompt alone.
    pub prefill_seconds: Option<f64>,
    /// Time to the first token in the mean.
    pub ttft_seconds: Option<f64>,
}

/// The errors of one metric, as far as they are known.
#[derive(Clone, Debug, Serialize)]
pub struct MetricErrors {
    /// What is known.
    #[serde(flatten)]
    pub errors: Residual,
    /// Whether it is of everything, for want of anything nearer.
    pub extrapolated: bool,
}

/// How near to a kind, of accelerator and model, what was measured is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// The kind itself.
    Measured,
    /// Another accelerator of its family, with the same kind of model.
    Family,
    /// Neither.
    None,
}

/// Within what measured times of steps of a kind are, over predicted ones: a tenth of them below
/// `low`, and a tenth above `high`.
#[derive(Clone, Debug, Serialize)]
pub struct StepErrors {
    /// How near what was measured is.
    pub grade: Grade,
    /// Class of what was measured; of a kind that nobody measured, the slowest.
    pub of: String,
    /// What was measured.
    pub metric: String,
    /// Rows that were measured of the class.
    pub rows: u64,
    /// Groups of rows that err alike, where they were counted.
    pub groups: Option<u64>,
    /// Releases of the engines that they were measured under, and when that was.
    pub data: Option<String>,
    /// The lower end.
    pub low: f64,
    /// The upper one.
    pub high: f64,
}

impl StepErrors {
    fn of(grade: Grade, metric: &str, known: &Residual) -> Self {
        let (low, high) = if RATES.contains(&metric) {
            (1.0 / known.high, 1.0 / known.low)
        } else {
            (known.low, known.high)
        };
        Self {
            grade,
            of: known.of.clone(),
            metric: metric.to_owned(),
            rows: known.rows,
            groups: known.groups,
            data: known.data.clone(),
            low,
            high,
        }
    }

    /// Within what a time is that was predicted: the ends of what a kind's steps are judged by.
    fn around(&self, seconds: f64) -> Interval {
        Interval {
            low: seconds * self.low,
            high: seconds * self.high,
            level: LEVEL,
            extrapolated: self.grade == Grade::None,
        }
    }
}

/// Errors of a kind of model on an accelerator.
#[derive(Clone, Debug)]
pub struct Errors<'c> {
    catalog: &'c Catalog,
    /// Of the accelerator, and of its family.
    classes: [String; 2],
    everything: String,
    /// What the names of all classes of its kind of model end with.
    kind: String,
}

impl<'c> Errors<'c> {
    /// Those of predictions without an engine where `any_engine`, and of fitted figures else.
    pub fn of(
        catalog: &'c Catalog,
        accelerator: &Accelerator,
        has_experts: bool,
        any_engine: bool,
    ) -> Self {
        let kind = if has_experts { "moe" } else { "dense" };
        let under = if any_engine { ANY_ENGINE } else { "" };
        let classes = [&accelerator.id, &accelerator.family];
        Self {
            catalog,
            classes: classes.map(|name| format!("{name} {kind}{under}")),
            everything: format!("{EVERYTHING}{under}"),
            kind: format!(" {kind}{under}"),
        }
    }

    /// How long steps take beside what is predicted, by the first of some metrics that is known of
    /// the accelerator, else of its family. A kind that nobody measured may be as slow as the
    /// slowest that was.
    pub fn of_steps(&self, metrics: &[&str]) -> Result<Option<StepErrors>, Vec<Diagnostic>> {
        let residuals = &self.catalog.residuals;
        for (class, grade) in self.classes.iter().zip([Grade::Measured, Grade::Family]) {
            for metric in metrics {
                let own = std::slice::from_ref(class);
                if let Some((known, _)) = residuals.nearest(metric, own, class)? {
                    return Ok(Some(StepErrors::of(grade, metric, &known)));
                }
            }
        }
        let mut slowest: Option<StepErrors> = None;
        if let Some(metric) = metrics.first() {
            let of_kind = residuals.ending(metric, &self.kind)?;
            let of_all = residuals.ending(metric, &self.everything)?;
            for known in of_kind.chain(of_all.filter(|known| known.of == self.everything)) {
                let each = StepErrors::of(Grade::None, metric, known);
                let low = slowest
                    .as_ref()
                    .map_or(each.low, |known| known.low.min(each.low));
                if slowest.as_ref().is_none_or(|known| known.high < each.high) {
                    slowest = Some(each);
                }
                slowest = slowest.map(|slowest| StepErrors { low, ..slowest });
            }
        }
        Ok(slowest)
    }

    /// What is known of a metric.
    pub fn known(&self, metric: &str) -> Result<Option<MetricErrors>, Vec<Diagnostic>> {
        let residuals = &self.catalog.residuals;
        let nearest = residuals.nearest(metric, &self.classes, &self.everything)?;
        Ok(nearest.map(|(errors, extrapolated)| MetricErrors {
            errors,
            extrapolated,
        }))
    }

    /// The same of several metrics, by name.
    pub fn each<'m>(
        &self,
        metrics: &'m [String],
    ) -> Result<BTreeMap<&'m str, Option<MetricErrors>>, Vec<Diagnostic>> {
        let known = |metric: &'m String| Ok((metric.as_str(), self.known(metric)?));
        metrics.iter().map(known).collect()
    }

    /// What figures of serving are expected to lie in, as far as anything is known.
    pub fn of_serving(&self, predicted: &Predicted) -> Result<Intervals, Vec<Diagnostic>> {
        let mut intervals = Intervals::new();
        let steps = self.of_steps(&STEPS_OF_SERVING)?;
        if let (Some(seconds), Some(steps)) = (predicted.tpot_seconds, steps) {
            let seconds = steps.around(seconds);
            let speed = Interval {
                low: 1.0 / seconds.high,
                high: 1.0 / seconds.low,
                ..seconds
            };
            intervals.insert("tpot_seconds".to_owned(), as_json(&seconds));
            intervals.insert("tokens_per_second_per_user".to_owned(), as_json(&speed));
        }
        for (name, metric, value) in [
            (
                "tokens_per_second",
                "throughput",
                predicted.tokens_per_second,
            ),
            ("prefill_seconds", "prefill", predicted.prefill_seconds),
            ("ttft_seconds", "ttft", predicted.ttft_seconds),
        ] {
            if let (Some(value), Some(known)) = (value, self.known(metric)?) {
                let interval = around(value, &known, RATES.contains(&metric));
                intervals.insert(name.to_owned(), as_json(&interval));
            }
        }
        Ok(intervals)
    }

    /// What figures of a run are expected to lie in, as far as anything is known.
    pub fn of_training(&self, run: &RunEvaluation) -> Result<Intervals, Vec<Diagnostic>> {
        let mut intervals = Intervals::new();
        if let (Some(memory), Some(known)) = (&run.memory, self.known("memory")?) {
            let bytes = around(memory.total_bytes, &known, false);
            intervals.insert("memory_bytes".to_owned(), as_json(&bytes));
        }
        let steps = self.of_steps(&STEPS_OF_TRAINING)?;
        let (Some(step), Some(steps)) = (run.step_seconds, steps) else {
            return Ok(intervals);
        };
        let seconds = steps.around(step);
        intervals.insert("step_seconds".to_owned(), as_json(&seconds));
        let (slow, fast) = (seconds.high / step, seconds.low / step);
        for (name, value, low, high) in [
            (
                "tokens_per_second",
                run.tokens_per_second,
                1.0 / slow,
                1.0 / fast,
            ),
            ("days", run.days, fast, slow),
        ] {
            if let Some(value) = value {
                let (low, high) = (value * low, value * high);
                let interval = Interval {
                    low,
                    high,
                    ..seconds
                };
                intervals.insert(name.to_owned(), as_json(&interval));
            }
        }
        Ok(intervals)
    }
}

fn as_json(interval: &Interval) -> serde_json::Value {
    serde_json::to_value(interval).unwrap_or_default()
}

/// Around a value; of a time whose errors are those of its rate, from the rate's own interval.
fn around(value: f64, known: &MetricErrors, is_rate: bool) -> Interval {
    let (low, high) = (value * known.errors.low, value * known.errors.high);
    let (low, high) = if is_rate {
        (value * value / high, value * value / low)
    } else {
        (low, high)
    };
    Interval {
        low,
        high,
        level: LEVEL,
        extrapolated: known.extrapolated,
    }
}
