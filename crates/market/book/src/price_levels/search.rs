//! Ways to find a price in levels that are sorted worst first, best last.
//!
//! A policy has no state: it is a type parameter of [`BestLast`](super::BestLast), so that the same
//! structure can be measured with each, at no cost at run time.
//!
//! Bounds: [`BinarySearch`], [`BranchFreeSearch`] and [`NearSearch`] are logarithmic in the number
//! of levels; [`LinearSearch`] is linear in the distance from the best level.

use core::{fmt::Debug, hint::select_unpredictable};

use crate::{Level, PriceKey};

/// A way to find a price.
pub trait Search: Default + Debug + 'static {
    /// The index of `key` in `levels`, keys ascending (`Ok`), or where it would be inserted
    /// (`Err`).
    fn search(levels: &[Level], key: PriceKey) -> Result<usize, usize>;
}

/// The standard library's binary search over the whole side.
#[derive(Clone, Copy, Default, Debug)]
pub struct BinarySearch;

impl Search for BinarySearch {
    #[inline]
    fn search(levels: &[Level], key: PriceKey) -> Result<usize, usize> {
        levels.binary_search_by_key(&key, |level| level.key)
    }
}

/// A binary search without a branch that depends on prices. The number of levels determines the
/// number of steps, and each step selects its half with a conditional move.
///
/// The processor never mispredicts, and never runs ahead either: each step waits for the load of
/// the one before. The standard library's loop has become similar; this one only compares for
/// greater, and is written out so that a new compiler version does not change it.
#[derive(Clone, Copy, Default, Debug)]
pub struct BranchFreeSearch;

impl Search for BranchFreeSearch {
    #[inline]
    fn search(levels: &[Level], key: PriceKey) -> Result<usize, usize> {
        if levels.is_empty() {
            return Err(0);
        }
        // The last level whose key is not greater, if there is one, is in base..base + left.
        let (mut base, mut left) = (0, levels.len());
        while left > 1 {
            let half = left / 2;
            let middle = base + half;
            base = select_unpredictable(levels[middle].key <= key, middle, base);
            left -= half;
        }
        let found = levels[base].key;
        if found == key { Ok(base) } else { Err(base + usize::from(found < key)) }
    }
}

/// A walk from the best level to the price.
///
/// Half of all events are within one tick of the inside, where no search is shorter. For a stub
/// quote after ten thousand levels, it visits all of them.
#[derive(Clone, Copy, Default, Debug)]
pub struct LinearSearch;

impl Search for LinearSearch {
    #[inline]
    fn search(levels: &[Level], key: PriceKey) -> Result<usize, usize> {
        for (index, level) in levels.iter().enumerate().rev() {
            if level.key <= key {
                return if level.key == key { Ok(index) } else { Err(index + 1) };
            }
        }
        Err(0)
    }
}

/// A walk over the best 16 levels, then halving: short near the inside, and logarithmic for a stub
/// quote thousands of levels away.
#[derive(Clone, Copy, Default, Debug)]
pub struct NearSearch;

/// How many levels from the best [`NearSearch`] visits one by one: four cache lines.
const NEAR: usize = 16;

impl Search for NearSearch {
    #[inline]
    fn search(levels: &[Level], key: PriceKey) -> Result<usize, usize> {
        let near = levels.len().saturating_sub(NEAR);
        for (index, level) in levels.iter().enumerate().skip(near).rev() {
            if level.key <= key {
                return if level.key == key { Ok(index) } else { Err(index + 1) };
            }
        }
        BinarySearch::search(&levels[..near], key)
    }
}

#[cfg(test)]
mod tests {
    use nanotape_types::{Price, Side};

    use super::*;

    fn agrees<S: Search>(levels: &[Level], key: PriceKey) {
        let expected = levels.binary_search_by_key(&key, |level| level.key);
        let name = core::any::type_name::<S>();
        assert_eq!(S::search(levels, key), expected, "{name}, {} levels, {key:?}", levels.len());
    }

    /// Tests every price, present and absent, in sides of every size up to a few times [`NEAR`].
    #[test]
    fn every_policy_finds_every_price() {
        let key = |price| PriceKey::new(Side::Buy, Price::new(price));
        for count in 0..70 {
            let levels: Vec<Level> = (0..count)
                .map(|index| Level { key: key(2 * index + 1), orders: 1, shares: 1 })
                .collect();
            for price in (0..2 * count + 3).chain([u32::MAX]) {
                agrees::<BinarySearch>(&levels, key(price));
                agrees::<BranchFreeSearch>(&levels, key(price));
                agrees::<LinearSearch>(&levels, key(price));
                agrees::<NearSearch>(&levels, key(price));
            }
        }
    }
}
