//! Values of an event or a span, decoded one after the other.

use super::{Cursor, DecodeError};
use crate::layout::tag;

/// Values, each with the number of its field. They end at the first error.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Values<'payload> {
    cursor: Cursor<'payload>,
}

/// A value. Texts are UTF-8 unless the file is damaged.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Value<'payload> {
    /// A truth value.
    Bool(bool),
    /// A number.
    U64(u64),
    /// A number.
    I64(i64),
    /// A number.
    F64(f64),
    /// A number.
    U128(u128),
    /// A number.
    I128(i128),
    /// A text.
    Str {
        /// The text.
        text: &'payload [u8],
        /// Whether it was cut.
        is_cut: bool,
    },
    /// The output of the value's `Debug` or `Display`.
    Debug {
        /// The output.
        text: &'payload [u8],
        /// Whether it was cut.
        is_cut: bool,
    },
    /// Bytes.
    Bytes {
        /// The bytes.
        bytes: &'payload [u8],
        /// Whether they were cut.
        is_cut: bool,
    },
    /// An error and its causes.
    Error {
        /// Their texts, the outermost first.
        errors: Errors<'payload>,
        /// Whether it was cut.
        is_cut: bool,
    },
    /// The number of values for which there was no room.
    LeftOut(u16),
}

/// An error and its causes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Errors<'payload> {
    cursor: Cursor<'payload>,
    left: u8,
}

impl<'payload> Values<'payload> {
    pub(super) fn new(cursor: Cursor<'payload>) -> Self {
        Self { cursor }
    }

    /// Values that start at the beginning of `payload`.
    #[cfg(feature = "tracing")]
    pub(crate) fn over(payload: &'payload [u8]) -> Self {
        Self { cursor: Cursor { payload, at: 0 } }
    }

    /// Where the next value begins in the payload.
    #[cfg(feature = "tracing")]
    pub(crate) fn at(&self) -> usize {
        self.cursor.at
    }

    fn decode(&mut self) -> Result<(u8, Value<'payload>), DecodeError> {
        let cursor = &mut self.cursor;
        let field = cursor.u8()?;
        let offset = cursor.at;
        let found = cursor.u8()?;
        let is_cut = found & tag::CUT != 0;
        let value = match (found & !tag::CUT, is_cut) {
            (tag::BOOL, false) => Value::Bool(cursor.u8()? != 0),
            (tag::U64, false) => Value::U64(cursor.u64()?),
            (tag::I64, false) => Value::I64(i64::from_le_bytes(cursor.array()?)),
            (tag::F64, false) => Value::F64(f64::from_le_bytes(cursor.array()?)),
            (tag::U128, false) => Value::U128(u128::from_le_bytes(cursor.array()?)),
            (tag::I128, false) => Value::I128(i128::from_le_bytes(cursor.array()?)),
            (tag::STR, _) => Value::Str { text: cursor.long()?, is_cut },
            (tag::DEBUG, _) => Value::Debug { text: cursor.long()?, is_cut },
            (tag::BYTES, _) => Value::Bytes { bytes: cursor.long()?, is_cut },
            (tag::ERROR, _) => {
                let left = cursor.u8()?;
                let errors = Errors { cursor: *cursor, left };
                for _ in 0..left {
                    cursor.long()?;
                }
                Value::Error { errors, is_cut }
            }
            (tag::LEFT_OUT, false) => Value::LeftOut(cursor.u16()?),
            _ => return Err(DecodeError::Tag { offset, tag: found }),
        };
        Ok((field, value))
    }
}

impl<'payload> Iterator for Values<'payload> {
    type Item = Result<(u8, Value<'payload>), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.cursor.at == self.cursor.payload.len() {
            return None;
        }
        let decoded = self.decode();
        if decoded.is_err() {
            self.cursor.at = self.cursor.payload.len();
        }
        Some(decoded)
    }
}

impl<'payload> Iterator for Errors<'payload> {
    type Item = &'payload [u8];

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        // Decoding the value has already checked all of them.
        self.cursor.long().ok()
    }
}
