//! Prices: a value with the range that it is seen in, of one or of several together.

use super::{Fields, Given};
use crate::catalog::entry::Tag;
use crate::catalog::value::{Quantity, text_of};
use crate::diagnostic::{Diagnostic, code};
use crate::quantity::{Dimension, MicroUsd};
use toml::de::DeTable;

/// The most that a price may be of.
const MOST_PARTS: u32 = 1_000_000;

impl Fields<'_> {
    /// The price of one: `"$5000"` or `{ value, low, high, per, source }`, where the value and its
    /// range are of `per` together.
    pub(in crate::catalog) fn price(&mut self, key: &'static str) -> MicroUsd {
        self.price_in(key, Dimension::Usd, true)
    }

    /// The price of an hour, more than nothing: `"$2.50/h"` or `{ value, low, high, per, source }`.
    pub(in crate::catalog) fn price_per_hour(&mut self, key: &'static str) -> MicroUsd {
        self.price_in(key, Dimension::UsdPerHour, false)
    }

    fn price_in(&mut self, key: &'static str, money: Dimension, free: bool) -> MicroUsd {
        let Some((given, table)) = self.figure_with(key, &["low", "high", "per"]) else {
            return MicroUsd::ZERO;
        };
        let value = self.measure(&given, money, MicroUsd::MOST, free);
        let low = self.end_of_range(key, "low", table, money);
        let high = self.end_of_range(key, "high", table, money);
        let per = self.how_many(key, table);
        if low.is_some_and(|low| low > value) || high.is_some_and(|high| high < value) {
            let problem = Diagnostic::new(code::OUT_OF_RANGE, "the price is outside of its range")
                .accepted("low <= value <= high");
            self.report(&given, problem);
        }
        let each = |usd: f64| MicroUsd::from_usd(usd).split(per);
        let tag = Tag {
            each: each(value),
            low: low.map(each),
            high: high.map(each),
            per,
        };
        if let Some(noted) = self.log.figures.last_mut() {
            noted.tag = Some(tag);
        }
        tag.each
    }

    fn end_of_range(
        &mut self,
        key: &str,
        end: &str,
        table: Option<&DeTable<'_>>,
        money: Dimension,
    ) -> Option<f64> {
        let given = self.inside(key, end, table?)?;
        Some(self.measure(&given, money, MicroUsd::MOST, true))
    }

    /// How many a price is for, 1 unless it says otherwise.
    fn how_many(&mut self, key: &str, table: Option<&DeTable<'_>>) -> u32 {
        let Some(given) = table.and_then(|table| self.inside(key, "per", table)) else {
            return 1;
        };
        let count: Option<u32> = text_of(given.value).parse().ok();
        if let Some(count @ 1..=MOST_PARTS) = count {
            return count;
        }
        self.report_type_of(&given, "a whole number of parts, such as 8");
        1
    }

    /// What the table of a figure has under `inner`.
    fn inside<'s>(&self, key: &str, inner: &str, table: &'s DeTable<'s>) -> Option<Given<'s>> {
        let value = table.get(inner)?;
        Some(Given {
            field: format!("{}{key}.{inner}", self.path),
            offset: value.span().start,
            value: value.get_ref(),
        })
    }
}
