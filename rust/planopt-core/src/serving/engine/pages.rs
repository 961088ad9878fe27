//! Pages of the KV cache.

/// The pool of pages of one engine, and how full it has been.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    tokens: u32,
    all: u64,
    used: u64,
    /// Pages times seconds until `since`.
    filled: f64,
    since: f64,
}

/// Share of the pages that an admission leaves free for those who grow: vLLM's `watermark`.
const WATERMARK: f64 = 0.01;

impl Pages {
    pub(super) fn new(kv_tokens: u64, page_tokens: u32) -> Self {
        Self {
            tokens: page_tokens,
            all: kv_tokens / u64::from(page_tokens),
            used: 0,
            filled: 0.0,
            since: 0.0,
        }
    }

    /// Pages in use.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Pages that so many tokens take.
    pub(super) fn of(&self, tokens: u32) -> u64 {
        u64::from(tokens.div_ceil(self.tokens))
    }

    /// Whether so many tokens would fit if nobody else was there.
    pub(super) fn could_ever_hold(&self, tokens: u32) -> bool {
        self.of(tokens) <= self.all
    }

    /// Whether so many pages are free.
    pub(super) fn are_free(&self, pages: u64) -> bool {
        self.used + pages <= self.all
    }

    /// Whether somebody may be admitted with so many pages.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a hundredth of the pages, rounded"
    )]
    pub(super) fn are_spare(&self, pages: u64) -> bool {
        let watermark = (self.all as f64 * WATERMARK) as u64;
        self.used == 0 && self.are_free(pages) || self.are_free(pages + watermark)
    }

    pub(super) fn take(&mut self, pages: u64, now: f64) {
        self.pass(now);
        self.used += pages;
    }

    /// Takes pages that were needed little by little since something last changed.
    #[expect(
        clippy::cast_precision_loss,
        reason = "fewer pages than a double counts exactly"
    )]
    pub(super) fn take_since(&mut self, pages: u64, now: f64) {
        self.filled += pages as f64 * (now - self.since) / 2.0;
        self.take(pages, now);
    }

    /// Pages that are free.
    pub(super) fn free(&self) -> u64 {
        self.all - self.used
    }

    pub(super) fn give_back(&mut self, pages: u64, now: f64) {
        self.pass(now);
        self.used -= pages;
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "fewer pages than a double counts exactly"
    )]
    fn pass(&mut self, now: f64) {
        self.filled += self.used as f64 * (now - self.since);
        self.since = now;
    }

    /// Mean share of the pages in use until `now`.
    #[expect(
        clippy::cast_precision_loss,
        reason = "fewer pages than a double counts exactly"
    )]
    pub(super) fn occupancy(&mut self, now: f64) -> f64 {
        self.pass(now);
        if now > 0.0 && self.all > 0 {
            self.filled / (now * self.all as f64)
        } else {
            0.0
        }
    }
}
