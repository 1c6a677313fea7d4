//! One thread that decodes, applies and tells: the critical path of the whole system.
//!
//! Cost: nothing here allocates, locks or calls the kernel per message; a test counts.

use core::{marker::PhantomData, ops::ControlFlow};

use nanotape_book::{Anomaly, Books, Order, OrderStore, OrderWatcher, Outcome, PriceLevels, Trail};
use nanotape_feed::{
    Damage, DayHandler, DaySource, LookAhead, Position, SourceError, StockDirectory, UnknownSide,
    book_event, read_day_ahead,
};
use nanotape_types::{BookEvent, Coming, StockLocate};
use nanotape_wire::itch50::{Message, coming};

use crate::{DamageLog, DayReport};

const NANOS_A_DAY: u64 = 86_400_000_000_000;

/// Books of any structures: what a plant keeps up to date.
pub trait BookKeeper {
    /// Applies one event, telling `watcher` what it did to single orders.
    fn apply(&mut self, event: BookEvent, watcher: &mut impl OrderWatcher) -> Outcome;

    /// [`Books::foresee`].
    fn foresee(&self, coming: Coming) -> Trail;

    /// [`Books::touch_orders`].
    fn touch_orders(&self, trail: &mut Trail);

    /// [`Books::touch_levels`].
    fn touch_levels(&self, trail: &Trail);

    /// [`Books::touch_stock`].
    fn touch_stock(&self, stock_locate: StockLocate);

    /// Counts something wrong that could not become an event.
    fn record_anomaly(&mut self, stock_locate: StockLocate, anomaly: Anomaly);
}

impl<L: PriceLevels, S: OrderStore> BookKeeper for Books<L, S> {
    #[inline(always)]
    fn apply(&mut self, event: BookEvent, watcher: &mut impl OrderWatcher) -> Outcome {
        Books::apply_watched(self, event, watcher)
    }

    #[inline(always)]
    fn foresee(&self, coming: Coming) -> Trail {
        Books::foresee(self, coming)
    }

    #[inline(always)]
    fn touch_orders(&self, trail: &mut Trail) {
        Books::touch_orders(self, trail);
    }

    #[inline(always)]
    fn touch_levels(&self, trail: &Trail) {
        Books::touch_levels(self, trail);
    }

    #[inline(always)]
    fn touch_stock(&self, stock_locate: StockLocate) {
        Books::touch_stock(self, stock_locate);
    }

    fn record_anomaly(&mut self, stock_locate: StockLocate, anomaly: Anomaly) {
        Books::record_anomaly(self, stock_locate, anomaly);
    }
}

/// What a message did to a book: nothing for the types that are not about orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Applied(pub Option<Outcome>);

impl Applied {
    /// Whether it changed the price or size of a best bid or offer.
    #[inline]
    pub fn inside_changed(self) -> bool {
        self.0.is_some_and(|outcome| outcome.inside_changed)
    }
}

/// Somebody who is told of every message, before and after it is applied.
pub trait Observer<B> {
    /// Whether a message that does not fit its book is searched for a record that it hides. It takes 16
    /// instructions a message to know that it fits; an observer that leaves this out counts the anomaly.
    const LOOKS_INSIDE: bool = false;

    /// Before it is applied: for those who need the book as it was.
    #[inline]
    fn before(&mut self, plant: &Plant<B>, position: Position, message: &Message<'_>) {
        let _ = (plant, position, message);
    }

    /// After it was applied. `Break` ends the run.
    fn after(
        &mut self,
        plant: &Plant<B>,
        position: Position,
        message: &Message<'_>,
        applied: Applied,
    ) -> ControlFlow<()>;

    /// While it is applied: an order was entered.
    #[inline]
    fn order_entered(&mut self, order: &Order) {
        let _ = order;
    }

    /// While it is applied: `shares` of an order, shown as it was before, were taken off.
    #[inline]
    fn order_reduced(&mut self, order: &Order, shares: u32) {
        let _ = (order, shares);
    }

    /// Whether the message is to be applied at all. `Break` ends the run before it.
    #[inline]
    fn admit(&mut self, message: &Message<'_>) -> ControlFlow<()> {
        let _ = message;
        ControlFlow::Continue(())
    }

    /// Something that did not read as the format says. It is in the report in any case.
    fn damage(&mut self, damage: Damage) {
        let _ = damage;
    }

    /// Nothing came for as long as the source's patience lasts. `Break` ends the run.
    fn idle(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Nobody: for runs that only want the books.
impl<B> Observer<B> for () {
    #[inline]
    fn after(&mut self, _: &Plant<B>, _: Position, _: &Message<'_>, _: Applied) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The state of a day: the books and the stock directory.
#[derive(Debug)]
pub struct Plant<B> {
    books: B,
    directory: StockDirectory,
}

impl<B: BookKeeper> Plant<B> {
    /// At the start of a day, around empty books.
    pub fn new(books: B) -> Self {
        Self { books, directory: StockDirectory::default() }
    }

    /// The books.
    #[inline]
    pub fn books(&self) -> &B {
        &self.books
    }

    /// Symbols by stock locate.
    #[inline]
    pub fn directory(&self) -> &StockDirectory {
        &self.directory
    }

    /// Runs a whole day through, or until the observer has enough. `progress` is called about once
    /// a megabyte.
    pub fn run(
        &mut self,
        source: &mut DaySource,
        observer: &mut impl Observer<B>,
        progress: impl FnMut(&DaySource),
    ) -> Result<DayReport, SourceError> {
        let mut run = Run { plant: self, observer, damage: DamageLog::default() };
        let summary = read_day_ahead(source, &mut run, progress)?;
        Ok(DayReport { summary, damage: run.damage })
    }

    /// Applies one message to the directory and the books, on its own: as a live feed gives them,
    /// with nothing known of the messages that follow.
    #[inline]
    pub fn apply(&mut self, message: &Message<'_>) -> Applied {
        if let Some(stock_locate) = message.stock_locate() {
            self.books.touch_stock(stock_locate);
        }
        self.apply_foreseen(message, &mut ())
    }

    /// The same with an observer, from `admit` to `after`.
    #[inline]
    pub fn apply_observed(
        &mut self,
        position: Position,
        message: &Message<'_>,
        observer: &mut impl Observer<B>,
    ) -> ControlFlow<()> {
        if let Some(stock_locate) = message.stock_locate() {
            self.books.touch_stock(stock_locate);
        }
        self.observed(position, message, observer, None)
    }

    /// Applies a message and tells the observer. `log` takes what is found inside a message that did not fit.
    #[inline(always)]
    fn observed<O: Observer<B>>(
        &mut self,
        position: Position,
        message: &Message<'_>,
        observer: &mut O,
        log: Option<&mut DamageLog>,
    ) -> ControlFlow<()> {
        observer.admit(message)?;
        observer.before(self, position, message);
        let applied = self.apply_foreseen(message, &mut Watching(observer, PhantomData));
        if O::LOOKS_INSIDE
            && let Some(log) = log
            && applied.0.is_some_and(|outcome| outcome.anomaly.is_some())
        {
            self.look_inside(position, message, observer, log);
        }
        observer.after(self, position, message, applied)
    }

    /// A message did not fit its book: it may lack bytes, and have a whole record in their place.
    #[cold]
    #[inline(never)]
    fn look_inside<O: Observer<B>>(
        &self,
        position: Position,
        message: &Message<'_>,
        observer: &mut O,
        log: &mut DamageLog,
    ) {
        let Some((damage, inner)) = Damage::hidden_in(message.as_bytes(), position.offset) else {
            return;
        };
        let is_of_a_known_stock =
            inner.stock_locate().is_some_and(|locate| self.directory.symbol(locate).is_some());
        let is_of_a_day = inner.timestamp().is_some_and(|time| time.get() < NANOS_A_DAY);
        if is_of_a_known_stock && is_of_a_day {
            log.record(damage);
            observer.damage(damage);
        }
    }

    /// The same where what it needs has been loaded ahead.
    #[inline(always)]
    fn apply_foreseen(
        &mut self,
        message: &Message<'_>,
        watcher: &mut impl OrderWatcher,
    ) -> Applied {
        self.directory.learn(message);
        match book_event(message) {
            Ok(Some(event)) => Applied(Some(self.books.apply(event, watcher))),
            Ok(None) => Applied(None),
            Err(unusable) => self.refuse(unusable),
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, unusable: UnknownSide) -> Applied {
        let (stock_locate, anomaly) = (unusable.stock_locate, Anomaly::UnknownSide);
        self.books.record_anomaly(stock_locate, anomaly);
        let inside_changed = false;
        Applied(Some(Outcome { stock_locate, inside_changed, anomaly: Some(anomaly) }))
    }
}

/// An observer as the books know it: for what happens to single orders.
struct Watching<'a, B, O>(&'a mut O, PhantomData<fn(&B)>);

impl<B, O: Observer<B>> OrderWatcher for Watching<'_, B, O> {
    #[inline(always)]
    fn entered(&mut self, order: &Order) {
        self.0.order_entered(order);
    }

    #[inline(always)]
    fn reduced(&mut self, order: &Order, shares: u32) {
        self.0.order_reduced(order, shares);
    }
}

/// A plant and its observer for the length of a run, and what was damaged in it.
struct Run<'a, B, O> {
    plant: &'a mut Plant<B>,
    observer: &'a mut O,
    damage: DamageLog,
}

impl<B: BookKeeper, O: Observer<B>> DayHandler for Run<'_, B, O> {
    #[inline(always)]
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        self.plant.observed(position, &message, self.observer, Some(&mut self.damage))
    }

    fn damage(&mut self, damage: Damage) {
        self.damage.record(damage);
        self.observer.damage(damage);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.observer.idle()
    }
}

impl<B: BookKeeper, O: Observer<B>> LookAhead for Run<'_, B, O> {
    type Trail = Option<Trail>;

    #[inline(always)]
    fn foresee(&mut self, message: &[u8]) -> Option<Trail> {
        coming(message).map(|coming| self.plant.books.foresee(coming))
    }

    #[inline(always)]
    fn approach(&mut self, trail: &mut Option<Trail>) {
        if let Some(trail) = trail {
            self.plant.books.touch_orders(trail);
        }
    }

    #[inline(always)]
    fn arrive(&mut self, trail: &Option<Trail>) {
        if let Some(trail) = trail {
            self.plant.books.touch_levels(trail);
        }
    }
}
