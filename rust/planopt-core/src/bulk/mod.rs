//! Evaluation in bulk: 10^8 candidates per second and machine.
//!
//! Two levels. What one micro-batch costs a block of layers is worked out once, by the functions
//! of the single evaluation; a *row* is what candidates share that differ in the last axis alone,
//! and what is left for each of them is arithmetic on columns. Candidates are numbered, so that
//! any part of a space can be evaluated anywhere, and nothing is kept but what a [`Sink`] keeps.
//! Measured: `docs/performance.md`.

mod checksum;
mod columns;
mod front;
mod lane;
mod level;
mod radix;
pub mod serving;
mod sink;
mod table;
pub mod training;
mod walk;

pub use self::checksum::Checksum;
pub use self::columns::{Column, LANES, Metrics};
pub use self::front::{Front, FrontSink, Point, Ranked};
pub use self::radix::Radix;
pub use self::sink::{Rejected, Sink, Tally};
pub use self::table::Table;
pub use self::walk::{Candidates, Walk, front, tally};
