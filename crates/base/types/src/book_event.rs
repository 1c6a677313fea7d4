//! Changes of a book, independent of any protocol.
//!
//! This is the interface between FEED and BOOK: a decoder of any exchange produces these events,
//! and the book consumes only these. They are passed by value and applied through a match, so that
//! after inlining no event object is left.

use crate::{OrderReferenceNumber, Price, Shares, Side, StockLocate};

/// One change to the displayed orders of one stock.
///
/// `stock_locate` is the one in the message; for a change to a known order, the book uses the
/// locate of its add.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BookEvent {
    /// A new order at the back of its price level's queue.
    Add {
        /// The stock.
        stock_locate: StockLocate,
        /// The new order; must not be live.
        reference: OrderReferenceNumber,
        /// The side.
        side: Side,
        /// The displayed shares; at least one.
        shares: Shares,
        /// The display price.
        price: Price,
    },
    /// Shares of an order were executed; it leaves the book when none remain.
    Execute {
        /// The stock.
        stock_locate: StockLocate,
        /// The order.
        reference: OrderReferenceNumber,
        /// Shares executed now.
        shares: Shares,
    },
    /// Shares of an order were cancelled; price and queue position are unchanged.
    Cancel {
        /// The stock.
        stock_locate: StockLocate,
        /// The order.
        reference: OrderReferenceNumber,
        /// Shares cancelled now.
        shares: Shares,
    },
    /// An order was removed completely.
    Delete {
        /// The stock.
        stock_locate: StockLocate,
        /// The order.
        reference: OrderReferenceNumber,
    },
    /// An order was replaced: same side, new reference, price and shares, back of the queue.
    Replace {
        /// The stock.
        stock_locate: StockLocate,
        /// The order that is removed.
        original: OrderReferenceNumber,
        /// The order that is entered.
        replacement: OrderReferenceNumber,
        /// Total displayed shares of the new order.
        shares: Shares,
        /// The display price of the new order.
        price: Price,
    },
}

impl BookEvent {
    /// The stock locate in the message.
    #[inline]
    pub const fn stock_locate(&self) -> StockLocate {
        match *self {
            Self::Add { stock_locate, .. }
            | Self::Execute { stock_locate, .. }
            | Self::Cancel { stock_locate, .. }
            | Self::Delete { stock_locate, .. }
            | Self::Replace { stock_locate, .. } => stock_locate,
        }
    }
}

/// A displayed order after a change of its price or size, under its own reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Modified {
    /// The order.
    pub reference: OrderReferenceNumber,
    /// Its side, which does not change, if it is stated.
    pub side: Option<Side>,
    /// Its shares now; 0 if it left.
    pub shares: Shares,
    /// Its price now.
    pub price: Price,
    /// Its place in the queue.
    pub priority: Priority,
}

/// The place of an order in its queue after a change of its price or size. At another price it is
/// at the end in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// It keeps its place.
    Kept,
    /// It goes to the end.
    Lost,
    /// It keeps its place if its shares do not increase.
    KeptIfLess,
}
