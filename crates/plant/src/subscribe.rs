//! Reads a plant from another process: chosen stocks, chosen kinds of records, and exact loss.
//!
//! ```no_run
//! use nanotape_plant::{Delivery, Event, Subscription, records::{Record, RecordKind}};
//!
//! let mut subscriber = Subscription::to("equities")
//!     .symbols(["AAPL".parse()?, "MSFT".parse()?])
//!     .records([RecordKind::Bbo])
//!     .open()?;
//! while let Some(event) = subscriber.next()? {
//!     match event {
//!         Event::Record(Delivery { symbol: Some(symbol), record: Record::Bbo(bbo), .. }) => {
//!             println!("{symbol} {} {}", bbo.levels[0].bid_px, bbo.levels[0].ask_px);
//!         }
//!         Event::Record(_) => {} // a notice of the plant: start, stop, gap, taint
//!         Event::Lost(gap) => println!("{gap}"),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Where: reads the ring of a [`Publisher`](crate::Publisher). A plant does no work for a
//! subscriber, and a subscriber does not affect it.
//! Bounds: one buffer; a table of a byte and a name for each of 65,536 stocks.
//! Failure: loss is an [`Event`]; damage is a [`SubscribeError`], and good records before and after
//! it are delivered.
//! Cost: no allocation and no system call for records about orders, insides and trades. A record
//! that is not wanted costs its copy out of the ring and two comparisons.

mod filter;
mod symbols;

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use filter::SubscriptionFilter;
use nanotape_history::LocalBooks;
use nanotape_ring::{Gap, ReadError, Rejoin, RingError, RingSource, Start, Subscribe as _, stream};
use nanotape_shm::{Refusal, RegionError};
use nanotape_tape::{
    Deadline, Follow, Item, Progress, ShutdownFlag, Source as _, Step, Tape as _, WriterState,
};
use nanotape_types::{StockLocate, Symbol};
pub(crate) use symbols::SymbolTable;

use crate::{
    BoardReader,
    records::{BadRecord, Notice, Record, RecordBuffer, RecordKind, RecordKinds},
};

/// Options of a subscriber.
#[derive(Clone, Debug)]
pub struct Subscription {
    ring: String,
    symbols: Vec<Symbol>,
    kinds: RecordKinds,
    start: Start,
    rejoin: Rejoin,
    wait: Duration,
    shutdown: ShutdownFlag,
    keeps_books: bool,
}

/// A reader of a plant's ring.
#[derive(Debug)]
pub struct Subscriber {
    follow: Follow<RingSource<stream::Reader>>,
    path: PathBuf,
    filter: SubscriptionFilter,
    /// The rejoin option after a lap, until the first read has reported what was lost before it.
    rejoin: Option<Rejoin>,
    /// The last record that [`next`](Self::next) returned.
    record: Vec<u8>,
    is_over: bool,
}

/// An event of a subscriber.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A wanted record, or a notice.
    Record(Delivery<'a>),
    /// Records were overwritten before they could be read. Reading continues after them.
    Lost(Gap),
}

/// A record with its context.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The sequence number on the ring.
    pub sequence: u64,
    /// The record type on the ring.
    pub type_id: u16,
    /// The symbol of the stock, if the record has a stock and the symbol is known.
    pub symbol: Option<Symbol>,
    /// The record.
    pub record: Record<'a>,
    /// The bytes of the record on the ring, as for a DBN file.
    pub bytes: &'a [u8],
    /// The local books after the record, if they are kept.
    pub books: Option<&'a LocalBooks>,
}

/// Why a plant cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// A shutdown was requested before the plant started.
    #[error("a shutdown was requested before the plant started")]
    Shutdown,
    /// The ring or the board cannot be opened, or the name is invalid.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The ring cannot be joined at the requested start.
    #[error("{}: {error}", path.display())]
    Ring {
        /// The ring.
        path: PathBuf,
        /// The cause.
        error: Box<RingError>,
    },
    /// The ring is damaged.
    #[error("{}: {error}", path.display())]
    Read {
        /// The ring.
        path: PathBuf,
        /// The damage.
        error: ReadError,
    },
    /// A message of the ring is not a valid record of its type.
    #[error("{}: {error}", path.display())]
    Record {
        /// The ring.
        path: PathBuf,
        /// The problem.
        error: BadRecord,
    },
}

impl Subscription {
    /// Subscribes to the plant of the ring with this name, or path if it contains a slash. By
    /// default: all records of all stocks from now on.
    pub fn to(ring: &str) -> Self {
        Self {
            ring: ring.to_owned(),
            symbols: Vec::new(),
            kinds: RecordKinds::ALL,
            start: Start::Newest,
            rejoin: Rejoin::default(),
            wait: Duration::ZERO,
            shutdown: ShutdownFlag::new(),
            keeps_books: false,
        }
    }

    /// Selects these stocks. A stock is selected only once the plant knows its symbol: in a file
    /// that begins in mid-session, from the first message that has it.
    #[must_use]
    pub fn symbols(mut self, symbols: impl IntoIterator<Item = Symbol>) -> Self {
        self.symbols = symbols.into_iter().collect();
        self
    }

    /// Selects these kinds of records. Notices are always delivered.
    #[must_use]
    pub fn records(mut self, kinds: impl IntoIterator<Item = RecordKind>) -> Self {
        self.kinds = kinds.into_iter().collect();
        self
    }

    /// Sets where to begin. If the ring no longer has its first records, the first poll reports it,
    /// also for [`Start::Oldest`]: an [`Event::Lost`] from record 1 to the one before the oldest.
    #[must_use]
    pub fn from(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// Sets where to continue after a lap.
    #[must_use]
    pub fn rejoin(mut self, rejoin: Rejoin) -> Self {
        self.rejoin = rejoin;
        self
    }

    /// How long to wait for the plant to start: for its ring, or for the next plant on a ring whose
    /// plant exited.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Stops waiting for the plant and for records when this flag is set.
    #[must_use]
    pub fn shutdown(mut self, shutdown: &ShutdownFlag) -> Self {
        self.shutdown = shutdown.clone();
        self
    }

    /// Keeps books from the order records.
    #[must_use]
    pub fn keep_books(mut self) -> Self {
        self.keeps_books = true;
        self
    }

    /// Joins the ring.
    pub fn open(self) -> Result<Subscriber, SubscribeError> {
        let path = nanotape_shm::named(&self.ring)?;
        let deadline = Deadline::after(self.wait);
        let is_pending = |error: &SubscribeError| match error {
            SubscribeError::Region(error) => error.refusal().is_pending(),
            _ => false,
        };
        let joined = deadline.open(&self.shutdown, is_pending, || self.join(&path))?;
        let (reader, board) = joined.ok_or(SubscribeError::Shutdown)?;
        let is_from_oldest = self.start == Start::Oldest;
        Ok(Subscriber {
            follow: Follow::new(RingSource::new(reader))
                .shutdown(&self.shutdown)
                .deadline(deadline),
            filter: SubscriptionFilter {
                kinds: self.kinds,
                symbols: SymbolTable::new(&path, Some(board), self.symbols),
                books: self.keeps_books.then(LocalBooks::new),
                buffer: RecordBuffer::default(),
            },
            path,
            rejoin: is_from_oldest.then_some(self.rejoin),
            record: Vec::new(),
            is_over: false,
        })
    }

    fn join(&self, path: &Path) -> Result<(stream::Reader, BoardReader), SubscribeError> {
        for _ in 1..ATTEMPTS {
            match self.try_join(path) {
                // Another process has just replaced the ring.
                Err(SubscribeError::Region(error))
                    if matches!(error.refusal(), Refusal::Replaced) => {}
                joined => return joined,
            }
        }
        self.try_join(path)
    }

    fn try_join(&self, path: &Path) -> Result<(stream::Reader, BoardReader), SubscribeError> {
        // A reader that starts at record 1 and may rejoin at the oldest reports what was lost
        // before that.
        let is_from_oldest = self.start == Start::Oldest;
        let start = if is_from_oldest { Start::Sequence(1) } else { self.start };
        let mut reader =
            stream::Reader::open(path, start).map_err(|error| Failed::Ring(error).on(path))?;
        // The board is opened after the ring: a run without a board has not published its start
        // yet, so the reader will read that start. The check ensures that the board belongs to this
        // ring.
        let board = BoardReader::open(path)?;
        reader.region().check()?;
        reader.set_rejoin(if is_from_oldest { Rejoin::Oldest } else { self.rejoin });
        Ok((reader, board))
    }
}

/// Limit of attempts to join, while other processes keep replacing the ring.
const ATTEMPTS: u32 = 16;

impl Subscriber {
    /// Waits for the next event. Returns `None` after the plant's stop, or when the plant exited
    /// and all of its records were read, or after a shutdown.
    #[expect(clippy::should_implement_trait, reason = "an event borrows the subscriber")]
    pub fn next(&mut self) -> Result<Option<Event<'_>>, SubscribeError> {
        let mut found = None;
        while found.is_none() && !self.is_over {
            let Self { follow, path, filter, rejoin, record, .. } = self;
            let step = follow.step_by(|source| {
                poll(source, filter, rejoin, Amount::One, |event| {
                    let mut of_record = |delivery: Delivery<'_>| {
                        record.clear();
                        record.extend_from_slice(delivery.bytes);
                        let is_stop = matches!(delivery.record, Record::Notice(Notice::Stop(_)));
                        (delivery.sequence, delivery.type_id, delivery.symbol, is_stop)
                    };
                    found = Some(match event {
                        Event::Record(delivery) => Ok(of_record(delivery)),
                        Event::Lost(gap) => Err(gap),
                    });
                    ControlFlow::Continue(())
                })
            });
            let step = step.map_err(|error| error.on(path))?;
            self.is_over = matches!(step, Step::Gone(_) | Step::Shutdown | Step::Complete);
        }
        let (sequence, type_id, symbol, is_stop) = match found {
            None => return Ok(None),
            Some(Err(gap)) => return Ok(Some(Event::Lost(gap))),
            Some(Ok(found)) => found,
        };
        self.is_over = is_stop;
        let (bytes, books) = (&*self.record, self.filter.books.as_ref());
        match self.filter.buffer.decode(sequence, type_id, bytes) {
            Ok(Some(record)) => Ok(Some(Event::Record(Delivery {
                sequence,
                type_id,
                symbol,
                record,
                bytes,
                books,
            }))),
            Ok(None) => unreachable!("it was delivered"),
            Err(error) => Err(Failed::Bad(error).on(&self.path)),
        }
    }

    /// Waits for messages, and passes wanted events to `visit`: at most one buffer. `Break` stops
    /// after the event.
    pub fn step(
        &mut self,
        mut visit: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Step, SubscribeError> {
        let Self { follow, path, filter, rejoin, .. } = self;
        let step = follow.step_by(|source| poll(source, filter, rejoin, Amount::Batch, &mut visit));
        step.map_err(|error| error.on(path))
    }

    /// Reads available messages, at most one buffer, and passes wanted events to `visit`. Returns
    /// how many messages it has passed, wanted or not, lost or not; 0 if idle. Never waits.
    pub fn poll(&mut self, mut visit: impl FnMut(Event<'_>)) -> Result<u64, SubscribeError> {
        let before = self.next_sequence();
        let Self { follow, path, filter, rejoin, .. } = self;
        let polled = poll(follow.tape_mut(), filter, rejoin, Amount::Batch, |event| {
            visit(event);
            ControlFlow::Continue(())
        });
        let _ = polled.map_err(|error| error.on(path))?;
        Ok(self.next_sequence() - before)
    }

    /// The sequence number of the next message.
    #[inline]
    pub fn next_sequence(&self) -> u64 {
        self.follow.tape().next_sequence()
    }

    /// The state of the ring's writer, from the kernel. A plant that exited may have left records.
    pub fn writer(&self) -> WriterState {
        self.follow.tape().writer().state
    }

    /// The path of the ring.
    pub fn ring(&self) -> &Path {
        &self.path
    }

    /// The symbol of a stock, if known.
    pub fn symbol(&mut self, locate: StockLocate) -> Option<Symbol> {
        let sequence = self.next_sequence();
        self.filter.symbols.symbol(locate, sequence)
    }

    /// All stocks that are known so far.
    pub fn symbols(&self) -> Vec<(StockLocate, Symbol)> {
        self.filter.symbols.all(self.next_sequence())
    }

    /// The board of the current run, if any: midnight, date, counters.
    pub fn board(&self) -> Option<&BoardReader> {
        self.filter.symbols.board(self.next_sequence())
    }

    /// The local books, if they are kept.
    pub fn books(&self) -> Option<&LocalBooks> {
        self.filter.books.as_ref()
    }
}

/// The amount that a poll reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Amount {
    One,
    Batch,
}

/// Why a poll failed.
enum Failed {
    Ring(RingError),
    Bad(BadRecord),
}

impl From<RingError> for Failed {
    fn from(error: RingError) -> Self {
        Self::Ring(error)
    }
}

impl Failed {
    fn on(self, path: &Path) -> SubscribeError {
        let path = path.to_owned();
        match self {
            Self::Ring(RingError::Region(error)) => SubscribeError::Region(error),
            Self::Ring(RingError::Read(error)) => SubscribeError::Read { path, error },
            Self::Ring(error) => SubscribeError::Ring { path, error: Box::new(error) },
            Self::Bad(error) => SubscribeError::Record { path, error },
        }
    }
}

/// Reads available messages, and delivers the wanted ones.
#[inline]
fn poll(
    source: &mut RingSource<stream::Reader>,
    filter: &mut SubscriptionFilter,
    rejoin: &mut Option<Rejoin>,
    amount: Amount,
    mut visit: impl FnMut(Event<'_>) -> ControlFlow<()>,
) -> Result<Progress, Failed> {
    let mut bad = None;
    let mut take = |item: Item<'_>| match item {
        Item::Message(message) => filter.deliver(&message, &mut visit).unwrap_or_else(|error| {
            bad.get_or_insert(error);
            ControlFlow::Continue(())
        }),
        Item::Gap(gap) => {
            filter.lose(&gap);
            visit(Event::Lost(gap))
        }
        // A ring uses each number once.
        Item::Reused(_) => ControlFlow::Continue(()),
    };
    let polled = match amount {
        Amount::One => source.poll_one(|item| _ = take(item)),
        Amount::Batch => source.poll(take),
    };
    if rejoin.is_some() && !matches!(polled, Ok(Progress::Nothing)) {
        source.reader_mut().set_rejoin(rejoin.take().unwrap_or_default());
    }
    if let Some(error) = bad {
        // Good records after it were delivered too: the next poll continues without a gap.
        filter.lose_one();
        return Err(Failed::Bad(error));
    }
    Ok(polled?)
}
