//! Reads one input on a thread, and sends the changes of its insides and its silences.
//!
//! Protocol: changes have times of the exchange, and are sent in batches, in their order. The
//! insides at the beginning of a span come first. A silence is found at the event after it, or at
//! the end of the input: then only the merge knows whether other inputs go on for as long.
//! Bounds: a full channel stops the reading.

use std::{
    ops::ControlFlow,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::JoinHandle,
};

use nanotape_book::{DefaultBooks, Inside, Outcome, Quote};
use nanotape_engine::{BookEngine, Observer, RestoredStock};
use nanotape_market::{MarketEvent, Position};
use nanotape_types::{PriceScale, StockLocate, Symbol};

use crate::{InputError, Opening, Session, SymbolFilter};

/// Changes that are sent together, and batches that wait.
const BATCH: usize = 1024;
const BATCHES: usize = 8;

/// What changed at a venue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VenueChange {
    /// The inside of a stock; before the span, if it counts for no row.
    Inside {
        /// The stock.
        symbol: Symbol,
        /// Its best prices.
        inside: Inside,
        /// Whether it is that of the beginning of the span.
        is_before: bool,
    },
    /// Nothing came for longer than the time after which a venue is stale.
    Stale {
        /// The time of its last event.
        since_ns: u64,
    },
    /// The first event after a silence.
    Back,
    /// The last event of the input, or the end of the span.
    End,
    /// The input has ended, and would be stale at this time if others go on.
    StaleAfterEnd {
        /// The time of its last event.
        since_ns: u64,
    },
}

/// A change, and its time in ns since the midnight of its input.
pub(super) type Timed = (u64, VenueChange);

/// An input that a thread reads.
#[derive(Debug)]
pub struct VenueInput {
    pub(super) changes: Receiver<Vec<Timed>>,
    thread: JoinHandle<Result<(Session, SymbolFilter, u64), InputError>>,
}

impl VenueInput {
    /// Begins to read the stocks of an open input; all of them if there are no symbols.
    pub fn read(opening: Opening, symbols: &[Symbol], stale_after_ns: u64) -> Self {
        let (sender, changes) = sync_channel(BATCHES);
        let filter = SymbolFilter::new(symbols);
        let (from_ns, to_ns) = opening.bounds;
        let thread = std::thread::spawn(move || {
            let mut watch = VenueWatch {
                output: Batches { sender, batch: Vec::with_capacity(BATCH), is_over: false },
                filter,
                stale_after_ns,
                day_begins_ns: 0,
                last_ns: None,
                before_ns: None,
                has_begun: from_ns == 0,
                is_stale: false,
                changed: Vec::new(),
                unnamed: 0,
            };
            let session = opening.run(&mut watch, |_| ())?;
            watch.finish(&session, to_ns);
            Ok((session, watch.filter, watch.unnamed))
        });
        Self { changes, thread }
    }

    /// The books at the end, the selected stocks, and how many changes were of stocks without a
    /// symbol. Call it after the last change, or to end the reading.
    pub(super) fn finish(self) -> Result<(Session, SymbolFilter, u64), InputError> {
        let Self { changes, thread } = self;
        drop(changes);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Sends batches.
struct Batches {
    sender: SyncSender<Vec<Timed>>,
    batch: Vec<Timed>,
    /// Whether the receiver is gone.
    is_over: bool,
}

impl Batches {
    #[inline]
    fn send(&mut self, ts_ns: u64, change: VenueChange) {
        self.batch.push((ts_ns, change));
        if self.batch.len() == BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        self.is_over |= self.sender.send(batch).is_err();
    }
}

/// Watches the books of an input.
struct VenueWatch {
    output: Batches,
    filter: SymbolFilter,
    stale_after_ns: u64,
    day_begins_ns: u64,
    /// The time of the last event, and that of the event before it.
    last_ns: Option<u64>,
    before_ns: Option<u64>,
    /// Whether the span has begun.
    has_begun: bool,
    is_stale: bool,
    /// Stocks whose inside was changed by the parts of the current message.
    changed: Vec<StockLocate>,
    /// Changes of stocks without a symbol.
    unnamed: u64,
}

/// The inside of a stock with prices of [`PriceScale::WIDE`]; one between two steps is that of the
/// lower step.
fn inside_in_wide(engine: &BookEngine<DefaultBooks>, locate: StockLocate) -> Inside {
    let book = engine.books().book(locate);
    let scale = book.price_scale();
    let inside = book.inside();
    if scale == PriceScale::WIDE {
        return inside;
    }
    let quote = |quote: Quote| {
        let units = scale.ten_thousandths(quote.price);
        let price = PriceScale::WIDE.of_ten_thousandths(units);
        let price = price.or_else(|| PriceScale::WIDE.of_ten_thousandths(units / 10 * 10))?;
        Some(Quote { price, ..quote })
    };
    Inside { bid: inside.bid.and_then(quote), offer: inside.offer.and_then(quote) }
}

impl VenueWatch {
    /// Sends the insides of all stocks at the beginning of the span.
    fn begin_with(&mut self, engine: &BookEngine<DefaultBooks>) {
        self.has_begun = true;
        for (locate, symbol) in engine.directory().iter() {
            let inside = inside_in_wide(engine, locate);
            if inside != Inside::default() && self.filter.accepts(locate, engine.directory()) {
                self.output.send(0, VenueChange::Inside { symbol, inside, is_before: true });
            }
        }
    }

    #[inline]
    fn inside_of(&mut self, engine: &BookEngine<DefaultBooks>, locate: StockLocate) {
        if !self.filter.accepts(locate, engine.directory()) {
            return;
        }
        let Some(symbol) = engine.directory().symbol(locate) else {
            self.unnamed += 1;
            return;
        };
        let inside = inside_in_wide(engine, locate);
        let change = VenueChange::Inside { symbol, inside, is_before: false };
        self.output.send(self.last_ns.unwrap_or(0), change);
    }

    /// The time at which a venue becomes stale after an event.
    fn stale_at(&self, ts_ns: u64) -> u64 {
        ts_ns.saturating_add(self.stale_after_ns)
    }

    /// Sends the end of the input.
    fn finish(&mut self, session: &Session, to_ns: u64) {
        if !self.has_begun {
            self.begin_with(&session.engine);
        }
        if let Some(since_ns) = self.last_ns {
            let stale_ns = self.stale_at(since_ns);
            if !session.has_passed_the_span() {
                self.output.send(since_ns, VenueChange::End);
                self.output.send(stale_ns, VenueChange::StaleAfterEnd { since_ns });
            } else if stale_ns < to_ns {
                self.output.send(stale_ns, VenueChange::Stale { since_ns });
            }
        }
        if session.has_passed_the_span() {
            // Inputs that ended before are stale up to the end of the span.
            self.output.send(to_ns.saturating_sub(1), VenueChange::End);
        }
        self.output.flush();
    }
}

impl Observer<DefaultBooks> for VenueWatch {
    fn begin(&mut self, engine: &BookEngine<DefaultBooks>, _: u64) {
        self.begin_with(engine);
    }

    fn day_begins(&mut self, unix_ns: u64) {
        self.day_begins_ns = unix_ns;
    }

    #[inline]
    fn admit(&mut self, _: Position, event: &MarketEvent) -> ControlFlow<()> {
        if let Some(time) = event.time {
            let ts_ns = time.get().saturating_sub(self.day_begins_ns);
            self.before_ns = self.last_ns;
            self.last_ns = self.last_ns.max(Some(ts_ns));
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn before(&mut self, _: &BookEngine<DefaultBooks>, _: Position, event: &MarketEvent) {
        let Some((before_ns, last_ns)) = self.before_ns.zip(self.last_ns) else { return };
        if last_ns - before_ns > self.stale_after_ns && event.time.is_some() {
            self.before_ns = self.last_ns;
            self.is_stale = true;
            self.output.send(self.stale_at(before_ns), VenueChange::Stale { since_ns: before_ns });
        }
    }

    #[inline]
    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        _: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        if let Some(Outcome { stock_locate, inside_changed: true, .. }) = outcome
            && !self.changed.contains(&stock_locate)
        {
            self.changed.push(stock_locate);
        }
        // Between the parts of a change the book may look crossed.
        if !event.is_last {
            return ControlFlow::Continue(());
        }
        while let Some(locate) = self.changed.pop() {
            self.inside_of(engine, locate);
        }
        // The quote of this event counts with its return: one row for both.
        if std::mem::take(&mut self.is_stale) {
            self.output.send(self.last_ns.unwrap_or(0), VenueChange::Back);
        }
        if self.output.is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn restored(&mut self, engine: &BookEngine<DefaultBooks>, stock: &RestoredStock<'_>) {
        if self.has_begun && stock.is_replaced {
            self.inside_of(engine, stock.stock_locate);
        }
    }
}
