//! `nanotape trace dump`: the spans of traced threads.

use std::time::Duration;

use clap::Args;
use nanotape_clock::UtcNanos;
use nanotape_ring::Start;
use nanotape_shm::OwnerState;
use nanotape_tape::ShutdownFlag;
use nanotape_trace::spans::{Look, SpanReader};

use super::threads;
use crate::{
    interrupt,
    output::{Format, OutputArguments},
    regions::of_read,
    rows::{Column, Rows},
    status::{BadData, Status},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape trace dump equities                all spans that are there, also those of a killed plant
  nanotape trace dump equities --follow       and those to come, until Ctrl-C
  nanotape trace dump equities --count 100 -o spans.csv

`ns` is the time from the end of the stage before to the end of this one. `message` is the number of the
message in the input, and joins the spans of different threads. Spans of a thread are in the order in
which they ended; one thread is printed after the other. Spans that were overwritten before they could
be printed are a row with their number, in `lost`.

Exit status: 0 success; 1 the spans are damaged; 2 there are none to read.")]
pub(super) struct DumpCommand {
    /// Name or path of a ring, path of a thread's region, or number of a process
    #[arg(value_name = "NAME|PID")]
    target: String,

    /// Stop after N spans
    #[arg(long, value_name = "N", value_parser = crate::values::count::<u64>(..))]
    count: Option<u64>,

    /// Wait for new spans
    #[arg(long)]
    follow: bool,

    #[command(flatten)]
    output: OutputArguments,
}

/// Time between two looks for new spans.
const LOOK_EVERY: Duration = Duration::from_millis(1);

pub(super) fn run(command: &DumpCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let interrupt = interrupt::install()?;
    let mut readers = Vec::new();
    for thread in threads::of_target(&command.target)? {
        // Without --follow, ends at the current end: a thread can be faster than the dump.
        let end = match command.follow {
            true => u64::MAX,
            false => thread.open(Start::Newest)?.next_sequence(),
        };
        let reader = thread.open(Start::Oldest)?;
        readers.push(Source { name: thread.name, reader, end });
    }
    let columns = vec![
        Column::word("thread", 20),
        Column::word("site", 14),
        Column::number("message", 12),
        Column::word("begin", 30),
        Column::number("ns", 10),
        Column::number("value", 20),
        Column::number("lost", 0),
    ];
    let mut printer = Printer {
        rows: Rows::new(command.output.open()?, format, columns),
        left: command.count.unwrap_or(u64::MAX),
        damaged: None,
    };
    let printed = dump(command, &mut readers, &mut printer, &interrupt);
    // Rows before damage stay printed.
    printer.rows.finish()?;
    printed?;
    match printer.damaged {
        Some(what) => Err(BadData(what).into()),
        None => Ok(Status::Good),
    }
}

fn dump(
    command: &DumpCommand,
    sources: &mut [Source],
    printer: &mut Printer,
    interrupt: &ShutdownFlag,
) -> anyhow::Result<()> {
    loop {
        // A thread that ended before its spans were read has no more.
        let is_alive =
            sources.iter().any(|source| source.reader.owner().state == OwnerState::Alive);
        for source in sources.iter_mut() {
            printer.all(source, interrupt)?;
        }
        if !command.follow || !is_alive || printer.left == 0 || interrupt.is_requested() {
            return Ok(());
        }
        printer.rows.flush()?;
        interrupt.sleep(LOOK_EVERY);
    }
}

/// A thread, and the number of the span that is not printed any more.
struct Source {
    name: String,
    reader: SpanReader,
    end: u64,
}

struct Printer {
    rows: Rows,
    left: u64,
    /// The first damage.
    damaged: Option<String>,
}

impl Printer {
    /// Prints the spans of a thread that are there now.
    fn all(&mut self, source: &mut Source, interrupt: &ShutdownFlag) -> anyhow::Result<()> {
        let Source { name, reader, end } = source;
        let sites = reader.sites();
        while self.left > 0 && reader.next_sequence() < *end && !interrupt.is_requested() {
            match reader.try_next().map_err(|error| of_read(reader.ring(), &error))? {
                Look::Empty => return Ok(()),
                Look::Lost(gap) => {
                    self.rows.text(name.escape_default());
                    (0..5).for_each(|_| self.rows.absent());
                    self.rows.integer(gap.count());
                }
                Look::Damaged { sequence } => {
                    let ring = reader.ring().display();
                    self.damaged.get_or_insert(format!("{ring}: span {sequence} is damaged"));
                    continue;
                }
                Look::Span(span) => {
                    self.left -= 1;
                    self.rows.text(name.escape_default());
                    match sites.get(span.site.index()).and_then(|site| site.name) {
                        Some(site) => self.rows.text(site),
                        None => self.rows.text("damaged"),
                    }
                    self.rows.integer(span.number);
                    self.rows.text(UtcNanos::of_unix_ns(reader.utc_ns(span.from)));
                    self.rows.integer(reader.nanos_between(span.from, span.to).round() as u64);
                    self.rows.integer(span.value);
                    self.rows.absent();
                }
            }
            self.rows.end_row()?;
        }
        Ok(())
    }
}
