//! Looks at a plant: its board, its ring, and what follows from two of them.
//!
//! A plant that starts again makes a new board in place of the last one's, and may make a new ring:
//! each look asks first whether what is mapped is still what is there.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use nanotape_clock::{Clock, Stamp};
use nanotape_plant::{
    BoardReader, Event, PlantStat, PlantState, Subscription,
    board::board_path,
    records::{Notice, Record, RecordKind, StopReason},
};
use nanotape_ring::{Capacity, Rejoin, RingError, RingMonitor, Start, Stat};
use nanotape_shm::{OwnerState, Refusal, RegionError};
use nanotape_types::{NanosSinceMidnight, StockLocate, Symbol};

use super::Report;
use crate::regions::{of_region, of_ring};

/// Tries to read the oldest record, while a plant at full speed overwrites it each time.
const TRIES: usize = 8;

/// What a ring keeps in front of each message.
const FRAME_BYTES: u64 = 16;

/// Of a record of the plant's own; they are few, and some are a little longer or shorter.
const NOTICE_BYTES: u64 = 56;

/// A plant that is looked at again and again.
pub(super) struct Watched {
    path: PathBuf,
    board: BoardReader,
    ring: RingMonitor,
}

/// What a plant and its ring looked like, and when.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) at: Stamp,
    pub(super) plant: PlantStat,
    pub(super) ring: Stat,
    /// When the oldest record of the ring was read by its plant, ns since the UNIX epoch.
    pub(super) oldest_ns: Option<u64>,
    pub(super) tainted: Vec<(StockLocate, Option<Symbol>, u64)>,
}

/// What a plant does, as far as it and the kernel tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Life {
    Starting,
    Running,
    Stopped(StopReason),
    /// Its process is gone, and it has not said that it ends.
    Died,
}

impl Watched {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let ring = RingMonitor::open(path).map_err(|error| of_ring(path, &error))?;
        let board = BoardReader::open(path).map_err(|error| of_board(path, &error))?;
        Ok(Self { path: path.to_owned(), board, ring })
    }

    pub(super) fn look(&mut self, clock: &Clock) -> anyhow::Result<Look> {
        self.follow()?;
        let path = &self.path;
        let ring = self.ring.look().map_err(|error| of_ring(path, &error))?;
        let plant = self.board.look();
        let tainted = self.board.tainted();
        let tainted = tainted.map(|(locate, taints)| (locate, self.board.symbol(locate), taints));
        let tainted = tainted.collect();
        // What was cut meanwhile reads as zeros.
        for region in [self.ring.region(), self.board.region()] {
            if region.is_lost() {
                region.check().map_err(|error| of_region(&error))?;
            }
        }
        Ok(Look { at: clock.stamp(), plant, ring, oldest_ns: oldest_ns(path), tainted })
    }

    /// Goes on to the board and the ring of the plant that is there now.
    fn follow(&mut self) -> anyhow::Result<()> {
        let path = &self.path;
        if self.ring.region().check().is_err() {
            let is_coming = |error: &RingError| match error {
                RingError::Region(error) => is_coming(error),
                _ => false,
            };
            let opened = patiently(|| RingMonitor::open(path), is_coming);
            self.ring = opened.map_err(|error| of_ring(path, &error))?;
        }
        if self.board.region().check().is_err() {
            let opened = patiently(|| BoardReader::open(path), is_coming);
            self.board = opened.map_err(|error| of_board(path, &error))?;
        }
        Ok(())
    }
}

/// Whether a plant that starts may be about to make what was asked for.
fn is_coming(error: &RegionError) -> bool {
    matches!(error.refusal(), Refusal::NotFound | Refusal::BeingCreated | Refusal::HalfCreated)
}

/// Tries for a while, because between a plant's first step and its last one there are moments in
/// which the one thing is gone and the other not there yet.
fn patiently<T, E>(
    open: impl Fn() -> Result<T, E>,
    is_coming: impl Fn(&E) -> bool,
) -> Result<T, E> {
    const PATIENCE: u32 = 100;
    for _ in 0..PATIENCE {
        match open() {
            Err(error) if is_coming(&error) => thread::sleep(Duration::from_millis(10)),
            opened => return opened,
        }
    }
    open()
}

/// The ring is there: what of its board?
fn of_board(path: &Path, error: &RegionError) -> anyhow::Error {
    match error.refusal() {
        Refusal::NotFound => anyhow::anyhow!(
            "{}: no plant writes to this ring: {} does not exist; use `nanotape ring stat` for the \
             ring alone",
            path.display(),
            board_path(path).display()
        ),
        _ => of_region(error),
    }
}

/// When the oldest record was read by the plant. A reader of its own: nobody notices it.
fn oldest_ns(path: &Path) -> Option<u64> {
    let subscription = Subscription::to(&path.display().to_string());
    let mut subscriber = subscription.from(Start::Oldest).rejoin(Rejoin::Oldest).open().ok()?;
    let mut oldest = None;
    for _ in 0..TRIES {
        subscriber
            .poll(|event| {
                if let (Event::Record(delivery), None) = (event, oldest) {
                    oldest = time_of(delivery.record);
                }
            })
            .ok()?;
        if oldest.is_some() {
            break;
        }
    }
    oldest
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
        Record::Notice(Notice::Start(start)) => start.started_ns,
        Record::Notice(Notice::Stop(stop)) => stop.stopped_ns,
        _ => return None,
    })
}

impl Look {
    pub(super) fn life(&self) -> Life {
        match (self.plant.state, self.plant.owner.state) {
            (PlantState::Stopped(reason), _) => Life::Stopped(reason),
            (PlantState::Starting, OwnerState::Alive) => Life::Starting,
            (PlantState::Running, OwnerState::Alive) => Life::Running,
            (_, OwnerState::Dead | OwnerState::Closed) => Life::Died,
        }
    }

    /// The exchange's time of day of the last message.
    pub(super) fn time_of_day(&self) -> Option<NanosSinceMidnight> {
        let since = self.plant.ts_event.checked_sub(self.plant.run.midnight_ns)?;
        NanosSinceMidnight::new(since).filter(|_| self.plant.ts_event != 0)
    }

    /// How much of the input was read, where its size is known.
    pub(super) fn input_percent(&self) -> Option<f64> {
        let total = self.plant.input_total_bytes?;
        Some(self.plant.input_done_bytes.min(total) as f64 * 100.0 / total as f64)
    }

    /// Messages a second over the whole run.
    pub(super) fn mean_rate(&self) -> Option<f64> {
        let nanos = self.plant.updated_ns.checked_sub(self.plant.run.started_ns)?;
        (nanos > 0).then(|| self.plant.messages as f64 * 1e9 / nanos as f64)
    }

    pub(super) fn held(&self) -> u64 {
        self.ring.next_sequence.saturating_sub(self.ring.oldest_sequence)
    }

    pub(super) fn capacity_bytes(&self) -> Option<u64> {
        match self.ring.capacity {
            Capacity::Stream { capacity_bytes } => Some(capacity_bytes),
            Capacity::Slots { .. } => None,
        }
    }

    /// Whether the oldest messages were overwritten: such a ring stays full.
    pub(super) fn is_full(&self) -> bool {
        self.ring.oldest_sequence > 1
    }

    /// How much of the ring's bytes hold messages; none if an earlier run filled a part that nobody
    /// has counted.
    pub(super) fn fill_percent(&self) -> Option<f64> {
        if self.is_full() {
            return Some(100.0);
        }
        if self.plant.run.first_sequence != 1 {
            return None;
        }
        let notices = (NOTICE_BYTES + FRAME_BYTES).saturating_mul(self.plant.notices);
        let frames = RecordKind::ALL
            .into_iter()
            .zip(self.plant.records)
            .map(|(kind, count)| (kind.length() as u64 + FRAME_BYTES).saturating_mul(count));
        let bytes = frames.fold(notices, u64::saturating_add);
        Some((bytes as f64 * 100.0 / self.capacity_bytes()? as f64).min(100.0))
    }

    /// The time from the oldest record in the ring to the last: if the ring is full, a tap that is
    /// further behind is lapped.
    pub(super) fn span_ns(&self) -> Option<u64> {
        self.ring.ts_publish_ns.checked_sub(self.oldest_ns?).filter(|_| self.held() > 0)
    }
}

impl Life {
    /// As it is printed, without its reason.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopped(_) => "stopped",
            Self::Died => "died",
        }
    }

    pub(super) const NAMES: [&str; 4] = ["starting", "running", "stopped", "died"];
}

impl Report<'_> {
    /// A rate of a number that grows; none if no time passed, or another run began meanwhile.
    pub(super) fn rate(&self, count: impl Fn(&Look) -> u64) -> Option<f64> {
        let nanos = self.clock.nanos_between(self.before.at, self.now.at);
        let is_same_run = self.before.plant.run == self.now.plant.run;
        let more = count(self.now).saturating_sub(count(self.before));
        (is_same_run && nanos > 0).then(|| more as f64 * 1e9 / nanos as f64)
    }

    /// How long ago something was that the plant told a time of.
    pub(super) fn age_ns(&self, utc_ns: u64) -> Option<i64> {
        let then = i64::try_from(utc_ns).ok().filter(|&then| then > 0)?;
        Some(self.clock.utc(self.now.at).get().saturating_sub(then))
    }
}
