//! A table of cache lines, and the order in which it is read.

use nanotape_lab::rng::{Rng, mix};
use nanotape_shm::{HugePages, Table};

use super::Reads;

/// Bytes of a cell: one cache line.
pub(super) const CELL_BYTES: u64 = 64;

/// Seed of the cycle: every process and every turn walks the same one.
const SEED: u64 = 42;

/// A cell: the index of the next one, alone in its cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Cell {
    next: u32,
}

const _: () = assert!(size_of::<Cell>() as u64 == CELL_BYTES);

/// The table of a process, and its position.
pub(super) struct Walk {
    cells: Table<Cell>,
    at: u32,
    count: u64,
}

impl Walk {
    /// A table of about this size: a power of two of cells is not needed.
    pub(super) fn new(bytes: u64) -> Self {
        let length = usize::try_from((bytes / CELL_BYTES).max(2)).unwrap_or(2);
        let mut cells = Table::new(length, Cell { next: 0 });
        for (cell, next) in cells.iter_mut().zip(cycle(length)) {
            cell.next = next;
        }
        Self { cells, at: 0, count: 0 }
    }

    pub(super) fn pages(&self) -> HugePages {
        self.cells.huge_pages()
    }

    /// Reads this often.
    pub(super) fn read(&mut self, reads: Reads, count: u64) {
        match reads {
            Reads::Dependent => self.dependent(count),
            Reads::Independent => self.independent(count),
        }
    }

    fn dependent(&mut self, count: u64) {
        let mut at = self.at;
        for _ in 0..count {
            at = self.cells[at as usize].next;
        }
        self.at = std::hint::black_box(at);
    }

    fn independent(&mut self, count: u64) {
        let length = self.cells.len() as u64;
        let mut sum = 0;
        for number in self.count..self.count + count {
            sum ^= self.cells[index(number, length)].next;
        }
        self.count += count;
        std::hint::black_box(sum);
    }
}

/// The index of an independent read: the upper half of a product, which is uniform and cheaper than
/// a remainder.
#[inline(always)]
fn index(number: u64, length: u64) -> usize {
    let random = mix(SEED, number) >> 32;
    ((random * length) >> 32) as usize
}

/// For each cell the next one, so that all of them are one cycle: a shuffle in which no cell keeps
/// its place (S. Sattolo, Information Processing Letters 22, 1986).
fn cycle(length: usize) -> Vec<u32> {
    let mut next: Vec<u32> = (0..).take(length).collect();
    let mut rng = Rng::new(SEED);
    for last in (1..length).rev() {
        next.swap(last, rng.below(last));
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_visits_every_cell_once_before_it_is_back() {
        for length in [2, 3, 64, 1_000, 4_096] {
            let next = cycle(length);
            let mut seen = vec![false; length];
            let mut at = 0;
            for _ in 0..length {
                assert!(!std::mem::replace(&mut seen[at], true), "{at} of {length} twice");
                at = next[at] as usize;
            }
            assert_eq!(at, 0);
        }
    }

    #[test]
    fn a_walk_goes_on_where_it_stopped() {
        let mut walk = Walk::new(4096);
        let next = cycle(64);
        walk.read(Reads::Dependent, 3);
        assert_eq!(walk.at, next[next[next[0] as usize] as usize]);
        walk.read(Reads::Dependent, 61);
        assert_eq!(walk.at, 0);
    }

    #[test]
    fn independent_reads_are_spread_over_the_table() {
        let length = 64;
        let mut seen = vec![0; length as usize];
        for number in 0..64_000 {
            seen[index(number, length)] += 1;
        }
        assert!(seen.iter().all(|&count| (800..1_200).contains(&count)), "{seen:?}");
        let mut walk = Walk::new(4096);
        walk.read(Reads::Independent, 100);
        assert_eq!(walk.count, 100);
    }
}
