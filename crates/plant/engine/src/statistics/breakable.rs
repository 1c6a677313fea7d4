//! The trades of a day and the numbers of broken ones.
//!
//! A break is valid for every trade of its number, whatever its kind, and whether it comes before
//! or after the break. The number of trades with one number is one on a real day.
//!
//! An exchange numbers its matches in ascending order, so most of them are found by a binary search
//! of a list, which costs nothing until a trade is broken.

use std::collections::{BTreeMap, BTreeSet};

use nanotape_types::{MatchNumber, StockLocate};

/// Stock and shares of each trade that is not broken, and the numbers of broken ones.
#[derive(Clone, Default, Debug)]
pub(super) struct BreakableTrades {
    /// In ascending order of their numbers, each of them once.
    ascending: Vec<Counted>,
    /// Those that came after the same or a higher number, and those with more shares than fit.
    others: BTreeMap<MatchNumber, Vec<(StockLocate, u64)>>,
    broken: BTreeSet<MatchNumber>,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    number: MatchNumber,
    shares: u32,
    locate: StockLocate,
}

impl BreakableTrades {
    /// Inserts a trade. Returns whether it counts: no break has named its number.
    #[inline]
    pub(super) fn insert(&mut self, number: MatchNumber, locate: StockLocate, shares: u64) -> bool {
        if !self.broken.is_empty() && self.broken.contains(&number) {
            return false;
        }
        match u32::try_from(shares) {
            Ok(shares) if self.ascending.last().is_none_or(|last| last.number < number) => {
                self.ascending.push(Counted { number, shares, locate });
            }
            _ => self.insert_elsewhere(number, locate, shares),
        }
        true
    }

    #[cold]
    fn insert_elsewhere(&mut self, number: MatchNumber, locate: StockLocate, shares: u64) {
        self.others.entry(number).or_default().push((locate, shares));
    }

    /// Breaks all trades of a number. Calls `no_longer` with the stock and the shares of those that
    /// counted.
    pub(super) fn break_all(
        &mut self,
        number: MatchNumber,
        mut no_longer: impl FnMut(StockLocate, u64),
    ) {
        if !self.broken.insert(number) {
            return;
        }
        let found = self.ascending.binary_search_by_key(&number, |counted| counted.number);
        if let Ok(counted) = found.map(|index| &self.ascending[index]) {
            no_longer(counted.locate, counted.shares.into());
        }
        for (locate, shares) in self.others.remove(&number).into_iter().flatten() {
            no_longer(locate, shares);
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
        fn trades_of_broken_numbers_do_not_count_in_any_order(
            steps in prop::collection::vec((0u8..4, 0u64..40, any::<u32>()), 0..200),
        ) {
            let mut trades = BreakableTrades::default();
            let mut sums: HashMap<StockLocate, i128> = HashMap::new();
            for &(step, number, shares) in &steps {
                let (number, locate) = (MatchNumber::new(number), StockLocate::new(shares as u16));
                if step == 0 {
                    trades.break_all(number, |locate, shares| {
                        *sums.entry(locate).or_default() -= i128::from(shares);
                    });
                    continue;
                }
                // Some have more than 32 bits.
                let shares = u64::from(shares) << (step * 2);
                if trades.insert(number, locate, shares) {
                    *sums.entry(locate).or_default() += i128::from(shares);
                }
            }
            let broken: Vec<u64> =
                steps.iter().filter(|(step, ..)| *step == 0).map(|(_, number, _)| *number).collect();
            let mut expected: HashMap<StockLocate, i128> = HashMap::new();
            for (step, number, shares) in steps {
                if step != 0 && !broken.contains(&number) {
                    let of_stock = expected.entry(StockLocate::new(shares as u16)).or_default();
                    *of_stock += i128::from(u64::from(shares) << (step * 2));
                }
            }
            sums.retain(|_, sum| *sum != 0);
            expected.retain(|_, sum| *sum != 0);
            prop_assert_eq!(sums, expected);
        }
    }
}
