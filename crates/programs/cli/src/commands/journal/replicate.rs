//! `nanotape journal replicate`: a copy of a journal that another machine serves.

use std::{io::Write as _, net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;
use nanotape_arguments::{errors::of_journal, regions::of_region};
use nanotape_replication::{
    ArrivedGroup, ReplicateError, ReplicateEvent, ReplicateOptions, Replication,
};

use super::links::{LinkArguments, LinkOptions, bad};
use crate::{
    interrupt,
    journals::make_parents,
    output::{Format, Output, OutputArguments},
    record::Record,
    sides::side_name,
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

  nanotape journal replicate 10.0.0.1:7000 copy --name berlin --certificates certificates \
      --times -o times.csv

Every reader works on the copy as on the journal itself. After a break it connects again and
continues behind the last good excerpt. A copy that was made with cp or rsync is accepted if its
contents are those of the leader, and gets only the rest. While the disk is full, it waits.

The copy stops, with both numbers and what settles it, if the leader ends before it without having
lost that with its power: the leader may have an older state of its journal. --set-aside moves what
the leader does not have to the folder cut of the copy, unless both differ before that. A leader that was replaced by
`nanotape journal promote` is refused.

--times writes a row for each group of excerpts that arrived together: its first and last number, when
the leader sent it, by the leader's clock, and when it arrived, by this one. Heartbeats bound the
distance of the clocks, and so the time on the way: from took_least_ns to took_most_ns. When an excerpt
was appended is its own time, if its appender gives it that. docs/replication.md lists the columns. A
file of -o has its name, and all rows, when the command ends.

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
    pub(super) set_aside: bool,

    /// Compare the contents of all segments with those of the leader first
    #[arg(long)]
    pub(super) compare: bool,

    /// Write a row for each group of excerpts: when it was sent and when it arrived
    #[arg(long)]
    pub(super) times: bool,

    #[command(flatten)]
    link: LinkArguments,

    #[command(flatten)]
    pub(super) output: OutputArguments,
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
        keeps_times: command.times,
        pace,
        heartbeat,
        patience,
        mode: command.link.mode,
    };
    make_parents(&command.journal);
    let mut replication = Replication::open(&command.journal, options).map_err(of_replicate)?;
    let output = command.output.open()?;
    let mut rows = Rows { output, format, has_times: command.times, is_begun: false };
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
        let now = report(&event, &mut rows);
        if written.is_ok() {
            written = now;
        }
    });
    let next_sequence = replication.next_sequence();
    let end = Row { event: "stop", next_sequence: Some(next_sequence), ..Row::default() };
    rows.write(&end, || format!("next excerpt {next_sequence}\n"))?;
    rows.output.finish()?;
    written?;
    followed.map_err(of_replicate)?;
    Ok(Status::Good)
}

/// What is written: one line for each event, with the same members.
struct Rows {
    output: Output,
    format: Format,
    has_times: bool,
    is_begun: bool,
}

/// One line.
#[derive(Default)]
struct Row {
    event: &'static str,
    /// Of the leader, and its epoch.
    leader: Option<(SocketAddr, u64)>,
    next_sequence: Option<u64>,
    group: Option<ArrivedGroup>,
}

impl Rows {
    fn write(&mut self, row: &Row, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        let Row { event, leader, next_sequence, group } = row;
        let mut record = Record::default()
            .with("event", *event)
            .with("address", leader.map(|(address, _)| address.to_string()))
            .with("epoch", leader.map(|(_, epoch)| epoch))
            .with("next_sequence", *next_sequence);
        if self.has_times {
            let took_ns = group.and_then(|group| group.took_ns());
            record = record
                .with("first_sequence", group.map(|group| group.first_sequence))
                .with("last_sequence", group.map(|group| group.last_sequence))
                .with("sent_ns", group.map(|group| group.sent_ns))
                .with("arrived_ns", group.map(|group| group.arrived_ns))
                .with("took_least_ns", took_ns.map(|(least, _)| least))
                .with("took_most_ns", took_ns.map(|(_, most)| most));
        }
        record.write(&mut self.output, self.format, !self.is_begun, text)?;
        self.is_begun = true;
        Ok(())
    }
}

/// `excerpts 7 to 9 took 21.4 us, give or take 3.2 us`.
fn group_text(group: &ArrivedGroup) -> String {
    let ArrivedGroup { first_sequence: first, last_sequence: last, .. } = *group;
    let took = match group.took_ns() {
        Some((least, most)) => {
            let middle = least.midpoint(most);
            let (middle, bound) = (middle as f64 / 1e3, (most - middle) as f64 / 1e3);
            format!("took {middle:.1} us, give or take {bound:.1} us")
        }
        None => "arrived before the distance of the clocks was known".to_owned(),
    };
    match first == last {
        true => format!("excerpt {first} {took}\n"),
        false => format!("excerpts {first} to {last} {took}\n"),
    }
}

fn report(event: &ReplicateEvent, rows: &mut Rows) -> anyhow::Result<()> {
    match event {
        ReplicateEvent::Arrived(group) => {
            let row = Row { event: "arrived", group: Some(*group), ..Row::default() };
            rows.write(&row, || group_text(group))?;
        }
        // Rows come by the thousand, so that each is not written at once.
        ReplicateEvent::Progress { .. } if rows.has_times => rows.output.flush()?,
        ReplicateEvent::Follows { address, term, next_sequence } => {
            let epoch = term.epoch;
            let from = next_sequence.map_or("the oldest excerpt".to_owned(), |next_sequence| {
                format!("excerpt {next_sequence}")
            });
            let leader = Some((*address, epoch));
            let next_sequence = *next_sequence;
            let row = Row { event: "follows", leader, next_sequence, ..Row::default() };
            rows.write(&row, || format!("following {address}, epoch {epoch}, from {from} on\n"))?;
            rows.output.flush()?;
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
