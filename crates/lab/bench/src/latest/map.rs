//! One side of a map of latest values.

use nanotape_latest::{LatestError, LatestWriter};

use super::{
    keys::{first_value, key},
    loops::Values,
};
use crate::error::Error;

/// A writer of a map whose keys have as many words.
pub(super) struct Map<const WORDS: usize> {
    pub(super) writer: LatestWriter,
    /// Entries with keys of [`key`] from 0 on.
    pub(super) entries: u64,
}

impl<const WORDS: usize> Map<WORDS> {
    /// Stores the results of this side in entries that have no other use. What it did before is
    /// visible to a process that finds them.
    pub(super) fn report(&mut self, numbers: [u64; 2]) -> Result<(), LatestError> {
        for (at, number) in (self.entries..).zip(numbers) {
            let _ = self.writer.insert(&key::<WORDS>(at), &[number])?;
        }
        Ok(())
    }

    /// The results of the other side, once it has stored them.
    pub(super) fn reported(&mut self) -> Result<Option<[u64; 2]>, LatestError> {
        let mut numbers = [[0]; 2];
        for (at, number) in (self.entries..).zip(&mut numbers) {
            if self.writer.get(&key::<WORDS>(at), number)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(numbers.as_flattened().try_into().unwrap_or_default()))
    }

    /// The number of entries without reports.
    fn count(&mut self) -> Result<(u64, u64), LatestError> {
        let reports = [0, 1].map(|at| key::<WORDS>(self.entries + at));
        let (mut count, mut sum) = (0, 0_u64);
        self.writer.reader().for_each(|key, value, _| {
            if reports.iter().all(|report| report != key) {
                (count, sum) = (count + 1, sum.wrapping_add(value[0]));
            }
        })?;
        Ok((count, sum))
    }
}

impl<const WORDS: usize> Values for Map<WORDS> {
    #[inline(always)]
    fn is_first(&mut self, entry: u64) -> Result<bool, Error> {
        let mut value = [0];
        let found = self.writer.get(&key::<WORDS>(entry), &mut value)?;
        Ok(found.is_some() && value[0] == first_value(entry))
    }

    #[inline(always)]
    fn add(&mut self, entry: u64) -> Result<(), Error> {
        let updated = self.writer.update(&key::<WORDS>(entry), |value| value[0] += 1)?;
        if updated.is_some() { Ok(()) } else { Err(missing(entry)) }
    }

    #[inline(always)]
    fn insert(&mut self, entry: u64) -> Result<(), Error> {
        let _ = self.writer.insert(&key::<WORDS>(entry), &[first_value(entry)])?;
        Ok(())
    }

    fn are_first(&mut self, entries: &[u64]) -> Result<u64, Error> {
        let keys: Vec<[u64; WORDS]> = entries.iter().map(|entry| key(*entry)).collect();
        let mut first = 0;
        let each = |number: usize, version: Option<u32>, value: &[u64]| {
            let is_first = version.is_some() && value[0] == first_value(entries[number]);
            first += u64::from(is_first);
        };
        self.writer.get_each(keys.as_flattened(), &mut [0], each)?;
        Ok(first)
    }

    fn add_each(&mut self, entries: &[u64]) -> Result<(), Error> {
        let keys: Vec<[u64; WORDS]> = entries.iter().map(|entry| key(*entry)).collect();
        let found = self.writer.update_each(keys.as_flattened(), |_, value| value[0] += 1)?;
        if found == entries.len() { Ok(()) } else { Err(missing(entries[0])) }
    }

    fn sum(&mut self) -> Result<u64, Error> {
        let (count, sum) = self.count()?;
        if count != self.entries {
            let found = format!("it has {count} entries, expected {}", self.entries);
            return Err(Error::found("a map", found));
        }
        Ok(sum)
    }
}

#[cold]
fn missing(entry: u64) -> Error {
    Error::found("a map", format!("the key of entry {entry} is missing"))
}

#[cfg(test)]
mod tests {
    use nanotape_latest::LatestSpec;

    use super::*;
    use crate::latest::keys::first_sum;

    #[test]
    fn results_are_no_entries_and_lost_updates_are_noticed() {
        let spec =
            LatestSpec { entries: 102, key_words: 2, value_words: 1, writers: 2, value_layout: 0 };
        let writer = LatestWriter::on_heap(spec, 7).unwrap();
        let mut map = Map::<2> { writer, entries: 100 };
        assert!(map.sum().is_err_and(|error| error.is_finding()));
        (0..100).for_each(|entry| map.insert(entry).unwrap());
        assert_eq!(map.reported().unwrap(), None);
        map.report([5, 6]).unwrap();
        assert_eq!(map.reported().unwrap(), Some([5, 6]));
        assert!(map.is_first(7).unwrap());
        map.add(7).unwrap();
        assert!(!map.is_first(7).unwrap());
        map.add_each(&[8, 9, 8]).unwrap();
        assert_eq!(map.are_first(&[6, 7, 8, 9, 10]).unwrap(), 2);
        assert!(map.add_each(&[8, 102]).unwrap_err().is_finding());
        assert_eq!(map.sum().unwrap(), first_sum(100) + 5);
        assert!(map.add(102).unwrap_err().is_finding());
    }
}
