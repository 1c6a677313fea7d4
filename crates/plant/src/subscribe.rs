//! Reading a plant from another process: the stocks and the kinds of records that one wants, and to be
//! told of loss.
//!
//! ```no_run
//! use nanotape_plant::{Event, Subscription, records::{Record, RecordKind}};
//!
//! let mut subscriber = Subscription::to("equities")
//!     .symbols(["AAPL".parse()?, "MSFT".parse()?])
//!     .records([RecordKind::Bbo])
//!     .open()?;
//! loop {
//!     subscriber.poll(|event| match event {
//!         Event::Record(delivery) => {
//!             if let (Record::Bbo(bbo), Some(symbol)) = (delivery.record, delivery.symbol) {
//!                 println!("{symbol} {} {}", bbo.levels[0].bid_px, bbo.levels[0].ask_px);
//!             }
//!         }
//!         Event::Lost(lapped) => println!("{lapped}"),
//!     })?;
//! }
//! # #[expect(unreachable_code)]
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Where: the other end of [`Publisher`](crate::Publisher)'s ring. A plant does no work for a
//! subscriber and never notices one.
//! Bounds: one buffer; a table of a byte and a name for each of 65,536 stocks.
//! Failure: loss is an [`Event`]; damage is a [`SubscribeError`], and what is good before it and behind it
//! is delivered.
//! Cost: no allocation and no system call for records about orders, insides and trades. What is not
//! wanted costs its copy out of the ring and two comparisons.

mod local_books;
mod names;
mod wishes;

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_ring::{Gap, Read, ReadError, Rejoin, RingError, Start, Subscribe as _, stream};
use nanotape_shm::{OwnerState, Refusal, RegionError};
use nanotape_types::{StockLocate, Symbol};

pub use local_books::LocalBooks;
use names::Names;
use wishes::Wishes;

use crate::{
    BoardReader,
    records::{BadRecord, Record, RecordBuffer, RecordKind, RecordKinds},
};

/// What is wanted of a plant.
#[derive(Clone, Debug)]
pub struct Subscription {
    ring: String,
    symbols: Vec<Symbol>,
    kinds: RecordKinds,
    start: Start,
    rejoin: Rejoin,
    wait: Duration,
    keeps_books: bool,
}

/// A reader of a plant's ring.
#[derive(Debug)]
pub struct Subscriber {
    reader: stream::Reader,
    path: PathBuf,
    wishes: Wishes,
    buffer: Vec<u8>,
    /// Where to go on after a lap, until the first read has told what was gone before it.
    rejoin: Option<Rejoin>,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A record that is wanted, or one of our own.
    Record(Delivery<'a>),
    /// Records were overwritten before they could be read. It goes on behind them.
    Lost(Gap),
}

/// A record and what is known beside it.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// Its sequence number on the ring.
    pub sequence: u64,
    /// The symbol of its stock, where it is about one and the symbol is known.
    pub symbol: Option<Symbol>,
    /// The record.
    pub record: Record<'a>,
    /// The record as it is on the ring: what a DBN file takes.
    pub bytes: &'a [u8],
    /// The local books after it, if they are kept.
    pub books: Option<&'a LocalBooks>,
}

/// Why a plant cannot be subscribed to, or not any longer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// The ring or the board cannot be opened, or the name is none.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The ring cannot be joined there.
    #[error("{}: {error}", path.display())]
    Ring {
        /// The ring.
        path: PathBuf,
        /// Why not.
        error: Box<RingError>,
    },
    /// The ring is damaged.
    #[error("{}: {error}", path.display())]
    Read {
        /// The ring.
        path: PathBuf,
        /// How.
        error: ReadError,
    },
    /// A message of the ring is not the record that it says.
    #[error("{}: {error}", path.display())]
    Record {
        /// The ring.
        path: PathBuf,
        /// Which.
        error: BadRecord,
    },
}

impl Subscription {
    /// To the plant that writes to the ring of this name, or at this path if it has a slash. All
    /// records of all stocks from now on, unless told otherwise.
    pub fn to(ring: &str) -> Self {
        Self {
            ring: ring.to_owned(),
            symbols: Vec::new(),
            kinds: RecordKinds::ALL,
            start: Start::Newest,
            rejoin: Rejoin::default(),
            wait: Duration::ZERO,
            keeps_books: false,
        }
    }

    /// Only these stocks. A stock is not known to be one of them before the plant knows its name: in a
    /// file that begins in mid-session, that is at the first message that carries the symbol.
    #[must_use]
    pub fn symbols(mut self, symbols: impl IntoIterator<Item = Symbol>) -> Self {
        self.symbols = symbols.into_iter().collect();
        self
    }

    /// Only these kinds of records. Our own are always delivered.
    #[must_use]
    pub fn records(mut self, kinds: impl IntoIterator<Item = RecordKind>) -> Self {
        self.kinds = kinds.into_iter().collect();
        self
    }

    /// Where to begin. A ring that no longer has its first records tells that with the first poll, for
    /// [`Start::Oldest`] too: an [`Event::Lost`] from record 1 to the one before the oldest.
    #[must_use]
    pub fn from(mut self, start: Start) -> Self {
        self.start = start;
        self
    }

    /// Where to go on after a lap.
    #[must_use]
    pub fn rejoin(mut self, rejoin: Rejoin) -> Self {
        self.rejoin = rejoin;
        self
    }

    /// How long to wait for the plant to start, if there is none.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Keep books from the order records.
    #[must_use]
    pub fn keep_books(mut self) -> Self {
        self.keeps_books = true;
        self
    }

    /// Joins.
    pub fn open(self) -> Result<Subscriber, SubscribeError> {
        let path = nanotape_shm::named(&self.ring)?;
        let mut replaced = 0;
        let clock = Clock::monotonic();
        let began = clock.stamp();
        let is_time = || clock.nanos_between(began, clock.stamp()) < self.wait.as_nanos() as u64;
        loop {
            match self.join(&path) {
                Err(SubscribeError::Region(error)) if is_not_there_yet(&error) && is_time() => {
                    thread::sleep(Duration::from_millis(1));
                }
                // Somebody put another ring there just now.
                Err(SubscribeError::Region(error))
                    if matches!(error.refusal(), Refusal::Replaced) && replaced < ATTEMPTS =>
                {
                    replaced += 1;
                }
                joined => return joined,
            }
        }
    }

    fn join(&self, path: &Path) -> Result<Subscriber, SubscribeError> {
        // From record 1 and with the oldest to go on at, a reader is told what is gone before that.
        let is_from_oldest = self.start == Start::Oldest;
        let start = if is_from_oldest { Start::Sequence(1) } else { self.start };
        let mut reader = stream::Reader::open(path, start).map_err(|error| match error {
            RingError::Region(error) => SubscribeError::Region(error),
            error => SubscribeError::Ring { path: path.to_owned(), error: Box::new(error) },
        })?;
        // After the ring: a run whose board was not there yet has not published its start either, so
        // that the reader will come to it. And of this ring, which must not have been replaced.
        let board = BoardReader::open(path)?;
        reader.region().check()?;
        reader.set_rejoin(if is_from_oldest { Rejoin::Oldest } else { self.rejoin });
        Ok(Subscriber {
            reader,
            path: path.to_owned(),
            wishes: Wishes {
                kinds: self.kinds,
                names: Names::new(path, board, self.symbols.clone()),
                books: self.keeps_books.then(LocalBooks::new),
                room: RecordBuffer::default(),
            },
            buffer: vec![0; BUFFER_BYTES],
            rejoin: is_from_oldest.then_some(self.rejoin),
        })
    }
}

/// Rings that are replaced while they are joined, one after the other, before it gives up.
const ATTEMPTS: u32 = 16;

/// Enough for many records, and little enough to stay in the nearest caches.
const BUFFER_BYTES: usize = 16 << 10;

/// Whether the plant may be about to make it.
fn is_not_there_yet(error: &RegionError) -> bool {
    matches!(error.refusal(), Refusal::NotFound | Refusal::BeingCreated | Refusal::HalfCreated)
}

impl Subscriber {
    /// Reads what is there, at most a buffer full, and tells `visit` of what is wanted of it. Gives how
    /// many messages it has passed, wanted or not, lost or not; 0 if there was nothing. Never waits.
    pub fn poll(&mut self, mut visit: impl FnMut(Event<'_>)) -> Result<u64, SubscribeError> {
        let Self { reader, path, wishes, buffer, rejoin } = self;
        let mut bad = None;
        let read = reader.read_batch(buffer, |received, bytes| {
            if let Err(error) = wishes.deliver(received, bytes, &mut visit) {
                bad.get_or_insert(error);
            }
        });
        if rejoin.is_some() && !matches!(read, Ok(Read::Empty)) {
            reader.set_rejoin(rejoin.take().unwrap_or_default());
        }
        if let Some(error) = bad {
            // What is good behind it was delivered too: who polls again goes on without a gap.
            wishes.lose_one();
            return Err(SubscribeError::Record { path: path.clone(), error });
        }
        match read {
            Ok(Read::Message(count)) => Ok(count),
            Ok(Read::Empty) => Ok(0),
            Ok(Read::Lapped(lapped)) => {
                wishes.lose(&lapped);
                visit(Event::Lost(lapped));
                Ok(lapped.count())
            }
            // No plant of this version publishes so long a record, but a later one might.
            Err(ReadError::BufferTooSmall { needed, .. }) if needed <= MOST_BUFFER_BYTES => {
                buffer.resize(needed, 0);
                self.poll(visit)
            }
            Err(error) => Err(SubscribeError::Read { path: path.clone(), error }),
        }
    }

    /// The sequence number of the next message to be read.
    pub fn next_sequence(&self) -> u64 {
        self.reader.next_sequence()
    }

    /// The state of the ring's writer: asks the kernel. A plant that is gone may have left records.
    pub fn writer(&self) -> OwnerState {
        self.reader.region().owner().state
    }

    /// Which writer this is: changes when a plant takes the ring over. One load.
    pub fn epoch(&self) -> u64 {
        self.reader.region().epoch()
    }

    /// Whether the ring was cut, removed or replaced behind our back. Two system calls.
    pub fn check(&self) -> Result<(), SubscribeError> {
        Ok(self.reader.region().check()?)
    }

    /// The path of the ring.
    pub fn ring(&self) -> &Path {
        &self.path
    }

    /// The symbol of a stock, as far as it is known now.
    pub fn symbol(&mut self, locate: StockLocate) -> Option<Symbol> {
        let sequence = self.reader.next_sequence();
        self.wishes.names.symbol(locate, sequence)
    }

    /// All stocks that are known now.
    pub fn symbols(&self) -> Vec<(StockLocate, Symbol)> {
        self.wishes.names.all(self.reader.next_sequence())
    }

    /// The board of the run that is being read, where there is one: midnight, date, counters.
    pub fn board(&self) -> Option<&BoardReader> {
        self.wishes.names.board(self.reader.next_sequence())
    }

    /// The local books, if they are kept.
    pub fn books(&self) -> Option<&LocalBooks> {
        self.wishes.books.as_ref()
    }
}

/// The longest message that a subscriber takes memory for.
const MOST_BUFFER_BYTES: usize = 16 << 20;
