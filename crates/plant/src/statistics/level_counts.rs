//! The number of price levels of each side of a book, after each message.

use nanotape_trace::Histogram;
use nanotape_types::Side;

/// Up to 4,095 levels are exact, more at most 0.05% too high.
const PRECISION_BITS: u32 = 12;

/// How many messages left a side with how many price levels. Complete once it is closed.
///
/// Most messages do not change the number, so equal numbers are counted together: a histogram is
/// touched only after a change.
#[derive(Clone, Debug)]
pub struct LevelCounts {
    open: [Unchanged; 2],
    counts: [Histogram; 2],
}

/// The messages since the number of a side changed, which the histogram does not have yet.
#[derive(Clone, Copy, Default, Debug)]
struct Unchanged {
    levels: u64,
    messages: u64,
}

impl LevelCounts {
    pub(super) fn new() -> Self {
        let counts = core::array::from_fn(|_| Histogram::growing(PRECISION_BITS));
        Self { open: [Unchanged::default(); 2], counts }
    }

    /// Counts a message after which the sides have so many levels.
    #[inline]
    pub(super) fn message(&mut self, levels: [u32; 2]) {
        for side in Side::BOTH {
            let levels = u64::from(levels[side as usize]);
            if levels != self.open[side as usize].levels {
                self.close_side(side);
                self.open[side as usize].levels = levels;
            }
            self.open[side as usize].messages += 1;
        }
    }

    #[inline]
    fn close_side(&mut self, side: Side) {
        let open = &mut self.open[side as usize];
        self.counts[side as usize].record_many(open.levels, core::mem::take(&mut open.messages));
    }

    /// Counts what is open. Call once, after the last message.
    pub(super) fn close(&mut self) {
        Side::BOTH.into_iter().for_each(|side| self.close_side(side));
    }

    /// Adds those of another book. Both are closed.
    pub(super) fn merge(&mut self, other: &Self) {
        for side in Side::BOTH {
            self.counts[side as usize].merge(other.of(side));
        }
    }

    /// Price levels of a side after a message, over messages.
    pub fn of(&self, side: Side) -> &Histogram {
        &self.counts[side as usize]
    }
}
