//! New or used: what an accelerator is bought at.

use super::declared::{maybe, table};
use super::fields::Fields;
use crate::quantity::MicroUsd;

/// In which condition accelerators are bought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Condition {
    /// New ones, as far as they are on sale.
    #[default]
    New,
    /// Used ones.
    Used,
    /// Whichever is cheaper.
    Any,
}

table! {
    /// What new and used ones of an accelerator cost.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Offered {
        /// Price of a new one.
        pub new: Option<MicroUsd> as "price" = maybe(Fields::price),
        /// Price of a used one.
        pub used: Option<MicroUsd> as "price_used" = maybe(Fields::price),
        /// Whether new ones can be bought today; none where nobody says.
        pub on_sale: Option<bool> = maybe(Fields::flag),
    }
}

impl Offered {
    /// Price in some condition; none where it is not to be had so.
    pub fn price(&self, condition: Condition) -> Option<MicroUsd> {
        let new = self.new.filter(|_| self.on_sale != Some(false));
        match condition {
            Condition::New => new,
            Condition::Used => self.used,
            Condition::Any => new.into_iter().chain(self.used).min(),
        }
    }
}
