//! An array of ticks around the inside, and a sorted map for all other prices.
//!
//! ```text
//!  window of 512 ticks of 0.01, 16 bytes each, at an index computed from the price
//!  | first tick      | ...         | best, about here |         ...       | first tick + 511 |
//!  bitmap of the ticks that have orders: 8 words of 64, and a byte of their nonzero bits
//!
//!  overflow: a sorted map of sub-penny prices, stub quotes, and prices outside of the window
//! ```
//!
//! A price in the window is found without a search, and the best price of the window with two
//! counts of leading zeros. The idea is published: the array-based book of JayBeams keeps an array
//! around the inside, because 99% of all events are within 203 ticks of it. This window is wider
//! than that on each side of the best price.
//!
//! The window follows the inside with a delay. It counts operations outside the window whose price
//! a window around the best price would contain; [`PATIENCE`] of them move the window. So a single
//! absurd price moves nothing. If the best price jumps between the ends of the range, each move
//! costs up to 1,024 moved or searched levels, which are sixteen per operation.
//!
//! Bounds: memory is 8 KiB for each side that ever had an order. Any price is correct on either
//! side; prices between ticks, which stocks below a dollar have, take the time of the sorted map.
//! Cost: one cache line of bitmap and one of window per event. Allocates when a side gets its first
//! order, and in the overflow.

use core::hint::black_box;
use std::collections::BTreeMap;

use nanotape_types::{Price, Side};

use super::PriceLevels;
use crate::{BookSide, Level, PriceKey};

/// Ticks in the window.
const TICKS: usize = 512;

/// Words of the bitmap.
const WORDS: usize = TICKS / 64;

/// Operations beside the window after which it moves; see the module comment.
const PATIENCE: u32 = 64;

/// The window's entry where there is no level.
const NO_LEVEL: Level =
    Level { key: PriceKey::new(Side::Buy, Price::new(0)), orders: 0, shares: 0 };

/// Levels in arrays of ticks that follow the inside, with overflow in sorted maps.
#[derive(Debug)]
pub struct TickIndexed(Box<[Option<Box<Ticks>>; BookSide::COUNT]>);

impl TickIndexed {
    #[inline]
    fn side(&self, side: BookSide) -> Option<&Ticks> {
        self.0[side.index()].as_deref()
    }
}

impl PriceLevels for TickIndexed {
    fn with_capacity(_orders: usize) -> Self {
        let sides: Vec<_> = (0..BookSide::COUNT).map(|_| None).collect();
        match sides.into_boxed_slice().try_into() {
            Ok(array) => Self(array),
            Err(_) => unreachable!("exactly BookSide::COUNT elements were collected"),
        }
    }

    #[inline]
    fn add(&mut self, side: BookSide, key: PriceKey, shares: u32) -> bool {
        let ticks = self.0[side.index()].get_or_insert_with(Ticks::new);
        ticks.add(side.side(), key, shares)
    }

    #[inline]
    fn reduce(&mut self, side: BookSide, key: PriceKey, shares: u32, order_leaves: bool) -> bool {
        let Some(ticks) = &mut self.0[side.index()] else {
            debug_assert!(false, "an order's level is open");
            return false;
        };
        ticks.reduce(side.side(), key, shares, order_leaves)
    }

    #[inline]
    fn best(&self, side: BookSide) -> Option<Level> {
        self.side(side)?.best()
    }

    fn at(&self, side: BookSide, key: PriceKey) -> Option<Level> {
        self.side(side)?.at(side.side(), key)
    }

    fn best_first(&self, side: BookSide) -> impl Iterator<Item = Level> + '_ {
        self.side(side).into_iter().flat_map(Ticks::best_first)
    }

    fn level_count(&self, side: BookSide) -> usize {
        self.side(side).map_or(0, Ticks::level_count)
    }

    /// An ordinary load whose value is not used: the processor does not wait for it.
    #[inline]
    fn touch(&self, side: BookSide) {
        black_box(self.best(side).map(|level| level.shares));
    }
}

/// One side of one book.
#[derive(Debug)]
struct Ticks {
    /// The tick of the first entry of the window.
    first: u32,
    /// Operations since the last move that a window around the best price would have served.
    strayed: u32,
    /// The greatest key of the overflow.
    overflow_best: Option<PriceKey>,
    occupied: Occupied,
    /// Entries without orders are [`NO_LEVEL`].
    window: [Level; TICKS],
    /// Has no price of the window.
    overflow: BTreeMap<PriceKey, Level>,
}

impl Ticks {
    #[cold]
    fn new() -> Box<Self> {
        Box::new(Self {
            first: 0,
            strayed: 0,
            overflow_best: None,
            occupied: Occupied::default(),
            window: [NO_LEVEL; TICKS],
            overflow: BTreeMap::new(),
        })
    }

    /// The entry of a price, if it is in the window.
    #[inline]
    fn index(&self, side: Side, key: PriceKey) -> Option<usize> {
        let index = key.tick(side)?.wrapping_sub(self.first) as usize;
        (index < TICKS).then_some(index)
    }

    /// Whether the level at this entry, which is open, is the best of the side.
    #[inline]
    fn is_best(&self, index: usize) -> bool {
        self.occupied.last() == Some(index) && self.overflow_best < Some(self.window[index].key)
    }

    #[inline]
    fn add(&mut self, side: Side, key: PriceKey, shares: u32) -> bool {
        let Some(index) = self.index(side, key) else { return self.add_far(side, key, shares) };
        self.add_near(index, key, shares)
    }

    #[inline]
    fn add_near(&mut self, index: usize, key: PriceKey, shares: u32) -> bool {
        let level = &mut self.window[index];
        if level.orders == 0 {
            level.key = key;
            self.occupied.set(index);
        }
        level.orders += 1;
        level.shares += u64::from(shares);
        self.is_best(index)
    }

    #[cold]
    #[inline(never)]
    fn add_far(&mut self, side: Side, key: PriceKey, shares: u32) -> bool {
        // An empty window moves at no cost.
        if self.best().is_none()
            && let Some(tick) = key.tick(side)
        {
            self.first = first_around(tick);
            self.strayed = 0;
            return self.add_near((tick - self.first) as usize, key, shares);
        }
        let level = self.overflow.entry(key).or_insert(Level { key, ..NO_LEVEL });
        level.orders += 1;
        level.shares += u64::from(shares);
        self.overflow_best = self.overflow_best.max(Some(key));
        self.stray(side, key);
        self.best().is_some_and(|best| best.key == key)
    }

    #[inline]
    fn reduce(&mut self, side: Side, key: PriceKey, shares: u32, order_leaves: bool) -> bool {
        let Some(index) = self.index(side, key) else {
            return self.reduce_far(side, key, shares, order_leaves);
        };
        let was_best = self.is_best(index);
        let level = &mut self.window[index];
        debug_assert!(level.orders > 0, "an order's level is open");
        level.shares -= u64::from(shares);
        level.orders -= u32::from(order_leaves);
        if level.orders == 0 {
            *level = NO_LEVEL;
            self.occupied.clear(index);
        }
        was_best
    }

    #[cold]
    #[inline(never)]
    fn reduce_far(&mut self, side: Side, key: PriceKey, shares: u32, order_leaves: bool) -> bool {
        let was_best = self.best().is_some_and(|best| best.key == key);
        let Some(level) = self.overflow.get_mut(&key) else {
            debug_assert!(false, "an order's level is open");
            return false;
        };
        level.shares -= u64::from(shares);
        level.orders -= u32::from(order_leaves);
        if level.orders == 0 {
            self.overflow.remove(&key);
            self.find_overflow_best();
        }
        self.stray(side, key);
        was_best
    }

    /// After an operation on the overflow: moves the window if that has become too frequent.
    fn stray(&mut self, side: Side, key: PriceKey) {
        let (Some(tick), Some(best)) = (key.tick(side), self.best()) else { return };
        let first = first_around(best.key.nearby_tick(side));
        if (tick.wrapping_sub(first) as usize) < TICKS {
            self.strayed += 1;
            if self.strayed >= PATIENCE {
                self.move_window(side, first);
            }
        }
    }

    /// Moves the start of the window to `first`: levels that leave it go to the overflow, and
    /// levels of the overflow that it now covers come from there.
    fn move_window(&mut self, side: Side, first: u32) {
        let (window, occupied) = (self.window, self.occupied);
        self.window = [NO_LEVEL; TICKS];
        self.occupied = Occupied::default();
        (self.first, self.strayed) = (first, 0);
        for index in occupied.descending() {
            let level = window[index];
            match self.index(side, level.key) {
                Some(index) => self.put(index, level),
                None => drop(self.overflow.insert(level.key, level)),
            }
        }
        // By tick, not by iterating over the map, which may have sub-penny prices between the
        // ticks.
        for index in 0..TICKS {
            let tick = first + index as u32;
            if self.overflow.is_empty() || tick > PriceKey::MAX_TICK {
                break;
            }
            if let Some(level) = self.overflow.remove(&PriceKey::of_tick(side, tick)) {
                self.put(index, level);
            }
        }
        self.find_overflow_best();
    }

    fn put(&mut self, index: usize, level: Level) {
        self.window[index] = level;
        self.occupied.set(index);
    }

    fn find_overflow_best(&mut self) {
        self.overflow_best = self.overflow.last_key_value().map(|(&key, _)| key);
    }

    #[inline]
    fn best(&self) -> Option<Level> {
        let near = self.occupied.last().map(|index| self.window[index]);
        if near.map(|level| level.key) > self.overflow_best {
            return near;
        }
        self.overflow.last_key_value().map(|(_, &level)| level)
    }

    fn at(&self, side: Side, key: PriceKey) -> Option<Level> {
        match self.index(side, key) {
            Some(index) => Some(self.window[index]).filter(|level| level.orders > 0),
            None => self.overflow.get(&key).copied(),
        }
    }

    fn best_first(&self) -> impl Iterator<Item = Level> + '_ {
        let mut near = self.occupied.descending().map(|index| self.window[index]).peekable();
        let mut far = self.overflow.values().rev().copied().peekable();
        core::iter::from_fn(move || match (near.peek(), far.peek()) {
            (Some(one), Some(other)) if one.key < other.key => far.next(),
            (Some(_), _) => near.next(),
            (None, _) => far.next(),
        })
    }

    fn level_count(&self) -> usize {
        self.occupied.count() + self.overflow.len()
    }
}

/// The start of a window with this tick in the middle.
fn first_around(tick: u32) -> u32 {
    tick.saturating_sub(TICKS as u32 / 2)
}

/// The entries of a window that have a level.
#[derive(Clone, Copy, Default, Debug)]
struct Occupied {
    words: [u64; WORDS],
    /// One bit per word: whether it is not zero.
    summary: u8,
}

const _: () = assert!(WORDS == u8::BITS as usize, "a bit of the summary for each word");

impl Occupied {
    #[inline]
    fn set(&mut self, index: usize) {
        self.words[index / 64 % WORDS] |= 1 << (index % 64);
        self.summary |= 1 << (index / 64 % WORDS);
    }

    #[inline]
    fn clear(&mut self, index: usize) {
        let word = &mut self.words[index / 64 % WORDS];
        *word &= !(1 << (index % 64));
        self.summary &= !(u8::from(*word == 0) << (index / 64 % WORDS));
    }

    /// The greatest entry.
    #[inline]
    fn last(&self) -> Option<usize> {
        let word = self.summary.checked_ilog2()? as usize;
        let bit = self.words[word % WORDS].checked_ilog2()? as usize;
        Some((word * 64 + bit) % TICKS)
    }

    /// The number of entries.
    fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// All entries, greatest first.
    fn descending(mut self) -> impl Iterator<Item = usize> {
        core::iter::from_fn(move || {
            let last = self.last()?;
            self.clear(last);
            Some(last)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDE: Side = Side::Buy;

    fn key(price: u32) -> PriceKey {
        PriceKey::new(SIDE, Price::new(price))
    }

    fn depth(ticks: &Ticks) -> Vec<u32> {
        ticks.best_first().map(|level| level.key.price(SIDE).code()).collect()
    }

    #[test]
    fn one_absurd_price_does_not_move_the_window() {
        let mut ticks = Ticks::new();
        ticks.add(SIDE, key(1_000_000), 1);
        let first = ticks.first;
        assert!(ticks.add(SIDE, key(1_999_999_900), 1));
        for _ in 0..1_000 {
            assert!(!ticks.add(SIDE, key(1_000_100), 1));
            assert!(!ticks.reduce(SIDE, key(1_000_100), 1, true));
        }
        assert_eq!((ticks.first, depth(&ticks)), (first, vec![1_999_999_900, 1_000_000]));
    }

    #[test]
    fn the_window_follows_the_inside() {
        let mut ticks = Ticks::new();
        // A stub quote comes first, so the window starts at the wrong end.
        ticks.add(SIDE, key(100), 1);
        for step in 0..PATIENCE {
            assert!(ticks.add(SIDE, key(1_000_000 + 100 * step), 1));
        }
        let best = key(1_000_000 + 100 * (PATIENCE - 1));
        assert_eq!(ticks.index(SIDE, best), Some(TICKS / 2));
        assert_eq!(ticks.overflow.len(), 1, "the stub quote");
        assert_eq!(ticks.occupied.descending().count(), PATIENCE as usize);
        assert_eq!(depth(&ticks).len(), 1 + PATIENCE as usize);
        assert!(depth(&ticks).is_sorted_by(|one, other| one > other));
    }

    #[test]
    fn prices_between_ticks_are_in_their_place() {
        let mut ticks = Ticks::new();
        assert!(ticks.add(SIDE, key(10_000), 1));
        assert!(ticks.add(SIDE, key(10_050), 1));
        assert!(ticks.add(SIDE, key(10_100), 1));
        assert!(!ticks.add(SIDE, key(10_001), 1));
        assert_eq!(depth(&ticks), [10_100, 10_050, 10_001, 10_000]);
        assert!(ticks.reduce(SIDE, key(10_100), 1, true));
        assert_eq!(ticks.best().map(|level| level.key), Some(key(10_050)));
        assert!(ticks.reduce(SIDE, key(10_050), 1, true));
        assert!(ticks.reduce(SIDE, key(10_001), 1, true));
        assert!(ticks.reduce(SIDE, key(10_000), 1, true));
        assert_eq!((depth(&ticks), ticks.best()), (vec![], None));
    }
}
