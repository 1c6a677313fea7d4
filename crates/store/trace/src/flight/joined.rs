//! Joins the spans of a message by its number, in a table of fixed size.
//!
//! A message has no end that a reader could see, so an entry stays until another message takes its
//! place. The table counts spans that come after a later message did.

use super::trigger::MAX_CONDITIONS;
use crate::spans::Span;

/// Multiplied with a number, its upper bits are the place. Found by search: with it, two of as many
/// successive messages as an eighth of the table never meet, also if only one message in `2^n` is
/// recorded, up to `2^20`. Checked for 64 to 2^14 places; the golden ratio fails the check.
const SPREAD: u64 = 0x314a_0875_38d4_871f;

/// The bit of an entry that is not free.
const USED: u32 = 1 << 31;
const _: () = assert!(MAX_CONDITIONS < 31);

/// What is known of a message.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Message {
    number: u64,
    /// Begin of its first span, in ticks.
    begin: u64,
    /// End of its last span, in ticks.
    end: u64,
    /// The conditions that it has triggered, a bit each, and [`USED`].
    pub(super) triggered: u32,
}

/// Bytes of an entry.
pub(super) const MESSAGE_BYTES: usize = size_of::<Message>();

#[derive(Debug)]
pub(super) struct Joined {
    messages: Vec<Message>,
    shift: u32,
    /// A number is that of another message if its spans are so many ticks apart.
    horizon: u64,
    /// Spans that found a later message in the place of theirs.
    crowded: u64,
}

impl Joined {
    pub(super) fn new(capacity: usize, horizon: u64) -> Self {
        assert!(capacity.is_power_of_two() && capacity > 1);
        Self {
            messages: vec![Message::default(); capacity],
            shift: 64 - capacity.trailing_zeros(),
            horizon,
            crowded: 0,
        }
    }

    /// Adds a span. Returns the message, and its ticks from its first begin to its last end.
    #[inline(always)]
    pub(super) fn add(&mut self, span: Span) -> (&mut Message, u64) {
        let (from, to) = (span.from.ticks(), span.to.ticks());
        let place = (span.number.wrapping_mul(SPREAD) >> self.shift) as usize;
        let message = &mut self.messages[place];
        let is_used = message.triggered & USED != 0;
        let is_other = message.number != span.number || !is_used;
        if is_other || from > message.end.saturating_add(self.horizon) {
            self.crowded += u64::from(is_used && message.number > span.number);
            *message = Message { number: span.number, begin: from, end: to, triggered: USED };
        }
        message.begin = message.begin.min(from);
        message.end = message.end.max(to);
        let took = message.end - message.begin;
        (message, took)
    }

    pub(super) fn crowded(&self) -> u64 {
        self.crowded
    }
}
