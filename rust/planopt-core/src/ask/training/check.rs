//! What numbers of a question can be.

use super::EvaluateTraining;
use crate::ask::request::{LARGEST_CLUSTER, LARGEST_COUNT, LARGEST_NICS, wrong_option};
use crate::diagnostic::{Diagnostic, Problems};
use crate::transformer::MOST_MTP_MODULES;

/// Longest sequence that anything was trained on, and more.
const LONGEST_SEQUENCE: u32 = 1 << 27;
/// Largest batch and micro-batch, in sequences.
const LARGEST_BATCH: u32 = 1 << 20;

impl EvaluateTraining {
    /// Checks that every count can be one.
    ///
    /// # Errors
    ///
    /// Each number that cannot be, or the size of the cluster.
    pub fn check(&self) -> Result<(), Vec<Diagnostic>> {
        let counts = [
            ("tp", Some(self.tp), LARGEST_COUNT),
            ("pp", Some(self.pp), LARGEST_COUNT),
            ("vpp", Some(self.vpp), LARGEST_COUNT),
            ("dp", Some(self.dp), LARGEST_COUNT),
            ("cp", Some(self.cp), LARGEST_COUNT),
            ("ep", Some(self.ep), LARGEST_COUNT),
            ("micro_batch", Some(self.micro_batch), LARGEST_BATCH),
            ("global_batch", self.global_batch, LARGEST_BATCH),
            ("seq_len", self.seq_len, LONGEST_SEQUENCE),
            ("loss_chunks", Some(self.loss_chunks), LARGEST_COUNT),
            ("shard_group", self.shard_group, LARGEST_COUNT),
            ("lora_rank", self.lora_rank, LARGEST_COUNT),
            (
                "accelerators_per_host",
                self.accelerators_per_host,
                LARGEST_COUNT,
            ),
            ("nics_per_host", self.nics_per_host, LARGEST_NICS),
        ];
        let mut problems = Problems::default();
        for (option, count, largest) in counts {
            if let Some(count) = count.filter(|count| !(1..=largest).contains(count)) {
                let accepted = format!("a whole number from 1 to {largest}");
                problems.push(wrong_option(option, count.to_string(), accepted));
            }
        }
        if let Some(modules) = self.mtp_modules.filter(|many| *many > MOST_MTP_MODULES) {
            let accepted = format!("a whole number from 0 to {MOST_MTP_MODULES}");
            problems.push(wrong_option("mtp_modules", modules.to_string(), accepted));
        }
        if let Some(spares) = self.redundancy.filter(|many| *many > LARGEST_COUNT) {
            let accepted = format!("a whole number from 0 to {LARGEST_COUNT}");
            problems.push(wrong_option("redundancy", spares.to_string(), accepted));
        }
        let amounts = [
            ("tokens", self.tokens, f64::MAX),
            ("nominal_parameters", self.nominal_parameters, f64::MAX),
            ("mfu", self.mfu, 1.0),
        ];
        for (option, amount, most) in amounts {
            if let Some(amount) = amount.filter(|amount| !(*amount > 0.0 && *amount <= most)) {
                let accepted = if most > 1.0 {
                    "a number above 0"
                } else {
                    "a share above 0, at most 1"
                };
                problems.push(wrong_option(
                    option,
                    amount.to_string(),
                    accepted.to_owned(),
                ));
            }
        }
        problems.unless_any(())?;
        self.check_size()
    }

    /// Products of counts that stay counts.
    fn check_size(&self) -> Result<(), Vec<Diagnostic>> {
        let mut problems = Problems::default();
        let degrees = [self.tp, self.pp, self.dp, self.cp];
        let accelerators: f64 = degrees.into_iter().map(f64::from).product();
        #[expect(clippy::cast_precision_loss, reason = "a power of two")]
        let largest = LARGEST_CLUSTER as f64;
        if accelerators > largest {
            let accepted = format!(
                "at most {LARGEST_CLUSTER} accelerators: tp x pp x dp x cp is {accelerators}"
            );
            problems.push(wrong_option("dp", self.dp.to_string(), accepted));
        }
        if u64::from(self.dp) * u64::from(self.micro_batch) > u64::from(LARGEST_BATCH) {
            let accepted = format!("dp x micro-batch of at most {LARGEST_BATCH} sequences");
            problems.push(wrong_option(
                "micro_batch",
                self.micro_batch.to_string(),
                accepted,
            ));
        }
        problems.unless_any(())
    }
}
