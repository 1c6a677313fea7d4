//! A board seen from outside.

use std::path::Path;

use nanotape_book::Anomaly;
use nanotape_shm::{Owner, Refusal, RegionError, SharedRegion};
use nanotape_types::{StockLocate, Symbol};

use super::{
    board_path,
    layout::{self, BoardSpec, KIND, LAYOUT, WORDS},
    stages::{BUCKETS, Stage, StageTimes},
};
use crate::records::{RecordKind, RecordKinds, StopReason};

/// The reader's side: about one run of a plant.
#[derive(Clone, Debug)]
pub struct BoardReader {
    region: SharedRegion,
    spec: BoardSpec,
}

/// What a plant shows of itself, at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlantStat {
    /// Who writes it, and whether that process lives.
    pub owner: Owner,
    /// What the plant says that it does.
    pub state: PlantState,
    /// What is the same for the whole run.
    pub run: BoardSpec,
    /// When the rest was brought up to date, ns since the UNIX epoch; 0 if it never was.
    pub updated_ns: u64,
    /// Messages read.
    pub messages: u64,
    /// The exchange's time of the last one, ns since the UNIX epoch.
    pub ts_event: u64,
    /// Offset of the last one in the (decompressed) input.
    pub offset: u64,
    /// Bytes of the input as it is stored: read.
    pub input_done_bytes: u64,
    /// And in all, where that is known.
    pub input_total_bytes: Option<u64>,
    /// Live orders in all books.
    pub live_orders: u64,
    /// Records published, in the order of [`RecordKind::ALL`].
    pub records: [u64; RecordKind::ALL.len()],
    /// Records of our own.
    pub notices: u64,
    /// Damaged places in the input: wrong lengths, wrong types, lost bytes.
    pub damages: [u64; 3],
    /// Bytes of input that were skipped.
    pub lost_bytes: u64,
    /// Messages that did not fit their book, in the order of [`Anomaly::ALL`].
    pub anomalies: [u64; Anomaly::ALL.len()],
    /// Stocks whose book cannot be trusted.
    pub tainted_stocks: u64,
    /// How long messages take.
    pub stages: Vec<StageTimes>,
}

/// What a plant says that it does. A plant that was killed says what it did then: ask its owner
/// too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlantState {
    /// It has not said anything yet.
    Starting,
    /// It reads and publishes.
    Running,
    /// It ended in good order.
    Stopped(StopReason),
}

impl BoardReader {
    /// Opens the board beside `ring`. Needs no more than permission to read the file.
    pub fn open(ring: &Path) -> Result<Self, RegionError> {
        let path = board_path(ring);
        let region = SharedRegion::open(&path, KIND)?;
        let spec = region.spec();
        let refusal = if spec.layout != LAYOUT {
            Refusal::Layout { found: spec.layout, expected: LAYOUT }
        } else if spec.words != WORDS {
            Refusal::Contradiction { field: "words", found: spec.words as u64 }
        } else {
            return Ok(Self::of(region));
        };
        Err(RegionError::new(&path, refusal))
    }

    pub(super) fn of(region: SharedRegion) -> Self {
        let spec = BoardSpec::of_parameters(region.spec().parameters);
        Self { region, spec }
    }

    /// The ring's sequence number of the first record of this board's run. Records from there on,
    /// up to the next start of a plant, are its.
    pub fn first_sequence(&self) -> u64 {
        self.spec.first_sequence
    }

    /// What is the same for the whole run.
    pub fn run(&self) -> &BoardSpec {
        &self.spec
    }

    /// The region that it is in.
    pub fn region(&self) -> &SharedRegion {
        &self.region
    }

    /// The symbol of a stock, if a message has told it.
    pub fn symbol(&self, locate: StockLocate) -> Option<Symbol> {
        let name = self.word(layout::SYMBOLS + locate.index());
        (name != 0).then(|| Symbol::new(name.to_le_bytes()))
    }

    /// The locate of a symbol: a walk over all of them.
    pub fn locate(&self, symbol: Symbol) -> Option<StockLocate> {
        self.symbols().find(|&(_, known)| known == symbol).map(|(locate, _)| locate)
    }

    /// All known pairs, by locate.
    pub fn symbols(&self) -> impl Iterator<Item = (StockLocate, Symbol)> + '_ {
        let locates = StockLocate::all();
        locates.filter_map(|locate| Some((locate, self.symbol(locate)?)))
    }

    /// Messages that did not fit the book of a stock: if there are any, it cannot be trusted.
    pub fn taints(&self, locate: StockLocate) -> u64 {
        self.word(layout::TAINTS + locate.index())
    }

    /// The stocks whose book cannot be trusted.
    pub fn tainted(&self) -> impl Iterator<Item = (StockLocate, u64)> + '_ {
        let locates = StockLocate::all();
        locates.map(|locate| (locate, self.taints(locate))).filter(|&(_, taints)| taints > 0)
    }

    /// Looks at everything now. Each number is whole; together they are as of about the same time.
    pub fn look(&self) -> PlantStat {
        let known = |number: u64| (number != 0).then_some(number);
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
            input_done_bytes: self.word(layout::INPUT_DONE),
            input_total_bytes: known(self.word(layout::INPUT_TOTAL)),
            live_orders: self.word(layout::LIVE_ORDERS),
            records: core::array::from_fn(|kind| self.word(layout::RECORDS + kind)),
            notices: self.word(layout::NOTICES),
            damages: core::array::from_fn(|kind| self.word(layout::DAMAGES + kind)),
            lost_bytes: self.word(layout::LOST_BYTES),
            anomalies: core::array::from_fn(|kind| self.word(layout::ANOMALIES + kind)),
            tainted_stocks: self.word(layout::TAINTED_STOCKS),
            stages: Stage::ALL.into_iter().map(|stage| self.times(stage)).collect(),
        }
    }

    fn times(&self, stage: Stage) -> StageTimes {
        let first = layout::STAGES + stage as usize * BUCKETS;
        let counts = (first..first + BUCKETS).map(|word| self.word(word)).collect();
        StageTimes::of(stage, counts)
    }

    fn word(&self, word: usize) -> u64 {
        self.region.words()[word].load()
    }
}

impl PlantStat {
    /// Records of all kinds.
    pub fn total_records(&self) -> u64 {
        self.records.iter().fold(self.notices, |sum, &count| sum.saturating_add(count))
    }

    /// The kinds that it publishes.
    pub fn kinds(&self) -> RecordKinds {
        RecordKinds::of_bits(self.run.kinds)
    }
}
