//! The work of the processes of a row.

use std::{ops::Range, thread};

use nanotape_clock::Clock;
use nanotape_latest::LatestWriter;
use nanotape_shm::RegionOptions;
use serde_json::json;

use super::{
    Latest,
    keys::{Picks, first_sum},
    limits::{Lines, Std},
    loops::{Values, check_sum, flat_out, insert_all, paced},
    map::Map,
    rows::{Sides, Table, What},
};
use crate::{
    engine::{Amount, Reading, Wait, Worker, Written, pace::Until, run_on},
    error::Error,
};

/// Runs the work of a process of a row.
pub(super) fn work(worker: &mut Worker<Latest>) -> Result<Reading, Error> {
    let work = worker.row.work;
    match (work.table, work.key_words) {
        (Table::Lines, _) => lines(worker),
        (Table::Std, _) => {
            let mut values = Std::<1>::new(worker.job.options.entries());
            let bytes = values.bytes();
            one_side(worker, &mut values, first_sum).map(|reading| with_bytes(reading, bytes))
        }
        (Table::Map, 2) => map::<2>(worker),
        (Table::Map, _) => map::<1>(worker),
    }
}

fn with_bytes(reading: Reading, bytes: u64) -> Reading {
    Reading { detail: json!({ "bytes": bytes }), ..reading }
}

/// What a side does, from its start on.
#[derive(Clone, Copy)]
struct Side {
    number: usize,
    of: usize,
    what: What,
    entries: u64,
    amount: Amount,
    clock: Clock,
}

impl Side {
    fn new(worker: &Worker<Latest>, number: usize) -> Self {
        let options = &worker.job.options;
        Self {
            number,
            of: if worker.row.work.sides == Sides::One { 1 } else { 2 },
            what: worker.row.work.what,
            entries: options.entries(),
            amount: options.amount(),
            clock: worker.clock,
        }
    }

    /// The entries that this side inserts.
    fn share(&self) -> Range<u64> {
        let part = |number: usize| self.entries * number as u64 / self.of as u64;
        part(self.number)..part(self.number + 1)
    }

    fn picks(&self) -> Picks {
        let picks = Picks::new(self.number, self.entries);
        if self.what == What::TenKeys { picks.with_hot_keys() } else { picks }
    }

    fn run(&self, values: &mut impl Values) -> Result<Written, Error> {
        if self.what == What::Insert {
            return insert_all(values, self.share(), self.clock);
        }
        let until = Until::new(self.clock, self.amount);
        flat_out(values, self.what, &mut self.picks(), &until)
    }

    /// What a number of operations adds to the sum of all values.
    fn added(&self, operations: u64) -> u64 {
        if matches!(self.what, What::Update | What::UpdateEach | What::TenKeys) {
            operations
        } else {
            0
        }
    }
}

/// All operations of both sides, and the longer time.
fn together(one: Written, other: Written) -> Written {
    Written { messages: one.messages + other.messages, nanos: one.nanos.max(other.nanos) }
}

/// Runs a row of one side, on values that are made by this process.
fn one_side(
    worker: &mut Worker<Latest>,
    values: &mut impl Values,
    first_sum: impl Fn(u64) -> u64,
) -> Result<Reading, Error> {
    let side = Side::new(worker, 0);
    if side.what != What::Insert {
        insert_all(values, 0..side.entries, side.clock)?;
    }
    worker.begin(&[])?;
    if side.what == What::Latency {
        return latency(worker, side, values, first_sum);
    }
    let written = side.run(values)?;
    check_sum(values, first_sum(side.entries), side.added(written.messages))?;
    Ok(written.into())
}

/// Times updates at a steady rate; of a table without keys, loads.
fn latency<V: Values>(
    worker: &Worker<Latest>,
    side: Side,
    values: &mut V,
    first_sum: impl Fn(u64) -> u64,
) -> Result<Reading, Error> {
    let rate = worker.job.options.rate;
    let amount = (rate, side.amount.messages_at(rate));
    let picks = &mut side.picks();
    if worker.row.work.table == Table::Lines {
        return paced(values, picks, side.clock, amount, |values, entry| {
            match values.is_first(entry)? {
                true => Ok(()),
                false => Err(Error::found("a table without keys", "a word changed")),
            }
        });
    }
    let reading = paced(values, picks, side.clock, amount, V::add)?;
    check_sum(values, first_sum(side.entries), reading.written.messages)?;
    Ok(reading)
}

/// Runs two sides of one process, the second on a thread with a processor of its own.
fn two_threads<V: Values + Send>(
    worker: &mut Worker<Latest>,
    mut values: [V; 2],
    first_sum: impl Fn(u64) -> u64,
) -> Result<Reading, Error> {
    let [first, second] = [0, 1].map(|number| Side::new(worker, number));
    let cpu = worker.job.options.second_cpu;
    let [one, other] = &mut values;
    if first.what != What::Insert {
        insert_all(one, 0..first.entries, first.clock)?;
    }
    worker.begin(&[])?;
    let written = thread::scope(|scope| {
        let body = move || {
            run_on(cpu.as_slice());
            second.run(other)
        };
        let thread = thread::Builder::new().spawn_scoped(scope, body);
        let thread = thread.map_err(Error::system("start a thread"))?;
        let written = first.run(one)?;
        let panicked = |_| Error::found("a thread", "it ended early");
        Ok::<_, Error>(together(written, thread.join().map_err(panicked)??))
    })?;
    check_sum(one, first_sum(first.entries), first.added(written.messages))?;
    Ok(written.into())
}

fn lines(worker: &mut Worker<Latest>) -> Result<Reading, Error> {
    let (options, work) = (&worker.job.options, worker.row.work);
    let bytes = options.map_bytes(work)?;
    let mut lines = Lines::new(&worker.path("lines"), bytes, options.entries())?;
    match (work.what, work.sides) {
        (What::Dependent, _) => {
            worker.begin(&[])?;
            let side = Side::new(worker, 0);
            let until = worker.until(side.amount);
            Ok(lines.dependent(&mut side.picks(), &until).into())
        }
        (_, Sides::One) => one_side(worker, &mut lines, |_| 0),
        (_, _) => two_threads(worker, [lines.another(), lines], |_| 0),
    }
}

fn map<const WORDS: usize>(worker: &mut Worker<Latest>) -> Result<Reading, Error> {
    let work = worker.row.work;
    let (spec, path) = (worker.job.options.spec(work), worker.path("map"));
    let entries = worker.job.options.entries();
    let bytes = worker.job.options.map_bytes(work)?;
    let options = RegionOptions::default();
    let of = |writer| Map::<WORDS> { writer, entries };
    if worker.reader().is_some() {
        let writer = worker.meet(|_| LatestWriter::open(&path, &options))?;
        return second_process(worker, of(writer));
    }
    let writer = LatestWriter::join(&path, spec, &options)?;
    let reading = match work.sides {
        Sides::One => one_side(worker, &mut of(writer), first_sum),
        Sides::Threads => {
            let another = writer.another()?;
            two_threads(worker, [of(writer), of(another)], first_sum)
        }
        Sides::Processes => first_process(worker, of(writer)),
    };
    Ok(with_bytes(reading?, bytes))
}

/// Fills the map, runs the first side, and adds up what both did.
fn first_process<const WORDS: usize>(
    worker: &mut Worker<Latest>,
    mut map: Map<WORDS>,
) -> Result<Reading, Error> {
    let side = Side::new(worker, 0);
    if side.what != What::Insert {
        insert_all(&mut map, 0..side.entries, side.clock)?;
    }
    worker.begin(&[])?;
    let written = side.run(&mut map)?;
    let mut timeout = worker.timeout(Wait::Yield);
    let [messages, nanos] = loop {
        match map.reported()? {
            Some(numbers) => break numbers,
            None => timeout.idle(written.messages)?,
        }
    };
    let written = together(written, Written { messages, nanos });
    check_sum(&mut map, first_sum(side.entries), side.added(written.messages))?;
    Ok(written.into())
}

fn second_process<const WORDS: usize>(
    worker: &mut Worker<Latest>,
    mut map: Map<WORDS>,
) -> Result<Reading, Error> {
    let side = Side::new(worker, 1);
    worker.begin(&[])?;
    let Written { messages, nanos } = side.run(&mut map)?;
    map.report([messages, nanos])?;
    Ok(Reading::default())
}
