//! Prints messages, in each of the formats.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use nanotape_feed::{AnyMessage, Feed, Position};
use nanotape_types::{NanosSinceMidnight, rows::StockName};
use nanotape_wire::render::Describe as _;

use super::{table::Table, types::SelectedTypes};
use crate::output::{Format, Output};

/// A message, and what its event has.
pub(super) struct ShownMessage<'a> {
    pub(super) message: AnyMessage<'a>,
    /// The time of day; messages of some feeds do not have it themselves.
    pub(super) ts_ns: Option<u64>,
    /// The stock; `None` if the message is about no single one, or about an unknown one.
    pub(super) stock: Option<StockName>,
}

pub(super) enum MessagePrinter {
    Csv(Table),
    Lines { output: io::BufWriter<Output>, format: Format, line: String },
}

impl MessagePrinter {
    pub(super) fn new(output: Output, format: Format, feed: Feed, types: &SelectedTypes) -> Self {
        match format {
            Format::Csv => Self::Csv(Table::new(output, feed, types)),
            _ => {
                let output = io::BufWriter::with_capacity(64 << 10, output);
                Self::Lines { output, format, line: String::new() }
            }
        }
    }

    pub(super) fn print(&mut self, at: Position, shown: &ShownMessage<'_>) -> io::Result<()> {
        let (output, format, line) = match self {
            Self::Csv(table) => return table.print(at, shown),
            Self::Lines { output, format, line } => (output, *format, line),
        };
        let Position { number, offset } = at;
        line.clear();
        // Writing to a string cannot fail.
        if format == Format::Json {
            let _ = shown.message.write_json(line);
            // The number and the offset become the first members of the object.
            let members = line.strip_prefix('{').unwrap_or(line);
            write!(output, "{{\"message\":{number},\"offset\":{offset},")?;
            shown.write_members(output)?;
            output.write_all(members.as_bytes())?;
        } else {
            let _ = write!(line, "{number:>9} {offset:>12} ");
            shown.write_words(line);
            let _ = shown.message.write_text(line);
            output.write_all(line.as_bytes())?;
        }
        output.write_all(b"\n")
    }

    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Csv(table) => table.finish(),
            Self::Lines { output, .. } => {
                output.into_inner().map_err(io::IntoInnerError::into_error)?.finish().map(drop)
            }
        }
    }
}

/// A message of ITCH has its time and its stock locate. Those of other feeds have the time in
/// another form, or only a part of it, and few of them have their stock.
impl ShownMessage<'_> {
    fn write_members(&self, output: &mut impl io::Write) -> io::Result<()> {
        if self.message.feed() == Feed::Itch {
            return Ok(());
        }
        match self.ts_ns {
            Some(ts_ns) => write!(output, "\"ts_ns\":{ts_ns},")?,
            None => write!(output, "\"ts_ns\":null,")?,
        }
        // Otherwise it is a field.
        if self.message.symbol().is_some() {
            return Ok(());
        }
        match self.stock.and_then(StockName::symbol) {
            // A symbol is printable ASCII, of which Rust and JSON escape the same.
            Some(symbol) => write!(output, "\"symbol\":{:?},", symbol.to_string()),
            None => write!(output, "\"symbol\":null,"),
        }
    }

    fn write_words(&self, line: &mut String) {
        if self.message.feed() == Feed::Itch {
            return;
        }
        let time = self.ts_ns.and_then(NanosSinceMidnight::new).map(|time| time.to_string());
        let stock = self.stock.map(|stock| stock.to_string());
        let word = |word: Option<String>| word.unwrap_or_else(|| "-".to_owned());
        let _ = write!(line, "{:<18} {:<8} ", word(time), word(stock));
    }
}
