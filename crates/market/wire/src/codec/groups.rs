//! Groups of entries in a message: how often, and how long each one is, comes with them.
//!
//! ```text
//! | fields | header: length and count | entry | entry | ... | header | entry | ...
//!                                     <length> <length>
//! ```
//!
//! An entry is at least as long as its table. A longer one has fields that the table does not know;
//! they are skipped. An entry with groups of its own is followed by them.
//!
//! `wrap` of a message checks all its groups, so that getters and iterators cannot fail. They would
//! end early if they could.
//! Bounds: an entry of no bytes cannot repeat, so that a count alone bounds no loop.

use core::marker::PhantomData;

use super::{Shape, clamp, seal};
use crate::EncodeError;

/// The header of a group.
pub trait GroupHeader<'a>: Copy {
    /// Bytes of an entry, the number of entries, and the bytes after the header.
    fn split(bytes: &'a [u8]) -> Option<(usize, usize, &'a [u8])>;

    /// Writes a header.
    fn write(block_length: u16, count: usize, out: &mut Out<'_>) -> Result<(), EncodeError>;
}

/// An entry, as a view.
pub trait GroupEntry<'a>: Copy {
    /// Whether groups follow its fields.
    const HAS_GROUPS: bool;

    /// Bytes of its known fields.
    const LEAST: u16;

    /// The entry whose fields have `block_length` bytes, and the bytes after it and its groups.
    fn split(block_length: usize, bytes: &'a [u8]) -> Option<(Self, &'a [u8])>;
}

/// An entry that can be written: a view, or the fields of one without groups.
pub trait WriteEntry {
    /// Bytes of its fields.
    fn block_length(&self) -> u16;

    /// Writes the fields, and the groups after them.
    fn write(self, out: &mut Out<'_>) -> Result<(), EncodeError>;
}

/// The entries of a group, in order.
#[derive(Clone, Debug)]
pub struct Entries<'a, E> {
    block_length: usize,
    count: usize,
    rest: &'a [u8],
    entry: PhantomData<E>,
}

impl<'a, E: GroupEntry<'a>> Iterator for Entries<'a, E> {
    type Item = E;

    #[inline]
    fn next(&mut self) -> Option<E> {
        self.count = self.count.checked_sub(1)?;
        let (entry, rest) = E::split(self.block_length, self.rest)?;
        self.rest = rest;
        Some(entry)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl<'a, E: GroupEntry<'a>> ExactSizeIterator for Entries<'a, E> {}

impl<'a, E: GroupEntry<'a>> Entries<'a, E> {
    const EMPTY: Self = Self { block_length: 0, count: 0, rest: &[], entry: PhantomData };
}

/// The group at the front of `bytes`, which `wrap` has checked.
#[inline]
pub fn entries<'a, H: GroupHeader<'a>, E: GroupEntry<'a>>(bytes: &'a [u8]) -> Entries<'a, E> {
    match H::split(bytes) {
        Some((block_length, count, rest)) => {
            Entries { block_length, count, rest, entry: PhantomData }
        }
        None => Entries::EMPTY,
    }
}

/// The group at the front of `bytes`, and the bytes after it; `None` if it does not fit.
#[inline]
pub fn split_group<'a, H: GroupHeader<'a>, E: GroupEntry<'a>>(
    bytes: &'a [u8],
) -> Option<(Entries<'a, E>, &'a [u8])> {
    let (block_length, count, rest) = H::split(bytes)?;
    let group = Entries { block_length, count, rest, entry: PhantomData };
    if count == 0 {
        return Some((group, rest));
    }
    // A table has at least one byte, so that this bounds the loop below.
    if block_length < usize::from(E::LEAST).max(1) {
        return None;
    }
    if !E::HAS_GROUPS {
        let (_, after) = rest.split_at_checked(block_length.checked_mul(count)?)?;
        return Some((group, after));
    }
    let mut after = rest;
    for _ in 0..count {
        (_, after) = E::split(block_length, after)?;
    }
    Some((group, after))
}

/// A buffer that a message is written to.
#[derive(Debug)]
pub struct Out<'b> {
    name: &'static str,
    buffer: &'b mut [u8],
    length: usize,
    block_end: usize,
}

impl Out<'_> {
    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let end = self.length + bytes.len();
        let available = clamp(self.buffer.len());
        let Some(place) = self.buffer.get_mut(self.length..end) else {
            return Err(EncodeError::Buffer { name: self.name, needed: clamp(end), available });
        };
        place.copy_from_slice(bytes);
        self.length = end;
        Ok(())
    }

    /// The fields of the message end here.
    pub fn end_block(&mut self) {
        self.block_end = self.length;
    }

    /// The error of a group that its header cannot count, or whose entries differ in length.
    #[cold]
    pub fn misfit(&self) -> EncodeError {
        EncodeError::Group { name: self.name }
    }
}

/// Writes a message with `write`, then its type and lengths.
pub fn write_message<'b>(
    shape: &Shape,
    buffer: &'b mut [u8],
    write: impl FnOnce(&mut Out<'_>) -> Result<(), EncodeError>,
) -> Result<&'b [u8], EncodeError> {
    let mut out = Out { name: shape.name, buffer, length: 0, block_end: 0 };
    write(&mut out)?;
    let Out { length, block_end, .. } = out;
    let (whole, _) = buffer.split_at_mut(length);
    if u16::try_from(length).is_err() {
        let (most, actual) = (u16::MAX.into(), clamp(length));
        return Err(EncodeError::TooLong { name: shape.name, most, actual });
    }
    seal(shape, whole, block_end);
    Ok(whole)
}

/// Writes a group. The first entry states the length of all.
pub fn write_group<'h, H: GroupHeader<'h>, E: WriteEntry>(
    entries: impl ExactSizeIterator<Item = E>,
    out: &mut Out<'_>,
) -> Result<(), EncodeError> {
    let count = entries.len();
    let mut entries = entries.peekable();
    let block_length = entries.peek().map_or(0, E::block_length);
    H::write(block_length, count, out)?;
    for entry in entries {
        if entry.block_length() != block_length {
            return Err(out.misfit());
        }
        entry.write(out)?;
    }
    Ok(())
}

/// Writes an entry alone.
pub fn write_all<'b>(
    name: &'static str,
    entry: impl WriteEntry,
    buffer: &'b mut [u8],
) -> Result<&'b [u8], EncodeError> {
    let mut out = Out { name, buffer, length: 0, block_end: 0 };
    entry.write(&mut out)?;
    let length = out.length;
    Ok(buffer.split_at(length).0)
}

/// Defines an entry of a group: a view, the struct of its fields, and how it is split off.
#[doc(hidden)]
#[macro_export]
macro_rules! entry {
    ($(#[$about:meta])* $Name:ident / $Fields:ident: $length:literal bytes $($order:ident-endian)?,
        $title:literal; $($rows:tt)*
    ) => {
        $crate::extended! {
            @sort {
                entry [$($order)?] [$(#[$about])*] $Name / $Fields, $length, $title
            } [] [] {} $($rows)*
        }
    };
}

/// Makes a structure with the getters `block_length` and `count` the header of groups.
#[doc(hidden)]
#[macro_export]
macro_rules! group_header {
    ($Name:ident) => {
        impl<'a> $crate::codec::GroupHeader<'a> for $Name<'a> {
            #[inline]
            fn split(bytes: &'a [u8]) -> Option<(usize, usize, &'a [u8])> {
                let (header, rest) = Self::wrap_first(bytes).ok()?;
                Some((header.block_length().into(), header.count().into(), rest))
            }

            fn write(
                block_length: u16,
                count: usize,
                out: &mut $crate::codec::Out<'_>,
            ) -> Result<(), $crate::EncodeError> {
                let mut fields = match Self::wrap(&[0; Self::LEN]) {
                    Ok(zeros) => zeros.fields(),
                    Err(_) => return Err(out.misfit()),
                };
                fields.block_length = block_length;
                fields.count = count.try_into().map_err(|_| out.misfit())?;
                out.put(&fields.encode())
            }
        }
    };
}
