//! Fuchsia's trace format: records of 64-bit words.
//!
//! Source: <https://fuchsia.dev/fuchsia-src/reference/tracing/trace-format>.
//!
//! Layout: magic number, provider, ticks (1 a nanosecond), the names of processes and threads as
//! kernel objects, then a duration-complete event for each span, and a flow event after a span that
//! is a point of a flow. Strings and threads have records before their first use, as many as their
//! tables hold. A string that does not fit has a record before each use, and a thread that does not
//! fit is inline.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use super::plan::{Event, Plan, Point};

const MAGIC: u64 = 0x0016_5478_4604_0010;
const PROVIDER: &str = "nanotape";
const CATEGORY: &str = "nanotape";

/// Types of records.
const METADATA: u64 = 0;
const INITIALIZATION: u64 = 1;
const STRING: u64 = 2;
const THREAD: u64 = 3;
const EVENT: u64 = 4;
const KERNEL_OBJECT: u64 = 7;

/// Types of events.
const INSTANT: u64 = 0;
const COMPLETE: u64 = 4;

/// Types of arguments.
const UINT32: u64 = 2;
const UINT64: u64 = 4;
const TEXT: u64 = 6;
const KERNEL_ID: u64 = 8;

/// `ZX_OBJ_TYPE_PROCESS` and `ZX_OBJ_TYPE_THREAD`.
const OBJECT_PROCESS: u64 = 1;
const OBJECT_THREAD: u64 = 2;

/// The longest text, in bytes.
const MAX_TEXT_BYTES: usize = 32_000;
/// Strings that stay in the table; the rest of its 32,767 entries are used again and again.
const KEPT_STRINGS: usize = 32_000;
const LAST_STRING: u64 = 0x7fff;
/// Entries of the table of threads.
const KEPT_THREADS: usize = 255;

/// Writes the recording. Returns how many texts were cut.
pub(super) fn write(plan: &Plan<'_>, out: &mut dyn Write) -> io::Result<u64> {
    let mut file = File { out, strings: HashMap::new(), next_again: LAST_STRING, cut: 0 };
    file.words(&[MAGIC])?;
    let name = text_words(PROVIDER);
    let header = 1 << 16 | (PROVIDER.len() as u64) << 52;
    file.record(METADATA, header, &name)?;
    file.record(INITIALIZATION, 0, &[1_000_000_000])?;
    for &(id, name) in &plan.processes {
        let name = file.string(name)?;
        file.record(KERNEL_OBJECT, OBJECT_PROCESS << 16 | name << 24, &[id.into()])?;
    }
    for (at, track) in plan.tracks.iter().enumerate() {
        let (process, thread) = (track.process_id.into(), track.thread_id.into());
        if at < KEPT_THREADS {
            file.record(THREAD, (at as u64 + 1) << 16, &[process, thread])?;
        }
        let argument = file.argument("process", KERNEL_ID, process)?;
        let name = file.string(&track.name)?;
        let header = OBJECT_THREAD << 16 | name << 24 | 1 << 40;
        file.record(KERNEL_OBJECT, header, &[thread, argument[0], argument[1]])?;
    }
    for event in &plan.events {
        span(&mut file, plan, event)?;
    }
    for (at, track) in plan.tracks.iter().enumerate() {
        if let Some((count, at_ns)) = track.lost_after {
            lost(&mut file, plan, at, at_ns, count)?;
        }
    }
    for &(instant, track) in &plan.instants {
        let text = file.string(&instant.text)?;
        let argument = file.header_of_argument("text", TEXT, 1)? | text << 32;
        file.event(plan, INSTANT, track, &instant.name, instant.at_ns, (1, &[argument]))?;
    }
    Ok(file.cut)
}

fn span(file: &mut File<'_>, plan: &Plan<'_>, event: &Event<'_>) -> io::Result<()> {
    let (track, begin_ns) = (event.track, event.slice.begin_ns);
    if event.slice.lost_before > 0 {
        lost(file, plan, track, begin_ns, event.slice.lost_before)?;
    }
    let (mut count, mut body) = (0, Vec::with_capacity(8));
    for (name, value) in event.arguments() {
        body.extend(file.unsigned(name, value)?);
        count += 1;
    }
    body.push(event.end_ns);
    file.event(plan, COMPLETE, track, &event.name, begin_ns, (count, &body))?;
    let Some(flow) = event.flow else { return Ok(()) };
    let kind = match flow.point {
        Point::Begin => 8,
        Point::Step => 9,
        Point::End => 10,
    };
    file.event(plan, kind, track, "message", begin_ns, (0, &[flow.id]))
}

fn lost(
    file: &mut File<'_>,
    plan: &Plan<'_>,
    track: usize,
    at_ns: u64,
    count: u64,
) -> io::Result<()> {
    let argument = file.unsigned("spans", count)?;
    file.event(plan, INSTANT, track, "spans lost", at_ns, (1, &argument))
}

struct File<'a> {
    out: &'a mut dyn Write,
    /// Strings of the table.
    strings: HashMap<String, u64>,
    /// The entry for the next string that does not fit.
    next_again: u64,
    cut: u64,
}

impl File<'_> {
    fn words(&mut self, words: &[u64]) -> io::Result<()> {
        words.iter().try_for_each(|word| self.out.write_all(&word.to_le_bytes()))
    }

    /// A record with these bits of its header beside type and size.
    fn record(&mut self, kind: u64, header: u64, body: &[u64]) -> io::Result<()> {
        let size = body.len() as u64 + 1;
        self.words(&[kind | size << 4 | header])?;
        self.words(body)
    }

    /// The entry of a string in the table; 0 for the empty string.
    fn string(&mut self, text: &str) -> io::Result<u64> {
        if text.is_empty() {
            return Ok(0);
        }
        if let Some(&entry) = self.strings.get(text) {
            return Ok(entry);
        }
        let whole = text.len();
        let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
        self.cut += u64::from(text.len() < whole);
        let entry = if self.strings.len() < KEPT_STRINGS && text.len() == whole {
            let entry = self.strings.len() as u64 + 1;
            self.strings.insert(text.to_owned(), entry);
            entry
        } else {
            let entry = self.next_again;
            let first = KEPT_STRINGS as u64 + 1;
            self.next_again = if entry == first { LAST_STRING } else { entry - 1 };
            entry
        };
        let header = entry << 16 | (text.len() as u64) << 32;
        self.record(STRING, header, &text_words(text))?;
        Ok(entry)
    }

    fn header_of_argument(&mut self, name: &str, kind: u64, words: u64) -> io::Result<u64> {
        Ok(kind | words << 4 | self.string(name)? << 16)
    }

    fn argument(&mut self, name: &str, kind: u64, value: u64) -> io::Result<[u64; 2]> {
        Ok([self.header_of_argument(name, kind, 2)?, value])
    }

    /// An unsigned argument: one word if its value has 32 bits, as the format asks.
    fn unsigned(&mut self, name: &str, value: u64) -> io::Result<Vec<u64>> {
        match u32::try_from(value) {
            Ok(_) => Ok(vec![self.header_of_argument(name, UINT32, 1)? | value << 32]),
            Err(_) => Ok(self.argument(name, UINT64, value)?.into()),
        }
    }

    /// An event with its number of arguments, and what follows them.
    fn event(
        &mut self,
        plan: &Plan<'_>,
        kind: u64,
        track: usize,
        name: &str,
        at_ns: u64,
        (count, body): (u64, &[u64]),
    ) -> io::Result<()> {
        let (category, name) = (self.string(CATEGORY)?, self.string(name)?);
        let of = &plan.tracks[track];
        let (thread, ids) = match track {
            indexed if indexed < KEPT_THREADS => (indexed as u64 + 1, None::<[u64; 2]>),
            _ => (0, Some([of.process_id.into(), of.thread_id.into()])),
        };
        let header = kind << 16 | count << 20 | thread << 24 | category << 32 | name << 48;
        let mut words = vec![at_ns];
        words.extend(ids.into_iter().flatten());
        words.extend(body);
        self.record(EVENT, header, &words)
    }
}

/// A text in words, padded with zeros.
fn text_words(text: &str) -> Vec<u64> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    text.as_bytes().chunks(8).map(word).collect()
}
