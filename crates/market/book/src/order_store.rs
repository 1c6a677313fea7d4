//! Live orders by reference number, behind a trait.
//!
//! References are unique within a day and mostly grow. Nothing here relies on that: any 64-bit
//! number is a valid key, and a removed one can be used again.

mod buckets;
mod clearing;
mod compact;
mod hash_map;
mod home;
mod packed_order;
mod pages;
mod pool;
mod ranges;

use core::fmt::Debug;

pub use buckets::BucketOrders;
pub use clearing::ClearingOrders;
pub use compact::CompactOrders;
pub use hash_map::HashMapOrders;
use nanotape_types::{OrderReferenceNumber, Side, StockLocate};
pub use pages::PagedOrders;
pub use pool::PooledOrders;

use crate::Order;

/// The live orders of all stocks.
pub trait OrderStore: Debug {
    /// A store with room for `orders` before it has to grow.
    fn with_capacity(orders: usize) -> Self;

    /// About how many bytes [`with_capacity`](Self::with_capacity) allocates.
    fn bytes_for(orders: usize) -> usize {
        orders.saturating_mul(2 * size_of::<Order>())
    }

    /// Stores `order`, which has at least one share. Returns `false`, and stores nothing, if the
    /// reference is live.
    fn insert(&mut self, reference: OrderReferenceNumber, order: Order) -> bool;

    /// Takes up to `shares` off the order and returns the order's state before; removes an order
    /// with no shares left. `None` if the reference is not live.
    ///
    /// One operation serves executions, cancels and deletes: one probe finds the order, and one
    /// branch decides whether it stays.
    fn take(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<Order>;

    /// The order, if it is live.
    fn get(&self, reference: OrderReferenceNumber) -> Option<Order>;

    /// Removes all orders of a stock, of which there are `count`. The next order that is stored has
    /// the arrival `arrivals`. Takes at most one pass over the live orders of all stocks, which
    /// ends at the last order of the stock.
    fn clear(&mut self, stock_locate: StockLocate, count: usize, arrivals: u32) {
        let _ = arrivals;
        let mut references = Vec::with_capacity(count);
        let of_stock = self.iter().filter(|(_, order)| order.stock_locate == stock_locate);
        references.extend(of_stock.map(|(reference, _)| reference).take(count));
        for reference in references {
            self.take(reference, u32::MAX);
        }
    }

    /// Starts to load the order, without another step. A hint: a store without it does nothing.
    #[inline]
    fn prefetch(&self, reference: OrderReferenceNumber) {
        let _ = reference;
    }

    /// Starts to load what [`touch`](Self::touch) will need, without waiting. Returns the argument
    /// for `touch`. All three look-ahead functions are hints: they change nothing, and a store
    /// without look-ahead does nothing.
    #[inline]
    fn prefetch_index(&self, reference: OrderReferenceNumber) -> usize {
        let _ = reference;
        0
    }

    /// Starts to load what an operation on `reference` will need. Returns the argument for
    /// [`side_hint`](Self::side_hint).
    #[inline]
    fn touch(&self, reference: OrderReferenceNumber, foreseen: usize) -> usize {
        let _ = (reference, foreseen);
        0
    }

    /// The side stored where the order would be, if the store can read it at hardly any cost and
    /// without a branch on whether the order exists. It is a guess.
    #[inline]
    fn side_hint(&self, touched: usize) -> Option<Side> {
        let _ = touched;
        None
    }

    /// Uses every page of memory once, so that no later operation waits for the kernel.
    fn touch_all(&mut self) {}

    /// Number of live orders.
    fn len(&self) -> usize;

    /// Whether no order is live.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All live orders, in no particular order.
    fn iter(&self) -> impl Iterator<Item = (OrderReferenceNumber, Order)> + '_;
}
