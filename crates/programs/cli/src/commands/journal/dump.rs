//! `nanotape journal dump`: the contents of a journal, byte by byte.

mod payloads;

use std::{
    io::{self, BufWriter},
    path::PathBuf,
};

use clap::Args;
use nanotape_arguments::errors::of_journal;
use nanotape_journal::{ErrorKind, Excerpt, Start, Tail, Tailer};
use nanotape_tape::{Gap, Reused, ShutdownFlag};
use payloads::Payloads;

use crate::{
    commands::messages::{Printer, Shown},
    framing::Framing,
    interrupt,
    output::OutputArguments,
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal dump quotes
  nanotape journal dump quotes --from 1000 --count 20 --format json
  nanotape journal dump quotes --from 2026-11-20T14:30:00Z -o half-past-two.csv.zst
  nanotape journal dump quotes --from newest --backwards --count 5
  nanotape journal dump quotes --payloads lines            what journal append read
  nanotape journal dump quotes --payloads raw --count 1 > first.bin

Missing excerpts are one row with the first and the last missing sequence number. The command ends
at the current end of the journal; `nanotape journal tail --follow` waits for more.

--payloads writes the bytes of the payloads and nothing else. Missing excerpts, and payloads that
would read back as several (line feeds with lines, zero bytes with nul), are lines on standard error
and status 1; length keeps any payload.

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

    /// Write only the payloads, unchanged, with this framing
    #[arg(long, value_enum, value_name = "FRAMING", conflicts_with = "format")]
    payloads: Option<Framing>,

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
    tailer.set_stops_at_end(true);
    // Ends at the current end of the journal: an appender can be faster than the dump.
    let end = match Tailer::open(&command.journal, Start::Newest) {
        Ok(tailer) => tailer.next_sequence(),
        // The journal is damaged before its end: the dump prints up to the damage, then reports it.
        Err(error) if *error.kind() == ErrorKind::NotFound => return Err(of_journal(error)),
        Err(_) => u64::MAX,
    };
    if let Some(framing) = command.payloads {
        let output = BufWriter::with_capacity(64 << 10, command.output.open()?);
        let mut payloads = Payloads::new(&command.journal, framing, output);
        let outcome = dump(command, &mut tailer, &mut payloads, end, &interrupt);
        let is_whole = payloads.finish()?;
        outcome?;
        return Ok(if is_whole { Status::Good } else { Status::Bad });
    }
    let mut printer = Printer::new(&command.output, Shown::Bytes, Vec::new())?;
    let outcome = dump(command, &mut tailer, &mut printer, end, &interrupt);
    // Rows before damage stay printed.
    printer.finish()?;
    outcome?;
    Ok(Status::Good)
}

/// Takes what a dump reads.
trait Dumped {
    fn excerpt(&mut self, excerpt: &Excerpt<'_>) -> io::Result<()>;
    fn gap(&mut self, gap: Gap) -> io::Result<()>;
    fn reused(&mut self, reused: Reused) -> io::Result<()>;
}

impl Dumped for Printer {
    fn excerpt(&mut self, excerpt: &Excerpt<'_>) -> io::Result<()> {
        self.excerpt(0, excerpt)
    }

    fn gap(&mut self, gap: Gap) -> io::Result<()> {
        self.gap(0, gap)
    }

    fn reused(&mut self, reused: Reused) -> io::Result<()> {
        self.reused(0, reused)
    }
}

fn dump(
    command: &DumpCommand,
    tailer: &mut Tailer,
    dumped: &mut impl Dumped,
    end: u64,
    interrupt: &ShutdownFlag,
) -> anyhow::Result<()> {
    let mut left = command.count.unwrap_or(u64::MAX);
    while left > 0 && !interrupt.is_requested() {
        if !command.backwards && tailer.next_sequence() >= end {
            break;
        }
        let tail = if command.backwards { tailer.previous() } else { tailer.next() };
        let (printed, count) = match tail.map_err(of_journal)? {
            Tail::Excerpt(excerpt) => (dumped.excerpt(&excerpt), 1),
            Tail::Gap(gap) => (dumped.gap(gap), 0),
            Tail::Reused(reused) => (dumped.reused(reused), 0),
            Tail::Nothing => break,
        };
        printed?;
        left -= count;
    }
    Ok(())
}
