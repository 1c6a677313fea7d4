//! The default: the levels of all sides in one table, each side's in one block, best last.
//!
//! ```text
//! block   | 16 guards | level 0 (worst) | ... | level n-1 (best) | room to grow |
//! keys    4 bytes a level, sizes    8 bytes a level: shares and number of orders
//! ```
//!
//! Half of all events are within one tick of the inside, so most work is at the end of a block. The
//! reasons for each choice:
//! 1. Keys are apart from sizes. The keys of the 16 best levels are one cache line and are compared
//!    all at once, without a branch that depends on the data. Guards, which are never better than a
//!    key, make that correct for any number of levels.
//! 2. Shares and orders are together and small, eight levels in a line. Sums of 2^32 shares and
//!    more, which no stock has displayed yet, carry over into a map.
//! 3. All sides share one table, so that it can use huge pages and its lines can be loaded ahead: a
//!    header of 16 bytes locates the best level.
//! 4. A block doubles when full, up to [`LARGEST_BLOCK`]. Beyond that, the worst half moves to a
//!    sorted map: no operation ever moves more levels than that block holds.

use std::collections::BTreeMap;

use nanotape_shm::{COMPARED, Table, first_greater};

use super::{PriceLevels, set_by_orders};
use crate::{BookSide, Level, PriceKey};

/// Levels of every side in one table.
#[derive(Debug)]
pub struct PackedLevels {
    headers: Box<[Header; BookSide::COUNT]>,
    /// The keys of all blocks.
    keys: Table<SearchKey>,
    /// Shares modulo 2^32, and orders, at each key.
    sizes: Table<[u32; 2]>,
    /// Multiples of 2^32 shares, for the levels with that many.
    carried: BTreeMap<(BookSide, PriceKey), u32>,
    /// Start of the part of the tables that belongs to no block yet.
    unused: usize,
    /// Blocks that their side has outgrown, by the binary logarithm of their length.
    outgrown: Vec<Vec<u32>>,
    /// The levels that do not fit their side's block: worse than all in it.
    deep: BTreeMap<BookSide, BTreeMap<PriceKey, Level>>,
}

/// The position of a side's block, and how much of it is used.
#[derive(Clone, Copy, Debug)]
struct Header {
    /// One past the index of the best level.
    end: u32,
    levels: u32,
    /// Levels that fit: the length of the block without its guards.
    room: u32,
    /// Whether the side has levels in `deep`.
    has_deep: bool,
}

/// A signed key, because processors compare many signed numbers at once.
type SearchKey = i32;

/// Keys that the search compares at once, and guards of a block.
const NEAR: usize = COMPARED;

/// Cache lines of keys, and of sizes, to load for a message without look-ahead.
const DEEP_LINES: usize = 4;

/// Guards and levels of the largest block.
const LARGEST_BLOCK: usize = 8192;

/// A side without a block: its guards are the first of the table.
const NO_BLOCK: Header = Header { end: NEAR as u32, levels: 0, room: 0, has_deep: false };

/// Never better than a key, so that it is never counted.
const GUARD: SearchKey = search_key(PriceKey::WORST);

impl PriceLevels for PackedLevels {
    fn with_capacity(orders: usize) -> Self {
        let headers = vec![NO_BLOCK; BookSide::COUNT].into_boxed_slice();
        let Ok(headers) = headers.try_into() else {
            unreachable!("exactly BookSide::COUNT headers were made")
        };
        // A day has fewer levels than orders, and blocks are at least half full or small.
        let length = orders.next_power_of_two().max(4 * NEAR);
        let mut keys = Table::zeros(length);
        // Every block begins with a copy of the guards of the one before.
        keys[..NEAR].fill(GUARD);
        Self {
            headers,
            keys,
            sizes: Table::zeros(length),
            carried: BTreeMap::new(),
            unused: NEAR,
            outgrown: vec![Vec::new(); LARGEST_BLOCK.ilog2() as usize + 1],
            deep: BTreeMap::new(),
        }
    }

    #[inline(always)]
    fn add(&mut self, side: BookSide, key: PriceKey, shares: u32) -> bool {
        let header = self.header(side);
        let better = self.better(header, key);
        if let Some(index) = self.found(header, better, key) {
            let [size, orders] = &mut self.sizes[index];
            let (sum, carries) = size.overflowing_add(shares);
            (*size, *orders) = (sum, orders.wrapping_add(1));
            if carries {
                self.carry(side, key);
            }
        } else {
            self.open(side, better, key, shares);
        }
        better == 0
    }

    #[inline(always)]
    fn reduce(&mut self, side: BookSide, key: PriceKey, shares: u32, order_leaves: bool) -> bool {
        let header = self.header(side);
        let better = self.better(header, key);
        let Some(index) = self.found(header, better, key) else {
            self.reduce_deep(side, key, shares, order_leaves);
            return false;
        };
        let [size, orders] = &mut self.sizes[index];
        let (left, borrows) = size.overflowing_sub(shares);
        let orders_left = orders.wrapping_sub(u32::from(order_leaves));
        (*size, *orders) = (left, orders_left);
        if borrows {
            self.borrow(side, key);
        }
        if orders_left == 0 {
            self.close(side, index, better);
        }
        better == 0
    }

    #[inline]
    fn set(&mut self, side: BookSide, key: PriceKey, shares: u32) -> bool {
        let header = self.header(side);
        let better = self.better(header, key);
        match self.found(header, better, key) {
            Some(index) if self.sizes[index][1] != 1 => {
                return set_by_orders(self, side, key, shares);
            }
            Some(index) if shares > 0 => {
                // One order has less than 2^32 shares, so nothing is carried.
                let [had, _] = core::mem::replace(&mut self.sizes[index], [shares, 1]);
                return better == 0 && had != shares;
            }
            Some(index) => self.close(side, index, better),
            None if header.has_deep => return set_by_orders(self, side, key, shares),
            None if shares > 0 => self.open(side, better, key, shares),
            None => return false,
        }
        better == 0
    }

    #[inline(always)]
    fn best(&self, side: BookSide) -> Option<Level> {
        let header = self.header(side);
        (header.levels > 0).then(|| self.level(side, header.end() - 1))
    }

    fn at(&self, side: BookSide, key: PriceKey) -> Option<Level> {
        let header = self.header(side);
        match self.found(header, self.better(header, key), key) {
            Some(index) => Some(self.level(side, index)),
            None => self.deep.get(&side)?.get(&key).copied(),
        }
    }

    fn best_first(&self, side: BookSide) -> impl Iterator<Item = Level> + '_ {
        let header = self.header(side);
        let block = (header.first()..header.end()).rev().map(move |index| self.level(side, index));
        let deep = self.deep.get(&side).into_iter();
        block.chain(deep.flat_map(|levels| levels.values().rev().copied()))
    }

    #[inline]
    fn level_count(&self, side: BookSide) -> usize {
        let header = self.header(side);
        header.levels as usize + if header.has_deep { self.deep_count(side) } else { 0 }
    }

    #[inline]
    fn better_levels(&self, side: BookSide, key: PriceKey) -> usize {
        let header = self.header(side);
        let better = self.better(header, key);
        if !header.has_deep || better < header.levels as usize {
            return better;
        }
        let deep = self.deep.get(&side).into_iter();
        better
            + deep.flat_map(|levels| levels.range(key..)).filter(|(deep, _)| **deep > key).count()
    }

    #[inline(always)]
    fn touch(&self, side: BookSide) {
        let end = self.header(side).end();
        self.keys.prefetch(end.wrapping_sub(NEAR));
        self.keys.prefetch(end.wrapping_sub(1));
        self.sizes.prefetch(end.wrapping_sub(NEAR / 2));
        self.sizes.prefetch(end.wrapping_sub(1));
    }

    fn touch_all(&mut self) {
        self.keys.touch();
        self.sizes.touch();
    }

    #[inline(always)]
    fn touch_deep(&self, side: BookSide) {
        let end = self.header(side).end();
        for line in 0..DEEP_LINES {
            self.keys.prefetch(end.wrapping_sub(1 + line * NEAR));
            self.sizes.prefetch(end.wrapping_sub(1 + line * NEAR / 2));
        }
    }
}

/// The operations of every event.
impl PackedLevels {
    #[inline(always)]
    fn header(&self, side: BookSide) -> Header {
        self.headers[side.index()]
    }

    /// How many levels of the block are better than `key`.
    #[inline(always)]
    fn better(&self, header: Header, key: PriceKey) -> usize {
        let wanted = search_key(key);
        let Some((_, nearest)) = self.keys[..header.end()].split_last_chunk() else { return 0 };
        let better = count_better(nearest, wanted);
        if better == NEAR { self.better_far(header, wanted) } else { better }
    }

    /// [`better`](Self::better) if all the nearest levels are: checks further groups, then halves.
    #[inline(never)]
    fn better_far(&self, header: Header, wanted: SearchKey) -> usize {
        let levels = header.levels as usize;
        let mut rest = &self.keys[header.first()..header.end()];
        while let Some((farther, nearest)) = rest.split_last_chunk()
            && levels - rest.len() < 4 * NEAR
        {
            let better = count_better(nearest, wanted);
            if better < NEAR {
                return levels - rest.len() + better;
            }
            rest = farther;
        }
        levels - rest.partition_point(|&key| key <= wanted)
    }

    /// The index of the level at `key`, which has `better` better ones, if the block has it.
    #[inline(always)]
    fn found(&self, header: Header, better: usize, key: PriceKey) -> Option<usize> {
        // This is a guard if all levels are better.
        let index = header.end() - 1 - better;
        (self.keys[index] == search_key(key) && better < header.levels as usize).then_some(index)
    }

    #[inline(always)]
    fn level(&self, side: BookSide, index: usize) -> Level {
        let key = price_key(self.keys[index]);
        let [shares, orders] = self.sizes[index];
        let carried = if self.carried.is_empty() { 0 } else { self.carried_at(side, key) };
        Level { key, orders, shares: carried | u64::from(shares) }
    }

    /// Opens a level that does not exist and has `better` better ones in the block.
    #[inline(always)]
    fn open(&mut self, side: BookSide, better: usize, key: PriceKey, shares: u32) {
        let header = self.header(side);
        if header.levels == header.room || header.has_deep {
            return self.open_rare(side, better, key, shares);
        }
        self.insert(side, better, key, shares);
    }

    #[inline(always)]
    fn insert(&mut self, side: BookSide, better: usize, key: PriceKey, shares: u32) {
        let end = self.header(side).end();
        let index = end - better;
        self.keys.copy_within(index..end, index + 1);
        self.sizes.copy_within(index..end, index + 1);
        self.keys[index] = search_key(key);
        self.sizes[index] = [shares, 1];
        let header = &mut self.headers[side.index()];
        header.levels += 1;
        header.end += 1;
    }

    /// Closes the level at `index`, which has `better` better ones in the block.
    #[inline(always)]
    fn close(&mut self, side: BookSide, index: usize, better: usize) {
        self.keys.copy_within(index + 1..index + 1 + better, index);
        self.sizes.copy_within(index + 1..index + 1 + better, index);
        let header = &mut self.headers[side.index()];
        header.levels -= 1;
        header.end -= 1;
        if header.levels == 0 && header.has_deep {
            self.bring_up(side);
        }
    }
}

/// Rare cases: blocks that fill up, and levels that do not fit them.
impl PackedLevels {
    /// Opens a level if the block is full or the side has deep levels.
    #[cold]
    #[inline(never)]
    fn open_rare(&mut self, side: BookSide, better: usize, key: PriceKey, shares: u32) {
        let header = self.header(side);
        if header.has_deep && better == header.levels as usize {
            let deep = self.deep.entry(side).or_default();
            let level = deep.entry(key).or_insert(Level { key, orders: 0, shares: 0 });
            level.orders += 1;
            level.shares += u64::from(shares);
            return;
        }
        if header.levels == header.room {
            if header.block() < LARGEST_BLOCK {
                self.enlarge(side)
            } else {
                self.move_down(side)
            }
            return self.open_rare(
                side,
                better.min(self.header(side).levels as usize),
                key,
                shares,
            );
        }
        self.insert(side, better, key, shares);
    }

    /// Moves a side into a block of twice the length.
    fn enlarge(&mut self, side: BookSide) {
        let old = self.header(side);
        let start = self.block_of(old.block() * 2);
        self.keys.copy_within(old.start()..old.end(), start);
        self.sizes.copy_within(old.start()..old.end(), start);
        if old.room > 0 {
            self.outgrown[old.block().ilog2() as usize].push(old.start() as u32);
        }
        let header = &mut self.headers[side.index()];
        header.end = (start + NEAR) as u32 + old.levels;
        header.room = (old.block() * 2 - NEAR) as u32;
    }

    /// Returns the start of a free block of that length.
    fn block_of(&mut self, length: usize) -> usize {
        if let Some(start) = self.outgrown[length.ilog2() as usize].pop() {
            return start as usize;
        }
        let start = self.unused;
        self.unused += length;
        if self.unused > self.keys.len() {
            self.keys.grow(self.unused.next_power_of_two());
            self.sizes.grow(self.unused.next_power_of_two());
        }
        start
    }

    /// Moves the worst half of a side's block to the sorted map.
    fn move_down(&mut self, side: BookSide) {
        let Header { levels, .. } = self.header(side);
        let (first, end) = (self.header(side).first(), self.header(side).end());
        let moved = levels as usize / 2;
        for index in first..first + moved {
            let level = self.level(side, index);
            self.carried.remove(&(side, level.key));
            self.deep.entry(side).or_default().insert(level.key, level);
        }
        self.keys.copy_within(first + moved..end, first);
        self.sizes.copy_within(first + moved..end, first);
        let header = &mut self.headers[side.index()];
        header.levels -= moved as u32;
        header.end -= moved as u32;
        header.has_deep = true;
    }

    /// Fills the empty block of a side with the best of its deep levels.
    #[cold]
    #[inline(never)]
    fn bring_up(&mut self, side: BookSide) {
        let header = self.header(side);
        let Some(deep) = self.deep.get_mut(&side) else { return };
        let moved = deep.len().min(header.room as usize / 2);
        for index in (header.first()..header.first() + moved).rev() {
            let Some((key, level)) = deep.pop_last() else { break };
            self.keys[index] = search_key(key);
            self.sizes[index] = [level.shares as u32, level.orders];
            if level.shares >> u32::BITS > 0 {
                self.carried.insert((side, key), (level.shares >> u32::BITS) as u32);
            }
        }
        let header = &mut self.headers[side.index()];
        header.levels = moved as u32;
        header.end += moved as u32;
        self.forget_empty_deep(side);
    }

    #[cold]
    #[inline(never)]
    fn reduce_deep(&mut self, side: BookSide, key: PriceKey, shares: u32, order_leaves: bool) {
        let deep = self.deep.get_mut(&side);
        let Some((deep, level)) = deep.and_then(|deep| deep.get(&key).copied().map(|l| (deep, l)))
        else {
            debug_assert!(false, "an order's level is open");
            return;
        };
        if level.orders == u32::from(order_leaves) {
            deep.remove(&key);
            self.forget_empty_deep(side);
        } else {
            let orders = level.orders - u32::from(order_leaves);
            let shares = level.shares.saturating_sub(u64::from(shares));
            deep.insert(key, Level { key, orders, shares });
        }
    }

    #[cold]
    #[inline(never)]
    fn deep_count(&self, side: BookSide) -> usize {
        self.deep.get(&side).map_or(0, BTreeMap::len)
    }

    fn forget_empty_deep(&mut self, side: BookSide) {
        if self.deep.get(&side).is_none_or(BTreeMap::is_empty) {
            self.deep.remove(&side);
            self.headers[side.index()].has_deep = false;
        }
    }

    #[cold]
    #[inline(never)]
    fn carried_at(&self, side: BookSide, key: PriceKey) -> u64 {
        self.carried.get(&(side, key)).map_or(0, |&carried| u64::from(carried) << u32::BITS)
    }

    #[cold]
    #[inline(never)]
    fn carry(&mut self, side: BookSide, key: PriceKey) {
        *self.carried.entry((side, key)).or_default() += 1;
    }

    #[cold]
    #[inline(never)]
    fn borrow(&mut self, side: BookSide, key: PriceKey) {
        let Some(carried) = self.carried.get_mut(&(side, key)) else {
            debug_assert!(false, "a level has the shares that are taken off it");
            return;
        };
        *carried -= 1;
        if *carried == 0 {
            self.carried.remove(&(side, key));
        }
    }
}

impl Header {
    /// One past the index of the best level.
    #[inline(always)]
    fn end(self) -> usize {
        self.end as usize
    }

    /// Index of the worst level.
    #[inline(always)]
    fn first(self) -> usize {
        (self.end - self.levels) as usize
    }

    /// Index of the first guard.
    fn start(self) -> usize {
        self.first() - NEAR
    }

    /// Length of the block, guards included.
    fn block(self) -> usize {
        self.room as usize + NEAR
    }
}

#[inline(always)]
const fn search_key(key: PriceKey) -> SearchKey {
    // Inverting the uppermost bit maps the order of unsigned numbers to that of signed ones.
    (key.rank() ^ 1 << 31) as SearchKey
}

#[inline(always)]
const fn price_key(key: SearchKey) -> PriceKey {
    PriceKey::of_rank(key as u32 ^ 1 << 31)
}

/// How many keys, in ascending order, are better; all are compared, without a branch.
#[inline(always)]
fn count_better(keys: &[SearchKey; NEAR], wanted: SearchKey) -> usize {
    NEAR - first_greater(keys, wanted)
}
