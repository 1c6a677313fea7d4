//! `nanotape trace dump`: the spans of traced threads, or of a recording.

use std::time::Duration;

use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::spans::{Next, Spans};
use nanotape_clock::UtcNanos;
use nanotape_tape::ShutdownFlag;
use nanotape_trace::recording::Entry;

use crate::{
    interrupt,
    output::{Format, OutputArguments},
    rows::{Column, Kind, Rows},
    status::{BadData, Status},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape trace dump equities                all spans that are there, also those of a killed plant
  nanotape trace dump equities --follow       and those to come, until Ctrl-C
  nanotape trace dump equities --count 100 -o spans.csv
  nanotape trace dump spans/                  those of a recording of `nanotape trace collect`

`ns` is the time from the end of the stage before to the end of this one. `message` is the number of the
message in the input, and joins the spans of different threads. Spans of a thread are in the order in
which they ended; one thread is printed after the other, but a recording is printed in its order. Spans
that were overwritten before they could be read are a row with their number, in `lost`.

Exit status: 0 success; 1 the spans are damaged; 2 there are none to read.")]
pub(super) struct DumpCommand {
    /// Name or path of a ring, path of a thread's region, number of a process, or folder of a
    /// recording
    #[arg(value_name = "NAME|PID|RECORDING")]
    target: Given,

    /// Stop after N spans
    #[arg(long, value_name = "N", value_parser = crate::values::count::<u64>(..))]
    count: Option<u64>,

    /// Wait for new spans
    #[arg(long)]
    follow: bool,

    #[command(flatten)]
    output: OutputArguments,
}

/// Time between two polls for new spans.
const POLL_EVERY: Duration = Duration::from_millis(1);

pub(super) fn run(command: &DumpCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let interrupt = interrupt::install()?;
    let mut spans = Spans::open(&command.target, command.follow)?;
    let columns = vec![
        Column::new("thread", Kind::Text, 20, "Name of the thread."),
        Column::new("site", Kind::Text, 14, "Name of the stage."),
        Column::new("message", Kind::U64, 12, "Number of the message."),
        Column::new("begin", Kind::Text, 30, "End of the stage before, in UTC."),
        Column::new("ns", Kind::U64, 10, "From there to the end of this stage.").of("ns"),
        Column::new("value", Kind::U64, 20, "The value that the site recorded."),
        Column::new("lost", Kind::U64, 0, "Spans overwritten before they were read.").of("spans"),
    ];
    let mut printer = Printer {
        rows: Rows::new(command.output.open()?, format, columns),
        left: command.count.unwrap_or(u64::MAX),
        damaged: None,
    };
    let printed = dump(command, &mut spans, &mut printer, &interrupt);
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
    spans: &mut Spans,
    printer: &mut Printer,
    interrupt: &ShutdownFlag,
) -> anyhow::Result<()> {
    loop {
        // A thread that ended before its spans were read has no more.
        let is_alive = spans.is_alive();
        while printer.left > 0 && !interrupt.is_requested() {
            match spans.next_entry()? {
                Next::Entry(entry) => printer.entry(spans, &entry)?,
                Next::Damaged(what) => _ = printer.damaged.get_or_insert(what),
                Next::Nothing => break,
            }
        }
        if !command.follow || !is_alive || printer.left == 0 || interrupt.is_requested() {
            return Ok(());
        }
        printer.rows.flush()?;
        interrupt.sleep(POLL_EVERY);
    }
}

struct Printer {
    rows: Rows,
    left: u64,
    /// The first damage.
    damaged: Option<String>,
}

impl Printer {
    fn entry(&mut self, spans: &Spans, entry: &Entry) -> anyhow::Result<()> {
        match *entry {
            Entry::Span { thread, span, .. } => {
                let thread = spans.thread(thread);
                self.left -= 1;
                self.rows.text(thread.name.escape_default());
                match thread.sites.get(span.site.index()) {
                    Some(Some(site)) => self.rows.text(site),
                    _ => self.rows.text("damaged"),
                }
                let time = &thread.timescale;
                self.rows.integer(span.number);
                self.rows.text(UtcNanos::of_unix_ns(time.utc_ns(span.from)));
                self.rows.integer(time.nanos_between(span.from, span.to).round() as u64);
                self.rows.integer(span.value);
                self.rows.absent();
            }
            Entry::Lost { thread, count, .. } => {
                self.rows.text(spans.thread(thread).name.escape_default());
                (0..5).for_each(|_| self.rows.absent());
                self.rows.integer(count);
            }
            _ => return Ok(()),
        }
        self.rows.end_row()?;
        Ok(())
    }
}
