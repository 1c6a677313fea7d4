//! The position of a named follower, in a region beside the ring: the follower shows it, and a
//! plant that waits for followers reads it.
//!
//! Layout: `docs/formats/follower.md`.
//! Failure: a region is untrusted: its numbers decide only how long a plant waits and what is
//! reported.

mod layout;
mod named;
mod reader;

pub use layout::{FIELDS as FOLLOWER_FIELDS, KIND as FOLLOWER_KIND, LAYOUT as FOLLOWER_LAYOUT};
pub use named::{FollowerError, FollowerStart, NamedFollower, follower_path, is_of_the_rings_user};
pub use reader::{FollowerReader, FollowerStat, follower_names};
