//! Events that no message of ITCH makes: changes in several parts, orders without their stock,
//! executions that state what remains, cleared books, modified orders, price levels.
//!
//! Where: the engine, for sources with [`HAS_EVERY_KIND`](nanotape_market::Origin::HAS_EVERY_KIND).
//! Protocol: the parts of a change are applied as they come. Their outcomes report no change of the
//! inside, except the last one, which reports that of all parts together.
//! Bounds: an entry for each stock of which a part is awaited, and one for each reference that two
//! stocks have had at the same time, up to [`MOST_CONTESTED`].

use core::ops::ControlFlow;

use nanotape_book::{
    Anomaly, Books, Inside, Order, OrderStore, OrderWatcher, Outcome, PriceLevels,
};
use nanotape_market::{
    EventTime, Execution, LevelChange, MarketEvent, Modified, Origin, Position, Priority, What,
};
use nanotape_types::{BookEvent, Maybe, OrderReferenceNumber, Shares, StockLocate};

use super::{BookEngine, Observer};
use crate::DamageLog;

/// References that are kept because two stocks have had them at the same time.
const MOST_CONTESTED: usize = 1 << 16;

/// The insides before changes of which a part is awaited.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<(StockLocate, Inside)>);

impl Parts {
    /// A part of a change of a stock is applied next.
    fn begin(&mut self, stock_locate: StockLocate, inside: Inside) {
        if self.0.iter().all(|(open, _)| *open != stock_locate) {
            self.0.push((stock_locate, inside));
        }
    }

    /// The last part was applied; returns the inside before the first.
    fn end(&mut self, stock_locate: StockLocate) -> Option<Inside> {
        let place = self.0.iter().position(|(open, _)| *open == stock_locate)?;
        Some(self.0.swap_remove(place).1)
    }
}

impl<L: PriceLevels, S: OrderStore> BookEngine<Books<L, S>> {
    /// Applies an event of any kind and calls the observer: a function of its own, so that the
    /// loops over messages that have only some kinds stay small.
    #[inline(never)]
    pub(super) fn observed_of_every_kind<F: Origin, O: Observer<Books<L, S>>>(
        &mut self,
        at: Position,
        event: &MarketEvent,
        observer: &mut O,
        origin: F,
        log: Option<&mut DamageLog>,
    ) -> ControlFlow<()> {
        if event.time.is_some_and(|time| self.is_left_out(time)) {
            self.has_left_out = true;
            return ControlFlow::Continue(());
        }
        if let Some(symbol) = event.symbol.get()
            && event.stock_locate.get() != 0
            && self.directory.symbol(event.stock_locate).is_none()
        {
            // A stock can have its first message about an order that was entered before.
            self.directory.name(event.stock_locate, symbol);
        }
        let located;
        let event = if event.stock_locate.get() == 0 {
            located = self.located(event);
            &located
        } else {
            event
        };
        if let What::Execution(execution) = event.what
            && let Some(remaining) = execution.remaining
        {
            return self.executed_with_rest(at, (event, execution, remaining), observer, origin);
        }
        if F::LACKS_STOCKS
            && let What::PriceOutOfRange(Some(reference)) = event.what
            && let Some(live) = self.books.order(reference)
            && live.stock_locate != event.stock_locate
        {
            // It enters under a reference that an order of another stock has, which stays.
            let refused = MarketEvent { what: What::PriceOutOfRange(None), ..*event };
            self.observed_part(at, &refused, observer, origin, log)?;
            return self.contend(at, event, (live.stock_locate, reference), observer);
        }
        let duplicates = self.books.anomalies().of(Anomaly::DuplicateReference);
        self.observed_part(at, event, observer, origin, log)?;
        if F::LACKS_STOCKS {
            if self.books.anomalies().of(Anomaly::DuplicateReference) != duplicates {
                return self.both_in_doubt(at, event, observer);
            }
            if !self.contested.is_empty() {
                return self.again_in_doubt(at, event, observer);
            }
        }
        ControlFlow::Continue(())
    }

    /// An order entered under a reference that two stocks have had at the same time: messages about
    /// either of them can still come.
    #[cold]
    #[inline(never)]
    fn again_in_doubt<O: Observer<Books<L, S>>>(
        &mut self,
        at: Position,
        event: &MarketEvent,
        observer: &mut O,
    ) -> ControlFlow<()> {
        match event.what {
            What::Order(BookEvent::Add { reference, .. })
                if self.contested.contains(&reference) =>
            {
                self.in_doubt(at, event, event.stock_locate, observer)
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// The book of a stock has become doubtful with an event, which was applied.
    fn in_doubt<O: Observer<Books<L, S>>>(
        &mut self,
        at: Position,
        event: &MarketEvent,
        stock_locate: StockLocate,
        observer: &mut O,
    ) -> ControlFlow<()> {
        let anomaly = Anomaly::DuplicateReference;
        self.books.record_anomaly(stock_locate, anomaly);
        let outcome = Outcome { stock_locate, inside_changed: false, anomaly: Some(anomaly) };
        let doubt = MarketEvent { symbol: Maybe::NONE, stock_locate, what: What::Other, ..*event };
        observer.admit(at, &doubt)?;
        observer.before(self, at, &doubt);
        observer.after(self, at, &doubt, Some(outcome))
    }

    /// An order entered under a reference that an order of another stock has: later messages state
    /// no stock, and are about either of them.
    #[cold]
    #[inline(never)]
    fn both_in_doubt<O: Observer<Books<L, S>>>(
        &mut self,
        at: Position,
        event: &MarketEvent,
        observer: &mut O,
    ) -> ControlFlow<()> {
        let (Some(live), Some(reference)) = (self.order_of(event), event.reference()) else {
            return ControlFlow::Continue(());
        };
        if live.stock_locate == event.stock_locate {
            return ControlFlow::Continue(());
        }
        self.contend(at, event, (live.stock_locate, reference), observer)
    }

    /// Later messages about a reference are about the live order of this stock, or about another.
    fn contend<O: Observer<Books<L, S>>>(
        &mut self,
        at: Position,
        event: &MarketEvent,
        (stock_locate, reference): (StockLocate, OrderReferenceNumber),
        observer: &mut O,
    ) -> ControlFlow<()> {
        if self.contested.len() < MOST_CONTESTED {
            self.contested.insert(reference);
        }
        self.in_doubt(at, event, stock_locate, observer)
    }

    /// Whether an event of this time is not wanted, and others that are wanted can follow.
    #[inline]
    fn is_left_out(&self, time: EventTime) -> bool {
        let of_day_ns = self.time_of_day_ns(time);
        of_day_ns >= self.end_ns && of_day_ns - self.end_ns < self.skew_ns
    }

    /// Applies an event that may be a part of a change.
    #[inline]
    fn observed_part<O: Observer<Books<L, S>>>(
        &mut self,
        at: Position,
        event: &MarketEvent,
        observer: &mut O,
        origin: impl Origin,
        log: Option<&mut DamageLog>,
    ) -> ControlFlow<()> {
        if !event.is_last {
            // As outcomes have it: that of the order.
            let of_order = self.order_of(event).map(|order| order.stock_locate);
            let locate = of_order.unwrap_or(event.stock_locate);
            self.parts.begin(locate, self.books.book(locate).inside());
        }
        self.observed_as_it_is(at, event, observer, origin, log)
    }

    /// The outcome of a change as a whole.
    #[inline]
    pub(super) fn outcome_of_all_parts(
        &mut self,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> Option<Outcome> {
        if event.is_last && self.parts.0.is_empty() {
            return outcome;
        }
        let outcome = outcome?;
        if !event.is_last {
            return Some(Outcome { inside_changed: false, ..outcome });
        }
        let Some(before) = self.parts.end(outcome.stock_locate) else { return Some(outcome) };
        let inside_changed = before != self.books.book(outcome.stock_locate).inside();
        Some(Outcome { inside_changed, ..outcome })
    }

    /// An order has `remaining` shares after an execution, whatever it had: it gets those and the
    /// executed ones first.
    #[inline(never)]
    fn executed_with_rest<O: Observer<Books<L, S>>>(
        &mut self,
        at: Position,
        (event, execution, remaining): (&MarketEvent, Execution, Shares),
        observer: &mut O,
        origin: impl Origin,
    ) -> ControlFlow<()> {
        let Execution { reference, shares, .. } = execution;
        let plain = Execution { remaining: None, ..execution };
        let plain = MarketEvent { what: What::Execution(plain), ..*event };
        let before = shares.get().saturating_add(remaining.get());
        match self.books.order(reference) {
            Some(order) if order.shares.get() != before => {
                let modified = Modified {
                    reference,
                    side: None,
                    shares: Shares::new(before),
                    price: order.price,
                    priority: Priority::Kept,
                };
                // No shares were executed: nothing follows.
                let is_whole = shares.get() == 0;
                let is_last = event.is_last && is_whole;
                let what = What::OrderModified(modified);
                let modified = MarketEvent { is_last, what, ..*event };
                self.observed_part(at, &modified, observer, origin, None)?;
                if is_whole {
                    return ControlFlow::Continue(());
                }
            }
            _ => {}
        }
        self.observed_part(at, &plain, observer, origin, None)
    }

    /// The event with the stock of its order, if it states none.
    #[inline]
    fn located(&self, event: &MarketEvent) -> MarketEvent {
        let mut event = *event;
        let Some(order) = self.order_of(&event) else { return event };
        event.stock_locate = order.stock_locate;
        if let What::Order(
            BookEvent::Cancel { stock_locate, .. }
            | BookEvent::Delete { stock_locate, .. }
            | BookEvent::Execute { stock_locate, .. }
            | BookEvent::Replace { stock_locate, .. },
        ) = &mut event.what
        {
            *stock_locate = order.stock_locate;
        }
        event
    }

    /// The order that an event is about.
    #[inline]
    fn order_of(&self, event: &MarketEvent) -> Option<Order> {
        let reference = match event.what {
            What::OrderModified(modified) => modified.reference,
            What::PriceOutOfRange(reference) => reference?,
            _ => event.reference()?,
        };
        self.books.order(reference)
    }

    /// Applies an event that no message of ITCH makes. Of a clear the observer gets the outcome,
    /// and no single orders.
    #[inline]
    pub(super) fn apply_other(
        &mut self,
        event: &MarketEvent,
        watcher: impl OrderWatcher,
    ) -> Option<Outcome> {
        let stock_locate = event.stock_locate;
        let books = &mut self.books;
        Some(match event.what {
            What::BookCleared => books.clear(stock_locate),
            What::OrderModified(change) => books.modify_watched(stock_locate, change, watcher),
            What::PriceOutOfRange(reference) => {
                books.price_out_of_range(stock_locate, reference, watcher)
            }
            What::Level(LevelChange { side, price, shares, is_only }) => {
                self.has_orders = false;
                if is_only {
                    books.set_only_level(stock_locate, side, price, shares)
                } else {
                    books.set_level(stock_locate, side, price, shares)
                }
            }
            _ => return None,
        })
    }
}
