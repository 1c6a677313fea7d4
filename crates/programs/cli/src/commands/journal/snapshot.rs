//! `nanotape journal snapshot`: writes snapshots of the books of a recorded plant.

use std::path::PathBuf;

use clap::Args;
use nanotape_arguments::{
    errors::of_journal,
    text::{size_text, time_text},
};
use nanotape_history::{
    Snapshots, Snapshotter, SnapshotterError, SnapshotterOptions, snapshot::Written,
};

use crate::{
    interrupt,
    output::{Format, OutputArguments},
    progress::Progress,
    record::Record,
    status::{BadData, Status, note, warn},
    values::{bytes, counted, mode},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal snapshot days/equities              snapshots of what was recorded
  nanotape journal snapshot days/equities --follow     the same while it is recorded
  nanotape journal snapshot days/equities --list

A snapshot holds all live orders after one record, in queue order. Commands that read a journal at
some time of day start from the last snapshot before it, and so do taps that join late. Snapshots
are files in the folder snapshots of the journal. A snapshot is due when the journal has grown so
much that snapshots take at most PERCENT of its bytes; the last one is after the stop of a plant.
The command continues after the last snapshot, so it can be interrupted and run again at any time.

Exit status: 0 success; 1 the journal is damaged; 2 it cannot be opened or written, or another
process writes snapshots of it.")]
pub(super) struct SnapshotCommand {
    /// Folder of a journal that recorded a plant
    #[arg(value_name = "JOURNAL")]
    path: PathBuf,

    /// Wait for new records until the recorder closes the journal
    #[arg(long)]
    follow: bool,

    /// When the recorder closes the journal, continue with the next recorder
    #[arg(long, requires = "follow")]
    through_restarts: bool,

    /// Bytes of snapshots in percent of the journal's bytes, at most
    #[arg(long, value_name = "PERCENT", default_value = "14",
        value_parser = crate::values::count::<u32>(1..=100))]
    share: u32,

    /// Bytes of the journal between two snapshots, at least
    #[arg(long, value_name = "BYTES", default_value = "4MiB", value_parser = bytes)]
    least: usize,

    /// Run on this processor only
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,

    /// List the snapshots, and write none
    #[arg(long, conflicts_with_all = ["follow", "share", "least", "mode", "cpu"])]
    list: bool,

    /// Permissions of new files: 0600 is this user only, 0644 lets all users read
    #[arg(long, value_name = "OCTAL", default_value = "0600", value_parser = mode)]
    mode: u32,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &SnapshotCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    if command.list {
        return list(command, format);
    }
    let interrupt = interrupt::install()?;
    if let Some(Err(refusal)) = command.cpu.map(nanotape_host::pin_to) {
        warn(refusal);
    }
    let options = SnapshotterOptions {
        share_percent: command.share,
        least_bytes: command.least as u64,
        follows: command.follow,
        through_restarts: command.through_restarts,
        mode: command.mode,
        shutdown: interrupt.clone(),
    };
    let mut snapshotter = Snapshotter::open(&command.path, &options).map_err(of_snapshotter)?;
    let mut output = command.output.open()?;
    let first = snapshotter.next_sequence();
    let end = snapshotter.end().map_err(of_snapshotter)?;
    let bar = (!command.follow).then(|| Progress::with_steps("records", end.saturating_sub(first)));
    let (mut count, mut bytes, mut failed) = (0, 0, None);
    let ran = snapshotter.run(
        |written| {
            let printed = record(written).write(&mut output, format, count == 0, || line(written));
            failed = failed.take().or(printed.err());
            (count, bytes) = (count + 1, bytes + written.bytes);
        },
        |now| {
            if let Some(bar) = &bar {
                bar.set(now.next_sequence().saturating_sub(first));
            }
        },
    );
    drop(bar);
    if let Some(error) = failed {
        return Err(error.into());
    }
    ran.map_err(of_snapshotter)?;
    output.finish()?;
    let next = snapshotter.next_sequence();
    note(format_args!(
        "{}: {} written, {}; next record {next}",
        command.path.display(),
        counted(count as u64, "snapshot"),
        size_text(bytes)
    ));
    Ok(Status::Good)
}

/// Prints the snapshots that exist.
fn list(command: &SnapshotCommand, format: Format) -> anyhow::Result<Status> {
    let snapshots = Snapshots::list(&command.path)?;
    let mut output = command.output.open()?;
    for (number, listed) in snapshots.iter().enumerate() {
        let record = Record::default()
            .with("sequence", listed.sequence)
            .with("ts_event", listed.ts_event)
            .with("bytes", listed.bytes)
            .with("path", listed.path.display().to_string());
        record.write(&mut output, format, number == 0, || {
            let (time, bytes) = (time_text(listed.ts_event), size_text(listed.bytes));
            format!("record {}  {time}  {bytes}\n", listed.sequence)
        })?;
    }
    output.finish()?;
    Ok(Status::Good)
}

fn record(written: &Written) -> Record {
    Record::default()
        .with("sequence", written.sequence)
        .with("ts_event", written.ts_event)
        .with("stocks", written.stocks)
        .with("orders", written.orders)
        .with("bytes", written.bytes)
        .with("path", written.path.display().to_string())
}

fn line(written: &Written) -> String {
    format!(
        "record {}  {}  {}, {}, {}\n",
        written.sequence,
        time_text(written.ts_event),
        counted(written.stocks as u64, "stock"),
        counted(written.orders as u64, "order"),
        size_text(written.bytes)
    )
}

/// Damage of the journal is bad data; other errors belong to the environment.
pub(super) fn of_snapshotter(error: SnapshotterError) -> anyhow::Error {
    match error {
        SnapshotterError::Journal(error) => of_journal(error),
        SnapshotterError::Record { .. } | SnapshotterError::Moved { .. } => {
            BadData(error.to_string()).into()
        }
        error => anyhow::anyhow!("{error}"),
    }
}
