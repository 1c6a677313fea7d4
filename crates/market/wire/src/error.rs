//! Errors of decoding and encoding a message.
//!
//! Both errors are small, `Copy` and allocate nothing. They do not contain the offset in a file:
//! the reader of the framing knows it and adds it.

/// The bytes are not a valid message or structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// There are no bytes.
    #[error("expected a message, not 0 bytes")]
    Empty,
    /// A message of a known type has another length than its type allows.
    #[error("expected {expected} bytes of {name} (type {}), not {actual}", tag.escape_ascii())]
    Length {
        /// Name in the specification.
        name: &'static str,
        /// Type byte.
        tag: u8,
        /// The length that the type has.
        expected: u16,
        /// The length of the bytes.
        actual: u32,
    },
    /// A structure without a type byte has another length than required.
    #[error("expected {expected} bytes of {name}, not {actual}")]
    Size {
        /// Name in the specification.
        name: &'static str,
        /// The required length.
        expected: u16,
        /// The length of the bytes.
        actual: u32,
    },
    /// There are fewer bytes than the minimum.
    #[error("expected at least {least} bytes of {name}, not {actual}")]
    Short {
        /// Name in the specification.
        name: &'static str,
        /// Minimum number of bytes.
        least: u16,
        /// Number of bytes present.
        actual: u32,
    },
    /// There are more bytes than the maximum.
    #[error("expected at most {most} bytes of {name}, not {actual}")]
    Long {
        /// Name in the specification.
        name: &'static str,
        /// Maximum number of bytes.
        most: u32,
        /// Number of bytes present.
        actual: u32,
    },
    /// The type byte has another value.
    #[error("expected type {}, not {}", expected.escape_ascii(), actual.escape_ascii())]
    Tag {
        /// The expected type byte.
        expected: u8,
        /// The actual type byte.
        actual: u8,
    },
    /// The stated length is not the number of bytes after it.
    #[error("expected {stated} bytes after the length in {name}, not {actual}")]
    StatedLength {
        /// Name in the specification.
        name: &'static str,
        /// The stated length.
        stated: u16,
        /// The bytes after it.
        actual: u32,
    },
    /// The type, which is a number, has another value.
    #[error("expected type {expected} ({expected:#x}), not {actual} ({actual:#x})")]
    TypeNumber {
        /// The expected type.
        expected: u16,
        /// The actual type.
        actual: u16,
    },
    /// The stated length is not that of the message.
    #[error("the length in {name} is {stated}, but the message has {actual} bytes")]
    OwnLength {
        /// Name in the specification.
        name: &'static str,
        /// The stated length.
        stated: u16,
        /// The length of the bytes.
        actual: u32,
    },
    /// The stated length of the fields is below that of the known ones, or exceeds the message.
    #[error("the fields of {name} cannot have {stated} of its {actual} bytes")]
    Block {
        /// Name in the specification.
        name: &'static str,
        /// The stated length.
        stated: u16,
        /// The length of the bytes.
        actual: u32,
    },
    /// A group of entries is longer than the bytes left, or its entries are too short.
    #[error("the entries of group {name} at byte {offset} do not fit in the {actual} bytes left")]
    Group {
        /// Name of the field.
        name: &'static str,
        /// Offset of the group in the message.
        offset: u32,
        /// Bytes from there on.
        actual: u32,
    },
}

/// A message cannot be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer is too small.
    #[error("buffer of {available} bytes is too small for {name}, {needed} bytes")]
    Buffer {
        /// Name in the specification.
        name: &'static str,
        /// Bytes needed.
        needed: u32,
        /// Bytes in the buffer.
        available: u32,
    },
    /// A part of variable length is too long for its field.
    #[error("at most {most} bytes fit into the last field of {name}, not {actual}")]
    TooLong {
        /// Name in the specification.
        name: &'static str,
        /// Maximum bytes of the part.
        most: u32,
        /// The bytes given.
        actual: u32,
    },
    /// The entries of a group differ in length, or are more than its header can count.
    #[error("the entries of a group in {name} differ in length, or are too many")]
    Group {
        /// Name in the specification.
        name: &'static str,
    },
}

const _: () = assert!(size_of::<DecodeError>() <= 32 && size_of::<EncodeError>() <= 32);
const _: () = assert!(size_of::<Result<(), DecodeError>>() <= 32);
