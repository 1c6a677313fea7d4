//! Two rings of eight-byte cells, one for each direction: the least that two processors can
//! exchange.
//!
//! ```text
//!   words    there 0 | back 0 | there 1 | back 1 | ...
//!            one writes    the other one writes
//! ```
//!
//! A cell is one atomic word: 63 bits of value, and a bit that changes each time its writer comes
//! round. The reader knows which bit it waits for, so that it clears nothing. The value and its
//! announcement are one store, so no ordering between words is needed.
//!
//! The cells of the two rings alternate, so that a question and its answer are in one cache line. A
//! round trip then moves one line there and back, like two processors that write one word in turns;
//! with a line for each ring it takes a fifth longer where two threads share a core
//! (`lab bench gaps`).
//! Bounds: one writer and one reader for each ring; a writer must not be a whole ring ahead. Round
//! trips are never more than one message ahead.
//!
//! It is an instrument: [`nanotape_ring`] has the rings for data.

use std::{fs::File, io, path::Path, sync::Arc};

use nanotape_shm::{
    OwnedRegion, RegionError, RegionOptions, RegionPages, RegionSpec, WORD_BYTES, Word,
    WritableWords,
};

const KIND: [u8; 8] = *b"CELLS   ";
const LAYOUT: u64 = u64::from_be_bytes(*b"cells  2");

/// The largest value.
pub const MOST_VALUE: u64 = u64::MAX >> 1;

/// Two rings.
#[derive(Clone, Debug)]
pub struct Cells {
    memory: Arc<Memory>,
    cells: usize,
}

#[derive(Debug)]
enum Memory {
    /// Of this process.
    Own(OwnedRegion),
    /// A file that two processes map for writing.
    Shared(WritableWords),
}

/// The direction of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the pinger.
    There = 0,
    /// From the one that answers.
    Back = 1,
}

/// The writing end of a ring.
#[derive(Debug)]
pub struct CellWriter {
    memory: Arc<Memory>,
    next: Place,
}

/// The reading end of a ring.
#[derive(Debug)]
pub struct CellReader {
    memory: Arc<Memory>,
    next: Place,
}

/// The word of the next cell, and the bit of this time round.
#[derive(Clone, Copy, Debug)]
struct Place {
    word: usize,
    mask: usize,
    first: usize,
    bit: u64,
}

impl Place {
    /// The first cell. New memory is all zero, so the first time round sets the bit.
    fn first(cells: usize, direction: Direction) -> Self {
        let first = direction as usize;
        Self { word: first, mask: 2 * cells - 1, first, bit: 1 }
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.word = (self.word + 2) & self.mask;
        self.bit ^= u64::from(self.word == self.first);
    }
}

impl Cells {
    /// Rings in private memory, of a power of two of cells each.
    pub fn on_heap(cells: usize) -> Self {
        Self::new(Memory::Own(OwnedRegion::on_heap(spec(cells))), cells)
    }

    /// Rings in a new file, in huge pages if the system has them; the pages that it got.
    pub fn in_huge_pages(path: &Path, cells: usize) -> Result<(Self, RegionPages), RegionError> {
        let options = RegionOptions { huge_pages: true, ..RegionOptions::default() };
        let (region, _) = OwnedRegion::replace(path, spec(cells), &options, |_| {})?;
        let pages = region.residency().huge_pages;
        Ok((Self::new(Memory::Own(region), cells), pages))
    }

    /// Rings in a file for two processes. Both call it; the first one makes the file.
    pub fn map(path: &Path, cells: usize) -> io::Result<Self> {
        let words = spec(cells).words;
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        file.set_len((words * WORD_BYTES) as u64)?;
        Ok(Self::new(Memory::Shared(WritableWords::map(&file, words)?), cells))
    }

    fn new(memory: Memory, cells: usize) -> Self {
        Self { memory: Arc::new(memory), cells }
    }

    /// The writing end of one of the rings, at its first cell. There must be only one.
    pub fn writer(&self, direction: Direction) -> CellWriter {
        CellWriter { memory: Arc::clone(&self.memory), next: Place::first(self.cells, direction) }
    }

    /// The reading end of one of the rings, at its first cell.
    pub fn reader(&self, direction: Direction) -> CellReader {
        CellReader { memory: Arc::clone(&self.memory), next: Place::first(self.cells, direction) }
    }
}

impl Memory {
    #[inline(always)]
    fn words(&self) -> &[Word] {
        match self {
            Self::Own(region) => region.words(),
            Self::Shared(words) => words.words(),
        }
    }
}

impl CellWriter {
    /// Writes the next message, a value up to [`MOST_VALUE`].
    #[inline(always)]
    pub fn send(&mut self, value: u64) {
        self.memory.words()[self.next.word].store(value << 1 | self.next.bit);
        self.next.advance();
    }
}

impl CellReader {
    /// The next message, if it is there.
    #[inline(always)]
    pub fn try_take(&mut self) -> Option<u64> {
        let word = self.memory.words()[self.next.word].load();
        (word & 1 == self.next.bit).then(|| {
            self.next.advance();
            word >> 1
        })
    }
}

fn spec(cells: usize) -> RegionSpec {
    assert!(cells.is_power_of_two(), "{cells} cells are not a power of two");
    let parameters = [cells as u64, 0, 0, 0];
    RegionSpec { kind: KIND, layout: LAYOUT, parameters, words: 2 * cells }
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;

    use super::*;

    #[test]
    fn messages_arrive_once_and_in_order_many_times_round() {
        for cells in [1, 4] {
            let rings = Cells::on_heap(cells);
            for direction in [Direction::There, Direction::Back] {
                let (mut writer, mut reader) = (rings.writer(direction), rings.reader(direction));
                assert_eq!(reader.try_take(), None);
                for value in (0..100).chain([MOST_VALUE, 0]) {
                    writer.send(value);
                    assert_eq!(reader.try_take(), Some(value), "{cells} cells");
                    assert_eq!(reader.try_take(), None, "{cells} cells");
                }
            }
        }
    }

    #[test]
    fn the_two_rings_do_not_meet() {
        let rings = Cells::on_heap(4);
        let mut there = rings.writer(Direction::There);
        (0..4).for_each(|value| there.send(value));
        assert_eq!(rings.reader(Direction::Back).try_take(), None);
        let mut back = rings.writer(Direction::Back);
        (0..4).for_each(|value| back.send(10 + value));
        let mut at_ponger = rings.reader(Direction::There);
        assert_eq!([(); 4].map(|()| at_ponger.try_take()), [Some(0), Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn two_threads_count_together() {
        let rings = Cells::on_heap(64);
        std::thread::scope(|scope| {
            let (mut at_ponger, mut back) =
                (rings.reader(Direction::There), rings.writer(Direction::Back));
            scope.spawn(move || (0..2_000).for_each(|_| back.send(wait(&mut at_ponger) + 1)));
            let (mut there, mut at_pinger) =
                (rings.writer(Direction::There), rings.reader(Direction::Back));
            let mut value = 0;
            for _ in 0..2_000 {
                there.send(value);
                value = wait(&mut at_pinger) + 1;
            }
            assert_eq!(value, 4_000);
        });
    }

    fn wait(from: &mut CellReader) -> u64 {
        loop {
            match from.try_take() {
                Some(value) => return value,
                None => std::thread::yield_now(),
            }
        }
    }

    #[test]
    fn two_mappings_of_a_file_are_the_same_rings_whoever_comes_first() {
        let scratch = Scratch::folder("cells");
        let path = scratch.path().join("rings");
        let (one, other) = (Cells::map(&path, 8).unwrap(), Cells::map(&path, 8).unwrap());
        one.writer(Direction::There).send(7);
        assert_eq!(other.reader(Direction::There).try_take(), Some(7));
        other.writer(Direction::Back).send(8);
        assert_eq!(one.reader(Direction::Back).try_take(), Some(8));
    }

    #[test]
    fn what_a_file_holds_is_only_a_value() {
        let scratch = Scratch::folder("cells");
        let path = scratch.path().join("rings");
        std::fs::write(&path, [0xff; 64]).unwrap();
        let mut reader = Cells::map(&path, 4).unwrap().reader(Direction::Back);
        assert_eq!(reader.try_take(), Some(MOST_VALUE));
    }

    #[test]
    #[should_panic(expected = "not a power of two")]
    fn cells_are_a_power_of_two() {
        Cells::on_heap(3);
    }
}
