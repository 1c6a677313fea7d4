//! `nanotape inspect`: decode a day and print its messages.

use std::{fmt::Write as _, io, ops::ControlFlow};

use anyhow::bail;
use clap::Args;
use nanotape_feed::{Damage, MessageHandler, Position, hidden_in, market_event, read_day};
use nanotape_market::StockDirectory;
use nanotape_plant::{DamageLog, DayReport};
use nanotape_types::{NanosSinceMidnight, Symbol};
use nanotape_wire::itch50::Message;

use crate::{
    input::{DayArguments, Progress, conclude, require_symbols},
    output::{Format, OutputArguments},
    rows::{Column, Rows},
    status::Status,
    symbols::{SymbolFilter, symbol_or_locate},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape inspect day.gz --limit 20
  nanotape inspect day.gz --type A,U --symbol AAPL --from 09:30 --to 09:30:01 --format json
  nanotape inspect day.gz --offset 71       the message whose record starts at offset 71

Every line starts with the message's number in the file, from 1, and the offset of its record.
Unknown message types are printed as bytes.")]
pub(crate) struct InspectArguments {
    #[command(flatten)]
    input: DayArguments,

    /// Only these message types, by their letter
    #[arg(long = "type", value_name = "A,U", value_delimiter = ',')]
    types: Vec<char>,

    /// Only messages about these stocks
    #[arg(long = "symbol", value_name = "A,B", value_delimiter = ',', alias = "symbols")]
    symbols: Vec<Symbol>,

    /// Only messages at or after this time of day
    #[arg(long, value_name = "TIME")]
    from: Option<NanosSinceMidnight>,

    /// Only messages at or before this time of day
    #[arg(long, value_name = "TIME")]
    to: Option<NanosSinceMidnight>,

    /// Only the message whose record starts at this offset
    #[arg(long, value_name = "BYTES")]
    offset: Option<u64>,

    /// Stop after N messages
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &InspectArguments) -> anyhow::Result<Status> {
    let format = arguments.output.format_or(Format::Text)?;
    let types = wanted_types(&arguments.types)?;
    let mut source = arguments.input.open()?;
    let output = arguments.output.open()?;
    let printer = match format {
        Format::Csv => Printer::Csv(Rows::new(output, format, csv_columns())),
        _ => Printer::Lines { output: io::BufWriter::with_capacity(64 << 10, output), format },
    };
    let mut inspection = Inspection {
        arguments,
        types,
        filter: SymbolFilter::new(&arguments.symbols),
        directory: StockDirectory::default(),
        printer,
        line: String::new(),
        printed: 0,
        damage: DamageLog::default(),
        last_time: NanosSinceMidnight::default(),
        error: None,
    };
    let progress = Progress::of(&source);
    let summary = match arguments.limit {
        Some(0) => None,
        _ => Some(read_day(&mut source, &mut inspection, |source| progress.update(source))?),
    };
    drop(progress);
    let Inspection { printer, filter, directory, damage, error, printed, .. } = inspection;
    if let Some(error) = error {
        return Err(error.into());
    }
    match printer {
        Printer::Csv(rows) => rows.finish()?,
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

fn csv_columns() -> Vec<Column> {
    vec![
        Column::number("message", 9),
        Column::number("offset", 12),
        Column::word("type", 4),
        Column::number("ts_ns", 14),
        Column::word("symbol", 8),
        Column::word("fields", 0),
    ]
}

enum Printer {
    Csv(Rows),
    Lines { output: io::BufWriter<crate::output::Output>, format: Format },
}

struct Inspection<'a> {
    arguments: &'a InspectArguments,
    types: [bool; 256],
    filter: SymbolFilter,
    directory: StockDirectory,
    printer: Printer,
    line: String,
    printed: u64,
    damage: DamageLog,
    /// Time of the previous message.
    last_time: NanosSinceMidnight,
    error: Option<io::Error>,
}

impl Inspection<'_> {
    /// Records the damage if a message with missing bytes hides a whole record in its body.
    fn look_inside(&mut self, position: Position, message: &Message<'_>) {
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
        self.look_inside(position, &message);
        let asked = self.arguments;
        if asked.offset.is_some_and(|offset| position.offset > offset) {
            return ControlFlow::Break(());
        }
        if let Some(time) = message.timestamp() {
            if asked.to.is_some_and(|to| time > to) {
                return ControlFlow::Break(());
            }
            if asked.from.is_some_and(|from| time < from) {
                return ControlFlow::Continue(());
            }
        }
        let wanted = self.types[usize::from(message.tag())]
            && asked.offset.is_none_or(|offset| position.offset == offset)
            && (asked.symbols.is_empty() || self.about_wanted_stock(&message));
        if !wanted {
            return ControlFlow::Continue(());
        }
        if let Err(error) = self.print(position, message) {
            self.error = Some(error);
            return ControlFlow::Break(());
        }
        self.printed += 1;
        match asked.limit {
            Some(limit) if self.printed >= limit => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn damage(&mut self, damage: Damage) {
        self.damage.record(damage);
    }
}

impl Inspection<'_> {
    fn about_wanted_stock(&mut self, message: &Message<'_>) -> bool {
        let by_name = message.stock().is_some_and(|stock| self.arguments.symbols.contains(&stock));
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
            Printer::Csv(rows) => {
                let _ = message.write_text(line);
                rows.integer(number);
                rows.integer(offset);
                rows.text(message.tag().escape_ascii());
                rows.integer_or_absent(message.timestamp().map(|time| time.get()));
                match (message.stock(), message.stock_locate()) {
                    (Some(stock), _) => rows.text(stock),
                    (None, Some(locate)) if locate.get() != 0 => {
                        rows.text(symbol_or_locate(&self.directory, locate));
                    }
                    _ => rows.absent(),
                }
                rows.text(line);
                rows.end_row()
            }
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
