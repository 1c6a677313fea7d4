//! A map of latest values on several nodes, each of which writes it: all of them become equal.
//!
//! Where: store, above LATEST and LINK. [`PeerWriter`] and [`PeerReader`] are for the processes of
//! a node, and need nothing but the map. One process has the [`PeerNode`], and a [`PeerConnection`]
//! for each other node: state machines without sockets, clocks or threads. [`Cluster`] gives them
//! sockets, an index in a region and members in a file.
//! Layout: `docs/formats/peers.md`.
//! Protocol: each entry has the time and the node of its write, and the greater one wins. A node
//! numbers the changes of its groups, and sends the groups after the number that the other node has
//! acknowledged, as they are at that moment. A removal is kept until all nodes have it.
//! Bounds: a connection has the two buffers of its link and one frame. A slow link carries the
//! newest state of each key, and not its history.
//! Failure: a node can stop at any moment and continues with its map and its members. A lost index
//! costs a whole transfer. A lost node prevents that removals are forgotten, until it is dropped.
#![forbid(unsafe_code)]

mod cluster;
mod connection;
mod error;
mod forget;
mod index;
mod member_file;
mod membership;
mod message;
mod node;
mod reader;
mod region_index;
mod request;
mod round;
mod write_stamp;
mod writer;

pub use cluster::{
    Cluster, ClusterError, ClusterEvent, ClusterOptions, MOST_LINKS, cluster_number, remove_index,
};
pub use connection::PeerConnection;
pub use error::{ConfiguredName, PeersError, PeersRefusal};
pub use index::{ChangeIndex, GroupChange, MemoryIndex, PeerCursor};
pub use member_file::{NodeFile, NodeFileError, NodeIdentity, node_path};
pub use membership::{
    DroppedLife, MOST_DROPPED, MOST_MEMBERS, Member, MemberState, MemberStore, Membership,
    MemoryMembers,
};
pub use message::{FRAME_BYTES, SERVICE};
pub use node::{PeerEvent, PeerNode, PeerOptions};
pub use reader::PeerReader;
pub use region_index::RegionIndex;
pub use request::{RequestAnswer, request};
pub use write_stamp::{STAMP_WORDS, peer_map};
pub use writer::PeerWriter;
