//! The effect of the current message on single orders: at most one that is reduced, and then at
//! most one that is entered.
//!
//! Changes of any kind are stored in sequence. So the record of a message with one change, by far
//! the most common case, is built without a branch on the kind of change.

use dbn::{Action, Side as DbnSide};
use nanotape_book::Order;
use nanotape_types::{Price, PriceScale};

use crate::records::encode::{Change, side_of};

/// The changes of one message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changes {
    changes: [OrderChange; 2],
    count: usize,
}

/// A change of an order, whose price is not yet that of a record.
#[derive(Clone, Copy, Debug)]
struct OrderChange {
    action: Action,
    side: DbnSide,
    price: Price,
    size: u32,
}

impl Default for Changes {
    fn default() -> Self {
        let (action, side, price) = (Action::None, DbnSide::None, Price::new(0));
        Self { changes: [OrderChange { action, side, price, size: 0 }; 2], count: 0 }
    }
}

impl Changes {
    /// An order was changed by `size` shares. A size of 0 changes nothing.
    #[inline(always)]
    pub(super) fn push(&mut self, action: Action, order: &Order, size: u32) {
        let (side, price) = (side_of(order.side), order.price);
        self.changes[self.count % 2] = OrderChange { action, side, price, size };
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
    pub(super) fn first(&self, scale: PriceScale) -> Change {
        self.changes[0].of(scale)
    }

    /// The second change; meaningless with fewer than two.
    #[inline(always)]
    pub(super) fn second(&self, scale: PriceScale) -> Change {
        self.changes[1].of(scale)
    }
}

impl OrderChange {
    /// As records have it, with a price of this scale.
    #[inline(always)]
    fn of(self, scale: PriceScale) -> Change {
        let Self { action, side, price, size } = self;
        Change { action, side, price: scale.nanos(price), size }
    }
}
