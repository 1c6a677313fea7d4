//! A store whose orders of one stock leave at once, for exchanges that clear books.
//!
//! A clear notes how many orders had arrived. An order of the stock that arrived before has left;
//! its record is removed when its reference is used, or when more records than live orders are of
//! this kind. So a clear costs nothing for other stocks, where a store without it walks over all
//! live orders; and the memory is that of twice the live orders at most.
//! The store `S` returns the arrival of an order that it takes off.
//! Bounds: an order is older by less than 2^31 arrivals than a clear of its stock.
//! Cost: each operation on a stored order reads eight bytes of its stock.

use nanotape_types::{LocateTable, OrderReferenceNumber, Side, StockLocate};

use super::OrderStore;
use crate::Order;

/// Orders in a store `S`, from which those of one stock leave at once.
#[derive(Debug)]
pub struct ClearingOrders<S> {
    stored: S,
    /// The number of the first order after the last clear, with [`IS_CLEARED`]; or 0.
    cleared: LocateTable<u64>,
    /// Stored orders that have left.
    gone: usize,
    /// The arrival after which no stock was cleared.
    swept: u32,
}

const IS_CLEARED: u64 = 1 << u32::BITS;

/// A stock that was cleared so many arrivals ago has no order from before.
const SWEPT_EVERY: u32 = 1 << 30;

/// Records that are kept of orders that have left, with few live orders.
const GONE_AT_LEAST: usize = 4096;

impl<S: OrderStore> ClearingOrders<S> {
    /// Whether there is any record, also of an order that has left.
    #[inline(always)]
    pub(super) fn has_records(&self) -> bool {
        !self.stored.is_empty()
    }

    #[inline(always)]
    fn has_left(&self, order: &Order) -> bool {
        let cleared = self.cleared[order.stock_locate];
        let since = order.arrival.wrapping_sub(cleared as u32);
        cleared != 0 && since >= 1 << 31
    }

    /// Removes the records of all orders that have left.
    #[cold]
    #[inline(never)]
    fn sweep(&mut self, arrival: u32) {
        let mut gone = Vec::with_capacity(self.gone);
        gone.extend(self.stored.iter().filter(|(_, order)| self.has_left(order)).map(|(r, _)| r));
        for reference in gone {
            self.stored.take(reference, u32::MAX);
        }
        (self.gone, self.swept) = (0, arrival);
        self.cleared.fill(0);
    }

    /// Removes the record of an order that has left, if its reference has one.
    #[cold]
    #[inline(never)]
    fn remove_gone(&mut self, reference: OrderReferenceNumber) -> bool {
        let is_gone = self.stored.get(reference).is_some_and(|order| self.has_left(&order));
        if is_gone {
            self.stored.take(reference, u32::MAX);
            self.gone -= 1;
        }
        is_gone
    }
}

impl<S: OrderStore> OrderStore for ClearingOrders<S> {
    fn with_capacity(orders: usize) -> Self {
        let (cleared, stored) = (LocateTable::filled(0), S::with_capacity(orders));
        Self { stored, cleared, gone: 0, swept: 0 }
    }

    fn bytes_for(orders: usize) -> usize {
        S::bytes_for(orders)
    }

    #[inline]
    fn insert(&mut self, reference: OrderReferenceNumber, order: Order) -> bool {
        if order.arrival.wrapping_sub(self.swept) >= SWEPT_EVERY {
            self.sweep(order.arrival);
        }
        self.stored.insert(reference, order)
            || self.remove_gone(reference) && self.stored.insert(reference, order)
    }

    #[inline]
    fn take(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<Order> {
        let before = self.stored.take(reference, shares)?;
        if self.has_left(&before) {
            if shares < before.shares.get() {
                self.stored.take(reference, u32::MAX);
            }
            self.gone -= 1;
            return None;
        }
        Some(before)
    }

    #[inline]
    fn get(&self, reference: OrderReferenceNumber) -> Option<Order> {
        self.stored.get(reference).filter(|order| !self.has_left(order))
    }

    #[inline]
    fn prefetch(&self, reference: OrderReferenceNumber) {
        self.stored.prefetch(reference);
    }

    #[inline]
    fn prefetch_index(&self, reference: OrderReferenceNumber) -> usize {
        self.stored.prefetch_index(reference)
    }

    #[inline]
    fn touch(&self, reference: OrderReferenceNumber, foreseen: usize) -> usize {
        self.stored.touch(reference, foreseen)
    }

    #[inline]
    fn side_hint(&self, touched: usize) -> Option<Side> {
        self.stored.side_hint(touched)
    }

    fn touch_all(&mut self) {
        self.stored.touch_all();
    }

    fn clear(&mut self, stock_locate: StockLocate, count: usize, arrivals: u32) {
        if arrivals.wrapping_sub(self.swept) >= SWEPT_EVERY {
            self.sweep(arrivals);
        }
        self.cleared[stock_locate] = IS_CLEARED | u64::from(arrivals);
        // Levels that an exchange sends as such are not orders.
        self.gone += count.min(self.len());
        if self.gone > self.len() + GONE_AT_LEAST {
            self.sweep(arrivals);
        }
    }

    fn len(&self) -> usize {
        self.stored.len() - self.gone
    }

    fn iter(&self) -> impl Iterator<Item = (OrderReferenceNumber, Order)> + '_ {
        self.stored.iter().filter(|(_, order)| !self.has_left(order))
    }
}

#[cfg(test)]
mod tests {
    use nanotape_types::{Price, Shares};

    use super::*;
    use crate::HashMapOrders;

    fn order(stock: u16, arrival: u32) -> Order {
        let (stock_locate, price) = (StockLocate::new(stock), Price::new(10_000));
        Order { stock_locate, side: Side::Buy, price, shares: Shares::new(5), arrival }
    }

    /// Orders around the wrap of arrivals, and clears long after the last sweep.
    #[test]
    fn arrivals_that_wrap_do_not_bring_an_order_back() {
        let mut orders = ClearingOrders::<HashMapOrders>::with_capacity(10);
        let reference = OrderReferenceNumber::new;
        for (number, arrival) in (0..).zip((0..40_u32).map(|step| step.wrapping_mul(1 << 28))) {
            assert!(orders.insert(reference(2 * number), order(1, arrival)));
            assert!(orders.insert(reference(2 * number + 1), order(2, arrival.wrapping_add(1))));
            assert_eq!(orders.len() as u64, number + 2);
            orders.clear(StockLocate::new(1), 1, arrival.wrapping_add(2));
            assert_eq!(orders.get(reference(2 * number)), None);
            assert!(orders.get(reference(2 * number + 1)).is_some());
            assert_eq!(orders.iter().count() as u64, number + 1);
            assert_eq!(orders.take(reference(2 * number), 1), None);
        }
    }

    #[test]
    fn records_of_orders_that_left_are_at_most_as_many_as_live_ones() {
        let mut orders = ClearingOrders::<HashMapOrders>::with_capacity(10);
        for arrival in 0..100_000_u32 {
            let stock = (arrival % 7) as u16;
            assert!(
                orders.insert(OrderReferenceNumber::new(arrival.into()), order(stock, arrival))
            );
            if arrival % 1_000 == 999 {
                let count = orders.iter().filter(|(_, order)| order.stock_locate.get() == stock);
                let count = count.count();
                orders.clear(StockLocate::new(stock), count, arrival + 1);
            }
            assert!(orders.stored.len() <= 2 * orders.len() + GONE_AT_LEAST);
        }
        assert_eq!(orders.iter().count(), orders.len());
    }
}
