//! `nanotape inspect`: decode a day and print its messages.

mod table;

use std::{fmt::Write as _, io, ops::ControlFlow};

use anyhow::bail;
use clap::Args;
use nanotape_answers::{Span, SymbolFilter};
use nanotape_arguments::{
    DayArguments, SpanArguments, SymbolArguments,
    errors::of_input,
    verdict::{conclude, require_symbols},
};
use nanotape_engine::{DamageLog, DayReport};
use nanotape_feed::{Damage, MessageHandler, Position, hidden_in, market_event, read_day};
use nanotape_market::StockDirectory;
use nanotape_plant::trade_date_of;
use nanotape_types::{NanosSinceMidnight, Symbol};
use nanotape_wire::itch50::{Message, TAGS};
use table::Table;

use crate::{
    output::{Format, OutputArguments},
    progress::Progress,
    status::{BadData, Status, note, warn},
    values::count,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape inspect day.gz --count 20
  nanotape inspect day.gz --type A,U --symbols AAPL --from 09:30 --until 09:30:01 --format json
  nanotape inspect day.gz --type P,Q -o trades.csv       a column for each field of both types
  nanotape inspect day.gz --offset 71       the message whose record starts at offset 71

Every line starts with the message's number in the file, from 1, and the offset of its record.
Unknown message types are printed as bytes. A selected type that no message has is reported; one that
ITCH 5.0 does not have either is an error.

CSV has a column for each field of the selected types, under its name in the specification; ts_ns is
the timestamp. symbol is that of the message's stock locate, also for messages without a stock. JSON
has the fields of the message.")]
pub(crate) struct InspectArguments {
    #[command(flatten)]
    input: DayArguments,

    /// Only these message types, by their letter
    #[arg(long = "type", value_name = "A,U", value_delimiter = ',')]
    types: Vec<char>,

    #[command(flatten)]
    symbols: SymbolArguments,

    #[command(flatten)]
    span: SpanArguments,

    /// Only the message whose record starts at this offset
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["types", "symbols", "from", "until"])]
    offset: Option<u64>,

    /// Stop after N messages
    #[arg(long, value_name = "N", alias = "limit", value_parser = count::<u64>(..))]
    count: Option<u64>,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &InspectArguments) -> anyhow::Result<Status> {
    let format = arguments.output.format_or(Format::Text)?;
    let types = wanted_types(&arguments.types)?;
    let mut source = arguments.input.open()?;
    let date = trade_date_of(&mut source, arguments.input.name().path())?;
    let midnight_ns = date.map(|date| date.midnight_ns());
    let bounds =
        Span::from(arguments.span).bounds(arguments.input.name(), midnight_ns).map_err(of_input)?;
    let output = arguments.output.open()?;
    let printer = match format {
        Format::Csv => Printer::Csv(Table::new(output, &types)),
        _ => Printer::Lines { output: io::BufWriter::with_capacity(64 << 10, output), format },
    };
    let symbols = arguments.symbols.list();
    let mut inspection = Inspection {
        arguments,
        bounds,
        types,
        filter: SymbolFilter::new(&symbols),
        symbols,
        directory: StockDirectory::default(),
        printer,
        line: String::new(),
        printed: 0,
        seen: [false; 256],
        is_past: false,
        last_offset: 0,
        damage: DamageLog::default(),
        last_time: NanosSinceMidnight::default(),
        error: None,
    };
    let progress = Progress::with_total(source.progress().total_bytes);
    let summary = match arguments.count {
        Some(0) => None,
        _ => Some(read_day(&mut source, &mut inspection, |source| {
            progress.set(source.progress().done_bytes)
        })?),
    };
    drop(progress);
    let (ended_early, missing) = (inspection.is_past, inspection.missing_types());
    let Inspection { printer, filter, directory, damage, error, printed, last_offset, .. } =
        inspection;
    if let Some(error) = error {
        return Err(error.into());
    }
    if let (Some(offset), 0, Some(_)) = (arguments.offset, printed, &summary) {
        bail!(
            "{}: offset {offset}: no record starts there; the last one before it starts at offset \
             {last_offset}",
            source.name()
        );
    }
    match printer {
        Printer::Csv(table) => table.finish()?,
        Printer::Lines { output, .. } => {
            output.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
        }
    }
    let Some(summary) = summary else { return Ok(Status::Good) };
    let stopped = summary.end == nanotape_feed::DayEnd::Stopped;
    let status = conclude(source.name(), &DayReport { summary, damage });
    if printed == 0 && !stopped {
        require_symbols(source.name(), &filter, &directory)?;
    }
    if arguments.offset.is_none() && (!stopped || ended_early) {
        require_types(source.name(), &missing)?;
        if printed == 0 && missing.is_empty() {
            note(format_args!("{}: no message is selected by all options", source.name()));
        }
    }
    Ok(status)
}

/// A table of the selected types; all types if none are selected.
fn wanted_types(types: &[char]) -> anyhow::Result<[bool; 256]> {
    let mut wanted = [types.is_empty(); 256];
    for &letter in types {
        let Ok(tag) = u8::try_from(letter) else {
            bail!("--type {letter}: not a message type; use one letter")
        };
        if !tag.is_ascii_graphic() {
            bail!("--type {letter}: not a message type; use one letter");
        }
        wanted[usize::from(tag)] = true;
    }
    Ok(wanted)
}

/// Reports selected types that no message of the span has; an error if one is no type of ITCH 5.0.
fn require_types(name: &str, missing: &[u8]) -> anyhow::Result<()> {
    let list = |tags: &[u8]| {
        let letters: Vec<_> = tags.iter().map(|tag| char::from(*tag).to_string()).collect();
        letters.join(", ")
    };
    let unknown: Vec<_> = missing.iter().copied().filter(|tag| !TAGS.contains(tag)).collect();
    if !unknown.is_empty() {
        let (unknown, known) = (list(&unknown), list(TAGS));
        let line = format!(
            "{name}: no message of type {unknown}, which ITCH 5.0 does not have: its types are {known}"
        );
        return Err(BadData(line).into());
    }
    if !missing.is_empty() {
        warn(format_args!("{name}: no message of type {} in the selected time", list(missing)));
    }
    Ok(())
}

enum Printer {
    Csv(Table),
    Lines { output: io::BufWriter<crate::output::Output>, format: Format },
}

struct Inspection<'a> {
    arguments: &'a InspectArguments,
    /// The first nanosecond since midnight of the span, and the first one after it.
    bounds: (u64, u64),
    types: [bool; 256],
    symbols: Vec<Symbol>,
    filter: SymbolFilter,
    directory: StockDirectory,
    printer: Printer,
    line: String,
    printed: u64,
    /// Whether a message of the span has this type.
    seen: [bool; 256],
    /// Whether a message after the span ended the reading.
    is_past: bool,
    /// Offset of the last record that starts before the requested one.
    last_offset: u64,
    damage: DamageLog,
    /// Time of the previous message.
    last_time: NanosSinceMidnight,
    error: Option<io::Error>,
}

impl Inspection<'_> {
    /// The types that `--type` selects, and that no message has.
    fn missing_types(&self) -> Vec<u8> {
        let selected = self.arguments.types.iter().filter_map(|&letter| u8::try_from(letter).ok());
        selected.filter(|&tag| !self.seen[usize::from(tag)]).collect()
    }

    /// Records the damage if a message with missing bytes hides a whole record in its body.
    fn check_inside(&mut self, position: Position, message: &Message<'_>) {
        const TEN_MINUTES_NS: u64 = 600_000_000_000;
        let last = self.last_time;
        self.last_time = message.timestamp().unwrap_or(last);
        if let Some((damage, inner)) = hidden_in(message.as_bytes(), position.offset)
            && let Some(later) =
                inner.timestamp().and_then(|time| time.get().checked_sub(last.get()))
            && later <= TEN_MINUTES_NS
        {
            self.damage.record(damage);
        }
    }
}

impl MessageHandler for Inspection<'_> {
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        self.directory.learn(&market_event(&message));
        self.check_inside(position, &message);
        let chosen = self.arguments;
        if chosen.offset.is_some_and(|offset| position.offset > offset) {
            return ControlFlow::Break(());
        }
        self.last_offset = position.offset;
        if let Some(time) = message.timestamp() {
            let (from, until) = self.bounds;
            if time.get() >= until {
                self.is_past = true;
                return ControlFlow::Break(());
            }
            if time.get() < from {
                return ControlFlow::Continue(());
            }
        }
        self.seen[usize::from(message.tag())] = true;
        let wanted = self.types[usize::from(message.tag())]
            && chosen.offset.is_none_or(|offset| position.offset == offset)
            && (self.symbols.is_empty() || self.about_wanted_stock(&message));
        if !wanted {
            return ControlFlow::Continue(());
        }
        if let Err(error) = self.print(position, message) {
            self.error = Some(error);
            return ControlFlow::Break(());
        }
        self.printed += 1;
        match chosen.count {
            _ if chosen.offset.is_some() => ControlFlow::Break(()),
            Some(count) if self.printed >= count => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn damage(&mut self, damage: Damage) {
        self.damage.record(damage);
    }
}

impl Inspection<'_> {
    fn about_wanted_stock(&mut self, message: &Message<'_>) -> bool {
        let by_name = message
            .stock()
            .is_some_and(|stock| self.symbols.iter().any(|wanted| wanted.selects(stock)));
        by_name
            || message.stock_locate().is_some_and(|locate| {
                locate.get() != 0 && self.filter.accepts(locate, &self.directory)
            })
    }

    fn print(&mut self, position: Position, message: Message<'_>) -> io::Result<()> {
        let (line, Position { number, offset }) = (&mut self.line, position);
        line.clear();
        // Writing to a string cannot fail.
        match &mut self.printer {
            Printer::Csv(table) => table.print(position, message, &self.directory),
            Printer::Lines { output, format: Format::Json } => {
                let _ = message.write_json(line);
                // The number and the offset become the first members of the object.
                let members = line.strip_prefix('{').unwrap_or(line);
                writeln_to(
                    output,
                    format_args!("{{\"message\":{number},\"offset\":{offset},{members}"),
                )
            }
            Printer::Lines { output, .. } => {
                let _ = write!(line, "{number:>9} {offset:>12} ");
                let _ = message.write_text(line);
                writeln_to(output, format_args!("{line}"))
            }
        }
    }
}

fn writeln_to(output: &mut impl io::Write, line: std::fmt::Arguments<'_>) -> io::Result<()> {
    output.write_fmt(line)?;
    output.write_all(b"\n")
}
