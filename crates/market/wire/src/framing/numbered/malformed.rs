//! Why the bytes of a packet are not a valid packet, and the kinds of it for counters.

/// Why bytes are not a packet of a protocol. Offsets count from the first byte of the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The packet ends inside its header.
    #[error("a packet header takes {needed} bytes, {present} are present")]
    Short {
        /// Bytes of the header.
        needed: u32,
        /// Bytes of the packet.
        present: u32,
    },
    /// The header has another version than the decoder supports.
    #[error("header version {found} is not supported, expected {expected}")]
    Version {
        /// The supported version.
        expected: u8,
        /// The version in the header.
        found: u8,
    },
    /// The header states another number of bytes than follow it.
    #[error("the header states {stated} bytes after it, {present} are present")]
    LengthMismatch {
        /// Bytes according to the header.
        stated: u32,
        /// Bytes after the header.
        present: u32,
    },
    /// The packet ends before its last block.
    #[error("block {block} of {count} at byte {offset} takes {needed} bytes, {present} are left")]
    Cut {
        /// The block, from 0.
        block: u16,
        /// Blocks according to the header.
        count: u16,
        /// Offset of the block in the packet.
        offset: u32,
        /// Bytes that it needs, its length included.
        needed: u32,
        /// Bytes left.
        present: u32,
    },
    /// There are bytes after the last block.
    #[error("{following} bytes follow the last block, which ends at byte {offset}")]
    Trailing {
        /// Offset in the packet where the last block ends.
        offset: u32,
        /// Number of bytes after it.
        following: u32,
    },
    /// The first message has number 0; numbers start at 1.
    #[error("the first of {count} messages has number 0, expected 1 or more")]
    NumberZero {
        /// Messages.
        count: u16,
    },
    /// The number after the last message is higher than the protocol allows.
    #[error("sequence number {first} leaves no room for {count} messages")]
    NumberOverflow {
        /// Number of the first message.
        first: u64,
        /// Messages.
        count: u16,
    },
    /// The stream offset after the packet is higher than the protocol allows.
    #[error("stream offset {offset} leaves no room for {length} bytes")]
    StreamOverflow {
        /// Stream offset of the packet.
        offset: u64,
        /// Bytes of its blocks.
        length: u16,
    },
    /// A block states fewer bytes than its length takes.
    #[error(
        "block {block} of {count} at byte {offset} states {stated} bytes, expected at least {least}"
    )]
    BlockLength {
        /// The block, from 0.
        block: u16,
        /// Blocks according to the header.
        count: u16,
        /// Offset of the block in the packet.
        offset: u32,
        /// Bytes that it states.
        stated: u16,
        /// Bytes of its length.
        least: u16,
    },
}

const _: () = assert!(size_of::<Malformed>() <= 32);

/// The kind of a [`Malformed`] packet, without values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum MalformedKind {
    /// [`Malformed::Short`].
    Short,
    /// [`Malformed::Version`].
    Version,
    /// [`Malformed::LengthMismatch`].
    LengthMismatch,
    /// [`Malformed::Cut`].
    Cut,
    /// [`Malformed::Trailing`].
    Trailing,
    /// [`Malformed::NumberZero`].
    NumberZero,
    /// [`Malformed::NumberOverflow`].
    NumberOverflow,
    /// [`Malformed::StreamOverflow`].
    StreamOverflow,
    /// [`Malformed::BlockLength`].
    BlockLength,
}

impl Malformed {
    /// Its kind.
    pub const fn kind(&self) -> MalformedKind {
        match self {
            Self::Short { .. } => MalformedKind::Short,
            Self::Version { .. } => MalformedKind::Version,
            Self::LengthMismatch { .. } => MalformedKind::LengthMismatch,
            Self::Cut { .. } => MalformedKind::Cut,
            Self::Trailing { .. } => MalformedKind::Trailing,
            Self::NumberZero { .. } => MalformedKind::NumberZero,
            Self::NumberOverflow { .. } => MalformedKind::NumberOverflow,
            Self::StreamOverflow { .. } => MalformedKind::StreamOverflow,
            Self::BlockLength { .. } => MalformedKind::BlockLength,
        }
    }
}

impl MalformedKind {
    /// All kinds. `kind as usize` is the index of a kind, for an array of counters.
    pub const ALL: [Self; 9] = [
        Self::Short,
        Self::Version,
        Self::LengthMismatch,
        Self::Cut,
        Self::Trailing,
        Self::NumberZero,
        Self::NumberOverflow,
        Self::StreamOverflow,
        Self::BlockLength,
    ];

    /// A name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Short => "short header",
            Self::Version => "unsupported version",
            Self::LengthMismatch => "length mismatch",
            Self::Cut => "cut block",
            Self::Trailing => "trailing bytes",
            Self::NumberZero => "number zero",
            Self::NumberOverflow => "number overflow",
            Self::StreamOverflow => "stream offset overflow",
            Self::BlockLength => "block length",
        }
    }
}
