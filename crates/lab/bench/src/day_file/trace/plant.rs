//! A plant whose spans are switched while it runs: short segments of the day, alternately with
//! spans and without.
//!
//! A pair is two neighbouring segments. The day is read twice: what is on in one segment the first
//! time is on in the other one the second time. Each side of a pair so has the same messages, and a
//! machine that becomes slower is slower for both.
//! The first block of each segment does not count: it warms the caches after the switch.

use nanotape_board::{PLANT_THREAD, trace_path};
use nanotape_ring::Start;
use nanotape_trace::spans::{Polled, SpanReader};

use super::{
    Trace,
    pairs::{Pairs, Side},
    rows::Spans,
};
use crate::{
    day_file::{
        DayReading,
        publish::{self, RING},
        reading::Answer,
        survey::refuse_damage,
        usage::processor_nanos,
    },
    engine::{Reading, Worker},
    error::Error,
};

/// Blocks of the file in a segment. A block has half a megabyte, about 17,000 messages; a segment
/// fills the ring of the spans four times.
const BLOCKS: u64 = 4;

/// The sites of a plant, without those of the kernel's counts, which come after them.
pub(super) const SITES: usize = 8;

/// A file with fewer blocks is one segment: what is on differs between the passes only.
const LEAST_BLOCKS: u64 = 4 * BLOCKS;

/// Bytes of a block.
const BLOCK_BYTES: u64 = 512 << 10;

/// Messages and processor time so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Mark {
    messages: u64,
    nanos: u64,
}

/// The part of a segment that counts.
type Segment = Mark;

/// The segments of one pass.
#[derive(Debug)]
struct Pass<'a> {
    /// The order of the sides of each pair, which the second pass swaps.
    orders: &'a [[Side; 2]],
    is_second: bool,
    /// Whether it is one segment.
    is_whole: bool,
    blocks: u64,
    begin: Mark,
    segments: Vec<Segment>,
}

impl<'a> Pass<'a> {
    fn new(orders: &'a [[Side; 2]], is_second: bool, is_whole: bool) -> Self {
        let begin = Mark::default();
        Self { orders, is_second, is_whole, blocks: 0, begin, segments: Vec::new() }
    }

    /// The side of a segment; `None` for the last one, if it has no partner.
    fn side(&self, place: usize) -> Option<Side> {
        let order = self.orders.get(place / 2)?;
        Some(order[(place + usize::from(self.is_second)) % 2])
    }

    /// A block was read. Returns the number of the next segment if one begins.
    fn block(&mut self, now: Mark) -> Option<usize> {
        self.blocks += 1;
        match self.blocks % BLOCKS {
            _ if self.is_whole => {}
            1 => self.begin = now,
            0 => {
                self.end_segment(now);
                return Some(self.segments.len());
            }
            _ => {}
        }
        None
    }

    fn end_segment(&mut self, now: Mark) {
        self.segments.push(Segment {
            messages: now.messages - self.begin.messages,
            nanos: now.nanos - self.begin.nanos,
        });
    }

    /// The file has ended.
    fn end(&mut self, start: Mark, now: Mark) {
        if self.is_whole {
            self.begin = start;
            self.end_segment(now);
        }
    }
}

pub(super) fn measure(worker: &mut Worker<Trace>, spans: Spans) -> Result<Reading, Error> {
    worker.begin(&[])?;
    let mut pairs = Pairs::new(worker.clock.stamp().ticks());
    let blocks = worker.job.options.day.bytes / BLOCK_BYTES;
    let is_whole = blocks < LEAST_BLOCKS;
    let orders: Vec<_> = (0..(blocks / BLOCKS / 2).max(1)).map(|_| pairs.order()).collect();
    let mut passes = Vec::new();
    let mut answer = None;
    for is_second in [false, true] {
        let (segments, found) = read(worker, spans, Pass::new(&orders, is_second, is_whole))?;
        if answer.is_some_and(|answer| answer != found) {
            return Err(Error::found("a plant", "its answer differs when it reads the day again"));
        }
        answer = Some(found);
        passes.push(segments);
    }
    add(&mut pairs, &orders, &passes);
    let day = DayReading { answer: answer.unwrap_or_default(), ..DayReading::default() };
    Ok(Reading { detail: pairs.detail().unwrap_or_default(), ..day.into() })
}

/// Reads the day once.
fn read(
    worker: &Worker<Trace>,
    spans: Spans,
    mut pass: Pass<'_>,
) -> Result<(Vec<Segment>, Answer), Error> {
    let day = &worker.job.options.day;
    let mut run = publish::open(worker)?;
    let Some(switches) = run.trace_switches() else {
        return Err(Error::found("the plant", "it has no spans"));
    };
    let board = run.board();
    let now = || Mark { messages: board.sample().messages, nanos: processor_nanos() };
    let mut was_on = false;
    let mut turn = |side: Option<Side>| {
        let is_on = side == Some(Side::Own);
        was_on |= is_on;
        switches.set(&[if is_on { spans } else { Spans::Off }.rate(); SITES]);
    };
    turn(pass.side(0));
    let start = now();
    let ended = run.run(|_| {
        if let Some(place) = pass.block(now()) {
            turn(pass.side(place));
        }
    })?;
    pass.end(start, Mark { messages: ended.stop.messages, nanos: processor_nanos() });
    refuse_damage(day.path(), ended.report)?;
    check(worker, spans, was_on)?;
    Ok((pass.segments, publish::answer(&run, ended.stop.messages)))
}

/// Whether the ring of the spans has those that were on, and no others.
fn check(worker: &Worker<Trace>, spans: Spans, was_on: bool) -> Result<(), Error> {
    let path = trace_path(&worker.path(RING), PLANT_THREAD);
    let mut reader = SpanReader::open(&path, Start::Oldest)?;
    let rate = spans.rate().count();
    let mut found = 0_u64;
    loop {
        match reader.try_next()? {
            Polled::Span(span) => {
                found += 1;
                if rate.is_none_or(|rate| !span.number.is_multiple_of(rate)) {
                    let what = format!("message {} has a span, but none was on", span.number);
                    return Err(Error::found("the plant", what));
                }
            }
            Polled::Empty => break,
            Polled::Lost(_) => {}
            Polled::Damaged { sequence } => {
                return Err(Error::found("the plant", format!("span {sequence} is damaged")));
            }
        }
    }
    match was_on && rate.is_some() && found == 0 {
        true => Err(Error::found("the plant", "spans were on, but it wrote none")),
        false => Ok(()),
    }
}

/// Makes pairs of the segments of all passes.
fn add(pairs: &mut Pairs, orders: &[[Side; 2]], passes: &[Vec<Segment>]) {
    let [one, two] = passes else { return };
    let per_message = |segments: &[Segment]| {
        let nanos: u64 = segments.iter().map(|segment| segment.nanos).sum();
        let messages: u64 = segments.iter().map(|segment| segment.messages).sum();
        nanos as f64 / messages.max(1) as f64
    };
    let both = one.chunks(2).zip(two.chunks(2)).zip(orders);
    for ((one, two), order) in both {
        // The same messages: the first segment of one pass with the second segment of the other.
        let (first, second) = match (one, two) {
            ([a, b], [c, d]) => (vec![*a, *d], vec![*b, *c]),
            // The whole of a short file.
            ([a], [c]) => (vec![*a], vec![*c]),
            _ => continue,
        };
        let (first, second) = (per_message(&first), per_message(&second));
        match order[0] {
            Side::Base => pairs.push(first, second),
            Side::Own => pairs.push(second, first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE_FIRST: [Side; 2] = [Side::Base, Side::Own];
    const OWN_FIRST: [Side; 2] = [Side::Own, Side::Base];

    /// A pass over blocks of 100 messages, in which a message takes `off` ns, and 5 more if on.
    fn read(mut pass: Pass<'_>, off: &[u64]) -> Vec<Segment> {
        let (mut place, begin) = (0, Mark::default());
        let mut now = begin;
        for nanos in off {
            let added = if pass.side(place) == Some(Side::Own) { 5 } else { 0 };
            now = Mark { messages: now.messages + 100, nanos: now.nanos + 100 * (nanos + added) };
            place = pass.block(now).unwrap_or(place);
        }
        pass.end(begin, now);
        pass.segments
    }

    #[test]
    fn a_pair_has_the_same_messages_on_both_sides() {
        // Neighbouring segments differ more than what is measured, and the second pass is slower.
        let blocks: Vec<u64> = (0..20).map(|block| 50 + 30 * (block / 4 % 3)).collect();
        let slower: Vec<u64> = blocks.iter().map(|nanos| nanos + 40).collect();
        let orders = [BASE_FIRST, OWN_FIRST];
        let passes = [(false, &blocks), (true, &slower)]
            .map(|(is_second, blocks)| read(Pass::new(&orders, is_second, false), blocks));
        assert_eq!((passes[0].len(), passes[0][0].messages), (5, 300));
        let mut pairs = Pairs::new(1);
        add(&mut pairs, &orders, &passes);
        let detail = pairs.detail().unwrap();
        // The fifth segment has no partner.
        assert_eq!((detail["adds_ns"].as_f64(), detail["pairs"].as_u64()), (Some(5.0), Some(2)));
    }

    #[test]
    fn a_short_file_is_one_segment_in_each_pass() {
        for orders in [[BASE_FIRST], [OWN_FIRST]] {
            let passes = [false, true]
                .map(|is_second| read(Pass::new(&orders, is_second, true), &[50, 60, 70, 80, 90]));
            assert_eq!((passes[0].len(), passes[0][0].messages), (1, 500));
            let mut pairs = Pairs::new(1);
            add(&mut pairs, &orders, &passes);
            let detail = pairs.detail().unwrap();
            assert_eq!(
                (detail["base_ns"].as_f64(), detail["adds_ns"].as_f64()),
                (Some(70.0), Some(5.0))
            );
        }
    }
}
