//! Reads the fields of a message that another program wrote: every length is checked first.

use nanotape_tape::Message;
use nanotape_types::WireValue;

use crate::{DispatchError, MethodShape, Misfit};

/// The bytes of the fields, and those of the tail, of a message of this method. The fields have the
/// length of one of its versions.
#[inline]
pub fn split<'m>(
    message: &Message<'m>,
    shape: &'static MethodShape,
) -> Result<(&'m [u8], &'m [u8]), DispatchError> {
    let payload = message.payload;
    let Some(tail) = shape.tail else {
        return match shape.is_length(payload.len()) {
            true => Ok((payload, &[])),
            false => Err(wrong_length(message.sequence, shape, payload.len())),
        };
    };
    let at = usize::from(tail.offset_at);
    let Some(&[low, high]) = payload.get(at..).and_then(|rest| rest.first_chunk()) else {
        return Err(wrong_length(message.sequence, shape, payload.len()));
    };
    let found = u16::from_le_bytes([low, high]);
    let refuse = |problem| DispatchError { sequence: message.sequence, shape, problem };
    let offset = Misfit::TailOffset { found, length: clamp(payload.len()) };
    let Some((fields, rest)) = payload.split_at_checked(found.into()) else {
        return Err(refuse(offset));
    };
    if !shape.is_length(fields.len()) {
        return Err(wrong_length(message.sequence, shape, fields.len()));
    }
    if !found.is_multiple_of(8) {
        return Err(refuse(offset));
    }
    if clamp(rest.len()) > tail.most_bytes {
        let (found, most) = (clamp(rest.len()), tail.most_bytes);
        return Err(refuse(Misfit::TailLength { found, most }));
    }
    Ok((fields, rest))
}

#[cold]
fn wrong_length(sequence: u64, shape: &'static MethodShape, found: usize) -> DispatchError {
    DispatchError { sequence, shape, problem: Misfit::Length { found: clamp(found) } }
}

fn clamp(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The fields of this version: those of the message, and the defaults of the others.
#[cold]
pub fn older<const LEN: usize>(mut defaults: [u8; LEN], fields: &[u8]) -> [u8; LEN] {
    for (byte, field) in defaults.iter_mut().zip(fields) {
        *byte = *field;
    }
    defaults
}

/// The field at `START`. The compiler checks that it is inside.
#[inline]
pub fn field<T: WireValue<N>, const START: usize, const N: usize, const LEN: usize>(
    fields: &[u8; LEN],
) -> T {
    const { assert!(START + N <= LEN, "the field ends after the message") };
    let (_, rest) = fields.split_at(START);
    match rest.first_chunk() {
        Some(bytes) => T::from_le_bytes(*bytes),
        None => unreachable!("the compiler checked it"),
    }
}
