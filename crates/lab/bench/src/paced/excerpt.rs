//! The messages of a day that are replayed, in memory, so that no page of a file is read while they
//! are timed.
//!
//! Bounds: [`MAX_EXCERPT_BYTES`] of messages.

use core::ops::{ControlFlow, Range};

use nanotape_feed::DaySource;
use nanotape_market::{Damage, EventHandler, EventSource as _, MarketEvent, Origin, Position};

use crate::error::{Error, failed};

/// Bytes of all messages of an excerpt.
pub const MAX_EXCERPT_BYTES: usize = 512 << 20;

/// The clock of the arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrivalClock {
    /// The exchange's time of each message, in ns since its midnight.
    Event,
    /// The receive time of its packet, in ns since this midnight, which is in ns since the UNIX
    /// epoch.
    Received {
        /// The midnight.
        midnight_ns: u64,
    },
}

/// Messages of a day in their order.
#[derive(Clone, Debug, Default)]
pub struct Excerpt {
    bytes: Vec<u8>,
    messages: Vec<Piece>,
}

/// One message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) at: Position,
    pub(super) arrival_ns: u64,
    start: usize,
    length: u32,
    /// Whether the message before it in the excerpt is also the one before it in the day.
    pub(super) follows: bool,
}

impl Excerpt {
    /// The messages that arrive in any of these spans. An arrival before an earlier one counts as
    /// equal to the latest.
    pub fn read(
        source: &mut DaySource,
        clock: ArrivalClock,
        spans: &[Range<u64>],
    ) -> anyhow::Result<Self> {
        let mut collector = Collector {
            excerpt: Self::default(),
            clock,
            spans,
            end_ns: spans.iter().map(|span| span.end).max().unwrap_or(0),
            received_ns: None,
            last_ns: 0,
            was_in: false,
            is_too_large: false,
        };
        source.read(&mut collector, |_| ())?;
        if collector.is_too_large {
            let most = MAX_EXCERPT_BYTES >> 20;
            let finding = format!("the messages to replay have more than {most} MiB");
            return Err(failed(Error::found(source.name(), finding)));
        }
        Ok(collector.excerpt)
    }

    /// The arrival of each message, and its type.
    pub fn arrivals(&self) -> impl Iterator<Item = (u64, u8)> {
        let letter = |piece: &Piece| self.bytes_of(piece).first().copied().unwrap_or(0);
        self.messages.iter().map(move |piece| (piece.arrival_ns, letter(piece)))
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.messages
    }

    #[inline]
    pub(super) fn bytes_of(&self, piece: &Piece) -> &[u8] {
        self.bytes.get(piece.start..piece.start + piece.length as usize).unwrap_or(&[])
    }
}

struct Collector<'a> {
    excerpt: Excerpt,
    clock: ArrivalClock,
    spans: &'a [Range<u64>],
    end_ns: u64,
    received_ns: Option<u64>,
    last_ns: u64,
    was_in: bool,
    is_too_large: bool,
}

impl EventHandler for Collector<'_> {
    type Hint = ();

    #[inline]
    fn event(&mut self, at: Position, event: &MarketEvent, origin: impl Origin) -> ControlFlow<()> {
        let arrival_ns = match (self.clock, self.received_ns, event.time) {
            (ArrivalClock::Received { midnight_ns }, Some(received_ns), _) => {
                received_ns.saturating_sub(midnight_ns)
            }
            (_, _, Some(time)) => time.get(),
            // A message of an unknown type, which has no readable time.
            (_, _, None) => self.last_ns,
        };
        self.last_ns = self.last_ns.max(arrival_ns);
        let arrival_ns = self.last_ns;
        if arrival_ns >= self.end_ns {
            return ControlFlow::Break(());
        }
        let follows = self.was_in;
        self.was_in = self.spans.iter().any(|span| span.contains(&arrival_ns));
        if self.was_in {
            let Excerpt { bytes, messages } = &mut self.excerpt;
            let (start, message) = (bytes.len(), origin.bytes());
            if start + message.len() > MAX_EXCERPT_BYTES {
                self.is_too_large = true;
                return ControlFlow::Break(());
            }
            bytes.extend_from_slice(message);
            let length = message.len() as u32;
            messages.push(Piece { at, arrival_ns, start, length, follows });
        }
        ControlFlow::Continue(())
    }

    fn received(&mut self, ts_recv_ns: u64) {
        self.received_ns = Some(ts_recv_ns);
    }

    fn damage(&mut self, _: Damage) {}
}
