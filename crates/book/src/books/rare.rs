//! Changes from records of other exchanges and from snapshots: a book that is cleared, and an order
//! that is modified under its own reference. ITCH has no such messages.

use nanotape_types::{OrderReferenceNumber, Price4, Shares, Side, StockLocate};

use super::{Books, OrderWatcher, Outcome};
use crate::{Anomaly, AnomalyCounts, OrderStore, PriceLevels};

/// A watcher of its own. The compiler then makes copies of the functions for these changes only.
/// With more callers, those of the hot path took 1% more instructions (bench: book/hot).
struct Unwatched;

impl OrderWatcher for Unwatched {}

impl<L: PriceLevels, S: OrderStore> Books<L, S> {
    /// Removes every order of a stock. Its anomalies stay counted. Takes one pass over the live
    /// orders of all stocks, and nothing if the book is empty.
    #[cold]
    #[inline(never)]
    pub fn clear(&mut self, stock_locate: StockLocate) -> Outcome {
        let inside_changed = !self.book(stock_locate).is_empty();
        if inside_changed {
            let of_stock = self.orders.iter().filter(|(_, o)| o.stock_locate == stock_locate);
            let references: Vec<_> = of_stock.map(|(reference, _)| reference).collect();
            for reference in references {
                let _ = self.take(stock_locate, reference, u32::MAX, None, Unwatched);
            }
        }
        Outcome { stock_locate, inside_changed, anomaly: None }
    }

    /// The book of a stock is reliable again. Its anomalies stay in the [total](Self::anomalies).
    pub fn clear_taint(&mut self, stock_locate: StockLocate) {
        self.anomalies[stock_locate] = AnomalyCounts::default();
    }

    /// Gives an order another price or another number of shares. The order keeps its position in
    /// the queue if its price stays and its shares do not increase; otherwise it moves to the end.
    ///
    /// An order that is not live enters, and the book is tainted. A message of the other side is
    /// refused.
    #[cold]
    #[inline(never)]
    pub fn modify(
        &mut self,
        stock_locate: StockLocate,
        reference: OrderReferenceNumber,
        side: Side,
        shares: Shares,
        price: Price4,
    ) -> Outcome {
        let Some(order) = self.order(reference) else {
            let entered = self.enter(stock_locate, reference, side, shares, price, Unwatched);
            let anomaly = Anomaly::UnknownReference;
            return self.refused(stock_locate, entered.inside_changed, anomaly);
        };
        if side != order.side {
            return self.refused(order.stock_locate, false, Anomaly::UnknownSide);
        }
        let is_reduced = price == order.price && (1..=order.shares.get()).contains(&shares.get());
        if is_reduced {
            let less = order.shares.get() - shares.get();
            return self.take(stock_locate, reference, less, None, Unwatched);
        }
        self.replace(stock_locate, reference, reference, shares, price, Unwatched)
    }
}
