//! Islands that meet over the Internet, and homes that come and go.

use crate::catalog::declared::table;
use crate::catalog::fields::{Fields, factor, part};
use crate::quantity::{BytesPerSecond, Seconds};

table! {
    /// Islands that meet over the Internet, and homes that come and go.
    #[derive(Clone, Copy, Debug)]
    pub struct IslandAssumptions {
        /// Bits in which the difference of a parameter is exchanged.
        pub exchange_bits: f64 = factor,
        /// Share of the inner steps that an exchange can hide behind.
        pub exchange_overlap: f64 = part,
        /// TCP connections that share a line.
        pub connections: f64 = factor,
        /// Share by which the loss is higher for each doubling of the islands and e-fold of the steps
        /// between two exchanges.
        pub loss_rate: f64 = part,
        /// The most that it may be.
        pub loss_rate_high: f64 = part,
        /// Loss that no size and no data takes away.
        pub loss_floor: f64 = factor,
        /// Loss of a model of one parameter beyond that.
        pub parameter_scale: f64 = factor,
        /// How it falls with parameters.
        pub parameter_exponent: f64 = factor,
        /// Loss after one token beyond that.
        pub token_scale: f64 = factor,
        /// How it falls with tokens.
        pub token_exponent: f64 = factor,
        /// Mean time until a home leaves.
        pub lifetime: Seconds = Fields::positive,
        /// Mean time until it is back.
        pub away: Seconds = Fields::positive,
        /// Time until the others notice that it left.
        pub notice: Seconds = Fields::quantity,
        /// What it reads layers from where its host says nothing of a disk.
        pub disk: BytesPerSecond = Fields::positive,
    }
}
