//! Number of messages per second, millisecond and microsecond.

use nanotape_trace::Histogram;

/// Messages per window of fixed width, over windows with at least one message.
#[derive(Clone, Debug)]
pub struct Rate {
    width_nanos: u64,
    window: u64,
    in_window: u64,
    counts: Histogram,
}

impl Rate {
    pub(super) fn new(width_nanos: u64) -> Self {
        Self { width_nanos, window: 0, in_window: 0, counts: Histogram::coarse() }
    }

    #[inline]
    pub(super) fn message_at(&mut self, nanos: u64) {
        let window = nanos / self.width_nanos;
        if window != self.window {
            self.close();
            self.window = window;
        }
        self.in_window += 1;
    }

    /// Counts the open window.
    pub(super) fn close(&mut self) {
        if self.in_window > 0 {
            self.counts.record(self.in_window);
            self.in_window = 0;
        }
    }

    /// Messages in a window, over windows with at least one message.
    pub fn counts(&self) -> &Histogram {
        &self.counts
    }
}
