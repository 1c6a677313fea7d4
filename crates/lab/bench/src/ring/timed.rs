//! Messages that are timed one by one: one way at a given rate, and round trips.

use nanotape_clock::Clock;
use nanotape_ring::{Publish, Read, Received, Subscribe};
use nanotape_shm::{ReadWord, Word};

use super::{
    message::{check, wrong},
    write::finish,
};
use crate::{
    engine::{
        Amount, Taken, Timeout, Times, Written,
        message::{END, Length, MESSAGE, fill, sequence, set_stamp},
        pace::{Until, agree},
        sample::{Arrivals, repeat},
    },
    error::Error,
};

/// Publishes at a steady rate: spins until a message is due, stamps it, publishes it. A late
/// message is published at once; the schedule of the following ones does not change.
pub(crate) fn send<W: Publish>(
    writer: &mut W,
    length: impl Length,
    clock: Clock,
    (rate, amount): (u32, Amount),
    progress: &ReadWord,
    timeout: &mut Timeout,
) -> Result<Written, Error> {
    let message = &mut vec![0; length.bytes()][..length.bytes()];
    let first = writer.next_sequence();
    let schedule = agree(&clock, rate, progress, timeout, |type_id, value| {
        fill(message, writer.next_sequence());
        set_stamp(message, value);
        writer.publish(type_id, message)?;
        Ok::<_, Error>(writer.next_sequence())
    })?;
    let start = writer.next_sequence();
    let messages = amount.messages_at(rate);
    for index in 0..messages {
        fill(message, start + index);
        let due = schedule.due(index);
        while clock.stamp_unfenced() < due {}
        set_stamp(message, clock.stamp().ticks());
        writer.publish(MESSAGE, message)?;
    }
    let nanos = clock.nanos_between(schedule.due(0), clock.stamp());
    let next = start + messages;
    finish(writer, message, next, Written { messages: next - first, nanos })
}

/// Receives the messages of [`send`]. A message has arrived when its payload is copied and its
/// sequence number is right; the rest is checked after the stamp.
pub(crate) fn receive<R: Subscribe>(
    reader: &mut R,
    length: impl Length,
    clock: Clock,
    messages: u64,
    progress: &Word,
    timeout: &mut Timeout,
) -> Result<(Taken, Times), Error> {
    let buffer = &mut vec![0; length.bytes()][..length.bytes()];
    let mut arrivals = Arrivals::of(messages);
    let mut taken = Taken::default();
    progress.store(reader.next_sequence());
    loop {
        match reader.try_read(buffer)? {
            Read::Message(received) => {
                check_sequence(buffer, received)?;
                let now = clock.stamp();
                check(buffer, length, received)?;
                if received.type_id == END {
                    break;
                }
                if let Some(start) = arrivals.add(&clock, received.type_id, buffer, now) {
                    progress.store(start);
                }
                taken.messages += 1;
            }
            Read::Empty => timeout.idle(taken.messages)?,
            Read::Lapped(lapped) => taken.lost += lapped.count(),
        }
    }
    Ok((taken, arrivals.times(clock)))
}

/// Sends a message when the previous one has come back.
pub(super) fn ping<W: Publish, R: Subscribe>(
    writer: &mut W,
    reader: &mut R,
    length: impl Length,
    clock: Clock,
    until: &Until,
    timeout: &mut Timeout,
) -> Result<(Written, Times), Error> {
    let message = &mut vec![0; length.bytes()][..length.bytes()];
    let answer = &mut vec![0; length.bytes()][..length.bytes()];
    let first = writer.next_sequence();
    let (written, times) = repeat(clock, until, |done| {
        let next = first + done;
        fill(message, next);
        let sent = clock.stamp_start();
        writer.publish(MESSAGE, message)?;
        let received = wait(reader, answer, next, timeout)?;
        let back = clock.stamp();
        check(answer, length, received)?;
        Ok::<_, Error>((sent, back))
    })?;
    let written = finish(writer, message, first + written.messages, written)?;
    Ok((written, times))
}

/// Sends every message back, including the last one.
pub(super) fn pong<W: Publish, R: Subscribe>(
    writer: &mut W,
    reader: &mut R,
    length: impl Length,
    ready: &Word,
    timeout: &mut Timeout,
) -> Result<Taken, Error> {
    let buffer = &mut vec![0; length.bytes()][..length.bytes()];
    let mut taken = Taken::default();
    ready.store(reader.next_sequence());
    loop {
        let received = wait(reader, buffer, reader.next_sequence(), timeout)?;
        if received.type_id == END {
            return Ok(taken);
        }
        writer.publish(MESSAGE, buffer)?;
        check(buffer, length, received)?;
        taken.messages += 1;
    }
}

/// Waits for the next message and checks its number.
#[inline(always)]
fn wait<R: Subscribe>(
    reader: &mut R,
    buffer: &mut [u8],
    expected: u64,
    timeout: &mut Timeout,
) -> Result<Received, Error> {
    loop {
        match reader.try_read(buffer)? {
            Read::Message(received) => {
                check_sequence(buffer, received)?;
                return Ok(received);
            }
            Read::Empty => timeout.idle(expected)?,
            // Only one message is in the ring, which has room for thousands.
            Read::Lapped(lapped) => return Err(Error::Lost { count: lapped.count() }),
        }
    }
}

#[inline(always)]
fn check_sequence(message: &[u8], received: Received) -> Result<(), Error> {
    if sequence(message) == received.sequence { Ok(()) } else { Err(wrong(received)) }
}
