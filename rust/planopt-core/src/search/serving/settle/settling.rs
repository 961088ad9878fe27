//! What a proof is about.

use crate::parallel::Layout;
use crate::search::limits::Limits;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// Told to stop.
    pub stop: &'s AtomicBool,
    /// Told that the time is over.
    pub over: &'s AtomicBool,
}

impl Settling<'_> {
    /// Whether the time is over, or it was told to stop.
    pub(super) fn is_over(&self) -> bool {
        let told = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        told(self.stop) || told(self.over)
    }
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
