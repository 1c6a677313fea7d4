//! One feed: the records of an INPUT as series of prices and sizes, and the spans in which they
//! are unreliable.

use std::{collections::HashMap, ops::ControlFlow};

use anyhow::bail;
use nanotape_answers::InputKind;
use nanotape_arguments::{
    errors::of_subscription,
    records::{conclude_day, require_read_symbols},
};
use nanotape_clock::Clock;
use nanotape_console::{
    progress::Progress,
    status::{Status, warn},
    values::counted_grouped,
};
use nanotape_delay::{Series, Window};
use nanotape_lab::rng::mix;
use nanotape_plant::{
    Step, dbn,
    records::{Notice, Record, SuspectReason},
};
use nanotape_tap::{Event, SubscribeError, Subscriber};
use nanotape_tape::WriterState;
use nanotape_types::Symbol;

use super::{Attribute, FeedClock};

/// A live feed without records is this far behind the clock at most.
const LIVE_LAG_NS: i64 = 100_000_000;

/// The stocks of both feeds, by symbol.
#[derive(Default)]
pub(super) struct Stocks {
    indices: HashMap<Symbol, usize>,
    symbols: Vec<Symbol>,
    /// Whether the only series is one of all stocks.
    is_pooled: bool,
}

impl Stocks {
    pub(super) fn new(is_pooled: bool) -> Self {
        Self { is_pooled, ..Self::default() }
    }

    pub(super) fn name(&self, stock: usize) -> String {
        let symbol = self.symbols.get(stock).filter(|_| !self.is_pooled);
        symbol.map_or_else(|| "all".to_owned(), ToString::to_string)
    }

    fn index(&mut self, symbol: Symbol) -> usize {
        *self.indices.entry(symbol).or_insert_with(|| {
            self.symbols.push(symbol);
            self.symbols.len() - 1
        })
    }
}

/// Why estimates of a span are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doubt {
    /// Records or input are missing.
    Gap,
    /// A book is unreliable.
    Taint,
}

/// A span whose series are unreliable.
#[derive(Clone, Copy, Debug)]
struct Mark {
    window: Window,
    /// `None`: all stocks.
    stock: Option<usize>,
    doubt: Doubt,
}

/// The series of one stock.
#[derive(Default)]
pub(super) struct StockSeries {
    pub(super) attributes: [Series; Attribute::COUNT],
    /// Whether the stock is in the list of those with changes that were not read.
    is_active: bool,
}

/// What a command wants of its feeds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wants {
    /// The numbers of messages instead of quotes.
    pub(super) numbers: bool,
    /// One series of all stocks.
    pub(super) pools: bool,
    /// A ring is read without waiting for it.
    pub(super) follows: bool,
}

/// An INPUT that is open.
pub(super) struct OpenInput {
    pub(super) kind: InputKind,
    pub(super) has_receive_times: bool,
    pub(super) subscriber: Subscriber,
}

pub(super) struct Feed {
    pub(super) name: String,
    subscriber: Subscriber,
    is_day: bool,
    pub(super) content: Content,
    has_ended: bool,
    /// For a live feed, whose quiet times pass too.
    live: Option<Clock>,
    /// For a day file, which has an end.
    progress: Option<Progress>,
}

/// What was read of a feed.
pub(super) struct Content {
    clock: FeedClock,
    wants: Wants,
    /// The values of all stocks.
    latest: Vec<[Option<i64>; Attribute::COUNT]>,
    pub(super) stocks: Vec<StockSeries>,
    /// Stocks with changes that were not read.
    pub(super) active: Vec<usize>,
    /// By instrument of the current run.
    instruments: Vec<Option<usize>>,
    /// The time of the last record; everything before was read.
    pub(super) read_ns: i64,
    /// The time of the first change.
    pub(super) first_ns: Option<i64>,
    marks: Vec<Mark>,
    /// Since when any book may lack messages.
    suspect_ns: Option<i64>,
    /// Since when the book of a stock is unreliable.
    tainted: Vec<(usize, i64)>,
    /// Since when records are missing that the next one ends.
    lost_ns: Option<i64>,
    pub(super) losses: u64,
    pub(super) changes: u64,
}

impl Feed {
    pub(super) fn new(name: &str, open: OpenInput, clock: FeedClock, wants: Wants) -> Self {
        let is_live = wants.follows && open.kind == InputKind::Ring;
        Self {
            name: name.to_owned(),
            subscriber: open.subscriber,
            is_day: open.kind == InputKind::Day,
            content: Content::new(clock, wants),
            has_ended: false,
            live: is_live.then(Clock::monotonic),
            progress: None,
        }
    }

    /// Shows how far the reading is, if the feed is a day file. A terminal has room for one bar.
    pub(super) fn show_progress(&mut self) {
        let total = self.subscriber.board().map(|board| board.input_bytes().1);
        self.progress = total.filter(|_| self.is_day).map(Progress::with_total);
    }

    /// Whether all of it was read.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The exchange's midnight of the run, if it is known.
    pub(super) fn midnight_ns(&self) -> Option<u64> {
        self.subscriber.midnight_ns()
    }

    /// The time up to which it was read.
    pub(super) fn read_ns(&self) -> i64 {
        if self.has_ended { i64::MAX } else { self.content.read_ns }
    }

    /// Reads some records. A feed that is not live is waited for. `None` after a request to stop,
    /// otherwise whether something was read.
    pub(super) fn read(&mut self, stocks: &mut Stocks) -> anyhow::Result<Option<bool>> {
        let Self { subscriber, content, .. } = self;
        if let Some(clock) = &self.live
            && subscriber.writer() == WriterState::Alive
        {
            let now_ns = i64::try_from(clock.utc_ns()).unwrap_or(i64::MAX);
            let polled = subscriber.poll(|event| content.take(&event, stocks));
            let read = of_read(polled, content)?.unwrap_or(1);
            // Everything that was received some time ago was published. The exchange's time of a
            // replay is not that of this clock.
            if read == 0 && content.clock == FeedClock::Receive {
                content.read_ns = content.read_ns.max(now_ns.saturating_sub(LIVE_LAG_NS));
            }
            return Ok(Some(read > 0));
        }
        let step = subscriber.step(|event| {
            content.take(&event, stocks);
            ControlFlow::Continue(())
        });
        match of_read(step, content)? {
            Some(Step::Shutdown) => return Ok(None),
            Some(Step::Gone(state)) => {
                if state == WriterState::Dead {
                    warn(format_args!("{}: its plant died", self.name));
                }
                self.has_ended = true;
            }
            Some(Step::Complete) => self.has_ended = true,
            Some(Step::Read | Step::Stopped | Step::Idle | Step::Quiet) | None => {}
        }
        if let (Some(progress), Some(board)) = (&self.progress, subscriber.board()) {
            progress.set(board.input_bytes().0);
        }
        Ok(Some(true))
    }

    /// Reports what the input lacks.
    pub(super) fn conclude(&mut self, symbols: &[Symbol]) -> anyhow::Result<Status> {
        self.progress = None;
        let mut status = match self.subscriber.finish_day() {
            Some(ended) => conclude_day(&self.subscriber, ended)?,
            None => Status::Good,
        };
        if self.content.losses > 0 {
            let losses = counted_grouped(self.content.losses, "gap");
            let what = if self.content.wants.numbers {
                "what is missing has no partner"
            } else {
                "the windows around them are left out"
            };
            warn(format_args!("{}: {losses}; {what}", self.name));
            status = Status::Bad;
        }
        if self.has_ended {
            require_read_symbols(symbols, &self.subscriber)?;
        }
        Ok(status)
    }
}

/// The number of a message with its content, but not its times: feeds that number other messages
/// have none in common.
fn identity_of(mbo: &dbn::MboMsg) -> i64 {
    let sides = u64::from(mbo.action as u8) << 8 | u64::from(mbo.side as u8);
    let sizes = u64::from(mbo.size) << 32 | u64::from(mbo.hd.instrument_id);
    let content = [mbo.order_id, mbo.price.cast_unsigned(), sizes, sides];
    content.into_iter().fold(u64::from(mbo.sequence), mix).cast_signed()
}

impl Content {
    fn new(clock: FeedClock, wants: Wants) -> Self {
        Self {
            clock,
            wants,
            latest: Vec::new(),
            stocks: Vec::new(),
            active: Vec::new(),
            instruments: Vec::new(),
            read_ns: i64::MIN,
            first_ns: None,
            marks: Vec::new(),
            suspect_ns: None,
            tainted: Vec::new(),
            lost_ns: None,
            losses: 0,
            changes: 0,
        }
    }

    fn take(&mut self, event: &Event<'_>, stocks: &mut Stocks) {
        let delivery = match event {
            Event::Record(delivery) => delivery,
            Event::Lost(_) | Event::Reported { .. } => return self.lose(),
            Event::Healed(_) => return,
        };
        let header = match &delivery.record {
            Record::Bbo(bbo) if !self.wants.numbers => &bbo.hd,
            Record::Mbo(mbo) if self.wants.numbers => &mbo.hd,
            Record::Notice(notice) => {
                // Of a stock that has no quote yet, too.
                let stock = delivery.symbol.map(|symbol| {
                    let instrument = match notice {
                        Notice::Taint(taint) => taint.instrument_id,
                        Notice::Restored(restored) => restored.instrument_id,
                        _ => 0,
                    };
                    self.stock_of(instrument, symbol, stocks)
                });
                return self.apply_notice(notice, stock);
            }
            _ => return,
        };
        let time = match self.clock {
            FeedClock::Event => header.ts_event,
            FeedClock::Receive => delivery.record.ts_recv().unwrap_or(dbn::UNDEF_TIMESTAMP),
        };
        if time == dbn::UNDEF_TIMESTAMP {
            return;
        }
        let time_ns = i64::try_from(time).unwrap_or(i64::MAX);
        self.read_ns = self.read_ns.max(time_ns);
        self.first_ns.get_or_insert(time_ns);
        if let Some(from_ns) = self.lost_ns.take() {
            self.mark(from_ns, time_ns, None, Doubt::Gap);
        }
        if let Record::Mbo(mbo) = &delivery.record {
            self.push(0, Attribute::Number, time_ns, (identity_of(mbo), 0));
        } else if let Record::Bbo(bbo) = delivery.record
            && let Some(symbol) = delivery.symbol
        {
            let stock = self.stock_of(bbo.hd.instrument_id, symbol, stocks);
            self.quote(stock, time_ns, &bbo.levels[0]);
        }
    }

    fn stock_of(&mut self, instrument: u32, symbol: Symbol, stocks: &mut Stocks) -> usize {
        let place = instrument as usize;
        if let Some(Some(stock)) = self.instruments.get(place) {
            return *stock;
        }
        let stock = stocks.index(symbol);
        // Instruments are stock locates, but a file may have any number.
        if place <= usize::from(u16::MAX) {
            self.instruments.resize(self.instruments.len().max(place + 1), None);
            self.instruments[place] = Some(stock);
        }
        stock
    }

    fn quote(&mut self, stock: usize, time_ns: i64, level: &dbn::BidAskPair) {
        // An empty side has no price; its size is 0.
        let price = |price: i64| (price != dbn::UNDEF_PRICE).then_some(price);
        let (bid, offer) = (price(level.bid_px), price(level.ask_px));
        let values = [
            (Attribute::BidPrice, bid),
            (Attribute::OfferPrice, offer),
            (Attribute::BidSize, Some(i64::from(level.bid_sz))),
            (Attribute::OfferSize, Some(i64::from(level.ask_sz))),
            (Attribute::Mid, bid.zip(offer).map(|(bid, offer)| bid.midpoint(offer))),
        ];
        if stock >= self.latest.len() {
            self.latest.resize(stock + 1, [None; Attribute::COUNT]);
        }
        let latest = &mut self.latest[stock];
        let new = values.map(|(attribute, value)| {
            let value = value.filter(|value| latest[attribute as usize] != Some(*value));
            latest[attribute as usize] = value.or(latest[attribute as usize]);
            (attribute, value)
        });
        // A quote that stands for several of the other feed changes more at once than any of them.
        let mark =
            new.iter().filter(|(attribute, value)| value.is_some() && *attribute != Attribute::Mid);
        let mark = mark.map(|(attribute, _)| 1 << *attribute as u8).sum();
        for (attribute, value) in new {
            let Some(value) = value else { continue };
            if self.wants.pools {
                self.pool(stock, attribute, time_ns, (value, mark));
            } else {
                self.push(stock, attribute, time_ns, (value, mark));
            }
        }
    }

    /// One series has the changes of all stocks: a value there is one of an attribute of a stock.
    fn pool(&mut self, stock: usize, attribute: Attribute, time_ns: i64, (value, mark): (i64, u8)) {
        if self.tainted.iter().all(|(tainted, _)| *tainted != stock) {
            let place = (stock * Attribute::COUNT + attribute as usize) as u64;
            let mixed = mix(value.cast_unsigned(), place).cast_signed();
            self.push(0, Attribute::All, time_ns, (mixed, mark));
        }
    }

    fn push(&mut self, stock: usize, attribute: Attribute, time_ns: i64, (value, mark): (i64, u8)) {
        if stock >= self.stocks.len() {
            self.stocks.resize_with(stock + 1, StockSeries::default);
        }
        let series = &mut self.stocks[stock];
        if !series.attributes[attribute as usize].push_marked(time_ns, value, mark) {
            return;
        }
        self.changes += 1;
        if !series.is_active {
            series.is_active = true;
            self.active.push(stock);
        }
    }

    /// Records are missing between the last one and the next.
    fn lose(&mut self) {
        self.losses += 1;
        self.lost_ns.get_or_insert(self.read_ns);
    }

    /// A notice; `stock`: the one that it is about, if any.
    fn apply_notice(&mut self, notice: &Notice, stock: Option<usize>) {
        let now_ns = self.read_ns;
        match notice {
            Notice::Gap(_) => self.lose(),
            // A gap has a notice of its own, and each book that it changed becomes tainted.
            Notice::Suspect(suspect) if suspect.reason == SuspectReason::Gap => {}
            Notice::Suspect(_) => {
                self.losses += 1;
                self.suspect_ns.get_or_insert(now_ns);
            }
            Notice::Taint(_) => {
                if let Some(stock) = stock
                    && self.tainted.iter().all(|(tainted, _)| *tainted != stock)
                {
                    self.tainted.push((stock, now_ns));
                }
            }
            Notice::Restored(restored) if restored.instrument_id == 0 => {
                if let Some(from_ns) = self.suspect_ns.take() {
                    self.mark(from_ns, now_ns, None, Doubt::Gap);
                }
            }
            Notice::Restored(_) => {
                let place = self.tainted.iter().position(|(tainted, _)| Some(*tainted) == stock);
                if let Some(place) = place {
                    let (stock, from_ns) = self.tainted.swap_remove(place);
                    self.mark(from_ns, now_ns, Some(stock), Doubt::Taint);
                }
            }
            // All books are empty, and instruments have new meanings.
            Notice::Start(_) => {
                self.instruments.clear();
                for (stock, from_ns) in std::mem::take(&mut self.tainted) {
                    self.mark(from_ns, now_ns, Some(stock), Doubt::Taint);
                }
                if let Some(from_ns) = self.suspect_ns.take() {
                    self.mark(from_ns, now_ns, None, Doubt::Gap);
                }
            }
            Notice::Stop(_) | Notice::SessionGap(_) => {}
        }
    }

    fn mark(&mut self, from_ns: i64, to_ns: i64, stock: Option<usize>, doubt: Doubt) {
        let window = Window { from_ns, until_ns: to_ns.saturating_add(1) };
        self.marks.push(Mark { window, stock, doubt });
    }

    /// Why a window of a stock is left out, if it is.
    pub(super) fn doubt(&self, stock: usize, window: Window) -> Option<Doubt> {
        // A number says the same without those that are missing.
        if self.wants.numbers {
            return None;
        }
        let overlaps = |mark: &Mark| {
            mark.window.from_ns < window.until_ns && window.from_ns < mark.window.until_ns
        };
        // The series of all stocks does not have those that are tainted.
        let is_marked = |marked: usize| !self.wants.pools && marked == stock;
        let is_of = |mark: &&Mark| mark.stock.is_none_or(is_marked);
        let closed = self.marks.iter().filter(is_of).find(|mark| overlaps(mark));
        let is_open = |since: Option<i64>| since.is_some_and(|since| since < window.until_ns);
        let tainted = self.tainted.iter().find(|(tainted, _)| is_marked(*tainted));
        if let Some(mark) = closed {
            Some(mark.doubt)
        } else if is_open(self.suspect_ns) || is_open(self.lost_ns) {
            Some(Doubt::Gap)
        } else if is_open(tainted.map(|(_, since)| *since)) {
            Some(Doubt::Taint)
        } else {
            None
        }
    }

    /// Forgets what is before a time, and which stocks have no change after another.
    pub(super) fn forget(&mut self, before_ns: i64, done_ns: i64) {
        self.marks.retain(|mark| mark.window.until_ns > before_ns);
        let Self { stocks, active, .. } = self;
        active.retain(|&stock| {
            let stock = &mut stocks[stock];
            let mut is_active = false;
            for series in &mut stock.attributes {
                series.forget_before(before_ns);
                is_active |= series.changes().times_ns.last().is_some_and(|&last| last >= done_ns);
            }
            stock.is_active = is_active;
            is_active
        });
    }
}

/// What was read; `None` for a record that is invalid, around which others are valid.
fn of_read<T>(read: Result<T, SubscribeError>, content: &mut Content) -> anyhow::Result<Option<T>> {
    match read {
        Err(error @ SubscribeError::Record { .. }) => {
            warn(format_args!("{error}"));
            content.lose();
            Ok(None)
        }
        read => read.map(Some).map_err(of_subscription),
    }
}

/// The requested clock, or that which says most of those that both inputs have.
pub(super) fn clock_of(
    requested: Option<FeedClock>,
    inputs: [(&str, &OpenInput); 2],
) -> anyhow::Result<FeedClock> {
    let without = inputs.iter().find(|(_, open)| !open.has_receive_times);
    match (requested, without) {
        (Some(FeedClock::Receive), Some((name, _))) => {
            bail!("{name}: has no receive times: use --clock event")
        }
        (Some(clock), _) => Ok(clock),
        (None, Some(_)) => Ok(FeedClock::Event),
        (None, None) => Ok(FeedClock::Receive),
    }
}
