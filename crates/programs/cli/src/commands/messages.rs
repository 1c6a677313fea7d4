//! Messages of rings and journals as text, CSV or JSON, for `dump` and `tail`.

use std::{
    fmt::Write as _,
    io::{self, BufWriter, Write as _},
};

use nanotape_arguments::text::time_text;
use nanotape_journal::Excerpt;
use nanotape_tape::{Gap, Reused};

use crate::{
    hexdump::hexdump,
    output::{Format, Output, OutputArguments},
    printable::printable,
    record::Whole,
    taken::wait_for_reader,
};

/// The kind of the messages, and the form of their payloads in text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    /// Messages of a ring, which have no times: all bytes.
    Ring,
    /// Excerpts: all bytes.
    Bytes,
    /// Excerpts: text if the payload is text.
    Line,
}

pub(super) struct Printer {
    output: BufWriter<Output>,
    format: Format,
    shown: Shown,
    /// Names of the journals, if there are several.
    names: Vec<String>,
    /// The last row, which is written before the next one or by `flush`.
    line: String,
    bytes: Vec<u8>,
    /// Bytes of rows since the last flush.
    unflushed: usize,
    /// Whether a file gets its name at the end.
    is_file: bool,
}

impl Printer {
    pub(super) fn new(
        arguments: &OutputArguments,
        shown: Shown,
        names: Vec<String>,
    ) -> anyhow::Result<Self> {
        let format = arguments.format_or(Format::Text)?;
        let output = BufWriter::with_capacity(64 << 10, arguments.open()?);
        let names = if names.len() > 1 { names } else { Vec::new() };
        let (line, bytes, unflushed) = (String::new(), Vec::new(), 0);
        let is_file = output.get_ref().is_partial();
        let mut printer = Self { output, format, shown, names, line, bytes, unflushed, is_file };
        if format == Format::Csv {
            let journal = if printer.names.is_empty() { "" } else { "journal," };
            let columns = match shown {
                Shown::Ring => "sequence,type_id,length,payload,lost_from,lost_to",
                _ => {
                    "sequence,ts_ns,time,type_id,length,payload,missing_from,missing_to,\
                     reused_from,reused_to"
                }
            };
            writeln!(printer.output, "{journal}{columns}")?;
        }
        Ok(printer)
    }

    pub(super) fn excerpt(&mut self, source: usize, excerpt: &Excerpt<'_>) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.resize(excerpt.len(), 0);
        excerpt.copy_to(&mut bytes);
        let (sequence, type_id) = (excerpt.sequence(), excerpt.type_id());
        let printed = self.message(source, sequence, type_id, Some(excerpt.ts_ns()), &bytes);
        self.bytes = bytes;
        printed
    }

    /// Prints a message; messages of a ring have no time.
    pub(super) fn message(
        &mut self,
        source: usize,
        sequence: u64,
        type_id: u16,
        ts_ns: Option<u64>,
        payload: &[u8],
    ) -> io::Result<()> {
        self.begin(source)?;
        let (line, length) = (&mut self.line, payload.len());
        // Writing to a string cannot fail.
        let _ = match self.format {
            Format::Text => write!(line, "{sequence}  "),
            Format::Csv => write!(line, "{sequence},"),
            Format::Json => write!(line, "\"sequence\":{},", Whole(sequence)),
        };
        if let Some(ts_ns) = ts_ns {
            let time = time_text(ts_ns);
            let _ = match self.format {
                Format::Text => write!(line, "{time}  "),
                Format::Csv => write!(line, "{ts_ns},{time},"),
                Format::Json => write!(line, "\"ts_ns\":{},\"time\":\"{time}\",", Whole(ts_ns)),
            };
        }
        match (self.format, self.shown) {
            (Format::Text, Shown::Line) => {
                text_or_bytes(line, payload);
                line.push('\n');
            }
            (Format::Text, _) => {
                let _ = writeln!(line, "type {type_id}  {length} bytes");
                hexdump(line, payload);
            }
            (Format::Csv, shown) => {
                let _ = write!(line, "{type_id},{length},");
                payload.iter().for_each(|byte| _ = write!(line, "{byte:02x}"));
                line.push_str(if shown == Shown::Ring { ",,\n" } else { ",,,,\n" });
            }
            (Format::Json, _) => {
                let _ = write!(line, "\"type_id\":{type_id},\"length\":{length},\"payload\":\"");
                payload.iter().for_each(|byte| _ = write!(line, "{byte:02x}"));
                line.push_str("\"}\n");
            }
        }
        Ok(())
    }

    /// Prints a line that a formatter made from an excerpt.
    pub(super) fn line(&mut self, source: usize, text: &str) -> io::Result<()> {
        self.write_row()?;
        if let Some(name) = self.names.get(source) {
            self.line.extend([name.as_str(), "  "]);
        }
        self.line.extend([text, "\n"]);
        Ok(())
    }

    pub(super) fn gap(&mut self, source: usize, gap: Gap) -> io::Result<()> {
        let Gap { from, to } = gap;
        self.begin(source)?;
        let line = &mut self.line;
        let is_ring = self.shown == Shown::Ring;
        let _ = match self.format {
            Format::Text if is_ring => writeln!(line, "{from}  {gap}"),
            Format::Text if from == to => writeln!(line, "{from}  is missing"),
            Format::Text => writeln!(line, "{from}  to {to} are missing: {} excerpts", gap.count()),
            Format::Csv if is_ring => writeln!(line, ",,,,{from},{to}"),
            Format::Csv => writeln!(line, ",,,,,,{from},{to},,"),
            Format::Json => {
                let name = if is_ring { "lost" } else { "missing" };
                writeln!(line, "\"{name}\":{{\"from\":{},\"to\":{}}}}}", Whole(from), Whole(to))
            }
        };
        Ok(())
    }

    pub(super) fn reused(&mut self, source: usize, reused: Reused) -> io::Result<()> {
        let Reused { from, to } = reused;
        self.begin(source)?;
        let line = &mut self.line;
        let _ = match self.format {
            Format::Text => {
                writeln!(line, "{from}  to {to} are used again by the excerpts that follow")
            }
            Format::Csv => writeln!(line, ",,,,,,,,{from},{to}"),
            Format::Json => {
                writeln!(line, "\"reused\":{{\"from\":{},\"to\":{}}}}}", Whole(from), Whole(to))
            }
        };
        Ok(())
    }

    /// Makes the output so far visible to its readers.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.write_row()?;
        self.unflushed = 0;
        self.output.flush()
    }

    /// [`flush`](Self::flush) that fails if the reader of standard output has exited and left a
    /// part unread, as far as that can be known: the last row is written when the rows before it
    /// were read.
    pub(super) fn deliver(&mut self) -> io::Result<()> {
        self.output.flush()?;
        if !self.is_file {
            wait_for_reader();
        }
        self.flush()
    }

    /// Bytes of rows since the last flush.
    pub(super) fn unflushed(&self) -> usize {
        self.unflushed
    }

    /// Whether the output is a file that gets its name at the end: an interrupted command leaves
    /// none.
    pub(super) fn is_file(&self) -> bool {
        self.is_file
    }

    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        self.write_row()?;
        let output = self.output.into_inner().map_err(io::IntoInnerError::into_error)?;
        output.finish()?;
        Ok(())
    }

    /// Writes the row that is held.
    fn write_row(&mut self) -> io::Result<()> {
        self.unflushed += self.line.len();
        let written = self.output.write_all(self.line.as_bytes());
        self.line.clear();
        written
    }

    /// Begins a row with the name of its journal.
    fn begin(&mut self, source: usize) -> io::Result<()> {
        self.write_row()?;
        let line = &mut self.line;
        let name = self.names.get(source);
        let _ = match (self.format, name) {
            (Format::Json, Some(name)) => {
                write!(line, "{{\"journal\":{},", serde_json::Value::from(name.as_str()))
            }
            (Format::Json, None) => write!(line, "{{"),
            (Format::Csv, Some(name)) => write!(line, "{name},"),
            (Format::Text, Some(name)) => write!(line, "{name}  "),
            (_, None) => Ok(()),
        };
        Ok(())
    }
}

/// Appends text with control characters escaped; other payloads as bytes.
fn text_or_bytes(line: &mut String, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => line.push_str(&printable(text, &['\t'])),
        Err(_) => bytes.iter().for_each(|byte| _ = write!(line, "{byte:02x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shown_as_text_and_the_rest_as_bytes() {
        let shown = |bytes: &[u8]| {
            let mut line = String::new();
            text_or_bytes(&mut line, bytes);
            line
        };
        assert_eq!(shown("bid 100.25 \u{20ac}\t".as_bytes()), "bid 100.25 \u{20ac}\t");
        assert_eq!(shown(b"a\n\x1b[0m\0"), "a\\n\\u{1b}[0m\\u{0}");
        assert_eq!(shown(&[0xff, 0x00]), "ff00");
    }
}
