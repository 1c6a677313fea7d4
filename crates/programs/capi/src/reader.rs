//! A reader of a numbered stream: a ring, a journal, or a plant with the names of its stocks.
//!
//! Protocol: a call gives one item. Items come out of a batch; when it is empty, one poll of the
//! source fills it. Nothing here waits but `next`, which sleeps between polls up to its timeout.
//! Failure: a loss and an end are items. An error of a poll is given after the items that the poll
//! had found before it.

use std::{
    ffi::{OsStr, c_char},
    fmt,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

use nanotape_clock::UtcNanos;
use nanotape_journal::{Tailer, TailerSource};
use nanotape_records::RecordKinds;
use nanotape_ring::RingSource;
use nanotape_shm::named;
use nanotape_tap::{Event, SubscribeError, Subscriber, Subscription, has_journal};
use nanotape_tape::{
    Deadline, Follow, Item as Read, Source, Start as From, Step, Tape as _, WaitStrategy, Waiter,
    WriterState,
};
use nanotape_types::{StockLocate, Symbol};

use crate::{
    Status,
    batch::Batch,
    error::Error,
    item::{End, ItemKind, NT_SYMBOL_BYTES, ReaderItem, letters_of},
    memory::Text,
};

/// The longest sleep between two polls.
const SLEEP: Duration = Duration::from_millis(1);

/// Polls without a sleep before the first one, and between two looks at the clock.
const POLLS: u32 = 200;

/// Where a reader begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Start {
    /// At the oldest record that is there.
    Oldest = 0,
    /// With the next record that is written.
    Newest = 1,
    /// With the record that has the number `at`. If it is gone, the first item is a loss.
    Sequence = 2,
    /// With the first record of the time `at` or later, in nanoseconds since 1970: in a journal.
    Time = 3,
}

/// The start of these arguments.
pub(crate) fn start_of(start: i32, at: u64) -> Result<From, Error> {
    match start {
        start if start == Start::Oldest as i32 => Ok(From::Oldest),
        start if start == Start::Newest as i32 => Ok(From::Newest),
        start if start == Start::Sequence as i32 && at == 0 => {
            Err(Error::wrong("there is no record 0: numbers begin with 1"))
        }
        start if start == Start::Sequence as i32 => Ok(From::Sequence(at)),
        start if start == Start::Time as i32 => Ok(From::Time(UtcNanos::of_unix_ns(at))),
        other => Err(Error::wrong(format!("start {other} is none of nt_start"))),
    }
}

/// Options of a tap. All zeros are a tap of all records of all stocks, without a journal.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TapOptions {
    /// The symbols of stocks, such as "AAPL,MSFT"; "*" stands for any letters. NULL: all stocks.
    /// Records of no stock, such as the phase of the market, always come.
    pub symbols: Text,
    /// The kinds of records, such as "bbo,trades": mbo, bbo, trades, status, definitions,
    /// imbalances. NULL: all kinds. What the plant reports about itself always comes.
    pub records: Text,
    /// The folder of the journal that records the ring: what the ring has overwritten comes from
    /// there. NULL: it is lost. NT_STATUS_NOT_FOUND until there is a journal.
    pub journal: Text,
    /// How long to wait for a recorder that is behind or dead, before its records are lost.
    pub patience_ns: u64,
}

/// A reader of a ring, a journal or a plant. One thread at a time may use it.
pub struct Reader(pub(crate) Mutex<State>);

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

pub(crate) struct State {
    stream: Stream,
    batch: Batch,
    /// The error of a poll, after what it found before it, and the number that it is about.
    failed: Option<(Error, u64)>,
}

enum Stream {
    /// A ring, and its path.
    Ring(Box<Follow<RingSource>>, PathBuf),
    Journal(Box<Follow<TailerSource>>),
    Tap(Box<Subscriber>),
}

impl Reader {
    fn of(stream: Stream) -> Self {
        Self(Mutex::new(State { stream, batch: Batch::default(), failed: None }))
    }

    pub(crate) fn of_ring(name: &OsStr, start: From) -> Result<Self, Error> {
        let path = named(name)?;
        let source = RingSource::open(&path, start);
        let source = source.map_err(|error| Error::of_ring(&path, &error))?;
        Ok(Self::of(Stream::Ring(Box::new(Follow::new(source)), path)))
    }

    pub(crate) fn of_journal(folder: &OsStr, start: From) -> Result<Self, Error> {
        let mut source = TailerSource::new(Tailer::open(Path::new(folder), start)?);
        source.set_stops_at_end(source.writer().state != WriterState::Alive);
        Ok(Self::of(Stream::Journal(Box::new(Follow::new(source)))))
    }

    pub(crate) fn of_tap(
        name: &OsStr,
        options: Option<&TapOptions>,
        start: From,
    ) -> Result<Self, Error> {
        let mut subscription = Subscription::to(name).from(start);
        if let Some(options) = options {
            if let Some(symbols) = options.symbols.letters("symbols")? {
                subscription = subscription.symbols(symbols_of(symbols)?);
            }
            if let Some(kinds) = options.records.letters("records")? {
                let kinds: RecordKinds = kinds.parse().map_err(Error::wrong)?;
                subscription = subscription.records(kinds.iter());
            }
            if !options.journal.is_null() {
                // A folder is read as a journal, which nothing completes.
                if !named(name)?.is_file() && Path::new(name).is_dir() {
                    let line = format!("{}: is a journal itself", Path::new(name).display());
                    return Err(Error::wrong(line + "; the option journal is for a ring"));
                }
                let journal = Path::new(options.journal.name("journal")?);
                if !has_journal(journal) {
                    let line =
                        "no journal there; the option journal is the one that records the ring";
                    let line = format!("{}: {line}", journal.display());
                    return Err(Error::new(Status::NotFound, line));
                }
                let patience = Duration::from_nanos(options.patience_ns);
                subscription = subscription.heal_from(journal, patience);
            }
        }
        match subscription.open() {
            Ok(subscriber) => Ok(Self::of(Stream::Tap(Box::new(subscriber)))),
            Err(error) => {
                let is_of_board = matches!(error, SubscribeError::Region(_))
                    && named(name).is_ok_and(|path| path.is_file());
                let Error { status, mut line } = error.into();
                if status == Status::NotFound && is_of_board {
                    line += "; nt_ring_open reads a ring without a plant";
                }
                Err(Error { status, line })
            }
        }
    }
}

/// The symbols of a list.
fn symbols_of(list: &str) -> Result<Vec<Symbol>, Error> {
    let parse = |text: &str| {
        text.trim().parse().map_err(|error| Error::wrong(format!("symbols: {text:?}: {error}")))
    };
    list.split(',').map(parse).collect()
}

impl State {
    /// The next item; one that is nothing after the timeout.
    pub(crate) fn next(&mut self, timeout_ns: u64) -> Result<ReaderItem, Error> {
        let timeout = Duration::from_nanos(timeout_ns);
        let (mut waiting, mut polls) = (None, 0);
        loop {
            if let Some(item) = self.batch.next() {
                return Ok(item);
            }
            if let Some((error, _)) = self.failed.take() {
                return Err(error);
            }
            let before = self.stream.next_sequence();
            self.poll();
            polls += 1;
            // Records that are not selected are no reason to wait: more may be behind them.
            let has_moved = self.stream.next_sequence() != before;
            let is_check_due = polls % POLLS == 0 || !has_moved;
            if !self.batch.is_empty() || self.failed.is_some() || !is_check_due {
                continue;
            }
            if timeout.is_zero() {
                return Ok(ReaderItem::NOTHING);
            }
            let (deadline, waiter) = waiting.get_or_insert_with(|| {
                let sleep = SLEEP.min(timeout);
                let strategy = WaitStrategy::Backoff { polls: POLLS, sleep };
                (Deadline::after(timeout), Waiter::new(strategy))
            });
            if deadline.is_over() {
                return Ok(ReaderItem::NOTHING);
            }
            if has_moved {
                waiter.reset();
            } else {
                waiter.idle();
            }
        }
    }

    /// One poll of the source, into the empty batch.
    fn poll(&mut self) {
        let Self { stream, batch, .. } = self;
        batch.clear();
        let mut bad = None;
        let step = match stream {
            Stream::Ring(follow, path) => {
                step(follow, batch).map_err(|error| Error::of_ring(path, &error))
            }
            Stream::Journal(follow) => step(follow, batch).map_err(Error::from),
            Stream::Tap(subscriber) => {
                subscriber.try_step(|event| take(batch, &event)).map_err(|error| {
                    if let SubscribeError::Record { error, .. } = &error {
                        bad = Some(error.sequence);
                    }
                    Error::from(error)
                })
            }
        };
        match step {
            Ok(Step::Gone(state)) => {
                let next = self.stream.next_sequence();
                let end = End::of(state) as i32;
                batch.add(ReaderItem { end, ..ReaderItem::of_range(ItemKind::End, next, next) });
            }
            Ok(_) => {}
            Err(error) => {
                let next = self.stream.next_sequence();
                self.failed = Some((error, bad.unwrap_or(next)));
            }
        }
    }

    /// The number of the next record.
    pub(crate) fn next_sequence(&self) -> u64 {
        let of_failed = || self.failed.as_ref().map(|(_, sequence)| *sequence);
        let of_stream = || self.stream.next_sequence();
        self.batch.next_sequence().or_else(of_failed).unwrap_or_else(of_stream)
    }

    /// The symbol of a stock in the run of the plant that the tap has read up to.
    pub(crate) fn symbol(&mut self, instrument: u32) -> Result<[c_char; NT_SYMBOL_BYTES], Error> {
        let Stream::Tap(subscriber) = &mut self.stream else {
            return Err(Error::wrong("only a reader of nt_tap_open has symbols"));
        };
        let locate = u16::try_from(instrument).ok().filter(|number| *number > 0);
        let locate = locate.map(StockLocate::new).ok_or_else(|| {
            Error::wrong(format!("instrument {instrument}: numbers of stocks are 1 to 65535"))
        })?;
        let line = || format!("no message has named the stock {instrument} yet");
        let symbol = subscriber.symbol(locate);
        symbol.map(letters_of).ok_or_else(|| Error::new(Status::NotFound, line()))
    }
}

impl Stream {
    fn next_sequence(&self) -> u64 {
        match self {
            Self::Ring(follow, _) => follow.tape().next_sequence(),
            Self::Journal(follow) => follow.tape().next_sequence(),
            Self::Tap(subscriber) => subscriber.next_sequence(),
        }
    }
}

/// Reads what there is of a ring or a journal.
fn step<S: Source>(follow: &mut Follow<S>, batch: &mut Batch) -> Result<Step, S::Error> {
    follow.try_step_by(|source| {
        source.poll(|item| {
            match item {
                Read::Message(message) => {
                    let time_ns = message.ts.map_or(0, UtcNanos::unix_ns);
                    let record = (message.sequence, message.type_id);
                    batch.add_record(record, time_ns, [0; NT_SYMBOL_BYTES], message.payload);
                }
                Read::Gap(gap) => batch.add(ReaderItem::of_range(ItemKind::Lost, gap.from, gap.to)),
                Read::Reused(reused) => {
                    batch.add(ReaderItem::of_range(ItemKind::Reused, reused.from, reused.to));
                }
            }
            ControlFlow::Continue(())
        })
    })
}

/// Takes an event of a plant.
fn take(batch: &mut Batch, event: &Event<'_>) -> ControlFlow<()> {
    match event {
        Event::Record(record) => {
            let symbol = record.symbol.map_or([0; NT_SYMBOL_BYTES], letters_of);
            batch.add_record((record.sequence, record.type_id), 0, symbol, record.bytes);
        }
        Event::Lost(gap) => batch.add(ReaderItem::of_range(ItemKind::Lost, gap.from, gap.to)),
        Event::Healed(read) => {
            batch.add(ReaderItem::of_range(ItemKind::Healed, read.from, read.to))
        }
        // The names of the run are gone, so that no record of it can be selected.
        Event::Reported { sequence, .. } => {
            batch.add(ReaderItem::of_range(ItemKind::Lost, *sequence, *sequence));
        }
    }
    ControlFlow::Continue(())
}
