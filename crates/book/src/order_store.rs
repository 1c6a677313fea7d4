//! Live orders by reference number, behind a trait.
//!
//! References are unique for the day and mostly grow, but nothing here relies on that: any 64-bit
//! number is a valid key, and reuse after removal is legal.

mod compact;
mod hash_map;

use core::fmt::Debug;

pub use compact::CompactOrders;
pub use hash_map::HashMapOrders;
use nanotape_types::OrderReferenceNumber;

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

    /// Begins to load what an operation on `reference` will need, and does not wait for it. Only a
    /// hint: a store without one does nothing.
    fn touch(&self, reference: OrderReferenceNumber) {
        let _ = reference;
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
