//! The output of a session: messages in order, and what happened to those that are missing.

use core::fmt;

use nanotape_market::SessionGap;
use nanotape_wire::framing::numbered::MalformedKind;

use super::{ahead::Messages, ranges::Numbers, settings::MAX_LINES};

/// A line of a session: 0 is A.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Line(u8);

/// Where a packet came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketOrigin {
    /// A line.
    Line(Line),
    /// A server, on request.
    Retransmission,
}

/// Receives what a session delivers.
pub trait SessionHandler<S> {
    /// The messages with these numbers, which were received at `ts_recv_ns`. Every number comes
    /// once and in order, except those that were [`skipped`](Self::skipped).
    fn messages<'a>(&mut self, numbers: Numbers, ts_recv_ns: u64, messages: impl Messages<'a>);

    /// The messages with these numbers are there, and earlier ones are missing
    /// ([`GapPolicy::Flag`](super::GapPolicy::Flag)). They come again as
    /// [`messages`](Self::messages) in their turn. Numbers increase from call to call.
    fn ahead<'a>(&mut self, numbers: Numbers, ts_recv_ns: u64, messages: impl Messages<'a>) {
        let _ = (numbers, ts_recv_ns, messages);
    }

    /// These messages are not delivered: they are lost, or in the [`snapshot`](Self::snapshot) that
    /// follows. Their content is unknown. The next message is the first after them.
    fn skipped(&mut self, numbers: Numbers);

    /// The snapshot that the owner gave the number of takes the place of all messages before
    /// `next`, which is the next one.
    fn snapshot(&mut self, next: u64);

    /// Sends a request for `count` messages from `first` to the re-request server.
    fn request(&mut self, session: S, first: u64, count: u16);

    /// Fetches a snapshot: of `next` or later. The owner answers with
    /// [`Receiver::snapshot`](super::Receiver::snapshot) or
    /// [`Receiver::snapshot_failed`](super::Receiver::snapshot_failed).
    fn fetch_snapshot(&mut self, next: u64);

    /// Something happened that an operator may want to know.
    fn event(&mut self, event: &SessionEvent<S>);

    /// A line brought the messages with these numbers, first or again.
    #[inline(always)]
    fn brought(&mut self, line: Line, numbers: Numbers, ts_recv_ns: u64) {
        let _ = (line, numbers, ts_recv_ns);
    }

    /// Two lines brought the same message, `winner` by `lead_ns` earlier.
    #[inline(always)]
    fn raced(&mut self, winner: Line, lead_ns: u64) {
        let _ = (winner, lead_ns);
    }
}

/// Something that happened in a session.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SessionEvent<S> {
    /// The first packet of a session.
    Joined {
        /// The session.
        session: S,
        /// The number of the first message that is expected.
        next: u64,
    },
    /// Messages are missing, and neither line brought them in time.
    GapDeclared(Gap),
    /// All messages of a declared gap came, or will not come.
    GapClosed(GapReport),
    /// A line is silent.
    Silent(Line),
    /// A line that was silent has packets again.
    Resumed {
        /// The line.
        line: Line,
        /// For how long it was silent, in ns.
        silent_ns: u64,
    },
    /// A packet that does not follow its format was dropped.
    Malformed {
        /// Where it came from.
        origin: PacketOrigin,
        /// What is wrong.
        kind: MalformedKind,
    },
    /// A packet of another session was dropped, the first one in a row.
    OtherSession {
        /// Where it came from.
        origin: PacketOrigin,
        /// Its session.
        session: S,
    },
    /// A packet was dropped because its numbers are above all others, and nothing agreed with it.
    Disbelieved {
        /// Its line.
        line: Line,
        /// Its numbers; empty if it has no message.
        numbers: Numbers,
    },
    /// There is no room for messages after a gap: they are dropped, and count as missing.
    AheadFull {
        /// The first one.
        number: u64,
    },
    /// The session ended, and all of its messages were delivered or are lost.
    Ended {
        /// The number that the next message would have had.
        next: u64,
    },
}

/// Messages that neither line brought.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Their numbers.
    pub numbers: Numbers,
    /// When a later message showed that they are missing, in ns.
    pub seen_ns: u64,
    /// Where that message came from.
    pub seen_by: PacketOrigin,
}

/// How a gap ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GapReport {
    /// The gap.
    pub gap: Gap,
    /// When the last of its messages came or was given up, in ns.
    pub closed_ns: u64,
    /// What became of its messages.
    pub fills: Fills,
    /// Requests that were sent for it.
    pub requests: u32,
}

/// Gaps of a session, and what filled them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GapCounts {
    /// Declared gaps.
    pub declared: u64,
    /// Gaps that are closed.
    pub closed: u64,
    /// What became of the messages of closed gaps.
    pub fills: Fills,
    /// The longest time that a gap was open, in ns.
    pub longest_ns: u64,
}

/// What became of messages that were missing, in messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fills {
    /// Brought late by a line.
    pub lines: [u64; MAX_LINES],
    /// Sent again on request.
    pub retransmitted: u64,
    /// Contained in a snapshot.
    pub snapshot: u64,
    /// Lost.
    pub lost: u64,
}

impl Line {
    /// Line A.
    pub const A: Self = Self(0);
    /// Line B.
    pub const B: Self = Self(1);

    /// The line of an index; `None` if there is no such line.
    pub fn new(index: usize) -> Option<Self> {
        (index < MAX_LINES).then_some(Self(index as u8))
    }

    /// Its index, from 0.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", char::from(b'A' + self.0))
    }
}

impl fmt::Display for PacketOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Retransmission => f.write_str("re-request server"),
        }
    }
}

/// One line for an operator.
impl<S: fmt::Display> fmt::Display for SessionEvent<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined { session, next } => {
                write!(f, "session {session}: joined at message {next}")
            }
            Self::GapDeclared(gap) => gap.market_gap().fmt(f),
            Self::GapClosed(report) => report.market_gap().fmt(f),
            Self::Silent(line) => write!(f, "line {line}: silent"),
            Self::Resumed { line, silent_ns } => {
                write!(f, "line {line}: packets again after {} ms", silent_ns / 1_000_000)
            }
            Self::Malformed { origin, kind } => {
                write!(f, "{origin}: packet dropped: {}", kind.name())
            }
            Self::OtherSession { origin, session } => {
                write!(f, "{origin}: packet of session {session} dropped")
            }
            Self::Disbelieved { line, numbers } => {
                let Numbers { start, end } = numbers;
                write!(
                    f,
                    "line {line}: packet dropped: nothing else has numbers as high as {start}"
                )?;
                if start < end { write!(f, " to {}", end - 1) } else { Ok(()) }
            }
            Self::AheadFull { number } => {
                write!(f, "message {number}: no room to keep it while earlier ones are missing")
            }
            Self::Ended { next } => write!(f, "end of session at message {next}"),
        }
    }
}

impl GapReport {
    /// The gap with what became of it, in terms of a market.
    pub fn market_gap(&self) -> SessionGap {
        let Fills { lines, retransmitted, snapshot, lost } = self.fills;
        let (closed_ns, requests) = (self.closed_ns, self.requests);
        let gap = self.gap.market_gap();
        SessionGap { closed_ns, lines, retransmitted, snapshot, lost, requests, ..gap }
    }
}

impl Gap {
    /// The open gap in terms of a market.
    pub fn market_gap(&self) -> SessionGap {
        let seen_by = match self.seen_by {
            PacketOrigin::Line(line) => Some(line.0),
            PacketOrigin::Retransmission => None,
        };
        let Numbers { start: first, end: next } = self.numbers;
        SessionGap { first, next, seen_ns: self.seen_ns, seen_by, ..SessionGap::default() }
    }
}

/// What became of a message that was missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fill {
    By(PacketOrigin),
    Snapshot,
    Lost,
}

impl Fills {
    pub(super) fn of(&mut self, fill: Fill) -> &mut u64 {
        match fill {
            Fill::By(PacketOrigin::Line(line)) => &mut self.lines[line.index()],
            Fill::By(PacketOrigin::Retransmission) => &mut self.retransmitted,
            Fill::Snapshot => &mut self.snapshot,
            Fill::Lost => &mut self.lost,
        }
    }

    /// All messages.
    pub fn total(&self) -> u64 {
        let others = [self.retransmitted, self.snapshot, self.lost];
        self.lines.iter().chain(&others).fold(0, |sum: u64, &more| sum.saturating_add(more))
    }

    /// Adds other messages.
    pub fn add(&mut self, other: &Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        self.lines.iter_mut().zip(other.lines).for_each(|(sum, more)| add(sum, more));
        add(&mut self.retransmitted, other.retransmitted);
        add(&mut self.snapshot, other.snapshot);
        add(&mut self.lost, other.lost);
    }
}
