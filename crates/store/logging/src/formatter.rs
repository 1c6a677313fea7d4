//! Formats excerpts as lines of text. A text logger does this in the logging thread; here the
//! reader does it.
//!
//! Failure: every excerpt of a log becomes a line, or a line that reports that it is unreadable. An
//! unknown call site, announced before reading began, is shown by its number.
//! Bounds: stored announcements have at most [`MAX_KEPT_BYTES`]; beyond that, all are dropped.

mod known;
mod words;

use std::fmt::{self, Write};

use known::Known;
use nanotape_clock::UtcNanos;
use nanotape_journal::Excerpt;
use words::{escaped, put_value, put_values};

pub use known::MAX_KEPT_BYTES;

use crate::{
    decode::{CallSite, Record, Step, Text, Value, Values, decode},
    layout::{Level, MAX_SPAN_DEPTH, START},
};

/// The field that contains the message.
const MESSAGE: &[u8] = b"message";

/// Target of the lines that the log writes about itself.
const OURS: &str = "nanotape_logging";

/// Formats excerpts as lines. It must see them in the order of the journal.
///
/// ```
/// # fn main() -> Result<(), nanotape_journal::JournalError> {
/// # let path = std::env::temp_dir().join(format!("nanotape-doc-format-{}", std::process::id()));
/// use nanotape_journal::{Start, Tail, Tailer};
/// use nanotape_logging::{Formatter, Level, Logger};
///
/// let logger = Logger::open(&path)?;
/// logger.text(Level::Warn, "feed", format_args!("line {} is silent", 'B'));
///
/// let mut formatter = Formatter::new();
/// let mut tailer = Tailer::open(&path, Start::Oldest)?; // in any process
/// let mut lines = Vec::new();
/// while let Tail::Excerpt(excerpt) = tailer.next()? {
///     lines.extend(formatter.line(&excerpt));
/// }
/// assert!(lines[1].ends_with("Z  WARN feed: line B is silent"), "{lines:?}");
/// # drop(logger);
/// # std::fs::remove_dir_all(path).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Formatter {
    known: Known,
    shows_spans: bool,
    shows_threads: bool,
    segment: u64,
    /// The payload of the current excerpt.
    payload: Vec<u8>,
}

impl Formatter {
    /// A formatter without any announcements.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the beginning and the end of spans have lines; off by default.
    #[must_use]
    pub fn with_spans(mut self, shows_spans: bool) -> Self {
        self.shows_spans = shows_spans;
        self
    }

    /// Whether lines have the thread's name; off by default.
    #[must_use]
    pub fn with_threads(mut self, shows_threads: bool) -> Self {
        self.shows_threads = shows_threads;
        self
    }

    /// The line of an excerpt, without an end of line. `None` if the excerpt is not a log's, or is
    /// only an announcement.
    pub fn line(&mut self, excerpt: &Excerpt<'_>) -> Option<String> {
        let mut line = String::new();
        // Writing to a string does not fail.
        self.write_line(excerpt, &mut line).unwrap_or(false).then_some(line)
    }

    /// Writes the line of an excerpt to `out`; returns whether there is a line. Errors are those of
    /// `out`.
    pub fn write_line(
        &mut self,
        excerpt: &Excerpt<'_>,
        out: &mut dyn Write,
    ) -> Result<bool, fmt::Error> {
        let mut payload = std::mem::take(&mut self.payload);
        payload.resize(excerpt.len(), 0);
        excerpt.copy_to(&mut payload);
        let (type_id, ts_ns) = (excerpt.type_id(), excerpt.ts_ns());
        let outcome = self.write_parts(excerpt.segment(), type_id, ts_ns, &payload, out);
        self.payload = payload;
        outcome
    }

    /// [`write_line`](Self::write_line) for an excerpt outside of a journal: segment number, type,
    /// time and payload.
    pub fn write_parts(
        &mut self,
        segment: u64,
        type_id: u16,
        ts_ns: u64,
        payload: &[u8],
        out: &mut dyn Write,
    ) -> Result<bool, fmt::Error> {
        let Some(decoded) = decode(type_id, payload) else { return Ok(false) };
        if segment != self.segment || type_id == START {
            self.segment = segment;
            self.known.forget();
        }
        let mut line = Line { known: &self.known, shows_threads: self.shows_threads, ts_ns, out };
        match decoded {
            Err(error) => {
                line.ours(Level::Error, format_args!("unreadable {type_id:#06x}: {error}"))?;
            }
            Ok(Record::Start { pid, program }) => {
                let program = escaped(program);
                line.ours(Level::Info, format_args!("{program} started logging as process {pid}"))?;
            }
            Ok(Record::Event { call_site, thread, span, values }) => {
                line.event(call_site, thread, span, values)?;
            }
            Ok(Record::Text(text)) => line.text(&text)?,
            Ok(Record::Lost { count, first_ns, last_ns, reason }) => {
                let (first, last, reason) = (
                    UtcNanos::of_unix_ns(first_ns),
                    UtcNanos::of_unix_ns(last_ns),
                    escaped(reason),
                );
                let what = format_args!("{count} lost from {first} to {last}: {reason}");
                line.ours(Level::Warn, what)?;
            }
            Ok(Record::CallSite(CallSite { call_site, .. })) => {
                self.known.call_site(call_site, payload);
                return Ok(false);
            }
            Ok(Record::Thread { thread, name }) => {
                self.known.thread(thread, name);
                return Ok(false);
            }
            Ok(Record::Span { is_new, thread, span, .. }) => {
                self.known.span(span, payload);
                if !is_new || !self.shows_spans {
                    return Ok(false);
                }
                let known = &self.known;
                Line { known, shows_threads: self.shows_threads, ts_ns, out }
                    .step("new", thread, span)?;
            }
            Ok(Record::Step { step, span, thread }) => {
                let name = match step {
                    Step::Enter => "enter",
                    Step::Exit => "exit",
                    Step::Close => "close",
                };
                let shown = if self.shows_spans { line.step(name, thread, span) } else { Ok(()) };
                if step == Step::Close {
                    self.known.end_span(span);
                }
                return shown.map(|()| self.shows_spans);
            }
        }
        Ok(true)
    }

    /// Stores the announcements of an excerpt before the first line to show. A reader that begins
    /// within a segment must pass everything from the segment's beginning.
    pub fn learn(&mut self, excerpt: &Excerpt<'_>) {
        struct Nowhere;
        impl Write for Nowhere {
            fn write_str(&mut self, _: &str) -> fmt::Result {
                // Announcements write nothing, and other excerpts need no formatting.
                Err(fmt::Error)
            }
        }
        let _ = self.write_line(excerpt, &mut Nowhere);
    }
}

/// A line in progress.
struct Line<'a> {
    known: &'a Known,
    shows_threads: bool,
    ts_ns: u64,
    out: &'a mut dyn Write,
}

impl Line<'_> {
    fn begin(&mut self, level: Option<Level>, thread: u32) -> fmt::Result {
        let level = level.map_or("?", Level::name);
        write!(self.out, "{} {level:>5} ", UtcNanos::of_unix_ns(self.ts_ns))?;
        match self.known.thread_name(thread) {
            _ if !self.shows_threads => Ok(()),
            Some([]) | None => write!(self.out, "[{thread}] "),
            Some(name) => write!(self.out, "[{}] ", escaped(name)),
        }
    }

    /// Writes a line of the log about itself.
    fn ours(&mut self, level: Level, what: fmt::Arguments<'_>) -> fmt::Result {
        write!(self.out, "{} {:>5} {OURS}: {what}", UtcNanos::of_unix_ns(self.ts_ns), level.name())
    }

    fn event(&mut self, number: u32, thread: u32, span: u64, values: Values<'_>) -> fmt::Result {
        let site = self.known.find_call_site(number);
        self.begin(site.map(|site| site.level), thread)?;
        self.spans(span)?;
        match &site {
            Some(site) => write!(self.out, "{}:", escaped(site.target))?,
            None => write!(self.out, "unknown call site {number}:")?,
        }
        let message = site.and_then(|site| site.fields().position(|field| field == MESSAGE));
        if let Some(message) = message {
            let is_message = |value: &Result<(u8, Value<'_>), _>| {
                value.as_ref().is_ok_and(|(field, _)| usize::from(*field) == message)
            };
            if let Some(Ok((_, value))) = values.into_iter().find(is_message) {
                self.out.write_char(' ')?;
                put_value(self.out, &value, true)?;
            }
        }
        put_values(self.out, site.as_ref(), values, message, " ", " ")
    }

    fn text(&mut self, text: &Text<'_>) -> fmt::Result {
        self.begin(Some(text.level), text.thread)?;
        write!(self.out, "{}: {}", escaped(text.target), escaped(text.text))?;
        if text.is_cut { self.out.write_str(words::CUT) } else { Ok(()) }
    }

    fn step(&mut self, name: &str, thread: u32, span: u64) -> fmt::Result {
        let level = self.known.find_span(span).and_then(|(_, site, _)| site).map(|site| site.level);
        self.begin(level, thread)?;
        self.spans(span)?;
        self.out.write_str(name)
    }

    /// Writes a span and those around it, the outermost first.
    fn spans(&mut self, innermost: u64) -> fmt::Result {
        let mut chain = [0; MAX_SPAN_DEPTH];
        let (mut depth, mut next) = (0, innermost);
        // The bound also ends a cycle of parents.
        while next != 0 && depth < chain.len() {
            chain[depth] = next;
            depth += 1;
            next = self.known.find_span(next).map_or(0, |(parent, ..)| parent);
        }
        if next != 0 {
            self.out.write_str("...:")?;
        }
        for span in chain[..depth].iter().rev() {
            match self.known.find_span(*span) {
                None => write!(self.out, "unknown span {span}:")?,
                Some((_, site, values)) => {
                    match &site {
                        Some(site) => write!(self.out, "{}", escaped(site.name))?,
                        None => write!(self.out, "span {span} of an unknown call site")?,
                    }
                    let mut has_values = values;
                    if has_values.next().is_some() {
                        self.out.write_char('{')?;
                        put_values(self.out, site.as_ref(), values, None, "", " ")?;
                        self.out.write_char('}')?;
                    }
                    self.out.write_char(':')?;
                }
            }
        }
        if innermost == 0 { Ok(()) } else { self.out.write_char(' ') }
    }
}
