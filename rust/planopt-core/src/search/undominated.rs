//! Rows that no best purchase needs.
//!
//! Row j replaces i if both are of one stock, j needs no more of anything that is paid or limited
//! (price, running cost, purchase money, power, rack units, accelerators) and gives no less of
//! anything that is asked for (users, throughput, speed, parts that fail one at a time). A row that
//! equals another in price, running cost, power and throughput must also have the later name.
//!
//! Proof that no optimum is lost. Put a j in place of each i. Needs do not rise, so upper limits
//! hold, and since the stock is the same, so does it. Throughput and the slowest speed do not fall.
//! Users after the loss of the N largest parts do not fall: they are the most, over m >= 0, that the
//! sum of `min(users, parts * m)` exceeds `N m` by (proof in `planopt.procurement.model`), and no
//! term is smaller for j. The same holds of tokens. Price and power do not rise, and nor does $/Mtok, a
//! smaller sum over a larger one; where all of them stay, j has the earlier name. So the new purchase
//! comes no later in any order of purchases. The relation is transitive and has no cycles, so each row
//! dropped is replaced by one that is kept.
//!
//! Across stocks nothing is dropped: where one is short, the dear accelerator is useful.

use std::collections::BTreeMap;

use super::redundancy::Redundancy;
use super::rows::Rows;
use crate::quantity::Exact;

/// Figures such that less is better: first those that every order of purchases looks at.
type Figures = [f64; 13];

/// How many of them every order looks at: price, running cost, power, throughput.
const ORDERED: usize = 4;

impl Rows {
    /// Those of `rows` that no other one of them replaces, by name.
    pub fn undominated(&self, rows: &[usize], redundancy: Redundancy) -> Vec<usize> {
        let mut stocks: BTreeMap<u32, Vec<(Figures, usize)>> = BTreeMap::new();
        for row in rows {
            let stock = stocks.entry(self.stock[*row]).or_default();
            stock.push((self.figures(*row, redundancy), *row));
        }
        let mut kept: Vec<usize> = stocks
            .into_values()
            .flat_map(|stock| self.front(stock))
            .collect();
        kept.sort_by_key(|row| self.places[*row]);
        kept
    }

    /// Rows of one stock that none of the others replaces. One that replaces another sorts before
    /// it, so looking at those kept is enough.
    fn front(&self, mut stock: Vec<(Figures, usize)>) -> Vec<usize> {
        stock.sort_by(|(one, row), (other, other_row)| {
            let mut pairs = one.iter().zip(other).take(ORDERED);
            let first = pairs.find_map(|(one, other)| {
                let order = one.total_cmp(other);
                order.is_ne().then_some(order)
            });
            first.unwrap_or_else(|| self.places[*row].cmp(&self.places[*other_row]))
        });
        let mut kept: Vec<(Figures, usize)> = Vec::new();
        for (figures, row) in stock {
            let replaces =
                |(better, _): &(Figures, usize)| better.iter().zip(&figures).all(|(a, b)| a <= b);
            if !kept.iter().any(replaces) {
                kept.push((figures, row));
            }
        }
        kept.into_iter().map(|(_, row)| row).collect()
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "money below 2^53 micro-dollars and counts are exact"
    )]
    fn figures(&self, row: usize, redundancy: Redundancy) -> Figures {
        let columns = &self.columns;
        // 0 less a figure is never the negative zero that sorts before the other.
        let more = |figure: f64| 0.0 - Exact::plain(figure);
        let [devices, hosts, switches, racks] =
            (self.standing(row).in_parts(redundancy)).map(|parts| 0.0 - parts);
        [
            columns.price_micro_usd[row] as f64,
            Exact::plain(columns.usd_per_hour[row]),
            Exact::plain(columns.power_watts[row]),
            more(columns.tokens_per_second[row]),
            columns.capital_micro_usd[row] as f64,
            Exact::plain(columns.rack_units[row]),
            f64::from(self.system(row).accelerators),
            0.0 - columns.users[row] as f64,
            more(columns.tokens_per_second_per_user[row]),
            devices,
            hosts,
            switches,
            racks,
        ]
    }
}
