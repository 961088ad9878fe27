//! Options that change assumptions.

use super::model::Engine;
use crate::catalog::{Assumptions, Catalog};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::option::{unknown_name, wrong_option};
use crate::quantity::Seconds;

impl Engine {
    /// The assumptions of the catalog with what the question puts in their place.
    ///
    /// # Errors
    ///
    /// A share of the memory that is none, and an engine or a class of all-reduce that does not
    /// exist.
    pub fn assumptions(&self, catalog: &Catalog) -> Result<Assumptions, Vec<Diagnostic>> {
        let mut assumptions = catalog.assumptions.entity.clone();
        if let Some(seconds) = self.software_latency_seconds {
            let latency = Seconds(seconds);
            let reached = &mut assumptions.communication;
            reached.scale_up = reached.scale_up.with_latency(latency);
            reached.pcie_latency = latency;
            reached.pcie_host_latency = latency;
            reached.tcp_latency = latency;
            reached.rdma_latency = latency;
            for (_, link) in &mut assumptions.links {
                *link = link.with_latency(latency);
            }
        }
        if let Some(name) = &self.name {
            let known = assumptions.engines.iter().find(|(own, _)| own == name);
            let Some(engine) = known.map(|(_, engine)| engine.clone()) else {
                let engines = assumptions.engines.iter();
                let names: Vec<&str> = engines.map(|(own, _)| own.as_str()).collect();
                return Err(vec![unknown_name("engine", name, names.join(", "))]);
            };
            assumptions.under(&engine);
        }
        if let Some(share) = self.usable_fraction {
            if !(share > 0.0 && share <= 1.0) {
                let accepted = "a share above 0, 1 at most";
                return Err(vec![wrong_option("usable_fraction", &share, accepted)]);
            }
            assumptions.memory.usable_fraction = share;
        }
        if let Some(tokens) = self.step_tokens {
            assumptions.step_of(tokens);
        }
        if let Some(tokens) = self.graph_tokens {
            assumptions.capture(tokens);
        }
        if let Some(class) = &self.pcie_all_reduce {
            const CLASSES: [&str; 3] = ["default", "slow", "good"];
            if !CLASSES.contains(&class.as_str()) {
                let accepted = CLASSES.join(", ");
                return Err(vec![unknown_name("pcie_all_reduce", class, accepted)]);
            }
            assumptions.pcie_all_reduce.clone_from(class);
        }
        assumptions.slower.clone_from(&self.slower);
        Ok(assumptions)
    }
}
