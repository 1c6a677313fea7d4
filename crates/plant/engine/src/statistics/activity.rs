//! Rates, gaps and processing times of a kind of messages.
//!
//! Whether a message is the first one of a window cannot be predicted, so nothing branches on it:
//! windows of few messages are counted in a small table, by adding 0 or 1.

use core::slice::from_ref;

use nanotape_shm::prefetch;
use nanotape_trace::Histogram;

use super::PRECISION_BITS;

/// Up to 4,095 messages in a window are exact, more at most 0.05% too high. Windows have few
/// messages, so this costs little memory.
const RATE_PRECISION_BITS: u32 = 12;

/// Figures of all messages, or of those that changed the inside. Complete once it is closed.
#[derive(Clone, Debug)]
pub struct Activity {
    open: Open,
    /// Past windows, by their messages, which `rates` does not have yet. The last entry, and that
    /// of no messages, have no meaning.
    of_few: [[u64; 3]; FEW],
    rates: [Histogram; 3],
    gap_nanos: Histogram,
    pub(super) processing_nanos: Histogram,
}

/// What changes with every message. Arrays have an entry for each of [`WINDOWS`].
#[derive(Clone, Default, Debug)]
#[repr(align(64))]
struct Open {
    messages: u64,
    last_nanos: u64,
    /// The number of the current window since midnight.
    window: [u64; 3],
    /// Messages before the current window.
    before_window: [u64; 3],
}

/// Messages of a window for which the small table has no entry.
const FEW: usize = 10;

const _: () = assert!(size_of::<Open>() == 64, "one cache line");

/// Nanoseconds in a window: a second, a millisecond and a microsecond. Each is a multiple of the
/// next.
const WINDOWS: [u64; 3] = [1_000_000_000, 1_000_000, 1_000];

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            open: Open::default(),
            of_few: [[0; 3]; FEW],
            rates: core::array::from_fn(|_| Histogram::growing(RATE_PRECISION_BITS)),
            gap_nanos: Histogram::growing(PRECISION_BITS),
            processing_nanos: Histogram::growing(PRECISION_BITS),
        }
    }

    /// Begins to load what every message changes, but not its counters.
    pub(super) fn prefetch(&self) {
        prefetch(from_ref(&self.open), 0);
        (1..4).step_by(2).for_each(|few| prefetch(&self.of_few, few));
        prefetch(from_ref(&self.gap_nanos), 0);
        prefetch(from_ref(&self.processing_nanos), 0);
    }

    /// Begins to load the counter of the gap before a message.
    #[inline]
    pub(super) fn prefetch_gap(&self, last_nanos: u64, nanos: u64) {
        let (counters, index) = self.gap_nanos.counter_of(nanos.saturating_sub(last_nanos));
        prefetch(counters, index);
    }

    /// Counts a message, but not its processing time.
    #[inline(always)]
    pub(super) fn message(&mut self, nanos: u64) {
        for (width, length) in WINDOWS.into_iter().enumerate() {
            let window = nanos / length;
            let is_new = window != self.open.window[width];
            let count = self.open.messages - self.open.before_window[width];
            self.of_few[(count as usize).min(FEW - 1)][width] += u64::from(is_new);
            if is_new & (count >= FEW as u64 - 1) {
                self.rates[width].record(count);
            }
            let before = &mut self.open.before_window[width];
            *before = if is_new { self.open.messages } else { *before };
            self.open.window[width] = window;
        }
        if self.open.messages > 0 {
            self.gap_nanos.record(nanos.saturating_sub(self.open.last_nanos));
        }
        self.open.last_nanos = nanos;
        self.open.messages += 1;
    }

    /// Counts a message without a time.
    pub(super) fn message_without_time(&mut self) {
        self.open.messages += 1;
        self.open.before_window.iter_mut().for_each(|before| *before += 1);
    }

    /// Counts what is open. Call once, after the last message.
    pub(super) fn close(&mut self) {
        for width in 0..3 {
            let rate = &mut self.rates[width];
            for (count, windows) in (1..).zip(&self.of_few[1..FEW - 1]) {
                rate.record_many(count, windows[width]);
            }
            let open = self.open.messages - self.open.before_window[width];
            rate.record_many(open, u64::from(open > 0));
        }
        self.of_few = [[0; 3]; FEW];
    }

    /// Time of the last message, in ns since midnight; 0 without one.
    pub(super) fn last_nanos(&self) -> u64 {
        self.open.last_nanos
    }

    /// Number of messages.
    pub fn count(&self) -> u64 {
        self.open.messages
    }

    /// Messages per second, over seconds with at least one message.
    pub fn per_second(&self) -> &Histogram {
        &self.rates[0]
    }

    /// Messages per millisecond, over milliseconds with at least one message.
    pub fn per_millisecond(&self) -> &Histogram {
        &self.rates[1]
    }

    /// Messages per microsecond, over microseconds with at least one message.
    pub fn per_microsecond(&self) -> &Histogram {
        &self.rates[2]
    }

    /// Nanoseconds from one message to the next.
    pub fn gap_nanos(&self) -> &Histogram {
        &self.gap_nanos
    }

    /// Nanoseconds to apply a message.
    pub fn processing_nanos(&self) -> &Histogram {
        &self.processing_nanos
    }
}
