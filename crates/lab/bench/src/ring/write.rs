//! The loops of the writer: at full speed, or at the speed of its reader.
//!
//! The clock is read once in about ten thousand messages, and no message is stamped.

use nanotape_ring::{Batched as _, Publish};

use crate::{
    engine::{
        Timeout, Written,
        message::{END, Length, MESSAGE, fill},
        pace::{Until, Window},
    },
    error::Error,
};

/// Messages per batch.
pub(super) const BATCH: u64 = 32;

/// One message per call, without regard to the reader.
#[inline(never)]
pub(super) fn single<W: Publish>(
    writer: &mut W,
    length: impl Length,
    until: &Until,
) -> Result<Written, Error> {
    let mut buffer = vec![0; length.bytes()];
    let first = writer.next_sequence();
    let mut next = first;
    while let block @ 1.. = until.next_block(next - first) {
        next = publish(writer, &mut buffer[..length.bytes()], next, block)?;
    }
    finish(writer, &mut buffer, next, Written { messages: next - first, nanos: until.nanos() })
}

/// In batches, without regard to the reader.
#[inline(never)]
pub(super) fn batches<W: Publish>(
    writer: &mut W,
    length: impl Length,
    until: &Until,
) -> Result<Written, Error> {
    let message = &mut vec![0; length.bytes()][..length.bytes()];
    let first = writer.next_sequence();
    let mut next = first;
    while let block @ 1.. = until.next_block(next - first) {
        let end = next + block;
        while next < end {
            let mut batch = writer.batch();
            for _ in 0..BATCH.min(end - next) {
                fill(message, next);
                batch.push(MESSAGE, message)?;
                next += 1;
            }
            batch.publish();
        }
    }
    finish(writer, message, next, Written { messages: next - first, nanos: until.nanos() })
}

/// One message per call, within the window of the reader.
#[inline(never)]
pub(super) fn lossless<W: Publish>(
    writer: &mut W,
    length: impl Length,
    until: &Until,
    window: &Window<'_>,
    timeout: &mut Timeout,
) -> Result<Written, Error> {
    let mut buffer = vec![0; length.bytes()];
    let first = writer.next_sequence();
    let mut next = first;
    while let block @ 1.. = until.next_block(next - first) {
        let end = next + block;
        while next < end {
            let now = window.wait(next, timeout)?.min(end - next);
            next = publish(writer, &mut buffer[..length.bytes()], next, now)?;
        }
    }
    let written = Written { messages: next - first, nanos: until.nanos() };
    // The last message needs room too.
    window.wait(next, timeout)?;
    finish(writer, &mut buffer, next, written)
}

/// Publishes a number of messages starting at a sequence number; returns the number after the last.
#[inline(always)]
fn publish<W: Publish>(
    writer: &mut W,
    message: &mut [u8],
    first: u64,
    count: u64,
) -> Result<u64, Error> {
    for sequence in first..first + count {
        fill(message, sequence);
        writer.publish(MESSAGE, message)?;
    }
    Ok(first + count)
}

/// Publishes the message that ends readers. It is the last one, so no reader can lose it.
pub(super) fn finish<W: Publish>(
    writer: &mut W,
    message: &mut [u8],
    next: u64,
    written: Written,
) -> Result<Written, Error> {
    fill(message, next);
    writer.publish(END, message)?;
    Ok(written)
}
