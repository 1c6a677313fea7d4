//! What is known of a message before its turn, for code that loads data ahead.
//!
//! The seam of [`BookEvent`](crate::BookEvent) once more, in a form that is cheap to make and needs
//! not be right: a wrong guess loads a cache line that nobody wants.

use crate::{OrderReferenceNumber, Side, StockLocate};

/// What a message will probably be about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coming {
    /// The stock.
    pub stock_locate: StockLocate,
    /// The order; the one that goes, if one is replaced.
    pub reference: OrderReferenceNumber,
    /// The order that comes, if one is replaced.
    pub replacement: Option<OrderReferenceNumber>,
    /// Whether the order is a new one.
    pub is_new: bool,
    /// Its side if it is; means nothing otherwise. A plain value and no option, so that choosing
    /// between it and a known order's side needs no branch.
    pub side_if_new: Side,
}
