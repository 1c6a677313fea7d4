//! Why a connection between a leader and a follower ended.

use nanotape_journal::{JournalError, Position};
use nanotape_link::LinkError;

use crate::message::{FRAME_BYTES, MessageError, Refusal};

/// Why the leader ended the connection to a follower.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaderError {
    /// The link ended.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A message that is not one.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// A message that does not belong here.
    #[error("the follower sent a message of kind {kind} at the wrong time")]
    Order {
        /// Its kind.
        kind: u16,
    },
    /// The follower acknowledges what was not sent to it.
    #[error("the follower acknowledges excerpts before {found}, and those before {sent} were sent")]
    Unsent {
        /// The number that it acknowledges.
        found: u64,
        /// The number after the last excerpt that was sent.
        sent: u64,
    },
    /// The follower requests more than it receives.
    #[error("the follower sends messages, and takes no answers")]
    Full,
    /// The follower accepts only shorter frames.
    #[error("the follower accepts {found} bytes in a frame, at least {} are needed", FRAME_BYTES)]
    ShortFrames {
        /// Bytes that it accepts.
        found: u32,
    },
    /// The journal of the leader.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The copy cannot be served.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The socket of the follower.
    #[error("{source}")]
    Socket {
        /// The reason.
        source: std::io::Error,
    },
    /// The leader ends, or the follower has connected again.
    #[error("the leader ends, or another connection of this follower's name replaced this one")]
    Ended,
    /// The follower follows a later leader.
    #[error("the follower has epoch {found}, this leader has {own}: it was replaced")]
    Deposed {
        /// The epoch of the follower.
        found: u64,
        /// That of this leader.
        own: u64,
    },
}

/// Why a follower ended its connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// The link ended.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A message that is not one.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// A message that does not belong here.
    #[error("the leader sent a message of kind {kind} at the wrong time")]
    Order {
        /// Its kind.
        kind: u16,
    },
    /// An excerpt that does not fit into its segment.
    #[error(
        "the leader sent {parts_bytes} bytes of an excerpt, and its segment has room for {most_bytes}"
    )]
    Parts {
        /// Bytes of its parts so far.
        parts_bytes: u64,
        /// Bytes that are left in the segment.
        most_bytes: u64,
    },
    /// The leader takes no reports.
    #[error("the leader sends messages, and takes no answers")]
    Full,
    /// The journal of the copy.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The leader does not serve this copy.
    #[error(transparent)]
    Refused(Refusal),
    /// The copy has excerpts that the leader neither lost nor gave back.
    #[error(
        "the copy has excerpts {leader_next} to {}, which the leader does not have, and is not known to \
         have lost: it may have an older state of its journal. To keep them, promote the copy; to move \
         them to its folder cut, replicate with --set-aside",
        copy_next.saturating_sub(1)
    )]
    Ahead {
        /// The first of them.
        leader_next: u64,
        /// The next number of the copy.
        copy_next: u64,
    },
    /// A leader that was replaced by a later one.
    #[error(
        "the leader has epoch {found}, and the copy follows epoch {own}: the leader was replaced; \
         replicate from the new one"
    )]
    Fenced {
        /// The epoch of the leader.
        found: u64,
        /// That of the copy.
        own: u64,
    },
    /// An epoch that no leader has.
    #[error("the leader has epoch {found}, which is not possible")]
    Epoch {
        /// The epoch.
        found: u64,
    },
    /// A position at which the copy cannot continue.
    #[error("the leader continues at {position}, and the copy ends at {end}")]
    Position {
        /// The position.
        position: Position,
        /// The end of the copy.
        end: Position,
    },
    /// Another leader with the same epoch.
    #[error(
        "the leader has epoch {epoch} as the one before, and is another one: two copies were promoted; \
         stop one of them"
    )]
    TwoLeaders {
        /// Their epoch.
        epoch: u64,
    },
    /// Both sides have the same positions, and other excerpts.
    #[error("the copy differs from the leader before {position}: its contents changed on one side")]
    Differs {
        /// The end of the excerpts after which it was found.
        position: Position,
    },
}
