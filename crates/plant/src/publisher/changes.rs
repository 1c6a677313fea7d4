//! What the message that is being applied does to single orders: at most one that is reduced, and
//! then at most one that enters.
//!
//! They are written one behind the other, whichever they are. So the record of a message with one
//! change, which nearly all have, is put together without a branch on what the change was.

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
    /// An order was changed by so many shares. An execution of none changes nothing.
    #[inline(always)]
    pub(super) fn push(&mut self, action: Action, order: &Order, size: u32) {
        let (side, price) = (side_of(order.side), price_of(order.price));
        self.changes[self.count % 2] = Change { action, side, price, size };
        self.count += usize::from(size > 0);
    }

    /// Another message comes.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// How many there are.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The first; means nothing if there is none.
    #[inline(always)]
    pub(super) fn first(&self) -> Change {
        self.changes[0]
    }

    /// The second; means nothing if there are not two.
    #[inline(always)]
    pub(super) fn second(&self) -> Change {
        self.changes[1]
    }
}
