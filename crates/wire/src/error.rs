//! Why bytes are not a message, and why a message does not become bytes.
//!
//! Both errors are small, `Copy` and allocate nothing. Neither knows where in a file the bytes
//! stood: whoever cut the message out of its framing does, and adds it.

/// Bytes that are not what they were taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// There is not a single byte.
    #[error("expected a message, not 0 bytes")]
    Empty,
    /// A message of a known type has another length than its type allows.
    #[error("expected {expected} bytes of {name} (type {}), not {actual}", tag.escape_ascii())]
    Length {
        /// Name in the specification.
        name: &'static str,
        /// Type byte.
        tag: u8,
        /// The length it must have.
        expected: u16,
        /// The length it has.
        actual: u32,
    },
    /// A structure without a type byte has another length than it must have.
    #[error("expected {expected} bytes of {name}, not {actual}")]
    Size {
        /// Name in the specification.
        name: &'static str,
        /// The length it must have.
        expected: u16,
        /// The length it has.
        actual: u32,
    },
    /// There are fewer bytes than anything of the kind has.
    #[error("expected at least {least} bytes of {name}, not {actual}")]
    Short {
        /// Name in the specification.
        name: &'static str,
        /// The fewest bytes it takes.
        least: u16,
        /// The bytes there are.
        actual: u32,
    },
    /// There are more bytes than anything of the kind has.
    #[error("expected at most {most} bytes of {name}, not {actual}")]
    Long {
        /// Name in the specification.
        name: &'static str,
        /// The most bytes it takes.
        most: u32,
        /// The bytes there are.
        actual: u32,
    },
    /// The type byte is that of something else.
    #[error("expected type {}, not {}", expected.escape_ascii(), actual.escape_ascii())]
    Tag {
        /// The type byte it must have.
        expected: u8,
        /// The type byte it has.
        actual: u8,
    },
    /// A length written in the bytes is not the number of bytes that follow it.
    #[error("expected {stated} bytes after the length in {name}, not {actual}")]
    StatedLength {
        /// Name in the specification.
        name: &'static str,
        /// The length written in the bytes.
        stated: u16,
        /// The bytes that follow.
        actual: u32,
    },
}

/// A message that cannot be written as asked.
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
    /// A part of variable length is longer than its place allows.
    #[error("at most {most} bytes fit into the last field of {name}, not {actual}")]
    TooLong {
        /// Name in the specification.
        name: &'static str,
        /// The most bytes it takes.
        most: u32,
        /// The bytes given.
        actual: u32,
    },
}

const _: () = assert!(size_of::<DecodeError>() <= 32 && size_of::<EncodeError>() <= 32);
const _: () = assert!(size_of::<Result<(), DecodeError>>() <= 32);
