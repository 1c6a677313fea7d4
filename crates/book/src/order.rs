//! What a book remembers of one displayed order.

use nanotape_types::{Price4, Shares, Side, StockLocate};

/// One live order. Its reference number is the key it is stored under.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// The stock it was added under. Later messages about it are applied here whatever they say.
    pub stock_locate: StockLocate,
    /// Its side.
    pub side: Side,
    /// Its display price: the level it stands in.
    pub price: Price4,
    /// Shares that remain; at least one while it is stored.
    pub shares: Shares,
    /// Its place in the order of arrival, modulo 2^32: who is ahead in the queue of a level.
    pub arrival: u32,
}
