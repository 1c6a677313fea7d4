//! The process that keeps the newest state of every stock.
//!
//! Protocol: it owns the entries of its publisher as long as the market's entry has its number as a
//! writer of the map. The kernel knows whether that writer is alive, so a keeper that was killed
//! is followed by the next one at once. That one goes on behind the last number that was written.
//! Failure: a keeper finds out before it writes that another one has taken the entry over.

mod apply;
mod stocks;
#[cfg(test)]
mod tests;

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use nanotape_board::{BoardReader, follower_path};
use nanotape_latest::{LatestError, LatestWriter};
use nanotape_records::{Header, RecordKind, RecordKinds};
use nanotape_ring::{Rejoin, Start};
use nanotape_shm::{RegionError, RegionOptions};
use nanotape_tape::{Deadline, Gap, ShutdownFlag, Step, WriterState};

use stocks::{Stocks, WriteError, release};

use crate::{
    Event, Handover, SubscribeError, Subscriber, Subscription,
    states::{
        CopiedStocks, CopyError, STOCKS, StockState, StockWords, WHOLE_MARKET, WORDS, stock_key,
        stock_map, symbol_of,
    },
};

/// How long a keeper waits for the end of the previous one, which has the rest of a ring to read,
/// if it is not set.
const HAND_OVER: Duration = Duration::from_secs(10);

/// Steps between two checks of the map.
const CHECK_EVERY: u64 = 64;

/// The kinds of records that change a state.
const KINDS: [RecordKind; 4] =
    [RecordKind::Bbo, RecordKind::Trades, RecordKind::Status, RecordKind::Definitions];

/// Options of a keeper.
#[derive(Clone, Debug)]
pub struct LatestKeeperOptions {
    /// Keys that a new map has room for.
    pub entries: u64,
    /// The memory of a new map.
    pub region: RegionOptions,
    /// The journal of the ring, for what the ring has overwritten, and how long to wait for its
    /// recorder.
    pub journal: Option<(PathBuf, Duration)>,
    /// How long to wait for the ring, or for the next plant on a ring whose plant exited.
    pub wait: Duration,
    /// How long to wait for the end of another keeper of the same entries.
    pub hand_over: Duration,
    /// Whether to go on with the next plant of the ring.
    pub through_restarts: bool,
    /// The name of a follower that the plant waits for.
    pub name: Option<String>,
    /// Ends the keeper.
    pub shutdown: ShutdownFlag,
}

impl Default for LatestKeeperOptions {
    fn default() -> Self {
        Self {
            entries: STOCKS,
            region: RegionOptions::default(),
            journal: None,
            wait: Duration::ZERO,
            hand_over: HAND_OVER,
            through_restarts: false,
            name: None,
            shutdown: ShutdownFlag::new(),
        }
    }
}

/// What a keeper reports.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum LatestKeeperEvent {
    /// Records were lost.
    Lost(Gap),
    /// Records came from the journal.
    Healed(Handover),
    /// The plant exited, and the keeper ends. `Alive`: another one has taken the ring over.
    WriterGone(WriterState),
}

/// What a keeper has kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LatestKeeperSummary {
    /// The number of the next record.
    pub next_sequence: u64,
    /// Stocks of the run.
    pub stocks: u64,
    /// Records that were lost before it could read them.
    pub lost: u64,
    /// Why the market as a whole might be wrong: [doubts](crate::states::doubt).
    pub doubts: u16,
}

/// Why a keeper cannot begin, or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LatestKeeperError {
    /// The ring or the journal.
    #[error(transparent)]
    Subscribe(Box<SubscribeError>),
    /// The map cannot be written.
    #[error("{}: {error}", map.display())]
    Latest {
        /// The map.
        map: PathBuf,
        /// The cause.
        error: Box<LatestError>,
    },
    /// The map has other values.
    #[error("{}: {error}", map.display())]
    Copy {
        /// The map.
        map: PathBuf,
        /// The cause.
        error: Box<CopyError>,
    },
    /// Entries of the map are damaged.
    #[error(
        "{}: {wrong_sums} entries are damaged: remove the map, and a keeper makes it again from the ring \
         and the journal",
        map.display()
    )]
    Damaged {
        /// The map.
        map: PathBuf,
        /// How many.
        wrong_sums: u64,
    },
    /// Another keeper is alive.
    #[error(
        "{}: writer {writer} of the map keeps the states of this publisher and is alive; end it, or \
         name another map",
        map.display()
    )]
    Kept {
        /// The map.
        map: PathBuf,
        /// The other keeper.
        writer: u32,
    },
    /// The next plant of the ring publishes another venue, whose entries are others.
    #[error(
        "{}: the next run is of publisher {publisher}, whose entries are others: start a keeper for it",
        ring.display()
    )]
    OtherPublisher {
        /// The ring.
        ring: PathBuf,
        /// DBN's number of the publisher.
        publisher: u16,
    },
    /// Another keeper has taken the entries over, or a tool has changed the market's entry.
    #[error(
        "{}: the entry of the market is not that of this keeper any more: another keeper, or another \
         tool, has changed it",
        map.display()
    )]
    Taken {
        /// The map.
        map: PathBuf,
    },
}

/// A keeper of the newest state of every stock.
#[derive(Debug)]
pub struct LatestKeeper {
    map: PathBuf,
    writer: LatestWriter,
    subscriber: Subscriber,
    stocks: Stocks,
    ring: PathBuf,
    through_restarts: bool,
    lost: u64,
    steps: u64,
}

impl From<SubscribeError> for LatestKeeperError {
    fn from(error: SubscribeError) -> Self {
        Self::Subscribe(Box::new(error))
    }
}

impl LatestKeeper {
    /// Joins or creates the map, and begins with the run of the ring's plant: at its first record,
    /// or behind the last one that a keeper before it has written.
    pub fn open(
        ring: &Path,
        map: &Path,
        options: &LatestKeeperOptions,
    ) -> Result<Self, LatestKeeperError> {
        let of_map =
            |error| LatestKeeperError::Latest { map: map.to_owned(), error: Box::new(error) };
        let LatestKeeperOptions { journal, wait, through_restarts, name, shutdown, .. } = options;
        let is_pending = |error: &RegionError| error.refusal().is_pending();
        if let Some(name) = name {
            follower_path(ring, name).map_err(SubscribeError::Follower)?;
        }
        let board = Deadline::after(*wait).open(shutdown, is_pending, || BoardReader::open(ring));
        let board = board.map_err(SubscribeError::Region)?.ok_or(SubscribeError::Shutdown)?;
        let mut writer = join(map, options).map_err(of_map)?;
        let (started_ns, publisher) = (board.run().started_ns, board.run().publisher_id);
        let there = own(map, &mut writer, publisher, options)?;

        let mut stocks = match there.filter(|copied| copied.market.started_ns() == started_ns) {
            Some(copied) => Stocks::of_map(publisher, copied),
            None => {
                let before = board.first_sequence() - 1;
                Stocks::of_run(publisher, started_ns, before, kinds_of(&board))
            }
        };
        let next = stocks.market.sequence() + 1;
        let mut subscription = Subscription::to(ring)
            .records(KINDS)
            .from(Start::Sequence(next))
            .rejoin(Rejoin::Oldest)
            .wait(*wait)
            .shutdown(shutdown);
        if let Some((journal, patience)) = journal {
            subscription = subscription.heal_from(journal, *patience);
        }
        if let Some(name) = name {
            subscription = subscription.named(name);
        }
        if *through_restarts {
            subscription = subscription.through_restarts();
        }
        let subscriber = subscription.open()?;
        stocks.market.set_keeper(writer.number() as u16);
        let (map, ring) = (map.to_owned(), ring.to_owned());
        let through_restarts = *through_restarts;
        let mut keeper =
            Self { map, writer, subscriber, stocks, ring, through_restarts, lost: 0, steps: 0 };
        keeper.begin()?;
        Ok(keeper)
    }

    /// Keeps the states until the plant exits, or a shutdown is requested.
    pub fn run(
        &mut self,
        mut report: impl FnMut(LatestKeeperEvent),
    ) -> Result<(), LatestKeeperError> {
        loop {
            match self.step(&mut report)? {
                Step::Gone(state) if !self.through_restarts => {
                    report(LatestKeeperEvent::WriterGone(state));
                    return Ok(());
                }
                Step::Shutdown | Step::Complete => return Ok(()),
                _ => {}
            }
        }
    }

    /// Reads what there is, or waits for more, and writes what has changed.
    pub fn step(
        &mut self,
        mut report: impl FnMut(LatestKeeperEvent),
    ) -> Result<Step, LatestKeeperError> {
        let Self { subscriber, stocks, lost, ring, .. } = self;
        let before = subscriber.next_sequence();
        // A new run has begun, at the end of what this step reads.
        let mut begins = false;
        let mut other_publisher = None;
        let step = subscriber.step(|event| {
            match event {
                Event::Record(delivery) => {
                    if let Some(start) = stocks.apply(&delivery)
                        && start.started_ns != stocks.market.started_ns()
                    {
                        *stocks = stocks.next_run(start.started_ns, delivery.sequence, start.kinds);
                        begins = true;
                        other_publisher =
                            Header::of(delivery.bytes).map(|header| header.publisher_id);
                    }
                }
                Event::Lost(gap) => {
                    *lost += gap.count();
                    if let Some(board) = run_begun_in(&gap, ring, &stocks.market) {
                        let started_ns = board.run().started_ns;
                        *stocks = stocks.next_run(started_ns, gap.to, kinds_of(&board));
                        begins = true;
                        other_publisher = Some(board.run().publisher_id);
                    }
                    stocks.lose(&gap);
                    report(LatestKeeperEvent::Lost(gap));
                }
                Event::Healed(handover) => report(LatestKeeperEvent::Healed(handover)),
                Event::Reported { .. } => {}
            }
            ControlFlow::Continue(())
        })?;
        if let Some(publisher) = other_publisher.filter(|of_run| *of_run != stocks.publisher) {
            let ring = ring.clone();
            return Err(LatestKeeperError::OtherPublisher { ring, publisher });
        }
        if begins {
            self.begin()?;
        }
        let next = self.subscriber.next_sequence();
        if next != before {
            let Self { stocks, writer, .. } = self;
            let written = stocks.write(writer, next - 1);
            self.written(written)?;
        }
        self.check_map(&step)?;
        Ok(step)
    }

    /// Finds out whether the map was removed or replaced: not in each step, since it takes system
    /// calls.
    fn check_map(&mut self, step: &Step) -> Result<(), LatestKeeperError> {
        self.steps += 1;
        if matches!(step, Step::Read | Step::Stopped) && !self.steps.is_multiple_of(CHECK_EVERY) {
            return Ok(());
        }
        let checked = self.writer.reader().region().check();
        self.written(checked.map_err(|error| WriteError::Latest(error.into())))
    }

    /// Shows the run to readers, and removes the stocks of other runs.
    fn begin(&mut self) -> Result<(), LatestKeeperError> {
        let Self { stocks, writer, .. } = self;
        let written = stocks.write_market(writer);
        self.written(written)?;
        let (started_ns, publisher) = (self.stocks.market.started_ns(), self.stocks.publisher);
        let mut old = Vec::new();
        let collected = self.writer.reader().for_each(|key, value, _| {
            let is_old = StockState::of(value).started_ns() != started_ns;
            if is_old && symbol_of(key, publisher).is_some() {
                old.push(key.to_vec());
            }
        });
        let removed = collected
            .and_then(|()| old.iter().try_for_each(|key| self.writer.remove(key).map(drop)));
        self.written(removed.map_err(WriteError::from))
    }

    fn written(&self, written: Result<(), WriteError>) -> Result<(), LatestKeeperError> {
        written.map_err(|error| match error {
            WriteError::Latest(error) => {
                LatestKeeperError::Latest { map: self.map.clone(), error: Box::new(error) }
            }
            WriteError::Taken => LatestKeeperError::Taken { map: self.map.clone() },
        })
    }

    /// What was kept so far.
    pub fn summary(&self) -> LatestKeeperSummary {
        LatestKeeperSummary {
            next_sequence: self.subscriber.next_sequence(),
            stocks: self.stocks.len(),
            lost: self.lost,
            doubts: self.stocks.market.doubts(),
        }
    }

    /// Whether the map is in huge pages and locked in memory, and the cause if not.
    pub fn residency(&self) -> nanotape_shm::Residency {
        self.writer.residency()
    }

    /// Gives the entries of the publisher to the next keeper.
    pub fn close(mut self) -> Result<(), LatestKeeperError> {
        let written = release(&mut self.writer, self.stocks.publisher);
        self.written(written)
    }
}

/// Joins the map, which can have been made for another number of stocks, or creates it.
fn join(map: &Path, options: &LatestKeeperOptions) -> Result<LatestWriter, LatestError> {
    match LatestWriter::open(map, &options.region) {
        Err(LatestError::Region(error)) if error.refusal().is_pending() => {
            LatestWriter::join(map, stock_map(options.entries), &options.region)
        }
        opened => opened,
    }
}

/// Becomes the keeper of a publisher, when no other one is alive. Returns what is there.
fn own(
    map: &Path,
    writer: &mut LatestWriter,
    publisher: u16,
    options: &LatestKeeperOptions,
) -> Result<Option<CopiedStocks>, LatestKeeperError> {
    let of_map = |error| LatestKeeperError::Latest { map: map.to_owned(), error: Box::new(error) };
    let key = stock_key(publisher, WHOLE_MARKET);
    let (reader, me) = (writer.reader(), writer.number());
    let wrong_sums = reader.verify().map_err(of_map)?.wrong_sums;
    if wrong_sums > 0 {
        return Err(LatestKeeperError::Damaged { map: map.to_owned(), wrong_sums });
    }
    let there = match CopiedStocks::with_old_keys(&reader, publisher) {
        Ok(copied) => Some(copied),
        Err(CopyError::Empty) => None,
        Err(error) => {
            return Err(LatestKeeperError::Copy { map: map.to_owned(), error: Box::new(error) });
        }
    };
    if there.is_none() {
        writer.insert(&key, apply::unknown(0, 0).words()).map_err(of_map)?;
    }
    let is_kept = |error: &LatestKeeperError| matches!(error, LatestKeeperError::Kept { .. });
    let owned = Deadline::after(options.hand_over).open(&options.shutdown, is_kept, || {
        let mut words = [0; WORDS];
        let Some(version) = writer.get(&key, &mut words).map_err(of_map)? else {
            return Err(LatestKeeperError::Taken { map: map.to_owned() });
        };
        let mut market = StockState::of(words);
        let other = u32::from(market.keeper());
        if other != 0 && other != me && reader.region().is_writer_alive(other) {
            return Err(LatestKeeperError::Kept { map: map.to_owned(), writer: other });
        }
        market.set_keeper(me as u16);
        let swapped = writer.compare_and_update(&key, version, market.words()).map_err(of_map)?;
        match swapped {
            Some(Ok(_)) => Ok(()),
            // Another keeper was faster.
            _ => Err(LatestKeeperError::Kept { map: map.to_owned(), writer: other }),
        }
    })?;
    owned.ok_or(SubscribeError::Shutdown)?;
    // Copied before, the states may be older than what the other keeper wrote last.
    match there {
        None => Ok(None),
        Some(_) => CopiedStocks::with_old_keys(&reader, publisher).map(Some).map_err(|error| {
            LatestKeeperError::Copy { map: map.to_owned(), error: Box::new(error) }
        }),
    }
}

/// The board of the run that began with a record of this gap, if one did.
fn run_begun_in(gap: &Gap, ring: &Path, known: &StockState<StockWords>) -> Option<BoardReader> {
    let board = BoardReader::open(ring).ok()?;
    let is_inside = (gap.from..=gap.to).contains(&board.first_sequence());
    (is_inside && board.run().started_ns != known.started_ns()).then_some(board)
}

/// The kinds of records that a plant publishes.
fn kinds_of(board: &BoardReader) -> RecordKinds {
    RecordKinds::of_bits(board.run().kinds)
}
