//! Accelerators below their power: `rtx-4090@350W` is one of 450 W that is limited to 350.
//! Formula: `docs/reference/model.md`, section 7.

use super::{Accelerator, Catalog, Peak};
use crate::diagnostic::{Diagnostic, code};
use crate::quantity::{Dimension, FlopsPerSecond, Watts, parse};

/// What parts the name of an accelerator from its power limit.
pub(crate) const LIMITED_TO: char = '@';

/// Where no lowest limit is known, the share of its power that an accelerator can be limited to.
const LOWEST_SHARE: f64 = 0.5;

impl Catalog {
    /// The same catalog with one accelerator more: `name` is an id and a power limit.
    ///
    /// # Errors
    ///
    /// E001 for an accelerator that does not exist, E002 for a limit that is no power, E003 for one
    /// that cannot be set, E004 where the assumptions do not say what it does.
    pub fn with_power_limit(&self, name: &str) -> Result<Self, Diagnostic> {
        let (id, limit) = name.split_once(LIMITED_TO).unwrap_or((name, ""));
        let accelerator = self.accelerator(id)?;
        let wrong = |code, message: String, accepted: String| {
            Diagnostic::new(code, message)
                .field("--accelerators")
                .value(name)
                .accepted(accepted)
        };
        let watts = parse(limit, Dimension::Watts).map_err(|_| {
            let message = format!("`{limit}` is no power limit");
            wrong(
                code::MALFORMED_OPTION,
                message,
                format!("such as {id}@300W"),
            )
        })?;
        let Some(exponent) = self.assumptions.entity.power_limit_exponent else {
            let message = "these assumptions do not say what a power limit does".to_owned();
            return Err(wrong(code::CONTRADICTION, message, format!("{id} alone")));
        };
        let full = accelerator.power.map_or(0.0, |power| power.0);
        let lowest = accelerator
            .min_power
            .map_or(full * LOWEST_SHARE, |power| power.0);
        if !(lowest..=full).contains(&watts) || watts <= 0.0 {
            let message = format!("{id} cannot be limited to {limit}");
            let accepted = format!("{lowest:.0} to {full:.0} W");
            return Err(wrong(code::OPTION_OUT_OF_RANGE, message, accepted));
        }
        let mut catalog = self.clone();
        if let Some(entry) = self.accelerators.get(id) {
            let mut entry = entry.clone();
            entry.entity = accelerator.limited(name, Watts(watts), (watts / full).powf(exponent));
            catalog.accelerators.insert(name.to_owned(), entry);
        }
        Ok(catalog)
    }
}

impl Accelerator {
    /// What it is without a power limit: assumptions and stock go by that.
    pub fn model_id(&self) -> &str {
        self.id.split(LIMITED_TO).next().unwrap_or(&self.id)
    }

    fn limited(&self, name: &str, power: Watts, speed: f64) -> Self {
        Self {
            id: name.to_owned(),
            name: format!("{} at {:.0} W", self.name, power.0),
            peak: self.peak.times(speed),
            power: Some(power),
            ..self.clone()
        }
    }
}

impl Peak {
    /// All rates, as a share of what they are.
    fn times(&self, share: f64) -> Self {
        let times = |rate: Option<FlopsPerSecond>| rate.map(|rate| FlopsPerSecond(rate.0 * share));
        Self {
            fp32: times(self.fp32),
            tf32: times(self.tf32),
            fp16: times(self.fp16),
            fp16_fp16_accumulate: times(self.fp16_fp16_accumulate),
            bf16: times(self.bf16),
            fp8: times(self.fp8),
            fp8_fp16_accumulate: times(self.fp8_fp16_accumulate),
            int8: times(self.int8),
            fp4: times(self.fp4),
        }
    }
}
