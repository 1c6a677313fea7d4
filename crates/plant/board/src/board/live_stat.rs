//! The statistics of a live session: what each line brought, the race between them, and the gaps.

use std::net::{Ipv4Addr, SocketAddr};

use nanotape_feed::session::{GapCounts, LineCounts, SessionPosition};
use nanotape_trace::Histogram;

use super::stages::TIMES;

/// The statistics of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LiveStat {
    /// The lines, A first.
    pub lines: Vec<LineStat>,
    /// The answers of the re-request server.
    pub answers: LineCounts,
    /// Errors of the sockets to re-request servers.
    pub rerequest_errors: u64,
    /// Re-request servers that cannot be reached or do not answer.
    pub rerequest_servers_down: u64,
    /// Attempts to get a snapshot that failed.
    pub snapshot_failures: u64,
    /// Failures of SoupBinTCP servers.
    pub soupbintcp_failures: u64,
    /// Messages that a line lacked and another one brought within the hold time.
    pub overtaken: u64,
    /// How far the session is.
    pub position: SessionPosition,
    /// Declared gaps, and what filled them.
    pub gaps: GapCounts,
}

/// The statistics of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineStat {
    /// Its address.
    pub address: SocketAddr,
    /// What it brought.
    pub counts: LineCounts,
    /// Packets that the kernel dropped because the buffer was full.
    pub kernel_drops: u64,
    /// Errors of its socket.
    pub socket_errors: u64,
    /// Whether its socket cannot be read, or its group cannot be joined.
    pub is_failing: bool,
    /// By how many ns it was ahead of another line, for each packet that was first here.
    pub leads: Histogram,
    /// For each packet, the ns from the exchange's time of its first message to its receive time.
    pub delays: Histogram,
    /// Packets that are not among the delays: the clocks differ, or the day is sent again.
    pub unknown_delays: u64,
}

impl LineStat {
    /// A line that brought nothing yet.
    pub fn of(address: SocketAddr) -> Self {
        Self {
            address,
            counts: LineCounts::default(),
            kernel_drops: 0,
            socket_errors: 0,
            is_failing: false,
            leads: no_times(),
            delays: no_times(),
            unknown_delays: 0,
        }
    }
}

impl Default for LineStat {
    fn default() -> Self {
        Self::of(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0))
    }
}

/// An empty histogram of times, with its memory.
pub fn no_times() -> Histogram {
    Histogram::of_counts(TIMES, vec![0; TIMES.of(u64::MAX) + 1])
}
