//! The spans of a recorder: reading a record, appending it to the journal, syncing the journal, and
//! showing the progress to the plant.

use std::path::{Path, PathBuf};

use nanotape_board::BoardReader;
use nanotape_shm::SharedRegion;
use nanotape_tape::Item;

use crate::spans::{RECORDER, ReaderTrace, RunNumbers};

/// The spans of a recorder, and the board of the plant whose records it reads.
#[derive(Debug)]
pub(super) struct RecorderSpans {
    ring: PathBuf,
    trace: ReaderTrace,
    board: Option<BoardReader>,
}

impl RecorderSpans {
    /// Those of the recorder of this ring; `None` if it cannot have any.
    pub(super) fn start(ring: &Path) -> Option<Self> {
        let trace = ReaderTrace::start(ring, RECORDER)?;
        Some(Self { ring: ring.to_owned(), trace, board: None })
    }

    /// A poll of the ring with this region begins.
    #[inline]
    pub(super) fn begin_poll(&mut self, region: &SharedRegion) {
        let Self { ring, trace, board } = self;
        trace.begin_poll(|| {
            let is_of_writer = |board: &BoardReader| board.writer_epoch() == region.epoch();
            if !board.as_ref().is_some_and(is_of_writer) {
                *board = BoardReader::open(ring).ok().filter(is_of_writer);
            }
            board.as_ref().and_then(RunNumbers::of)
        });
    }

    /// An item was read.
    #[inline]
    pub(super) fn read(&mut self, item: &Item<'_>) {
        if let Item::Message(record) = item {
            self.trace.read(record);
        }
    }

    /// It was appended.
    #[inline]
    pub(super) fn appended(&mut self) {
        self.trace.done();
    }

    /// The journal was synced after it.
    #[inline]
    pub(super) fn synced(&mut self) {
        self.trace.synced();
    }

    /// The progress is shown.
    #[inline]
    pub(super) fn shown(&mut self) {
        self.trace.shown();
    }
}
