//! Live orders by reference number, behind a trait.
//!
//! References are unique for the day and mostly grow, but nothing here relies on that: any 64-bit
//! number is a valid key, and reuse after removal is legal.

mod buckets;
mod compact;
mod hash_map;
mod home;
mod packed_order;
mod pages;
mod pool;

use core::fmt::Debug;

pub use buckets::BucketOrders;
pub use compact::CompactOrders;
pub use hash_map::HashMapOrders;
use nanotape_types::{OrderReferenceNumber, Side};
pub use pages::PagedOrders;
pub use pool::PooledOrders;

use crate::Order;

/// The live orders of all stocks.
pub trait OrderStore: Debug {
    /// A store with room for `orders` before it has to grow.
    fn with_capacity(orders: usize) -> Self;

    /// Stores `order`, which has at least one share. `false`, and no change, if the reference is
    /// live.
    fn insert(&mut self, reference: OrderReferenceNumber, order: Order) -> bool;

    /// Takes up to `shares` off the order and gives it back as it was before; an order left with
    /// none is removed. `None` if the reference is not live.
    ///
    /// One operation serves executions, cancels and deletes, so that one probe finds the order and
    /// one branch decides whether it stays.
    fn take(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<Order>;

    /// The order, if it is live.
    fn get(&self, reference: OrderReferenceNumber) -> Option<Order>;

    /// Begins to load what [`touch`](Self::touch) will need, and does not wait for it. Gives what
    /// `touch` is to be told. All three are hints: they change nothing, and a store without them
    /// does nothing.
    #[inline]
    fn foresee(&self, reference: OrderReferenceNumber) -> usize {
        let _ = reference;
        0
    }

    /// Begins to load what an operation on `reference` will need. Gives what
    /// [`side_hint`](Self::side_hint) is to be told.
    #[inline]
    fn touch(&self, reference: OrderReferenceNumber, foreseen: usize) -> usize {
        let _ = (reference, foreseen);
        0
    }

    /// The side that stands where an order would be, if the store can tell at hardly any cost and
    /// without a branch on whether the order is there. It may be any.
    #[inline]
    fn side_hint(&self, touched: usize) -> Option<Side> {
        let _ = touched;
        None
    }

    /// How many orders are live.
    fn len(&self) -> usize;

    /// Whether no order is live.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All live orders, in no particular order.
    fn iter(&self) -> impl Iterator<Item = (OrderReferenceNumber, Order)> + '_;
}
