//! Books that a subscriber keeps for itself, from order records.
//!
//! The same books as the plant's, so that what a subscriber sees of a stock is what the plant saw
//! at that record. They are whole if every record since the plant's start was applied; a subscriber
//! that joined later, or was lapped, has books that lack orders, and they say so.

use std::fmt;

use dbn::{Action, MboMsg};
use nanotape_book::{
    Anomaly, AnomalyCounts, Book, BookEvent, DefaultBooks, Order, OrderStore as _, PackedLevels,
};
use nanotape_types::{OrderReferenceNumber, Price4, Shares, Side, StockLocate};

/// Live orders that there is room for at the start; tables grow.
const ORDERS: usize = 1 << 14;

/// Books of the stocks that a subscriber wants.
pub struct LocalBooks {
    books: DefaultBooks,
    is_whole: bool,
}

impl LocalBooks {
    /// Nothing is known yet.
    pub(super) fn new() -> Self {
        Self { books: DefaultBooks::with_capacity(ORDERS), is_whole: false }
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

    /// Records that did not fit: in books that are whole there are none.
    pub fn anomalies(&self) -> AnomalyCounts {
        self.books.anomalies()
    }

    /// A plant begins: its books are empty. One that publishes no order records leaves these so.
    #[cold]
    pub(super) fn begin(&mut self, tells_orders: bool) {
        *self = Self { is_whole: tells_orders, ..Self::new() };
    }

    /// Records were lost.
    pub(super) fn lose(&mut self) {
        self.is_whole = false;
    }

    /// Applies an order record; prints change no book.
    #[inline]
    pub(super) fn apply(&mut self, record: &MboMsg) {
        let Ok(locate) = u16::try_from(record.hd.instrument_id) else { return };
        let (stock_locate, reference) =
            (StockLocate::new(locate), OrderReferenceNumber::new(record.order_id));
        let shares = Shares::new(record.size);
        let event = match record.action() {
            Ok(Action::Add) => {
                let side = match record.side as u8 {
                    b'B' => Side::Buy,
                    b'A' => Side::Sell,
                    _ => return self.books.record_anomaly(stock_locate, Anomaly::UnknownSide),
                };
                // What a plant publishes are prices in units of 1/10,000.
                let Ok(price) = u32::try_from(record.price / PRICE_UNITS) else { return };
                let price = Price4::new(price);
                BookEvent::Add { stock_locate, reference, side, shares, price }
            }
            Ok(Action::Cancel) => BookEvent::Cancel { stock_locate, reference, shares },
            _ => return,
        };
        let _ = self.books.apply(event);
    }
}

/// Without the books themselves, which are tables with a place for each of 65,536 stocks.
impl fmt::Debug for LocalBooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalBooks")
            .field("orders", &self.books.orders().len())
            .field("is_whole", &self.is_whole)
            .finish_non_exhaustive()
    }
}

/// DBN's price units in one of ITCH.
const PRICE_UNITS: i64 = 100_000;
