//! The known part of a coming message, for code that prefetches data.
//!
//! A form of [`BookEvent`](crate::BookEvent) that is cheap to make and may be wrong: a wrong guess
//! loads an unused cache line.

use crate::{OrderReferenceNumber, Side, StockLocate};

/// The probable contents of a coming message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coming {
    /// The stock.
    pub stock_locate: StockLocate,
    /// The order; the removed one of a replace. The new order of a replace is near other new ones,
    /// which are in the cache.
    pub reference: OrderReferenceNumber,
    /// Whether the order is a new one.
    pub is_new: bool,
    /// Its side if it is new; otherwise meaningless. Not an option, so that choosing between it and
    /// a known order's side needs no branch.
    pub side_if_new: Side,
}
