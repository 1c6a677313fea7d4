//! Messages that are timed one by one: one way at a given rate, and there and back.
//!
//! Every sample is kept: the histogram is of all of them, and its quantiles are right to 0.8%.

use nanotape_clock::{Clock, Stamp};
use nanotape_ring::{Publish, Read, Received, Subscribe};
use nanotape_shm::{ReadWord, Word};
use nanotape_trace::Histogram;

use super::{
    PREEMPTED_NANOS,
    error::RingBenchError,
    job::Amount,
    message::{
        BEGIN, END, Length, MESSAGE, PERIOD, check, fill, sequence, set_stamp, stamp, wrong,
    },
    pace::{Schedule, Until},
    reading::{Taken, Times, Written},
    write::finish,
};
use crate::wait::Patience;

/// The first share of every timed run, which is not counted.
const WARM_UP: f64 = 0.1;

/// Publishes at a steady rate: spins until a message is due, stamps it, publishes it. A message that
/// is late goes at once, and those behind it are due when they were.
pub(super) fn send<W: Publish>(
    writer: &mut W,
    length: impl Length,
    clock: Clock,
    (rate, amount): (u32, Amount),
    progress: &ReadWord,
    patience: &mut Patience,
) -> Result<Written, RingBenchError> {
    let mut buffer = vec![0; length.bytes()];
    let message = &mut buffer[..length.bytes()];
    let first = writer.next_sequence();
    let schedule = agree(writer, message, clock, rate, progress, patience)?;
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
    finish(writer, &mut buffer, next, Written { messages: next - first, nanos })
}

/// Tells the reader when messages will be due, in two messages of its own, until it has heard of it
/// in time: a reader that just lost its processor would lose the schedule too.
fn agree<W: Publish>(
    writer: &mut W,
    message: &mut [u8],
    clock: Clock,
    rate: u32,
    progress: &ReadWord,
    patience: &mut Patience,
) -> Result<Schedule, RingBenchError> {
    loop {
        let schedule = Schedule::of_rate(&clock, rate);
        let ticks = schedule.ticks_per_message.to_bits();
        for (type_id, value) in [(BEGIN, schedule.begin_ticks), (PERIOD, ticks)] {
            fill(message, writer.next_sequence());
            set_stamp(message, value);
            writer.publish(type_id, message)?;
        }
        let next = writer.next_sequence();
        while progress.load() < next {
            patience.idle(next)?;
        }
        if clock.stamp() < schedule.due(0) {
            return Ok(schedule);
        }
    }
}

/// Takes what [`send`] sends. A message has arrived when its payload is copied out and its sequence
/// number is right; the rest of it is checked behind the stamp.
pub(super) fn receive<R: Subscribe>(
    reader: &mut R,
    length: impl Length,
    clock: Clock,
    messages: u64,
    progress: &Word,
    patience: &mut Patience,
) -> Result<(Taken, Times), RingBenchError> {
    let mut buffer = vec![0; length.bytes()];
    let buffer = &mut buffer[..length.bytes()];
    let (mut from_send, mut from_due) = (Sample::new(), Sample::new());
    let mut taken = Taken::default();
    let mut schedule = Schedule { begin_ticks: 0, ticks_per_message: f64::NAN };
    let warm_up = (messages as f64 * WARM_UP) as u64;
    // The first message of the schedule.
    let mut start = u64::MAX;
    progress.store(reader.next_sequence());
    loop {
        match reader.try_read(buffer)? {
            Read::Message(received) => {
                check_sequence(buffer, received)?;
                let now = clock.stamp();
                check(buffer, length, received)?;
                match received.type_id {
                    END => break,
                    BEGIN => schedule.begin_ticks = stamp(buffer),
                    PERIOD => {
                        schedule.ticks_per_message = f64::from_bits(stamp(buffer));
                        start = received.sequence + 1;
                        progress.store(start);
                    }
                    _ => {
                        let index = received.sequence - start;
                        if index >= warm_up {
                            from_send.add(&clock, Stamp::from_ticks(stamp(buffer)), now);
                            from_due.add(&clock, schedule.due(index), now);
                        }
                    }
                }
                taken.messages += 1;
            }
            Read::Empty => patience.idle(taken.messages)?,
            Read::Lapped(lapped) => taken.lost += lapped.count(),
        }
    }
    let mut times = from_send.times(clock);
    times.due_p50_ns = from_due.nanos.quantile(0.5);
    times.due_p99_ns = from_due.nanos.quantile(0.99);
    Ok((taken, times))
}

/// Sends a message when the one before has come back.
pub(super) fn ping<W: Publish, R: Subscribe>(
    writer: &mut W,
    reader: &mut R,
    length: impl Length,
    clock: Clock,
    until: &Until,
    patience: &mut Patience,
) -> Result<(Written, Times), RingBenchError> {
    let mut buffer = vec![0; length.bytes()];
    let message = &mut buffer[..length.bytes()];
    let mut answer = vec![0; length.bytes()];
    let answer = &mut answer[..length.bytes()];
    let mut rounds = Rounds::new(until);
    let first = writer.next_sequence();
    let mut next = first;
    while rounds.goes_on(next - first) {
        fill(message, next);
        let sent = clock.stamp_start();
        writer.publish(MESSAGE, message)?;
        let received = wait(reader, answer, next, patience)?;
        let back = clock.stamp();
        check(answer, length, received)?;
        rounds.sample.add(&clock, sent, back);
        next += 1;
    }
    let written = Written { messages: next - first, nanos: until.nanos() };
    let written = finish(writer, &mut buffer, next, written)?;
    Ok((written, rounds.sample.times(clock)))
}

/// Sends every message back, the last one too.
pub(super) fn pong<W: Publish, R: Subscribe>(
    writer: &mut W,
    reader: &mut R,
    length: impl Length,
    ready: &Word,
    patience: &mut Patience,
) -> Result<Taken, RingBenchError> {
    let mut buffer = vec![0; length.bytes()];
    let buffer = &mut buffer[..length.bytes()];
    let mut taken = Taken::default();
    ready.store(reader.next_sequence());
    loop {
        let received = wait(reader, buffer, reader.next_sequence(), patience)?;
        if received.type_id == END {
            return Ok(taken);
        }
        writer.publish(MESSAGE, buffer)?;
        check(buffer, length, received)?;
        taken.messages += 1;
    }
}

/// The next message, whose number must be this.
#[inline(always)]
fn wait<R: Subscribe>(
    reader: &mut R,
    buffer: &mut [u8],
    expected: u64,
    patience: &mut Patience,
) -> Result<Received, RingBenchError> {
    loop {
        match reader.try_read(buffer)? {
            Read::Message(received) => {
                check_sequence(buffer, received)?;
                return Ok(received);
            }
            Read::Empty => patience.idle(expected)?,
            // There is one message at a time, in a ring for thousands.
            Read::Lapped(lapped) => return Err(RingBenchError::Lost { count: lapped.count() }),
        }
    }
}

#[inline(always)]
fn check_sequence(message: &[u8], received: Received) -> Result<(), RingBenchError> {
    if sequence(message) == received.sequence { Ok(()) } else { Err(wrong(received)) }
}

/// A closed loop: one thing after the other, the first tenth of them not counted.
pub(super) struct Rounds<'until> {
    until: &'until Until,
    is_warm: bool,
    pub(super) sample: Sample,
}

impl<'until> Rounds<'until> {
    pub(super) fn new(until: &'until Until) -> Self {
        Self { until, is_warm: false, sample: Sample::new() }
    }

    /// Whether there is another one after so many.
    #[inline]
    pub(super) fn goes_on(&mut self, done: u64) -> bool {
        let share = self.until.share(done);
        if !self.is_warm && share >= WARM_UP {
            self.is_warm = true;
            self.sample = Sample::new();
        }
        share < 1.0
    }
}

/// Times of single messages.
pub(super) struct Sample {
    nanos: Histogram,
    preempted: u64,
    reversed: u64,
}

impl Sample {
    fn new() -> Self {
        Self { nanos: Histogram::fine(), preempted: 0, reversed: 0 }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, clock: &Clock, from: Stamp, to: Stamp) {
        let nanos = clock.nanos_between(from, to);
        self.preempted += u64::from(nanos > PREEMPTED_NANOS);
        self.reversed += u64::from(to < from);
        self.nanos.record(nanos);
    }

    pub(super) fn times(&self, clock: Clock) -> Times {
        let at = |quantile| self.nanos.quantile(quantile);
        Times {
            count: self.nanos.count(),
            p50_ns: at(0.5).unwrap_or(0),
            p90_ns: at(0.9).unwrap_or(0),
            p99_ns: at(0.99).unwrap_or(0),
            p999_ns: at(0.999).unwrap_or(0),
            max_ns: self.nanos.max().unwrap_or(0),
            over_100us: self.preempted,
            reversed: self.reversed,
            due_p50_ns: None,
            due_p99_ns: None,
            clock_ns: clock.costs().empty_nanos,
        }
    }
}
