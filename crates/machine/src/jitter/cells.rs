//! A ring of eight-byte cells: the least that two processors can exchange.
//!
//! A cell is one atomic word: 63 bits of value, and a bit that changes each time the writer comes
//! round. The reader knows which bit it waits for, so that it clears nothing: one message moves one
//! cache line once. The value and its announcement are one store, so no ordering between words is
//! needed.
//! Bounds: one writer and one reader; the writer must not be a whole ring ahead. Round trips are
//! never more than one message ahead.
//!
//! It is an instrument: [`nanotape_ring`] has the rings for data.

use std::path::Path;

use nanotape_shm::{OwnedRegion, RegionError, RegionOptions, RegionSpec, SharedRegion};

const KIND: [u8; 8] = *b"CELLS   ";
const LAYOUT: u64 = u64::from_be_bytes(*b"cells  1");

/// The largest value.
pub const MOST_VALUE: u64 = u64::MAX >> 1;

/// The writing end.
#[derive(Debug)]
pub struct CellWriter {
    region: OwnedRegion,
    next: Place,
}

/// The reading end.
#[derive(Debug)]
pub struct CellReader {
    region: SharedRegion,
    next: Place,
}

/// The next cell, and the bit of this time round.
#[derive(Clone, Copy, Debug)]
struct Place {
    index: usize,
    mask: usize,
    bit: u64,
}

impl Place {
    /// The first cell. A new region is all zero, so the first time round sets the bit.
    fn first(cells: usize) -> Self {
        Self { index: 0, mask: cells - 1, bit: 1 }
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.index = (self.index + 1) & self.mask;
        self.bit ^= u64::from(self.index == 0);
    }
}

impl CellWriter {
    /// A ring in private memory, of a power of two of cells.
    pub fn on_heap(cells: usize) -> Self {
        Self { region: OwnedRegion::on_heap(spec(cells)), next: Place::first(cells) }
    }

    /// A ring in a file, for processes or for huge pages.
    pub fn create(path: &Path, cells: usize, options: &RegionOptions) -> Result<Self, RegionError> {
        let (region, _) = OwnedRegion::replace(path, spec(cells), options, |_| {})?;
        Ok(Self { region, next: Place::first(cells) })
    }

    /// Writes the next message, a value up to [`MOST_VALUE`].
    #[inline(always)]
    pub fn send(&mut self, value: u64) {
        self.region.words()[self.next.index].store(value << 1 | self.next.bit);
        self.next.advance();
    }

    /// The reader of this ring, in this process.
    pub fn reader(&self) -> CellReader {
        CellReader { region: self.region.share(), next: Place::first(self.region.words().len()) }
    }

    /// The memory of the ring.
    pub fn region(&self) -> &OwnedRegion {
        &self.region
    }
}

impl CellReader {
    /// Opens a ring that another process has created and not yet written.
    pub fn open(path: &Path, cells: usize) -> Result<Self, RegionError> {
        let region = SharedRegion::open_as(path, KIND, LAYOUT, spec(cells).words)?;
        Ok(Self { region, next: Place::first(cells) })
    }

    /// The next message, if it is there.
    #[inline(always)]
    pub fn try_take(&mut self) -> Option<u64> {
        let word = self.region.words()[self.next.index].load();
        (word & 1 == self.next.bit).then(|| {
            self.next.advance();
            word >> 1
        })
    }
}

fn spec(cells: usize) -> RegionSpec {
    assert!(cells.is_power_of_two(), "{cells} cells are not a power of two");
    RegionSpec { kind: KIND, layout: LAYOUT, parameters: [cells as u64, 0, 0, 0], words: cells }
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;

    use super::*;

    #[test]
    fn messages_arrive_once_and_in_order_many_times_round() {
        let mut writer = CellWriter::on_heap(4);
        let mut reader = writer.reader();
        assert_eq!(reader.try_take(), None);
        for value in 0..100 {
            writer.send(value);
            assert_eq!(reader.try_take(), Some(value));
            assert_eq!(reader.try_take(), None);
        }
        for value in [0, MOST_VALUE, 0] {
            writer.send(value);
        }
        let taken = [(); 4].map(|()| reader.try_take());
        assert_eq!(taken, [Some(0), Some(MOST_VALUE), Some(0), None]);
    }

    #[test]
    fn two_threads_count_together() {
        let (mut there, mut back) = (CellWriter::on_heap(64), CellWriter::on_heap(64));
        let (mut at_ponger, mut at_pinger) = (there.reader(), back.reader());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for _ in 0..2_000 {
                    let value = loop {
                        match at_ponger.try_take() {
                            Some(value) => break value,
                            None => std::thread::yield_now(),
                        }
                    };
                    back.send(value + 1);
                }
            });
            let mut value = 0;
            for _ in 0..2_000 {
                there.send(value);
                value = loop {
                    match at_pinger.try_take() {
                        Some(value) => break value,
                        None => std::thread::yield_now(),
                    }
                } + 1;
            }
            assert_eq!(value, 4_000);
        });
    }

    #[test]
    fn a_ring_in_a_file_is_opened_by_its_path_and_other_files_are_refused() {
        let scratch = Scratch::folder("cells");
        let path = scratch.path().join("ring");
        let mut writer = CellWriter::create(&path, 8, &RegionOptions::default()).unwrap();
        let mut reader = CellReader::open(&path, 8).unwrap();
        writer.send(7);
        assert_eq!(reader.try_take(), Some(7));
        std::fs::write(scratch.path().join("text"), "not a ring").unwrap();
        assert!(CellReader::open(&scratch.path().join("text"), 8).is_err());
        assert!(CellReader::open(&path, 16).is_err());
    }

    #[test]
    #[should_panic(expected = "not a power of two")]
    fn cells_are_a_power_of_two() {
        CellWriter::on_heap(3);
    }
}
