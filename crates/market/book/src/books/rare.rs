//! Changes from records of other exchanges and from snapshots: a book that is cleared, an order
//! that is modified under its own reference, and a level that is set. ITCH has no such messages.

use nanotape_types::{Modified, OrderReferenceNumber, Price, Priority, Shares, Side, StockLocate};

use super::{Books, OrderWatcher, Outcome};
use crate::{Anomaly, AnomalyCounts, BookSide, Order, OrderStore, PriceKey, PriceLevels};

/// A watcher of its own type. The compiler then makes copies of the functions for these changes
/// only. With more callers, those of the hot path took 1% more instructions (bench: book/hot).
struct Rarely<W>(W);

impl<W: OrderWatcher> OrderWatcher for Rarely<W> {
    fn entered(&mut self, order: &Order) {
        self.0.entered(order);
    }

    fn reduced(&mut self, order: &Order, shares: u32) {
        self.0.reduced(order, shares);
    }
}

impl<L: PriceLevels, S: OrderStore> Books<L, S> {
    /// Removes every order of a stock. Its anomalies stay counted. What it costs depends on the
    /// store: [`OrderStore::clear`].
    #[cold]
    #[inline(never)]
    pub fn clear(&mut self, stock_locate: StockLocate) -> Outcome {
        let inside_changed = !self.book(stock_locate).is_empty();
        if inside_changed {
            let count = self.order_count(stock_locate);
            self.orders.clear(stock_locate, count, self.arrivals);
            for side in Side::BOTH {
                self.levels.clear(BookSide::new(stock_locate, side));
            }
        }
        Outcome { stock_locate, inside_changed, anomaly: None }
    }

    /// Gives a level these shares, whatever it had; without shares it closes, which a level that
    /// does not exist may do. For exchanges that send levels: such books have no orders at all.
    #[inline]
    pub fn set_level(
        &mut self,
        stock_locate: StockLocate,
        side: Side,
        price: Price,
        shares: Shares,
    ) -> Outcome {
        let (key, side) = (PriceKey::new(side, price), BookSide::new(stock_locate, side));
        let inside_changed = self.levels.set(side, key, shares.get());
        Outcome { stock_locate, inside_changed, anomaly: None }
    }

    /// Gives a side this level and no other; without shares it has none. For exchanges that send
    /// the best levels only.
    pub fn set_only_level(
        &mut self,
        stock_locate: StockLocate,
        side: Side,
        price: Price,
        shares: Shares,
    ) -> Outcome {
        let (key, side) = (PriceKey::new(side, price), BookSide::new(stock_locate, side));
        let before = self.best_quote(side);
        let other = |levels: &L| {
            let mut keys = levels.best_first(side).map(|level| level.key);
            keys.find(|&other| other != key)
        };
        while let Some(other) = other(&self.levels) {
            self.levels.set(side, other, 0);
        }
        self.levels.set(side, key, shares.get());
        let inside_changed = before != self.best_quote(side);
        Outcome { stock_locate, inside_changed, anomaly: None }
    }

    /// The book of a stock is reliable again. Its anomalies stay in the [total](Self::anomalies).
    pub fn clear_taint(&mut self, stock_locate: StockLocate) {
        self.anomalies[stock_locate] = AnomalyCounts::default();
    }

    /// Gives an order another price or another number of shares; without shares it leaves.
    ///
    /// An order that is not live enters, if its side is stated, and the book is tainted. A message
    /// of the other side is refused.
    pub fn modify(&mut self, stock_locate: StockLocate, change: Modified) -> Outcome {
        self.modify_watched(stock_locate, change, ())
    }

    /// [`Books::modify`], reporting to `watcher` what it did to the order: it loses shares, or
    /// leaves and enters again.
    #[cold]
    #[inline(never)]
    pub fn modify_watched(
        &mut self,
        stock_locate: StockLocate,
        change: Modified,
        watcher: impl OrderWatcher,
    ) -> Outcome {
        let watcher = Rarely(watcher);
        let Modified { reference, side, shares, price, priority } = change;
        let Some(order) = self.order(reference) else {
            let anomaly = Anomaly::UnknownReference;
            let Some(side) = side else { return self.refused(stock_locate, false, anomaly) };
            let entered = self.enter(stock_locate, reference, side, shares, price, watcher);
            return self.refused(stock_locate, entered.inside_changed, anomaly);
        };
        if side.is_some_and(|side| side != order.side) {
            return self.refused(order.stock_locate, false, Anomaly::UnknownSide);
        }
        let had = order.shares.get();
        if shares.get() == 0 {
            return self.take(stock_locate, reference, u32::MAX, None, watcher);
        }
        let is_less = shares.get() <= had;
        let stays = match priority {
            Priority::Kept => true,
            Priority::KeptIfLess => is_less,
            Priority::Lost => false,
        };
        match stays && price == order.price {
            true if is_less => {
                self.take(stock_locate, reference, had - shares.get(), None, watcher)
            }
            true => self.grow(stock_locate, reference, order, shares, watcher),
            false => self.replace(stock_locate, reference, reference, shares, price, watcher),
        }
    }

    /// Gives an order more shares at its place in the queue.
    fn grow(
        &mut self,
        stock_locate: StockLocate,
        reference: OrderReferenceNumber,
        order: Order,
        shares: Shares,
        mut watcher: impl OrderWatcher,
    ) -> Outcome {
        let (had, grown) = (order.shares.get(), Order { shares, ..order });
        self.orders.take(reference, u32::MAX);
        self.orders.insert(reference, grown);
        watcher.reduced(&order, had);
        watcher.entered(&grown);
        let locate = order.stock_locate;
        let (key, side) =
            (PriceKey::new(order.side, order.price), BookSide::new(locate, order.side));
        let before = self.best_quote(side);
        self.levels.reduce(side, key, had, true);
        self.levels.add(side, key, shares.get());
        let inside_changed = before != self.best_quote(side);
        if locate != stock_locate {
            return self.refused(locate, inside_changed, Anomaly::LocateMismatch);
        }
        Outcome { stock_locate: locate, inside_changed, anomaly: None }
    }

    /// A displayed order has a price that no book can have: it leaves, and the book is tainted.
    /// `None` for one that enters, and for a level.
    pub fn price_out_of_range(
        &mut self,
        stock_locate: StockLocate,
        reference: Option<OrderReferenceNumber>,
        watcher: impl OrderWatcher,
    ) -> Outcome {
        let live = reference.filter(|&reference| self.order(reference).is_some());
        let Some(reference) = live else {
            return self.refused(stock_locate, false, Anomaly::PriceOutOfRange);
        };
        let left = self.take(stock_locate, reference, u32::MAX, None, Rarely(watcher));
        let of = self.refused(left.stock_locate, left.inside_changed, Anomaly::PriceOutOfRange);
        Outcome { anomaly: left.anomaly.or(of.anomaly), ..of }
    }

    /// Number of live orders of a stock.
    fn order_count(&self, stock_locate: StockLocate) -> usize {
        let book = self.book(stock_locate);
        let levels = Side::BOTH.into_iter().flat_map(|side| book.depth(side));
        levels.map(|level| level.orders.get() as usize).sum()
    }
}
