//! Books that a subscriber builds from order records.
//! The books equal those of the plant at each record. They are complete if every record since the
//! plant's start was applied. A subscriber that joined later, or was lapped, has books that lack
//! orders, and [`is_whole`](LocalBooks::is_whole) reports that.

use std::fmt;

use dbn::{Action, MboMsg};
use nanotape_book::{
    Anomaly, AnomalyCounts, Book, BookEvent, DefaultBooks, Order, OrderStore as _, PackedLevels,
};
use nanotape_records::{is_level, priority_of};
use nanotape_types::{Modified, OrderReferenceNumber, PriceScale, Shares, Side, StockLocate};

use crate::snapshot::SnapshotOrder;

/// Live orders to reserve memory for; tables grow.
const ORDERS: usize = 1 << 14;

/// Books of the stocks that a subscriber selects. Their prices are of [`PriceScale::WIDE`].
pub struct LocalBooks {
    books: DefaultBooks,
    is_whole: bool,
    has_levels: bool,
}

impl Default for LocalBooks {
    fn default() -> Self {
        Self::new()
    }
}

impl LocalBooks {
    /// Empty books.
    pub fn new() -> Self {
        Self::with_capacity(ORDERS)
    }

    /// Empty books with room for `orders` live orders before they have to grow.
    pub(crate) fn with_capacity(orders: usize) -> Self {
        Self {
            books: DefaultBooks::with_capacity(orders.max(ORDERS)),
            is_whole: false,
            has_levels: false,
        }
    }

    /// Whether the exchange shows price levels, and not orders: a level counts as one order, which
    /// means nothing.
    pub fn has_levels(&self) -> bool {
        self.has_levels
    }

    /// All books.
    pub fn all(&self) -> &DefaultBooks {
        &self.books
    }

    /// The orders of a snapshot follow. `is_whole`: nothing was lost before it.
    pub fn begin_at(&mut self, is_whole: bool) {
        self.is_whole = is_whole;
    }

    /// Enters an order of a snapshot; returns why the book refuses it, if it does.
    pub(crate) fn enter(
        &mut self,
        stock_locate: StockLocate,
        order: &SnapshotOrder,
    ) -> Option<Anomaly> {
        let SnapshotOrder { reference, side, price, shares } = *order;
        let added = BookEvent::Add { stock_locate, reference, side, shares, price };
        self.books.apply(added).anomaly
    }

    /// The book of a stock: inside, depth, levels.
    pub fn book(&self, locate: StockLocate) -> Book<'_, PackedLevels> {
        self.books.book(locate)
    }

    /// A live order.
    pub fn order(&self, reference: OrderReferenceNumber) -> Option<Order> {
        self.books.order(reference)
    }

    /// Whether every order record since the plant's start was applied. If not, orders that were
    /// entered before, or while the reader was lapped, are missing.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Records that did not fit; complete books have none.
    pub fn anomalies(&self) -> AnomalyCounts {
        self.books.anomalies()
    }

    /// A plant starts with empty books. If it publishes no order records, these stay empty.
    #[cold]
    pub fn begin(&mut self, has_orders: bool) {
        *self = Self { is_whole: has_orders, ..Self::new() };
    }

    /// Records were lost.
    pub fn lose(&mut self) {
        self.is_whole = false;
    }

    /// Applies an order record; prints change no book. Returns whether it has a price that no book
    /// can have: its book is wrong then.
    #[inline]
    pub fn apply(&mut self, record: &MboMsg) -> bool {
        let Ok(locate) = u16::try_from(record.hd.instrument_id) else { return false };
        let (stock_locate, reference) =
            (StockLocate::new(locate), OrderReferenceNumber::new(record.order_id));
        let shares = Shares::new(record.size);
        if is_level(record) && !matches!(record.action(), Ok(Action::Clear)) {
            self.apply_level(record, stock_locate);
            return false;
        }
        let event = match record.action() {
            Ok(action @ (Action::Add | Action::Modify)) => {
                let side = match record.side as u8 {
                    b'B' => Side::Buy,
                    b'A' => Side::Sell,
                    _ => {
                        self.books.record_anomaly(stock_locate, Anomaly::UnknownSide);
                        return false;
                    }
                };
                let Some(price) = PriceScale::WIDE.of_nanos(record.price) else {
                    let _ = self.books.price_out_of_range(stock_locate, Some(reference), ());
                    return true;
                };
                if action == Action::Modify {
                    let (side, priority) = (Some(side), priority_of(record));
                    let change = Modified { reference, side, shares, price, priority };
                    let _ = self.books.modify(stock_locate, change);
                    return false;
                }
                BookEvent::Add { stock_locate, reference, side, shares, price }
            }
            Ok(Action::Cancel) => BookEvent::Cancel { stock_locate, reference, shares },
            Ok(Action::Clear) => {
                let _ = self.books.clear(stock_locate);
                return false;
            }
            _ => return false,
        };
        let _ = self.books.apply(event);
        false
    }

    /// Applies the record of a price level.
    #[cold]
    fn apply_level(&mut self, record: &MboMsg, stock_locate: StockLocate) {
        let shares = match record.action() {
            Ok(Action::Add | Action::Modify) => Shares::new(record.size),
            Ok(Action::Cancel | Action::None) => Shares::new(0),
            _ => return,
        };
        let (side, price) = match (record.side as u8, PriceScale::WIDE.of_nanos(record.price)) {
            (b'B', Some(price)) => (Side::Buy, price),
            (b'A', Some(price)) => (Side::Sell, price),
            _ => return,
        };
        self.has_levels = true;
        let _ = if record.flags.is_tob() {
            self.books.set_only_level(stock_locate, side, price, shares)
        } else {
            self.books.set_level(stock_locate, side, price, shares)
        };
    }
}

/// Omits the books: tables with an entry for each of 65,536 stocks.
impl fmt::Debug for LocalBooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalBooks")
            .field("orders", &self.books.orders().len())
            .field("is_whole", &self.is_whole)
            .finish_non_exhaustive()
    }
}
