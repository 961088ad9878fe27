//! One accelerator in its host, and what runs on it.

use super::training::{ClusterContext, RunContext};
use crate::bill::{Cluster, HostSet};
use crate::compute::training::PricedModel;
use crate::document::{HardwareAnswer, TrainingAnswer};
use crate::hardware::{Fabric, Rates, System};
use crate::parallel::{Groups, Rejection, partition_model};
use crate::training::{AtWork, Job, TrainingEvaluation, TrainingHardware};

/// What an answer is about.
pub(crate) struct Subject<'s, 'a> {
    pub(crate) context: &'s RunContext<'s>,
    pub(crate) system: System<'a>,
}

impl<'a> Subject<'_, 'a> {
    /// The answer for it, whether or not it works.
    pub(crate) fn answer(&self) -> TrainingAnswer {
        match self.evaluate() {
            Ok((rates, evaluation)) => self
                .context
                .answer(self.cluster_context(&rates), &evaluation),
            Err(rejection) => self.context.unplaced(&rejection, self.hardware(None)),
        }
    }

    /// Rates in the precision of the run.
    pub(crate) fn rates(&self) -> Result<Rates, Rejection> {
        let format = self.context.recipe.precision.format();
        let precision = format.name();
        Rates::of(self.system.accelerator, format, self.context.assumptions)
            .ok_or(Rejection::Precision { precision })
    }

    /// Its links.
    pub(crate) fn fabric(&self) -> Fabric {
        self.system.fabric(self.context.assumptions)
    }

    pub(crate) fn evaluate(&self) -> Result<(Rates, TrainingEvaluation), Rejection> {
        let job = self.context.job();
        let Job {
            transformer,
            recipe,
            layout,
            ..
        } = job;
        layout.check_trained(transformer, recipe)?;
        let fabric = self.fabric();
        let groups = Groups::placed(layout, &fabric, self.system.slots)?;
        let rates = self.rates()?;
        let priced = PricedModel::new(transformer, recipe, layout, &rates, &groups, job.training);
        let stages = partition_model(transformer, recipe, layout.pp, layout.vpp);
        let hardware = TrainingHardware {
            system: &self.system,
            rates: &rates,
            fabric: &fabric,
        };
        let evaluation = job.evaluate(&hardware, &priced, &groups, &stages);
        Ok((rates, evaluation))
    }

    fn hosts(&self) -> u32 {
        let slots = self.system.slots;
        self.context.layout.accelerators().div_ceil(slots)
    }

    fn cluster(&self) -> Option<Cluster<'a>> {
        let accelerators = self.context.layout.accelerators();
        let (spares, _) = AtWork::on(&self.system, accelerators).spares(self.context.training);
        Cluster::of_run(vec![HostSet::of(&self.system, accelerators, spares)])
    }

    /// What it runs on, at the peak of so many operations a second.
    pub(crate) fn cluster_context(&self, rates: &Rates) -> ClusterContext {
        let cluster = self.cluster();
        let cluster = cluster.as_ref();
        let accelerators = f64::from(self.context.layout.accelerators());
        ClusterContext {
            peak: rates.quantised.0 * accelerators,
            hosts: self.hosts(),
            // Nobody sells them in a host that does not take them.
            bill: cluster
                .filter(|_| self.system.host.fits(self.system.accelerator))
                .and_then(Cluster::bill_of_materials)
                .unwrap_or_default(),
            // Whoever rents an instance out pays for its power.
            power: match self.system.host.rent {
                Some(_) => None,
                None => cluster.and_then(|cluster| cluster.power(self.context.assumptions)),
            },
            rack_units: cluster.map_or(0.0, Cluster::rack_units),
            hardware: self.hardware(cluster),
        }
    }

    /// Where it runs.
    pub(crate) fn hardware(&self, cluster: Option<&Cluster>) -> HardwareAnswer {
        let link = match self.system.scale_up() {
            Some(link) if self.context.layout.tp <= link.domain => link.name.clone(),
            _ => self.system.host.link.clone(),
        };
        let switching = cluster.and_then(|cluster| cluster.switching);
        HardwareAnswer {
            host: self.system.host.id.clone(),
            hosts: self.hosts(),
            link,
            network: self.system.network.map(|(network, _)| network.id.clone()),
            nics_per_host: self
                .system
                .network
                .map_or(0, |(_, line)| line.nics_per_host),
            switch: switching.map(|all| all.switch.id.clone()),
            switch_count: switching.map_or(0, |all| all.count),
            switch_port_blocks: 0,
            rack_units: cluster.map_or(0.0, Cluster::rack_units),
            terms: None,
            goodput: None,
            owned: cluster.map(Cluster::owned).unwrap_or_default(),
        }
    }
}
