//! The thread of one follower at its leader: moves bytes between the socket and the link, and shows
//! what is known of the follower.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_link::{Connection, LinkClocks};

use crate::{
    LeaderError, LeaderLink, ReplicasBoard, Term, Turned,
    acknowledge::NO_INCARNATION,
    pace::{LinkPace, Rate},
};

/// The time between two updates of what is known of a follower.
const UPDATE_NS: u64 = 20_000_000;

/// What all threads use.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) journal: PathBuf,
    pub(crate) board: ReplicasBoard,
    pub(crate) term: Term,
    /// The number before which some follower has all excerpts.
    pub(crate) acknowledged: AtomicU64,
}

/// The work of a thread.
pub(crate) struct Serving {
    pub(crate) link: LeaderLink,
    pub(crate) connection: Connection,
    pub(crate) slot: usize,
    pub(crate) pace: LinkPace,
    pub(crate) shared: Arc<Shared>,
    pub(crate) ends: Arc<AtomicBool>,
}

impl Serving {
    /// Serves until the connection ends; returns why it did.
    pub(crate) fn run(mut self, clock: &Clock) -> LeaderError {
        let clocks = LinkClocks::new(clock);
        let now = clocks.now();
        self.shared.board.connected(self.slot, now.utc_ns);
        let error = self.serve(&clocks);
        let now = clocks.now();
        if matches!(error, LeaderError::Ended) {
            self.link.peer().close(&error.to_string());
        }
        self.connection.finish(self.link.peer(), now);
        self.shared.board.gone(self.slot, &error.to_string(), now.utc_ns);
        error
    }

    fn serve(&mut self, clocks: &LinkClocks) -> LeaderError {
        let (mut updated_ns, mut received_ns, mut rate) = (0, 0, Rate::default());
        let (mut progressed_ns, mut progress) = (clocks.now().utc_ns, (0, 0));
        let mut incarnation = NO_INCARNATION;
        loop {
            let now = clocks.now();
            let exchanged = match self.connection.exchange(self.link.peer(), now) {
                Ok(exchanged) => exchanged,
                Err(source) => return LeaderError::Socket { source },
            };
            let now = clocks.after(&exchanged, now);
            let turned = match self.link.turn(now) {
                Ok(turned) => turned,
                Err(error) => return error,
            };
            if exchanged.received > 0 {
                received_ns = now.utc_ns;
                let status = self.link.status();
                incarnation = self.shared.board.acknowledge(self.slot, incarnation, status);
                let next = (status.progress.incarnation, status.progress.next_sequence);
                if next != progress {
                    (progress, progressed_ns) = (next, now.utc_ns);
                }
            }
            if now.monotonic_ns.saturating_sub(updated_ns) >= UPDATE_NS {
                updated_ns = now.monotonic_ns;
                if self.ends.load(Ordering::Acquire) {
                    return LeaderError::Ended;
                }
                let status = self.link.status();
                let per_s = rate.at(now.monotonic_ns, status.sent_bytes);
                let offset = self.link.offset(now);
                let times = [received_ns, progressed_ns, per_s];
                self.shared.board.update(self.slot, status, offset, times);
                self.link.set_acknowledged(self.shared.acknowledged.load(Ordering::Acquire));
            }
            let is_idle = turned == Turned::Idle && exchanged.received == 0 && exchanged.sent == 0;
            if is_idle {
                let most = self.link.due_in(now).unwrap_or(Duration::MAX);
                let paused = self.pace.pause(&self.connection, self.link.peer(), most);
                if let Err(source) = paused {
                    return LeaderError::Socket { source };
                }
            }
        }
    }
}
