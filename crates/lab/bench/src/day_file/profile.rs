//! The time of one variant: by message type, in instructions, and by the processor's counters. Each
//! is measured once in a process of its own: shares of one run, not comparisons.

use core::fmt::Write as _;
use std::path::Path;

use nanotape_book::{Books, OrderStore, PriceLevels};
use nanotape_clock::Clock;
use nanotape_console::{progress::Progress, values::grouped};
use nanotape_engine::Observer;
use nanotape_feed::{DaySource, SourceError};
use nanotape_lab::{
    callgrind::{self, Request, counted_region},
    counters::{Counters, CountersUnavailable},
    text::in_full,
};
use nanotape_plant::Publisher;
use nanotape_trace::Histogram;
use nanotape_wire::framing::binary_file::{End, Records};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Day, Pass, books::plant, one_by_one, plant_variants::USUAL, variants::count_default};
use crate::{
    book::Changes,
    engine::{Benchmark, Program, Reading, Row, Run, WORKER},
    error::Error,
};

/// Most messages to run under valgrind, which is about fifty times slower.
const MOST_COUNTED: u64 = 1_000_000;

/// The profile of a variant. A part that could not be measured has the reason instead.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Profile {
    /// Name of the variant.
    of: &'static str,
    /// By message type, largest total time first.
    pub(super) types: Vec<TypeTime>,
    /// The part of each time that is the clock's own.
    pub(super) clock_ns: f64,
    /// Instructions per message, by valgrind, over the first messages of the day.
    pub(super) instructions: Result<f64, String>,
    /// Number of those messages.
    pub(super) instructions_messages: u64,
    /// The processor's counters per message, as in the record.
    pub(super) counters: Result<Value, String>,
}

impl Profile {
    /// The profile as JSON.
    pub(super) fn to_json(&self) -> Value {
        let types = self.shares().map(|(one, of_messages, of_time)| {
            json!({
                "type": one.tag.escape_ascii().to_string(),
                "count": one.count,
                "share_of_messages": of_messages,
                "p50_ns": one.p50_ns,
                "p99_ns": one.p99_ns,
                "share_of_time": of_time,
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

    /// The types, with their shares of all messages and of the time.
    fn shares(&self) -> impl Iterator<Item = (&TypeTime, f64, f64)> {
        let messages: u64 = self.types.iter().map(|one| one.count).sum();
        let nanos: u64 = self.types.iter().map(|one| one.total_ns).sum();
        let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
        let types = self.types.iter();
        types.map(move |one| (one, share(one.count, messages), share(one.total_ns, nanos)))
    }

    /// The profile as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "\nProfile of {}, by message type: one at a time, ns, each includes {:.0} ns for reading \
             the clock",
            self.of, self.clock_ns
        );
        let _ = writeln!(
            text,
            "  {:<6} {:>14} {:>9} {:>9} {:>9} {:>9}",
            "type", "messages", "share", "p50", "p99", "of time"
        );
        for (one, of_messages, of_time) in self.shares() {
            let _ = writeln!(
                text,
                "  {:<6} {:>14} {:>8.2}% {:>9} {:>9} {:>8.2}%",
                one.tag.escape_ascii().to_string(),
                grouped(one.count),
                100.0 * of_messages,
                grouped(one.p50_ns),
                grouped(one.p99_ns),
                100.0 * of_time,
            );
        }
        let _ = match &self.instructions {
            Ok(count) => writeln!(
                text,
                "instructions for a message, by valgrind over the first {}: {count:.1}",
                grouped(self.instructions_messages)
            ),
            Err(reason) => writeln!(text, "instructions: not available, {reason}"),
        };
        match &self.counters {
            Ok(counters) => {
                let counted =
                    counters.as_object().into_iter().flatten().filter_map(|(name, value)| {
                        let value = value.as_f64().filter(|&value| value >= 0.0005)?;
                        Some(format!("{} {value:.3}", name.replace('_', " ")))
                    });
                let counted: Vec<String> = counted.collect();
                let _ = writeln!(text, "hardware counters, for a message: {}", counted.join(", "));
            }
            Err(reason) => {
                let _ = writeln!(text, "hardware counters: not available, {reason}");
            }
        }
        text
    }
}

/// The times of the messages of one type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct TypeTime {
    /// The type byte.
    pub(super) tag: u8,
    /// Messages of this type.
    pub(super) count: u64,
    /// Median of their times.
    pub(super) p50_ns: u64,
    /// 99th percentile of their times.
    pub(super) p99_ns: u64,
    /// Sum of their times.
    pub(super) total_ns: u64,
}

/// Profiles the variant of `row`: the default's books, or the usual plant if it publishes.
pub(super) fn profile<B: Benchmark<Pass = Pass>>(
    run: &Run<B>,
    day: &Day,
    row: &'static Row<B>,
    publishes: bool,
    progress: &Progress,
) -> Result<Profile, Error> {
    let read = |what: &str, pass| {
        progress.set_of(run.readings(), run.readings(), what);
        run.read(row, pass, 0).map(|reading| reading.detail)
    };
    let timed = read("time by type", Pass::Types)?;
    let mut types: Vec<TypeTime> =
        serde_json::from_value(timed["types"].clone()).unwrap_or_default();
    types.sort_by_key(|one| core::cmp::Reverse(one.total_ns));
    let counted = read("counters", Pass::Counters)?;
    let counters = match counted["unavailable"].as_str() {
        Some(reason) => Err(reason.to_owned()),
        None => Ok(counted["counters"].clone()),
    };
    progress.set_of(run.readings(), run.readings(), "instructions");
    let instructions_messages = day.messages.min(MOST_COUNTED);
    let job = CountJob { day: day.clone(), messages: instructions_messages, publishes };
    let instructions = instructions(&job)?;
    Ok(Profile {
        of: row.name,
        types,
        clock_ns: timed["clock_ns"].as_f64().unwrap_or(f64::NAN),
        instructions: instructions.map(|count| count as f64 / instructions_messages as f64),
        instructions_messages,
        counters,
    })
}

fn instructions(job: &CountJob) -> Result<Result<u64, String>, Error> {
    let program = Program::this(COUNT)?;
    let mut request = Request::new(&program.path);
    request.variables.push((WORKER.into(), program.variable(&json!(job)).into()));
    Ok(match callgrind::count_instructions(&request) {
        Ok(counted) => Ok(counted.count),
        // The message of valgrind has many lines; the first one has the reason.
        Err(error) => Err(in_full(&error).lines().next().unwrap_or_default().to_owned()),
    })
}

/// The work of a process under valgrind.
pub(crate) const COUNT: &str = "instructions of a day";

#[derive(Serialize, Deserialize)]
struct CountJob {
    day: Day,
    messages: u64,
    publishes: bool,
}

/// Does the work of [`COUNT`].
pub(crate) fn count(job: Value) -> anyhow::Result<Value> {
    let CountJob { day, messages, publishes } = serde_json::from_value(job)?;
    let counted = if publishes {
        // A ring in private memory.
        Publisher::on_heap(USUAL.capacity_bytes, USUAL.kinds, 0)
            .map_err(Error::from)
            .and_then(|mut publisher| count_default(&day, messages, &mut publisher))
    } else {
        count_default(&day, messages, &mut Changes::default())
    };
    counted.map_err(Error::judged)?;
    Ok(json!({ "messages": messages }))
}

/// The times of messages, by type.
pub(super) struct TypeTimes(Vec<(u64, Histogram)>);

impl TypeTimes {
    pub(super) fn new() -> Self {
        let mut types: Vec<(u64, Histogram)> = vec![(0, Histogram::coarse()); 256];
        // Histograms of printable types exist from the start; others start coarse and grow.
        types[usize::from(b'A')..=usize::from(b'Z')].fill((0, Histogram::fine()));
        Self(types)
    }

    #[inline]
    pub(super) fn record(&mut self, tag: u8, nanos: u64) {
        let (total, histogram) = &mut self.0[usize::from(tag)];
        *total += nanos;
        histogram.record(nanos);
    }

    pub(super) fn detail(&self, clock: &Clock) -> Value {
        let met = self.0.iter().enumerate().filter(|(_, (_, histogram))| histogram.count() > 0);
        let types = met.map(|(tag, (total_ns, histogram))| TypeTime {
            tag: tag as u8,
            count: histogram.count(),
            p50_ns: histogram.quantile(0.5).unwrap_or(0),
            p99_ns: histogram.quantile(0.99).unwrap_or(0),
            total_ns: *total_ns,
        });
        let types: Vec<TypeTime> = types.collect();
        json!({ "types": types, "clock_ns": clock.costs().empty_nanos })
    }
}

/// The times of single messages, by type.
pub(super) fn types<L: PriceLevels, S: OrderStore>(
    day: &Day,
    clock: Clock,
) -> Result<Reading, Error> {
    let mut plant = plant::<L, S>(day);
    let mut types = TypeTimes::new();
    for _ in 0..day.repeat {
        one_by_one::run(&mut day.open()?, &clock, &mut plant.live(&mut ()), |tag, nanos| {
            types.record(tag, nanos);
        })?;
    }
    Ok(detail(types.detail(&clock)))
}

fn detail(detail: Value) -> Reading {
    Reading { detail, ..Reading::default() }
}

/// The processor's counters over the whole day, at full speed.
pub(super) fn counters<L: PriceLevels, S: OrderStore>(day: &Day) -> Result<Reading, Error> {
    let mut plant = plant::<L, S>(day);
    let mut changes = Changes::default();
    counted(|| {
        for _ in 0..day.repeat {
            let _ = plant.run(&mut day.open()?, &mut changes, |_| ())?;
        }
        Ok(changes.messages)
    })
    .map(detail)
}

/// The processor's counters per message of `work`, which returns its messages.
pub(super) fn counted(work: impl FnOnce() -> Result<u64, Error>) -> Result<Value, Error> {
    let mut counters = match Counters::open() {
        Ok(counters) => counters,
        Err(reason) => return Ok(unavailable(&reason)),
    };
    if let Err(reason) = counters.hardware() {
        return Ok(unavailable(reason));
    }
    let started = counters.start();
    let messages = work()?;
    let counted = started.and_then(|()| counters.stop());
    Ok(match counted.and_then(|()| counters.per_operation(messages)) {
        Ok(rates) => json!({ "counters": rates.to_json() }),
        Err(reason) => unavailable(&reason),
    })
}

fn unavailable(reason: &CountersUnavailable) -> Value {
    json!({ "unavailable": in_full(reason) })
}

/// Runs the first messages of the day while valgrind counts.
pub(super) fn count_messages<L: PriceLevels, S: OrderStore>(
    day: &Day,
    messages: u64,
    observer: &mut impl Observer<Books<L, S>>,
) -> Result<(), Error> {
    let mut plant = plant::<L, S>(day);
    let mut source = DaySource::memory("the first messages", first_bytes(day.path(), messages)?);
    let _ = counted_region(|| plant.run(&mut source, observer, |_| ()))?;
    Ok(())
}

/// The records of the first messages.
fn first_bytes(path: &Path, messages: u64) -> Result<Vec<u8>, SourceError> {
    let mut source = DaySource::open(path)?;
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
