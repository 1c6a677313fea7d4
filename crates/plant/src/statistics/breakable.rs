//! The counted trades of a day, by match number.
//!
//! An exchange numbers its matches in ascending order, so most of them are found by a binary search
//! of a list, which costs nothing until a trade is broken.

use std::collections::BTreeMap;

use nanotape_types::{MatchNumber, StockLocate};

/// Stock and shares of each counted trade that is not broken.
#[derive(Clone, Default, Debug)]
pub(super) struct BreakableTrades {
    /// In ascending order of their numbers.
    ascending: Vec<Counted>,
    /// Those that came after a higher number.
    others: BTreeMap<MatchNumber, (StockLocate, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    number: MatchNumber,
    shares: u32,
    locate: StockLocate,
    is_broken: bool,
}

impl BreakableTrades {
    /// Inserts a trade. A later one with its number replaces it.
    #[inline]
    pub(super) fn insert(&mut self, number: MatchNumber, locate: StockLocate, shares: u32) {
        if self.ascending.last().is_none_or(|last| last.number < number) {
            self.ascending.push(Counted { number, shares, locate, is_broken: false });
        } else {
            self.insert_late(number, locate, shares);
        }
    }

    #[cold]
    fn insert_late(&mut self, number: MatchNumber, locate: StockLocate, shares: u32) {
        match self.ascending.binary_search_by_key(&number, |counted| counted.number) {
            Ok(index) => {
                self.ascending[index] = Counted { number, shares, locate, is_broken: false };
            }
            Err(_) => _ = self.others.insert(number, (locate, shares)),
        }
    }

    /// Removes a trade, and returns its stock and its shares if it was there.
    pub(super) fn remove(&mut self, number: MatchNumber) -> Option<(StockLocate, u32)> {
        match self.ascending.binary_search_by_key(&number, |counted| counted.number) {
            Ok(index) => {
                let counted = &mut self.ascending[index];
                let was_broken = core::mem::replace(&mut counted.is_broken, true);
                (!was_broken).then_some((counted.locate, counted.shares))
            }
            Err(_) => self.others.remove(&number),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn trades_are_found_as_in_a_map(
            steps in prop::collection::vec((any::<bool>(), 0u64..40, any::<u32>()), 0..200),
        ) {
            let (mut trades, mut map) = (BreakableTrades::default(), HashMap::new());
            for (is_trade, number, shares) in steps {
                let (number, locate) = (MatchNumber::new(number), StockLocate::new(shares as u16));
                if is_trade {
                    trades.insert(number, locate, shares);
                    map.insert(number, (locate, shares));
                } else {
                    prop_assert_eq!(trades.remove(number), map.remove(&number));
                }
            }
        }
    }
}
