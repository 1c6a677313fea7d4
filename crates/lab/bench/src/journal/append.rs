//! The loops of the appender: at full speed with timed or untimed calls, or at a steady rate.
//!
//! The time of an excerpt is the number of its message here; a real program takes it from its clock
//! or from the message.

use std::time::Duration;

use nanotape_clock::Clock;
use nanotape_journal::{Appender, JournalError, excerpt_bytes};
use nanotape_shm::ReadWord;

use crate::{
    engine::{
        Amount, Reading, Timeout, Written,
        message::{END, Length, MESSAGE, fill, set_stamp},
        pace::{Until, agree},
        sample::{Sample, WARM_UP, repeat},
    },
    error::Error,
};

/// One message per call; only the whole run is timed.
#[inline(never)]
pub(super) fn flat_out(
    appender: &mut Appender,
    length: impl Length,
    clock: Clock,
    amount: u64,
) -> Result<Reading, Error> {
    let message = &mut vec![0; length.bytes()][..length.bytes()];
    let until = Until::new(clock, Amount::Messages(amount));
    let first = appender.next_sequence();
    for sequence in first..first + amount {
        fill(message, sequence);
        appender.append(MESSAGE, sequence, message)?;
    }
    let written = Written { messages: amount, nanos: until.nanos() };
    finish(appender, message, written.into())
}

/// Waits until `bytes` in front of the appender are in memory. Appends one excerpt first, since
/// there is no segment before it.
pub(super) fn wait_until_prepared(
    appender: &mut Appender,
    length: impl Length,
    bytes: u64,
) -> Result<(), Error> {
    let mut message = vec![0; length.bytes()];
    let sequence = appender.next_sequence();
    fill(&mut message, sequence);
    appender.append(MESSAGE, sequence, &message)?;
    while appender.bytes_ahead() < bytes {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// One message per call. Each call is timed; calls that rolled also count separately.
#[inline(never)]
pub(super) fn timed(
    appender: &mut Appender,
    length: impl Length,
    clock: Clock,
    amount: u64,
) -> Result<Reading, Error> {
    let message = &mut vec![0; length.bytes()][..length.bytes()];
    let until = Until::new(clock, Amount::Messages(amount));
    let first = appender.next_sequence();
    let mut calls = Calls::of(amount);
    for sequence in first..first + amount {
        fill(message, sequence);
        calls.time(&clock, sequence - first, appender, |appender| {
            appender.append(MESSAGE, sequence, message)
        })?;
    }
    let written = Written { messages: amount, nanos: until.nanos() };
    let (times, rolls) = (Some(calls.calls.times(clock)), Some(calls.rolls.times(clock)));
    finish(appender, message, Reading { times, rolls, ..written.into() })
}

/// At a steady rate: spins until a message is due, stamps it, appends it. A late message is
/// appended at once; the schedule of the following ones does not change.
pub(crate) fn paced(
    appender: &mut Appender,
    length: impl Length,
    clock: Clock,
    (rate, amount): (u32, u64),
    progress: &ReadWord,
    timeout: &mut Timeout,
) -> Result<Reading, Error> {
    let message = &mut vec![0; length.bytes()][..length.bytes()];
    let first = appender.next_sequence();
    let schedule = agree(&clock, rate, progress, timeout, |type_id, value| {
        let sequence = appender.next_sequence();
        fill(message, sequence);
        set_stamp(message, value);
        appender.append(type_id, sequence, message)?;
        Ok::<_, Error>(sequence + 1)
    })?;
    let start = appender.next_sequence();
    let mut calls = Calls::of(amount);
    for index in 0..amount {
        fill(message, start + index);
        let due = schedule.due(index);
        while clock.stamp_unfenced() < due {}
        calls.time(&clock, index, appender, |appender| {
            set_stamp(message, clock.stamp().ticks());
            appender.append(MESSAGE, start + index, message)
        })?;
    }
    let nanos = clock.nanos_between(schedule.due(0), clock.stamp());
    let written = Written { messages: start + amount - first, nanos };
    let (calls, rolls) = (Some(calls.calls.times(clock)), Some(calls.rolls.times(clock)));
    finish(appender, message, Reading { calls, rolls, ..written.into() })
}

/// In batches of `size`. The time of a batch lasts until it is on the disk.
pub(super) fn batches(
    appender: &mut Appender,
    length: impl Length,
    clock: Clock,
    batches: u64,
    size: u32,
) -> Result<Reading, Error> {
    let message = &mut vec![0; length.bytes()][..length.bytes()];
    let until = Until::new(clock, Amount::Messages(batches));
    let bytes = size as usize * excerpt_bytes(length.bytes());
    let (_, times) = repeat(clock, &until, |_| {
        let from = clock.stamp_start();
        let first = appender.next_sequence();
        let mut batch = appender.batch(first, bytes)?;
        for sequence in first..first + u64::from(size) {
            fill(message, sequence);
            batch.append(MESSAGE, sequence, message)?;
        }
        batch.commit()?;
        Ok::<_, Error>((from, clock.stamp()))
    })?;
    let written = Written { messages: batches * u64::from(size), nanos: until.nanos() };
    finish(appender, message, Reading { times: Some(times), ..written.into() })
}

/// Appends the message that ends a tailer, and makes the report.
fn finish(appender: &mut Appender, message: &mut [u8], reading: Reading) -> Result<Reading, Error> {
    let sequence = appender.next_sequence();
    fill(message, sequence);
    appender.append(END, sequence, message)?;
    Ok(reading)
}

/// Times of calls, without the first tenth of them.
struct Calls {
    calls: Sample,
    /// Times of the calls that rolled to a new segment.
    rolls: Sample,
    warm_up: u64,
    segment: u64,
}

impl Calls {
    fn of(amount: u64) -> Self {
        let warm_up = (amount as f64 * WARM_UP) as u64;
        Self { calls: Sample::new(), rolls: Sample::new(), warm_up, segment: 0 }
    }

    #[inline(always)]
    fn time(
        &mut self,
        clock: &Clock,
        index: u64,
        appender: &mut Appender,
        call: impl FnOnce(&mut Appender) -> Result<u64, JournalError>,
    ) -> Result<(), JournalError> {
        let from = clock.stamp_start();
        call(appender)?;
        let to = clock.stamp();
        let segment = appender.segment();
        if index >= self.warm_up {
            self.calls.add(clock, from, to);
            if segment != self.segment {
                self.rolls.add(clock, from, to);
            }
        }
        self.segment = segment;
        Ok(())
    }
}
