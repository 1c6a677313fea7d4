//! The number of price levels of each side of a book, after each message.

use nanotape_trace::Histogram;
use nanotape_types::Side;

/// Up to 4,095 levels are exact, more at most 0.05% too high.
const PRECISION_BITS: u32 = 12;

/// How many messages left a side with how many price levels.
#[derive(Clone, Debug)]
pub struct LevelCounts([Histogram; 2]);

impl LevelCounts {
    pub(super) fn new() -> Self {
        Self(core::array::from_fn(|_| Histogram::growing(PRECISION_BITS)))
    }

    /// Counts a message after which the sides have so many levels.
    #[inline]
    pub(super) fn message(&mut self, levels: [u32; 2]) {
        for side in Side::BOTH {
            self.0[side as usize].record(levels[side as usize].into());
        }
    }

    /// Adds those of another book.
    pub(super) fn merge(&mut self, other: &Self) {
        for side in Side::BOTH {
            self.0[side as usize].merge(other.of(side));
        }
    }

    /// Price levels of a side after a message, over messages.
    pub fn of(&self, side: Side) -> &Histogram {
        &self.0[side as usize]
    }
}
