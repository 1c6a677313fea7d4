//! Encodes values, in the thread that logs, into a buffer that the thread keeps.
//!
//! Layout: `docs/formats/log.md`.
//! Bounds: output never exceeds the bounds of the format; what does not fit is cut and marked as
//! cut. Formatting stops at the bound, so a huge value costs only the part that is kept. Cost: no
//! allocation once the buffer has reached its size.

use std::fmt;

use crate::layout::MAX_NAME_BYTES;
#[cfg(feature = "tracing")]
use crate::layout::{MAX_ERRORS, MAX_VALUE_BYTES, tag};

/// As much of a text as fits, in whole characters.
fn beginning(text: &str, room: usize) -> &str {
    &text[..text.floor_char_boundary(room)]
}

/// Appends a length of two bytes and the text.
pub(crate) fn put_name(buffer: &mut Vec<u8>, name: &str) {
    let name = beginning(name, MAX_NAME_BYTES);
    buffer.extend_from_slice(&(name.len() as u16).to_le_bytes());
    buffer.extend_from_slice(name.as_bytes());
}

/// Appends a text that extends to the end of the payload.
pub(crate) fn put_last_name(buffer: &mut Vec<u8>, name: &str) {
    buffer.extend_from_slice(beginning(name, MAX_NAME_BYTES).as_bytes());
}

/// Accepts formatted text until the buffer has `end` bytes.
pub(crate) struct Bounded<'buffer> {
    buffer: &'buffer mut Vec<u8>,
    end: usize,
    is_cut: bool,
}

impl fmt::Write for Bounded<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let kept = beginning(text, self.end.saturating_sub(self.buffer.len()));
        self.buffer.extend_from_slice(kept.as_bytes());
        self.is_cut |= kept.len() < text.len();
        // An error stops the formatting.
        if self.is_cut { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Appends formatted text, up to `end` bytes in the buffer; returns whether it was cut. If a
/// value's formatting fails, the text up to then is kept.
pub(crate) fn put_formatted(
    buffer: &mut Vec<u8>,
    end: usize,
    arguments: fmt::Arguments<'_>,
) -> bool {
    let mut bounded = Bounded { buffer, end, is_cut: false };
    let outcome = fmt::write(&mut bounded, arguments);
    outcome.is_err() || bounded.is_cut
}

/// Bytes of the value that counts the values left out.
#[cfg(feature = "tracing")]
pub(crate) const LEFT_OUT_BYTES: usize = 4;

/// Appends the number of values that were left out, if any.
#[cfg(feature = "tracing")]
pub(crate) fn put_left_out(buffer: &mut Vec<u8>, count: u16) {
    if count > 0 {
        buffer.extend_from_slice(&[u8::MAX, tag::LEFT_OUT]);
        buffer.extend_from_slice(&count.to_le_bytes());
    }
}

/// Appends values of an event or a span to a buffer.
#[cfg(feature = "tracing")]
pub(crate) struct ValueWriter<'buffer> {
    buffer: &'buffer mut Vec<u8>,
    /// Maximum length of the buffer, less the room for [`LEFT_OUT_BYTES`].
    end: usize,
    left_out: u16,
}

#[cfg(feature = "tracing")]
impl<'buffer> ValueWriter<'buffer> {
    /// Writes values at the buffer's end, until it has `end` bytes.
    pub(crate) fn new(buffer: &'buffer mut Vec<u8>, end: usize) -> Self {
        Self { buffer, end: end - LEFT_OUT_BYTES, left_out: 0 }
    }

    /// Appends the number of values that were left out, if any.
    pub(crate) fn finish(self) {
        put_left_out(self.buffer, self.left_out);
    }

    /// Appends a value of fixed size.
    pub(crate) fn fixed<const N: usize>(&mut self, field: usize, tag: u8, bytes: [u8; N]) {
        if let Some(field) = self.begin(field, 2 + N) {
            self.buffer.extend_from_slice(&[field, tag]);
            self.buffer.extend_from_slice(&bytes);
        }
    }

    pub(crate) fn text(&mut self, field: usize, text: &str) {
        self.variable(field, tag::STR, |buffer, end| {
            let kept = beginning(text, end - buffer.len());
            buffer.extend_from_slice(kept.as_bytes());
            kept.len() < text.len()
        });
    }

    pub(crate) fn bytes(&mut self, field: usize, bytes: &[u8]) {
        self.variable(field, tag::BYTES, |buffer, end| {
            let kept = &bytes[..bytes.len().min(end - buffer.len())];
            buffer.extend_from_slice(kept);
            kept.len() < bytes.len()
        });
    }

    pub(crate) fn debug(&mut self, field: usize, value: &dyn fmt::Debug) {
        self.variable(field, tag::DEBUG, |buffer, end| {
            put_formatted(buffer, end, format_args!("{value:?}"))
        });
    }

    pub(crate) fn error(&mut self, field: usize, error: &(dyn std::error::Error + 'static)) {
        let Some(field) = self.begin(field, 2 + 1 + 4) else { return };
        let at = self.buffer.len();
        self.buffer.extend_from_slice(&[field, tag::ERROR, 0]);
        let end = self.end.min(self.buffer.len() + MAX_VALUE_BYTES);
        let (mut next, mut count, mut is_cut) = (Some(error), 0, false);
        while let Some(error) = next {
            let length_at = self.buffer.len();
            if is_cut || count == MAX_ERRORS || length_at + 4 > end {
                is_cut = true;
                break;
            }
            self.buffer.extend_from_slice(&[0; 4]);
            is_cut = put_formatted(self.buffer, end, format_args!("{error}"));
            put_length(self.buffer, length_at);
            count += 1;
            next = error.source();
        }
        self.buffer[at + 1] |= if is_cut { tag::CUT } else { 0 };
        self.buffer[at + 2] = count as u8;
    }

    /// Appends a value after its length. `put` appends the value and returns whether it was cut.
    fn variable(&mut self, field: usize, tag: u8, put: impl FnOnce(&mut Vec<u8>, usize) -> bool) {
        let Some(field) = self.begin(field, 2 + 4) else { return };
        let at = self.buffer.len();
        self.buffer.extend_from_slice(&[field, tag, 0, 0, 0, 0]);
        let end = self.end.min(self.buffer.len() + MAX_VALUE_BYTES);
        let is_cut = put(self.buffer, end);
        put_length(self.buffer, at + 2);
        self.buffer[at + 1] |= if is_cut { tag::CUT } else { 0 };
    }

    /// The field's number, if `bytes` bytes fit. Once a value is left out, all later ones are, so
    /// that the values kept are the first ones.
    fn begin(&mut self, field: usize, bytes: usize) -> Option<u8> {
        let number = u8::try_from(field).ok().filter(|number| *number < u8::MAX);
        match number {
            Some(number) if self.left_out == 0 && self.buffer.len() + bytes <= self.end => {
                Some(number)
            }
            _ => {
                self.left_out = self.left_out.saturating_add(1);
                None
            }
        }
    }
}

/// Stores the number of bytes after the length at `at`.
#[cfg(feature = "tracing")]
fn put_length(buffer: &mut [u8], at: usize) {
    let length = (buffer.len() - at - 4) as u32;
    buffer[at..at + 4].copy_from_slice(&length.to_le_bytes());
}
