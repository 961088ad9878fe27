//! What a proof is about.

use crate::course::Course;
use crate::parallel::Layout;
use crate::search::limits::Limits;

/// What a proof is about.
#[derive(Clone, Copy, Debug)]
pub struct Settling<'s> {
    /// What must be supplied and stayed within.
    pub limits: &'s Limits,
    /// Whether all is bought that the limits allow: the load is then what that carries.
    pub most: bool,
    /// Whether prices are those of an hour.
    pub hourly: bool,
    /// What an estimate would buy, to be looked at first.
    pub guess: &'s [Guessed<'s>],
    /// Whether the final run may be short: for a figure beside a plan, of what nobody buys.
    pub is_brief: bool,
    /// How far it is, told to stop or that the time is over.
    pub course: &'s Course,
}

/// Units that an estimate would buy.
#[derive(Clone, Copy, Debug)]
pub struct Guessed<'s> {
    /// Place of their part.
    pub part: usize,
    /// Accelerator.
    pub accelerator: &'s str,
    /// Host.
    pub host: &'s str,
    /// Network, where hosts are joined by one.
    pub network: Option<&'s str>,
    /// How each replica is divided.
    pub layout: Layout,
    /// What each replica must carry, where that is known.
    pub rate: Option<f64>,
}
