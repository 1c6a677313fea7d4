//! Writes a recording of spans as a file that trace viewers open.
//!
//! Where: the [flight recorder](crate::flight) makes recordings; a command writes them.
//! Formats: Perfetto's protobuf and Chrome's JSON. Both hold the same spans with their numbers and
//! values, the flow of a message from thread to thread, the losses and instants such as a trigger.
//! Bounds: [`write()`] takes about 100 bytes a span beside the recording, and `O(n log n)` time.
//! Failure: any recording is written. Names may hold any text, times may go back or overlap: see
//! [`Written`] for what a viewer shows of them. Only the output can fail.

mod chrome;
mod perfetto;
mod plan;

use std::{
    io::{self, Write},
    path::Path,
};

use plan::Plan;

/// Spans of the threads of a program, and what happened meanwhile.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Recording {
    /// The threads, in the order in which a viewer shows them.
    pub threads: Vec<Thread>,
    /// Moments with a text.
    pub instants: Vec<Instant>,
}

/// A thread of a recording.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Thread {
    /// The name of the program. The first thread of a process gives it to all.
    pub process: String,
    /// The id of the process.
    pub process_id: u32,
    /// The name of the thread.
    pub name: String,
    /// The id that the kernel gave to the thread, if known. Without it, and if two threads of a
    /// process have the same, the file has an id above all of the kernel's.
    pub thread_id: Option<u32>,
    /// The names of the sites.
    pub sites: Vec<String>,
    /// The spans, in the order in which the stages ended.
    pub spans: Vec<Slice>,
    /// Spans that were lost after the last of `spans`.
    pub lost_after: u64,
}

/// A span of a recording.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Slice {
    /// The place of its site in [`Thread::sites`]. A viewer shows `site N` for one without a name.
    pub site: usize,
    /// The number of the message.
    pub number: u64,
    /// The number of the program's choice.
    pub value: u64,
    /// The begin, in ns of UTC since the UNIX epoch. Viewers read times as signed numbers, so they
    /// show no times from 2262-04-11 on.
    pub begin_ns: u64,
    /// The end, on the same scale.
    pub end_ns: u64,
    /// Spans that were lost between the span before and this one.
    pub lost_before: u64,
}

/// A moment with a text.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Instant {
    /// When, in ns of UTC since the UNIX epoch.
    pub at_ns: u64,
    /// What it is, in a word or two.
    pub name: String,
    /// Its details.
    pub text: String,
    /// The thread that it is of, a place in [`Recording::threads`]; otherwise it has a track.
    pub thread: Option<usize>,
}

/// A format of trace viewers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Perfetto's protobuf (`.pftrace`).
    Perfetto,
    /// Chrome's trace events in JSON, for small recordings: about 200 bytes a span.
    Chrome,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 2] = [Self::Perfetto, Self::Chrome];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto",
            Self::Chrome => "chrome",
        }
    }

    /// The suffixes of its files.
    pub const fn suffixes(self) -> &'static [&'static str] {
        match self {
            Self::Perfetto => &["pftrace", "perfetto-trace"],
            Self::Chrome => &["json"],
        }
    }

    /// The format of a file with this name.
    pub fn of_path(path: &Path) -> Option<Self> {
        let suffix = path.extension()?.to_str()?;
        Self::ALL.into_iter().find(|format| format.suffixes().contains(&suffix))
    }
}

/// What was written, and what a viewer cannot show as it was.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Written {
    /// Spans.
    pub spans: u64,
    /// Messages with spans in several threads, joined by arrows.
    pub flows: u64,
    /// Spans that overlap an earlier one of their thread. They are on tracks of their own, since
    /// the spans of a track must nest.
    pub overlapping: u64,
    /// Spans that end before they begin. A viewer shows them at their begin, without a length; the
    /// argument `ends_before_ns` has the difference.
    pub backwards: u64,
}

/// Writes a recording. `out` should buffer.
pub fn write(recording: &Recording, format: Format, out: &mut dyn Write) -> io::Result<Written> {
    let plan = Plan::of(recording);
    match format {
        Format::Perfetto => perfetto::write(&plan, out),
        Format::Chrome => chrome::write(&plan, out),
    }?;
    out.flush()?;
    Ok(plan.written)
}
