//! The loops of all rows: at full speed, and at a steady rate. Maps and limits have the same ones.

use core::hint::black_box;

use nanotape_clock::Clock;

use super::{keys::Picks, rows::What};
use crate::{
    engine::{
        Reading, Written,
        pace::{Amount, Schedule, Until},
        sample::{Sample, WARM_UP},
    },
    error::Error,
};

/// Keys of one call, where a call has many.
pub(super) const TOGETHER: u64 = 256;

/// What has a value for each entry.
pub(super) trait Values {
    /// Whether the entry has its first value.
    fn is_first(&mut self, entry: u64) -> Result<bool, Error>;

    /// Adds 1 to the value of an entry.
    fn add(&mut self, entry: u64) -> Result<(), Error>;

    /// Adds an entry with its first value.
    fn insert(&mut self, entry: u64) -> Result<(), Error>;

    /// How many of these entries have their first value.
    fn are_first(&mut self, entries: &[u64]) -> Result<u64, Error> {
        let mut first = 0;
        for entry in entries {
            first += u64::from(self.is_first(*entry)?);
        }
        Ok(first)
    }

    /// Adds 1 to the value of each of these entries.
    fn add_each(&mut self, entries: &[u64]) -> Result<(), Error> {
        entries.iter().try_for_each(|entry| self.add(*entry))
    }

    /// The sum of all values.
    fn sum(&mut self) -> Result<u64, Error>;
}

/// Adds these entries.
#[inline(never)]
pub(super) fn insert_all(
    values: &mut impl Values,
    entries: std::ops::Range<u64>,
    clock: Clock,
) -> Result<Written, Error> {
    let messages = entries.end - entries.start;
    let until = Until::new(clock, Amount::Messages(messages));
    for entry in entries {
        values.insert(entry)?;
    }
    Ok(Written { messages, nanos: until.nanos() })
}

/// Operations on random entries, one after the other.
pub(super) fn flat_out(
    values: &mut impl Values,
    what: What,
    picks: &mut Picks,
    until: &Until,
) -> Result<Written, Error> {
    match what {
        What::Get => gets(values, picks, until),
        What::GetEach => of_many(values, picks, until, are_all_first),
        What::UpdateEach => of_many(values, picks, until, Values::add_each),
        _ => adds(values, picks, until),
    }
}

#[inline(never)]
fn gets(values: &mut impl Values, picks: &mut Picks, until: &Until) -> Result<Written, Error> {
    let mut done = 0;
    while let block @ 1.. = until.next_block(done) {
        let mut right = 0;
        for _ in 0..block {
            right += u64::from(values.is_first(picks.next())?);
        }
        // Once in a block, so that no load waits for the comparison of the one before.
        if black_box(right) != block {
            return Err(wrong_values(block - right));
        }
        done += block;
    }
    Ok(Written { messages: done, nanos: until.nanos() })
}

#[inline(never)]
fn adds(values: &mut impl Values, picks: &mut Picks, until: &Until) -> Result<Written, Error> {
    let mut done = 0;
    while let block @ 1.. = until.next_block(done) {
        for _ in 0..block {
            values.add(picks.next())?;
        }
        done += block;
    }
    Ok(Written { messages: done, nanos: until.nanos() })
}

/// Operations on many entries in a call.
#[inline(never)]
fn of_many<V: Values>(
    values: &mut V,
    picks: &mut Picks,
    until: &Until,
    each: impl Fn(&mut V, &[u64]) -> Result<(), Error>,
) -> Result<Written, Error> {
    let mut done = 0;
    let mut entries = Vec::with_capacity(TOGETHER as usize);
    while let block @ 1.. = until.next_block(done) {
        let mut left = block;
        while left > 0 {
            entries.clear();
            entries.extend((0..left.min(TOGETHER)).map(|_| picks.next()));
            each(values, &entries)?;
            left -= entries.len() as u64;
        }
        done += block;
    }
    Ok(Written { messages: done, nanos: until.nanos() })
}

fn are_all_first<V: Values>(values: &mut V, entries: &[u64]) -> Result<(), Error> {
    let expected = entries.len() as u64;
    match values.are_first(entries)? {
        right if right == expected => Ok(()),
        right => Err(wrong_values(expected - right)),
    }
}

#[cold]
fn wrong_values(count: u64) -> Error {
    Error::found("a map", format!("{count} entries have another value than was stored"))
}

/// Operations at a steady rate: spins until one is due. A late one begins at once; the schedule of
/// the following ones does not change.
#[inline(never)]
pub(super) fn paced<V: Values>(
    values: &mut V,
    picks: &mut Picks,
    clock: Clock,
    (rate, messages): (u32, u64),
    operation: impl Fn(&mut V, u64) -> Result<(), Error>,
) -> Result<Reading, Error> {
    let schedule = Schedule::of_rate(&clock, rate);
    let warm_up = (messages as f64 * WARM_UP) as u64;
    let (mut times, mut calls) = (Sample::new(), Sample::new());
    for index in 0..messages {
        let entry = picks.next();
        let due = schedule.due(index);
        while clock.stamp_unfenced() < due {}
        let from = clock.stamp_start();
        operation(values, entry)?;
        let to = clock.stamp();
        if index >= warm_up {
            times.add(&clock, due, to);
            calls.add(&clock, from, to);
        }
    }
    let nanos = clock.nanos_between(schedule.due(0), clock.stamp());
    Ok(Reading {
        times: Some(times.times(clock)),
        calls: Some(calls.times(clock)),
        ..Written { messages, nanos }.into()
    })
}

/// Checks that everything that was added is in the sum of all values.
pub(super) fn check_sum(values: &mut impl Values, first_sum: u64, added: u64) -> Result<(), Error> {
    let (sum, expected) = (values.sum()?, first_sum.wrapping_add(added));
    if sum == expected {
        return Ok(());
    }
    let found = format!("the sum of all values is {sum}, expected {expected} after {added} adds");
    Err(Error::found("a map", found))
}
