//! The generator's book of one stock: its orders, their queues, and their ages.
//!
//! Its purpose is to choose orders. Prices are levels with a queue each, best last. All orders of
//! the stock are also in one list by age, from which the next to delete is drawn. Orders of all
//! stocks share one slab, so memory follows the live orders.
//!
//! Cost: adding or removing an order moves the levels better than its own. These are few, because
//! most orders are near the inside.

use nanotape_types::Side;

use super::rng::Rng;

/// One cent in units of a price.
pub(super) const TICK: u32 = 100;

/// Marks the absence of an order.
const NOBODY: u32 = u32::MAX;

/// Index of an order in the slab, constant while the order lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Handle(u32);

/// A resting order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub(super) reference: u64,
    pub(super) price: u32,
    /// Remaining shares, never 0.
    pub(super) shares: u32,
    ahead: u32,
    behind: u32,
    /// Position in the list by age of its stock.
    age_position: u32,
    pub(super) side: Side,
    /// Not chosen until the market closes.
    pub(super) patient: bool,
}

/// All live orders of all stocks.
#[derive(Debug, Default)]
pub(super) struct Orders {
    slots: Vec<Order>,
    free: Vec<u32>,
}

impl Orders {
    pub(super) fn live(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    #[inline]
    pub(super) fn get(&self, handle: Handle) -> &Order {
        &self.slots[handle.0 as usize]
    }

    /// Takes shares off an order, which must keep at least one.
    #[inline]
    pub(super) fn reduce(&mut self, handle: Handle, shares: u32) {
        let order = &mut self.slots[handle.0 as usize];
        debug_assert!(shares < order.shares);
        order.shares -= shares;
    }

    fn insert(&mut self, order: Order) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = order;
                slot
            }
            None => {
                self.slots.push(order);
                (self.slots.len() - 1) as u32
            }
        }
    }
}

/// A price with at least one order.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Greater for better prices, on either side.
    rank: u32,
    first: u32,
    last: u32,
    orders: u32,
}

fn rank(side: Side, price: u32) -> u32 {
    match side {
        Side::Buy => price,
        Side::Sell => !price,
    }
}

/// One stock's orders.
#[derive(Debug, Default)]
pub(super) struct StockBook {
    /// Per side, sorted by rank: the best is the last.
    levels: [Vec<Level>; 2],
    orders: [u32; 2],
    /// Oldest first, with holes where an order has left.
    by_age: Vec<u32>,
}

impl StockBook {
    pub(super) fn live(&self) -> u32 {
        self.orders[0] + self.orders[1]
    }

    /// Live orders of one side.
    #[inline]
    pub(super) fn side_orders(&self, side: Side) -> u32 {
        self.orders[side as usize]
    }

    /// The best price of a side.
    #[inline]
    pub(super) fn best(&self, side: Side) -> Option<u32> {
        // The rank is its own inverse.
        self.levels[side as usize].last().map(|level| rank(side, level.rank))
    }

    /// The first order at the best price.
    #[inline]
    pub(super) fn front(&self, side: Side) -> Option<Handle> {
        self.levels[side as usize].last().map(|level| Handle(level.first))
    }

    /// The newest order at the best price.
    #[inline]
    pub(super) fn back(&self, side: Side) -> Option<Handle> {
        self.levels[side as usize].last().map(|level| Handle(level.last))
    }

    /// The price down to which `count` orders are found from the best, within ten levels.
    pub(super) fn price_holding(&self, side: Side, count: u32) -> Option<u32> {
        let mut found = 0;
        let levels = self.levels[side as usize].iter().rev().take(10);
        let mut price = None;
        for level in levels {
            price = Some(rank(side, level.rank));
            found += level.orders;
            if found >= count {
                break;
            }
        }
        price
    }

    /// Puts an order at the back of its level.
    pub(super) fn add(
        &mut self,
        orders: &mut Orders,
        (side, price, shares): (Side, u32, u32),
        reference: u64,
        patient: bool,
    ) {
        self.close_holes(orders);
        let age_position = self.by_age.len() as u32;
        let (ahead, behind) = (NOBODY, NOBODY);
        let order = Order { reference, price, shares, ahead, behind, age_position, side, patient };
        let new = orders.insert(order);
        self.by_age.push(new);
        self.orders[side as usize] += 1;
        let levels = &mut self.levels[side as usize];
        match position(levels, rank(side, price)) {
            Ok(found) => {
                let level = &mut levels[found];
                orders.slots[level.last as usize].behind = new;
                orders.slots[new as usize].ahead = level.last;
                level.last = new;
                level.orders += 1;
            }
            Err(gap) => {
                let level = Level { rank: rank(side, price), first: new, last: new, orders: 1 };
                levels.insert(gap, level);
            }
        }
    }

    /// Removes an order from the book.
    pub(super) fn remove(&mut self, orders: &mut Orders, handle: Handle) {
        let order = *orders.get(handle);
        let levels = &mut self.levels[order.side as usize];
        if let Ok(found) = position(levels, rank(order.side, order.price)) {
            let level = &mut levels[found];
            level.orders -= 1;
            if level.orders == 0 {
                levels.remove(found);
            } else {
                match order.ahead {
                    NOBODY => level.first = order.behind,
                    ahead => orders.slots[ahead as usize].behind = order.behind,
                }
                match order.behind {
                    NOBODY => level.last = order.ahead,
                    behind => orders.slots[behind as usize].ahead = order.ahead,
                }
            }
        }
        self.orders[order.side as usize] -= 1;
        self.by_age[order.age_position as usize] = NOBODY;
        while self.by_age.last() == Some(&NOBODY) {
            self.by_age.pop();
        }
        orders.free.push(handle.0);
    }

    /// The live order that is `back` positions older than the newest, or near it.
    pub(super) fn by_age(&self, back: usize) -> Option<Handle> {
        let newest = self.by_age.len().checked_sub(1)?;
        let start = newest.saturating_sub(back);
        let older = self.by_age[..=start].iter().rev();
        // The newest entry is never a hole, so searching towards it always succeeds.
        let newer = self.by_age[start..].iter();
        older.chain(newer).find(|&&order| order != NOBODY).map(|&order| Handle(order))
    }

    /// An order to delete: often one of the newest, sometimes any, so that lifetimes have a heavy
    /// tail.
    pub(super) fn pick(&self, rng: &mut Rng, recent: f64) -> Option<Handle> {
        let span = self.by_age.len() as u64;
        if span == 0 {
            return None;
        }
        // One of the last few, any with the newer ones likelier, or any at all.
        let uniform = rng.unit();
        let back = if uniform < recent * 0.6 {
            rng.log_uniform(1, span.min(6)) - 1
        } else if uniform < recent {
            rng.log_uniform(1, span) - 1
        } else {
            rng.below(span)
        };
        self.by_age(back as usize)
    }

    /// Drops the holes from the list by age once they outnumber the orders. So this and finding an
    /// order take a constant number of steps per order.
    fn close_holes(&mut self, orders: &mut Orders) {
        if self.by_age.len() < 2 * self.live() as usize + 16 {
            return;
        }
        self.by_age.retain(|&order| order != NOBODY);
        for (position, &order) in self.by_age.iter().enumerate() {
            orders.slots[order as usize].age_position = position as u32;
        }
    }
}

/// The index of the level, or where it would be. Most messages are about the last few levels.
#[inline]
fn position(levels: &[Level], rank: u32) -> Result<usize, usize> {
    let near = levels.len().saturating_sub(8);
    for (index, level) in levels.iter().enumerate().skip(near).rev() {
        if level.rank <= rank {
            return if level.rank == rank { Ok(index) } else { Err(index + 1) };
        }
    }
    levels[..near].binary_search_by_key(&rank, |level| level.rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_levels_and_ages_survive_a_storm() {
        let mut rng = Rng::new(11, 0);
        let (mut orders, mut book) = (Orders::default(), StockBook::default());
        // The same orders in arrival order, searched from end to end.
        let mut naive: Vec<(u64, Side, u32)> = Vec::new();
        for reference in 0..20_000 {
            let side = Side::BOTH[rng.below(2) as usize];
            if rng.chance(0.51) || naive.is_empty() {
                let price = 1_000_000 + rng.below(60) as u32 * TICK;
                book.add(&mut orders, (side, price, 100), reference, false);
                naive.push((reference, side, price));
            } else if let Some(handle) = book.pick(&mut rng, 0.5) {
                let gone = orders.get(handle).reference;
                book.remove(&mut orders, handle);
                naive.retain(|&(reference, ..)| reference != gone);
            }
            for side in Side::BOTH {
                let prices = naive.iter().filter(|o| o.1 == side).map(|o| o.2);
                let best = if side == Side::Buy { prices.max() } else { prices.min() };
                assert_eq!(book.best(side), best);
                let front = naive.iter().find(|o| o.1 == side && Some(o.2) == best).map(|o| o.0);
                assert_eq!(book.front(side).map(|h| orders.get(h).reference), front);
                let back = naive.iter().rfind(|o| o.1 == side && Some(o.2) == best).map(|o| o.0);
                assert_eq!(book.back(side).map(|h| orders.get(h).reference), back);
            }
            assert_eq!(book.by_age(0).map(|h| orders.get(h).reference), naive.last().map(|o| o.0));
            assert_eq!(orders.live(), naive.len() as u64);
            assert_eq!(u64::from(book.live()), orders.live());
        }
    }

    #[test]
    fn an_order_takes_32_bytes() {
        assert_eq!(size_of::<Order>(), 32);
    }
}
