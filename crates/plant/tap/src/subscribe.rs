//! Reads a plant from another process: chosen stocks, chosen kinds of records, and exact loss.
//!
//! ```no_run
//! use nanotape_tap::{Delivery, Event, Subscription};
//! use nanotape_plant::{records::Record, records::RecordKind};
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
//!         Event::Healed(_) | Event::Reported { .. } => {} // of a journal, of a DBN file
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Where: reads the ring of a [`Publisher`](nanotape_plant::Publisher). A plant does no work for a
//! subscriber, and a subscriber does not affect it.
//! Bounds: one buffer; a table of a byte and a name for each of 65,536 stocks.
//! Failure: loss is an [`Event`]; damage is a [`SubscribeError`], and good records before and after
//! it are delivered.
//! Cost: no allocation and no system call for records about orders, insides and trades. A record
//! that is not wanted costs its copy out of the ring and two comparisons.

mod behind;
mod completed;
mod day;
mod dbn;
mod error;
mod event;
mod feed;
mod filter;
mod join;
mod oldest;
mod polling;
mod received;
mod window;

use std::{
    ffi::OsStr,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

pub use completed::has_journal;
use error::Failed;
pub use error::SubscribeError;
pub use event::{Delivery, Event, Opening};
use feed::{Amount, Feed};
use nanotape_board::BoardReader;
pub use nanotape_history::Handover;
use nanotape_history::LocalBooks;
use nanotape_plant::{Ended, RunError};
use nanotape_records::{Notice, Record, RecordKind, RecordKinds};
use nanotape_ring::{Rejoin, Start};
use nanotape_tape::{Follow, Progress, ShutdownFlag, Step, Tape as _, WriterState};
use nanotape_types::{StockLocate, Symbol};
use polling::Polling;
pub use received::{ReceivedEnd, ReceivedRing};
use window::Window;

use crate::{spans::ReaderTrace, states::CopiedStocks};

/// Options of a subscriber.
#[derive(Clone, Debug)]
pub struct Subscription {
    ring: PathBuf,
    symbols: Vec<Symbol>,
    kinds: RecordKinds,
    /// `None`: with the next record, or as `begins_with_run` has it.
    start: Option<Start>,
    /// Whether to begin with the first record of the run if there is no start.
    begins_with_run: bool,
    rejoin: Rejoin,
    wait: Duration,
    shutdown: ShutdownFlag,
    keeps_books: bool,
    /// The journal that completes the ring, and how long to wait for its recorder.
    heal: Option<(PathBuf, Duration)>,
    /// The subscriber begins with the last snapshot that includes no record from this one on.
    whole_before: Option<u64>,
    checks_digests: bool,
    window: Option<Window>,
    /// The name of a follower that the plant waits for.
    name: Option<String>,
    through_restarts: bool,
    quiet_after: Option<Duration>,
    is_traced: bool,
    /// The map of the newest states that the subscriber begins with.
    latest: Option<PathBuf>,
}

/// A reader of a plant's ring, or of its journal.
#[derive(Debug)]
pub struct Subscriber {
    follow: Follow<Feed>,
    polling: Polling,
    /// The first record of the run that was joined: only a stop after it is the end.
    run_first: u64,
    path: PathBuf,
    opening: Option<Opening>,
    latest: Option<CopiedStocks>,
    /// The last record that [`next`](Self::next) returned.
    record: Vec<u8>,
    /// The last report that [`next`](Self::next) returned.
    reported: String,
    is_over: bool,
}

impl Subscription {
    /// Subscribes to the plant of the ring with this name, or path if it contains a slash. By
    /// default: all records of all stocks from now on.
    pub fn to(ring: &(impl AsRef<OsStr> + ?Sized)) -> Self {
        Self {
            ring: PathBuf::from(ring.as_ref()),
            symbols: Vec::new(),
            kinds: RecordKinds::ALL,
            start: None,
            begins_with_run: false,
            rejoin: Rejoin::default(),
            wait: Duration::ZERO,
            shutdown: ShutdownFlag::new(),
            keeps_books: false,
            heal: None,
            whole_before: None,
            checks_digests: false,
            window: None,
            name: None,
            through_restarts: false,
            quiet_after: None,
            is_traced: false,
            latest: None,
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
    /// With a journal, the loss begins with the first record of the run of the oldest record that
    /// the journal or the ring has: earlier runs, which were pruned, are not reported.
    #[must_use]
    pub fn from(mut self, start: Start) -> Self {
        self.start = Some(start);
        self
    }

    /// Begins with the first record of the run, unless a start is set: a named follower does, and a
    /// subscriber that has [waited](Self::wait) for its ring.
    #[must_use]
    pub fn begin_with_run(mut self) -> Self {
        self.begins_with_run = true;
        self
    }

    /// Sets where to continue after a lap. A subscriber begins with the oldest record that is left
    /// of those that its start asks for.
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

    /// Computes the digest of all records of the run, selected or not, and compares it with that of
    /// the plant at its stop: see [`Delivery::is_digest_same`].
    #[must_use]
    pub fn check_digests(mut self) -> Self {
        self.checks_digests = true;
        self
    }

    /// Makes the subscriber a named follower: it shows its position beside the ring, and a plant
    /// with [`wait_for`](nanotape_plant::config::RingConfig::wait_for) waits for it, so that it
    /// loses nothing. It joins a living plant, or waits for one, and ends with it. An event counts
    /// as read when it was delivered.
    ///
    /// By default it begins with the first record of the plant's run. Without `wait_for` the plant
    /// waits for no one, and the name has no effect.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// A named follower counts for later plants on the ring, too. The caller goes on after
    /// [`Step::Gone`].
    #[must_use]
    pub fn through_restarts(mut self) -> Self {
        self.through_restarts = true;
        self
    }

    /// Makes [`step`](Subscriber::step) return [`Step::Quiet`] when nothing was read for this long.
    #[must_use]
    pub fn quiet_after(mut self, time: Duration) -> Self {
        self.quiet_after = Some(time);
        self
    }

    /// Gives the subscriber of a ring [spans](nanotape_trace::spans), which are switched with those
    /// of the plant: `tap.read`, `tap.print` while an event is visited, and `tap.write` up to
    /// [`written`](Subscriber::written).
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.is_traced = true;
        self
    }

    /// Delivers only records of these times of the exchange, in ns since the UNIX epoch: from the
    /// first one (inclusive) to the second one (exclusive), where the subscriber ends with
    /// [`Step::Complete`]. A record without a time has that of the record before it. In a journal,
    /// the reading begins after the last snapshot before the first one.
    #[must_use]
    pub fn between(mut self, from_ns: Option<u64>, to_ns: Option<u64>) -> Self {
        let window = self.window.get_or_insert_default();
        window.from_ns = from_ns.unwrap_or(window.from_ns);
        window.to_ns = to_ns.unwrap_or(window.to_ns);
        self
    }

    /// Delivers only records below this number, where the subscriber ends.
    #[must_use]
    pub fn until(mut self, sequence: u64) -> Self {
        self.window.get_or_insert_default().end = sequence;
        self
    }

    /// Completes the ring from the journal in a folder, which a recorder of this ring writes. What
    /// was overwritten before it could be read comes from there, and so does what is before the
    /// ring's oldest record: nothing twice, nothing missing, in order. An [`Event::Healed`] reports
    /// each return to the ring.
    ///
    /// The subscriber waits up to `patience` for a recorder that is behind, dead or out of room.
    /// After that, the missing records are an [`Event::Lost`].
    #[must_use]
    pub fn heal_from(mut self, journal: impl Into<PathBuf>, patience: Duration) -> Self {
        self.heal = Some((journal.into(), patience));
        self
    }

    /// Begins with the newest state of every stock, from the map of this name that a
    /// [keeper](crate::LatestKeeper) of the plant writes, or the map at this path if it
    /// contains a slash: [`latest`](Subscriber::latest) has the states. Goes on with the records
    /// after them, each exactly once: with the next number of the ring, or of the journal where the
    /// ring has overwritten it, and without those that the state of their stock includes. Replaces
    /// [`from`](Self::from).
    #[must_use]
    pub fn with_latest(mut self, map: &(impl AsRef<OsStr> + ?Sized)) -> Self {
        self.latest = Some(PathBuf::from(map.as_ref()));
        self
    }

    /// Begins with the books of the run: the live orders of the last snapshot in the journal, as
    /// DBN has it (a clear, then adds with `F_SNAPSHOT`), and all records since. Without a snapshot
    /// it begins with the start of the run. Needs a journal: that of
    /// [`heal_from`](Self::heal_from), or that which is read.
    #[must_use]
    pub fn whole(self) -> Self {
        self.whole_before(u64::MAX)
    }

    /// The same with the last snapshot before this record.
    #[must_use]
    pub fn whole_before(mut self, sequence: u64) -> Self {
        self.whole_before = Some(sequence);
        self
    }
}

impl Subscriber {
    /// Waits for the next event. Returns `None` after the plant's stop, or when the plant exited
    /// and all of its records were read, or after a shutdown.
    #[expect(clippy::should_implement_trait, reason = "an event borrows the subscriber")]
    pub fn next(&mut self) -> Result<Option<Event<'_>>, SubscribeError> {
        let (mut found, mut is_digest_same) = (None, None);
        while found.is_none() && !self.is_over {
            let Self { follow, polling, path, record, reported, .. } = self;
            let step = follow.step_by(|source| {
                polling.poll_or_wait(source, Amount::One, |event| {
                    let mut of_record = |delivery: Delivery<'_>| {
                        record.clear();
                        record.extend_from_slice(delivery.bytes);
                        let is_stop = matches!(delivery.record, Record::Notice(Notice::Stop(_)));
                        is_digest_same = delivery.is_digest_same;
                        (delivery.sequence, delivery.type_id, delivery.symbol, is_stop)
                    };
                    found = Some(match event {
                        Event::Record(delivery) => Ok(of_record(delivery)),
                        Event::Lost(gap) => Err(Event::Lost(gap)),
                        Event::Healed(handover) => Err(Event::Healed(handover)),
                        Event::Reported { sequence, text } => {
                            text.clone_into(reported);
                            Err(Event::Reported { sequence, text: "" })
                        }
                    });
                    ControlFlow::Continue(())
                })
            });
            let step = polling.end_of(step).map_err(|error| error.on(path))?;
            self.is_over = matches!(step, Step::Gone(_) | Step::Shutdown | Step::Complete);
        }
        let (sequence, type_id, symbol, is_stop) = match found {
            None => return Ok(None),
            Some(Err(Event::Reported { sequence, .. })) => {
                return Ok(Some(Event::Reported { sequence, text: &self.reported }));
            }
            Some(Err(other)) => return Ok(Some(other)),
            Some(Ok(found)) => found,
        };
        self.is_over = is_stop && sequence >= self.run_first;
        let filter = &mut self.polling.filter;
        let (bytes, books) = (&*self.record, filter.books.as_ref());
        let midnight_ns = filter.midnight_ns;
        match filter.buffer.decode(sequence, type_id, bytes) {
            Ok(Some(record)) => Ok(Some(Event::Record(Delivery {
                sequence,
                type_id,
                symbol,
                record,
                bytes,
                midnight_ns,
                books,
                is_digest_same,
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
        let Self { follow, polling, path, .. } = self;
        let step = follow.step_by(|feed| polling.poll_or_wait(feed, Amount::Batch, &mut visit));
        polling.end_of(step).map_err(|error| error.on(path))
    }

    /// Makes [`step`](Self::step) return [`Step::Quiet`] once more, without a read before it.
    pub fn expect_quiet(&mut self) {
        self.follow.expect_quiet();
    }

    /// The same without a wait: [`Step::Idle`] if there is nothing to read, and [`Step::Read`]
    /// without an event also while the subscriber waits for the recorder of its journal.
    pub fn try_step(
        &mut self,
        mut visit: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Step, SubscribeError> {
        let Self { follow, polling, path, .. } = self;
        let step = follow.try_step_by(|feed| {
            let polled = polling.poll(feed, Amount::Batch, &mut visit)?;
            // A feed that waits for its recorder has not ended.
            let is_waiting = polled == Progress::Nothing && feed.is_waiting();
            Ok(if is_waiting { Progress::Read } else { polled })
        });
        polling.end_of(step).map_err(|error| error.on(path))
    }

    /// Reads available messages, at most one buffer, and passes wanted events to `visit`. Returns
    /// how many messages it has passed, wanted or not, lost or not; 0 if idle. Never waits.
    pub fn poll(&mut self, mut visit: impl FnMut(Event<'_>)) -> Result<u64, SubscribeError> {
        let before = self.next_sequence();
        let Self { follow, polling, path, .. } = self;
        let polled = polling.poll(follow.tape_mut(), Amount::Batch, |event| {
            visit(event);
            ControlFlow::Continue(())
        });
        let _ = polled.map_err(|error| error.on(path))?;
        Ok(self.next_sequence() - before)
    }

    /// For the spans of a [traced](Subscription::traced) subscriber: what was made of the events so
    /// far is visible to others.
    #[inline]
    pub fn written(&mut self) {
        self.polling.spans.iter_mut().for_each(ReaderTrace::shown);
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

    /// Whether the ring or the journal has no more records now.
    pub fn is_at_end(&self) -> Result<bool, SubscribeError> {
        let end = self.follow.tape().end().map_err(|error| error.on(&self.path))?;
        Ok(self.next_sequence() >= end)
    }

    /// The path of the ring.
    pub fn ring(&self) -> &Path {
        &self.path
    }

    /// The symbol of a stock, if known.
    pub fn symbol(&mut self, locate: StockLocate) -> Option<Symbol> {
        let sequence = self.next_sequence();
        self.polling.filter.symbols.symbol(locate, sequence)
    }

    /// All stocks that are known so far.
    pub fn symbols(&self) -> Vec<(StockLocate, Symbol)> {
        self.polling.filter.symbols.all(self.next_sequence())
    }

    /// The board of the current run, if any: midnight, date, counters.
    pub fn board(&self) -> Option<&BoardReader> {
        self.polling.filter.symbols.board(self.next_sequence())
    }

    /// The result of the plant of a [day file](Subscription::open_day), which ends if it still
    /// runs. `None` for other inputs, and after the first call.
    pub fn finish_day(&mut self) -> Option<Result<Ended, RunError>> {
        self.follow.tape_mut().finish_day()
    }

    /// What came from the journal since the last [`Event::Healed`], if the subscriber ends without
    /// a return to the ring. Not to be read on after it.
    pub fn finish_healing(&mut self) -> Option<Handover> {
        self.follow.tape_mut().finish_healing()
    }

    /// The snapshot that the subscriber began with, if any.
    pub fn opening(&self) -> Option<&Opening> {
        self.opening.as_ref()
    }

    /// The states that a subscriber [`with_latest`](Subscription::with_latest) began with.
    pub fn latest(&self) -> Option<&CopiedStocks> {
        self.latest.as_ref()
    }

    /// The first record of the run that a named follower joined; otherwise 0. Before it, the ring
    /// may have stops of earlier runs.
    pub fn run_first(&self) -> u64 {
        self.run_first
    }

    /// The exchange's midnight of the current run, if it is known.
    pub fn midnight_ns(&self) -> Option<u64> {
        self.polling.filter.midnight_ns
    }

    /// The local books, if they are kept.
    pub fn books(&self) -> Option<&LocalBooks> {
        self.polling.filter.books.as_ref()
    }
}
