//! `nanotape journal dump`: the contents of a journal, byte by byte.

use std::path::PathBuf;

use clap::Args;
use nanotape_journal::{ErrorKind, JournalError, Start, Tail, Tailer};

use crate::{
    commands::messages::{Printer, Shown},
    interrupt,
    journals::of_journal,
    output::OutputArguments,
    status::Status,
};
use nanotape_tape::ShutdownFlag;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal dump quotes
  nanotape journal dump quotes --from 1000 --count 20 --format json
  nanotape journal dump quotes --from 2026-11-20T14:30:00Z -o half-past-two.csv.zst
  nanotape journal dump quotes --from newest --backwards --count 5

Missing excerpts are one row with the first and the last missing sequence number. The command ends
at the current end of the journal; `nanotape journal tail --follow` waits for more.

Exit status: 0 success; 1 the journal is damaged; 2 it cannot be opened.")]
pub(super) struct DumpCommand {
    /// Folder of the journal
    #[arg(value_name = "JOURNAL")]
    journal: PathBuf,

    /// Where to start: oldest (or beginning), newest (or end), a sequence number, or a time
    #[arg(long, value_name = "START", default_value = "oldest")]
    from: Start,

    /// Stop after N excerpts
    #[arg(long, value_name = "N", value_parser = crate::values::count::<u64>(..))]
    count: Option<u64>,

    /// Read backwards, towards the beginning
    #[arg(long)]
    backwards: bool,

    /// Only excerpts that are known to be on disk
    #[arg(long)]
    durable: bool,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &DumpCommand) -> anyhow::Result<Status> {
    let interrupt = interrupt::install()?;
    let mut tailer = Tailer::open(&command.journal, command.from).map_err(of_journal)?;
    tailer.set_durable(command.durable);
    // Ends at the current end of the journal: an appender can be faster than the dump.
    let end = match Tailer::open(&command.journal, Start::Newest) {
        Ok(tailer) => tailer.next_sequence(),
        // The journal is damaged before its end: the dump prints up to the damage, then reports it.
        Err(error) if matches!(error.kind(), ErrorKind::Damaged { .. }) => u64::MAX,
        Err(error) => return Err(of_journal(error)),
    };
    let mut printer = Printer::new(&command.output, Shown::Bytes, Vec::new())?;
    let outcome = dump(command, &mut tailer, &mut printer, end, &interrupt);
    // Rows before damage stay printed.
    printer.finish()?;
    outcome?;
    Ok(Status::Good)
}

fn dump(
    command: &DumpCommand,
    tailer: &mut Tailer,
    printer: &mut Printer,
    end: u64,
    interrupt: &ShutdownFlag,
) -> anyhow::Result<()> {
    let mut left = command.count.unwrap_or(u64::MAX);
    while left > 0 && !interrupt.is_requested() {
        if !command.backwards && tailer.next_sequence() >= end {
            break;
        }
        let step = |tailer: &mut Tailer, printer: &mut Printer| -> Result<_, JournalError> {
            let tail = if command.backwards { tailer.previous()? } else { tailer.next()? };
            Ok(match tail {
                Tail::Excerpt(excerpt) => Some((printer.excerpt(0, &excerpt), 1)),
                Tail::Gap(gap) => Some((printer.gap(0, gap), 0)),
                Tail::Reused(reused) => Some((printer.reused(0, reused), 0)),
                Tail::Nothing => None,
            })
        };
        let Some((printed, count)) = step(tailer, printer).map_err(of_journal)? else { break };
        printed?;
        left -= count;
    }
    Ok(())
}
