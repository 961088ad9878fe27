//! What layouts supply, kept from one search of a catalog to the next.
//!
//! A question is searched up to one price after the other, settled, and asked again with another
//! network or budget. What a layout supplies on accelerators that are joined alike depends on none
//! of these: it is worked out once. Whoever finds it here is told the same as who works it out.

use super::batch::{Count, Miss};
use super::latency::{Most, Supply};
use crate::hardware::Fabric;
use crate::parallel::{Layout, Placement};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Debug, Write};
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Parts of questions that are kept, the latest: formats, what is bought and what is rented.
const PARTS: usize = 8;

/// Figures of layouts that are kept of a part, some 150 bytes each.
const LAYOUTS: usize = 200_000;

/// What is known of the parts of questions to one catalog.
#[derive(Debug, Default)]
pub struct Kept {
    parts: Mutex<VecDeque<(u64, Arc<KeptPart>)>>,
}

impl Kept {
    /// What is known of a part, which `asked` says but for where its parts are had from and for how
    /// much.
    pub(crate) fn part(&self, asked: &impl Debug) -> Arc<KeptPart> {
        let mut said = Said::default();
        // Nothing that is hashed can fail.
        let _ = write!(said, "{asked:?}");
        let asked = said.0.finish();
        let mut parts = locked(&self.parts);
        if let Some((_, part)) = parts.iter().find(|(other, _)| *other == asked) {
            return Arc::clone(part);
        }
        if parts.len() == PARTS {
            parts.pop_front();
        }
        let part = Arc::new(KeptPart::default());
        parts.push_back((asked, Arc::clone(&part)));
        part
    }
}

/// Hashes what is written: a load may be a trace of a million requests, which nobody copies.
#[derive(Default)]
struct Said(DefaultHasher);

impl Write for Said {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

/// What is known of accelerators that are joined in each way.
type Joined = Vec<(Fabric, Arc<KeptLine>)>;

/// What is known of a part: by accelerator and how it is joined.
#[derive(Debug, Default)]
pub struct KeptPart {
    lines: Mutex<BTreeMap<String, Joined>>,
    layouts: Arc<AtomicUsize>,
}

impl KeptPart {
    /// What is known of accelerators that are joined so.
    pub(super) fn line(&self, accelerator: &str, fabric: &Fabric) -> Arc<KeptLine> {
        let mut lines = locked(&self.lines);
        let joined = lines.entry(accelerator.to_owned()).or_default();
        if let Some((_, line)) = joined.iter().find(|(other, _)| other == fabric) {
            return Arc::clone(line);
        }
        let line = Arc::new(KeptLine {
            layouts: Arc::clone(&self.layouts),
            ..KeptLine::default()
        });
        joined.push((*fabric, Arc::clone(&line)));
        line
    }
}

/// A layout in hosts of so many accelerators.
type Laid = (Layout, u32);

/// What a layout supplies, or what it misses, and how many batches were looked at.
pub(super) type Supplied = (Result<Supply, Miss>, Count);

/// What is known of layouts on accelerators of one kind that are joined alike.
#[derive(Debug, Default)]
pub(super) struct KeptLine {
    mosts: Mutex<BTreeMap<Laid, Option<Most>>>,
    supplied: Mutex<BTreeMap<Laid, Supplied>>,
    layouts: Arc<AtomicUsize>,
}

impl KeptLine {
    /// What a layout cannot supply more than, `found` if nobody has.
    pub(super) fn most(
        &self,
        layout: Layout,
        placement: Placement,
        found: impl FnOnce() -> Option<Most>,
    ) -> Option<Most> {
        self.kept(&self.mosts, (layout, placement.slots), found)
    }

    /// What a layout supplies, `found` if nobody has.
    pub(super) fn supplied(
        &self,
        layout: Layout,
        placement: Placement,
        found: impl FnOnce() -> Supplied,
    ) -> Supplied {
        self.kept(&self.supplied, (layout, placement.slots), found)
    }

    fn kept<T: Copy>(
        &self,
        all: &Mutex<BTreeMap<Laid, T>>,
        laid: Laid,
        found: impl FnOnce() -> T,
    ) -> T {
        if let Some(known) = locked(all).get(&laid) {
            return *known;
        }
        // Others look up and find in the meantime.
        let found = found();
        if self.layouts.fetch_add(1, Ordering::Relaxed) < LAYOUTS {
            locked(all).insert(laid, found);
        }
        found
    }
}

/// What a mutex guards is whole whenever nobody holds it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::Kept;

    #[test]
    fn the_latest_parts_are_kept() {
        let kept = Kept::default();
        let first = kept.part(&"first");
        assert!(std::sync::Arc::ptr_eq(&first, &kept.part(&"first")));
        for number in 0..super::PARTS {
            kept.part(&number);
        }
        assert!(!std::sync::Arc::ptr_eq(&first, &kept.part(&"first")));
    }
}
