//! A batch as the device reads it, in one buffer that one copy sends.
//!
//! ```text
//! | start of each tile of each feed of each job, and the end | floors | changes: cell, value |
//! | 2 * jobs * tiles + 1                                     | jobs   | 2 words each         |
//! ```
//!
//! The kernels rely on what [`Words`] establishes: starts do not fall and end within the changes;
//! the cells from one start to the next rise and are in that tile; and tiles are within the points.

use super::shape::{Shape, TILE};

/// Writes a batch into a buffer, job by job, first feed before second.
///
/// The buffer may be write-combined memory, so nothing is read from it.
#[derive(Debug)]
pub(super) struct Words<'a> {
    shape: Shape,
    words: &'a mut [u32],
    feeds: usize,
    changes: usize,
    /// Tiles of the feed whose start is written.
    tiles: u32,
    /// No further cell of the feed is below it.
    next_cell: u32,
}

impl<'a> Words<'a> {
    /// An empty batch. The buffer has the words of the shape.
    pub(super) fn new(shape: Shape, words: &'a mut [u32]) -> Self {
        assert_eq!(words.len(), shape.words(), "the buffer is that of another shape");
        Self { shape, words, feeds: 0, changes: 0, tiles: 0, next_cell: 0 }
    }

    /// Whether another job with so many changes fits.
    pub(super) fn has_room(&self, changes: usize) -> bool {
        self.feeds + 2 <= 2 * self.shape.jobs() && self.changes + changes <= self.shape.changes()
    }

    /// Adds a change of the feed.
    pub(super) fn push(&mut self, cell: u32, value: f32) {
        let is_good = (self.next_cell..self.shape.points()).contains(&cell);
        assert!(is_good, "cell {cell} does not rise, or is beyond {}", self.shape.points());
        self.next_cell = cell + 1;
        self.start_tiles(cell / TILE + 1);
        let at = self.shape.head() + 2 * self.changes;
        self.words[at..at + 2].copy_from_slice(&[cell, value.to_bits()]);
        self.changes += 1;
    }

    /// Ends a feed.
    pub(super) fn end_feed(&mut self) {
        self.start_tiles(self.shape.sample_tiles());
        self.feeds += 1;
        (self.tiles, self.next_cell) = (0, 0);
    }

    /// The changes from here on are in the last of so many tiles of the feed.
    fn start_tiles(&mut self, count: u32) {
        assert!(self.feeds < 2 * self.shape.jobs(), "one job more than the batch has");
        let first = self.feeds * self.shape.sample_tiles() as usize;
        let of_feed = first + self.tiles as usize..first + count as usize;
        if !of_feed.is_empty() {
            self.words[of_feed].fill(self.changes as u32);
            self.tiles = count;
        }
    }

    /// Says what is added to the magnitude by which the job's product is divided; negative if it is
    /// not divided. The job's second feed has ended.
    pub(super) fn end_job(&mut self, floor: f32) {
        assert!(self.feeds > 0 && self.feeds.is_multiple_of(2), "a job has two feeds");
        self.words[self.shape.floors_at() + self.feeds / 2 - 1] = floor.to_bits();
    }

    /// Fills the batch with jobs without changes. The result is the number of words to send.
    pub(super) fn finish(mut self) -> usize {
        while self.feeds < 2 * self.shape.jobs() {
            self.end_feed();
            if self.feeds.is_multiple_of(2) {
                self.end_job(-1.0);
            }
        }
        self.words[self.shape.floors_at() - 1] = self.changes as u32;
        self.shape.head() + 2 * self.changes
    }
}

#[cfg(test)]
mod tests {
    use super::{super::shape::Room, *};
    use crate::{XcorrSettings, gpu::shape::GpuLimits};

    fn shape() -> Shape {
        let limits = GpuLimits { batch_jobs: Some(3), ..GpuLimits::default() };
        let room = Room { name: String::new(), free_bytes: 1 << 30, cache_bytes: 0 };
        // Two tiles.
        let settings = XcorrSettings { window_ns: 4_096_000, ..XcorrSettings::published() };
        Shape::new(&settings, 1, limits, &room).expect("it fits")
    }

    #[test]
    fn a_batch_is_starts_then_floors_then_changes() {
        let shape = shape();
        assert_eq!((shape.head(), shape.changes()), (16, 8_192));
        let mut buffer = vec![9; shape.words()];
        let mut words = Words::new(shape, &mut buffer);
        assert!(words.has_room(8_192) && !words.has_room(8_193));
        words.push(7, 1.0);
        words.push(2_048, 2.0);
        words.end_feed();
        words.push(0, -1.0);
        words.end_feed();
        words.end_job(0.5);
        assert!(words.has_room(8_189) && !words.has_room(8_190));
        assert_eq!(words.finish(), 22);
        assert_eq!(buffer[..13], [0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]);
        assert_eq!(buffer[13..16].to_vec(), [0.5, -1.0, -1.0_f32].map(f32::to_bits));
        assert_eq!([buffer[16], buffer[18], buffer[20]], [7, 2_048, 0]);
        assert_eq!([buffer[17], buffer[21]].map(f32::from_bits), [1.0, -1.0]);
    }

    #[test]
    fn what_the_kernels_rely_on_is_checked() {
        let refused = |act: fn(&mut Words<'_>)| {
            std::panic::catch_unwind(|| {
                let mut buffer = vec![0; shape().words()];
                act(&mut Words::new(shape(), &mut buffer));
            })
            .is_err()
        };
        assert!(refused(|words| words.push(4_096, 0.0)));
        assert!(refused(|words| (0..2).for_each(|_| words.push(5, 0.0))));
        assert!(refused(|words| (0..7).for_each(|_| words.end_feed())));
        assert!(refused(|words| (0..5).for_each(|_| (0..4_096).for_each(|at| {
            words.push(at, 0.0);
            if at == 4_095 {
                words.end_feed();
            }
        }))));
    }
}
