//! Hardware that candidates run on, and the clusters it makes.

use super::subject::TrainingSubject;
use crate::bill::{Cluster, HostSet};
use crate::bulk::sink::Rejected;
use crate::cost::of_purchase;
use crate::hardware::{Fabric, Rates, System};
use crate::parallel::{Groups, Layout};
use crate::quantity::Bytes;
use crate::training::{AtWork, Failures, LEAST_GOODPUT, TrainingHardware, straggling};

/// Hardware that candidates run on, with what depends on it alone.
#[derive(Clone, Debug)]
pub struct Platform<'a> {
    /// The accelerator in its host, and the network between hosts.
    pub system: System<'a>,
    pub(super) fabric: Fabric,
    pub(super) rates: Option<Rates>,
    /// Bytes that a candidate may use of an accelerator.
    pub(super) capacity: f64,
    /// Clusters by number of accelerators, as the sizes of the space.
    pub(super) clusters: Vec<Option<ClusterTerms>>,
}

/// What the number of accelerators alone decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClusterTerms {
    pub(super) price_usd: f64,
    pub(super) usd_per_hour: f64,
    pub(super) accelerators: f64,
    pub(super) straggling: f64,
    /// With one stage, and with several, which write a shared matrix twice.
    goodput: [f64; 2],
}

impl ClusterTerms {
    pub(super) fn goodput(&self, pp: u32) -> f64 {
        self.goodput[usize::from(pp > 1)]
    }
}

impl<'a> Platform<'a> {
    /// Without clusters yet.
    pub(super) fn new(subject: &TrainingSubject, system: System<'a>) -> Self {
        let format = subject.recipe.precision.format();
        Self {
            system,
            fabric: system.fabric(subject.assumptions),
            rates: Rates::of(system.accelerator, format, subject.assumptions),
            capacity: (system.accelerator.memory * subject.training.usable_fraction).0,
            clusters: Vec::new(),
        }
    }

    /// As a candidate meets it, if the accelerator computes in this format.
    pub(super) fn hardware(&self) -> Option<TrainingHardware<'_>> {
        Some(TrainingHardware {
            system: &self.system,
            rates: self.rates.as_ref()?,
            fabric: &self.fabric,
        })
    }

    /// The cluster of so many accelerators, where checkpoints are as large on one stage, and on
    /// several. None if it cannot be connected, or a part of it has no price.
    pub(super) fn cluster(
        &self,
        subject: &TrainingSubject,
        accelerators: u32,
        checkpoints: [Bytes; 2],
    ) -> Option<ClusterTerms> {
        let TrainingSubject {
            assumptions,
            training,
            ..
        } = subject;
        let at_work = AtWork::on(&self.system, accelerators);
        let (spares, _) = at_work.spares(training);
        let hosts_bought = HostSet::of(&self.system, accelerators, spares);
        let cluster = Cluster::of_run(vec![hosts_bought])?;
        // Only what does not depend on speed is taken of it.
        let cost = of_purchase(
            cluster.price()?.usd(),
            cluster.power(assumptions)?,
            cluster.rack_units(),
            1.0,
            &assumptions.cost,
        );
        let goodput = |checkpoint| Failures::of_kinds(&[at_work], checkpoint, training).goodput;
        Some(ClusterTerms {
            price_usd: cost.price_usd,
            usd_per_hour: cost.usd_per_hour,
            accelerators: f64::from(accelerators),
            straggling: straggling(training, at_work.hosts),
            goodput: checkpoints.map(goodput),
        })
    }

    /// Why nothing laid out so runs here on the cluster of its size, if nothing does.
    pub(super) fn check(
        &self,
        layout: &Layout,
        cluster: Option<&ClusterTerms>,
    ) -> Result<(), Rejected> {
        if self.rates.is_none() {
            return Err(Rejected::Format);
        }
        let cluster = cluster.ok_or(Rejected::Network)?;
        if Groups::placed(layout, &self.fabric, self.system.slots).is_err() {
            return Err(Rejected::Placement);
        }
        // Such a run does not end in any sensible time.
        if cluster.goodput(layout.pp) < LEAST_GOODPUT {
            return Err(Rejected::Failures);
        }
        Ok(())
    }
}
