//! Why a node or a connection cannot continue.

use nanotape_latest::LatestError;
use nanotape_link::LinkError;

use crate::membership::{MOST_DROPPED, MOST_MEMBERS};

/// What an operator does with a node whose files are no longer usable.
const BEGIN_AGAIN: &str = "drop this node on another one, remove the map and its .node and .peers \
                           files, and add it again with an empty map";

/// An error of a node or a connection. After one of a connection, the caller sends the bytes that
/// wait, and closes it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeersError {
    /// The map.
    #[error(transparent)]
    Map(LatestError),
    /// The map is damaged.
    #[error("{source}; {BEGIN_AGAIN}")]
    Damaged {
        /// Where.
        source: LatestError,
    },
    /// An entry with a time and an origin that no node of the cluster stores.
    #[error(
        "damaged: group {group} of the map has an entry of time {time_ns} and origin {origin:#x}, which \
         no node of the cluster stores; {BEGIN_AGAIN}"
    )]
    Stamp {
        /// The group.
        group: usize,
        /// The first word of the stamp.
        time_ns: u64,
        /// The second one.
        origin: u64,
    },
    /// The link.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A map whose values have no room for the time and the node.
    #[error(
        "values have {value_words} words, expected 2 or more for the time and the node: make the map \
         with peer_map"
    )]
    NoPeerMap {
        /// Words of a value.
        value_words: usize,
    },
    /// A number that no node has.
    #[error("node 0 is not valid: use 1 to 65535")]
    Node,
    /// The index of another map.
    #[error("the index has {found} groups, the map has {expected}: make a new index")]
    Index {
        /// Groups of the index.
        found: usize,
        /// Groups of the map.
        expected: usize,
    },
    /// Stored members that cannot be read.
    #[error("the stored members are damaged: begin a new life with an empty map")]
    Members,
    /// Members could not be stored.
    #[error("failed to store the members: {source}; it is tried again")]
    Store {
        /// The cause.
        source: std::io::Error,
    },
    /// Bytes that are not a message, or one that comes at the wrong time.
    #[error("node {node}: unexpected message of kind {kind} with {length} bytes")]
    Message {
        /// The node; 0: it is not known yet.
        node: u16,
        /// The kind.
        kind: u16,
        /// Bytes of the payload.
        length: usize,
    },
    /// The other side has opened the link, and has not stated its node within the patience.
    #[error("no state came within the patience of the link")]
    NoState,
    /// The other side has another map.
    #[error("node {node}: {what} is {found:#x}, this node has {expected:#x}")]
    Differs {
        /// The node.
        node: u16,
        /// What differs.
        what: &'static str,
        /// Its value there.
        found: u64,
        /// Its value here.
        expected: u64,
    },
    /// Another node was dialed.
    #[error("node {dialed} was dialed, but node {node} is there: correct the addresses")]
    OtherNumber {
        /// The node that is there.
        node: u16,
        /// The node of the address.
        dialed: u16,
    },
    /// The name of the hello is not the one that is configured for the node.
    #[error(
        "it states to be node {node} with the name '{name}', but {configured}: correct its configuration"
    )]
    Name {
        /// The number that it states.
        node: u16,
        /// The name that it states.
        name: String,
        /// What is configured here.
        configured: ConfiguredName,
    },
    /// The certificate is not for the name of the hello.
    #[error("node {node} states the name '{name}', but its certificate is not for that name")]
    Certificate {
        /// The node.
        node: u16,
        /// The name that it states.
        name: String,
    },
    /// The link accepts no frame that has room for an entry.
    #[error("node {node} accepts frames of {most} bytes, expected {expected}")]
    Frames {
        /// The node.
        node: u16,
        /// The most.
        most: usize,
        /// The least.
        expected: usize,
    },
    /// A group of the map has a version from before the one in the index.
    #[error(
        "the map is an older copy: group {group} has version {found:#x}, and had {expected:#x}; \
         {BEGIN_AGAIN}"
    )]
    OlderMap {
        /// The group.
        group: usize,
        /// Its version in the map.
        found: u64,
        /// Its version in the index.
        expected: u64,
    },
    /// An acknowledgement of changes that this node has not made: what it has is an older copy.
    #[error(
        "the map or its index is an older copy: node {node} acknowledges change {number}, the last \
         one is {last}; {BEGIN_AGAIN}"
    )]
    Unsent {
        /// The node.
        node: u16,
        /// The acknowledged number.
        number: u64,
        /// The last number.
        last: u64,
    },
    /// There would be too many members.
    #[error(
        "no room for the members with node {node}: at most {MOST_MEMBERS} nodes and {MOST_DROPPED} dropped \
         lives in all the time of a cluster; one with another name and empty maps begins without them"
    )]
    TooMany {
        /// The node.
        node: u16,
    },
    /// A later connection of the same node replaces this one.
    #[error("node {node} has a later connection")]
    Replaced {
        /// The node.
        node: u16,
    },
    /// This node refuses the other one.
    #[error("node {node} is refused: {refusal}")]
    Refuses {
        /// The other node.
        node: u16,
        /// Why.
        refusal: PeersRefusal,
    },
    /// The other node refuses this one.
    #[error("refused by node {node}: {refusal}")]
    Refused {
        /// The other node.
        node: u16,
        /// Why.
        refusal: PeersRefusal,
    },
}

/// What the configuration has instead of the stated name and number.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfiguredName {
    /// The node has another name.
    #[error("the name of that node is '{name}'")]
    OfNode {
        /// Its name.
        name: String,
    },
    /// The name is that of another node.
    #[error("that is the name of node {node}")]
    OfName {
        /// The node.
        node: u16,
    },
}

impl From<LatestError> for PeersError {
    fn from(error: LatestError) -> Self {
        if error.is_bad_data() { Self::Damaged { source: error } } else { Self::Map(error) }
    }
}

impl PeersError {
    /// Whether the map or its index is damaged or an older copy. All others are obstacles, or
    /// belong to the other side.
    pub fn is_bad_data(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. }
                | Self::Stamp { .. }
                | Self::Members
                | Self::OlderMap { .. }
                | Self::Unsent { .. }
        )
    }

    /// The same error for the node, if a connection has found what ends the node.
    pub(crate) fn of_node(&self) -> Option<Self> {
        match *self {
            Self::Damaged { ref source } => Some(Self::Damaged { source: source.clone() }),
            Self::Stamp { group, time_ns, origin } => Some(Self::Stamp { group, time_ns, origin }),
            Self::Unsent { node, number, last } => Some(Self::Unsent { node, number, last }),
            _ => None,
        }
    }
}

/// Why a node is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeersRefusal {
    /// Its life was dropped.
    #[error("it was dropped at {at_ns} ns since 1970: add it again and begin with an empty map")]
    Dropped {
        /// When, in ns since the UNIX epoch.
        at_ns: u64,
    },
    /// It is not a member.
    #[error("it is not a member: add it first")]
    Unknown,
    /// Another life has the same number.
    #[error("another map has joined under its number: drop that node first")]
    OtherLife,
    /// Neither side has joined.
    #[error("neither side has joined: connect to a member first")]
    NotYet,
    /// It joins with entries.
    #[error(
        "it was added and must join with an empty map, but has {entries} entries: stop it, remove its \
         map and the .node file beside it, and start it again"
    )]
    NotEmpty {
        /// How many.
        entries: u64,
    },
}

impl PeersRefusal {
    pub(crate) fn words(self) -> [u64; 2] {
        match self {
            Self::Dropped { at_ns } => [1, at_ns],
            Self::Unknown => [2, 0],
            Self::OtherLife => [3, 0],
            Self::NotYet => [4, 0],
            Self::NotEmpty { entries } => [5, entries],
        }
    }

    pub(crate) fn of([code, value]: [u64; 2]) -> Option<Self> {
        Some(match code {
            1 => Self::Dropped { at_ns: value },
            2 => Self::Unknown,
            3 => Self::OtherLife,
            4 => Self::NotYet,
            5 => Self::NotEmpty { entries: value },
            _ => return None,
        })
    }
}
