//! A table with one entry for each stock locate.

use core::{
    fmt,
    ops::{Index, IndexMut},
};

use crate::StockLocate;

/// One `T` for each of the 65,536 stock locates, on the heap.
///
/// The length is part of the type, so that indexing by a locate needs no bounds check.
#[derive(Clone, PartialEq, Eq)]
pub struct LocateTable<T>(Box<[T; StockLocate::COUNT]>);

/// Omits the 65,536 entries.
impl<T> fmt::Debug for LocateTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocateTable").field("entries", &self.0.len()).finish_non_exhaustive()
    }
}

impl<T: Clone> LocateTable<T> {
    /// The same value for every locate.
    pub fn filled(value: T) -> Self {
        match vec![value; StockLocate::COUNT].into_boxed_slice().try_into() {
            Ok(entries) => Self(entries),
            Err(_) => unreachable!("the vector has StockLocate::COUNT entries"),
        }
    }

    /// Gives every locate the same value again, in place.
    pub fn fill(&mut self, value: T) {
        self.0.fill(value);
    }
}

impl<T> LocateTable<T> {
    /// All entries, by locate.
    pub fn iter(&self) -> impl Iterator<Item = (StockLocate, &T)> {
        StockLocate::all().zip(self.0.iter())
    }

    /// All entries by mutable reference, by locate.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (StockLocate, &mut T)> {
        StockLocate::all().zip(self.0.iter_mut())
    }
}

impl<T> Index<StockLocate> for LocateTable<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, locate: StockLocate) -> &T {
        &self.0[locate.index()]
    }
}

impl<T> IndexMut<StockLocate> for LocateTable<T> {
    #[inline(always)]
    fn index_mut(&mut self, locate: StockLocate) -> &mut T {
        &mut self.0[locate.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_locate_has_an_entry_of_its_own() {
        let mut table = LocateTable::filled(0);
        let last = StockLocate::new(u16::MAX);
        table[last] = 7;
        assert_eq!(table[last], 7);
        assert_eq!(table.iter().filter(|&(_, &value)| value == 7).count(), 1);
        assert_eq!(table.iter().count(), StockLocate::COUNT);
        table.fill(3);
        assert!(table.iter().all(|(_, &value)| value == 3));
    }
}
