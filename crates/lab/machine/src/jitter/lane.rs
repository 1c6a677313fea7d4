//! The three kinds of rings behind one interface for round trips.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use nanotape_ring::{Publish, Read, ReadError, RingError, Start, Subscribe, slots, stream};
use nanotape_shm::{OwnedRegion, RegionOptions, RegionPages};

use super::{
    JitterError, RingKind,
    cells::{CellReader, CellWriter, Cells, Direction},
};

/// Bytes of a message in the rings for data.
const MESSAGE_BYTES: usize = 8;

/// Messages that a ring holds; with huge pages, one of those.
const CELLS: usize = 512;
const HUGE_BYTES: usize = 2 << 20;

/// The type of all messages.
const TYPE_ID: u16 = 1;

/// The writing end of a ring.
pub(super) trait Send {
    fn send(&mut self, value: u64) -> Result<(), JitterError>;
}

/// The reading end.
pub(super) trait Take {
    fn try_take(&mut self) -> Result<Option<u64>, JitterError>;
}

impl Send for CellWriter {
    #[inline(always)]
    fn send(&mut self, value: u64) -> Result<(), JitterError> {
        CellWriter::send(self, value);
        Ok(())
    }
}

impl Take for CellReader {
    #[inline(always)]
    fn try_take(&mut self) -> Result<Option<u64>, JitterError> {
        Ok(CellReader::try_take(self))
    }
}

/// An end of a ring for data.
pub(super) struct Data<End>(End);

impl<W: Publish> Send for Data<W> {
    #[inline(always)]
    fn send(&mut self, value: u64) -> Result<(), JitterError> {
        self.0.publish(TYPE_ID, &value.to_le_bytes()).map(|_| ()).map_err(|_| JitterError::Lost)
    }
}

impl<R: Subscribe> Take for Data<R> {
    #[inline(always)]
    fn try_take(&mut self) -> Result<Option<u64>, JitterError> {
        let mut bytes = [0; MESSAGE_BYTES];
        match self.0.try_read(&mut bytes) {
            Ok(Read::Message(_)) => Ok(Some(u64::from_le_bytes(bytes))),
            Ok(Read::Empty) => Ok(None),
            Ok(Read::Lapped(_)) | Err(ReadError::Truncated { .. }) => Err(JitterError::Lost),
            Err(_) => Err(JitterError::Lost),
        }
    }
}

/// Both ends of one ring, and what the system refused.
pub(super) struct Lane<S, T> {
    pub(super) sender: S,
    pub(super) taker: T,
    pub(super) refused: Option<String>,
}

/// Both rings of cells.
pub(super) fn cells(huge_pages: bool) -> Result<[Lane<CellWriter, CellReader>; 2], JitterError> {
    let (rings, refused) = if huge_pages {
        let file = Unlinked::new();
        let made = Cells::in_huge_pages(&file.0, HUGE_BYTES / 16);
        let failed = |reason: String| JitterError::Ring { kind: RingKind::Cells, reason };
        let (rings, pages) = made.map_err(|error| failed(error.to_string()))?;
        (rings, refusal(&pages))
    } else {
        (Cells::on_heap(CELLS), None)
    };
    let lane = |direction, refused| Lane {
        sender: rings.writer(direction),
        taker: rings.reader(direction),
        refused,
    };
    Ok([lane(Direction::There, refused), lane(Direction::Back, None)])
}

type DataLane<W> = Lane<Data<W>, Data<<W as Publish>::Reader>>;

pub(super) fn stream(huge_pages: bool) -> Result<DataLane<stream::Writer>, JitterError> {
    let writer = if huge_pages {
        let file = Unlinked::new();
        stream::Writer::create(&file.0, HUGE_BYTES, &options()).map(|(writer, _)| writer)
    } else {
        stream::Writer::on_heap(CELLS * 64)
    };
    data(RingKind::Stream, writer, huge_pages)
}

pub(super) fn slots(huge_pages: bool) -> Result<DataLane<slots::Writer>, JitterError> {
    let writer = if huge_pages {
        let file = Unlinked::new();
        let count = HUGE_BYTES / 64;
        slots::Writer::create(&file.0, count, MESSAGE_BYTES, &options()).map(|(writer, _)| writer)
    } else {
        slots::Writer::on_heap(CELLS, MESSAGE_BYTES)
    };
    data(RingKind::Slots, writer, huge_pages)
}

fn data<W: Publish>(
    kind: RingKind,
    writer: Result<W, RingError>,
    huge_pages: bool,
) -> Result<DataLane<W>, JitterError> {
    let failed = |error: RingError| JitterError::Ring { kind, reason: error.to_string() };
    let writer = writer.map_err(failed)?;
    let reader = writer.reader(Start::Oldest).map_err(failed)?;
    let pages = |region: &OwnedRegion| refusal(&region.residency().huge_pages);
    let refused = if huge_pages { pages(writer.region()) } else { None };
    Ok(Lane { sender: Data(writer), taker: Data(reader), refused })
}

fn options() -> RegionOptions {
    RegionOptions { huge_pages: true, ..RegionOptions::default() }
}

/// A sentence if huge pages were requested and not given.
fn refusal(pages: &RegionPages) -> Option<String> {
    let is_given = matches!(pages, RegionPages::Granted { .. } | RegionPages::FileSystem { .. });
    (!is_given).then(|| format!("huge pages were refused: {pages}"))
}

/// A path in shared memory that is removed as soon as the ring is mapped.
struct Unlinked(PathBuf);

impl Unlinked {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(Path::new("/dev/shm").join(format!("nanotape-jitter-{}-{count}", std::process::id())))
    }
}

impl Drop for Unlinked {
    fn drop(&mut self) {
        // There is no file if the ring could not be created.
        let _ = fs::remove_file(&self.0);
    }
}
