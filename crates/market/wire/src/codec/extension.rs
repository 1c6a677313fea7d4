//! What only messages of some protocols have: a number as type, a length of their own, fields that
//! were appended.

use super::{Shape, clamp};
use crate::{DecodeError, render::TypeNumber};

/// The parts of a [`Shape`] that most messages do not have.
#[derive(Clone, Copy, Debug)]
pub struct Extension {
    /// Offset and value of a type that is a number.
    pub number: Option<(usize, TypeNumber)>,
    /// Whether numbers are little-endian.
    pub is_little_endian: bool,
    /// Whether more bytes than those of the table are legal.
    pub grows: bool,
    /// Offset and width of a count of all bytes of the message.
    pub own_length: Option<(usize, usize)>,
    /// Offset of a two-byte count of the bytes of the fields, and where they begin.
    pub block: Option<(usize, usize)>,
    /// Bytes of a last field that not every message has.
    pub optional: usize,
}

impl Extension {
    /// None of them.
    pub const NONE: Self = Self {
        number: None,
        is_little_endian: false,
        grows: false,
        own_length: None,
        block: None,
        optional: 0,
    };

    /// With a count of all bytes of the message.
    pub const fn with_own_length(self, offset: usize, width: usize) -> Self {
        Self { own_length: Some((offset, width)), ..self }
    }

    /// With a count of the bytes of the fields, which begin at `from`.
    pub const fn with_block(self, offset: usize, from: usize) -> Self {
        Self { block: Some((offset, from)), ..self }
    }

    /// With a last field that not every message has.
    pub const fn with_optional(self, bytes: usize) -> Self {
        Self { optional: bytes, ..self }
    }

    /// Whether a message of this length can have the shape.
    #[inline(always)]
    const fn allows(&self, least: usize, length: usize) -> bool {
        length == least
            || (self.grows && length > least)
            || (self.optional > 0 && length == least + self.optional)
    }
}

/// A number of one or two bytes.
#[inline(always)]
fn number(bytes: &[u8], offset: usize, width: usize, is_little_endian: bool) -> Option<u16> {
    let field = bytes.get(offset..)?;
    match width {
        1 => field.first().map(|&byte| byte.into()),
        _ if is_little_endian => Some(u16::from_le_bytes(*field.first_chunk()?)),
        _ => Some(u16::from_be_bytes(*field.first_chunk()?)),
    }
}

fn put(bytes: &mut [u8], (offset, width): (usize, usize), is_little_endian: bool, value: u16) {
    let Some(place) = bytes.get_mut(offset..offset + width) else { return };
    match (place, is_little_endian) {
        ([byte], _) => *byte = value as u8,
        (place, true) => place.copy_from_slice(&value.to_le_bytes()),
        (place, false) => place.copy_from_slice(&value.to_be_bytes()),
    }
}

/// Whether `bytes` have the type and the lengths of a shape. Bytes of groups are not checked.
#[inline(always)]
pub fn extends(shape: &Shape, bytes: &[u8]) -> bool {
    let Shape { extension, length, .. } = shape;
    let little = extension.is_little_endian;
    let has_type = match (shape.tag, extension.number) {
        (Some((offset, tag)), _) => bytes.get(offset) == Some(&tag),
        (None, Some((offset, of))) => number(bytes, offset, of.width, little) == Some(of.value),
        (None, None) => true,
    };
    let has_own_length = match extension.own_length {
        Some((offset, width)) => {
            number(bytes, offset, width, little).is_some_and(|own| bytes.len() == usize::from(own))
        }
        None => true,
    };
    let has_block = match extension.block {
        Some((offset, from)) => number(bytes, offset, 2, little).is_some_and(|block| {
            let end = from + usize::from(block);
            end <= bytes.len() && extension.allows(*length, end)
        }),
        None => true,
    };
    has_type && extension.allows(*length, bytes.len()) && has_own_length && has_block
}

/// The bytes after the fields of a message.
#[inline(always)]
pub fn after_block<'a>(shape: &Shape, bytes: &'a [u8]) -> &'a [u8] {
    let end = match shape.extension.block {
        Some((offset, from)) => number(bytes, offset, 2, shape.extension.is_little_endian)
            .map_or(from, |block| from + usize::from(block)),
        None => shape.length,
    };
    bytes.get(end..).unwrap_or_default()
}

/// Writes the type and the lengths of a message whose fields end at `block_end`.
#[inline]
pub fn seal(shape: &Shape, bytes: &mut [u8], block_end: usize) {
    let extension = &shape.extension;
    let little = extension.is_little_endian;
    if let Some((offset, tag)) = shape.tag {
        put(bytes, (offset, 1), little, tag.into());
    }
    if let Some((offset, of)) = extension.number {
        put(bytes, (offset, of.width), little, of.value);
    }
    if let Some(own) = extension.own_length {
        put(bytes, own, little, bytes.len() as u16);
    }
    if let Some((offset, from)) = extension.block {
        put(bytes, (offset, 2), little, (block_end - from.min(block_end)) as u16);
    }
}

/// The error for bytes that [`extends`] rejects.
#[cold]
#[inline(never)]
pub(super) fn refuse(shape: &Shape, bytes: &[u8]) -> DecodeError {
    let Shape { name, length, extension, .. } = *shape;
    let (actual, little) = (clamp(bytes.len()), extension.is_little_endian);
    if let Some((offset, of)) = extension.number
        && let Some(found) = number(bytes, offset, of.width, little)
        && found != of.value
    {
        return DecodeError::TypeNumber { expected: of.value, actual: found };
    }
    if bytes.len() < length {
        return DecodeError::Short { name, least: length as u16, actual };
    }
    if !extension.allows(length, bytes.len()) {
        return DecodeError::Size { name, expected: length as u16, actual };
    }
    if let Some((offset, width)) = extension.own_length
        && let Some(stated) = number(bytes, offset, width, little)
        && usize::from(stated) != bytes.len()
    {
        return DecodeError::OwnLength { name, stated, actual };
    }
    let block = extension.block.and_then(|(offset, _)| number(bytes, offset, 2, little));
    DecodeError::Block { name, stated: block.unwrap_or_default(), actual }
}

/// The error for a group that does not fit.
#[cold]
#[inline(never)]
pub fn refuse_group(name: &'static str, bytes: &[u8], rest: &[u8]) -> DecodeError {
    let (offset, actual) = (clamp(bytes.len() - rest.len()), clamp(rest.len()));
    DecodeError::Group { name, offset, actual }
}
