//! Rates, gaps and processing times of a kind of messages.
//!
//! What changes with every message is in one cache line, apart from the histograms. Most windows
//! have a single message, and these do not touch a histogram.

use nanotape_trace::Histogram;

use super::PRECISION_BITS;

/// Up to 4,095 messages in a window are exact, more at most 0.05% too high. Windows have few
/// messages, so this costs little memory.
const RATE_PRECISION_BITS: u32 = 12;

/// Figures of all messages, or of those that changed the inside. Complete once it is closed.
#[derive(Clone, Debug)]
pub struct Activity {
    open: Open,
    rates: [Histogram; 3],
    gap_nanos: Histogram,
    pub(super) processing_nanos: Histogram,
}

/// What changes with every message. Arrays have an entry for each of the [`windows`].
#[derive(Clone, Default, Debug)]
#[repr(align(64))]
struct Open {
    messages: u64,
    last_nanos: u64,
    /// Messages in the current window.
    in_window: [u64; 3],
    /// Past windows with one message, which the histogram does not have yet.
    alone: [u64; 3],
}

const _: () = assert!(size_of::<Open>() == 64, "one cache line");

/// The second, the millisecond and the microsecond of a time.
#[inline]
const fn windows(nanos: u64) -> [u64; 3] {
    [nanos / 1_000_000_000, nanos / 1_000_000, nanos / 1_000]
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            open: Open::default(),
            rates: core::array::from_fn(|_| Histogram::growing(RATE_PRECISION_BITS)),
            gap_nanos: Histogram::growing(PRECISION_BITS),
            processing_nanos: Histogram::growing(PRECISION_BITS),
        }
    }

    /// Counts a message at a time.
    #[inline]
    pub(super) fn message(&mut self, nanos: u64) {
        let (last, now) = (windows(self.open.last_nanos), windows(nanos));
        for width in 0..3 {
            if now[width] != last[width] {
                self.close_window(width);
            }
            self.open.in_window[width] += 1;
        }
        if self.open.messages > 0 {
            self.gap_nanos.record(nanos.saturating_sub(self.open.last_nanos));
        }
        self.open.messages += 1;
        self.open.last_nanos = nanos;
    }

    /// Counts a message without a time.
    pub(super) fn message_without_time(&mut self) {
        self.open.messages += 1;
    }

    #[inline]
    fn close_window(&mut self, width: usize) {
        match core::mem::take(&mut self.open.in_window[width]) {
            0 => {}
            1 => self.open.alone[width] += 1,
            many => self.rates[width].record(many),
        }
    }

    /// Counts what is open. Call once, after the last message.
    pub(super) fn close(&mut self) {
        for width in 0..3 {
            self.close_window(width);
            self.rates[width].record_many(1, core::mem::take(&mut self.open.alone[width]));
        }
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
