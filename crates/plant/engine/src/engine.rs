//! Updates the books and the stock directory from events: the critical path of the whole system.
//!
//! Where: between a source of events and an [`Observer`], on one thread.
//! Cost: no allocation, lock or system call per event, which a test checks.

mod behind;
mod every_kind;
mod restore;

use core::{marker::PhantomData, ops::ControlFlow};
use std::collections::BTreeSet;

use nanotape_book::{
    Anomaly, Books, Order, OrderStore, OrderWatcher, Outcome, PrefetchHint, PriceLevels,
};
use nanotape_market::{
    BookDetail, ChannelMessages, Damage, Doubt, EventHandler, EventSource, EventTime, MarketEvent,
    MarketSnapshot, NoOrigin, Origin, Position, SessionChange, StockDirectory, Turn, Venue, What,
};
use nanotape_types::{Coming, OrderReferenceNumber, StockLocate, Symbol};

use behind::Behind;
use every_kind::Parts;
pub use restore::RestoredStock;
use restore::Wanted;

use crate::{DamageLog, RunReport};

/// Receives every event, before and after it is applied.
pub trait Observer<B> {
    /// Whether a message that does not fit its book is searched for a hidden record. The search
    /// costs 16 instructions a message. Without it the observer counts the anomaly.
    const FINDS_HIDDEN_RECORDS: bool = false;

    /// Whether the observer reads the bytes of messages.
    const READS_BYTES: bool = false;

    /// Whether every message behind the begin of a span is shown, also one with an earlier time:
    /// for observers that follow books from the begin on.
    fn follows_books(&mut self) -> bool {
        false
    }

    /// Called once, before the first event of a span that begins after the start of the day, for
    /// observers that need the books at that time. `nanos`: the beginning, in ns since midnight.
    fn begin(&mut self, engine: &BookEngine<B>, nanos: u64) {
        let _ = (engine, nanos);
    }

    /// The events are those of this venue.
    fn venue(&mut self, venue: &'static Venue) {
        let _ = venue;
    }

    /// Times of day count from this time on, in ns since the UNIX epoch.
    fn day_begins(&mut self, unix_ns: u64) {
        let _ = unix_ns;
    }

    /// Called before the event is applied: for observers that need the previous book.
    #[inline]
    fn before(&mut self, engine: &BookEngine<B>, at: Position, event: &MarketEvent) {
        let _ = (engine, at, event);
    }

    /// Called after the event is applied. `outcome` is `None` if it changes no book. `Break` ends
    /// the run.
    #[inline]
    fn after(
        &mut self,
        engine: &BookEngine<B>,
        at: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        let _ = (engine, at, event, outcome);
        ControlFlow::Continue(())
    }

    /// Called after [`after`](Self::after) with the original bytes of the message, if the source
    /// has them and the observer [reads them](Self::READS_BYTES).
    fn bytes(
        &mut self,
        engine: &BookEngine<B>,
        at: Position,
        bytes: &[u8],
        outcome: Option<Outcome>,
    ) {
        let _ = (engine, at, bytes, outcome);
    }

    /// Called while the event is applied: an order was entered.
    #[inline]
    fn order_entered(&mut self, order: &Order) {
        let _ = order;
    }

    /// Called while the event is applied: `shares` of an order were removed; `order` is its old
    /// state.
    #[inline]
    fn order_reduced(&mut self, order: &Order, shares: u32) {
        let _ = (order, shares);
    }

    /// Whether the event is applied. `Break` ends the run before it.
    #[inline]
    fn admit(&mut self, at: Position, event: &MarketEvent) -> ControlFlow<()> {
        let _ = (at, event);
        ControlFlow::Continue(())
    }

    /// The events from now on were received at this time, in ns since the UNIX epoch.
    #[inline]
    fn received(&mut self, ts_recv_ns: u64) {
        let _ = ts_recv_ns;
    }

    /// A packet that was received at this time is at hand; its events may follow.
    #[inline(always)]
    fn arrived(&mut self, ts_recv_ns: u64) {
        let _ = ts_recv_ns;
    }

    /// The events from now on are those of these messages.
    #[inline(always)]
    fn of_channel(&mut self, messages: &ChannelMessages) {
        let _ = messages;
    }

    /// A part of the source is unreadable. The report lists it in any case.
    fn damage(&mut self, damage: Damage) {
        let _ = damage;
    }

    /// Messages of a live session are missing, or came after all.
    fn session(&mut self, change: &SessionChange) {
        let _ = change;
    }

    /// Some books are in doubt from the next event on, or are not any more.
    fn doubt(&mut self, doubt: Doubt) {
        let _ = doubt;
    }

    /// An event that was missing while later ones were applied: a trade, or one about no order. The
    /// books have those later ones.
    fn missed(
        &mut self,
        engine: &BookEngine<B>,
        at: Position,
        event: &MarketEvent,
    ) -> ControlFlow<()> {
        let _ = (engine, at, event);
        ControlFlow::Continue(())
    }

    /// Called for each stock of a snapshot or of the books, after the books that differ from the
    /// snapshot lost their orders, and before the first of them gets those of the snapshot.
    fn restoring(&mut self, engine: &BookEngine<B>, stock: &RestoredStock<'_>) {
        let _ = (engine, stock);
    }

    /// Called for each of these stocks, after its book is that of the snapshot.
    fn restored(&mut self, engine: &BookEngine<B>, stock: &RestoredStock<'_>) {
        let _ = (engine, stock);
    }

    /// The source was idle for its whole patience. `Break` ends the run.
    fn idle(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// For runs that only need the books.
impl<B> Observer<B> for () {}

/// The state of a day: the books and the stock directory.
#[derive(Debug)]
pub struct BookEngine<B> {
    books: B,
    directory: StockDirectory,
    day_begins_ns: u64,
    has_orders: bool,
    /// The first ns of the day that is not wanted.
    end_ns: u64,
    /// How far times are out of order, at most.
    skew_ns: u64,
    has_left_out: bool,
    parts: Parts,
    /// References that two stocks have had at the same time, of messages that state no stock.
    contested: BTreeSet<OrderReferenceNumber>,
    /// While messages are applied ahead of missing ones.
    behind: Option<Box<Behind>>,
}

impl<B> BookEngine<B> {
    /// The state at the start of a day, with empty books.
    pub fn new(books: B) -> Self {
        Self {
            books,
            directory: StockDirectory::default(),
            day_begins_ns: 0,
            has_orders: true,
            end_ns: u64::MAX,
            skew_ns: 0,
            has_left_out: false,
            parts: Parts::default(),
            contested: BTreeSet::new(),
            behind: None,
        }
    }

    /// Events from this time of day on, in ns since midnight, are not wanted. If the times of the
    /// venue are out of order by `skew_ns`, those in the first `skew_ns` from there are left out,
    /// since wanted ones follow. The observer gets the others, and ends the reading.
    #[must_use]
    pub fn ending(self, end_ns: u64, skew_ns: u64) -> Self {
        Self { end_ns, skew_ns, ..self }
    }

    /// Whether an event was left out because it is after the end.
    pub fn has_left_out(&self) -> bool {
        self.has_left_out
    }

    /// The books.
    #[inline]
    pub fn books(&self) -> &B {
        &self.books
    }

    /// The time of day of an event, in ns since midnight. An earlier time is midnight.
    #[inline]
    pub fn time_of_day_ns(&self, time: EventTime) -> u64 {
        time.get().saturating_sub(self.day_begins_ns)
    }

    /// Whether the books have orders. The exchange may show price levels only: then a level counts
    /// as one order, which means nothing.
    #[inline]
    pub fn has_orders(&self) -> bool {
        self.has_orders
    }

    /// Symbols by stock locate.
    #[inline]
    pub fn directory(&self) -> &StockDirectory {
        &self.directory
    }
}

impl<L: PriceLevels, S: OrderStore> BookEngine<Books<L, S>> {
    /// Applies a whole day, or until the observer breaks. Calls `progress` about once a megabyte.
    pub fn run<E: EventSource>(
        &mut self,
        source: &mut E,
        observer: &mut impl Observer<Books<L, S>>,
        progress: impl FnMut(&E),
    ) -> Result<RunReport<E::Summary>, E::Error> {
        let mut run = EngineHandler { engine: self, observer, damage: DamageLog::default() };
        let summary = source.read(&mut run, progress)?;
        Ok(RunReport { summary, damage: run.damage })
    }

    /// A handler that applies single events without knowledge of later ones, as from a live feed.
    #[inline(always)]
    pub fn live<'a, O: Observer<Books<L, S>>>(
        &'a mut self,
        observer: &'a mut O,
    ) -> EngineHandler<'a, Books<L, S>, O> {
        EngineHandler { engine: self, observer, damage: () }
    }

    /// Applies an event and calls the observer. `log` receives a record that is found inside the
    /// message.
    #[inline(always)]
    fn observed<F: Origin, O: Observer<Books<L, S>>>(
        &mut self,
        at: Position,
        event: &MarketEvent,
        observer: &mut O,
        origin: F,
        log: Option<&mut DamageLog>,
    ) -> ControlFlow<()> {
        if F::HAS_EVERY_KIND {
            return self.observed_of_every_kind(at, event, observer, origin, log);
        }
        self.observed_as_it_is(at, event, observer, origin, log)
    }

    /// The same for an event with its stock, of which nothing else follows.
    #[inline(always)]
    fn observed_as_it_is<F: Origin, O: Observer<Books<L, S>>>(
        &mut self,
        at: Position,
        event: &MarketEvent,
        observer: &mut O,
        origin: F,
        log: Option<&mut DamageLog>,
    ) -> ControlFlow<()> {
        observer.admit(at, event)?;
        observer.before(self, at, event);
        let outcome = if F::HAS_EVERY_KIND {
            let outcome = self.apply(event, origin, Watching::<_, _, _, true>::new(observer));
            self.outcome_of_all_parts(event, outcome)
        } else {
            self.apply(event, origin, Watching::<_, _, _, false>::new(observer))
        };
        if O::FINDS_HIDDEN_RECORDS
            && let Some(log) = log
            && outcome.is_some_and(|outcome| outcome.anomaly.is_some())
            && let Some(damage) =
                origin.hidden_record(|locate| self.directory.symbol(locate).is_some())
        {
            log.record(damage);
            observer.damage(damage);
        }
        observer.after(self, at, event, outcome)?;
        if O::READS_BYTES {
            observer.bytes(self, at, origin.bytes(), outcome);
        }
        ControlFlow::Continue(())
    }

    /// The same for an event of no message, or of one that is rare: one copy of the code, outside
    /// of the loops over messages.
    #[cold]
    #[inline(never)]
    fn observed_alone(
        &mut self,
        at: Position,
        event: &MarketEvent,
        observer: &mut impl Observer<Books<L, S>>,
    ) -> ControlFlow<()> {
        self.observed(at, event, observer, NoOrigin, None)
    }

    /// Applies an event to the directory and the books; `watcher` receives the changed orders.
    #[inline(always)]
    fn apply<F: Origin>(
        &mut self,
        event: &MarketEvent,
        _: F,
        watcher: impl OrderWatcher,
    ) -> Option<Outcome> {
        self.directory.learn(event);
        match event.book_event() {
            Some(book_event) => Some(self.books.apply_watched(book_event, watcher)),
            None if matches!(event.what, What::UnknownSide) => {
                Some(self.refuse(event.stock_locate))
            }
            None if F::HAS_EVERY_KIND => self.apply_other(event, watcher),
            None => None,
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, stock_locate: StockLocate) -> Outcome {
        let anomaly = Anomaly::UnknownSide;
        self.books.record_anomaly(stock_locate, anomaly);
        Outcome { stock_locate, inside_changed: false, anomaly: Some(anomaly) }
    }
}

/// Adapts an observer to the books: reports changes of single orders.
///
/// Events that can be of every kind have a type of their own. The functions of the books are
/// compiled for each type, and those of ITCH took 5% more instructions with the callers of both
/// (bench: book/hot).
struct Watching<'a, L, S, O, const HAS_EVERY_KIND: bool>(&'a mut O, PhantomData<fn(&Books<L, S>)>);

impl<'a, L, S, O: Observer<Books<L, S>>, const HAS_EVERY_KIND: bool>
    Watching<'a, L, S, O, HAS_EVERY_KIND>
{
    #[inline(always)]
    fn new(observer: &'a mut O) -> Self {
        Self(observer, PhantomData)
    }
}

impl<L, S, O: Observer<Books<L, S>>, const HAS_EVERY_KIND: bool> OrderWatcher
    for Watching<'_, L, S, O, HAS_EVERY_KIND>
{
    #[inline(always)]
    fn entered(&mut self, order: &Order) {
        self.0.order_entered(order);
    }

    #[inline(always)]
    fn reduced(&mut self, order: &Order, shares: u32) {
        self.0.order_reduced(order, shares);
    }
}

/// Where a handler lists damage: a run has a log, single events have none.
pub trait Log {
    /// The log.
    fn log(&mut self) -> Option<&mut DamageLog>;
}

impl Log for () {
    #[inline(always)]
    fn log(&mut self) -> Option<&mut DamageLog> {
        None
    }
}

impl Log for DamageLog {
    #[inline(always)]
    fn log(&mut self) -> Option<&mut DamageLog> {
        Some(self)
    }
}

/// An engine and its observer as a handler of events: of single ones, or of a run with its damage.
#[derive(Debug)]
pub struct EngineHandler<'a, B, O, D = ()> {
    engine: &'a mut BookEngine<B>,
    observer: &'a mut O,
    damage: D,
}

impl<L: PriceLevels, S: OrderStore, O: Observer<Books<L, S>>, D: Log> EventHandler
    for EngineHandler<'_, Books<L, S>, O, D>
{
    type Hint = PrefetchHint;

    #[inline(always)]
    fn event(&mut self, at: Position, event: &MarketEvent, origin: impl Origin) -> ControlFlow<()> {
        self.engine.observed(at, event, self.observer, origin, self.damage.log())
    }

    fn venue(&mut self, venue: &'static Venue) {
        self.engine.has_orders = venue.detail == BookDetail::Orders;
        self.engine.skew_ns = venue.skew_ns;
        self.engine.books.set_price_scale(venue.price_scale);
        self.observer.venue(venue);
    }

    fn day_begins(&mut self, unix_ns: u64) {
        self.engine.day_begins_ns = unix_ns;
        self.observer.day_begins(unix_ns);
    }

    #[inline(always)]
    fn day_begins_ns(&self) -> u64 {
        self.engine.day_begins_ns
    }

    fn name(&mut self, stock_locate: StockLocate, symbol: Symbol) {
        self.engine.directory.name(stock_locate, symbol);
    }

    #[inline(always)]
    fn received(&mut self, ts_recv_ns: u64) {
        self.observer.received(ts_recv_ns);
    }

    #[inline(always)]
    fn arrived(&mut self, ts_recv_ns: u64) {
        self.observer.arrived(ts_recv_ns);
    }

    #[inline(always)]
    fn of_channel(&mut self, messages: &ChannelMessages) {
        self.observer.of_channel(messages);
    }

    fn damage(&mut self, damage: Damage) {
        if let Some(log) = self.damage.log() {
            log.record(damage);
        }
        self.observer.damage(damage);
    }

    fn session(&mut self, change: &SessionChange) {
        self.observer.session(change);
    }

    fn doubt(&mut self, doubt: Doubt) {
        self.observer.doubt(doubt);
    }

    fn restore(&mut self, snapshot: &MarketSnapshot) {
        self.engine.restore(snapshot, Wanted::of(snapshot), true, self.observer);
    }

    fn out_of_turn(&mut self, at: Position, event: &MarketEvent, turn: Turn) -> ControlFlow<()> {
        self.engine.out_of_turn(at, event, turn, self.observer)
    }

    fn restore_behind(&mut self, snapshot: &MarketSnapshot) {
        self.engine.restore_behind(snapshot);
    }

    fn caught_up(&mut self, next: u64, is_whole: bool) {
        self.engine.caught_up(next, is_whole, self.observer);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.observer.idle()
    }

    #[inline(always)]
    fn prefetch_stock(&mut self, stock_locate: StockLocate) {
        self.engine.books.prefetch_stock(stock_locate);
    }

    #[inline(always)]
    fn prefetch_known(&mut self, reference: OrderReferenceNumber) {
        self.engine.books.prefetch_known(reference);
    }

    #[inline(always)]
    fn prefetch_side_of(&mut self, reference: OrderReferenceNumber) {
        self.engine.books.prefetch_side_of(reference);
    }

    #[inline(always)]
    fn prefetch_index(&mut self, coming: Coming) -> Option<PrefetchHint> {
        Some(self.engine.books.prefetch_index(coming))
    }

    #[inline(always)]
    fn prefetch_order(&mut self, hint: &mut PrefetchHint) {
        self.engine.books.prefetch_orders(hint);
    }

    #[inline(always)]
    fn prefetch_levels(&mut self, hint: &PrefetchHint) {
        self.engine.books.prefetch_levels(hint);
    }
}
