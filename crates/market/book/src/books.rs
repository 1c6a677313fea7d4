//! The books of all stocks. Applying an event returns what the event did.
//!
//! Where: FEED produces the events; commands and the plant use the outcomes.
//! Bounds: 65,536 stocks; orders as many as fit into memory. An event takes one probe of the order
//! store and one search of a side's levels; a replace takes two of each.
//! Failure: no event fails. An event that does not fit is counted by kind and stock and taints that
//! stock's book; [`Anomaly`] has the effect of each kind.
//! Cost: no allocation once the tables have grown to the day's size, no system call. Usually one
//! cache line each of order store, stock header and level array.

mod rare;

use core::fmt;

use nanotape_types::{
    BookEvent, Coming, LocateTable, OrderReferenceNumber, Price, PriceScale, Shares, Side,
    StockLocate, TotalShares,
};

use crate::{
    Anomaly, AnomalyCounts, BookSide, DepthLevel, Inside, Level, Order, OrderStore, PriceKey,
    PriceLevels, Quote,
};

/// Order-by-order books of every stock, indexed by stock locate.
pub struct Books<L, S> {
    levels: L,
    orders: S,
    /// Orders entered so far, modulo 2^32.
    arrivals: u32,
    /// One entry for each possible locate, so that indexing needs no bounds check.
    anomalies: LocateTable<AnomalyCounts>,
    totals: AnomalyCounts,
    scale: PriceScale,
}

/// Omits the levels, and the entries for 65,536 stocks.
impl<L, S: fmt::Debug> fmt::Debug for Books<L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Books")
            .field("orders", &self.orders)
            .field("arrivals", &self.arrivals)
            .field("anomalies", &self.totals)
            .finish_non_exhaustive()
    }
}

/// What the look-ahead found for a coming event, passed from one step to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrefetchHint {
    reference: OrderReferenceNumber,
    order: usize,
    stock_locate: StockLocate,
    is_new: bool,
    side_if_new: Side,
}

/// Receives what a [`BookEvent`] does to single orders, while it is applied: at most one order is
/// reduced, and then at most one enters. `()` ignores both at no cost.
pub trait OrderWatcher {
    /// An order was entered.
    #[inline(always)]
    fn entered(&mut self, order: &Order) {
        let _ = order;
    }

    /// `shares` were taken off an order; all of them if the order left. `order` is its state
    /// before.
    #[inline(always)]
    fn reduced(&mut self, order: &Order, shares: u32) {
        let _ = (order, shares);
    }
}

impl OrderWatcher for () {}

/// The memory for so many orders, which the system might not give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// Live orders.
    pub orders: usize,
    /// Bytes of their tables.
    pub bytes: usize,
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { orders, bytes } = self;
        write!(
            f,
            "the tables for {orders} live orders need {bytes} bytes, which the system refuses"
        )
    }
}

impl core::error::Error for Room {}

/// What an event did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "an outcome reports a change of the inside, and anomalies"]
pub struct Outcome {
    /// The stock whose book the event concerned: the order's own, if the order was found.
    pub stock_locate: StockLocate,
    /// Whether the price or the size of the best bid or best offer changed.
    pub inside_changed: bool,
    /// What did not fit, if anything. If several things did not, the first in time.
    pub anomaly: Option<Anomaly>,
}

impl<L: PriceLevels, S: OrderStore> Books<L, S> {
    /// Empty books with room for `orders` live orders before the store has to grow.
    ///
    /// A full Nasdaq day peaks at about two million.
    pub fn with_capacity(orders: usize) -> Self {
        Self::new(L::with_capacity(orders), S::with_capacity(orders))
    }

    /// Whether the system gives enough memory for [`with_capacity`](Self::with_capacity), which
    /// ends the program otherwise: the bytes of the tables in both cases. Nothing is used yet.
    pub fn check_room(orders: usize) -> Result<Room, Room> {
        // The levels of a day: a key of 4 bytes and two sizes of 4 for each of them.
        let of_levels = orders.checked_next_power_of_two().unwrap_or(usize::MAX).saturating_mul(12);
        let bytes = S::bytes_for(orders).saturating_add(of_levels);
        let room = Room { orders, bytes };
        let reserved = Vec::<u8>::new().try_reserve_exact(bytes);
        reserved.map(|()| room).map_err(|_| room)
    }

    /// Empty books with structures that already exist and are empty.
    pub fn new(levels: L, orders: S) -> Self {
        Self {
            levels,
            orders,
            arrivals: 0,
            anomalies: LocateTable::filled(AnomalyCounts::default()),
            totals: AnomalyCounts::default(),
            scale: PriceScale::default(),
        }
    }

    /// The scale of their prices.
    #[inline]
    pub fn price_scale(&self) -> PriceScale {
        self.scale
    }

    /// The prices of the events have this scale. The books must be empty.
    pub fn set_price_scale(&mut self, scale: PriceScale) {
        self.scale = scale;
    }

    /// Uses every page of the tables once, which the kernel otherwise supplies when an event needs
    /// it: that takes tens of microseconds. For books of a live feed.
    #[must_use]
    pub fn touched(mut self) -> Self {
        self.levels.touch_all();
        self.orders.touch_all();
        self
    }

    /// Applies one event. A replace is one event: the inside is compared once, after it.
    #[inline(always)]
    pub fn apply(&mut self, event: BookEvent) -> Outcome {
        self.apply_watched(event, ())
    }

    /// [`Books::apply`], reporting to `watcher` what the event did to single orders.
    #[inline(always)]
    pub fn apply_watched(&mut self, event: BookEvent, watcher: impl OrderWatcher) -> Outcome {
        match event {
            BookEvent::Add { stock_locate, reference, side, shares, price } => {
                self.enter(stock_locate, reference, side, shares, price, watcher)
            }
            BookEvent::Execute { stock_locate, reference, shares } => {
                let over = Some(Anomaly::OverExecution);
                self.take(stock_locate, reference, shares.get(), over, watcher)
            }
            BookEvent::Cancel { stock_locate, reference, shares } => {
                let over = Some(Anomaly::OverCancel);
                self.take(stock_locate, reference, shares.get(), over, watcher)
            }
            BookEvent::Delete { stock_locate, reference } => {
                self.take(stock_locate, reference, u32::MAX, None, watcher)
            }
            BookEvent::Replace { stock_locate, original, replacement, shares, price } => {
                self.replace(stock_locate, original, replacement, shares, price, watcher)
            }
        }
    }

    /// Starts to load what locates the orders of a coming event. Call it for each message, then
    /// [`prefetch_orders`](Self::prefetch_orders) and [`prefetch_levels`](Self::prefetch_levels)
    /// with its hint, so that cache misses overlap with each other and with work; see
    /// docs/decisions/0016-look-ahead-in-batches.md.
    #[inline(always)]
    pub fn prefetch_index(&self, coming: Coming) -> PrefetchHint {
        let Coming { stock_locate, reference, is_new, side_if_new, .. } = coming;
        let order = self.orders.prefetch_index(reference);
        PrefetchHint { reference, order, stock_locate, is_new, side_if_new }
    }

    /// Starts to load the orders of a coming event.
    #[inline(always)]
    pub fn prefetch_orders(&self, hint: &mut PrefetchHint) {
        hint.order = self.orders.touch(hint.reference, hint.order);
    }

    /// Starts to load the best levels of the side of a coming event, or of both sides if the side
    /// is unknown.
    #[inline(always)]
    pub fn prefetch_levels(&self, hint: &PrefetchHint) {
        let &PrefetchHint { stock_locate, is_new, side_if_new, .. } = hint;
        match self.orders.side_hint(hint.order) {
            Some(known) => {
                let side = if is_new { side_if_new } else { known };
                self.levels.touch(BookSide::new(stock_locate, side));
            }
            None => {
                for side in Side::BOTH {
                    self.levels.touch(BookSide::new(stock_locate, side));
                }
            }
        }
    }

    /// Starts to load the levels of both sides of a stock, for an event without look-ahead: they
    /// arrive while its order is searched.
    #[inline(always)]
    pub fn prefetch_stock(&self, stock_locate: StockLocate) {
        for side in Side::BOTH {
            self.levels.touch_deep(BookSide::new(stock_locate, side));
        }
    }

    /// Starts to load an order, for an event that comes soon without another announcement.
    #[inline]
    pub fn prefetch_known(&self, reference: OrderReferenceNumber) {
        self.orders.prefetch(reference);
    }

    /// Starts to load the levels of the side of an order that was announced before.
    #[inline]
    pub fn prefetch_side_of(&self, reference: OrderReferenceNumber) {
        if let Some(order) = self.orders.get(reference) {
            self.levels.touch(BookSide::new(order.stock_locate, order.side));
        }
    }

    /// Counts an anomaly that was noticed before it could become an event.
    pub fn record_anomaly(&mut self, stock_locate: StockLocate, anomaly: Anomaly) {
        self.anomalies[stock_locate].record(anomaly);
        self.totals.record(anomaly);
    }

    /// The book of one stock.
    #[inline]
    pub fn book(&self, stock_locate: StockLocate) -> Book<'_, L> {
        let (levels, anomalies) = (&self.levels, &self.anomalies[stock_locate]);
        Book { levels, stock_locate, anomalies, scale: self.scale }
    }

    /// A live order.
    #[inline]
    pub fn order(&self, reference: OrderReferenceNumber) -> Option<Order> {
        self.orders.get(reference)
    }

    /// All live orders.
    pub fn orders(&self) -> &S {
        &self.orders
    }

    /// Anomalies of all stocks together.
    pub fn anomalies(&self) -> AnomalyCounts {
        self.totals
    }

    /// The stocks whose book has seen an anomaly and is unreliable.
    pub fn tainted(&self) -> impl Iterator<Item = (StockLocate, AnomalyCounts)> + '_ {
        self.anomalies
            .iter()
            .filter(|(_, counts)| counts.any())
            .map(|(locate, &counts)| (locate, counts))
    }

    /// How many arrivals ago `arrival` was, modulo 2^32.
    pub(crate) fn age(&self, arrival: u32) -> u32 {
        self.arrivals.wrapping_sub(arrival)
    }

    #[inline(never)]
    fn enter(
        &mut self,
        stock_locate: StockLocate,
        reference: OrderReferenceNumber,
        side: Side,
        shares: Shares,
        price: Price,
        mut watcher: impl OrderWatcher,
    ) -> Outcome {
        if shares.get() == 0 {
            return self.refused(stock_locate, false, Anomaly::ZeroShares);
        }
        let order = Order { stock_locate, side, price, shares, arrival: self.arrivals };
        if !self.orders.insert(reference, order) {
            return self.refused(stock_locate, false, Anomaly::DuplicateReference);
        }
        self.arrivals = self.arrivals.wrapping_add(1);
        let (key, book_side) = (PriceKey::new(side, price), BookSide::new(stock_locate, side));
        watcher.entered(&order);
        let inside_changed = self.levels.add(book_side, key, shares.get());
        Outcome { stock_locate, inside_changed, anomaly: None }
    }

    /// Applies executions, cancels and deletes. `over` is the anomaly to record if more shares are
    /// taken than the order has.
    #[inline(never)]
    fn take(
        &mut self,
        stock_locate: StockLocate,
        reference: OrderReferenceNumber,
        shares: u32,
        over: Option<Anomaly>,
        mut watcher: impl OrderWatcher,
    ) -> Outcome {
        let Some(order) = self.orders.take(reference, shares) else {
            return self.refused(stock_locate, false, Anomaly::UnknownReference);
        };
        let (locate, had) = (order.stock_locate, order.shares.get());
        let (taken, leaves) = (shares.min(had), shares >= had);
        watcher.reduced(&order, taken);
        let key = PriceKey::new(order.side, order.price);
        let was_best = self.levels.reduce(BookSide::new(locate, order.side), key, taken, leaves);
        // An execution of no shares is malformed but possible, and changes nothing.
        let inside_changed = was_best & (taken > 0);
        if locate != stock_locate {
            return self.refused(locate, inside_changed, Anomaly::LocateMismatch);
        }
        match over {
            Some(anomaly) if shares > had => self.refused(locate, inside_changed, anomaly),
            _ => Outcome { stock_locate: locate, inside_changed, anomaly: None },
        }
    }

    #[inline(never)]
    fn replace(
        &mut self,
        stock_locate: StockLocate,
        original: OrderReferenceNumber,
        replacement: OrderReferenceNumber,
        shares: Shares,
        price: Price,
        mut watcher: impl OrderWatcher,
    ) -> Outcome {
        let Some(order) = self.orders.take(original, u32::MAX) else {
            return self.refused(stock_locate, false, Anomaly::UnknownReference);
        };
        watcher.reduced(&order, order.shares.get());
        let locate = order.stock_locate;
        let book_side = BookSide::new(locate, order.side);
        let before = self.best_quote(book_side);
        let key = PriceKey::new(order.side, order.price);
        self.levels.reduce(book_side, key, order.shares.get(), true);
        let mut first_wrong = None;
        if locate != stock_locate {
            first_wrong = self.refused(locate, false, Anomaly::LocateMismatch).anomaly;
        }
        let entered = self.enter(locate, replacement, order.side, shares, price, watcher);
        Outcome {
            stock_locate: locate,
            inside_changed: before != self.best_quote(book_side),
            anomaly: first_wrong.or(entered.anomaly),
        }
    }

    /// What counts as the inside of one side: price and shares, not the number of orders.
    #[inline]
    fn best_quote(&self, side: BookSide) -> Option<(PriceKey, u64)> {
        self.levels.best(side).map(|Level { key, shares, .. }| (key, shares))
    }

    #[cold]
    #[inline(never)]
    fn refused(
        &mut self,
        stock_locate: StockLocate,
        inside_changed: bool,
        anomaly: Anomaly,
    ) -> Outcome {
        self.record_anomaly(stock_locate, anomaly);
        Outcome { stock_locate, inside_changed, anomaly: Some(anomaly) }
    }
}

/// The current book of one stock.
#[derive(Debug)]
pub struct Book<'a, L> {
    levels: &'a L,
    stock_locate: StockLocate,
    anomalies: &'a AnomalyCounts,
    scale: PriceScale,
}

impl<'a, L: PriceLevels> Book<'a, L> {
    /// The scale of its prices.
    #[inline]
    pub fn price_scale(&self) -> PriceScale {
        self.scale
    }

    /// Best bid and best offer.
    #[inline]
    pub fn inside(&self) -> Inside {
        Inside { bid: self.best(Side::Buy), offer: self.best(Side::Sell) }
    }

    /// The best price of one side and the shares at it.
    #[inline]
    pub fn best(&self, side: Side) -> Option<Quote> {
        let level = self.levels.best(self.side(side))?.shown(side)?;
        Some(Quote { price: level.price, shares: level.shares })
    }

    /// The price levels of one side, best first.
    pub fn depth(&self, side: Side) -> impl Iterator<Item = DepthLevel> + 'a {
        self.levels.best_first(self.side(side)).filter_map(move |level| level.shown(side))
    }

    /// The number of price levels of one side, without a walk over them.
    #[inline]
    pub fn level_count(&self, side: Side) -> usize {
        self.levels.level_count(self.side(side))
    }

    /// The number of price levels of one side that are better than a price, which need not have an
    /// order: its place in the book, 0 at the inside and before it.
    #[inline]
    pub fn better_levels(&self, side: Side, price: Price) -> usize {
        self.levels.better_levels(self.side(side), PriceKey::new(side, price))
    }

    /// The level at a price, if it has an order.
    pub fn level(&self, side: Side, price: Price) -> Option<DepthLevel> {
        self.levels.at(self.side(side), PriceKey::new(side, price))?.shown(side)
    }

    /// The best level of one side, with the number of its orders.
    #[inline]
    pub fn best_level(&self, side: Side) -> Option<DepthLevel> {
        self.levels.best(self.side(side))?.shown(side)
    }

    /// Shares displayed on one side, over all levels.
    pub fn total_shares(&self, side: Side) -> TotalShares {
        TotalShares::new(self.levels.best_first(self.side(side)).map(|level| level.shares).sum())
    }

    /// Whether neither side has an order.
    pub fn is_empty(&self) -> bool {
        Side::BOTH.iter().all(|&side| self.levels.best(self.side(side)).is_none())
    }

    /// Whether an event did not fit this book, which makes the book unreliable.
    pub fn is_tainted(&self) -> bool {
        self.anomalies.any()
    }

    /// Anomalies of this book, by kind.
    pub fn anomalies(&self) -> AnomalyCounts {
        *self.anomalies
    }

    #[inline]
    fn side(&self, side: Side) -> BookSide {
        BookSide::new(self.stock_locate, side)
    }
}
