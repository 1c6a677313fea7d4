//! What a live session lost, how it was recovered, and the snapshot that takes the place of what
//! was lost.
//!
//! Where: from the receiver of a session to the books and the records. A source of a file has none.

use core::fmt;

use nanotape_types::{OrderReferenceNumber, Price, Shares, Side, StockLocate};

use crate::{EventTime, MarketEvent};

/// Lines of a session, at most.
pub const MAX_LINES: usize = 4;

/// A change of what is known about the messages of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionChange {
    /// Messages are missing on every line. Later ones are kept until the gap is closed, or come
    /// ahead.
    GapDeclared(SessionGap),
    /// All messages of a declared gap came, or will not come.
    GapClosed(SessionGap),
    /// Any book may lack messages from now on: messages are missing whose stocks are unknown, or
    /// the session had begun before it was joined.
    Suspect(Suspect),
    /// Messages come ahead of missing ones from now on, until the next `Complete` or `Restored`.
    GoesOn,
    /// The missing messages came: no book lacks any.
    Complete {
        /// The number of the next message.
        next: u64,
    },
    /// Every book is that of a snapshot. If a later gap is open, it makes them suspect again.
    Restored {
        /// The number of the next message.
        next: u64,
    },
    /// The source delivers all that it received: only `idle` ends it.
    EndsWhenIdle,
    /// From now on the source delivers what arrives. Before, it delivered what it had kept, and
    /// waited for its handler.
    CaughtUp,
}

/// Why an event of a live session has not its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Earlier messages are missing. It comes again, in its turn.
    Ahead,
    /// It was there ahead of its turn, which has come.
    Again,
    /// It was missing, and later ones were there ahead of it.
    Missed,
}

/// Why any book may lack messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Suspect {
    /// The number of the first message that is missing.
    pub first: u64,
    /// The number of the first message after it that is there.
    pub next: u64,
    /// Whether the session had begun before it was joined. Otherwise the messages are a gap.
    pub is_late_join: bool,
}

/// Messages of a session that no line brought in time, and what became of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SessionGap {
    /// The number of the first message.
    pub first: u64,
    /// The number of the first message after them.
    pub next: u64,
    /// When a later message showed that they are missing, ns since the UNIX epoch.
    pub seen_ns: u64,
    /// When the last of them came or was given up, ns since the UNIX epoch; 0 while the gap is
    /// open.
    pub closed_ns: u64,
    /// The line of the message that showed it; `None` for the re-request server.
    pub seen_by: Option<u8>,
    /// Messages brought late by each line.
    pub lines: [u64; MAX_LINES],
    /// Messages that the re-request server sent.
    pub retransmitted: u64,
    /// Messages that a snapshot contains.
    pub snapshot: u64,
    /// Messages that are lost.
    pub lost: u64,
    /// Requests that were sent.
    pub requests: u32,
}

/// The books and states of a market at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MarketSnapshot {
    /// The number of the first message that is not in it.
    pub next: u64,
    /// The latest time of its messages.
    pub time: EventTime,
    /// Instruments and trading states, in the order of the exchange.
    pub states: Vec<MarketEvent>,
    /// All live orders; those of one price level from the first to be executed.
    pub orders: Vec<RestingOrder>,
    /// The stocks whose books it has, in order; `None`: all of them. Other books stay as they are.
    pub stocks: Option<Vec<StockLocate>>,
}

impl MarketSnapshot {
    /// The same snapshot, whose times of day are those of a day that begins at this time, in ns
    /// since the UNIX epoch.
    pub fn set_day_begins(&mut self, unix_ns: u64) {
        let of_day = |time: EventTime| EventTime::new(unix_ns.saturating_add(time.get()));
        self.states.iter_mut().for_each(|state| state.time = state.time.map(of_day));
        self.time = of_day(self.time);
    }
}

/// A live order of a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RestingOrder {
    /// Its stock.
    pub stock_locate: StockLocate,
    /// Its reference number.
    pub reference: OrderReferenceNumber,
    /// Its side.
    pub side: Side,
    /// Its remaining shares.
    pub shares: Shares,
    /// Its price.
    pub price: Price,
}

/// `messages 27 to 30 missing, seen by line A`, or
/// `messages 27 to 30 missing for 2100 us: 3 from line B, 1 retransmitted; requests: 2`.
impl fmt::Display for SessionGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = MessageNumbers { first: self.first, next: self.next };
        if self.closed_ns == 0 {
            write!(f, "{numbers} missing, seen by ")?;
            return match self.seen_by {
                Some(line) => write!(f, "line {}", letter(line.into())),
                None => f.write_str("re-request server"),
            };
        }
        let micros = self.closed_ns.saturating_sub(self.seen_ns) / 1_000;
        write!(f, "{numbers} missing for {micros} us:")?;
        let mut separator = " ";
        let mut part = |f: &mut fmt::Formatter<'_>, count: u64, how: fmt::Arguments<'_>| {
            if count == 0 {
                return Ok(());
            }
            write!(f, "{separator}{count} {how}")?;
            separator = ", ";
            Ok(())
        };
        for (line, &count) in self.lines.iter().enumerate() {
            part(f, count, format_args!("from line {}", letter(line)))?;
        }
        part(f, self.retransmitted, format_args!("retransmitted"))?;
        part(f, self.snapshot, format_args!("in a snapshot"))?;
        part(f, self.lost, format_args!("lost"))?;
        write!(f, "; requests: {}", self.requests)
    }
}

/// Numbers of consecutive messages: `message 27`, or `messages 27 to 30`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageNumbers {
    /// The first one.
    pub first: u64,
    /// One above the last one.
    pub next: u64,
}

impl fmt::Display for MessageNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.next.saturating_sub(1) {
            last if last <= self.first => write!(f, "message {}", self.first),
            last => write!(f, "messages {} to {last}", self.first),
        }
    }
}

fn letter(line: usize) -> char {
    u8::try_from(line).map_or('?', |line| char::from(b'A'.saturating_add(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_reported_with_what_filled_it() {
        let gap = SessionGap { first: 27, next: 31, seen_ns: 5_000, ..SessionGap::default() };
        let one = SessionGap { next: 28, ..gap };
        assert_eq!(one.to_string(), "message 27 missing, seen by re-request server");
        let open = SessionGap { seen_by: Some(0), ..gap };
        assert_eq!(open.to_string(), "messages 27 to 30 missing, seen by line A");
        let closed = SessionGap {
            closed_ns: 2_105_000,
            lines: [0, 3, 0, 0],
            retransmitted: 1,
            requests: 2,
            ..gap
        };
        assert_eq!(
            closed.to_string(),
            "messages 27 to 30 missing for 2100 us: 3 from line B, 1 retransmitted; requests: 2"
        );
    }
}
