//! `nanotape ring dump`: the messages of a ring, and its losses.

use std::{ops::ControlFlow, path::Path};

use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::regions::{of_region, of_ring, place, report_state};
use nanotape_ring::{RingError, RingSource, Start, Subscribe as _};
use nanotape_tape::{Follow, Item, Step, Tape as _, WriterState};

use crate::{
    commands::messages::{Printer, Shown},
    interrupt,
    output::OutputArguments,
    status::{BadData, Status},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape ring dump quotes                   all messages in the ring
  nanotape ring dump quotes --from newest --follow
  nanotape ring dump quotes --from 1000 --count 20 --format json
  nanotape ring dump quotes --follow -o quotes.csv.zst
  nanotape ring dump quotes --follow --through-restarts

Messages that were overwritten before they could be printed are one row with the first and the
last lost sequence number. With --follow the command continues until the writer closes the ring or
is gone, which it reports on standard error, or until Ctrl-C. With --through-restarts it waits for
the next writer instead, whose messages have the numbers that follow.

Exit status: 0 success; 1 the ring is damaged, or was truncated or removed while it was read; 2 it
cannot be opened.")]
pub(super) struct DumpCommand {
    /// Name or path of the ring
    #[arg(value_name = "NAME")]
    name: Given,

    /// Where to start: oldest (or beginning), newest (or end), or a sequence number
    #[arg(long, value_name = "START", default_value = "oldest")]
    from: Start,

    /// Stop after N messages
    #[arg(long, value_name = "N", value_parser = crate::values::count::<u64>(..))]
    count: Option<u64>,

    /// Wait for new messages
    #[arg(long)]
    follow: bool,

    /// When the writer ends, continue with the next writer that takes the ring over
    #[arg(long, requires = "follow")]
    through_restarts: bool,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &DumpCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let interrupt = interrupt::install()?;
    let source = RingSource::open(&path, command.from).map_err(|error| of_ring(&path, &error))?;
    // Without --follow, ends at the current end of the ring: a writer can be faster than the dump.
    let end = match command.follow {
        true => u64::MAX,
        false => source.end().map_err(|error| of_ring(&path, &error))?,
    };
    let mut printer = Printer::new(&command.output, Shown::Ring, Vec::new())?;
    let mut follow = Follow::new(source).shutdown(&interrupt).until(end);
    let outcome = dump(command, &path, &mut follow, &mut printer);
    // Rows before damage stay printed.
    printer.finish()?;
    outcome?;
    Ok(Status::Good)
}

fn dump(
    command: &DumpCommand,
    path: &Path,
    follow: &mut Follow<RingSource>,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let mut left = command.count.unwrap_or(u64::MAX);
    while left > 0 {
        let mut printed = Ok(());
        let step = follow.step(|item| {
            printed = match item {
                Item::Message(message) => {
                    left -= 1;
                    printer.message(0, message.sequence, message.type_id, None, message.payload)
                }
                Item::Gap(gap) => printer.gap(0, gap),
                Item::Reused(reused) => printer.reused(0, reused),
            };
            if left > 0 && printed.is_ok() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        printed?;
        match step {
            Ok(Step::Idle) => printer.flush()?,
            Ok(Step::Gone(state)) => {
                report_state(path, state);
                if !command.through_restarts {
                    break;
                }
            }
            Ok(Step::Complete | Step::Shutdown) => break,
            Ok(_) => {}
            Err(error) => return lost(command, path, follow.tape(), &error),
        }
    }
    Ok(())
}

/// The result for a damaged ring, or a ring whose file has changed. If the file was removed after
/// its writer closed it, the end is normal.
fn lost(
    command: &DumpCommand,
    path: &Path,
    source: &RingSource,
    error: &RingError,
) -> anyhow::Result<()> {
    let RingError::Region(refused) = error else { return Err(of_ring(path, error)) };
    let state = source.writer().state;
    let is_cut = source.reader().region().is_lost();
    if state == WriterState::Alive || command.through_restarts || is_cut {
        return Err(BadData(of_region(refused).to_string()).into());
    }
    report_state(path, state);
    Ok(())
}
