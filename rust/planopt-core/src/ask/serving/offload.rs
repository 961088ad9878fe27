//! Where weights rest that accelerators do not hold.

use serde::Deserialize;

use crate::ask::request::{EvaluateServing, unknown_name, wrong_option};
use crate::catalog::{Assumptions, Host};
use crate::diagnostic::Diagnostic;
use crate::quantity::Bytes;
use crate::serving::{Offload, Overlap, Question};
use crate::transformer::Transformer;

/// Layers whose weights rest in the host.
#[derive(Clone, Debug, Deserialize)]
pub struct OffloadRequest {
    /// How many of each stage; as few as fit where none are given.
    #[serde(default)]
    pub layers: Option<u32>,
    /// `host` for its memory, or `disk`.
    pub to: String,
}

impl EvaluateServing {
    /// The question with the weights that rest in `host`.
    ///
    /// # Errors
    ///
    /// A host that states no memory, or no disk, and an overlap of two batches.
    pub(super) fn resting_in(
        &self,
        host: &Host,
        question: Question,
        assumptions: &Assumptions,
    ) -> Result<Question, Vec<Diagnostic>> {
        let Some(request) = &self.offload else {
            return Ok(question);
        };
        if question.overlap == Overlap::TwoBatch {
            let accepted = "--overlap none, or nothing in the host".to_owned();
            return Err(vec![wrong_option(
                "overlap",
                "two-batch".to_owned(),
                accepted,
            )]);
        }
        let stores = host.stores;
        let Some(training) = &assumptions.training else {
            let accepted = "assumptions that say what transfers hide behind: [training]".to_owned();
            return Err(vec![wrong_option(
                "offload_to",
                request.to.clone(),
                accepted,
            )]);
        };
        let by_default = training.host_memory_bandwidth;
        let of_memory = stores.memory_bandwidth.unwrap_or(by_default);
        let lacking = |what: &str| {
            let accepted = format!("hosts that state their {what}; `{}` does not", host.id);
            vec![wrong_option("offload_to", request.to.clone(), accepted)]
        };
        let (bandwidth, memory) = match request.to.as_str() {
            "host" => {
                let memory = stores.memory.ok_or_else(|| lacking("memory"))?;
                let usable = assumptions.memory.unified_usable_fraction;
                (of_memory, Some(Bytes(memory.0 * usable)))
            }
            "disk" => {
                let disk = stores.disk_bandwidth;
                let disk = disk.ok_or_else(|| lacking("disk_bandwidth"))?;
                (of_memory.min(disk), None)
            }
            other => {
                return Err(vec![unknown_name(
                    "offload_to",
                    other,
                    "host, disk".to_owned(),
                )]);
            }
        };
        Ok(Question {
            offload: Some(Offload {
                layers: request.layers.unwrap_or_default(),
                bandwidth,
                overlap: training.offload_overlap,
                memory,
            }),
            ..question
        })
    }

    /// Numbers of layers to try: the one that is asked for, or each until it fits.
    pub(super) fn resting_layers(&self, transformer: &Transformer) -> Vec<Option<u32>> {
        match &self.offload {
            None => vec![None],
            Some(OffloadRequest {
                layers: Some(layers),
                ..
            }) => vec![Some(*layers)],
            Some(OffloadRequest { layers: None, .. }) => {
                let layers = u32::try_from(transformer.layers.len()).unwrap_or(u32::MAX);
                (0..=layers.div_ceil(self.pp)).map(Some).collect()
            }
        }
    }
}

/// The question with so many layers in the host.
pub(super) fn with_layers(question: Question, layers: Option<u32>) -> Question {
    let offload = question.offload.zip(layers);
    Question {
        offload: offload.map(|(offload, layers)| Offload { layers, ..offload }),
        ..question
    }
}
