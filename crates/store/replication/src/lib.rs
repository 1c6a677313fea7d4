//! A journal on several machines: one leader, whose appender knows nothing of it, and many
//! followers, each with a copy that is equal word for word.
//!
//! Where: store, above JOURNAL and LINK. [`LeaderLink`] and [`FollowerLink`] are the two sides of a
//! connection, without sockets, clocks or threads.
//! Layout: `docs/formats/replication.md`.
//! Failure: an excerpt that a follower has acknowledged is on it, under its number, once, and in
//! order, whatever stops; see [`FollowError`] and [`LeaderError`] for what is refused.
#![forbid(unsafe_code)]

mod board;
mod commit;
mod error;
mod follower;
mod leader;
mod message;
mod pace;
mod promote;
mod replicate;
mod serve;
mod terms;

pub use board::{
    MOST_FOLLOWERS, Presence, REPLICAS_KIND, REPLICAS_LAYOUT, ReplicaRow, ReplicasBoard,
    ReplicasReader,
};
pub use commit::{CommitError, CommitPolicy, Committer, NAP, Quorum};
pub use error::{FollowError, LeaderError};
pub use follower::{FollowOptions, Followed, FollowerLink, LeaderStatus, RETRY_NS, Term};
pub use leader::{FollowerStatus, LeaderLink, LeaderOptions, Turned};
pub use message::{CopyProgress, FRAME_BYTES, MessageError, Refusal, SERVICE};
pub use pace::LinkPace;
pub use promote::{PromoteError, Promotion, promote};
pub use replicate::{
    LEADER_KIND, LEADER_LAYOUT, MOST_PAUSE, ReplicateError, ReplicateEvent, ReplicateOptions,
    Replication, last_leader,
};
pub use serve::{MOST_PENDING, ServeError, ServeEvent, ServeOptions, Server};
pub use terms::{TermEntry, Terms, TermsError};
