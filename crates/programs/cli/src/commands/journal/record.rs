//! `nanotape journal record`: stores the messages of a ring under the same sequence numbers.

use std::{path::Path, time::Duration};

use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::{
    errors::of_journal,
    regions::{of_region, of_ring, place, report_state, within},
};
use nanotape_journal::{Appender, JournalError};
use nanotape_tap::{
    Recorder, RecorderError, RecorderEvent, RecorderOptions, RecorderSummary, open_when_free,
};
use nanotape_tape::{ShutdownFlag, WriterState};

use crate::{
    gaps::Gaps,
    interrupt,
    journals::{AppenderArguments, make_parents, report_recovery},
    output::{Format, Output, OutputArguments},
    record::Record,
    status::{BadData, Status, note, warn},
    values::seconds,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal record nasdaq days/nasdaq
  nanotape journal record nasdaq days/nasdaq --roll hour --sync 10ms --through-restarts
  nanotape journal record nasdaq days/nasdaq --wait 60 --fail-on-loss
  nanotape journal record nasdaq days/nasdaq --wait 60 --name journal   with run --wait-for 1

Every message becomes an excerpt with the same sequence number and type, and the time at which it
was recorded. Recording starts after the last excerpt of the journal. Messages that the ring has
already overwritten are lost: a line on standard error names them, and readers of the journal get
them as a gap. Recording ends when the writer closes the ring or is gone, or with Ctrl-C.

The first recorder of a ring shows its progress beside the ring: `nanotape stat RING` prints it.
`nanotape run --journal DIR` starts a recorder together with a plant.

With --name the recorder shows its position as a follower, to the plant and in `nanotape stat`. A plant that runs with --wait-for waits
for it, so that nothing is lost. It records a plant that runs, or waits for one with --wait. If it
is killed, one of the same name that starts in time continues after the last excerpt.

A journal holds the messages of one ring. The file recorded-from in its folder identifies the
ring: writers that take the ring over continue in the same journal; a new ring of the same name
needs a new journal. Recording ends if the ring is removed, replaced or truncated.

Exit status: 0 success; 1 the ring or the journal is damaged, the ring was removed, replaced or
truncated during recording, or messages were lost and --fail-on-loss was given; 2 one of them
cannot be opened, or the journal was recorded from another ring.")]
pub(super) struct RecordCommand {
    /// Name or path of the ring
    #[arg(value_name = "RING")]
    ring: Given,

    #[command(flatten)]
    appender: AppenderArguments,

    /// When the writer ends, continue with the next writer that takes the ring over
    #[arg(long)]
    through_restarts: bool,

    /// Name under which a plant with --wait-for waits for this recorder: 1 to 100 letters, digits,
    /// dots, dashes or underscores
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Record on this processor only
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,

    /// Wait up to SECONDS for the ring, or for the next writer of an existing ring
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    wait: Duration,

    /// End with status 1 if a message was lost
    #[arg(long)]
    fail_on_loss: bool,

    /// The recorder of a plant: waits while another recorder has the journal or the disk is full,
    /// must show its progress, and ends by itself, not with a signal
    #[arg(long, hide = true, conflicts_with_all = ["through_restarts", "wait", "fail_on_loss", "name"])]
    for_plant: bool,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &RecordCommand) -> anyhow::Result<Status> {
    let shutdown = match command.for_plant {
        true => ShutdownFlag::new(),
        false => interrupt::install()?,
    };
    let ring = place(&command.ring)?;
    // Before the recording: an existing file without --force is refused now.
    let format = command.output.format_or(Format::Text)?;
    let mut output = command.output.open()?;
    let mut is_reported = false;
    let (outcome, summary) = loop {
        match record(command, &ring, &shutdown) {
            // The disk has no room for a file beside the segments, or for what skips lost messages.
            // Opening the journal again removes a part of it that was written.
            Err(error) | Ok(Some((Err(error), _))) if command.for_plant && error.is_full() => {
                if !is_reported {
                    warn(format_args!("{error}; waiting"));
                    is_reported = true;
                }
                shutdown.sleep(RETRY);
            }
            Err(error) => return Err(of_record(error, command)),
            Ok(None) => return Ok(Status::Good),
            Ok(Some((outcome, summary))) => break (outcome, summary),
        }
    };
    write_summary(command, &summary, format, &mut output)?;
    output.finish()?;
    outcome.map_err(|error| of_record(error, command))?;
    if command.fail_on_loss && summary.lost > 0 {
        let lost = summary.lost;
        warn(format_args!("{}: messages lost: {lost} (--fail-on-loss)", ring.display()));
        return Ok(Status::Bad);
    }
    Ok(Status::Good)
}

/// How long the recorder of a plant waits for room before it opens the journal again.
const RETRY: Duration = Duration::from_millis(100);

/// How a recording ended, and what it recorded.
type Recorded = (Result<(), RecorderError>, RecorderSummary);

/// Records until the writer of the ring is gone. `None`: there is nothing to record.
fn record(
    command: &RecordCommand,
    ring: &Path,
    shutdown: &ShutdownFlag,
) -> Result<Option<Recorded>, RecorderError> {
    let AppenderArguments { journal, mode, .. } = &command.appender;
    let Some(appender) = open_journal(command, ring)? else { return Ok(None) };
    report_recovery(journal, appender.recovery());
    let RecordCommand { wait, through_restarts, for_plant: must_show, .. } = *command;
    // The threads of the appender exist already, so they do not compete with the recorder.
    if let Some(Err(refusal)) = command.cpu.map(nanotape_host::pin_to) {
        warn(refusal);
    }
    let shutdown = shutdown.clone();
    let (mode, name) = (*mode, command.name.clone());
    let options = RecorderOptions { wait, through_restarts, mode, name, must_show, shutdown };
    let Some(mut recorder) = Recorder::open(ring, appender, &options)? else {
        note(format_args!("{}: interrupted before a writer created the ring", ring.display()));
        return Ok(None);
    };
    let mut gaps = Gaps::in_all("the journal");
    let outcome = recorder.run(|event| match event {
        // The plant reports its own end. The output of a killed plant has no reader.
        RecorderEvent::WriterGone(_) if command.for_plant => {}
        RecorderEvent::Lost(gap) => {
            if let Some(line) = gaps.line(&gap) {
                warn(format_args!("{}: {line}", ring.display()));
            }
        }
        event => report(ring, &event),
    });
    let summary = recorder.summary();
    Ok(Some((outcome.and(recorder.close()), summary)))
}

fn write_summary(
    command: &RecordCommand,
    summary: &RecorderSummary,
    format: Format,
    output: &mut Output,
) -> anyhow::Result<()> {
    let RecorderSummary { first_sequence, next_sequence, recorded, lost, .. } = *summary;
    let record = Record::default()
        .with("ring", place(&command.ring)?.display().to_string())
        .with("journal", command.appender.journal.display().to_string())
        .with("recorded", recorded)
        .with("lost", lost)
        .with("next_sequence", next_sequence);
    record.write(output, format, true, || {
        format!(
            "recorded {recorded} messages from {first_sequence} on, lost {lost}; next message \
             {next_sequence}\n"
        )
    })?;
    Ok(())
}

/// Opens the journal; the recorder of a plant waits for it. `None`: another recorder did its work.
fn open_journal(command: &RecordCommand, ring: &Path) -> Result<Option<Appender>, JournalError> {
    let (journal, options) = (&command.appender.journal, command.appender.options());
    make_parents(journal);
    if command.for_plant {
        return open_when_free(ring, journal, &options, |error| {
            warn(format_args!("{error}; waiting"));
        });
    }
    Appender::open(journal, &options).map(Some)
}

fn report(ring: &Path, event: &RecorderEvent<'_>) {
    match event {
        RecorderEvent::NoRoom(error @ RecorderError::Journal(_)) => warn(error),
        // The name of a stock.
        RecorderEvent::NoRoom(error) => warn(format_args!("{error}; waiting")),
        RecorderEvent::RoomAgain => note("space is available again"),
        RecorderEvent::NotShown(error) => warn(format_args!(
            "{error}; this recorder does not show its progress in `nanotape stat`"
        )),
        RecorderEvent::WriterGone(WriterState::Alive) => warn(format_args!(
            "{}: another writer took the ring over; use --through-restarts to record it too",
            ring.display()
        )),
        RecorderEvent::WriterGone(state) => report_state(ring, *state),
        _ => {}
    }
}

/// Damage and a lost ring are bad data; other errors belong to the environment.
fn of_record(error: RecorderError, command: &RecordCommand) -> anyhow::Error {
    match error {
        RecorderError::Journal(error) => of_journal(error),
        RecorderError::Region(error) => of_region(&error),
        RecorderError::Ring { ring, error } => of_ring(&ring, &error),
        RecorderError::Mark { .. }
        | RecorderError::Lost { .. }
        | RecorderError::Moved { .. }
        | RecorderError::Unreadable { .. } => BadData(error.to_string()).into(),
        RecorderError::NoRing { ring } => anyhow::anyhow!(
            "{}: no such ring, and no writer created it{}; start its writer (nanotape run), or wait for \
             it with --wait SECONDS",
            ring.display(),
            within(command.wait)
        ),
        RecorderError::NoWriter { ring } => anyhow::anyhow!(
            "{}: the writer of this ring has ended, and none took it over{}; start a plant (nanotape \
             run), or wait for one with --wait SECONDS",
            ring.display(),
            within(command.wait)
        ),
        error => anyhow::anyhow!("{error}"),
    }
}
