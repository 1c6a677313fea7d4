//! Where the default's time goes: by message type, in instructions, and by the processor's own
//! counters. Each in a process of its own, once: shares of one run, not comparisons.

use std::{fs::File, path::Path};

use nanotape_book::{OrderStore, PriceLevels};
use nanotape_clock::Clock;
use nanotape_feed::{DaySource, SourceError};
use nanotape_lab::{
    callgrind::{self, Request, counted_region},
    counters::{Counters, CountersUnavailable},
    text::in_full,
};
use nanotape_market::MarketEvent;
use nanotape_trace::Histogram;
use nanotape_wire::framing::binary_file::{End, Records};
use serde_json::{Value, json};

use super::{
    books::{Changes, plant},
    error::DayFileError,
    job::{Job, Role, Settings},
    one_by_one,
    type_time::TypeTime,
    variants::{VARIANTS, open},
    worker,
};

/// Messages that are run under valgrind at most, which takes some fifty times as long.
pub const MOST_COUNTED: u64 = 1_000_000;

/// Where the time of the default goes. What could not be found out is the reason.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// By message type, the one that takes most of the time first.
    pub types: Vec<TypeTime>,
    /// The part of each time in it that is the clock's own.
    pub clock_ns: f64,
    /// Instructions for a message, by valgrind, over the first messages of the day.
    pub instructions: Result<f64, String>,
    /// How many messages those were.
    pub instructions_messages: u64,
    /// What the processor counts for a message, as in the record.
    pub counters: Result<Value, String>,
}

impl Profile {
    /// As it stands in results.
    pub fn to_json(&self) -> Value {
        let all: u64 = self.types.iter().map(|one| one.total_ns).sum();
        let messages: u64 = self.types.iter().map(|one| one.count).sum();
        let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
        let types = self.types.iter().map(|one| {
            json!({
                "type": one.name(),
                "count": one.count,
                "share_of_messages": share(one.count, messages),
                "p50_ns": one.p50_ns,
                "p99_ns": one.p99_ns,
                "share_of_time": share(one.total_ns, all),
            })
        });
        json!({
            "types": types.collect::<Vec<_>>(),
            "clock_ns": self.clock_ns,
            "instructions_per_message": self.instructions.as_ref().ok(),
            "instructions_messages": self.instructions_messages,
            "counters": self.counters.as_ref().ok(),
            "absent": {
                "instructions": self.instructions.as_ref().err(),
                "counters": self.counters.as_ref().err(),
            },
        })
    }
}

/// Profiles the default on a day of so many messages. `progress` is told what is being done.
pub fn profile(
    program: &Path,
    settings: &Settings,
    messages: u64,
    progress: &mut dyn FnMut(&str),
) -> Result<Profile, DayFileError> {
    let job = |role| Job { role, variant: &VARIANTS[0], settings: settings.clone() };
    progress("time by type");
    let told = worker::start(program, &job(Role::Types), 0)?;
    let mut types = TypeTime::of_json(&told["types"]).unwrap_or_default();
    types.sort_by_key(|one| core::cmp::Reverse(one.total_ns));
    progress("counters");
    let counted = worker::start(program, &job(Role::Counters), 0)?;
    let counters = match counted["unavailable"].as_str() {
        Some(reason) => Err(reason.to_owned()),
        None => Ok(counted["counters"].clone()),
    };
    progress("instructions");
    let instructions_messages = messages.min(MOST_COUNTED);
    let instructions = instructions(program, job(Role::Count { messages: instructions_messages }));
    Ok(Profile {
        types,
        clock_ns: told["clock_ns"].as_f64().unwrap_or(f64::NAN),
        instructions: instructions.map(|count| count as f64 / instructions_messages as f64),
        instructions_messages,
        counters,
    })
}

fn instructions(program: &Path, mut job: Job) -> Result<u64, String> {
    // A minute with real-time priority would stop the machine, and instructions do not need it.
    job.settings.real_time_priority = None;
    let mut request = Request::new(program);
    request.variables.push((worker::ROLE.into(), job.to_text().into()));
    request.arguments.push(job.settings.path.clone().into());
    match callgrind::count_instructions(&request) {
        Ok(counted) => Ok(counted.count),
        // What valgrind says goes over many lines; the first has the reason.
        Err(error) => Err(in_full(&error).lines().next().unwrap_or_default().to_owned()),
    }
}

/// The times of single messages, by type.
pub(super) fn types<L: PriceLevels, S: OrderStore>(job: &Job) -> Result<Value, DayFileError> {
    let clock = Clock::calibrate();
    let mut plant = plant::<L, S>(job);
    let mut types: Vec<(u64, Histogram)> = vec![(0, Histogram::coarse()); 256];
    // Those of printable types exist from the start; a coarse one for the rest grows on the way.
    types[usize::from(b'A')..=usize::from(b'Z')].fill((0, Histogram::fine()));
    for _ in 0..job.settings.repeat {
        let apply = |_, event: &MarketEvent| plant.apply(event);
        one_by_one::run(&mut open(job)?, &clock, apply, |tag, nanos, _| {
            let (total, histogram) = &mut types[usize::from(tag)];
            *total += nanos;
            histogram.record(nanos);
        })?;
    }
    let met = types.iter().enumerate().filter(|(_, (_, histogram))| histogram.count() > 0);
    let types = met.map(|(tag, (total, histogram))| {
        json!({
            "tag": tag,
            "count": histogram.count(),
            "p50_ns": histogram.quantile(0.5),
            "p99_ns": histogram.quantile(0.99),
            "total_ns": total,
        })
    });
    Ok(json!({
        "types": types.collect::<Vec<_>>(),
        "clock_ns": clock.costs().empty_nanos,
    }))
}

/// The processor's counters over the whole day, as fast as it goes.
pub(super) fn counters<L: PriceLevels, S: OrderStore>(job: &Job) -> Result<Value, DayFileError> {
    let mut plant = plant::<L, S>(job);
    let mut changes = Changes::default();
    let mut counters = match Counters::open() {
        Ok(counters) => counters,
        Err(reason) => return Ok(unavailable(&reason)),
    };
    if let Err(reason) = counters.hardware() {
        return Ok(unavailable(reason));
    }
    let started = counters.start();
    for _ in 0..job.settings.repeat {
        plant.run(&mut open(job)?, &mut changes, |_| ())?;
    }
    let counted = started.and_then(|()| counters.stop());
    Ok(match counted.and_then(|()| counters.per_operation(changes.messages)) {
        Ok(rates) => json!({ "counters": rates.to_json() }),
        Err(reason) => unavailable(&reason),
    })
}

fn unavailable(reason: &CountersUnavailable) -> Value {
    json!({ "unavailable": in_full(reason) })
}

/// The first messages of the day, for valgrind to look on.
pub(super) fn count<L: PriceLevels, S: OrderStore>(
    job: &Job,
    messages: u64,
) -> Result<Value, DayFileError> {
    let mut plant = plant::<L, S>(job);
    let mut source =
        DaySource::memory("the first messages", first_bytes(&job.settings.path, messages)?);
    let mut changes = Changes::default();
    counted_region(|| plant.run(&mut source, &mut changes, |_| ()))?;
    Ok(json!({ "messages": changes.messages }))
}

/// The records of the first messages. Not through a mapped file: asking for the size of a page reads
/// the program's own headers through its auxiliary vector, which valgrind does not have right.
fn first_bytes(path: &Path, messages: u64) -> Result<Vec<u8>, SourceError> {
    let name = path.display().to_string();
    let file = match File::open(path) {
        Ok(file) => file,
        Err(source) => return Err(SourceError::System { operation: "open", name, source }),
    };
    let mut source = DaySource::stream(name, file, None)?;
    let (mut bytes, mut left, mut used_bytes) = (Vec::new(), messages, 0);
    loop {
        let block = source.next_block(used_bytes)?;
        let mut records = Records::new(block.bytes, block.offset);
        while left > 0 && records.next().is_some() {
            left -= 1;
        }
        used_bytes = block.bytes.len() - records.remaining().len();
        bytes.extend_from_slice(&block.bytes[..used_bytes]);
        let is_over = matches!(records.end(), Some(End::EndOfSession { .. }));
        if left == 0 || block.is_last || is_over {
            return Ok(bytes);
        }
    }
}
