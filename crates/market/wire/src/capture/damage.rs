//! Damage of a capture file.

/// Bytes that contradict the format of a capture. Offsets are those of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureDamage {
    /// The file does not begin as a capture does.
    #[error("offset {offset}: expected the magic number of pcap or pcapng, not {found:08x}")]
    Magic {
        /// Offset of the magic number.
        offset: u64,
        /// The bytes there, read as big-endian.
        found: u32,
    },
    /// The format has another major version.
    #[error("offset {offset}: expected format version {expected}, not {found}")]
    Version {
        /// Offset of the version.
        offset: u64,
        /// The supported major version.
        expected: u16,
        /// The major version of the file.
        found: u16,
    },
    /// The byte-order magic of a pcapng section is invalid.
    #[error("offset {offset}: expected the byte-order magic 1a2b3c4d, not {found:08x}")]
    ByteOrder {
        /// Offset of the byte-order magic.
        offset: u64,
        /// The bytes there, read as big-endian.
        found: u32,
    },
    /// The length of a pcapng block is impossible for its type.
    #[error(
        "offset {offset}: expected a block length of {least} or more, a multiple of 4, not {found}"
    )]
    BlockLength {
        /// Offset of the block.
        offset: u64,
        /// Least bytes of a block of this type.
        least: u32,
        /// The length in the block.
        found: u32,
    },
    /// The two lengths of a pcapng block differ. Reading continues with the first.
    #[error("offset {offset}: expected the block to end with its length {expected}, not {found}")]
    TrailingLength {
        /// Offset of the second length.
        offset: u64,
        /// The length at the beginning of the block.
        expected: u32,
        /// The length at its end.
        found: u32,
    },
    /// A packet is longer than the block that contains it. The packet is skipped.
    #[error("offset {offset}: expected at most {most} captured bytes in this block, not {found}")]
    PacketLength {
        /// Offset of the block.
        offset: u64,
        /// Bytes that the block has for the packet.
        most: u32,
        /// The captured length in the block.
        found: u32,
    },
    /// A record is longer than any packet.
    #[error("offset {offset}: expected a record of at most {most} bytes, not {found}")]
    TooLarge {
        /// Offset of the record.
        offset: u64,
        /// Most bytes of a record.
        most: u32,
        /// Bytes of this one.
        found: u64,
    },
    /// A packet names an interface that its section does not describe. The packet is skipped.
    #[error("offset {offset}: expected an interface below {interfaces}, not {found}")]
    Interface {
        /// Offset of the block.
        offset: u64,
        /// Interfaces that the section has described so far.
        interfaces: u32,
        /// The interface of the packet.
        found: u32,
    },
    /// A section describes too many interfaces.
    #[error("offset {offset}: expected at most {most} interfaces in a section")]
    Interfaces {
        /// Offset of the interface description that is one too many.
        offset: u64,
        /// Most interfaces.
        most: u32,
    },
    /// The file ends inside a record.
    #[error("offset {offset}: expected {needed} bytes, the file ends after {present}")]
    Cut {
        /// Offset of the record, or of what is missing of a skipped block.
        offset: u64,
        /// Bytes needed, at least.
        needed: u32,
        /// Bytes present.
        present: u32,
    },
}

impl CaptureDamage {
    /// The kind of damage, without values.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Magic { .. } => "unknown format of the capture",
            Self::Version { .. } => "unknown version of the capture format",
            Self::ByteOrder { .. } => "invalid byte order of a section",
            Self::BlockLength { .. } => "invalid length of a block",
            Self::TrailingLength { .. } => "two different lengths of a block",
            Self::PacketLength { .. } => "invalid length of a packet",
            Self::TooLarge { .. } => "too large packet",
            Self::Interface { .. } => "packet of an undescribed interface",
            Self::Interfaces { .. } => "too many interfaces",
            Self::Cut { .. } => "incomplete record",
        }
    }

    /// Offset in the file.
    pub const fn offset(&self) -> u64 {
        match *self {
            Self::Magic { offset, .. }
            | Self::Version { offset, .. }
            | Self::ByteOrder { offset, .. }
            | Self::BlockLength { offset, .. }
            | Self::TrailingLength { offset, .. }
            | Self::PacketLength { offset, .. }
            | Self::TooLarge { offset, .. }
            | Self::Interface { offset, .. }
            | Self::Interfaces { offset, .. }
            | Self::Cut { offset, .. } => offset,
        }
    }
}

const _: () = assert!(size_of::<CaptureDamage>() <= 32);
