//! Laws that hold whatever the model, the hardware and the assumptions are, tried on the bundled
//! catalog and on made-up hardware and models.

mod adapters;
mod batches;
mod bulk;
mod candidate;
mod contexts;
mod found;
mod made_up;
mod messages;
mod models;
mod money;
mod prefixes;
mod questions;
mod resources;
mod searches;
mod stock;
#[path = "../support/mod.rs"]
mod support;
