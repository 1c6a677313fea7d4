//! A span of the exchange's time, and the observer that keeps a reading within it.

use std::{collections::BTreeMap, ops::ControlFlow};

use nanotape_book::{Books, Order, OrderStore, Outcome, PriceLevels};
use nanotape_engine::{BookEngine, Observer};
use nanotape_market::{
    ChannelMessages, Damage, Doubt, MarketEvent, Position, SessionChange, Venue,
};
use nanotape_plant::Moment;
use nanotape_types::StockLocate;

use crate::InputError;

/// Nanoseconds since the UNIX epoch of a moment in an input, if the input has a date.
pub fn unix_ns(moment: Moment, name: &str, midnight_ns: Option<u64>) -> Result<u64, InputError> {
    match (moment, midnight_ns) {
        (Moment::Unix(nanos), _) => Ok(nanos),
        (Moment::Clock(time), Some(midnight_ns)) => Ok(midnight_ns.saturating_add(time.get())),
        (Moment::Clock(_), None) => Err(InputError::NoMidnight { name: name.to_owned(), moment }),
    }
}

/// Nanoseconds since the midnight of an input of a moment in it, if the input has a date.
pub fn day_ns(moment: Moment, name: &str, midnight_ns: Option<u64>) -> Result<u64, InputError> {
    match (moment, midnight_ns) {
        (Moment::Clock(time), _) => Ok(time.get()),
        // A moment before the date is before every message.
        (Moment::Unix(nanos), Some(midnight_ns)) => Ok(nanos.saturating_sub(midnight_ns)),
        (Moment::Unix(_), None) => {
            Err(InputError::NoDateForMoment { name: name.to_owned(), moment })
        }
    }
}

/// The day on which clocks are set back.
const LONGEST_DAY_NS: u64 = 25 * 3_600_000_000_000;

/// A span of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    from: Option<Moment>,
    to: Option<Moment>,
    /// Whether both moments are after their own messages, and not before.
    is_after: bool,
}

impl Span {
    /// From a moment on (inclusive), up to another (exclusive).
    pub fn new(from: Option<Moment>, until: Option<Moment>) -> Self {
        Self { from, to: until, is_after: false }
    }

    /// The bounds of everything.
    pub(crate) const WHOLE: (u64, u64) = (0, u64::MAX);

    /// Up to a moment, including its messages.
    pub fn up_to(at: Option<Moment>) -> Self {
        Self { from: None, to: at, is_after: true }
    }

    /// The messages after one moment, up to another.
    pub fn between(first: Moment, second: Moment) -> Self {
        Self { from: Some(first), to: Some(second), is_after: true }
    }

    /// The first moment at which the books are needed; earlier events are not. It is just before
    /// the beginning of a span, or the end of the span if only the books are needed.
    pub(crate) fn books_from(self, (from, to): (u64, u64)) -> Option<u64> {
        let is_books_only = self.from.is_none() && self.is_after;
        if is_books_only { to.checked_sub(1) } else { from.checked_sub(1) }
    }

    /// The first nanosecond since midnight, and the first one after the span.
    pub fn bounds(self, name: &str, midnight_ns: Option<u64>) -> Result<(u64, u64), InputError> {
        let after = u64::from(self.is_after);
        let nanos = |moment: Option<Moment>, otherwise| match moment {
            Some(moment) => {
                day_ns(moment, name, midnight_ns).map(|nanos| nanos.saturating_add(after))
            }
            None => Ok(otherwise),
        };
        let (from, to) = (nanos(self.from, Self::WHOLE.0)?, nanos(self.to, Self::WHOLE.1)?);
        if from > to {
            return Err(InputError::SpanIsReversed { name: name.to_owned() });
        }
        match midnight_ns {
            Some(midnight_ns) if self.is_off_the_day(midnight_ns) => {
                Err(InputError::SpanOfAnotherDay { name: name.to_owned(), midnight_ns })
            }
            _ => Ok((from, to)),
        }
    }

    /// Whether a time of the world shows that another day was meant: the span ends before the day,
    /// begins after it, or the books at a moment after it are requested.
    fn is_off_the_day(self, midnight_ns: u64) -> bool {
        let end_ns = midnight_ns.saturating_add(LONGEST_DAY_NS);
        let is_late = |moment| matches!(moment, Some(Moment::Unix(nanos)) if nanos >= end_ns);
        let ends_early = matches!(self.to, Some(Moment::Unix(nanos)) if nanos < midnight_ns);
        let is_moment = self.from.is_none() && self.is_after;
        ends_early || is_late(self.from) || is_moment && is_late(self.to)
    }
}

/// Shows an observer the events of a span only, and ends the run at its end. Also notes the first
/// message that did not fit the book of each stock. Without `HAS_BOUNDS` it reads no times.
pub(crate) struct Guard<'a, O, const HAS_BOUNDS: bool> {
    observer: &'a mut O,
    /// In ns since midnight.
    bounds: (u64, u64),
    /// The times of events at the bounds.
    from: u64,
    to: u64,
    is_inside: bool,
    /// Whether the observer gets the current event: one of the span.
    is_shown: bool,
    misfits: BTreeMap<StockLocate, Position>,
}

impl<'a, O, const HAS_BOUNDS: bool> Guard<'a, O, HAS_BOUNDS> {
    pub(crate) fn new(observer: &'a mut O, (from, to): (u64, u64)) -> Self {
        let bounds = (from, to);
        let (is_inside, is_shown) = (from == 0, from == 0);
        Self { observer, bounds, from, to, is_inside, is_shown, misfits: BTreeMap::new() }
    }

    pub(crate) fn misfits(self) -> BTreeMap<StockLocate, Position> {
        self.misfits
    }

    #[inline(always)]
    fn is_shown(&self) -> bool {
        !HAS_BOUNDS || self.is_shown
    }

    #[cold]
    #[inline(never)]
    fn misfit(&mut self, locate: StockLocate, at: Position) {
        self.misfits.entry(locate).or_insert(at);
    }
}

impl<L, S, O, const HAS_BOUNDS: bool> Observer<Books<L, S>> for Guard<'_, O, HAS_BOUNDS>
where
    L: PriceLevels,
    S: OrderStore,
    O: Observer<Books<L, S>>,
{
    const FINDS_HIDDEN_RECORDS: bool = O::FINDS_HIDDEN_RECORDS;
    const READS_BYTES: bool = O::READS_BYTES;

    fn venue(&mut self, venue: &'static Venue) {
        self.observer.venue(venue);
    }

    #[inline(always)]
    fn of_channel(&mut self, messages: &ChannelMessages) {
        self.observer.of_channel(messages);
    }

    fn day_begins(&mut self, unix_ns: u64) {
        let of_day = |nanos: u64| unix_ns.saturating_add(nanos);
        (self.from, self.to) = (of_day(self.bounds.0), of_day(self.bounds.1));
        self.observer.day_begins(unix_ns);
    }

    #[inline]
    fn admit(&mut self, at: Position, event: &MarketEvent) -> ControlFlow<()> {
        if HAS_BOUNDS && event.time.is_some_and(|time| time.get() >= self.to) {
            return ControlFlow::Break(());
        }
        self.observer.admit(at, event)
    }

    #[inline]
    fn before(&mut self, engine: &BookEngine<Books<L, S>>, at: Position, event: &MarketEvent) {
        if HAS_BOUNDS {
            let is_early = event.time.is_some_and(|time| time.get() < self.from);
            if !self.is_inside && event.time.is_some() && !is_early {
                self.is_inside = true;
                self.observer.begin(engine, self.bounds.0);
            }
            // Times can be out of order.
            self.is_shown = self.is_inside && (!is_early || self.observer.follows_books());
        }
        if self.is_shown() {
            self.observer.before(engine, at, event);
        }
    }

    #[inline]
    fn after(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        at: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        if let Some(Outcome { stock_locate, anomaly: Some(_), .. }) = outcome {
            self.misfit(stock_locate, at);
        }
        if !self.is_shown() {
            return ControlFlow::Continue(());
        }
        self.observer.after(engine, at, event, outcome)
    }

    fn bytes(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        at: Position,
        bytes: &[u8],
        outcome: Option<Outcome>,
    ) {
        if self.is_shown() {
            self.observer.bytes(engine, at, bytes, outcome);
        }
    }

    #[inline]
    fn order_entered(&mut self, order: &Order) {
        if self.is_shown() {
            self.observer.order_entered(order);
        }
    }

    #[inline]
    fn order_reduced(&mut self, order: &Order, shares: u32) {
        if self.is_shown() {
            self.observer.order_reduced(order, shares);
        }
    }

    #[inline]
    fn received(&mut self, ts_recv_ns: u64) {
        self.observer.received(ts_recv_ns);
    }

    fn damage(&mut self, damage: Damage) {
        self.observer.damage(damage);
    }

    fn session(&mut self, change: &SessionChange) {
        self.observer.session(change);
    }

    fn doubt(&mut self, doubt: Doubt) {
        self.observer.doubt(doubt);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.observer.idle()
    }
}
