//! The health of a plant, seen from another process: its board, its ring, and conclusions from
//! both.
//!
//! Where: `nanotape stat`, and programs that monitor a plant. It writes nothing, so it affects
//! neither the plant nor its readers.
//! Protocol: a plant that starts again replaces the board, and might create a new ring. Each query
//! checks first whether the mapped files are still the current ones.

mod exposition;
pub mod figure;
mod figures;
mod session;

use std::{
    fs::File,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use nanotape_clock::{Clock, Stamp, UtcNanos};
use nanotape_history::Snapshots;
use nanotape_journal::SNAPSHOTS;
use nanotape_records::{Notice, Record, RecordBuffer, StopReason};
use nanotape_ring::{Capacity, RingError, RingMonitor, RingSource, Start, Stat};
use nanotape_shm::{OwnerState, Refusal, RegionError};
use nanotape_tape::{Deadline, Item, ShutdownFlag, Source as _};
use nanotape_types::{StockLocate, Symbol};

pub use exposition::{Dialect, exposition};
pub use figure::{Figure, FigureValue, Kind, Metric};
pub use session::session_figures;

use crate::{
    BoardReader, FollowerReader, FollowerStat, PlantStat, PlantState, RecorderReader, RecorderStat,
    board::{Waiting, board_path},
    follower_names,
};

/// Attempts to read the oldest record while a plant at full speed keeps overwriting it.
const ATTEMPTS: usize = 8;

/// Limit for the start of a plant, while its ring or its board is missing.
const START: Duration = Duration::from_secs(1);

/// Reads the health of a plant repeatedly.
#[derive(Debug)]
pub struct PlantMonitor {
    path: PathBuf,
    board: BoardReader,
    ring: RingMonitor,
}

/// The health of a plant and its ring at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlantHealth {
    /// The time of the query.
    pub at: Stamp,
    /// The same in UTC.
    pub utc: UtcNanos,
    /// The board.
    pub plant: PlantStat,
    /// The ring.
    pub ring: Stat,
    /// Time at which the plant read the oldest record of the ring, ns since the UNIX epoch.
    pub oldest_ns: Option<u64>,
    /// The recorder of the ring, if one shows its progress.
    pub recorder: Option<RecorderHealth>,
    /// The named followers of the current plant, by name, also those that ended.
    pub followers: Vec<FollowerHealth>,
    /// Stocks whose book is unreliable, and how many of their messages could not be applied.
    pub tainted: Vec<(StockLocate, Option<Symbol>, u64)>,
}

/// The recorder of a ring at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecorderHealth {
    /// Its progress.
    pub stat: RecorderStat,
    /// Messages of the ring that are not recorded yet.
    pub lag: u64,
    /// Time from the first message that is not recorded to the last; 0 if all are recorded.
    pub lag_ns: Option<u64>,
    /// The snapshots beside the journal; `None` without a folder for them, or if it cannot be read.
    pub snapshots: Option<SnapshotsHealth>,
    /// Free bytes on the disk of the journal; `None` if the folder cannot be opened.
    pub free_bytes: Option<u64>,
}

/// The snapshots of a journal at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SnapshotsHealth {
    /// How many there are.
    pub count: u64,
    /// The last record that the last one includes; 0 without one.
    pub last_sequence: u64,
    /// Recorded messages after it.
    pub behind: u64,
}

/// A named follower of a ring at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FollowerHealth {
    /// Its name.
    pub name: String,
    /// Its position.
    pub stat: FollowerStat,
    /// Messages of the ring that it has not read yet.
    pub lag: u64,
}

/// The state of a plant, from its board and the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// No state was reported yet.
    Starting,
    /// The plant works.
    Running,
    /// The plant has ended, for this reason.
    Stopped(StopReason),
    /// The process exited without reporting its end.
    Died,
}

/// Why the health of a plant is unavailable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HealthError {
    /// The ring or the board cannot be opened, or was truncated.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The ring cannot be read.
    #[error("{}: {error}", path.display())]
    Ring {
        /// The ring.
        path: PathBuf,
        /// The cause.
        error: Box<RingError>,
    },
    /// The ring exists, but has no board.
    #[error("{}: no plant writes to this ring: {} does not exist", ring.display(), board.display())]
    NoBoard {
        /// The ring.
        ring: PathBuf,
        /// The expected path of its board.
        board: PathBuf,
    },
}

impl PlantMonitor {
    /// Opens the ring at `path`, and the board next to it.
    pub fn open(path: &Path) -> Result<Self, HealthError> {
        let ring = RingMonitor::open(path).map_err(|error| of_ring(path, error))?;
        let board = BoardReader::open(path).map_err(|error| of_board(path, error))?;
        Ok(Self { path: path.to_owned(), board, ring })
    }

    /// Reads the health of the current plant.
    pub fn sample(&mut self, clock: &Clock) -> Result<PlantHealth, HealthError> {
        self.reopen()?;
        let path = &self.path;
        let ring = self.ring.sample().map_err(|error| of_ring(path, error))?;
        let plant = self.board.sample();
        let tainted = self.board.tainted();
        let tainted = tainted.map(|(locate, taints)| (locate, self.board.symbol(locate), taints));
        let tainted = tainted.collect();
        // The part that was truncated meanwhile reads as zeros.
        for region in [self.ring.region(), self.board.region()] {
            if region.is_lost() {
                region.check()?;
            }
        }
        let (at, oldest_ns) = (clock.stamp(), time_from(path, Start::Oldest));
        let recorder = self.recorder(&ring)?;
        let followers = self.followers(&ring);
        let utc = clock.utc(at);
        Ok(PlantHealth { at, utc, plant, ring, oldest_ns, recorder, followers, tainted })
    }

    /// The followers of this ring and its last writer. A region that cannot be read is ignored.
    fn followers(&self, ring: &Stat) -> Vec<FollowerHealth> {
        let created_ns = self.ring.region().created_ns();
        let health = |name: String| {
            let stat = FollowerReader::open(&self.path, &name).ok()?.sample();
            let lag = ring.next_sequence.saturating_sub(stat.next_sequence);
            let is_current = stat.follows(created_ns, ring.owner.epoch);
            is_current.then_some(FollowerHealth { name, stat, lag })
        };
        follower_names(&self.path).into_iter().filter_map(health).collect()
    }

    /// The recorder of this ring. A region of an earlier ring at the same path is ignored.
    fn recorder(&self, ring: &Stat) -> Result<Option<RecorderHealth>, RegionError> {
        let reader = match RecorderReader::open(&self.path) {
            Ok(reader) => reader,
            Err(error) if error.refusal().is_pending() => return Ok(None),
            Err(error) => return Err(error),
        };
        let stat = reader.sample();
        if stat.ring_created_ns != self.ring.region().created_ns() {
            return Ok(None);
        }
        let lag = ring.next_sequence.saturating_sub(stat.next_sequence);
        let lag_ns = match lag {
            0 => Some(0),
            _ => time_from(&self.path, Start::Sequence(stat.next_sequence.max(1)))
                .and_then(|first_ns| ring.ts_publish_ns.checked_sub(first_ns)),
        };
        let (snapshots, free_bytes) = (snapshots_of(&stat), free_bytes_of(&stat.journal));
        Ok(Some(RecorderHealth { stat, lag, lag_ns, snapshots, free_bytes }))
    }

    /// Opens the board and the ring again if their files were replaced.
    fn reopen(&mut self) -> Result<(), HealthError> {
        let (path, deadline, flag) = (&self.path, Deadline::after(START), ShutdownFlag::new());
        if self.ring.region().check().is_err() {
            let opened = deadline.open(&flag, RingError::is_pending, || RingMonitor::open(path));
            if let Some(ring) = opened.map_err(|error| of_ring(path, error))? {
                self.ring = ring;
            }
        }
        if self.board.region().check().is_err() {
            let is_pending = |error: &RegionError| error.refusal().is_pending();
            let opened = deadline.open(&flag, is_pending, || BoardReader::open(path));
            if let Some(board) = opened.map_err(|error| of_board(path, error))? {
                self.board = board;
            }
        }
        Ok(())
    }
}

fn of_ring(path: &Path, error: RingError) -> HealthError {
    match error {
        RingError::Region(error) => HealthError::Region(error),
        error => HealthError::Ring { path: path.to_owned(), error: Box::new(error) },
    }
}

/// The ring exists, and its board cannot be opened.
fn of_board(path: &Path, error: RegionError) -> HealthError {
    match error.refusal() {
        Refusal::NotFound => {
            HealthError::NoBoard { ring: path.to_owned(), board: board_path(path) }
        }
        _ => HealthError::Region(error),
    }
}

/// The snapshots of the journal of a recorder.
fn snapshots_of(recorder: &RecorderStat) -> Option<SnapshotsHealth> {
    let snapshots = Snapshots::list(&recorder.journal).ok()?;
    if snapshots.is_empty() && !recorder.journal.join(SNAPSHOTS).is_dir() {
        return None;
    }
    let last_sequence = snapshots.iter().last().map_or(0, |last| last.sequence);
    let behind = recorder.next_sequence.saturating_sub(last_sequence.saturating_add(1));
    Some(SnapshotsHealth { count: snapshots.len() as u64, last_sequence, behind })
}

/// Free bytes on the disk of a journal, if they are known.
fn free_bytes_of(journal: &Path) -> Option<u64> {
    let free_bytes = nanotape_shm::free_bytes(&File::open(journal).ok()?);
    (free_bytes != u64::MAX).then_some(free_bytes)
}

/// The time at which the plant read the first record from `start` on, from a separate reader.
fn time_from(path: &Path, start: Start) -> Option<u64> {
    let open = |start| RingSource::open(path, start);
    // From the oldest record if that number was overwritten.
    let mut source = open(start).or_else(|_| open(Start::Oldest)).ok()?;
    let mut record = RecordBuffer::default();
    let mut first = None;
    for _ in 0..ATTEMPTS {
        let visit = |item: Item<'_>| {
            if let Item::Message(message) = item {
                let decoded = record.decode(message.sequence, message.type_id, message.payload);
                first = decoded.ok().flatten().and_then(time_of);
            }
            if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let _ = source.poll(visit).ok()?;
        if first.is_some() {
            break;
        }
    }
    first
}

fn time_of(record: Record<'_>) -> Option<u64> {
    Some(match record {
        Record::Mbo(mbo) => mbo.ts_recv,
        Record::Bbo(bbo) => bbo.ts_recv,
        Record::Trade(trade) => trade.ts_recv,
        Record::Status(status) => status.ts_recv,
        Record::Definition(definition) => definition.ts_recv,
        Record::Imbalance(imbalance) => imbalance.ts_recv,
        Record::Notice(Notice::Gap(gap)) => gap.ts_recv,
        Record::Notice(Notice::Taint(taint)) => taint.ts_recv,
        Record::Notice(Notice::SessionGap(gap)) => gap.ts_recv,
        Record::Notice(Notice::Suspect(suspect)) => suspect.ts_recv,
        Record::Notice(Notice::Restored(restored)) => restored.ts_recv,
        Record::Notice(Notice::Start(start)) => start.started_ns,
        Record::Notice(Notice::Stop(stop)) => stop.stopped_ns,
        _ => return None,
    })
}

impl PlantHealth {
    /// The state of the plant.
    pub fn life(&self) -> Life {
        match (self.plant.state, self.plant.owner.state) {
            (PlantState::Stopped(reason), _) => Life::Stopped(reason),
            (PlantState::Starting, OwnerState::Alive) => Life::Starting,
            (PlantState::Running, OwnerState::Alive) => Life::Running,
            (_, OwnerState::Dead | OwnerState::Closed) => Life::Died,
        }
    }

    /// What the plant waits for; `None` if it works, or has ended.
    pub fn waiting(&self) -> Option<Waiting> {
        self.plant.waiting.filter(|_| self.life() == Life::Running)
    }

    /// What the plant waits for, in words, with the names of followers.
    pub fn waiting_text(&self) -> Option<String> {
        let waiting = self.waiting()?;
        let living = self.followers.iter();
        let living = living.filter(|follower| follower.stat.owner.state == OwnerState::Alive);
        Some(match waiting {
            Waiting::Followers { joined } => {
                let names: Vec<_> = living.map(|follower| follower.name.as_str()).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let wanted = self.plant.wait_for;
                format!("waiting for named followers, {joined} of {wanted} joined: {names}")
            }
            Waiting::Follower => {
                let slowest = living.min_by_key(|follower| follower.stat.position_bytes);
                let name = slowest.map_or("of another user", |follower| &follower.name);
                format!("waiting for follower {name}, half a ring behind")
            }
            other => other.text(self.plant.run.midnight_ns, self.utc.unix_ns()),
        })
    }

    /// The share of the input that was read, if its size is known.
    fn input_percent(&self) -> Option<f64> {
        let total = self.plant.input_total_bytes?;
        Some(self.plant.input_done_bytes.min(total) as f64 * 100.0 / total as f64)
    }

    /// Messages a second over the whole run.
    fn mean_rate(&self) -> Option<f64> {
        let nanos = self.plant.updated_ns.checked_sub(self.plant.run.started_ns)?;
        (nanos > 0).then(|| self.plant.messages as f64 * 1e9 / nanos as f64)
    }

    /// Number of messages in the ring.
    fn held(&self) -> u64 {
        self.ring.next_sequence.saturating_sub(self.ring.oldest_sequence)
    }

    /// Size of the ring.
    pub fn capacity_bytes(&self) -> Option<u64> {
        match self.ring.capacity {
            Capacity::Stream { capacity_bytes } => Some(capacity_bytes),
            Capacity::Slots { .. } => None,
        }
    }

    /// The share of the ring's bytes that hold messages.
    fn fill_percent(&self) -> Option<f64> {
        Some(self.ring.used_bytes as f64 * 100.0 / self.capacity_bytes()? as f64)
    }

    /// The time from the oldest record in the ring to the last: if the ring is full, a tap with a
    /// larger lag is lapped.
    fn span_ns(&self) -> Option<u64> {
        self.ring.ts_publish_ns.checked_sub(self.oldest_ns?).filter(|_| self.held() > 0)
    }

    /// An increase since an earlier query, per second; `None` if no time passed, or another run
    /// began meanwhile.
    fn rate(&self, before: &Self, clock: &Clock, increase: u64) -> Option<f64> {
        let nanos = clock.nanos_between(before.at, self.at);
        (before.plant.run == self.plant.run && nanos > 0)
            .then(|| increase as f64 * 1e9 / nanos as f64)
    }

    /// Nanoseconds since a time that the plant reports; `None` if it reports none.
    fn age_ns(&self, utc_ns: u64) -> Option<i64> {
        let then = i64::try_from(utc_ns).ok().filter(|&then| then > 0)?;
        Some(self.utc.get().saturating_sub(then))
    }
}

impl Life {
    /// The name that is printed, without the reason.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopped(_) => "stopped",
            Self::Died => "died",
        }
    }

    /// All names.
    pub const NAMES: [&str; 4] = ["starting", "running", "stopped", "died"];
}
