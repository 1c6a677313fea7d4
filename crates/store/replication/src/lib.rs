//! A journal on several machines: one leader, whose appender knows nothing of it, and many
//! followers, each with a copy that is equal word for word.
//!
//! Where: store, above JOURNAL and LINK. [`LeaderLink`] and [`FollowerLink`] are the two sides of a
//! connection, without sockets, clocks or threads.
//! Layout: `docs/formats/replication.md`.
//! Failure: an excerpt that a follower has acknowledged is on it, under its number, once, and in
//! order, whatever stops; see [`FollowError`] and [`LeaderError`] for what is refused.
#![forbid(unsafe_code)]
#![cfg_attr(nanotape_loom, allow(dead_code, reason = "models are of a part"))]

mod acknowledge;
#[cfg(not(nanotape_loom))]
mod board;
#[cfg(not(nanotape_loom))]
mod commit;
#[cfg(not(nanotape_loom))]
mod error;
#[cfg(not(nanotape_loom))]
mod follower;
#[cfg(not(nanotape_loom))]
mod leader;
#[cfg(not(nanotape_loom))]
mod message;
#[cfg(all(test, nanotape_loom))]
mod models;
#[cfg(not(nanotape_loom))]
mod pace;
#[cfg(not(nanotape_loom))]
mod promote;
#[cfg(not(nanotape_loom))]
mod replicate;
#[cfg(not(nanotape_loom))]
mod serve;
#[cfg(not(nanotape_loom))]
mod serving;
#[cfg(not(nanotape_loom))]
mod terms;

#[cfg(not(nanotape_loom))]
pub use {
    board::{
        MOST_FOLLOWERS, Presence, REPLICAS_KIND, REPLICAS_LAYOUT, ReplicaRow, ReplicasBoard,
        ReplicasReader, followers_need,
    },
    commit::{CommitError, CommitPolicy, Committer, NAP, Quorum},
    error::{FollowError, LeaderError},
    follower::{ArrivedGroup, FollowOptions, Followed, FollowerLink, LeaderStatus, RETRY_NS, Term},
    leader::{FollowerStatus, LeaderLink, LeaderOptions, Turned},
    message::{CopyProgress, FRAME_BYTES, MessageError, Refusal, SERVICE},
    pace::LinkPace,
    promote::{PromoteError, Promotion, promote},
    replicate::{
        LEADER_KIND, LEADER_LAYOUT, MOST_PAUSE, ReplicateError, ReplicateEvent, ReplicateOptions,
        Replication, last_leader,
    },
    serve::{MOST_PENDING, ServeError, ServeEvent, ServeOptions, Server},
    terms::{TermEntry, Terms, TermsError},
};
