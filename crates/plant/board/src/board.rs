//! The board of a plant: counters, gauges and stock names in shared memory, next to its ring. Other
//! processes read it.
//!
//! Where: `Publisher` writes it, `nanotape stat` and
//! `Subscriber` read it. `docs/formats/board.md` describes each word.
//! Protocol: each value is one word, stored and loaded whole. Words have no order between them,
//! with one exception: the symbol of a stock is stored before its first record is published. Each
//! run of a plant creates a new board that replaces the previous one, so a mapped board describes
//! one run only. [`BoardReader::first_sequence`] returns the first ring record of that run.
//! Failure: a reader trusts no word: any number might be wrong, and no offset depends on one.
//! Cost: one store for each changed value, once every few messages.

mod layout;
mod live;
mod live_stat;
mod mirrored;
mod reader;
mod stages;
mod waiting;

use std::path::{Path, PathBuf};

use nanotape_book::Anomaly;
use nanotape_feed::Damage;
use nanotape_records::{PlantStop, RecordKind, StopReason};
use nanotape_shm::{
    OwnedRegion, RegionError, RegionOptions, RegionSpec, SharedRegion, Word, beside,
};
use nanotape_types::{StockLocate, Symbol};

pub use layout::BoardSpec;
pub use live_stat::{LineStat, LiveStat, no_times};
// The words that `docs/formats/board.md` is checked against.
use layout::WORDS;
#[doc(hidden)]
pub use layout::{FIELDS, KIND, LAYOUT};
pub use reader::{BoardReader, PlantStat, PlantState};
pub use stages::{Stage, TIMES};
pub use waiting::Waiting;

/// The kinds of damage, in the order in which a board counts them.
pub const DAMAGES: [&str; 3] = ["length", "type", "lost"];

/// The writer's side.
#[derive(Debug)]
pub struct Board {
    region: OwnedRegion,
}

/// Values that change with nearly every message.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    /// The number of the last message of the exchange.
    pub messages: u64,
    /// Numbers up to it whose messages were not read.
    pub unread: u64,
    /// Records of each kind.
    pub records: [u64; RecordKind::ALL.len()],
    /// Notices.
    pub notices: u64,
    /// Exchange time of the last message, ns since midnight.
    pub ts_event: u64,
    /// Offset of the last message in the (decompressed) input.
    pub offset: u64,
}

/// The board that belongs to the ring at a path.
pub fn board_path(ring: &Path) -> PathBuf {
    beside(ring, ".board")
}

impl Board {
    /// Creates the board of a new run next to `ring`, by the writer of this number of the ring. The
    /// run waits for this number of named followers before its first record.
    pub fn create(
        ring: &Path,
        spec: &BoardSpec,
        writer_epoch: u64,
        wait_for: usize,
        options: &RegionOptions,
    ) -> Result<Self, RegionError> {
        let path = board_path(ring);
        let begin = |words: &[Word]| {
            words[layout::STATE].store(layout::RUNNING);
            words[layout::WAIT_FOR].store(wait_for as u64);
            words[layout::WRITER_EPOCH].store(writer_epoch);
            words[layout::PUBLISHER].store(spec.publisher_id.into());
        };
        let (region, _) = OwnedRegion::replace(&path, Self::region_spec(spec), options, begin)?;
        Ok(Self { region })
    }

    /// A board in private memory: for tests, and for benchmarks without shared memory.
    pub fn on_heap(spec: &BoardSpec) -> Self {
        Self { region: OwnedRegion::on_heap(Self::region_spec(spec)) }
    }

    fn region_spec(spec: &BoardSpec) -> RegionSpec {
        RegionSpec { kind: KIND, layout: LAYOUT, parameters: spec.parameters(), words: WORDS }
    }

    /// The region, to check its file.
    pub fn region(&self) -> SharedRegion {
        self.region.share()
    }

    /// A reader in this process.
    pub fn reader(&self) -> BoardReader {
        BoardReader::of(self.region.share())
    }

    /// Stores the symbol of a stock.
    pub fn name(&self, locate: StockLocate, symbol: Symbol) {
        let name = u64::from_le_bytes(symbol.as_bytes());
        self.region.words()[layout::SYMBOLS + locate.index()].store(name);
    }

    /// Counts a message that does not fit the book of its stock; returns whether it is the first
    /// one. A message of no known stock is about no book.
    pub fn taint(&self, locate: StockLocate, anomaly: Anomaly) -> bool {
        self.add(layout::ANOMALIES + anomaly as usize, 1);
        let is_first = locate.is_of_a_stock() && self.add(layout::TAINTS + locate.index(), 1) == 1;
        if is_first {
            self.add(layout::TAINTED_STOCKS, 1);
        }
        is_first
    }

    /// The book of a stock is reliable again; returns whether it was not before.
    pub fn clear_taint(&self, locate: StockLocate) -> bool {
        let words = self.region.words();
        let was_tainted = words[layout::TAINTS + locate.index()].load() > 0;
        if was_tainted {
            words[layout::TAINTS + locate.index()].store(0);
            let tainted = &words[layout::TAINTED_STOCKS];
            tainted.store(tainted.load().saturating_sub(1));
        }
        was_tainted
    }

    /// Counts a damaged part of the input.
    pub fn damage(&self, damage: Damage) {
        let (kind, lost) = match damage {
            Damage::Length { .. } | Damage::Short { .. } => (0, 0),
            Damage::Type { actual_bytes, .. } => (1, u64::from(actual_bytes)),
            Damage::Hidden { bytes, .. } | Damage::Lost { bytes, .. } => (2, bytes),
            Damage::Message { actual_bytes, .. } => (1, u64::from(actual_bytes)),
            Damage::Packet { .. } => (2, 0),
            Damage::Missing { first, next } => {
                self.add(layout::LOST_MESSAGES, next.saturating_sub(first));
                (2, 0)
            }
        };
        self.add(layout::DAMAGES + kind, 1);
        self.add(layout::LOST_BYTES, lost);
    }

    /// Stores the progress of the plant.
    #[inline]
    pub fn show(&self, counts: &Counts, now_ns: u64) {
        let words = self.region.words();
        words[layout::UPDATED_NS].store(now_ns);
        words[layout::MESSAGES].store(counts.messages.saturating_sub(counts.unread));
        words[layout::TS_EVENT].store(counts.ts_event);
        words[layout::OFFSET].store(counts.offset);
        words[layout::NOTICES].store(counts.notices);
        for (place, &count) in counts.records.iter().enumerate() {
            words[layout::RECORDS + place].store(count);
        }
    }

    /// Stores how much of the stored input was read, and its total size.
    pub fn show_input(&self, done_bytes: u64, total_bytes: Option<u64>) {
        self.region.words()[layout::INPUT_DONE].store(done_bytes);
        self.region.words()[layout::INPUT_TOTAL].store(total_bytes.unwrap_or(0));
    }

    /// Stores the statistics of a live session.
    pub fn show_live(&self, stat: &LiveStat) {
        live::store(&self.region.words()[layout::LIVE..], stat);
    }

    /// Stores what the plant waits for; `None` if it works.
    pub fn show_waiting(&self, waiting: Option<Waiting>) {
        waiting::store(self.region.words(), waiting);
    }

    /// Stores the number of live orders.
    pub fn show_orders(&self, live: u64) {
        self.region.words()[layout::LIVE_ORDERS].store(live);
    }

    /// Counts the time that a message spent in a stage.
    pub fn time(&self, stage: Stage, nanos: u64) {
        self.add(layout::STAGES + stage as usize * stages::BUCKETS + stages::bucket(nanos), 1);
    }

    /// Stores how the run ended.
    pub fn stop(&self, stop: &PlantStop) {
        let reason: StopReason = stop.reason;
        self.region.words()[layout::STATE].store(layout::STOPPED | u64::from(reason.code()) << 32);
    }

    /// Adds to a word that only this process writes; returns the sum.
    fn add(&self, word: usize, amount: u64) -> u64 {
        let word = &self.region.words()[word];
        let sum = word.load().saturating_add(amount);
        word.store(sum);
        sum
    }
}
