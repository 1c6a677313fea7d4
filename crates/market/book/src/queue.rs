//! Queue position: the orders ahead of an order at its price.
//!
//! Computed on demand from the arrival number of each order, in one pass over the live orders. The
//! path from bytes to books pays only four bytes per order; a query walks the order store (about a
//! nanosecond per slot). See docs/decisions/0005-queue-position-on-demand.md.

use nanotape_types::{OrderReferenceNumber, Price, Shares, Side, StockLocate};

use crate::{Books, Order, OrderStore, PriceLevels};

/// What is ahead of an order in the queue of its price level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueuePosition {
    /// Number of orders; 0 for the next to be executed.
    pub orders_ahead: u32,
    /// Sum of their shares.
    pub shares_ahead: u64,
}

/// An order in the queue of its price level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuedOrder {
    /// The order.
    pub reference: OrderReferenceNumber,
    /// Its shares.
    pub shares: Shares,
}

impl<L: PriceLevels, S: OrderStore> Books<L, S> {
    /// What is ahead of a live order; `None` if the reference is not live.
    pub fn queue_position(&self, reference: OrderReferenceNumber) -> Option<QueuePosition> {
        let order = self.order(reference)?;
        let age = self.age(order.arrival);
        let mut position = QueuePosition::default();
        for (_, other) in self.orders().iter() {
            let same_level = (other.stock_locate, other.side, other.price)
                == (order.stock_locate, order.side, order.price);
            if same_level && self.age(other.arrival) > age {
                position.orders_ahead += 1;
                position.shares_ahead += u64::from(other.shares.get());
            }
        }
        Some(position)
    }

    /// All live orders: by stock, buys before sells, from the best price, in queue order.
    pub fn in_queue_order(&self) -> Vec<(OrderReferenceNumber, Order)> {
        self.by_queue(self.orders().iter().collect())
    }

    /// The live orders of one stock: buys before sells, from the best price, in queue order. One
    /// pass over all live orders, where [`queue`](Self::queue) takes one for each level.
    pub fn stock_in_queue_order(
        &self,
        stock_locate: StockLocate,
    ) -> Vec<(OrderReferenceNumber, Order)> {
        let orders = self.orders().iter();
        self.by_queue(orders.filter(|(_, order)| order.stock_locate == stock_locate).collect())
    }

    /// Sorts live orders, or former ones: by stock, buys before sells, from the best price, in
    /// queue order.
    pub fn by_queue(
        &self,
        mut orders: Vec<(OrderReferenceNumber, Order)>,
    ) -> Vec<(OrderReferenceNumber, Order)> {
        let key = |order: &Order| {
            let locate = u64::from(order.stock_locate.get()) << 33;
            let side = u64::from(order.side == Side::Sell) << 32;
            let from_best = match order.side {
                Side::Buy => !order.price.code(),
                Side::Sell => order.price.code(),
            };
            (locate | side | u64::from(from_best), !self.age(order.arrival))
        };
        orders.sort_unstable_by_key(|(_, order)| key(order));
        orders
    }

    /// The orders of one price level, next to be executed first.
    pub fn queue(&self, stock_locate: StockLocate, side: Side, price: Price) -> Vec<QueuedOrder> {
        let at_level = self.orders().iter().filter(|(_, order)| {
            (order.stock_locate, order.side, order.price) == (stock_locate, side, price)
        });
        let mut queue: Vec<_> = at_level.collect();
        queue.sort_by_key(|(_, order)| core::cmp::Reverse(self.age(order.arrival)));
        queue
            .into_iter()
            .map(|(reference, order)| QueuedOrder { reference, shares: order.shares })
            .collect()
    }
}
