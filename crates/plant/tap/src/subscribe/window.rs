//! The part of a stream that a subscriber delivers: from a number or a moment on, up to another.

use nanotape_feed::venue_of;
use nanotape_records::{Header, dbn::UNDEF_TIMESTAMP};
use nanotape_tape::Gap;

/// Bounds by sequence number and by the exchange's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The first number, and the one after the last.
    pub(super) first: u64,
    pub(super) end: u64,
    /// The first nanosecond since the UNIX epoch, and the one after the last.
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    /// Whether the window has begun, and whether the last record is of its times.
    is_inside: bool,
    is_of_times: bool,
    is_over: bool,
    /// A loss just before the window: its records might belong inside.
    before: Option<Gap>,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            first: 0,
            end: u64::MAX,
            from_ns: 0,
            to_ns: u64::MAX,
            is_inside: false,
            is_of_times: true,
            is_over: false,
            before: None,
        }
    }
}

impl Window {
    /// Moves to a record. A record without a time has that of the record before it. The times of a
    /// feed can be out of order: the window ends when no record of its times can follow.
    #[inline]
    pub(super) fn move_to(&mut self, sequence: u64, bytes: &[u8]) {
        let header = Header::of(bytes);
        let ts_event = header.map_or(UNDEF_TIMESTAMP, |header| header.ts_event);
        let is_timed = ts_event != UNDEF_TIMESTAMP;
        if is_timed {
            self.is_of_times = (self.from_ns..self.to_ns).contains(&ts_event);
            if ts_event >= self.to_ns {
                let skew_ns = header.map_or(0, |header| venue_of(header.publisher_id).skew_ns);
                self.is_over |= ts_event >= self.to_ns.saturating_add(skew_ns);
            }
        }
        self.is_over |= sequence >= self.end;
        if !self.is_inside {
            let is_after = self.from_ns == 0 || is_timed && ts_event >= self.from_ns;
            self.is_inside = sequence >= self.first && is_after;
            if is_timed && !self.is_inside {
                self.before = None;
            }
        }
    }

    /// Whether the last record, or a loss after it, is inside.
    #[inline]
    pub(super) fn is_inside(&self) -> bool {
        self.is_inside && self.is_of_times && !self.is_over
    }

    /// Whether the window has ended.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Keeps a loss before the window, until a record shows that the window begins later.
    #[cold]
    pub(super) fn keep(&mut self, lost: &Gap) {
        let from = self.before.map_or(lost.from, |before| before.from);
        self.before = Some(Gap { from, to: lost.to });
    }

    /// The loss just before the window, once the window has begun.
    #[inline]
    pub(super) fn take_before(&mut self) -> Option<Gap> {
        if self.is_inside { self.before.take() } else { None }
    }
}
