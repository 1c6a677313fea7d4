//! The effect of the current message on single orders: at most one that is reduced, and then at
//! most one that is entered.
//!
//! Changes of any kind are stored in sequence. So the record of a message with one change, by far
//! the most common case, is built without a branch on the kind of change.

use dbn::Action;
use nanotape_book::Order;

use crate::records::encode::{Change, price_of, side_of};

/// The changes of one message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changes {
    changes: [Change; 2],
    count: usize,
}

impl Default for Changes {
    fn default() -> Self {
        Self { changes: [Change::NONE; 2], count: 0 }
    }
}

impl Changes {
    /// An order was changed by `size` shares. A size of 0 changes nothing.
    #[inline(always)]
    pub(super) fn push(&mut self, action: Action, order: &Order, size: u32) {
        let (side, price) = (side_of(order.side), price_of(order.price));
        self.changes[self.count % 2] = Change { action, side, price, size };
        self.count += usize::from(size > 0);
    }

    /// Prepares for the next message.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Number of changes.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The first change; meaningless without one.
    #[inline(always)]
    pub(super) fn first(&self) -> Change {
        self.changes[0]
    }

    /// The second change; meaningless with fewer than two.
    #[inline(always)]
    pub(super) fn second(&self) -> Change {
        self.changes[1]
    }
}
