//! What a session does about losses, and how much memory it may use for it.

use core::str::FromStr;

pub use nanotape_market::MAX_LINES;

const MS: u64 = 1_000_000;

/// The settings of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionSettings {
    /// Number of lines, 1 to [`MAX_LINES`].
    pub lines: usize,
    /// Where a session is joined whose first packet is not its first.
    pub join: Join,
    /// How long the first packets of a session are kept before it is joined, if not all lines have
    /// brought one: an earlier packet may come later. With all lines, `hold_ns` is enough. 0 joins
    /// the session of the first packet at once. In ns.
    pub join_ns: u64,
    /// How long a missing message is waited for before its gap is declared: the other line, or a
    /// packet that was overtaken, may still have it. In ns.
    pub hold_ns: u64,
    /// A gap is declared earlier if every line has passed it by this many messages.
    pub reorder_messages: u64,
    /// Whether later messages wait for those of a declared gap.
    pub gap_policy: GapPolicy,
    /// Requests to a re-request server; `None` if there is none.
    pub requests: Option<RequestSettings>,
    /// Snapshots; `None` if no server gives any.
    pub snapshots: Option<SnapshotSettings>,
    /// A line without a packet for so long is reported as silent. In ns.
    pub silence_ns: u64,
    /// Numbers after a gap of which messages are kept.
    pub ahead_messages: usize,
    /// Bytes of these messages. Memory for twice as many is reserved.
    pub ahead_bytes: usize,
}

/// Where a session is joined whose first packet is not its first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Join {
    /// With the first packet that arrives: the books lack all earlier orders.
    Here,
    /// With message 1: what was missed is a gap, which is recovered as any other.
    Start,
    /// With a snapshot.
    Snapshot,
}

/// What happens to the messages after a declared gap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GapPolicy {
    /// They wait until it is closed.
    #[default]
    Wait,
    /// They are shown [ahead](super::SessionHandler::ahead) of it, and delivered when it is closed.
    Flag,
}

/// Requests to a re-request server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestSettings {
    /// How long an answer may take. In ns.
    pub timeout_ns: u64,
    /// How often a request without an answer is repeated before a snapshot is tried, or before a
    /// pause if there is none.
    pub retries: u32,
    /// The first pause, which doubles up to [`RequestSettings::MOST_PAUSE_NS`] and ends with the
    /// first answer. In ns.
    pub pause_ns: u64,
    /// How long requests go on without an answer before the messages are given up. In ns.
    pub budget_ns: u64,
    /// Messages in one request.
    pub messages: u16,
    /// Requests without an answer yet, at most.
    pub in_flight: usize,
}

/// Snapshots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SnapshotSettings {
    /// How long a snapshot may take. In ns.
    pub timeout_ns: u64,
    /// How often one is tried before the loss is accepted.
    pub attempts: u32,
    /// After an accepted loss, the time until the next try. In ns.
    pub retry_after_ns: u64,
}

impl FromStr for Join {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "here" => Ok(Self::Here),
            "start" => Ok(Self::Start),
            "snapshot" => Ok(Self::Snapshot),
            _ => Err("expected here, start or snapshot"),
        }
    }
}

impl FromStr for GapPolicy {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "wait" => Ok(Self::Wait),
            "flag" => Ok(Self::Flag),
            _ => Err("expected wait or flag"),
        }
    }
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            lines: 2,
            join: Join::Here,
            join_ns: 50 * MS,
            hold_ns: 2 * MS,
            reorder_messages: 256,
            gap_policy: GapPolicy::Wait,
            requests: None,
            snapshots: None,
            silence_ns: 3_000 * MS,
            ahead_messages: 1 << 20,
            ahead_bytes: 64 << 20,
        }
    }
}

impl Default for RequestSettings {
    fn default() -> Self {
        Self {
            timeout_ns: 20 * MS,
            retries: 4,
            pause_ns: 50 * MS,
            budget_ns: 5_000 * MS,
            messages: 32,
            in_flight: 8,
        }
    }
}

impl RequestSettings {
    /// The longest pause, in ns.
    pub const MOST_PAUSE_NS: u64 = 1_000 * MS;
}

impl Default for SnapshotSettings {
    fn default() -> Self {
        Self { timeout_ns: 30_000 * MS, attempts: 3, retry_after_ns: 60_000 * MS }
    }
}
