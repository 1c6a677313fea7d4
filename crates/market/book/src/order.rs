//! What a book stores of one displayed order.

use nanotape_types::{Price, Shares, Side, StockLocate};

/// One live order, stored under its reference number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// The stock it was added under. Later messages about it apply here, whatever their locate.
    pub stock_locate: StockLocate,
    /// Its side.
    pub side: Side,
    /// Its display price, which is its level.
    pub price: Price,
    /// Shares that remain; at least one while it is stored.
    pub shares: Shares,
    /// Number in the order of arrival, modulo 2^32. It decides the queue order of a level.
    pub arrival: u32,
}
