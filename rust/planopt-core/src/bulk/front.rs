//! The Pareto front of a space, in constant memory: price against time.

use super::columns::{Column, Metrics};
use super::sink::{Rejected, Sink, Tally};

/// A candidate on the front; of both metrics the less the better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The first metric.
    pub price: f64,
    /// The second.
    pub time: f64,
    /// The candidate.
    pub index: u64,
}

/// Candidates that no other one beats: prices rise, times fall. Of equals the lowest index stays,
/// so that the order in which candidates are met makes no difference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Front {
    points: Vec<Point>,
}

impl Front {
    /// Its points, the cheapest first.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The last point that is no dearer.
    fn no_dearer(&self, price: f64) -> Option<&Point> {
        let after = self.points.partition_point(|point| point.price <= price);
        self.points[..after].last()
    }

    /// Whether some point beats everything that costs and takes at least so much.
    pub fn beats(&self, price: f64, time: f64) -> bool {
        self.no_dearer(price)
            .is_some_and(|point| point.time < time || (point.time <= time && point.price < price))
    }

    /// Adds a candidate, unless another one is as good.
    pub fn offer(&mut self, point: Point) {
        if let Some(known) = self.no_dearer(point.price) {
            let equal =
                known.price >= point.price && known.time <= point.time && known.time >= point.time;
            if known.time <= point.time && !(equal && point.index < known.index) {
                return;
            }
        }
        let from = self
            .points
            .partition_point(|other| other.price < point.price);
        let beaten = self.points[from..].partition_point(|other| other.time >= point.time);
        self.points.splice(from..from + beaten, [point]);
    }

    /// Adds the points of another one.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        for point in &other.points {
            self.offer(*point);
        }
        self
    }
}

/// Metrics that a front is made of.
pub trait Ranked: Metrics {
    /// Price and time of the candidate in a lane.
    fn ranked(&self) -> [&Column; 2];
}

/// Keeps the front of all candidates, and counts them.
#[derive(Clone, Debug, Default)]
pub struct FrontSink {
    /// The front of what was met.
    pub front: Front,
    /// What was met.
    pub tally: Tally,
    /// A front known before, which says what cannot matter; nothing is passed over without.
    pub known: Option<Front>,
}

impl FrontSink {
    /// Both together.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        Self {
            front: self.front.with(&other.front),
            tally: self.tally.with(other.tally),
            known: None,
        }
    }
}

impl<C: Ranked> Sink<C> for FrontSink {
    fn accept(&mut self, index: u64, count: usize, columns: &C) {
        self.tally.accept(index, count, columns);
        let [price, time] = columns.ranked();
        let least = |column: &[f64]| column.iter().copied().fold(f64::INFINITY, f64::min);
        if self
            .front
            .beats(least(&price[..count]), least(&time[..count]))
        {
            return;
        }
        for ((&price, &time), index) in price[..count].iter().zip(&time[..count]).zip(index..) {
            self.front.offer(Point { price, time, index });
        }
    }

    fn reject(&mut self, _index: u64, count: u64, reason: Rejected) {
        self.tally.count(reason, count);
    }

    fn prune(&mut self, count: u64, price: f64, time: f64) -> bool {
        let known = self.known.as_ref();
        let beaten =
            known.is_some_and(|known| known.beats(price, time) || self.front.beats(price, time));
        if beaten {
            self.tally.pruned += count;
        }
        beaten
    }
}

#[cfg(test)]
mod tests {
    use super::{Front, Point};

    fn of(points: &[(f64, f64)]) -> Front {
        let mut front = Front::default();
        for (&(price, time), index) in points.iter().zip(0..) {
            front.offer(Point { price, time, index });
        }
        front
    }

    #[test]
    fn the_unbeaten_stay_in_order_of_price() {
        let front = of(&[
            (3.0, 3.0),
            (1.0, 5.0),
            (2.0, 6.0),
            (3.0, 2.0),
            (4.0, 2.0),
            (1.0, 5.0),
        ]);
        let kept: Vec<_> = front.points().iter().map(|point| point.index).collect();
        assert_eq!(kept, [1, 3]);
        assert!(front.beats(3.0, 2.5) && front.beats(3.5, 2.0));
        assert!(!front.beats(3.0, 2.0) && !front.beats(0.5, 9.0));
    }

    #[test]
    fn of_equals_the_first_place_stays_whatever_the_order() {
        let mut front = of(&[(2.0, 2.0)]);
        front.points[0].index = 7;
        front.offer(Point {
            price: 2.0,
            time: 2.0,
            index: 3,
        });
        front.offer(Point {
            price: 2.0,
            time: 2.0,
            index: 5,
        });
        assert_eq!(front.points().len(), 1);
        assert_eq!(front.points()[0].index, 3);
    }
}
