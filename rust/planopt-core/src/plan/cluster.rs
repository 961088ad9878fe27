//! Clusters that train, laid out.

use serde::Serialize;

use crate::catalog::{Catalog, PartKind};
use crate::document::{BomLine, HardwareAnswer, RunEvaluation, TrainingCandidate};
use crate::quantity::thousands;
use crate::search::Broken;

/// One run on one cluster.
#[derive(Clone, Debug, Serialize)]
pub struct TrainingDeployment {
    /// Model, as it was asked for.
    pub model: String,
    /// How it is spread.
    pub candidate: TrainingCandidate,
    /// Where.
    pub hardware: HardwareAnswer,
    /// What it does.
    pub evaluation: RunEvaluation,
    /// All parts, with the sources of their prices.
    pub bill_of_materials: Vec<BomLine>,
}

/// A cluster that is bought or rented, with the run on it.
#[derive(Clone, Debug, Serialize)]
pub struct TrainingBuild {
    /// The run.
    pub deployment: TrainingDeployment,
    /// The cluster in a line: accelerators, hosts, network, layout.
    pub summary: String,
    /// Limits that it breaks.
    pub broken: Vec<Broken>,
    /// Networks one step slower and one step faster than its own.
    pub networks_beside: [Vec<String>; 2],
}

impl TrainingBuild {
    /// A run with what it breaks.
    pub fn of(catalog: &Catalog, deployment: TrainingDeployment, broken: Vec<Broken>) -> Self {
        let network = deployment.hardware.network.as_deref();
        Self {
            networks_beside: network
                .map_or_else(Default::default, |own| catalog.networks_beside(own)),
            summary: deployment.summary(),
            deployment,
            broken,
        }
    }
}

impl TrainingDeployment {
    fn summary(&self) -> String {
        let (candidate, hardware) = (&self.candidate, &self.hardware);
        let rented = hardware.terms.is_some();
        let of_kind = |kind: PartKind| {
            let line = self.bill_of_materials.iter().find(|line| line.kind == kind);
            line.map(|line| format!("{}x {}", thousands(line.quantity), line.name))
        };
        let hosts = of_kind(if rented {
            PartKind::Instance
        } else {
            PartKind::Host
        })
        .unwrap_or_default();
        // A complete machine brings its own accelerators.
        let what = match of_kind(PartKind::Accelerator) {
            Some(cards) => format!("{cards} in {hosts}"),
            None => hosts,
        };
        // Instances are connected by whoever rents them out.
        let network = hardware.network.as_ref().filter(|_| !rented);
        let over = network.map_or_else(String::new, |network| {
            format!(", {}x {network}", hardware.nics_per_host)
        });
        let TrainingCandidate { tp, pp, dp, .. } = candidate;
        let shard = candidate.shard.name();
        format!("{what}{over}, TP{tp} x PP{pp} x DP{dp}, {shard}")
    }
}
