//! A plant with all spans on, one message at a time, in turns alone and with a process beside it:
//! a flight recorder that reads its spans, or one that also copies them all the time.
//!
//! Protocol: a line that both processes write. The plant stores what the other one is to do, and
//! waits until it has begun. Meanwhile no message is timed.

use std::{io, path::PathBuf, slice, thread, time::Duration};

use nanotape_board::{PLANT_THREAD, trace_path};
use nanotape_clock::Clock;
use nanotape_ring::Start;
use nanotape_trace::{
    Histogram,
    accounts::thread_run_ns,
    export::{self, Format},
    flight::{Options, Recorder},
    spans::Rate,
};
use serde_json::json;

use super::{
    Trace,
    pairs::{Pairs, Side},
    plant::SITES,
    rows::Mode,
};
use crate::{
    day_file::{
        DayReading, one_by_one,
        publish::{self, RING},
    },
    engine::{Reading, Times, Wait, Worker, line::map},
    error::Error,
};

/// Messages of a segment, about ten milliseconds.
const SEGMENT: u64 = 1 << 15;

/// A shorter day has so many segments.
const LEAST_SEGMENTS: u64 = 8;

/// The share of a segment that does not count, as a divisor: it warms the caches.
const WARM_UP: u64 = 8;

/// The name of the line.
const LINE: &str = "wanted";

/// Words of the line: what is to be done, what is being done, and the copies that were made.
const WANTED: usize = 0;
const DOING: usize = 8;
const MADE: usize = 9;

/// What is to be done.
const NOTHING: u64 = 1;
const WORK: u64 = 2;
const END: u64 = 3;

/// The pause of `nanotape trace record` after a poll that read little.
const PAUSE: Duration = Duration::from_micros(50);
const MANY: u64 = 4_096;

/// The pause of a process that does nothing.
const SLEEP: Duration = Duration::from_millis(1);

/// The plant.
pub(super) fn plant(worker: &mut Worker<Trace>) -> Result<Reading, Error> {
    let clock = worker.clock;
    let day = worker.job.options.day.clone();
    let line = map(&worker.path(LINE))?;
    let words = line.words();
    let mut run = publish::open(worker)?;
    let Some(switches) = run.trace_switches() else {
        return Err(Error::found("the plant", "it has no spans"));
    };
    switches.set(&[Rate::ALL; SITES]);
    worker.begin(&[])?;

    let mut lots = Pairs::new(clock.stamp().ticks());
    let mut segments = Segments::new(day.messages, move || lots.order());
    let mut failed = None;
    let mut timeout = worker.timeout(Wait::Pause);
    let mut timed = [Histogram::fine(), Histogram::fine()];
    let mut side = None;
    let take = |_: u8, nanos: u64| {
        if segments.begins() {
            let next = segments.next();
            if side.replace(next) != Some(next) {
                let wanted = if next == Side::Own { WORK } else { NOTHING };
                words[WANTED].store(wanted);
                while words[DOING].load() != wanted && failed.is_none() {
                    failed = timeout.idle(segments.messages).err();
                }
            }
        }
        if segments.counts() {
            timed[side.map_or(0, usize::from)].record(nanos);
        }
    };
    one_by_one::run(&mut day.open()?, &clock, &mut run.live(), take)?;
    words[WANTED].store(END);
    while words[DOING].load() != END && failed.is_none() {
        failed = timeout.idle(day.messages).err();
    }
    if let Some(error) = failed {
        return Err(error.into());
    }
    let messages = run.end().messages;
    let answer = publish::answer(&run, messages);
    let [base, own] = timed.map(|histogram| Times::of(&histogram, &clock));
    let adds = |of: fn(&Times) -> u64| of(&own) as f64 - of(&base) as f64;
    let detail = json!({
        "ns": own.p999_ns,
        "base_ns": base.p999_ns,
        "adds_ns": adds(|times| times.p999_ns),
        "pairs": segments.pairs,
        "copies": words[MADE].load(),
    });
    let day = DayReading { answer, ..DayReading::default() };
    Ok(Reading { times: Some(own), calls: Some(base), day, detail, ..Reading::default() })
}

/// The order of the segments of a day.
struct Segments<O> {
    length: u64,
    /// Messages so far.
    messages: u64,
    order: O,
    second: Option<Side>,
    pairs: u64,
}

impl<O: FnMut() -> [Side; 2]> Segments<O> {
    fn new(messages: u64, order: O) -> Self {
        let length = SEGMENT.min(messages / LEAST_SEGMENTS).max(1);
        Self { length, messages: 0, order, second: None, pairs: 0 }
    }

    /// Counts a message. Returns whether a segment begins with the next one.
    fn begins(&mut self) -> bool {
        self.messages += 1;
        self.messages % self.length == 1 % self.length
    }

    /// The side of the segment that begins.
    fn next(&mut self) -> Side {
        if let Some(second) = self.second.take() {
            return second;
        }
        self.pairs += 1;
        let [first, second] = (self.order)();
        self.second = Some(second);
        first
    }

    /// Whether the last message was after the warm-up of its segment.
    fn counts(&self) -> bool {
        (self.messages - 1) % self.length >= self.length.div_ceil(WARM_UP)
    }
}

/// The process beside the plant.
pub(super) fn beside(worker: &mut Worker<Trace>, mode: Mode) -> Result<Reading, Error> {
    let line = map(&worker.path(LINE))?;
    let words = line.words();
    let path = trace_path(&worker.path(RING), PLANT_THREAD);
    // The plant makes its tables first.
    worker.meet(|_| Recorder::open("bench", slice::from_ref(&path), options()))?;
    worker.ready()?;
    let mut timeout = worker.timeout(Wait::Pause);
    let (mut made, mut done) = (0, 0);
    loop {
        let wanted = words[WANTED].load();
        if wanted != WORK {
            words[MADE].store(made);
            words[DOING].store(wanted);
            if wanted == END {
                return Ok(Reading::default());
            }
            // A pause of the plant is noticed too.
            timeout.idle(done)?;
            thread::sleep(SLEEP);
            continue;
        }
        done += 1;
        let is_wanted = || words[WANTED].load() == WORK;
        let begin = || words[DOING].store(WORK);
        match mode {
            Mode::Absent => {
                begin();
                while is_wanted() {
                    thread::sleep(SLEEP);
                }
            }
            Mode::Busy => {
                begin();
                while is_wanted() {
                    compute();
                }
            }
            Mode::Reads => made += record(&path, worker.clock, false, begin, is_wanted)?,
            Mode::Copies => made += record(&path, worker.clock, true, begin, is_wanted)?,
        }
    }
}

/// Work in registers, some microseconds.
fn compute() {
    let mut state = 1_u64;
    for _ in 0..1_000 {
        state = std::hint::black_box(state.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 1);
    }
}

/// A recorder with the defaults of `nanotape trace record`, without limits of its copies and time.
fn options() -> Options {
    Options {
        at_once: u32::MAX,
        per_minute: u32::MAX,
        cpu_limit: 1.0,
        start: Start::Newest,
        ..Options::default()
    }
}

/// Reads spans until the end of the segment. Returns the number of copies that it made and wrote.
fn record(
    path: &PathBuf,
    clock: Clock,
    copies: bool,
    begin: impl FnOnce(),
    is_wanted: impl Fn() -> bool,
) -> Result<u64, Error> {
    let mut recorder = Recorder::open("bench", slice::from_ref(path), options())?;
    begin();
    let began = clock.stamp();
    let mut made = 0;
    loop {
        let now_ns = clock.nanos_between(began, clock.stamp());
        let polled = recorder.poll(now_ns, thread_run_ns);
        let mut snapshot = polled.snapshot;
        if copies && snapshot.is_none() {
            recorder.request("a copy after the other", clock.utc_ns());
            snapshot = recorder.finish();
        }
        if let Some(snapshot) = snapshot {
            if copies {
                let written = export::write(
                    &snapshot.recording(),
                    Format::Perfetto,
                    &mut io::BufWriter::new(io::sink()),
                );
                written.map_err(Error::system("write a copy"))?;
                made += 1;
            }
            recorder.give_back(snapshot);
        }
        if !is_wanted() {
            return Ok(made);
        }
        if !copies && polled.read < MANY {
            thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_in_pairs_and_their_beginnings_do_not_count() {
        let mut segments = Segments::new(800, || [Side::Own, Side::Base]);
        let (mut sides, mut counted) = (Vec::new(), 0);
        for _ in 0..800 {
            if segments.begins() {
                sides.push(segments.next());
            }
            counted += u64::from(segments.counts());
        }
        assert_eq!(sides, [Side::Own, Side::Base].repeat(4));
        assert_eq!((segments.pairs, counted), (4, 8 * (100 - 13)));
    }

    #[test]
    fn a_day_of_a_few_messages_has_segments_of_one() {
        let mut segments = Segments::new(3, || [Side::Base, Side::Own]);
        assert_eq!((0..3).filter(|_| segments.begins()).count(), 3);
        assert!(!segments.counts());
    }
}
