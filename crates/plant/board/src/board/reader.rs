//! Reads a board from another process.

use std::{os::unix::fs::MetadataExt as _, path::Path};

use nanotape_book::Anomaly;
use nanotape_records::{RecordKind, RecordKinds, StopReason, UNSTATED_PUBLISHER_ID};
use nanotape_shm::{Owner, OwnerState, Refusal, RegionError, SharedRegion};
use nanotape_trace::Histogram;
use nanotape_types::{NanosSinceMidnight, StockLocate, Symbol};

use super::LiveStat;
use super::{
    board_path,
    layout::{self, BoardSpec, KIND, LAYOUT, WORDS},
    live,
    stages::{BUCKETS, Stage, TIMES},
    waiting::{self, Waiting},
};

/// The reader's side: describes one run of a plant.
#[derive(Clone, Debug)]
pub struct BoardReader {
    region: SharedRegion,
    spec: BoardSpec,
}

/// The contents of a board at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlantStat {
    /// The process that writes the board, and whether it is alive.
    pub owner: Owner,
    /// The state that the plant reports.
    pub state: PlantState,
    /// Values that are constant for the run.
    pub run: BoardSpec,
    /// Time of the last update, ns since the UNIX epoch; 0 before the first one.
    pub updated_ns: u64,
    /// Messages read.
    pub messages: u64,
    /// The exchange's time of the last message, ns since the UNIX epoch.
    pub ts_event: u64,
    /// Offset of the last message in the (decompressed) input.
    pub offset: u64,
    /// Bytes of the stored input that were read.
    pub input_done_bytes: u64,
    /// Size of the stored input, if known.
    pub input_total_bytes: Option<u64>,
    /// Live orders in all books.
    pub live_orders: u64,
    /// Records published, in the order of [`RecordKind::ALL`].
    pub records: [u64; RecordKind::ALL.len()],
    /// Notices published.
    pub notices: u64,
    /// What the plant waits for; `None` if it works.
    pub waiting: Option<Waiting>,
    /// Named followers that the plant waits for before its first record; 0: it waits for none.
    pub wait_for: u64,
    /// Damaged parts of the input: wrong lengths, wrong types, lost bytes.
    pub damages: [u64; 3],
    /// Bytes of input that were skipped.
    pub lost_bytes: u64,
    /// Messages of a session that no line brought.
    pub lost_messages: u64,
    /// Messages that did not fit their book, in the order of [`Anomaly::ALL`].
    pub anomalies: [u64; Anomaly::ALL.len()],
    /// Stocks whose book is unreliable.
    pub tainted_stocks: u64,
    /// Processing times in ns by stage, of a sample of the messages.
    pub stages: Vec<(Stage, Histogram)>,
    /// The lines and gaps of a live session; `None` if the plant reads a file.
    pub live: Option<LiveStat>,
}

/// The state that a plant reports. A killed plant leaves its last state: check the owner too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlantState {
    /// No state was reported yet.
    Starting,
    /// The plant reads and publishes.
    Running,
    /// The plant ended cleanly.
    Stopped(StopReason),
}

impl BoardReader {
    /// Opens the board next to `ring`. Needs only permission to read the file.
    pub fn open(ring: &Path) -> Result<Self, RegionError> {
        let path = board_path(ring);
        let region = SharedRegion::open_as(&path, KIND, LAYOUT, WORDS)?;
        // The ring can be gone before its board. Another user cannot give symbols to a ring.
        let of_ring = std::fs::symlink_metadata(ring).ok().map(|ring| ring.uid());
        match region.user().zip(of_ring) {
            Some((owner, expected)) if owner != expected => {
                Err(RegionError::new(&path, Refusal::BesideOfAnotherUser { owner, expected }))
            }
            _ => Ok(Self::of(region)),
        }
    }

    pub(super) fn of(region: SharedRegion) -> Self {
        let mut spec = BoardSpec::of_parameters(region.spec().parameters);
        spec.publisher_id = match region.words()[layout::PUBLISHER].load() {
            0 => UNSTATED_PUBLISHER_ID,
            publisher_id => publisher_id as u16,
        };
        Self { region, spec }
    }

    /// The ring's sequence number of the first record of this run. Its records extend from there to
    /// the next start of a plant.
    pub fn first_sequence(&self) -> u64 {
        self.spec.first_sequence
    }

    /// The number of the plant among the writers of the ring; 0 if the board is in private memory.
    pub fn writer_epoch(&self) -> u64 {
        self.word(layout::WRITER_EPOCH)
    }

    /// Whether this is the board of the plant that writes `ring` now. A plant locks the ring and
    /// the board of the run before it while it takes them over, so a living owner is not enough.
    pub fn is_of_writer(&self, ring: &SharedRegion) -> bool {
        let is_alive = |region: &SharedRegion| region.owner().state == OwnerState::Alive;
        is_alive(ring) && is_alive(&self.region) && self.writer_epoch() == ring.epoch()
    }

    /// Values that are constant for the run.
    pub fn run(&self) -> &BoardSpec {
        &self.spec
    }

    /// The region that contains the board.
    pub fn region(&self) -> &SharedRegion {
        &self.region
    }

    /// The symbol of a stock, if known.
    pub fn symbol(&self, locate: StockLocate) -> Option<Symbol> {
        let name = self.word(layout::SYMBOLS + locate.index());
        (name != 0).then(|| Symbol::new(name.to_le_bytes()))
    }

    /// The locate of a symbol: a linear search.
    pub fn locate(&self, symbol: Symbol) -> Option<StockLocate> {
        self.symbols().find(|&(_, known)| known == symbol).map(|(locate, _)| locate)
    }

    /// All known pairs, by locate.
    pub fn symbols(&self) -> impl Iterator<Item = (StockLocate, Symbol)> + '_ {
        let locates = StockLocate::all();
        locates.filter_map(|locate| Some((locate, self.symbol(locate)?)))
    }

    /// Messages that did not fit the book of a stock: if there are any, the book is unreliable.
    pub fn taints(&self, locate: StockLocate) -> u64 {
        self.word(layout::TAINTS + locate.index())
    }

    /// The stocks whose book is unreliable.
    pub fn tainted(&self) -> impl Iterator<Item = (StockLocate, u64)> + '_ {
        let locates = StockLocate::all();
        locates.map(|locate| (locate, self.taints(locate))).filter(|&(_, taints)| taints > 0)
    }

    /// Bytes of the stored input: read, and in total if that is known.
    pub fn input_bytes(&self) -> (u64, Option<u64>) {
        let total = self.word(layout::INPUT_TOTAL);
        (self.word(layout::INPUT_DONE), (total != 0).then_some(total))
    }

    /// What the plant waits for; `None` if it works.
    pub fn waiting(&self) -> Option<Waiting> {
        waiting::load(|word| self.word(word))
    }

    /// The number of the last message, as of the last periodic check; 0 before it.
    pub fn messages(&self) -> u64 {
        self.word(layout::MESSAGES)
    }

    /// Named followers that the plant waits for before its first record; 0: it waits for none.
    pub fn wait_for(&self) -> u64 {
        self.word(layout::WAIT_FOR)
    }

    /// Reads all values. Each number is whole; together they are of about the same time.
    pub fn sample(&self) -> PlantStat {
        let (input_done_bytes, input_total_bytes) = self.input_bytes();
        let state = self.word(layout::STATE);
        PlantStat {
            owner: self.region.owner(),
            state: match state as u32 as u64 {
                layout::RUNNING => PlantState::Running,
                layout::STOPPED => PlantState::Stopped(StopReason::of((state >> 32) as u32)),
                _ => PlantState::Starting,
            },
            run: self.spec,
            updated_ns: self.word(layout::UPDATED_NS),
            messages: self.word(layout::MESSAGES),
            ts_event: self.word(layout::TS_EVENT),
            offset: self.word(layout::OFFSET),
            input_done_bytes,
            input_total_bytes,
            live_orders: self.word(layout::LIVE_ORDERS),
            records: core::array::from_fn(|kind| self.word(layout::RECORDS + kind)),
            notices: self.word(layout::NOTICES),
            waiting: self.waiting(),
            wait_for: self.wait_for(),
            damages: core::array::from_fn(|kind| self.word(layout::DAMAGES + kind)),
            lost_bytes: self.word(layout::LOST_BYTES),
            lost_messages: self.word(layout::LOST_MESSAGES),
            anomalies: core::array::from_fn(|kind| self.word(layout::ANOMALIES + kind)),
            tainted_stocks: self.word(layout::TAINTED_STOCKS),
            stages: Stage::ALL.map(|stage| (stage, self.times(stage))).into(),
            live: live::load(|place| self.word(layout::LIVE + place)),
        }
    }

    fn times(&self, stage: Stage) -> Histogram {
        let first = layout::STAGES + stage as usize * BUCKETS;
        let counts = (first..first + BUCKETS).map(|word| self.word(word)).collect();
        Histogram::of_counts(TIMES, counts)
    }

    fn word(&self, word: usize) -> u64 {
        self.region.words()[word].load()
    }
}

impl PlantStat {
    /// The exchange's time of day of the last message.
    pub fn time_of_day(&self) -> Option<NanosSinceMidnight> {
        let since = self.ts_event.checked_sub(self.run.midnight_ns)?;
        NanosSinceMidnight::new(since).filter(|_| self.ts_event != 0)
    }

    /// Number of records of all kinds.
    pub fn total_records(&self) -> u64 {
        self.records.iter().fold(self.notices, |sum, &count| sum.saturating_add(count))
    }

    /// The kinds of records that the plant publishes.
    pub fn kinds(&self) -> RecordKinds {
        RecordKinds::of_bits(self.run.kinds)
    }
}
