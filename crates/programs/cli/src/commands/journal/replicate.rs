//! `nanotape journal replicate`: a copy of a journal that another machine serves.

use std::{io::Write as _, path::PathBuf, time::Duration};

use clap::Args;
use nanotape_arguments::{errors::of_journal, regions::of_region};
use nanotape_replication::{ReplicateError, ReplicateEvent, ReplicateOptions, Replication};

use super::links::{LinkArguments, LinkOptions, bad, side_name};
use crate::{
    interrupt,
    journals::make_parents,
    output::{Format, Output, OutputArguments},
    record::Record,
    status::{Status, note, warn},
};

/// The longest sleep: bytes of the leader end it at once.
const NAP: Duration = Duration::from_millis(20);

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal replicate 10.0.0.1:7000 days/nasdaq --name berlin --certificates certificates
  nanotape journal replicate leader.example:7000 copy --name berlin --certificates certificates \\
      --sync
  nanotape journal replicate 127.0.0.1:7000 copy --name test --plain --wait spin

Every reader works on the copy as on the journal itself. After a break it connects again and
continues behind the last good excerpt. A copy that was made with cp or rsync is accepted if its
contents are those of the leader, and gets only the rest. While the disk is full, it waits.

The copy stops, with both numbers and what settles it, if the leader ends before it without having
lost that with its power: the leader may have an older state of its journal. --set-aside moves what
the leader does not have to the folder cut of the copy, unless both differ before that. A leader that was replaced by
`nanotape journal promote` is refused.

Exit status: 0 ended by a signal; 1 the leader refused the copy, or its data or the copy is bad; 2 wrong
usage, or the copy cannot be opened.")]
pub(super) struct ReplicateCommand {
    /// Address of the leader
    #[arg(value_name = "HOST:PORT")]
    address: String,

    /// Folder of the copy; created if missing, with those above it
    #[arg(value_name = "JOURNAL")]
    journal: PathBuf,

    /// Name of this follower, which no other follower of the leader has
    #[arg(long, value_name = "NAME", value_parser = side_name)]
    name: String,

    /// Name of the leader in its certificate
    #[arg(long, value_name = "NAME", default_value = "leader", value_parser = side_name)]
    leader: String,

    /// Sync to disk before each acknowledgement, so that commits can wait for the disk
    #[arg(long)]
    sync: bool,

    /// Set aside what the leader does not have, also if it is not known to have lost it
    #[arg(long)]
    set_aside: bool,

    /// Compare the contents of all segments with those of the leader first
    #[arg(long)]
    compare: bool,

    #[command(flatten)]
    link: LinkArguments,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &ReplicateCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let shutdown = interrupt::install()?;
    let LinkOptions { identity, pace, heartbeat, patience } =
        command.link.options(&command.name, NAP)?;
    let options = ReplicateOptions {
        name: command.name.clone(),
        address: command.address.clone(),
        leader: command.leader.clone(),
        identity,
        syncs: command.sync,
        sets_aside: command.set_aside,
        compares_all: command.compare,
        pace,
        heartbeat,
        patience,
        mode: command.link.mode,
    };
    make_parents(&command.journal);
    let mut replication = Replication::open(&command.journal, options).map_err(of_replicate)?;
    let mut output = command.output.open()?;
    let mut written = Ok(());
    let mut last_break = String::new();
    let followed = replication.run(&shutdown, |event| {
        if let ReplicateEvent::Follows { .. } = &event {
            last_break.clear();
        }
        if let ReplicateEvent::Broken { reason, .. } = &event {
            // A leader that is away is reported once.
            if *reason == last_break {
                return;
            }
            last_break.clone_from(reason);
        }
        let now = report(&event, format, &mut output);
        if written.is_ok() {
            written = now;
        }
    });
    let next_sequence = replication.next_sequence();
    let end = Record::default().with("event", "stop").with("next_sequence", next_sequence);
    end.write(&mut output, format, false, || format!("next excerpt {next_sequence}\n"))?;
    output.finish()?;
    written?;
    followed.map_err(of_replicate)?;
    Ok(Status::Good)
}

fn report(event: &ReplicateEvent, format: Format, output: &mut Output) -> anyhow::Result<()> {
    match event {
        ReplicateEvent::Follows { address, term, next_sequence } => {
            let epoch = term.epoch;
            let record = Record::default()
                .with("event", "follows")
                .with("address", address.to_string())
                .with("epoch", epoch)
                .with("next_sequence", *next_sequence);
            let from = next_sequence.map_or("the oldest excerpt".to_owned(), |next_sequence| {
                format!("excerpt {next_sequence}")
            });
            record.write(output, format, true, || {
                format!("following {address}, epoch {epoch}, from {from} on\n")
            })?;
            output.flush()?;
        }
        ReplicateEvent::Broken { reason, .. } => {
            warn(format_args!("{reason}; connecting again"));
        }
        ReplicateEvent::Troubled { reason } => warn(format_args!("{reason}")),
        ReplicateEvent::GoesOn => note("the copy goes on"),
        ReplicateEvent::SetAside { files } => {
            for file in files {
                warn(format_args!(
                    "set aside what the leader does not have: {}",
                    file.path.display()
                ));
            }
        }
        _ => {}
    }
    Ok(())
}

fn of_replicate(error: ReplicateError) -> anyhow::Error {
    match error {
        ReplicateError::Journal(error) => of_journal(error),
        ReplicateError::Region(error) => of_region(&error),
        error @ (ReplicateError::Follow { .. } | ReplicateError::Terms(_)) => bad(error),
        error => error.into(),
    }
}
