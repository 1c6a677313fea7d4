//! Chrome's trace events in JSON.
//!
//! Source: the document "Trace Event Format" of the Chromium project,
//! <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>.
//!
//! Times are microseconds with three decimals, after `otherData.origin_ns` (UTC in nanoseconds):
//! viewers read numbers as 64-bit floating point, which holds a UTC only to 250 ns. Arguments above
//! 2^53 are strings for the same reason.

use std::{
    fmt::{self, Display},
    io::{self, Write},
};

use super::plan::{Event, Plan, Point};

/// The highest integer up to which floating point has all.
const MAX_EXACT: u64 = 1 << 53;

pub(super) fn write(plan: &Plan<'_>, out: &mut dyn Write) -> io::Result<()> {
    let origin_ns = plan.origin_ns();
    let mut file = File { out, origin_ns, is_first: true };
    write!(
        file.out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"origin_ns\":\"{origin_ns}\"}},\
         \"traceEvents\":["
    )?;
    for &(id, name) in &plan.processes {
        file.name("process_name", id, None, name)?;
    }
    for track in &plan.tracks {
        file.name("thread_name", track.process_id, Some(track.thread_id), &track.name)?;
    }
    for event in &plan.events {
        file.span(plan, event)?;
    }
    for (at, track) in plan.tracks.iter().enumerate() {
        if let Some((count, at_ns)) = track.lost_after {
            file.lost(plan, at, at_ns, count)?;
        }
    }
    for &(instant, track) in &plan.instants {
        file.event(plan, "i", track, &instant.name, instant.at_ns)?;
        write!(file.out, ",\"s\":\"p\",\"args\":{{\"text\":{}}}}}", Text(&instant.text))?;
    }
    file.out.write_all(b"\n]}\n")
}

struct File<'a> {
    out: &'a mut dyn Write,
    origin_ns: u64,
    is_first: bool,
}

impl File<'_> {
    fn separate(&mut self) -> io::Result<()> {
        let separator = if std::mem::take(&mut self.is_first) { "\n" } else { ",\n" };
        self.out.write_all(separator.as_bytes())
    }

    fn name(
        &mut self,
        what: &str,
        process: u32,
        thread: Option<u32>,
        name: &str,
    ) -> io::Result<()> {
        self.separate()?;
        write!(self.out, "{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{process}")?;
        if let Some(thread) = thread {
            write!(self.out, ",\"tid\":{thread}")?;
        }
        write!(self.out, ",\"args\":{{\"name\":{}}}}}", Text(name))
    }

    /// The beginning of an event, which has no end yet.
    fn event(
        &mut self,
        plan: &Plan<'_>,
        phase: &str,
        track: usize,
        name: &str,
        at_ns: u64,
    ) -> io::Result<()> {
        self.separate()?;
        let (process, thread) = (plan.tracks[track].process_id, plan.tracks[track].thread_id);
        let (name, at) = (Text(name), Micros(at_ns - self.origin_ns));
        write!(
            self.out,
            "{{\"ph\":\"{phase}\",\"cat\":\"nanotape\",\"name\":{name},\"pid\":{process},\
             \"tid\":{thread},\"ts\":{at}"
        )
    }

    fn span(&mut self, plan: &Plan<'_>, event: &Event<'_>) -> io::Result<()> {
        let (track, begin_ns) = (event.track, event.slice.begin_ns);
        if event.slice.lost_before > 0 {
            self.lost(plan, track, begin_ns, event.slice.lost_before)?;
        }
        self.event(plan, "X", track, &event.name, begin_ns)?;
        write!(self.out, ",\"dur\":{},\"args\":{{", Micros(event.end_ns - begin_ns))?;
        for (at, (name, value)) in event.arguments().enumerate() {
            let separator = if at > 0 { "," } else { "" };
            write!(self.out, "{separator}\"{name}\":{}", Unsigned(value))?;
        }
        self.out.write_all(b"}}")?;
        let Some(flow) = event.flow else { return Ok(()) };
        let (phase, binding) = match flow.point {
            Point::Begin => ("s", ""),
            Point::Step => ("t", ""),
            // To the span around it, and not to the next one.
            Point::End => ("f", ",\"bp\":\"e\""),
        };
        self.event(plan, phase, track, "message", begin_ns)?;
        write!(self.out, ",\"id\":{}{binding}}}", flow.id)
    }

    fn lost(&mut self, plan: &Plan<'_>, track: usize, at_ns: u64, count: u64) -> io::Result<()> {
        self.event(plan, "i", track, "spans lost", at_ns)?;
        write!(self.out, ",\"s\":\"t\",\"args\":{{\"spans\":{}}}}}", Unsigned(count))
    }
}

/// Nanoseconds as microseconds with three decimals.
struct Micros(u64);

impl Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

struct Unsigned(u64);

impl Display for Unsigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 <= MAX_EXACT { write!(f, "{}", self.0) } else { write!(f, "\"{}\"", self.0) }
    }
}

/// A string of JSON.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        let mut rest = self.0;
        while let Some(at) = rest.find(|c: char| c == '"' || c == '\\' || c < ' ' || c == '\x7f') {
            f.write_str(&rest[..at])?;
            // One byte: all that is escaped is ASCII.
            write!(f, "\\u{:04x}", rest.as_bytes()[at])?;
            rest = &rest[at + 1..];
        }
        write!(f, "{rest}\"")
    }
}
