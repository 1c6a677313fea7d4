//! The spans that exist: a table without locks, from their ids to what their record needs.
//!
//! Protocol: an id is in one of eight places of its bucket. A thread takes a free place by storing
//! the id, then stores the numbers. The id of a span is known to another thread only through the
//! program, which orders both; ids that exist at the same time differ.
//! Bounds: [`MAX_OPEN`] places. An insert into a full bucket is refused.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use nanotape_trace::spans::{MAX_SITES, Site};

/// Places for spans that exist at the same time. Somewhat fewer fit, as ids share buckets.
pub const MAX_OPEN: usize = 4096;

/// Places in which an id can be: their ids are a cache line.
const BUCKET: usize = 8;

/// What the record of a span has beside its stamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Numbers {
    pub(super) site: Site,
    pub(super) number: u64,
    pub(super) value: u64,
}

#[derive(Debug)]
pub(super) struct Open {
    /// 0: free.
    ids: Box<[AtomicU64]>,
    numbers: Box<[[AtomicU64; 3]]>,
}

impl Open {
    pub(super) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            ids: (0..MAX_OPEN).map(|_| zero()).collect(),
            numbers: (0..MAX_OPEN).map(|_| [zero(), zero(), zero()]).collect(),
        }
    }

    /// Adds a span; false if there is no place.
    #[inline]
    pub(super) fn insert(&self, id: u64, numbers: Numbers) -> bool {
        let start = bucket(id);
        let is_taken = |place: &usize| {
            // Tried first: a place that is in use costs no exclusive access to its line.
            self.ids[*place].load(Relaxed) == 0
                && self.ids[*place].compare_exchange(0, id, Relaxed, Relaxed).is_ok()
        };
        let Some(place) = (start..start + BUCKET).find(is_taken) else { return false };
        let words = [numbers.site.index() as u64, numbers.number, numbers.value];
        self.numbers[place].iter().zip(words).for_each(|(to, word)| to.store(word, Relaxed));
        true
    }

    /// The numbers of a span.
    #[inline]
    pub(super) fn find(&self, id: u64) -> Option<Numbers> {
        let [site, number, value] = &self.numbers[self.place(id)?];
        let site = Site::at((site.load(Relaxed) as usize).min(MAX_SITES - 1))?;
        Some(Numbers { site, number: number.load(Relaxed), value: value.load(Relaxed) })
    }

    /// Changes the numbers that are given.
    pub(super) fn change(&self, id: u64, number: Option<u64>, value: Option<u64>) {
        let Some(place) = self.place(id) else { return };
        for (word, change) in self.numbers[place][1..].iter().zip([number, value]) {
            change.into_iter().for_each(|change| word.store(change, Relaxed));
        }
    }

    /// Frees the place of a span.
    #[inline]
    pub(super) fn remove(&self, id: u64) {
        if let Some(place) = self.place(id) {
            self.ids[place].store(0, Relaxed);
        }
    }

    #[inline]
    fn place(&self, id: u64) -> Option<usize> {
        let start = bucket(id);
        (start..start + BUCKET).find(|&place| self.ids[place].load(Relaxed) == id)
    }
}

/// The first place of the bucket of an id. Ids are small numbers with a few high bits.
#[inline]
fn bucket(id: u64) -> usize {
    let mixed = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - (MAX_OPEN / BUCKET).ilog2())) as usize * BUCKET
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(number: u64) -> Numbers {
        Numbers { site: Site::at(number as usize % MAX_SITES).unwrap(), number, value: !number }
    }

    #[test]
    fn spans_are_found_until_they_are_removed() {
        let open = Open::new();
        // As many as a program has at the same time, with generations in the high bits.
        let ids: Vec<u64> = (1..=1_000).map(|id| id | (id % 7) << 51).collect();
        for (number, &id) in (0..).zip(&ids) {
            assert!(open.insert(id, numbers(number)));
        }
        for (number, &id) in (0..).zip(&ids) {
            assert_eq!(open.find(id), Some(numbers(number)));
        }
        open.change(ids[5], Some(77), None);
        assert_eq!(open.find(ids[5]), Some(Numbers { number: 77, ..numbers(5) }));
        ids.iter().for_each(|&id| open.remove(id));
        assert!(ids.iter().all(|&id| open.find(id).is_none()));
        assert!(open.ids.iter().all(|id| id.load(Relaxed) == 0));
    }

    #[test]
    fn a_full_bucket_refuses_and_keeps_the_others() {
        let open = Open::new();
        let mut taken = Vec::new();
        for id in 1..=2 * MAX_OPEN as u64 {
            if open.insert(id, numbers(id)) {
                taken.push(id);
            }
        }
        assert!(taken.len() <= MAX_OPEN && taken.len() > MAX_OPEN / 2, "{}", taken.len());
        assert!(taken.iter().all(|&id| open.find(id) == Some(numbers(id))));
    }
}
