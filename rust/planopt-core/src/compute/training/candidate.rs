//! Everything that a formula of memory or time reads.

use super::model::PricedModel;
use crate::catalog::{HopPayload, TrainingAssumptions};
use crate::hardware::{Line, Rates};
use crate::load::training::Recipe;
use crate::parallel::{Groups, Layout, Stage};
use crate::quantity::{Bytes, BytesPerSecond};

/// A candidate with everything it is evaluated from.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(crate) priced: &'a PricedModel,
    pub(crate) recipe: &'a Recipe,
    pub(crate) layout: &'a Layout,
    pub(crate) groups: &'a Groups,
    pub(crate) stages: &'a [Stage],
    pub(crate) rates: &'a Rates,
    pub(crate) training: &'a TrainingAssumptions,
    pub(crate) hop_payload: HopPayload,
    pub(crate) host_line: Line,
    /// Share of the host's memory bandwidth that one accelerator's optimizer has.
    pub(crate) host_memory: BytesPerSecond,
    pub(crate) hidden: f64,
    pub(crate) hosts: u32,
    /// Memory of an accelerator that training may take.
    pub(crate) capacity: Bytes,
}
