//! The set of all reference or match numbers of a day: hundreds of millions, mostly dense.
//!
//! One cache line holds 512 adjacent numbers as bits. Dense numbers cost a fifth of a byte each;
//! scattered ones, which no exchange sends, a line each.

use std::collections::HashMap;

/// A set of 64-bit numbers.
#[derive(Default, Debug)]
pub(super) struct NumberSet {
    lines: HashMap<u64, [u64; 8]>,
}

impl NumberSet {
    /// Adds a number; returns `false` if it was in the set.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let (word, bit) = place(number);
        let word = &mut self.lines.entry(number >> 9).or_default()[word];
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Whether a number is in the set.
    pub(super) fn contains(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        self.lines.get(&(number >> 9)).is_some_and(|line| line[word] & bit != 0)
    }
}

/// Word and bit of a number within its line.
fn place(number: u64) -> (usize, u64) {
    ((number >> 6 & 7) as usize, 1 << (number & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn it_is_a_set() {
        let (mut set, mut naive) = (NumberSet::default(), HashSet::new());
        for i in 0..5_000u64 {
            let number = if i % 7 == 0 { u64::MAX - i * i } else { i * i % 3_001 };
            assert_eq!(set.contains(number), naive.contains(&number));
            assert_eq!(set.insert(number), naive.insert(number));
            assert!(set.contains(number));
        }
    }
}
