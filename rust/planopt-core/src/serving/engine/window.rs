//! The window of a simulation in which arrivals and answers are counted.
//!
//! It opens when the first measured request arrives and closes when the last does. Rates over the
//! time until the last answer would fall with every long one (Law, "Simulation Modeling and
//! Analysis", section 9.5: a steady state has no end).

use crate::quantity::real;

/// When it opens and closes, and what is counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    /// Number of the first request that is measured.
    pub(super) begin: u64,
    requests: u64,
    opened: Option<f64>,
    closed: Option<f64>,
    /// Requests that were in no engine yet when it opened and when it closed.
    line_before: usize,
    line_after: usize,
    within: Count,
    /// From when it opened until now.
    since: Count,
    /// Requests that have been answered or refused since the start.
    pub(super) left: u64,
}

/// Answers.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    requests: u64,
    tokens: f64,
}

impl Count {
    fn add(&mut self, output: u32) {
        self.requests += 1;
        self.tokens += f64::from(output);
    }
}

/// Requests and output tokens over a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    pub(super) seconds: f64,
    pub(super) requests_per_second: f64,
    pub(super) tokens_per_second: f64,
}

/// Share of those who come by which a line grows where an engine cannot keep up: more than chance
/// adds to one that can, and the least of what is asked that is then not served.
const GROWS: f64 = 0.05;

impl Window {
    pub(super) fn new(begin: u64, requests: u64) -> Self {
        Self {
            begin,
            requests,
            ..Self::default()
        }
    }

    /// Number of the first request behind it.
    pub(super) fn end(&self) -> u64 {
        self.begin + self.requests
    }

    /// Place of a request among those that are measured, if it is.
    pub(super) fn place(&self, number: u64) -> Option<usize> {
        let place = number.checked_sub(self.begin)?;
        usize::try_from(place)
            .ok()
            .filter(|_| place < self.requests)
    }

    pub(super) fn open(&mut self, now: f64, line: usize) {
        self.opened = Some(now);
        self.line_before = line;
    }

    pub(super) fn close(&mut self, now: f64, line: usize) {
        self.closed = Some(now);
        self.line_after = line;
    }

    pub(super) fn answer(&mut self, now: f64, output: u32) {
        self.left += 1;
        if self.opened.is_some_and(|opened| opened < now) {
            self.since.add(output);
            if self.closed.is_none_or(|closed| now <= closed) {
                self.within.add(output);
            }
        }
    }

    fn seconds(&self) -> f64 {
        self.closed.unwrap_or(0.0) - self.opened.unwrap_or(0.0)
    }

    /// Whether nothing can be counted in it.
    pub(super) fn is_empty(&self) -> bool {
        self.seconds() <= 0.0 || self.since.requests == 0
    }

    /// What was answered in it, over its seconds; of a stream that is known to bring `offered`
    /// requests per second, over the seconds in which that many come: how many did by chance then
    /// moves no rate. Who cannot keep up is as busy until `now`, and what he answers until then is
    /// what he can.
    pub(super) fn rates(&self, offered: Option<f64>, now: f64) -> Rates {
        let (count, seconds) = match offered {
            Some(_) if self.falls_behind() => (self.since, now - self.opened.unwrap_or(0.0)),
            Some(per_second) => (self.within, real(self.requests - 1) / per_second),
            None => (self.within, self.seconds()),
        };
        Rates {
            seconds: self.seconds(),
            requests_per_second: real(count.requests) / seconds,
            tokens_per_second: count.tokens / seconds,
        }
    }

    /// Whether the line of those who wait to be served has grown as where more come than leave.
    #[expect(clippy::cast_precision_loss, reason = "counts of requests")]
    pub(super) fn falls_behind(&self) -> bool {
        let grown = self.line_after as f64 - self.line_before as f64;
        grown > GROWS * real(self.requests)
    }
}
