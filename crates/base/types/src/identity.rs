//! The identifiers of a feed. None of them is a quantity, so none has arithmetic.

use core::fmt;

use crate::{Sentinel, wire_value::integer_newtype};

integer_newtype! {
    /// Stock locate: the day's small integer for a stock, at the same offset in every message.
    ///
    /// Assigned each day by a stock directory message; 0 if a message concerns no stock.
    StockLocate, u16, 2
}

integer_newtype! {
    /// Tracking number: internal to the exchange, not unique, passed on unchanged.
    TrackingNumber, u16, 2
}

integer_newtype! {
    /// Order reference number: names a displayed order, unique for the day.
    OrderReferenceNumber, u64, 8
}

integer_newtype! {
    /// Match number: names an execution, a trade or a cross, unique for the day.
    MatchNumber, u64, 8
}

impl StockLocate {
    /// Number of possible locates; a [`LocateTable`](crate::LocateTable) has an entry for each.
    pub const COUNT: usize = 1 << 16;

    /// All locates, ascending. The first is 0, which means no stock.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        (0..=u16::MAX).map(Self)
    }

    /// Whether it is that of a stock. A message about no stock has locate 0, and so has one whose
    /// feed does not state the stock, about an order that is unknown: it is about no book.
    #[inline(always)]
    pub const fn is_of_a_stock(self) -> bool {
        self.get() > 0
    }

    /// The locate as a table index, always below [`StockLocate::COUNT`].
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A trade message has carried 0 instead of its order's reference since 2010.
impl Sentinel for OrderReferenceNumber {
    const ABSENT: Self = Self(0);
}

macro_rules! display_as_number {
    ($($name:ty),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}
display_as_number!(StockLocate, TrackingNumber, OrderReferenceNumber, MatchNumber);
