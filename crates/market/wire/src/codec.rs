//! The macros that read generated tables, and the functions that the expanded code calls.
//!
//! Public because other crates have generated tables too (`testkit` has a test protocol). Callers
//! use the generated modules instead.

mod bits;
mod enumeration;
mod extended;
mod extension;
mod field_value;
mod groups;
mod layout;
mod messages;

#[doc(hidden)]
pub use extension::{Extension, after_block, extends, refuse_group, seal};
#[doc(hidden)]
pub use field_value::FieldValue;
pub use groups::{Entries, GroupEntry};
#[doc(hidden)]
pub use groups::{
    GroupHeader, Out, WriteEntry, entries, split_group, write_all, write_group, write_message,
};
#[doc(hidden)]
pub use nanotape_types::WireValue;

use crate::{DecodeError, EncodeError};

/// A one-byte code that its enumeration does not list.
///
/// Only decoding creates one, so that a listed code can never be wrapped as unknown and compare
/// unequal to itself:
///
/// ```compile_fail,E0423
/// let start = nanotape_wire::codec::UnknownCode(b'O');
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UnknownCode(u8);

impl UnknownCode {
    /// The byte.
    #[inline]
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// For generated enumerations, after all listed codes.
#[doc(hidden)]
#[inline]
pub const fn unknown_code(byte: u8) -> UnknownCode {
    UnknownCode(byte)
}

/// The byte of a listed code.
#[doc(hidden)]
pub const fn byte(code: char) -> u8 {
    assert!(code.is_ascii(), "a code is one byte");
    code as u8
}

/// The shape of a message or structure, for the error of bytes that do not have it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Name in the specification.
    pub name: &'static str,
    /// Offset and value of the type byte.
    pub tag: Option<(usize, u8)>,
    /// Total bytes, or bytes before the tail.
    pub length: usize,
    /// Maximum bytes of the tail, if there is one.
    pub tail: Option<usize>,
    /// Offset of a two-byte count of the bytes after it.
    pub length_at: Option<usize>,
    /// What only messages of some protocols have.
    pub extension: Extension,
}

impl Shape {
    fn is_extended(&self) -> bool {
        let Extension { number, grows, own_length, block, optional, .. } = self.extension;
        grows || optional > 0 || number.is_some() || own_length.is_some() || block.is_some()
    }
}

/// A view, as the enum of messages uses it.
#[doc(hidden)]
pub trait View {
    /// Offsets of its fields.
    const LAYOUT: Layout;

    /// Encodes the fields at the front of `buffer` and returns the bytes.
    fn encode(self, buffer: &mut [u8]) -> Result<&[u8], EncodeError>;
}

/// A message or structure with its fields of fixed width, so that a test can generate its bytes.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The conditions that `wrap` checks.
    pub shape: Shape,
    /// The fields of fixed width, in the order of their offsets.
    pub fields: &'static [Slot],
}

/// A field of a [`Layout`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// First byte.
    pub offset: usize,
    /// Bytes.
    pub length: usize,
    /// The listed codes, if its type is an enumeration.
    pub codes: &'static [u8],
}

impl Slot {
    /// The field of type `T` at `offset`. Fails to compile if the table gives it another width than
    /// the type has.
    pub const fn new<T: FieldValue<N>, const N: usize>(offset: usize, length: usize) -> Self {
        assert!(length == N, "the type of a field has another width than its bytes");
        Self { offset, length, codes: T::CODES }
    }
}

/// The length of each type of message that has only one length; 0 for all other types.
#[doc(hidden)]
pub const fn lengths(layouts: &[Layout]) -> [u16; 256] {
    let mut lengths = [0; 256];
    let mut rest = layouts;
    while let [Layout { shape, .. }, after @ ..] = rest {
        if let (Some((_, tag)), None) = (shape.tag, shape.tail) {
            lengths[tag as usize] = shape.length as u16;
        }
        rest = after;
    }
    lengths
}

/// Bytes of the longest message of fixed length.
#[doc(hidden)]
pub const fn longest(layouts: &[Layout]) -> usize {
    let mut longest = 0;
    let mut rest = layouts;
    while let [Layout { shape, .. }, after @ ..] = rest {
        if shape.tail.is_none() && shape.length > longest {
            longest = shape.length;
        }
        rest = after;
    }
    longest
}

/// The `N` bytes at `OFFSET`. The compiler checks that they are inside.
#[inline]
pub const fn field<const OFFSET: usize, const N: usize, const LEN: usize>(
    bytes: &[u8; LEN],
) -> &[u8; N] {
    const { assert!(OFFSET + N <= LEN, "the field ends after the message") };
    let (_, rest) = bytes.split_at(OFFSET);
    match rest.first_chunk() {
        Some(field) => field,
        None => unreachable!(),
    }
}

/// Writes `value` to the bytes at `OFFSET`; the compiler checks that they are inside.
#[inline]
pub const fn put<const OFFSET: usize, const N: usize, const LEN: usize>(
    bytes: &mut [u8; LEN],
    value: [u8; N],
) {
    const { assert!(OFFSET + N <= LEN, "the field ends after the message") };
    let (_, rest) = bytes.split_at_mut(OFFSET);
    match rest.first_chunk_mut() {
        Some(field) => *field = value,
        None => unreachable!(),
    }
}

/// Whether the two bytes at `offset` count the bytes after themselves.
#[inline]
pub fn counts_rest(offset: usize, bytes: &[u8]) -> bool {
    stated(offset, bytes).is_some_and(|(stated, rest)| usize::from(stated) == rest)
}

/// Whether a tail of `length` bytes is within its limit; without one, `most` is `usize::MAX`.
#[doc(hidden)]
#[inline]
pub const fn fits(length: usize, most: usize) -> bool {
    length <= most
}

fn stated(offset: usize, bytes: &[u8]) -> Option<(u16, usize)> {
    let (length, rest) = bytes.get(offset..)?.split_first_chunk()?;
    Some((u16::from_be_bytes(*length), rest.len()))
}

/// The error for bytes that `wrap` rejects.
#[cold]
#[inline(never)]
pub fn refuse(shape: &Shape, bytes: &[u8]) -> DecodeError {
    let Shape { name, length, .. } = *shape;
    let expected = length as u16;
    let actual = clamp(bytes.len());
    if bytes.is_empty() && length > 0 {
        return DecodeError::Empty;
    }
    if let Some((offset, tag)) = shape.tag
        && let Some(&found) = bytes.get(offset)
        && found != tag
    {
        return DecodeError::Tag { expected: tag, actual: found };
    }
    match (shape.tail, shape.tag) {
        _ if shape.is_extended() => extension::refuse(shape, bytes),
        (Some(_), _) if bytes.len() < length => {
            DecodeError::Short { name, least: expected, actual }
        }
        (Some(most), _) if bytes.len() - length > most => {
            DecodeError::Long { name, most: clamp(length + most), actual }
        }
        (None, Some((_, tag))) if bytes.len() != length => {
            DecodeError::Length { name, tag, expected, actual }
        }
        (None, None) if bytes.len() != length => DecodeError::Size { name, expected, actual },
        _ => {
            let (stated, rest) =
                shape.length_at.and_then(|offset| stated(offset, bytes)).unwrap_or_default();
            DecodeError::StatedLength { name, stated, actual: clamp(rest) }
        }
    }
}

/// The error for bytes whose beginning `wrap_first` rejects.
#[cold]
#[inline(never)]
pub fn refuse_first(shape: &Shape, bytes: &[u8]) -> DecodeError {
    match bytes.get(..shape.length) {
        Some(first) => refuse(shape, first),
        None => DecodeError::Short {
            name: shape.name,
            least: shape.length as u16,
            actual: clamp(bytes.len()),
        },
    }
}

/// The error for bytes that end before their type byte.
#[cold]
#[inline(never)]
pub fn no_tag(offset: usize, bytes: &[u8]) -> DecodeError {
    match bytes.len() {
        0 => DecodeError::Empty,
        actual => DecodeError::Short {
            name: "a message",
            least: offset as u16 + 1,
            actual: clamp(actual),
        },
    }
}

/// Writes `fixed`, then `tail`, to the front of `buffer`, and the count of bytes if the shape has
/// one.
pub fn join<'b>(
    shape: &Shape,
    fixed: &[u8],
    tail: &[u8],
    buffer: &'b mut [u8],
) -> Result<&'b [u8], EncodeError> {
    let name = shape.name;
    let countable = shape
        .length_at
        .map_or(usize::MAX, |offset| usize::from(u16::MAX) + offset + 2 - fixed.len());
    let most = shape.tail.unwrap_or(0).min(countable);
    if tail.len() > most {
        return Err(EncodeError::TooLong { name, most: clamp(most), actual: clamp(tail.len()) });
    }
    let total = fixed.len() + tail.len();
    let available = clamp(buffer.len());
    let Some(whole) = buffer.get_mut(..total) else {
        return Err(EncodeError::Buffer { name, needed: clamp(total), available });
    };
    let (front, back) = whole.split_at_mut(fixed.len());
    front.copy_from_slice(fixed);
    back.copy_from_slice(tail);
    if let Some(offset) = shape.length_at
        && let Some(place) = whole.get_mut(offset..offset + 2)
    {
        place.copy_from_slice(&((total - offset - 2) as u16).to_be_bytes());
    }
    Ok(whole)
}

/// Copies `bytes` to the front of `buffer`.
pub fn copy<'b>(
    name: &'static str,
    bytes: &[u8],
    buffer: &'b mut [u8],
) -> Result<&'b [u8], EncodeError> {
    let available = clamp(buffer.len());
    let Some(whole) = buffer.get_mut(..bytes.len()) else {
        return Err(EncodeError::Buffer { name, needed: clamp(bytes.len()), available });
    };
    whole.copy_from_slice(bytes);
    Ok(whole)
}

fn clamp(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
