//! A small memory of what was worked out before.

/// Slots: what a thread keeps stays within its second-level cache.
const SLOTS: usize = 2048;
/// No key.
const EMPTY: u64 = u64::MAX;

/// The last value worked out for each of a few thousand keys: one slot each, a newer key takes the
/// slot of an older one. Values are reused, so that nothing is allocated once all slots are.
#[derive(Clone, Debug)]
pub(crate) struct Cache<T> {
    slots: Vec<(u64, u32)>,
    values: Vec<T>,
}

impl<T: Default> Cache<T> {
    pub(crate) fn new() -> Self {
        Self {
            slots: vec![(EMPTY, 0); SLOTS],
            values: Vec::new(),
        }
    }

    /// The value of `key`, worked out into what was in its slot if it is not there.
    pub(crate) fn get_or<E>(
        &mut self,
        key: u64,
        work_out: impl FnOnce(&mut T) -> Result<(), E>,
    ) -> Result<&T, E> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a remainder of the number of slots"
        )]
        let slot = &mut self.slots[(key % SLOTS as u64) as usize];
        if slot.0 == EMPTY && slot.1 == 0 {
            self.values.push(T::default());
            slot.1 = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        }
        let value = &mut self.values[slot.1 as usize - 1];
        if slot.0 != key {
            slot.0 = EMPTY;
            work_out(value)?;
            slot.0 = key;
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::{Cache, SLOTS};

    #[test]
    fn a_value_is_that_of_its_key_whatever_shares_its_slot() {
        let mut cache = Cache::new();
        let mut worked_out = 0;
        for key in [3, 3, 3 + SLOTS as u64, 3, 4] {
            let value = cache.get_or(key, |value| {
                worked_out += 1;
                *value = key;
                Ok::<(), ()>(())
            });
            assert_eq!(value, Ok(&key));
        }
        assert_eq!(worked_out, 4);
        assert_eq!(cache.get_or(5, |_| Err("no")), Err("no"));
        let again = cache.get_or(5, |value| {
            *value = 6;
            Ok::<(), &str>(())
        });
        assert_eq!(again, Ok(&6));
    }
}
