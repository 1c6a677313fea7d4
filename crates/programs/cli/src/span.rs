//! `--from`, `--until` and `--at`: a span of the exchange's time, and the observer that keeps a
//! command within it.

use std::{collections::BTreeMap, ops::ControlFlow};

use anyhow::bail;
use clap::Args;
use nanotape_book::{Books, Order, OrderStore, Outcome, PriceLevels};
use nanotape_engine::{BookEngine, Observer};
use nanotape_market::{Damage, MarketEvent, Position};
pub(crate) use nanotape_plant::Moment;
use nanotape_types::StockLocate;

/// A moment in an input, which may have no date.
pub(crate) trait MomentOf: Sized {
    /// Nanoseconds since the UNIX epoch, if the input has a date.
    fn at(self, name: &str, midnight_ns: Option<u64>) -> anyhow::Result<u64>;

    /// Nanoseconds since the midnight of an input, if the input has a date.
    fn since(self, name: &str, midnight_ns: Option<u64>) -> anyhow::Result<u64>;
}

impl MomentOf for Moment {
    fn at(self, name: &str, midnight_ns: Option<u64>) -> anyhow::Result<u64> {
        match (self, midnight_ns) {
            (Self::Unix(nanos), _) => Ok(nanos),
            (Self::Clock(time), Some(midnight_ns)) => Ok(midnight_ns.saturating_add(time.get())),
            (Self::Clock(_), None) => {
                bail!(
                    "{name}: no run with a trade date; give {self} as @ and nanoseconds since 1970"
                )
            }
        }
    }

    fn since(self, name: &str, midnight_ns: Option<u64>) -> anyhow::Result<u64> {
        match (self, midnight_ns) {
            (Self::Clock(time), _) => Ok(time.get()),
            // A moment before the date is before every message.
            (Self::Unix(nanos), Some(midnight_ns)) => Ok(nanos.saturating_sub(midnight_ns)),
            (Self::Unix(_), None) => {
                bail!("{name}: has no date; give {self} as a time of day (HH:MM:SS.nnnnnnnnn)")
            }
        }
    }
}

/// `--from` and `--until`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct SpanArguments {
    /// Only from this moment on (inclusive): a time of day (HH:MM[:SS[.nnnnnnnnn]],
    /// exchange-local), an RFC 3339 time, or @ and nanoseconds since 1970
    #[arg(long, value_name = "T")]
    from: Option<Moment>,

    /// Only before this moment (exclusive); reading stops there
    #[arg(long, value_name = "T", alias = "to")]
    until: Option<Moment>,
}

impl SpanArguments {
    /// The moments as they were given.
    pub(crate) fn moments(self) -> (Option<Moment>, Option<Moment>) {
        (self.from, self.until)
    }
}

/// A span of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Span {
    from: Option<Moment>,
    to: Option<Moment>,
    /// Whether both moments are after their own messages, and not before.
    is_after: bool,
}

impl From<SpanArguments> for Span {
    fn from(SpanArguments { from, until }: SpanArguments) -> Self {
        Self { from, to: until, is_after: false }
    }
}

impl Span {
    /// The bounds of everything.
    pub(super) const WHOLE: (u64, u64) = (0, u64::MAX);

    /// Up to a moment, including its messages.
    pub(crate) fn up_to(at: Option<Moment>) -> Self {
        Self { from: None, to: at, is_after: true }
    }

    /// The messages after one moment, up to another.
    pub(crate) fn between(first: Moment, second: Moment) -> Self {
        Self { from: Some(first), to: Some(second), is_after: true }
    }

    /// The first moment at which the books are needed; earlier events are not. It is just before
    /// the beginning of a span, or the end of the span if only the books are needed.
    pub(super) fn books_from(self, (from, to): (u64, u64)) -> Option<u64> {
        let is_books_only = self.from.is_none() && self.is_after;
        if is_books_only { to.checked_sub(1) } else { from.checked_sub(1) }
    }

    /// The first nanosecond since midnight, and the first one after the span.
    pub(super) fn bounds(self, name: &str, midnight_ns: Option<u64>) -> anyhow::Result<(u64, u64)> {
        let nanos = |moment: Option<Moment>| {
            let nanos = moment.map(|moment| moment.since(name, midnight_ns)).transpose()?;
            let after = u64::from(self.is_after);
            anyhow::Ok(nanos.map(|nanos| nanos.saturating_add(after)))
        };
        let (from, to) =
            (nanos(self.from)?.unwrap_or(Self::WHOLE.0), nanos(self.to)?.unwrap_or(Self::WHOLE.1));
        if from > to {
            bail!("{name}: the span ends before it begins; give the earlier moment first");
        }
        Ok((from, to))
    }
}

/// Shows an observer the events of a span only, and ends the run at its end. Also notes the first
/// message that did not fit the book of each stock. Without `HAS_BOUNDS` it reads no times.
pub(super) struct Guard<'a, O, const HAS_BOUNDS: bool> {
    observer: &'a mut O,
    from: u64,
    to: u64,
    is_inside: bool,
    misfits: BTreeMap<StockLocate, Position>,
}

impl<'a, O, const HAS_BOUNDS: bool> Guard<'a, O, HAS_BOUNDS> {
    pub(super) fn new(observer: &'a mut O, (from, to): (u64, u64)) -> Self {
        Self { observer, from, to, is_inside: from == 0, misfits: BTreeMap::new() }
    }

    pub(super) fn misfits(self) -> BTreeMap<StockLocate, Position> {
        self.misfits
    }

    #[inline(always)]
    fn is_inside(&self) -> bool {
        !HAS_BOUNDS || self.is_inside
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

    #[inline]
    fn admit(&mut self, at: Position, event: &MarketEvent) -> ControlFlow<()> {
        if HAS_BOUNDS && event.time.is_some_and(|time| time.get() >= self.to) {
            return ControlFlow::Break(());
        }
        self.observer.admit(at, event)
    }

    #[inline]
    fn before(&mut self, engine: &BookEngine<Books<L, S>>, at: Position, event: &MarketEvent) {
        if !self.is_inside() && event.time.is_some_and(|time| time.get() >= self.from) {
            self.is_inside = true;
            self.observer.begin(engine, self.from);
        }
        if self.is_inside() {
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
        if !self.is_inside() {
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
        if self.is_inside() {
            self.observer.bytes(engine, at, bytes, outcome);
        }
    }

    #[inline]
    fn order_entered(&mut self, order: &Order) {
        self.observer.order_entered(order);
    }

    #[inline]
    fn order_reduced(&mut self, order: &Order, shares: u32) {
        self.observer.order_reduced(order, shares);
    }

    fn damage(&mut self, damage: Damage) {
        self.observer.damage(damage);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.observer.idle()
    }
}
